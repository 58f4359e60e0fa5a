//! The operations of a program, from the steps of a layout.

use std::collections::HashMap;

use super::expr::Expr;
use super::identifiers::UsedIdentifiers;
use super::{CodeField, FieldMove, MAX_ITEMS, Op, too_many};
use crate::error::{Error, Result};
use crate::layout::lexer::push_name;
use crate::layout::model::{
    AddressRule, Byteorder, Dim, DimRun, ElementSlot, ItemData, ItemId, Layout, LayoutStep, MemberKind, ParamId, Placement,
    Primitive, RepeatCount, TypeId, TypeKind, TypeUse,
};

/// The operations for one first address.
pub(super) struct LoweredLayout {
    pub fields: Vec<CodeField>,
    pub vars: Vec<String>,
    pub ops: Vec<Op>,
    pub total: Expr,
}

/// Finds the operations of a layout whose first address is `start`.
pub(super) fn build_operations(layout: &Layout, start: Expr) -> Result<LoweredLayout> {
    let mut builder = Lowering {
        layout,
        fields: Vec::new(),
        vars: Vec::new(),
        known: HashMap::new(),
        ops: Vec::new(),
        values: HashMap::new(),
        lengths: HashMap::new(),
        names: UsedIdentifiers::default(),
        cursor: start.clone(),
        total: start,
        budget: MAX_ITEMS,
    };
    let all = u32::try_from(layout.steps.len()).map_err(|_| too_many())?;
    builder.build_steps(&StepRange { from: 0, to: all, address_rule: AddressRule::Keep, base: "", top: ItemId::ROOT })?;
    let Lowering { fields, vars, ops, total, .. } = builder;
    Ok(LoweredLayout { fields, vars, ops, total })
}

/// Leaves out variables that nothing uses.
pub(super) fn drop_unused_vars(ops: Vec<Op>, result: Option<&Expr>) -> Vec<Op> {
    let mut used = std::collections::HashSet::new();
    if let Some(result) = result {
        result.each_var(&mut |var| {
            used.insert(var);
        });
    }
    let mut kept = Vec::new();
    for op in ops.into_iter().rev() {
        match op {
            Op::Let(var, expr) if used.contains(&var) => {
                expr.each_var(&mut |var| {
                    used.insert(var);
                });
                kept.push(Op::Let(var, expr));
            }
            Op::Let(..) => {}
            Op::Param { field, at, order, var } => {
                let var = var.filter(|var| used.contains(var));
                at.each_var(&mut |var| {
                    used.insert(var);
                });
                kept.push(Op::Param { field, at, order, var });
            }
            Op::Array(array) => {
                let loops = array.loops.iter().flat_map(|(count, stride)| [count, stride]);
                for expr in [&array.at, &array.run].into_iter().chain(loops).chain(&array.dims) {
                    expr.each_var(&mut |var| {
                        used.insert(var);
                    });
                }
                kept.push(Op::Array(array));
            }
        }
    }
    kept.reverse();
    kept
}

/// A range of steps, with the item and the path of the dict or list that holds them.
struct StepRange<'p> {
    from: u32,
    to: u32,
    address_rule: AddressRule,
    base: &'p str,
    top: ItemId,
}

/// The place of the elements of a type, as found on the way to it.
#[derive(Clone)]
struct TypeOrigin {
    path: String,
    item: ItemId,
    at: Expr,
    dims: Vec<Expr>,
    shape: Vec<String>,
    loops: Vec<(Expr, Expr)>,
    /// Number of elements in a row since the last loop.
    contiguous_run: Expr,
}

struct Lowering<'l> {
    layout: &'l Layout,
    fields: Vec<CodeField>,
    vars: Vec<String>,
    /// Variables by what they are.
    known: HashMap<Expr, usize>,
    ops: Vec<Op>,
    /// Values of the stored parameters so far.
    values: HashMap<ParamId, Expr>,
    /// Number of elements of each list so far.
    lengths: HashMap<ItemId, u64>,
    names: UsedIdentifiers,
    cursor: Expr,
    total: Expr,
    /// Number of steps that may still be walked.
    budget: u64,
}

/// A member of a struct: its item, its use, and its offset in the struct.
type Member = (ItemId, TypeUse, Expr);

impl Lowering<'_> {
    fn add_variable(&mut self, hint: &str) -> usize {
        self.vars.push(format!("{hint}_{}", self.vars.len()));
        self.vars.len() - 1
    }

    /// A variable for an expression, unless it is as short as one.
    fn bind_variable(&mut self, hint: &str, expr: Expr) -> Expr {
        if matches!(expr, Expr::Const(_) | Expr::Var(_) | Expr::Start) {
            return expr;
        }
        if let Some(&var) = self.known.get(&expr) {
            return Expr::Var(var);
        }
        let var = self.add_variable(hint);
        self.known.insert(expr.clone(), var);
        self.ops.push(Op::Let(var, expr));
        Expr::Var(var)
    }

    fn charge_operation(&mut self) -> Result<()> {
        self.budget = self.budget.checked_sub(1).ok_or_else(too_many)?;
        Ok(())
    }

    // Steps: the same order and the same paths as those of the walk along an evaluation.

    fn build_steps(&mut self, range: &StepRange<'_>) -> Result<()> {
        let layout = self.layout;
        let mut open = range.base.to_owned();
        let mut at = range.from;
        while at < range.to {
            self.charge_operation()?;
            let Some(step) = layout.steps.get(at as usize) else { break };
            let mut next = at + 1;
            match step {
                LayoutStep::Enter(dict) => open = self.path_below(range.base, *dict, range.top),
                LayoutStep::Data(item) => self.build_data(*item, range.address_rule, &open)?,
                LayoutStep::Param(item) => self.build_param(*item, range.address_rule, &open)?,
                LayoutStep::List(of) => {
                    next = of.end.max(next);
                    let path = self.open_list(of.list, at, of.end, of.slot, &open);
                    self.build_repeats(
                        of.count,
                        &path,
                        &StepRange { from: at + 1, to: of.end, address_rule: range.address_rule, base: &path, top: of.list },
                    )?;
                }
                LayoutStep::Extend(of) => {
                    let path = self.open_list(of.list, at, at, ElementSlot::Existing, &open);
                    self.build_repeats(
                        of.count,
                        &path,
                        &StepRange { from: of.from, to: of.to, address_rule: AddressRule::Drop, base: &path, top: of.list },
                    )?;
                }
                LayoutStep::Element { dict, end, slot } => {
                    next = (*end).max(next);
                    let path = format!("{open}{}", self.assign_element_index(*dict, *slot));
                    if *slot == ElementSlot::New {
                        self.forget_lists(at, *end);
                    }
                    self.build_steps(&StepRange {
                        from: at + 1,
                        to: *end,
                        address_rule: range.address_rule,
                        base: &path,
                        top: *dict,
                    })?;
                }
                LayoutStep::Type(_) | LayoutStep::Summary { .. } => {}
            }
            at = next;
        }
        Ok(())
    }

    fn build_repeats(&mut self, count: RepeatCount, path: &str, range: &StepRange<'_>) -> Result<()> {
        let count = match count {
            RepeatCount::Once => 1,
            RepeatCount::Fixed(count) => count,
            RepeatCount::Param(param) => self.layout.param(param).fixed_value.ok_or_else(|| {
                Error::unsupported(format!("{path} is a list whose length is a stored parameter"))
                    .hint("declare it as an array of structs with that length")
            })?,
        };
        let negative = |_| Error::invalid_input(format!("E407: {path} has a negative repeat count"));
        let count = u64::try_from(count).map_err(negative)?;
        for _ in 0..count {
            self.charge_operation()?;
            self.build_steps(range)?;
        }
        Ok(())
    }

    fn path_below(&self, base: &str, dict: ItemId, top: ItemId) -> String {
        let mut path = base.to_owned();
        self.layout.push_dicts(&mut path, dict, top);
        path
    }

    fn join_item_path(&self, item: ItemId, open: &str) -> String {
        let mut path = format!("{open}/");
        push_name(&mut path, self.layout.name(item).unwrap_or(""));
        path
    }

    fn is_element(&self, item: ItemId) -> bool {
        self.layout.item(self.layout.item(item).parent).kind == ItemData::List
    }

    fn open_list(&mut self, list: ItemId, at: u32, end: u32, slot: ElementSlot, open: &str) -> String {
        if !self.is_element(list) {
            return self.join_item_path(list, open);
        }
        let index = self.assign_element_index(list, slot);
        if slot == ElementSlot::New {
            self.lengths.remove(&list);
            self.forget_lists(at, end);
        }
        format!("{open}{index}")
    }

    fn assign_element_index(&mut self, element: ItemId, slot: ElementSlot) -> String {
        let item = self.layout.item(element);
        if slot == ElementSlot::Existing {
            return format!("[{}]", item.position);
        }
        let length = self.lengths.entry(item.parent).or_default();
        *length += 1;
        format!("[{}]", *length - 1)
    }

    fn forget_lists(&mut self, from: u32, to: u32) {
        for step in self.layout.steps.get(from as usize + 1..to as usize).unwrap_or(&[]) {
            if let LayoutStep::List(of) = step {
                self.lengths.remove(&of.list);
            }
        }
    }

    // Items.

    fn place_item(&mut self, placement: Placement, align: u64, size: &Expr, name: &str) -> Expr {
        let at = match placement {
            Placement::At(at) => Expr::Const(i64::try_from(at).unwrap_or(i64::MAX)),
            Placement::Align(align) => self.cursor.clone().align_up(align),
            Placement::Next => self.cursor.clone().align_up(align),
        };
        let is_last = self.cursor == self.total && !matches!(placement, Placement::At(_));
        let at = self.bind_variable(&format!("at_{name}"), at);
        let end = self.bind_variable(&format!("end_{name}"), at.clone().plus(size.clone()));
        let next = size.clone().if_positive(end.clone(), self.cursor.clone());
        self.cursor = self.bind_variable("next", next);
        self.total = if is_last {
            self.cursor.clone()
        } else {
            let total = size.clone().if_positive(self.total.clone().max(end), self.total.clone());
            self.bind_variable("total", total)
        };
        at
    }

    fn effective_placement(&self, placement: Placement, address_rule: AddressRule) -> Placement {
        match address_rule.apply(placement) {
            Placement::Align(0) => Placement::Next,
            other => other,
        }
    }

    fn resolve_byteorder(&self, primitive: Primitive, own: Option<Byteorder>) -> Option<Byteorder> {
        if primitive.size() == 1 { Some(Byteorder::Little) } else { own.or(self.layout.order) }
    }

    fn add_field(&mut self, path: String, item: ItemId, primitive: Primitive, shape: Vec<String>) -> Result<usize> {
        self.charge_operation()?;
        let mut doc: Vec<String> =
            self.layout.docs(item).map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
        for (_, unit) in self.layout.attributes(item).filter(|(name, _)| matches!(*name, "unit" | "units")) {
            doc.insert(0, format!("({})", unit.to_string().trim_matches('"')));
        }
        let name = self.names.unique_identifier(&path);
        self.fields.push(CodeField { name, path, primitive, shape, doc: doc.join(" ") });
        Ok(self.fields.len() - 1)
    }

    fn build_param(&mut self, item: ItemId, address_rule: AddressRule, open: &str) -> Result<()> {
        let ItemData::Param(id) = self.layout.item(item).kind else { return Ok(()) };
        let param = self.layout.param(id);
        if param.fixed_value.is_some() {
            return Ok(());
        }
        let (primitive, order) = (param.primitive, self.resolve_byteorder(param.primitive, param.order));
        let field = self.add_field(self.join_item_path(item, open), item, primitive, Vec::new())?;
        let name = self.fields.get(field).map(|field| field.name.clone()).unwrap_or_default();
        let size = Expr::Const(primitive.size() as i64);
        let at = self.place_item(
            self.effective_placement(param.placement, address_rule),
            self.layout.ty(param.ty).align,
            &size,
            &name,
        );
        let var = self.add_variable(&format!("value_{name}"));
        self.ops.push(Op::Param { field, at, order, var: Some(var) });
        self.values.insert(id, Expr::Var(var));
        Ok(())
    }

    fn build_data(&mut self, item: ItemId, address_rule: AddressRule, open: &str) -> Result<()> {
        let Some(data) = self.layout.data_of(item) else { return Ok(()) };
        let path = if data.reference > 0 {
            format!("&{}", data.reference)
        } else if self.is_element(item) {
            format!("{open}{}", self.assign_element_index(item, ElementSlot::New))
        } else {
            self.join_item_path(item, open)
        };
        if self.layout.find_filter(data.filter).is_some_and(|filter| filter.compresses) {
            return Err(
                Error::unsupported(format!("{path} is compressed, which takes a library")).hint("declare it without `->`")
            );
        }
        let what = data.what;
        if self.layout.ty(what.ty).dynamic {
            return Err(Error::unsupported(format!("{path} holds structs with stored parameters"))
                .hint("move these parameters out of the struct"));
        }
        let size = self.use_size(what, &path)?;
        let align = self.layout.ty(what.ty).align;
        let at = self.place_item(
            self.effective_placement(data.placement, address_rule),
            align,
            &size,
            &super::identifiers::to_identifier(&path),
        );
        let place =
            TypeOrigin { path, item, at, dims: Vec::new(), shape: Vec::new(), loops: Vec::new(), contiguous_run: Expr::ONE };
        self.type_fields(what, place)
    }

    // Types.

    fn resolve_dim(&self, dim: Dim, path: &str) -> Result<(Expr, String)> {
        match dim {
            Dim::Fixed(value) => Ok((Expr::Const(value), value.to_string())),
            Dim::Param { param, suffix } => {
                let found = self.layout.param(param);
                let value = found.fixed_value.map(Expr::Const).or_else(|| self.values.get(&param).cloned());
                let value = value.ok_or_else(|| Error::unsupported(format!("{path} depends on a parameter inside a struct")))?;
                let name = self.layout.name(found.item).unwrap_or("").to_owned();
                let sign = if suffix == 0 { String::new() } else { format!("{suffix:+}") };
                Ok((value.with_suffix(suffix), format!("{name}{sign}")))
            }
            Dim::Unbound { .. } => Err(Error::unsupported(format!("{path} has a dimension without a parameter"))),
        }
    }

    /// Dimensions, their words, and the number of elements.
    fn resolve_dims(&mut self, dims: DimRun, path: &str) -> Result<(Vec<Expr>, Vec<String>, Expr)> {
        let (mut lengths, mut words, mut count) = (Vec::new(), Vec::new(), Expr::ONE);
        for &dim in dims.slice(&self.layout.dims) {
            let (length, word) = self.resolve_dim(dim, path)?;
            let length = self.bind_variable("length", length);
            count = count.times(length.clone().into_factor());
            lengths.push(length);
            words.push(word);
        }
        let count = self.bind_variable("count", count);
        Ok((lengths, words, count))
    }

    fn use_size(&mut self, what: TypeUse, path: &str) -> Result<Expr> {
        let size = self.type_size(what.ty, path)?;
        let count = self.resolve_dims(what.dims, path)?.2;
        Ok(self.bind_variable("size", count.times(size)))
    }

    fn type_size(&mut self, ty: TypeId, path: &str) -> Result<Expr> {
        let of = self.layout.ty(ty);
        match of.kind {
            TypeKind::Primitive(primitive, _) => Ok(Expr::Const(primitive.size() as i64)),
            TypeKind::Null => Ok(Expr::ZERO),
            TypeKind::Alias(what) => self.use_size(what, path),
            TypeKind::Struct => Ok(self.place_members(ty, path)?.1),
        }
    }

    /// Section 5.5: the members with data of a struct with their offsets, and its size.
    fn place_members(&mut self, ty: TypeId, path: &str) -> Result<(Vec<Member>, Expr)> {
        self.charge_operation()?;
        let of = self.layout.ty(ty);
        let (members, align) = (of.members.slice(&self.layout.members), of.align);
        let (mut placed, mut off, mut end) = (Vec::new(), Expr::ZERO, Expr::ZERO);
        for member in members {
            let MemberKind::Data(what) = member.what else { continue };
            let size = self.use_size(what, path)?;
            let at = match member.placement {
                Placement::At(at) => Expr::Const(i64::try_from(at).unwrap_or(i64::MAX)),
                Placement::Align(align) if align > 0 => off.clone().align_up(align),
                _ => off.clone().align_up(self.layout.ty(what.ty).align),
            };
            let at = self.bind_variable("offset", at);
            let behind = self.bind_variable("offset", at.clone().plus(size.clone()));
            let is_last = off == end && !matches!(member.placement, Placement::At(_));
            let next = size.clone().if_positive(behind.clone(), off);
            off = self.bind_variable("offset", next);
            let largest = if is_last { off.clone() } else { size.if_positive(end.clone().max(behind), end) };
            end = self.bind_variable("offset", largest);
            placed.push((member.item, what, at));
        }
        Ok((placed, self.bind_variable("size", end.align_up(align))))
    }

    /// The fields of a use of a type.
    fn type_fields(&mut self, what: TypeUse, mut place: TypeOrigin) -> Result<()> {
        let (dims, words, count) = self.resolve_dims(what.dims, &place.path)?;
        place.dims.extend(dims);
        place.shape.extend(words);
        place.contiguous_run = self.bind_variable("count", place.contiguous_run.times(count));
        let of = self.layout.ty(what.ty);
        match of.kind {
            TypeKind::Null => Ok(()),
            TypeKind::Alias(inner) => self.type_fields(inner, place),
            TypeKind::Primitive(primitive, own) => {
                let TypeOrigin { path, item, at, dims, shape, loops, contiguous_run: run } = place;
                let field = self.add_field(path, item, primitive, shape)?;
                let order = self.resolve_byteorder(primitive, own);
                self.ops.push(Op::Array(FieldMove { field, at, dims, loops, run, order }));
                Ok(())
            }
            TypeKind::Struct => {
                let is_typedef = of.typedef;
                let (members, size) = self.place_members(what.ty, &place.path)?;
                let times = std::mem::replace(&mut place.contiguous_run, Expr::ONE);
                if times != Expr::ONE {
                    place.loops.push((times, size));
                }
                for (item, inner, offset) in members {
                    let mut below = place.clone();
                    if !is_typedef {
                        below.path.push('.');
                        push_name(&mut below.path, self.layout.name(item).unwrap_or(""));
                        below.item = item;
                    }
                    let at = below.at.plus(offset);
                    below.at = self.bind_variable("at", at);
                    self.type_fields(inner, below)?;
                }
                Ok(())
            }
        }
    }
}
