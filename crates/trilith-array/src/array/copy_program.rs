//! A datatype compiled to a few moves, applied to whole runs of elements: no decision per element.
//!
//! Every way out of an array goes through here: it takes elements as they are stored (any byte order,
//! padding between fields, any distance between elements) and makes them packed, in one byte order.

use super::datatype::{ByteUnit, Byteorder, Datatype};
use crate::bytes::to_usize;
use crate::error::Result;

/// The treatment of bytes on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOp {
    Copy,
    /// Words of this many bytes turned round.
    Swap(usize),
    /// Bytes of booleans: any byte but 0 becomes 1.
    Bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum CopyStep {
    /// `len` bytes of an element.
    Move { from: usize, to: usize, len: usize, op: ByteOp },
    /// The steps again and again: a field that is an array of structs.
    Repeat { count: usize, from: usize, to: usize, from_stride: usize, to_stride: usize, steps: Vec<CopyStep> },
}

/// The steps that make one packed element out of a stored one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CopyProgram {
    /// Bytes of a stored element.
    pub stored: usize,
    /// Bytes of a packed element.
    pub packed: usize,
    steps: Vec<CopyStep>,
}

/// `n` elements, `stride` bytes apart, the first at byte `at`.
#[derive(Debug, Clone, Copy)]
pub(super) struct StridedRun {
    pub offset: usize,
    pub stride: isize,
}

/// Rows of a batch of structs: small enough that every field finds its bytes still in the first cache.
const BATCH_ROWS: usize = 16 << 10;

impl CopyProgram {
    /// Elements of `datatype` stored in `stored` order, made packed in `order`.
    pub(super) fn new(datatype: &Datatype, stored: Byteorder, order: Byteorder) -> Result<Self> {
        let mut steps = Vec::new();
        compile_steps(datatype, stored, order, StepTarget { from: 0, to: 0, count: 1 }, &mut steps)?;
        Ok(Self { stored: to_usize(datatype.item_size())?, packed: to_usize(datatype.packed_size())?, steps })
    }

    /// Returns the treatment of every byte, if it is the same for all of them and none is left out.
    pub(super) fn uniform_op(&self) -> Option<ByteOp> {
        match self.steps[..] {
            [] if self.stored == 0 => Some(ByteOp::Copy),
            [CopyStep::Move { from: 0, to: 0, len, op: how }] if len == self.stored && len == self.packed => Some(how),
            _ => None,
        }
    }

    /// Returns the program for rows of `n` contiguous elements; `None` if bytes are left out or treated differently.
    pub(super) fn for_rows(&self, n: usize) -> Option<Self> {
        let op = self.uniform_op()?;
        let len = self.stored.checked_mul(n)?;
        Some(Self { stored: len, packed: len, steps: vec![CopyStep::Move { from: 0, to: 0, len, op }] })
    }

    /// Makes `n` elements. Runs past the end of either slice are cut short; callers have checked that there are none.
    pub(super) fn convert_elements(&self, from: &[u8], source: StridedRun, to: &mut [u8], target: StridedRun, n: usize) {
        if let [CopyStep::Move { .. }] = self.steps[..] {
            return apply_steps(&self.steps, from, source, to, target, n);
        }
        let batch = (BATCH_ROWS / (self.stored + self.packed).max(1)).clamp(1, 4096);
        let mut done = 0;
        while done < n {
            let rows = batch.min(n - done);
            apply_steps(&self.steps, from, source.skip(done), to, target.skip(done), rows);
            done += rows;
        }
    }
}

impl StridedRun {
    /// The run without its first `n` elements.
    pub(super) fn skip(self, n: usize) -> Self {
        Self { offset: self.offset.wrapping_add_signed(self.stride.wrapping_mul(n as isize)), ..self }
    }
}

#[derive(Clone, Copy)]
struct StepTarget {
    from: u64,
    to: u64,
    /// Values one after the other.
    count: u64,
}

/// Appends the steps for `place.count` values of `datatype`. Struct nesting, and so recursion, is limited.
fn compile_steps(
    datatype: &Datatype,
    stored: Byteorder,
    order: Byteorder,
    place: StepTarget,
    steps: &mut Vec<CopyStep>,
) -> Result<()> {
    let Datatype::Struct(fields) = datatype else {
        let how = match datatype.byte_unit() {
            ByteUnit::Bool => ByteOp::Bool,
            ByteUnit::Word(width) if stored != order => ByteOp::Swap(width),
            _ => ByteOp::Copy,
        };
        let len = to_usize(place.count.saturating_mul(datatype.item_size()))?;
        push(steps, to_usize(place.from)?, to_usize(place.to)?, len, how);
        return Ok(());
    };
    let inline = place.count == 1;
    let (from, to) = if inline { (place.from, place.to) } else { (0, 0) };
    let mut own = Vec::new();
    let into = if inline { &mut *steps } else { &mut own };
    let mut packed = 0;
    for field in fields.fields() {
        let at = StepTarget { from: from.saturating_add(field.offset), to: to.saturating_add(packed), count: field.count() };
        if at.count > 0 {
            compile_steps(&field.datatype, field.byteorder, order, at, into)?;
        }
        packed += at.count.saturating_mul(field.datatype.packed_size());
    }
    if inline || own.is_empty() {
        return Ok(());
    }
    let (from_stride, to_stride) = (to_usize(fields.item_size())?, to_usize(fields.packed_size())?);
    let (from, to, count) = (to_usize(place.from)?, to_usize(place.to)?, to_usize(place.count)?);
    match own[..] {
        [CopyStep::Move { from: 0, to: 0, len, op: how }] if len == from_stride && len == to_stride => {
            push(steps, from, to, len.saturating_mul(count), how);
        }
        _ => steps.push(CopyStep::Repeat { count, from, to, from_stride, to_stride, steps: own }),
    }
    Ok(())
}

/// Appends a move, or lengthens the last one if it goes on.
fn push(steps: &mut Vec<CopyStep>, from: usize, to: usize, len: usize, how: ByteOp) {
    if len == 0 {
        return;
    }
    if let Some(CopyStep::Move { from: f, to: t, len: l, op: h }) = steps.last_mut()
        && (*h, *f + *l, *t + *l) == (how, from, to)
    {
        *l += len;
        return;
    }
    steps.push(CopyStep::Move { from, to, len, op: how });
}

fn apply_steps(steps: &[CopyStep], from: &[u8], source: StridedRun, to: &mut [u8], target: StridedRun, n: usize) {
    for step in steps {
        match *step {
            CopyStep::Move { from: a, to: b, len, op: how } => {
                let (source, target) = (shift_run(source, a), shift_run(target, b));
                move_run(how, len, from, source, to, target, n);
            }
            CopyStep::Repeat { count, from: a, to: b, from_stride, to_stride, steps: ref inner } => {
                let (source, target) = (shift_run(source, a), shift_run(target, b));
                let (inner_from, inner_to) = (from_stride as isize, to_stride as isize);
                // The longer of the two loops goes inside.
                if count > n {
                    for i in 0..n {
                        let (s, t) = (source.skip(i), target.skip(i));
                        apply_steps(
                            inner,
                            from,
                            StridedRun { stride: inner_from, ..s },
                            to,
                            StridedRun { stride: inner_to, ..t },
                            count,
                        );
                    }
                } else {
                    for k in 0..count {
                        apply_steps(inner, from, shift_run(source, k * from_stride), to, shift_run(target, k * to_stride), n);
                    }
                }
            }
        }
    }
}

fn shift_run(run: StridedRun, by: usize) -> StridedRun {
    StridedRun { offset: run.offset.wrapping_add(by), ..run }
}

/// Moves `len` bytes of each of `n` elements.
fn move_run(how: ByteOp, len: usize, from: &[u8], source: StridedRun, to: &mut [u8], target: StridedRun, n: usize) {
    if source.stride == len as isize && target.stride == len as isize {
        let len = len.saturating_mul(n);
        if let (Some(from), Some(to)) = (checked_slice(from, source.offset, len), part_mut(to, target.offset, len)) {
            convert_bytes(how, from, to);
        }
        return;
    }
    macro_rules! copies {
        ($($len:literal)+) => {
            match (how, len) {
                $((ByteOp::Copy, $len) => return for_each_value::<$len>(from, source, to, target, n, |x| x),)+
                _ => {}
            }
        };
    }
    macro_rules! swaps {
        ($($word:ident $width:literal: $($len:literal)+;)+) => {
            match (how, len) {
                $($((ByteOp::Swap($width), $len) => {
                    return for_each_value::<$len>(from, source, to, target, n, |mut x| {
                        map_in_place::<$width>(&mut x, |w| $word::from_ne_bytes(w).swap_bytes().to_ne_bytes());
                        x
                    });
                })+)+
                _ => {}
            }
        };
    }
    // The usual widths of fields and short rows, each with a separate loop.
    copies!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 24 28 32);
    swaps!(u16 2: 2 4 6 8; u32 4: 4 8 12 16; u64 8: 8 16 24 32; u128 16: 16 32;);
    match (how, len) {
        (ByteOp::Bool, 1) => for_each_value::<1>(from, source, to, target, n, |[x]| [u8::from(x != 0)]),
        _ => {
            let (mut a, mut b) = (source.offset, target.offset);
            for _ in 0..n {
                if let (Some(from), Some(to)) = (checked_slice(from, a, len), part_mut(to, b, len)) {
                    convert_bytes(how, from, to);
                }
                a = a.wrapping_add_signed(source.stride);
                b = b.wrapping_add_signed(target.stride);
            }
        }
    }
}

/// Applies `f` to one value of `W` bytes of every element.
#[inline(always)]
fn for_each_value<const W: usize>(
    from: &[u8],
    source: StridedRun,
    to: &mut [u8],
    target: StridedRun,
    n: usize,
    f: impl Fn([u8; W]) -> [u8; W],
) {
    let mut at = source.offset;
    let mut next = || {
        let value = from.get(at..).and_then(|rest| rest.first_chunk::<W>()).copied();
        at = at.wrapping_add_signed(source.stride);
        value
    };
    if target.stride == W as isize {
        let Some(to) = to.get_mut(target.offset..) else { return };
        for out in to.as_chunks_mut::<W>().0.iter_mut().take(n) {
            if let Some(value) = next() {
                *out = f(value);
            }
        }
    } else {
        let mut at = target.offset;
        for _ in 0..n {
            if let (Some(value), Some(out)) = (next(), to.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<W>())) {
                *out = f(value);
            }
            at = at.wrapping_add_signed(target.stride);
        }
    }
}

fn checked_slice(bytes: &[u8], at: usize, len: usize) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(len)?)
}

fn part_mut(bytes: &mut [u8], at: usize, len: usize) -> Option<&mut [u8]> {
    bytes.get_mut(at..at.checked_add(len)?)
}

/// Makes `to` out of as many bytes of `from`.
pub(super) fn convert_bytes(how: ByteOp, from: &[u8], to: &mut [u8]) {
    match how {
        ByteOp::Copy => {
            if from.len() == to.len() {
                to.copy_from_slice(from);
            }
        }
        ByteOp::Bool => to.iter_mut().zip(from).for_each(|(to, from)| *to = u8::from(*from != 0)),
        ByteOp::Swap(2) => copy_map::<2>(from, to, |x| u16::from_ne_bytes(x).swap_bytes().to_ne_bytes()),
        ByteOp::Swap(4) => copy_map::<4>(from, to, |x| u32::from_ne_bytes(x).swap_bytes().to_ne_bytes()),
        ByteOp::Swap(8) => copy_map::<8>(from, to, |x| u64::from_ne_bytes(x).swap_bytes().to_ne_bytes()),
        ByteOp::Swap(_) => copy_map::<16>(from, to, |x| u128::from_ne_bytes(x).swap_bytes().to_ne_bytes()),
    }
}

#[inline(always)]
fn copy_map<const W: usize>(from: &[u8], to: &mut [u8], f: impl Fn([u8; W]) -> [u8; W]) {
    for (to, from) in to.as_chunks_mut::<W>().0.iter_mut().zip(from.as_chunks::<W>().0) {
        *to = f(*from);
    }
}

/// Converts bytes in place.
pub(super) fn convert_in_place(how: ByteOp, bytes: &mut [u8]) {
    match how {
        ByteOp::Copy => {}
        ByteOp::Bool => bytes.iter_mut().for_each(|x| *x = u8::from(*x != 0)),
        ByteOp::Swap(2) => map_in_place::<2>(bytes, |x| u16::from_ne_bytes(x).swap_bytes().to_ne_bytes()),
        ByteOp::Swap(4) => map_in_place::<4>(bytes, |x| u32::from_ne_bytes(x).swap_bytes().to_ne_bytes()),
        ByteOp::Swap(8) => map_in_place::<8>(bytes, |x| u64::from_ne_bytes(x).swap_bytes().to_ne_bytes()),
        ByteOp::Swap(_) => map_in_place::<16>(bytes, |x| u128::from_ne_bytes(x).swap_bytes().to_ne_bytes()),
    }
}

#[inline(always)]
fn map_in_place<const W: usize>(bytes: &mut [u8], f: impl Fn([u8; W]) -> [u8; W]) {
    for word in bytes.as_chunks_mut::<W>().0 {
        *word = f(*word);
    }
}
