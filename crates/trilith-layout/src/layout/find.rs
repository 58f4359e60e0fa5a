//! Lookup of an entry by its path, without a walk over the entries before it; members of structs among arrays.

use std::sync::Arc;

use super::entry::LayoutEntry;
use super::evaluation::LayoutEvaluation;
use super::evaluator::Evaluator;
use super::lexer::unquote_name;
use super::model::{Dim, ItemData, ItemId, Layout, LayoutStep, MemberKind, RepeatCount, StructMember, TypeId};
use super::param_request::EvaluationError;
use super::resolved_type::ResolvedType;
use super::walk::EntryWalker;
use crate::span::Span;
use crate::suggest::nearest;

/// An array somewhere in the stream: an item, or one member of all elements of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayLocation {
    /// The path of the item.
    pub path: String,
    /// Layout address of the first element; `None` without data, or if it is not known.
    pub address: Option<u64>,
    /// The datatype of one element.
    pub typed: ResolvedType,
    /// The dimensions, slowest first: those of the item, then those of the member.
    pub shape: Vec<u64>,
    /// Bytes from one element to the next along each dimension.
    pub strides: Vec<u64>,
    /// The item that declares it.
    pub item: ItemId,
}

/// A list that is repeated at the end of a layout: `NAME [n]`.
pub(crate) struct ListExtension {
    /// The list.
    pub list: ItemId,
    /// The number of repetitions.
    pub count: i64,
    /// The place of the number in the text.
    pub count_span: Span,
}

impl Layout {
    /// The stored parameter that is the first dimension of a data item, if it has one value in a stream.
    pub(crate) fn counted_by(&self, item: ItemId) -> Option<ItemId> {
        let dims = self.data_of(item)?.what.dims.slice(&self.dims);
        let Dim::Param { param, .. } = dims.first()? else { return None };
        let param = self.param(*param);
        (param.fixed_value.is_none() && !param.is_redeclared).then_some(param.item)
    }

    /// Appends the names of the dicts from below `top` down to `dict`.
    pub(super) fn push_dicts(&self, path: &mut String, dict: ItemId, top: ItemId) {
        let mut chain = Vec::new();
        let mut at = dict;
        while at != top && at != ItemId::NONE && at != ItemId::ROOT {
            chain.push(at);
            at = self.item(at).parent;
        }
        for &id in chain.iter().rev() {
            path.push('/');
            super::lexer::push_name(path, self.name(id).unwrap_or(""));
        }
    }

    /// `NAME [n]` with a number, if nothing follows it that occupies the stream.
    pub(crate) fn last_extension(&self) -> Option<ListExtension> {
        let last = self.steps.len().checked_sub(1)?;
        if self.plan.places.last() != Some(&(last as u32)) {
            return None;
        }
        match self.steps.last()? {
            LayoutStep::Extend(of) => match of.count {
                RepeatCount::Fixed(count) => Some(ListExtension { list: of.list, count, count_span: of.span }),
                _ => None,
            },
            _ => None,
        }
    }

    /// The list outside of lists that a path leads to or through, and what follows it in the path.
    pub fn list_on<'p>(&self, path: &'p str) -> Option<(ItemId, &'p str)> {
        let (mut dict, mut rest) = (ItemId::ROOT, path);
        loop {
            let (name, after) = leading_name(rest)?;
            let child = self.child(dict, &name)?;
            match self.item(child).kind {
                ItemData::Dict => (dict, rest) = (child, path.get(path.len() - after.len()..)?),
                ItemData::List => return Some((child, path.get(path.len() - after.len()..)?)),
                _ => return None,
            }
        }
    }

    /// Returns the item, parameter or member that names lead to, from the root dict on; each is the name of an item, or
    /// (`true`) of a member of structs. Of a list the names lead into all elements.
    pub(crate) fn declared(&self, way: &[(bool, String)]) -> Option<ItemId> {
        let mut here = vec![ItemId::ROOT];
        let mut ty = None;
        let mut found = None;
        for (is_member, name) in way {
            if !is_member {
                let mut next: Vec<ItemId> = here.iter().flat_map(|&dict| self.items_named(dict, name)).collect();
                // A dict shows the members of its item without a name.
                if next.is_empty() {
                    let nameless = here.iter().flat_map(|&dict| self.items_named(dict, ""));
                    next.extend(nameless.filter_map(|item| Some(self.member_of(self.data_of(item)?.what.ty, name)?.item)));
                }
                (here, ty, found) = (next, None, None);
                continue;
            }
            let types = match ty {
                Some(ty) => vec![ty],
                None => here.iter().filter_map(|&item| Some(self.data_of(item)?.what.ty)).collect(),
            };
            let member = types.into_iter().find_map(|ty| self.member_of(ty, name))?;
            (found, ty) = (Some(member.item), Some(TypeId::NONE));
            if let MemberKind::Data(what) = member.what {
                ty = Some(what.ty);
            }
        }
        // A parameter takes precedence over an array of the same name.
        let param = here.iter().copied().find(|id| self.param_of(*id).is_some());
        found.or(param).or(here.first().copied())
    }

    /// Returns the names of what the summary block stores, in order, each with `true` if it is a parameter.
    pub fn summary_members(&self) -> Vec<(&str, bool)> {
        let members = self.summary.map(|ty| self.ty(ty).members.slice(&self.members)).unwrap_or(&[]);
        let stored = members.iter().filter(|member| !matches!(member.what, MemberKind::Fixed(_)));
        stored.map(|member| (self.name(member.item).unwrap_or(""), matches!(member.what, MemberKind::Stored(_)))).collect()
    }

    /// The items of a name in a dict, or in the dicts that are elements of a list.
    fn items_named(&self, item: ItemId, name: &str) -> Vec<ItemId> {
        let mut dicts = vec![item];
        let mut found = Vec::new();
        while let Some(at) = dicts.pop() {
            if self.item(at).kind == ItemData::List {
                dicts.extend(self.children(at).filter(|id| matches!(self.item(*id).kind, ItemData::Dict | ItemData::List)));
                continue;
            }
            let is_item = |id: &ItemId| !matches!(self.item(*id).kind, ItemData::Type(_) | ItemData::Pending | ItemData::Summary);
            found.extend(self.children(at).filter(is_item).filter(|id| self.name(*id) == Some(name)));
        }
        found
    }

    /// The member of that name of the structs that a type comes down to.
    fn member_of(&self, ty: TypeId, name: &str) -> Option<&StructMember> {
        self.ty(self.resolve_aliases(ty)).members.slice(&self.members).iter().find(|member| self.name(member.item) == Some(name))
    }

    /// Returns `true` if the element of a list that was declared last is a dict.
    pub(crate) fn repeats_dict(&self, list: ItemId) -> bool {
        let last = self.item(list).last;
        last != ItemId::NONE && self.item(last).kind == ItemData::Dict
    }
}

impl LayoutEvaluation<'_> {
    /// Returns the array at a path, which may continue into structs: `/records.time`. The members of the item `""` of a dict are
    /// also members of the dict, unless another item has that name.
    ///
    /// ```
    /// use trilith_layout::layout::{Layout, EvaluateOptions};
    /// let layout = Layout::read(b"\"\" = {time = <f8  r = <f4[2]}[3]").unwrap();
    /// let found = layout.evaluate_with(&EvaluateOptions::default(), &[]).unwrap();
    /// let r = found.locate("/r").unwrap().unwrap();
    /// assert_eq!((r.address, r.shape, r.strides), (Some(8), vec![3, 2], vec![16, 4]));
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`LayoutEvaluation::find`].
    pub fn locate(&self, path: &str) -> Result<Option<ArrayLocation>, EvaluationError> {
        if let Some(entry) = self.find(path)? {
            return Ok(Some(ArrayLocation::from_entry(&entry)));
        }
        // A member: the item is the part before one of the points.
        for (at, _) in path.match_indices('.') {
            if let Some(entry) = self.find(path.get(..at).unwrap_or(""))?
                && let Some(found) = ArrayLocation::from_entry_members(&entry).into_member(path.get(at..).unwrap_or(""))
            {
                return Ok(Some(found));
            }
        }
        // A member of the item "" of its dict.
        let cut = last_name(path);
        let (dict, name) = (path.get(..cut).unwrap_or(""), path.get(cut..).unwrap_or(""));
        let Some(entry) = self.find(&format!("{dict}/\"\""))? else { return Ok(None) };
        Ok(ArrayLocation::from_entry_members(&entry).into_member(&format!(".{}", name.trim_start_matches('/'))))
    }
}

impl Layout {
    /// Returns the nearest existing path for a path without an item: the same path up to the first unknown name, with the most
    /// similar name in that dict.
    ///
    /// ```
    /// use trilith_layout::layout::Layout;
    /// let layout = Layout::read(b"mesh/ density = f8").unwrap();
    /// assert_eq!(layout.nearest_path("/mesh/densty").as_deref(), Some("/mesh/density"));
    /// assert_eq!(layout.nearest_path("/mesh/velocity"), None);
    /// ```
    pub fn nearest_path(&self, path: &str) -> Option<String> {
        let missing = self.find_missing_name(path)?;
        let near = nearest(&missing.name, missing.names.iter().copied())?;
        let mut out = missing.dict;
        super::lexer::push_name(&mut out, near);
        Some(out)
    }

    /// The first name of a path that its dict does not have.
    pub fn find_missing_name(&self, path: &str) -> Option<MissingName<'_>> {
        let (mut dict, mut rest, mut out) = (ItemId::ROOT, path, String::new());
        while let Some((name, after)) = leading_name(rest) {
            out.push('/');
            let Some(child) = self.child(dict, &name) else {
                let first = self.item(dict).first;
                let ids = std::iter::successors(Some(first), |id| Some(self.item(*id).next));
                let children = ids.take_while(|id| *id != ItemId::NONE).map(|id| self.item(id));
                let named = children.filter(|item| !matches!(item.kind, ItemData::Type(_) | ItemData::Pending));
                let names = named.map(|item| self.names.resolve(item.name)).collect();
                return Some(MissingName { dict: out, name, names });
            };
            super::lexer::push_name(&mut out, &name);
            if !after.starts_with('/') {
                return None;
            }
            (dict, rest) = (child, after);
        }
        None
    }
}

/// A name that a dict does not have.
pub struct MissingName<'l> {
    /// The path of the dict, with a `/` after it.
    dict: String,
    /// The name that was asked for.
    pub name: String,
    /// Names that the dict has.
    pub names: Vec<&'l str>,
}

/// Returns the place of the last `/` outside of quotes.
fn last_name(path: &str) -> usize {
    let (mut quoted, mut escaped, mut found) = (false, false, 0);
    for (at, c) in path.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '/' if !quoted => found = at,
            _ => {}
        }
    }
    found
}

impl ArrayLocation {
    pub(super) fn from_entry(entry: &LayoutEntry) -> Self {
        Self::from_entry_type(entry, entry.resolved_type.clone())
    }

    /// Does the same, for the members of its structs: stored parameters that decide no length are members, too.
    pub(crate) fn from_entry_members(entry: &LayoutEntry) -> Self {
        Self::from_entry_type(
            entry,
            entry
                .is_contiguous
                .as_ref()
                .map_or_else(|| entry.resolved_type.clone(), |plain| ResolvedType::Struct(Arc::clone(plain))),
        )
    }

    fn from_entry_type(entry: &LayoutEntry, typed: ResolvedType) -> Self {
        let mut located = Self {
            path: entry.path.clone(),
            address: entry.address,
            typed,
            shape: Vec::new(),
            strides: Vec::new(),
            item: entry.item,
        };
        located.add_dims(&entry.shape);
        located
    }

    /// Appends contiguous dimensions of elements of the present type.
    fn add_dims(&mut self, shape: &[u64]) {
        self.strides.extend(self.contiguous_strides(shape));
        self.shape.extend_from_slice(shape);
    }

    /// Returns the strides of elements of the present type that are next to each other.
    pub(crate) fn contiguous_strides(&self, shape: &[u64]) -> Vec<u64> {
        let mut stride = self.typed.size().unwrap_or(0);
        let mut strides = vec![0; shape.len()];
        for (slot, dim) in strides.iter_mut().zip(shape).rev() {
            *slot = stride;
            stride = stride.saturating_mul(*dim);
        }
        strides
    }

    /// The member that `.a.b` leads to.
    pub(super) fn into_member(mut self, path: &str) -> Option<Self> {
        let mut rest = path;
        while !rest.is_empty() {
            let inside = rest.strip_prefix('.')?;
            let (name, after) = leading_name(&format!("/{inside}")).map(|(name, after)| (name, after.len()))?;
            rest = inside.get(inside.len() - after..)?;
            let ResolvedType::Struct(structure) = self.typed.clone() else { return None };
            let member = structure.members.iter().find(|member| member.name == name)?;
            self.address = match (self.address, member.offset) {
                (Some(address), Some(offset)) => Some(address.checked_add(offset)?),
                _ => None,
            };
            self.typed = member.datatype.clone();
            self.add_dims(&member.shape);
        }
        Some(self)
    }
}

/// The entry at `path`.
#[allow(clippy::needless_pass_by_value, reason = "a machine is a state that is used up")]
pub(super) fn find_entry<'l>(
    evaluation: &LayoutEvaluation<'l>,
    machine: Evaluator<'l>,
    path: &str,
) -> Result<Option<LayoutEntry>, EvaluationError> {
    let layout = evaluation.layout();
    let mut walker = EntryWalker::new(evaluation, machine.clone());
    let Some(path) = canonical(path) else { return Ok(None) };
    walker.target_path = Some(path.clone());
    if path.starts_with('&') {
        return walker.try_next_entry();
    }
    for item in top_items(layout, &path) {
        if layout.item(item).kind == ItemData::List {
            // A list itself is not an entry: none of its elements need be walked.
            let name = layout.static_path(item);
            if !path.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('[')) {
                continue;
            }
            let from = layout.plan.step_by_list.partition_point(|(list, _)| *list < item);
            let places = layout.plan.step_by_list.get(from..).unwrap_or(&[]).iter().take_while(|(list, _)| *list == item);
            let mut length = 0u64;
            for &(_, place) in places {
                walker.set_length(item, length);
                walker.seek_places(place as usize, place as usize + 1);
                if let Some(entry) = walker.try_next_entry()? {
                    return Ok(Some(entry));
                }
                length = length.saturating_add(list_growth(layout, &machine, place)?);
            }
        } else if let Ok(at) = layout.plan.step_by_item.binary_search_by_key(&item, |(known, _)| *known)
            && let Some(&(_, place)) = layout.plan.step_by_item.get(at)
        {
            walker.seek_places(place as usize, place as usize + 1);
            if let Some(entry) = walker.try_next_entry()? {
                return Ok(Some(entry));
            }
        }
    }
    Ok(None)
}

/// Returns the number of elements that a place adds to its list.
pub(super) fn list_growth(layout: &Layout, machine: &Evaluator<'_>, place: u32) -> Result<u64, EvaluationError> {
    let step = layout.plan.places.get(place as usize).and_then(|&step| layout.steps.get(step as usize));
    Ok(match step {
        Some(LayoutStep::List(of)) => machine.resolve_repeat_count(of.count, of.span)?.saturating_mul(u64::from(of.elements)),
        Some(LayoutStep::Extend(of)) => machine.resolve_repeat_count(of.count, of.span)?,
        _ => 0,
    })
}

/// The items that the names at the beginning of a path lead to: data, a list, parameters.
fn top_items(layout: &Layout, path: &str) -> Vec<ItemId> {
    let mut dict = ItemId::ROOT;
    let mut rest = path;
    while let Some((name, after)) = leading_name(rest) {
        if after.starts_with('/') {
            match layout.child(dict, &name) {
                Some(child) if layout.item(child).kind == ItemData::Dict => dict = child,
                _ => return Vec::new(),
            }
            rest = after;
            continue;
        }
        let mut found: Vec<ItemId> = layout.child(dict, &name).into_iter().collect();
        if after.is_empty() {
            // Parameters have separate names; of several (2026), the last declaration counts.
            let param = layout.names.find_symbol(&name).and_then(|name| layout.found_params.get(&(dict.0, name.0)));
            found.extend(param.map(|&param| layout.param(param).item));
        }
        return found;
    }
    Vec::new()
}

/// The name after a leading `/`, and what follows it.
fn leading_name(path: &str) -> Option<(String, &str)> {
    let inside = path.strip_prefix('/')?;
    if !inside.starts_with('"') {
        let end = inside.find(['/', '[', '(', '.', '#']).unwrap_or(inside.len());
        return Some((inside.get(..end)?.to_owned(), inside.get(end..)?));
    }
    quoted_first(inside)
}

/// The quoted name that a text begins with, and what follows it.
fn quoted_first(inside: &str) -> Option<(String, &str)> {
    let mut escaped = false;
    for (at, c) in inside.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some((unquote_name(inside.get(..=at)?).into_owned(), inside.get(at + 1..)?)),
            _ => {}
        }
    }
    None
}

/// The path as entries spell it: a leading `/`, quotes only if they are needed.
pub fn canonical(path: &str) -> Option<String> {
    if path.starts_with('&') {
        return Some(path.to_owned());
    }
    let with_slash = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let mut out = String::new();
    let mut rest = with_slash.as_str();
    while !rest.is_empty() {
        if let Some((name, after)) = leading_name(rest) {
            out.push('/');
            super::lexer::push_name(&mut out, &name);
            rest = after;
            continue;
        }
        if rest.starts_with('/') {
            return None;
        }
        if let Some((name, after)) = rest.strip_prefix('.').filter(|inside| inside.starts_with('"')).and_then(quoted_first) {
            out.push('.');
            super::lexer::push_name(&mut out, &name);
            rest = after;
            continue;
        }
        let end = rest.get(1..)?.find(['/', '.']).map_or(rest.len(), |n| n + 1);
        let piece = rest.get(..end)?;
        out.push_str(piece);
        rest = rest.get(end..)?;
    }
    Some(out)
}
