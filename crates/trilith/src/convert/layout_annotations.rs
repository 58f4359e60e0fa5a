//! Documentation and attributes that a layout has for members of structs, its types, its summary block and the parameters in its
//! shapes: into the mapping `annotations` of a tree, and back.
//!
//! Members have paths below their items, `/s/time`; a type has its name, and the summary block `{}`.

use std::sync::Arc;

use super::dudley_asdf::{AsdfToDudley, AttributeFilter, DudleyToTree, file_path};
use crate::array::{Array, Byteorder, Datatype, StructType};
use crate::bytes::MemorySource;
use crate::dudley::{Draft, NewItemKind, Notes};
use crate::json_pointer::{escape_key, unescape_key};
use crate::layout::{Attribute, ItemId, Layout, LayoutEntry, ResolvedType, own_attribute, read_own};
use crate::tree::{Node, Value};

/// The key of the summary block.
pub(super) const SUMMARY_KEY: &str = "{}";

impl<'f> DudleyToTree<'_, 'f, '_> {
    /// Documentation, attributes, members of structs, dimensions and type of an array.
    pub(super) fn add_array(&mut self, entry: &LayoutEntry, path: &str) {
        let layout = self.layout();
        let is_foreign = self.is_foreign();
        let dims = |shape: Vec<String>| Value::seq(shape).flow();
        if let Some(shape) = layout.shape_text(entry.item).filter(|_| !is_foreign) {
            self.layout_form.shapes.push((path.to_owned(), dims(shape)));
        }
        let file = self.items.file();
        let is_packed = self.item_options.physical && file.is_packed(entry);
        let applied = if is_packed { file.applied_attributes(entry) } else { Vec::new() };
        let found = self.annotation_of(entry.item, path, &AttributeFilter { children: None, applied });
        self.push_annotation(path, found);
        if let ResolvedType::Struct(_) = entry.resolved_type {
            for member in layout.told_members(entry.item) {
                let way: String = member.path.iter().map(|name| format!("/{}", escape_key(name))).collect();
                let key = format!("{path}{way}");
                if let Some(shape) = member.shape.filter(|_| !is_foreign) {
                    self.layout_form.shapes.push((key.clone(), dims(shape)));
                }
                self.annotate(member.item, &key, &AttributeFilter::default());
            }
        }
        self.add_type(entry.item, path);
    }

    fn add_type(&mut self, item: ItemId, path: &str) {
        let layout = self.layout();
        if let Some(of) = layout.named_type_of(item).filter(|of| layout.is_told(*of))
            && let Some(name) = layout.name(of)
        {
            self.layout_form.types.push((path.to_owned(), Value::from(read_own(name).into_owned())));
        }
    }

    /// The named types, and the summary block.
    pub(super) fn add_layout(&mut self) {
        let layout = self.layout();
        let mut known: Vec<&str> = Vec::new();
        for item in layout.named_types().filter(|item| layout.is_told(*item)) {
            let Some(name) = layout.name(item) else { continue };
            if name.is_empty() || name.starts_with('/') || name == SUMMARY_KEY || known.contains(&name) {
                let place = layout.path(item);
                let what = "documentation and attributes of this type: another type has its name, or it is a path";
                self.account.add_loss(&place, what);
                continue;
            }
            known.push(name);
            self.add_named(item, name);
        }
        if let Some(block) = layout.opt_summary().filter(|_| !self.is_foreign()) {
            self.layout_form.summary = layout.summary_members().iter().map(|(name, _)| read_own(name).into_owned()).collect();
            if self.layout_form.summary.is_empty() && layout.is_told(block) {
                self.account.add_loss("/", "documentation and attributes of the summary block, which stores nothing");
                return;
            }
            self.add_named(block, SUMMARY_KEY);
        }
    }

    /// Documentation and attributes of a type or the summary block.
    fn add_named(&mut self, item: ItemId, name: &str) {
        let found = self.annotation_of(item, name, &AttributeFilter::default());
        if !found.is_empty() {
            self.layout_form.named.push((name.to_owned(), found));
        }
    }

    fn layout(&self) -> &'f Layout {
        self.items.file().layout()
    }
}

impl AsdfToDudley<'_> {
    /// Gives items their dimensions, their types, and the summary block its members.
    pub(super) fn restore_form(&mut self, draft: &mut Draft, about: Node<'_>) {
        let texts = |list: Node<'_>| list.items().map(|text| text.text().into_owned()).collect::<Vec<_>>();
        if let Some(names) = about.get("summary") {
            for name in draft.make_summary(&texts(names)) {
                let message = format!("{name} cannot be stored in the summary block any more");
                self.report_form_loss("summary", message);
            }
            let origin = draft.origin_mut();
            origin.summary = Some(Notes::default()).filter(|_| origin.summary_len > 0);
        }
        for (key, dims) in about.get("shapes").iter().flat_map(|shapes| shapes.entries()) {
            match draft.told_at(&file_path(&key.text())) {
                Some((item, way)) if way.is_empty() => item.origin_mut().shape = texts(dims),
                Some((item, way)) => item.member_mut(way).shape = texts(dims),
                None => self.report_orphan("shapes", &key.text()),
            }
        }
        for (key, name) in about.get("types").iter().flat_map(|types| types.entries()) {
            let name = name.text().into_owned();
            match draft.told_at(&file_path(&key.text())) {
                Some((item, way)) if way.is_empty() => item.origin_mut().type_name = Some(name.clone()),
                _ => self.report_orphan("types", &key.text()),
            }
            let types = &mut draft.origin_mut().types;
            if !types.iter().any(|(known, _)| *known == name) {
                types.push((name, Default::default()));
            }
        }
    }

    /// The place of what is said under a key of the mapping.
    fn annotation_mut<'d>(draft: &'d mut Draft, key: &str) -> Option<Annotation<'d>> {
        if !key.is_empty() && !key.starts_with('/') {
            let origin = draft.origin.as_deref_mut()?;
            let notes = match key {
                SUMMARY_KEY => origin.summary.as_mut(),
                name => origin.types.iter_mut().find(|(known, _)| known == name).map(|(_, named)| &mut named.annotations),
            }?;
            return Some((&mut notes.docs, &mut notes.attributes));
        }
        let (item, way) = draft.told_at(key)?;
        if way.is_empty() {
            return Some((&mut item.docs, &mut item.attributes));
        }
        let notes = item.member_mut(way).annotations.get_or_insert_default();
        Some((&mut notes.docs, &mut notes.attributes))
    }

    /// The documentation and attributes of an item, or of a null, which becomes an item without elements to carry them.
    pub(super) fn annotation_target<'d>(draft: &'d mut Draft, key: &str) -> Option<Annotation<'d>> {
        if Self::annotation_mut(draft, key).is_none() {
            restore_null(draft, key)?;
        }
        Self::annotation_mut(draft, key)
    }
}

/// Documentation and attributes, to be written.
pub(super) type Annotation<'d> = (&'d mut Vec<String>, &'d mut Vec<(String, Attribute)>);

/// Makes a null of a mapping an item again; None if there is no such null.
fn restore_null(draft: &mut Draft, path: &str) -> Option<()> {
    let (parent, name) = path.rsplit_once('/')?;
    let name = unescape_key(name);
    let (dict, _) = draft.told_at(parent)?;
    let NewItemKind::Dict(items) = &mut dict.kind else { return None };
    let found = dict.attributes.iter().position(|(known, value)| *known == own_attribute(&name) && *value == Attribute::Flag)?;
    let nothing = Datatype::Struct(Arc::new(StructType::with_offsets(Vec::new(), 0).ok()?));
    let source = Arc::new(MemorySource::new(Vec::new(), "null"));
    items.push((name, Draft::data(Array::new(source, 0, nothing, Byteorder::NATIVE, Vec::new()).ok()?)));
    dict.attributes.remove(found);
    Some(())
}
