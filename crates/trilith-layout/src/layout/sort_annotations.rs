//! Documentation and attributes of items, sorted so that each item's are together.

use std::collections::HashMap;

use super::interner::{Mixer, Symbol};
use super::model::{ItemId, Note, Said};

/// Sorts notes by item; of attributes with one name, the last value is where the first stood.
pub(super) fn tidy(notes: &mut Vec<Note>) {
    notes.sort_by_key(|note| note.item);
    let mut first: HashMap<(ItemId, Symbol), usize, Mixer> = HashMap::default();
    let mut kept: Vec<Note> = Vec::with_capacity(notes.len());
    for note in notes.drain(..) {
        if let Said::Attribute(name, _) = note.said {
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
