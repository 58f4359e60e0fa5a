//! Instances of structs with stored parameters: their members are walked one by one.

use super::super::evaluator::UNKNOWN_ADDRESS;
use super::super::lexer::push_name;
use super::super::model::{ItemId, MemberKind, TypeUse};
use super::super::param_request::EvaluationError;
use super::super::sizes::{StructLayout, round_up};
use super::{EntryWalker, WalkFrame};

impl EntryWalker<'_, '_> {
    pub(super) fn push_instances(&mut self, what: TypeUse, base: u64, item: ItemId) -> Result<(), EvaluationError> {
        let (count, ty) = self.machine.count_instances(what).map_err(|_| self.machine.overflow_fault(item))?;
        let mut dims = Vec::new();
        self.machine.append_shape(what, &mut dims);
        let open = self.path.len();
        self.stack.push(WalkFrame::Instances { ty, base, done: 0, at: 0, count, dims, open, item });
        Ok(())
    }

    pub(super) fn next_instance(&mut self) -> Result<(), EvaluationError> {
        let size = std::mem::take(&mut self.instance_size);
        let layout = self.machine.layout;
        let Some(WalkFrame::Instances { ty, base, done, at, count, dims, open, item }) = self.stack.last_mut() else {
            return Ok(());
        };
        let (ty, item) = (*ty, *item);
        // `at` counts the instances begun; the one before has just ended.
        if *at > 0 {
            let more = round_up(size, layout.ty(ty).align).and_then(|size| done.checked_add(size));
            *done = more.ok_or_else(|| self.machine.overflow_fault(item))?;
        }
        self.path.truncate(*open);
        if *at >= *count {
            self.stack.pop();
            return Ok(());
        }
        push_indices(*at, dims, &mut self.path);
        *at += 1;
        let base = if *base == UNKNOWN_ADDRESS { UNKNOWN_ADDRESS } else { base.saturating_add(*done) };
        let open = self.path.len();
        self.stack.push(WalkFrame::Instance { ty, base, member: 0, place: StructLayout::default(), open, item });
        Ok(())
    }

    pub(super) fn next_member(&mut self) -> Result<(), EvaluationError> {
        let layout = self.machine.layout;
        let Some(WalkFrame::Instance { ty, base, member, place, open, item }) = self.stack.last_mut() else { return Ok(()) };
        self.path.truncate(*open);
        let Some(next) = layout.ty(*ty).members.slice(&layout.members).get(*member as usize) else {
            self.instance_size = place.struct_size(1).unwrap_or(0);
            self.stack.pop();
            return Ok(());
        };
        *member += 1;
        let (mut here, base, item) = (*place, *base, *item);
        let replayed = self.replayed;
        let spot = self.replay_values(|machine, values| machine.place_member(&mut here, next, base, item, values))?;
        if let Some(WalkFrame::Instance { place, .. }) = self.stack.last_mut() {
            *place = here;
        }
        self.path.push('.');
        push_name(&mut self.path, layout.name(next.item).unwrap_or(""));
        match next.what {
            MemberKind::Fixed(_) => {}
            MemberKind::Stored(id) => {
                let param = layout.param(id);
                let value = Some(self.machine.param_value(id));
                self.param_entry(param.primitive, param.order, spot, value, next.item);
            }
            MemberKind::Data(what) => {
                self.data_entry(what, spot, next.item)?;
                if self.machine.is_stepped(what) && spot.size > 0 {
                    self.replayed = replayed;
                    self.push_instances(what, spot.address, next.item)?;
                }
            }
        }
        Ok(())
    }
}

/// Appends `(i,j)` for the `at`-th instance of an array, nothing for a scalar.
fn push_indices(at: u64, dims: &[u64], path: &mut String) {
    if dims.is_empty() {
        return;
    }
    let mut rest = at;
    let mut indices: Vec<u64> = dims
        .iter()
        .rev()
        .map(|&dim| {
            let index = rest.checked_rem(dim).unwrap_or(0);
            rest = rest.checked_div(dim).unwrap_or(0);
            index
        })
        .collect();
    indices.reverse();
    for (n, index) in indices.iter().enumerate() {
        path.push(if n == 0 { '(' } else { ',' });
        path.push_str(&index.to_string());
    }
    path.push(')');
}
