//! A layout in the words of the other dialect, and what those words cannot say.

use super::lexer::push_name;
use super::model::{
    DataItem, Dialect, Dim, ItemData, ItemId, Layout, LayoutFilter, LayoutStep, MemberKind, ParamId, Placement, Primitive,
    PrimitiveKind, StructMember, TypeId, TypeKind,
};
use super::print::LayoutPrinter;
use super::sizes::{apply_suffix, member_align};
use crate::diagnostic::Diagnostic;

/// A layout in the other dialect.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TranslatedLayout {
    /// The text; its first line records the dialect.
    pub text: String,
    /// Declarations that could not be carried over, or that are expressed differently.
    pub losses: Vec<Diagnostic>,
}

impl TranslatedLayout {
    /// Returns `true` if every file that the layout describes is described the same.
    pub fn is_faithful(&self) -> bool {
        self.losses.iter().all(|loss| loss.is_harmless)
    }
}

impl Layout {
    /// The layout in the words of a dialect, with the attribute that records it.
    ///
    /// ```
    /// use trilith_layout::layout::{Dialect, Layout};
    /// let layout = Layout::read(b"< N : i4  x = f8[N]").unwrap();
    /// let new = layout.translate(Dialect::D2026);
    /// assert_eq!(new.text, "#: dialect=2026\nN = <i4\nx: <f8(N)\n");
    /// assert!(new.is_faithful());
    /// ```
    pub fn translate(&self, to: Dialect) -> TranslatedLayout {
        build_translation(self, LayoutPrinter::new(self, to))
    }

    /// Returns the layout in a dialect, for a file that is written again. No item has an explicit address, and each follows the
    /// one before. Comments without an item stay, on separate lines. Arrays stay compressed only in 2026.
    ///
    /// ```
    /// use trilith_layout::layout::{ByteorderMarks, Dialect, Layout};
    /// let layout = Layout::read(b"> N : i4 @64  x = <f8[N] @100  s = {a = u1 @3}").unwrap();
    /// let new = layout.compacted_as(Dialect::D2025, ByteorderMarks::Drop, &Default::default());
    /// assert_eq!(new.text, "#: dialect=2025\nN : i4\nx = f8[N]\ns = {a = u1 @3}\n");
    /// ```
    pub fn compacted_as(&self, to: Dialect, marks: ByteorderMarks, how: &StorageOptions) -> TranslatedLayout {
        let mut printer = LayoutPrinter::new(self, to);
        (printer.drops_placement, printer.decompress) = (1, true);
        printer.drops_byteorder = marks == ByteorderMarks::Drop;
        printer.stored = *how;
        printer.comments = self.plain_comments().into();
        build_translation(self, printer)
    }
}

/// The treatment of the explicit byte orders of numbers (`<i4`) in a rewritten layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteorderMarks {
    /// Each number keeps its byte order.
    Keep,
    /// All numbers have the byte order of the file.
    Drop,
}

/// The form of storage of the arrays of a rewritten file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StorageOptions {
    /// Compressed or not; only 2026 has compressed arrays.
    pub packing: Compression,
    /// The alignment of every item, a power of two up to 16; None leaves it unchanged.
    pub align: Option<u64>,
}

/// The choice between compressed and uncompressed arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// Each array stays compressed or uncompressed.
    #[default]
    Keep,
    /// No array is compressed.
    Uncompressed,
    /// Each array is compressed by `gzip`, at this level.
    Gzip(Option<i64>),
}

fn build_translation(layout: &Layout, mut printer: LayoutPrinter<'_>) -> TranslatedLayout {
    printer.layout_text();
    let to = printer.to;
    let mut text = std::mem::take(&mut printer.output);
    let at = if to == Dialect::D2025 && layout.order.is_some() && !printer.drops_byteorder { 2 } else { 0 };
    if to == layout.dialect && !text.get(at..).unwrap_or("").starts_with("#: dialect=") {
        let line = format!("#: dialect={to}\n");
        text.insert_str(at, &line);
    }
    let mut losses = printer.losses;
    if to != layout.dialect
        && printer.drops_placement == 0
        && losses.iter().all(|loss| loss.is_harmless)
        && let Some((item, message)) = super::check_translation::first_moved_item(layout, &text, to)
    {
        losses.push(Diagnostic::loss(&layout.static_path(item), message));
    }
    TranslatedLayout { text, losses }
}

impl LayoutPrinter<'_> {
    /// Types of 2025 belong to the whole layout: if one is declared below the root, all are written
    /// first, in the root.
    pub(super) fn hoist_types(&mut self) {
        let layout = self.layout;
        let types: Vec<ItemId> =
            layout.steps.iter().filter_map(|step| if let LayoutStep::Type(item) = step { Some(*item) } else { None }).collect();
        self.hoisted_types = types.iter().any(|&item| layout.item(item).parent != ItemId::ROOT);
        if self.hoisted_types {
            for item in types {
                self.named_type(item);
            }
        }
    }

    /// Returns `true` if a named type is to be declared, and what is lost by it.
    pub(super) fn type_to(&mut self, item: ItemId, ty: TypeId) -> bool {
        let layout = self.layout;
        let of = layout.ty(ty);
        if self.to == Dialect::D2025 {
            self.type_to_2025(item, ty);
            return true;
        }
        if of.dynamic {
            self.report_loss(item, "2026 has no structs with stored parameters: left out");
            return false;
        }
        let inlined = self.is_inlined(ty);
        if inlined {
            self.report_harmless_loss(item, "2026 binds dimensions where a type is declared: written out at each of its uses");
        }
        if of.declared_align != 0 && of.kind == TypeKind::Struct {
            let members = of.members.slice(&layout.members);
            let mut first = None;
            let mut natural = 1;
            for member in members {
                if let MemberKind::Data(what) = member.what {
                    first.get_or_insert(member.placement);
                    natural = natural.max(member_align(member.placement, layout.ty(what.ty).align));
                }
            }
            if natural > of.declared_align || matches!(first, Some(Placement::At(_))) {
                self.report_loss(item, format!("2026 cannot align this struct to {}", of.declared_align));
            }
        }
        !inlined
    }

    fn type_to_2025(&mut self, item: ItemId, ty: TypeId) {
        let layout = self.layout;
        let declared = layout.item(item);
        let primitive = Primitive::from_name(layout.names.resolve(declared.name), Dialect::D2025).is_some();
        if !self.type_names.insert(declared.name) || (primitive && declared.parent != ItemId::ROOT) {
            self.assign_unique_name(item);
            self.report_harmless_loss(item, "types of 2025 belong to the whole layout: renamed");
        }
        let of = layout.ty(ty);
        let mut members = of.members.slice(&layout.members).iter();
        if let (TypeKind::Struct, Some(only), None) = (of.kind, members.next(), members.next())
            && layout.name(only.item) == Some("")
        {
            self.report_loss(item, "in 2025 a struct with the one member \"\" is a typedef");
        }
    }

    /// Returns `true` if a type is written out where it is used.
    pub(super) fn is_inlined(&self, declared: TypeId) -> bool {
        self.to == Dialect::D2026 && self.layout.ty(declared).free.len > 0
    }

    /// Returns `true` if a member is not written: fixed parameters, whose values are.
    pub(super) fn leaves_out(&self, member: &StructMember, _: TypeId) -> bool {
        self.to == Dialect::D2026 && matches!(member.what, MemberKind::Fixed(_))
    }

    /// The placement with the same meaning in the new dialect, if complex numbers align differently.
    pub(super) fn placed_as(&self, placement: Placement, ty: TypeId) -> Placement {
        if !self.changes_dialect() || placement != Placement::Next || !ty.is_primitive() {
            return placement;
        }
        match self.layout.ty(ty).kind {
            TypeKind::Primitive(primitive, _) if primitive.kind() == PrimitiveKind::Complex => {
                let (old, new) = (primitive.alignment(self.layout.dialect), primitive.alignment(self.to));
                if old == new { placement } else { Placement::Align(old) }
            }
            _ => placement,
        }
    }

    /// Returns `true` if a single character needs a dimension, as text of 2025 does.
    pub(super) fn needs_length(&self, ty: TypeId, item: ItemId) -> bool {
        let of = self.layout.ty(ty);
        if !self.changes_dialect() || self.to != Dialect::D2025 || !of.text || of.inlining_rank > 0 {
            return false;
        }
        let is_alias =
            self.layout.name(item).is_none() && matches!(self.layout.item(self.layout.item(item).parent).kind, ItemData::Type(_));
        !is_alias
    }

    // Parameters.

    /// A dimension as text.
    pub(super) fn dim_text(&mut self, dim: Dim, item: ItemId) -> String {
        let mut text = String::new();
        let suffix = match dim {
            Dim::Fixed(value) => return value.to_string(),
            Dim::Unbound { name, suffix } => {
                push_name(&mut text, self.layout.names.resolve(name));
                suffix
            }
            Dim::Param { param, suffix } => {
                if let Some(value) = self.as_number(param, item) {
                    return apply_suffix(value, suffix).to_string();
                }
                text = self.item_name(self.layout.param(param).item);
                suffix
            }
        };
        let sign = if suffix < 0 { "-" } else { "+" };
        text.push_str(&sign.repeat(usize::from(suffix.unsigned_abs())));
        text
    }

    /// The value to write in place of a parameter that its name does not mean here.
    fn as_number(&mut self, param: ParamId, item: ItemId) -> Option<i64> {
        if !self.changes_dialect() {
            return None;
        }
        let layout = self.layout;
        let declared = layout.param(param);
        let of_struct = matches!(layout.item(layout.item(declared.item).parent).kind, ItemData::Type(_));
        let in_type = self.to == Dialect::D2025 && !self.structs.is_empty();
        if of_struct || in_type {
            if declared.fixed_value.is_some() {
                return declared.fixed_value;
            }
            return None;
        }
        if self.is_visible(param) {
            return None;
        }
        if declared.fixed_value.is_none() {
            let name = self.item_name(declared.item);
            self.report_loss(item, format!("parameter `{name}` is hidden here by another of its name"));
        }
        declared.fixed_value
    }

    /// Returns `true` if the name of a parameter means it in the dict that is open.
    fn is_visible(&self, param: ParamId) -> bool {
        let layout = self.layout;
        let declared = layout.item(layout.param(param).item);
        if self.renamed.contains_key(&layout.param(param).item) {
            return true;
        }
        let mut dict = self.current_dict();
        while dict != ItemId::NONE {
            if let Some(&found) = self.visible.get(&(dict, declared.name)) {
                return found == param;
            }
            dict = layout.item(dict).parent;
        }
        false
    }

    /// The datatype of a stored parameter: those of 2025 are signed.
    pub(super) fn param_type_text(&mut self, item: ItemId, ty: TypeId, primitive: Primitive) {
        if self.to == Dialect::D2025 && self.changes_dialect() && primitive.kind() == PrimitiveKind::Unsigned {
            let size = primitive.size();
            self.report_loss(item, format!("parameters of 2025 are signed: `u{size}` became `i{size}`, which ends at half"));
            let TypeKind::Primitive(_, order) = self.base_kind(ty) else { return };
            if let (Some(order), true) = (order, size > 1 && !self.drops_byteorder) {
                self.output.push(order.sign());
            }
            return self.output.push_str(&format!("i{size}"));
        }
        self.type_text(ty, item);
    }

    fn base_kind(&self, ty: TypeId) -> TypeKind {
        let mut kind = self.layout.ty(ty).kind;
        while let TypeKind::Alias(what) = kind {
            kind = self.layout.ty(what.ty).kind;
        }
        kind
    }

    // Constructs of 2026 in 2025.

    /// A referenced item becomes an item of the root, named `"&1"`.
    pub(super) fn reference_to_2025(&mut self, item: ItemId, data: &DataItem) -> bool {
        if !self.open.is_empty() {
            self.report_loss(item, "2025 has no referenced items: left out, and what follows is at another address");
            return false;
        }
        let current = self.current_dict();
        if current != ItemId::ROOT {
            self.output.push_str("/ ");
        }
        self.output.push_str(&format!("\"&{}\" = ", data.reference));
        let plain = DataItem { reference: 0, filter: 0, ..data.clone() };
        self.data_body(&plain, item);
        let mut chain = Vec::new();
        let mut at = current;
        while at != ItemId::ROOT && at != ItemId::NONE {
            chain.push(at);
            at = self.layout.item(at).parent;
        }
        for &dict in chain.iter().rev() {
            let name = self.item_name(dict);
            self.output.push_str(&format!(" {name}/"));
        }
        self.report_harmless_loss(item, format!("2025 has no referenced items: an item of the root, `\"&{}\"`", data.reference));
        true
    }

    /// A compressed array becomes its length and its bytes.
    pub(super) fn compressed_to_2025(&mut self, item: ItemId, data: &DataItem, filter: &LayoutFilter, is_element: bool) {
        if is_element {
            self.report_loss(item, "2025 has no compressed arrays: an empty element takes its place");
            return self.output.push_str("u1[0],");
        }
        let name = self.layout.name(item).unwrap_or("").to_owned();
        let (mut own, mut length) = (String::new(), String::new());
        push_name(&mut own, &name);
        push_name(&mut length, &format!("{name}#length"));
        self.output.push_str(&format!("{length} : i8"));
        let placement = match data.placement {
            Placement::Next => String::new(),
            Placement::At(address) => format!(" @{address}"),
            Placement::Align(align) => format!(" %{}", align.min(16)),
        };
        self.output.push_str(&format!("{placement}  {own} = u1[{length}]"));
        self.report_loss(item, format!("2025 has no compressed arrays: the bytes that {} made, after their length", filter.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dudley 2025: a single # is a "layout comment". A rewritten file keeps what people wrote. First tier.
    #[test]
    fn plain_comments_survive_compaction() {
        let text = "# of the whole\nx = u1[3]  ## doc # and more\n# before\ng/  # of the dict\n  \"a # b\" = u1 #: k=\"# none\"\n  ..\n\
                    l = [  # of a list\n  u1, u1]\n# at the end\n";
        let layout = Layout::read(text.as_bytes()).unwrap();
        let comments = |text: &str| {
            let lines = text.lines().map(str::trim_start).filter(|line| line.starts_with("# ")).map(str::to_owned);
            lines.collect::<Vec<_>>()
        };
        for to in [Dialect::D2025, Dialect::D2026] {
            let new = layout.compacted_as(to, ByteorderMarks::Drop, &StorageOptions::default());
            let expected = ["# of the whole", "# before", "# of the dict", "# of a list", "# at the end"];
            assert_eq!(comments(&new.text), expected, "{}", new.text);
            let again = Layout::read(new.text.as_bytes()).unwrap();
            assert_eq!((again.item_count(), again.plain_comments().len()), (layout.item_count(), 5), "{}", new.text);
        }
    }
}
