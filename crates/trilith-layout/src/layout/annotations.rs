//! The words of a layout about what is not an item of a stream: members of structs, named types, the summary block; and the
//! parameters in its shapes.

use std::collections::HashSet;

use super::escape::read_own;
use super::interner::Symbol;
use super::lexer::quoted_name;
use super::model::{Attribute, Dim, ItemData, ItemId, Layout, LayoutLiteral, MemberKind, TypeId, TypeKind, TypeUse};
use super::primitive::PrimitiveKind;
use super::sizes::apply_suffix;

/// A member of the structs of an item with metadata in the layout.
#[derive(Debug, Clone)]
pub struct AnnotatedMember {
    /// The names that lead to it from the item on.
    pub path: Vec<String>,
    /// The member itself, which has documentation and attributes.
    pub item: ItemId,
    /// Dimensions of the member, if parameters are among them.
    pub shape: Option<Vec<String>>,
}

/// Maximum number of members of one item.
const MAX_MEMBERS: usize = 100_000;

impl Layout {
    /// Returns `true` if the layout has documentation or attributes of an item.
    pub fn is_told(&self, item: ItemId) -> bool {
        self.docs(item).next().is_some() || self.attributes(item).next().is_some() || self.raw_attributes(item).next().is_some()
    }

    /// Returns the named types of the layout.
    pub fn named_types(&self) -> impl Iterator<Item = ItemId> {
        (1..self.item_count())
            .filter_map(|at| self.item_at(at))
            .filter(|&id| matches!(self.item(id).kind, ItemData::Type(_)) && self.item(id).name != Symbol::NONE)
    }

    /// Returns the named type that an item is declared with.
    pub fn named_type_of(&self, item: ItemId) -> Option<ItemId> {
        let ty = self.use_of(item)?.ty;
        let of = Some(self.ty(ty)).filter(|_| !ty.is_primitive())?;
        let declared = if of.origin == TypeId::NONE { ty } else { of.origin };
        Some(self.ty(declared).item).filter(|&id| id != ItemId::NONE && self.item(id).name != Symbol::NONE)
    }

    /// Returns the dimensions of an item as a layout spells them, if parameters of dicts are among them.
    pub fn shape_text(&self, item: ItemId) -> Option<Vec<String>> {
        self.dims_text(self.use_of(item)?)
    }

    /// Returns the members of the structs of an item with metadata in the layout, each with its path.
    pub fn told_members(&self, item: ItemId) -> Vec<AnnotatedMember> {
        let mut found = Vec::new();
        if let Some(what) = self.use_of(item) {
            self.add_members(what.ty, &mut Vec::new(), &mut found, &mut HashSet::new());
        }
        found
    }

    /// Adds the members with metadata and returns `true` if there are any. Recursion is bounded by the nesting limit of structs.
    fn add_members(
        &self,
        ty: TypeId,
        way: &mut Vec<String>,
        found: &mut Vec<AnnotatedMember>,
        silent: &mut HashSet<TypeId>,
    ) -> bool {
        let of = self.ty(self.resolve_aliases(ty));
        if of.kind != TypeKind::Struct || silent.contains(&ty) {
            return false;
        }
        let before = found.len();
        for member in of.members.slice(&self.members) {
            if found.len() >= MAX_MEMBERS {
                break;
            }
            let what = match member.what {
                MemberKind::Data(what) => Some(what),
                MemberKind::Stored(_) => None,
                MemberKind::Fixed(_) => continue,
            };
            way.push(read_own(self.name(member.item).unwrap_or("")).into_owned());
            let shape = what.and_then(|what| self.dims_text(what));
            if shape.is_some() || self.is_told(member.item) {
                found.push(AnnotatedMember { path: way.clone(), item: member.item, shape });
            }
            if let Some(what) = what {
                self.add_members(what.ty, way, found, silent);
            }
            way.pop();
        }
        if found.len() == before {
            silent.insert(ty);
        }
        found.len() > before
    }

    /// The type that typedefs come down to.
    pub(super) fn resolve_aliases(&self, ty: TypeId) -> TypeId {
        let mut ty = ty;
        while let TypeKind::Alias(inner) = self.ty(ty).kind {
            ty = inner.ty;
        }
        ty
    }

    fn use_of(&self, item: ItemId) -> Option<TypeUse> {
        if let Some(data) = self.data_of(item) {
            return Some(data.what);
        }
        let ItemData::Type(ty) = self.item(self.item(item).parent).kind else { return None };
        let member = self.ty(ty).members.slice(&self.members).iter().find(|member| member.item == item)?;
        match member.what {
            MemberKind::Data(what) => Some(what),
            MemberKind::Fixed(_) | MemberKind::Stored(_) => None,
        }
    }

    /// Returns a name for each axis of an item: that of the parameter which is its length, `ny-1` for the dimension `ny-`.
    /// An axis of fixed length has none.
    pub fn axis_names(&self, item: ItemId) -> Vec<Option<String>> {
        let what = if item == ItemId::ROOT { None } else { self.use_of(item) };
        let Some(what) = what else { return Vec::new() };
        let name = |dim: &Dim| match *dim {
            Dim::Param { param, suffix } => {
                let name = self.name(self.param(param).item).filter(|name| !name.is_empty())?;
                Some(if suffix == 0 { name.to_owned() } else { format!("{name}{suffix:+}") })
            }
            Dim::Fixed(_) | Dim::Unbound { .. } => None,
        };
        let mut names: Vec<_> = self.all_dims(what).iter().map(name).collect();
        // The last dimension of text is the length of each string.
        if let TypeKind::Primitive(primitive, _) = self.ty(self.resolve_aliases(what.ty)).kind
            && matches!(primitive.kind(), PrimitiveKind::Ascii | PrimitiveKind::Unicode)
        {
            names.pop();
        }
        names
    }

    /// Returns `true` if the summary block stores an item, as a parameter or as a variable, and it is one value.
    pub fn is_summary_value(&self, item: ItemId) -> bool {
        let is_one = self.parent(item) == Some(ItemId::ROOT) && self.axis_names(item).is_empty();
        is_one && self.summary_members().iter().any(|(name, _)| self.name(item) == Some(name))
    }

    /// Returns the name of the axis that counts the files of a set, or the streams of one layout: the variable of the summary
    /// block that is their time by its attributes (`axis="T"`, `standard_name="time"`) or its name, otherwise `record`.
    pub fn record_axis(&self) -> &str {
        let variables =
            || self.children(ItemId::ROOT).filter(|item| self.data_of(*item).is_some() && self.is_summary_value(*item));
        let said = |item: &ItemId, name: &str, value: &str| {
            let is_it = |said: &Attribute| matches!(said, Attribute::Value(LayoutLiteral::Text(text)) if text == value);
            self.attributes(*item).any(|(known, said)| known == name && is_it(said))
        };
        let marked = variables().find(|item| said(item, "axis", "T") || said(item, "standard_name", "time"));
        let found = marked.or_else(|| variables().find(|item| self.name(*item) == Some("time")));
        found.and_then(|item| self.name(item)).unwrap_or("record")
    }

    /// The dimensions of an item with those of its typedefs, without those that are removed.
    fn all_dims(&self, what: TypeUse) -> Vec<Dim> {
        let (mut what, mut dims) = (what, Vec::new());
        loop {
            dims.extend(what.dims.slice(&self.dims).iter().filter(|dim| **dim != Dim::Fixed(-1)));
            match self.ty(what.ty).kind {
                TypeKind::Alias(inner) => what = inner,
                _ => return dims,
            }
        }
    }

    fn dims_text(&self, what: TypeUse) -> Option<Vec<String>> {
        let all = self.all_dims(what);
        let is_named = all.iter().any(|dim| matches!(dim, Dim::Param { .. }));
        let text = |dim: &Dim| match *dim {
            Dim::Fixed(value) => Some(value.to_string()),
            Dim::Unbound { .. } => None,
            Dim::Param { param, suffix } => {
                let item = self.param(param).item;
                let name = self.name(item).filter(|name| quoted_name(name) == *name && !self.member_of_struct(item))?;
                let sign = if suffix < 0 { "-" } else { "+" };
                Some(format!("{name}{}", sign.repeat(usize::from(suffix.unsigned_abs()))))
            }
        };
        all.iter().filter(|_| is_named).map(text).collect::<Option<Vec<_>>>().filter(|_| is_named)
    }
}

/// Returns the length that a dimension of [`Layout::shape_text`] has; -1 if it is removed, `None` if a parameter is not known.
pub(crate) fn length_of(dim: &str, value: impl Fn(&str) -> Option<i64>) -> Option<i64> {
    if let Ok(length) = dim.parse() {
        return Some(length);
    }
    let name = dim.trim_end_matches(['+', '-']);
    let signs = dim.get(name.len()..)?;
    let count = i8::try_from(signs.len()).ok().filter(|count| *count <= 31)?;
    let suffix = match (signs.contains('+'), signs.contains('-')) {
        (true, true) => return None,
        (_, is_less) => {
            if is_less {
                -count
            } else {
                count
            }
        }
    };
    Some(apply_suffix(value(name)?, suffix))
}
