//! Places of a layout that grows to which its builder goes back: one bad part never hides the others.

use super::builder::LayoutBuilder;
use super::model::ItemId;
use crate::error::Result;

/// A place to go back to.
pub(crate) struct Savepoint {
    counts: [usize; 8],
    text_len: usize,
    open_lists: usize,
    cost: u64,
    target: ItemId,
    /// The last item of the dict that is open.
    last: ItemId,
}

impl LayoutBuilder {
    /// Writes an item, or the reason why it cannot be read: one bad part never hides the others. The output of a
    /// failed `write` is removed.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the file could not be read at all, and the errors of
    /// [`LayoutBuilder::write_item`].
    pub(crate) fn or_unreadable(&mut self, name: &str, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let before = self.savepoint();
        match write(self) {
            Err(error) if !error.kind().is_transient() => {
                self.rollback(&before);
                self.write_unreadable_item(name, &error)
            }
            written => written,
        }
    }

    /// A place to go back to, before another dict is opened or closed.
    pub(crate) fn savepoint(&mut self) -> Savepoint {
        self.given.clear();
        let layout = &self.layout;
        Savepoint {
            counts: [
                layout.items.len(),
                layout.data.len(),
                layout.params.len(),
                layout.types.len(),
                layout.members.len(),
                layout.dims.len(),
                layout.steps.len(),
                self.notes.len(),
            ],
            text_len: layout.text.len(),
            open_lists: self.open_lists.len(),
            cost: self.cost,
            target: self.target,
            last: layout.item(self.current()).last,
        }
    }

    /// Takes back what was written since a place was marked.
    pub(crate) fn rollback(&mut self, mark: &Savepoint) {
        let dict = self.current();
        for (name, was_reserved) in self.given.drain(..) {
            if was_reserved {
                self.reserved.insert(name);
            } else {
                self.claimed.remove(&(dict.0, name.0));
            }
        }
        let [items, data, params, types, members, dims, steps, notes] = mark.counts;
        let layout = &mut self.layout;
        for (at, item) in layout.items.iter().enumerate().skip(items) {
            layout.name_scope.remove(&(item.parent.0, item.name.0));
            layout.indexed_arrays.remove(&ItemId(at as u32));
        }
        layout.items.truncate(items);
        layout.data.truncate(data);
        layout.params.truncate(params);
        layout.types.truncate(types);
        layout.members.truncate(members);
        layout.dims.truncate(dims);
        layout.steps.truncate(steps);
        layout.text.truncate(mark.text_len);
        self.notes.truncate(notes);
        self.open_lists.truncate(mark.open_lists);
        (self.cost, self.target) = (mark.cost, mark.target);
        let owner = layout.item_mut(dict);
        owner.last = mark.last;
        if mark.last == ItemId::NONE {
            owner.first = ItemId::NONE;
        } else {
            layout.item_mut(mark.last).next = ItemId::NONE;
        }
    }
}
