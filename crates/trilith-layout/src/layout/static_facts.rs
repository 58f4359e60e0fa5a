//! Facts about a layout that evaluation needs, found once after parsing.

use super::model::{ItemData, ItemId, Layout, LayoutStep, TypeId};

/// The steps outside of lists that occupy the stream, and where to find each item among them.
#[derive(Clone, Default)]
pub(crate) struct StaticFacts {
    /// Steps, in order: data, stored parameters, lists and their extensions.
    pub places: Vec<u32>,
    /// (item, number in `places`) of data and stored parameters, sorted.
    pub step_by_item: Vec<(ItemId, u32)>,
    /// (list, number in `places`) of lists and their extensions, sorted.
    pub step_by_list: Vec<(ItemId, u32)>,
    /// `true` if a value has to be read from the stream.
    pub dynamic: bool,
    /// Structs with stored parameters whose instances all have the same size, sorted.
    pub fixed_size_types: Vec<TypeId>,
}

impl StaticFacts {
    pub(crate) fn compute(layout: &Layout) -> Self {
        let mut plan = StaticFacts::default();
        let mut at = 0;
        while let Some(step) = layout.steps.get(at) {
            let number = plan.places.len() as u32;
            let mut next = at + 1;
            let mut push = false;
            match step {
                LayoutStep::Data(item) => {
                    push = true;
                    plan.step_by_item.push((*item, number));
                    plan.dynamic |= layout.data_of(*item).is_some_and(|data| {
                        layout.ty(data.what.ty).dynamic || layout.find_filter(data.filter).is_some_and(|filter| filter.compresses)
                    });
                }
                LayoutStep::Param(item) if layout.param_of(*item).is_some_and(|param| param.fixed_value.is_none()) => {
                    push = true;
                    plan.step_by_item.push((*item, number));
                    plan.dynamic = true;
                }
                LayoutStep::List(of) => {
                    let (list, end, dynamic) = (&of.list, &of.end, of.dynamic);
                    push = true;
                    plan.step_by_list.push((*list, number));
                    plan.dynamic |= dynamic;
                    next = (*end as usize).max(next);
                }
                LayoutStep::Extend(of) => {
                    let list = &of.list;
                    push = true;
                    plan.step_by_list.push((*list, number));
                }
                _ => {}
            }
            if push {
                plan.places.push(at as u32);
            }
            at = next;
        }
        plan.step_by_item.sort_unstable();
        plan.step_by_list.sort_unstable();
        if plan.dynamic {
            plan.fixed_size_types = layout.fixed_size_types();
        }
        plan
    }
}

impl Layout {
    /// The path of an item as far as the text gives it: list elements by their place in the text.
    pub(crate) fn static_path(&self, item: ItemId) -> String {
        let mut chain = Vec::new();
        let mut at = item;
        while at != ItemId::NONE && at != ItemId::ROOT {
            if let Some(data) = self.data_of(at).filter(|data| data.reference > 0) {
                return format!("&{}", data.reference);
            }
            // An anonymous struct, or the one member of a typedef, is known by what it is the type of.
            let item = self.item(at);
            let nameless = item.name == super::interner::Symbol::NONE;
            if !(nameless && matches!(item.kind, ItemData::Type(_) | ItemData::Member)) {
                chain.push(at);
            }
            at = item.parent;
        }
        if chain.is_empty() {
            return "/".into();
        }
        let mut out = String::new();
        for &id in chain.iter().rev() {
            let item = self.item(id);
            match self.item(item.parent).kind {
                ItemData::List => out.push_str(&format!("[{}]", item.position)),
                kind => {
                    out.push(if matches!(kind, ItemData::Type(_)) { '.' } else { '/' });
                    super::lexer::push_name(&mut out, self.names.resolve(item.name));
                }
            }
        }
        out
    }
}
