//! Documentation and attributes of items, sorted so that each item's are together.

use std::collections::HashMap;

use super::interner::{NameHasher, Symbol};
use super::model::{Annotation, AnnotationKind, ItemId};

/// Sorts notes by item; of attributes with one name, the last value is where the first stood.
pub(super) fn sort_annotations(notes: &mut Vec<Annotation>) {
    notes.sort_by_key(|note| note.item);
    let mut first: HashMap<(ItemId, Symbol), usize, NameHasher> = HashMap::default();
    let mut kept: Vec<Annotation> = Vec::with_capacity(notes.len());
    for note in notes.drain(..) {
        if let AnnotationKind::Attribute(name, _) | AnnotationKind::Storage(name, _) = note.said {
            if let Some(&at) = first.get(&(note.item, name)) {
                kept[at] = note;
                continue;
            }
            first.insert((note.item, name), kept.len());
        }
        kept.push(note);
    }
    *notes = kept;
}
