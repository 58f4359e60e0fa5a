//! The words of a layout given back to a draft, as far as they still hold of its items.

use std::collections::HashMap;

use super::layout_writer::layout_dims;
use super::new_item::{Draft, NewItemKind};
use super::source_annotations::{MemberAnnotations, NamedType, SourceAnnotations};
use crate::array::{Array, Datatype};
use crate::diagnostic::Diagnostic;
use crate::json_pointer::{escape_key, unescape_key};
use crate::layout::{Primitive, length_of};

impl Draft {
    /// The words about the item, made where there are none.
    pub fn origin_mut(&mut self) -> &mut SourceAnnotations {
        self.origin.get_or_insert_default()
    }

    /// Returns the item at a JSON Pointer, and the names that lead from it on to a member of its structs.
    pub fn told_at(&mut self, path: &str) -> Option<(&mut Draft, Vec<String>)> {
        let mut here = self;
        let mut steps = path.split('/').skip(1).map(unescape_key);
        while let Some(name) = steps.next() {
            if let NewItemKind::Data(array) = &here.kind {
                let way: Vec<String> = std::iter::once(name).chain(steps).collect();
                return has_member(array.datatype(), &way).then_some((here, way));
            }
            here = match &mut here.kind {
                NewItemKind::Dict(items) => items.iter_mut().find(|(known, _)| *known == name).map(|(_, item)| item)?,
                NewItemKind::List(items) => items.get_mut(name.parse::<usize>().ok()?)?,
                NewItemKind::Data(_) | NewItemKind::Param(_) | NewItemKind::StoredParam(..) => return None,
            };
        }
        Some((here, Vec::new()))
    }

    /// The member of the structs of the item that names lead to.
    pub fn member_mut(&mut self, way: Vec<String>) -> &mut MemberAnnotations {
        let members = &mut self.origin_mut().members;
        let at = members.iter().position(|member| member.path == way).unwrap_or_else(|| {
            members.push(MemberAnnotations { path: way, ..MemberAnnotations::default() });
            members.len() - 1
        });
        &mut members[at]
    }

    /// Puts items of the root first, as the members of its summary block; those that cannot be there are returned.
    pub fn make_summary(&mut self, names: &[String]) -> Vec<String> {
        let NewItemKind::Dict(items) = &mut self.kind else { return names.to_vec() };
        let (mut block, mut missing) = (0, Vec::new());
        for name in names {
            let is_member = |(known, item): &(String, Draft)| {
                known == name && matches!(item.kind, NewItemKind::Data(_) | NewItemKind::Param(_) | NewItemKind::StoredParam(..))
            };
            match items.iter().skip(block).position(is_member) {
                Some(at) => {
                    let item = items.remove(block + at);
                    items.insert(block, item);
                    block += 1;
                }
                None => missing.push(name.clone()),
            }
        }
        self.origin_mut().summary_len = block;
        missing
    }

    /// Takes back what no longer holds of the items: shapes that parameters do not give any more, types whose items are not
    /// alike. Returns it as losses.
    pub fn reconcile(&mut self) -> Vec<Diagnostic> {
        let mut losses = Vec::new();
        let mut types = self.origin.as_mut().map(|origin| std::mem::take(&mut origin.types)).unwrap_or_default();
        settle_item(self, "", &mut Vec::new(), &mut types, &mut losses);
        for (name, named) in &types {
            if named.example_item.is_none() {
                losses.push(Diagnostic::loss(&format!("types/{name}"), "no item can be declared with this type any more"));
            }
        }
        if let Some(origin) = &mut self.origin {
            origin.types = types;
        }
        losses
    }
}

/// Returns `true` if names lead to a member of structs.
fn has_member(datatype: &Datatype, way: &[String]) -> bool {
    let Some((first, rest)) = way.split_first() else { return true };
    let Some(fields) = datatype.as_struct() else { return false };
    let mut fields = fields.fields().iter().enumerate();
    fields.find(|(n, field)| field.name_or(*n) == *first).is_some_and(|(_, field)| has_member(&field.datatype, rest))
}

/// The parameters of the dicts that are open, the innermost last.
type ParamScope = Vec<HashMap<String, i64>>;

/// Recursion depth is bounded by the nesting limit of the layout parser.
fn settle_item(
    draft: &mut Draft,
    path: &str,
    scope: &mut ParamScope,
    types: &mut [(String, NamedType)],
    losses: &mut Vec<Diagnostic>,
) {
    let Draft { kind, origin, .. } = draft;
    match kind {
        NewItemKind::Dict(items) => {
            scope.push(HashMap::new());
            for (name, item) in items {
                if let (NewItemKind::Param(value) | NewItemKind::StoredParam(value, _), Some(known)) =
                    (&item.kind, scope.last_mut())
                {
                    known.insert(name.clone(), *value);
                }
                settle_item(item, &format!("{path}/{}", escape_key(name)), scope, types, losses);
            }
            scope.pop();
        }
        NewItemKind::List(items) => {
            for (n, item) in items.iter_mut().enumerate() {
                settle_item(item, &format!("{path}/{n}"), scope, types, losses);
            }
        }
        NewItemKind::Data(array) => {
            if let Some(origin) = origin {
                reconcile_data(array, origin, path, scope, types, losses);
            }
        }
        NewItemKind::Param(_) | NewItemKind::StoredParam(..) => {}
    }
}

fn reconcile_data(
    array: &Array,
    origin: &mut SourceAnnotations,
    path: &str,
    scope: &ParamScope,
    types: &mut [(String, NamedType)],
    losses: &mut Vec<Diagnostic>,
) {
    let mut check = |datatype: &Datatype, actual: &[u64], shape: &mut Vec<String>, path: &str| {
        if !shape.is_empty() && !fits(datatype, actual, shape, scope) {
            let dims = std::mem::take(shape).join(", ");
            losses.push(Diagnostic::loss(&format!("shapes{path}"), format!("[{dims}] is not the shape of {path} any more")));
        }
    };
    check(array.datatype(), array.shape(), &mut origin.shape, path);
    for member in &mut origin.members {
        let found = field_at(array.datatype(), &member.path);
        let place = format!("{path}/{}", member.path.join("/"));
        match found {
            Some((datatype, shape)) => check(datatype, shape, &mut member.shape, &place),
            None => member.shape.clear(),
        }
    }
    let Some(name) = origin.type_name.clone() else { return };
    let named = types.iter_mut().find(|(known, _)| *known == name).map(|(_, named)| named);
    let datatype = strip_string_length(array.datatype());
    let is_primitive = Primitive::from_name(&name, crate::layout::Dialect::D2025).is_some();
    match named.filter(|_| !is_primitive) {
        Some(named) => match &named.example_item {
            Some((known, members)) if *known == datatype && *members == origin.members => {}
            Some(_) => origin.type_name = None,
            // Parameters in the shapes of its members are those of the place where it is used.
            None => named.example_item = Some((datatype, origin.members.clone())),
        },
        None => origin.type_name = None,
    }
}

/// The datatype without the length of its strings, which is a dimension.
fn strip_string_length(datatype: &Datatype) -> Datatype {
    match datatype {
        Datatype::Ascii(_) => Datatype::Ascii(1),
        Datatype::Ucs4(_) => Datatype::Ucs4(1),
        Datatype::Ucs2(_) => Datatype::Ucs2(1),
        Datatype::Utf8(_) => Datatype::Utf8(1),
        other => other.clone(),
    }
}

fn field_at<'d>(datatype: &'d Datatype, way: &[String]) -> Option<(&'d Datatype, &'d [u64])> {
    let (first, rest) = way.split_first()?;
    let mut fields = datatype.as_struct()?.fields().iter().enumerate();
    let (_, field) = fields.find(|(n, field)| field.name_or(*n) == *first)?;
    if rest.is_empty() { Some((&field.datatype, &field.shape)) } else { field_at(&field.datatype, rest) }
}

/// Returns `true` if dimensions with parameters give a shape; the length of strings may have become another, and is a number then.
fn fits(datatype: &Datatype, shape: &[u64], dims: &mut [String], scope: &ParamScope) -> bool {
    let Ok(wanted) = layout_dims(datatype, shape) else { return false };
    let value = |name: &str| scope.iter().rev().find_map(|known| known.get(name).copied());
    let found: Option<Vec<i64>> = dims.iter().map(|dim| length_of(dim, value)).collect();
    let Some(found) = found else { return false };
    let kept: Vec<(usize, u64)> =
        found.iter().enumerate().filter_map(|(at, &length)| Some((at, u64::try_from(length).ok()?))).collect();
    if kept.len() != wanted.len() {
        return false;
    }
    for (n, ((at, length), wanted)) in kept.iter().zip(&wanted).enumerate() {
        if length == wanted {
            continue;
        }
        let is_length = n >= shape.len();
        match dims.get_mut(*at).filter(|_| is_length) {
            Some(dim) => *dim = wanted.to_string(),
            None => return false,
        }
    }
    true
}
