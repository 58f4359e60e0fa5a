//! The cursor that runs along the steps of a layout and places what they declare.

use super::diagnostic::Code;
use super::model::{
    Byteorder, Count, Data, Dim, Extension, ItemId, Layout, Listing, MemberKind, ParamId, Placement, Primitive, Run, Step,
    TypeId, TypeKind, Use,
};
use super::param_request::{Fault, Options, ParamRequest, Stored, Supply};
use super::sizes::{Members, factor, place, round_up, suffixed};
use super::spec_decisions;
use crate::Limits;
use crate::error::Result;

/// A cursor of which nothing is known: after a compressed array of unknown length.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// An address, unless unknown.
pub(crate) fn known(address: u64) -> Option<u64> {
    (address != UNKNOWN).then_some(address)
}

/// The source of the values of stored parameters, and those that were read.
pub(crate) struct Values<'s> {
    pub source: &'s mut dyn FnMut(&ParamRequest) -> Result<Supply>,
    pub record: &'s mut Vec<Stored>,
}

/// The result of running a step.
type Ran<T> = std::result::Result<T, Fault>;

/// The place of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    /// [`UNKNOWN`] if it is not known or the item has no data.
    pub address: u64,
    /// Bytes; [`UNKNOWN`] for a compressed array of unknown length.
    pub size: u64,
}

impl Spot {
    pub(crate) const NOTHING: Spot = Spot { address: UNKNOWN, size: 0 };
}

/// The state of an evaluation.
#[derive(Clone)]
pub(crate) struct Machine<'l> {
    pub layout: &'l Layout,
    order: Option<Byteorder>,
    pub cursor: u64,
    total: u64,
    /// Values of all parameters, by number.
    values: Vec<i64>,
    /// Sizes of types that depend on parameters, each with the age of the values it was found for.
    sizes: Vec<(u64, u64)>,
    /// Strides of repeated lists, by step, likewise.
    strides: Vec<(u64, u64)>,
    age: u64,
    /// The remaining budget for repetitions that have to be walked.
    budget: u64,
    limit: u64,
    pub ordinal: u64,
}

/// An address or size does not fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Overflow;

impl<'l> Machine<'l> {
    pub(crate) fn new(layout: &'l Layout, options: &Options) -> Self {
        let values = layout.params.iter().map(|param| param.fixed.unwrap_or(0)).collect();
        Self {
            layout,
            order: layout.order.or(options.order),
            cursor: 0,
            total: 0,
            values,
            sizes: Vec::new(),
            strides: Vec::new(),
            age: 0,
            budget: 0,
            limit: options.limits.nodes,
            ordinal: 0,
        }
    }

    /// Begins again at an address.
    pub(crate) fn reset(&mut self, start: u64) {
        self.cursor = start;
        self.total = start;
        self.age += 1;
        self.budget = self.limit;
        self.ordinal = 0;
    }

    pub(crate) fn known_total(&self) -> Option<u64> {
        known(self.total)
    }

    /// The order of the bytes of a number of a type, if a number has one.
    pub(crate) fn order_of(&self, primitive: Primitive, own: Option<Byteorder>) -> Option<Byteorder> {
        if primitive.size() == 1 { None } else { own.or(self.order) }
    }

    /// Pays for one step of what cannot stay symbolic.
    pub(crate) fn charge(&mut self) -> Ran<()> {
        match self.budget.checked_sub(1) {
            Some(rest) => {
                self.budget = rest;
                Ok(())
            }
            None => {
                Err(Limits::exceeded("nodes", self.limit, "repeated items with stored parameters need too many steps").into())
            }
        }
    }

    fn charge_steps(&mut self, steps: (u32, u32)) -> Ran<()> {
        self.budget = self.budget.saturating_sub(u64::from(steps.1.saturating_sub(steps.0)));
        self.charge()
    }

    // Dimensions and sizes.

    pub(crate) fn value(&self, param: ParamId) -> i64 {
        self.values.get(param.0 as usize).copied().unwrap_or(0)
    }

    /// The length of a dimension: -1 if it is removed.
    pub(crate) fn dim(&self, dim: Dim) -> i64 {
        match dim {
            Dim::Fixed(value) => value,
            Dim::Param { param, suffix } => suffixed(self.value(param), suffix),
            Dim::Free { .. } => 0,
        }
    }

    /// Returns the number of elements.
    pub(crate) fn count(&self, dims: Run) -> std::result::Result<u64, Overflow> {
        let mut count = 1u64;
        for &dim in dims.of(&self.layout.dims) {
            // A later 0 makes up for any size before it.
            let factor = factor(self.dim(dim));
            if factor == 0 {
                return Ok(0);
            }
            count = count.saturating_mul(factor);
        }
        if count == u64::MAX { Err(Overflow) } else { Ok(count) }
    }

    /// The size of an array.
    pub(crate) fn use_size(&mut self, what: Use) -> std::result::Result<u64, Overflow> {
        let size = self.type_size(what.ty)?;
        if what.dims.len == 0 || size == 0 {
            return Ok(size);
        }
        self.count(what.dims)?.checked_mul(size).ok_or(Overflow)
    }

    /// The size of one instance of a type, if no stored parameter in it decides a length.
    pub(crate) fn type_size(&mut self, ty: TypeId) -> std::result::Result<u64, Overflow> {
        let of = self.layout.ty(ty);
        if let Some(size) = of.size {
            return Ok(size);
        }
        let at = ty.0 as usize;
        if let Some(&(age, size)) = self.sizes.get(at)
            && age == self.age
        {
            return Ok(size);
        }
        let size = match of.kind {
            TypeKind::Primitive(primitive, _) => primitive.size(),
            TypeKind::Null => 0,
            TypeKind::Alias(what) => self.use_size(what)?,
            TypeKind::Struct => {
                let mut members = Members::default();
                for member in of.members.of(&self.layout.members) {
                    let Some((size, align)) = self.member_size(member.what)? else { continue };
                    members.next(size, member.placement, align).ok_or(Overflow)?;
                }
                members.size(of.align).ok_or(Overflow)?
            }
        };
        if self.sizes.len() <= at {
            self.sizes.resize(self.layout.types.len(), (0, 0));
        }
        self.sizes[at] = (self.age, size);
        Ok(size)
    }

    /// The size and the alignment of a member of a struct; None for a fixed parameter.
    pub(crate) fn member_size(&mut self, what: MemberKind) -> std::result::Result<Option<(u64, u64)>, Overflow> {
        let layout = self.layout;
        Ok(match what {
            MemberKind::Data(what) => Some((self.use_size(what)?, layout.ty(what.ty).align)),
            MemberKind::Stored(id) => Some((layout.param(id).primitive.size(), layout.ty(layout.param(id).ty).align)),
            MemberKind::Fixed(_) => None,
        })
    }

    // Steps.

    /// Runs the steps `from..to`.
    pub(crate) fn run(&mut self, from: u32, to: u32, drop_at: bool, values: &mut Values<'_>) -> Ran<()> {
        let mut at = from;
        while at < to {
            at = match self.layout.steps.get(at as usize) {
                Some(Step::List(of)) => {
                    self.run_step(at, drop_at, values)?;
                    of.end.max(at + 1)
                }
                Some(Step::Data(_) | Step::Param(_) | Step::Extend(_)) => {
                    self.run_step(at, drop_at, values)?;
                    at + 1
                }
                Some(_) => at + 1,
                None => to,
            };
        }
        Ok(())
    }

    /// Runs one step; of a list all its repetitions.
    pub(crate) fn run_step(&mut self, at: u32, drop_at: bool, values: &mut Values<'_>) -> Ran<()> {
        match self.layout.steps.get(at as usize) {
            Some(&Step::Data(item)) => self.place_data(item, drop_at, values).map(drop),
            Some(&Step::Param(item)) => self.place_param(item, drop_at, values).map(drop),
            Some(Step::List(of)) => {
                let Listing { end, count, span, places, dynamic, .. } = **of;
                let count = self.repeats(count, span)?;
                if places { self.repeat((at + 1, end), count, drop_at, dynamic, at, values) } else { Ok(()) }
            }
            Some(Step::Extend(of)) => {
                let Extension { from, to, count, span, places, dynamic, .. } = **of;
                let count = self.repeats(count, span)?;
                self.charge_steps((from, to))?;
                if places { self.repeat((from, to), count, true, dynamic, at, values) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of repetitions of a list, and E407 if it is negative.
    pub(crate) fn repeats(&self, count: Count, span: crate::Span) -> Ran<u64> {
        let count = match count {
            Count::Once => return Ok(1),
            Count::Fixed(count) => count,
            Count::Param(param) => self.value(param),
        };
        u64::try_from(count).map_err(|_| self.layout.fault(Code::E407, span, format!("the repeat count {count} is negative")))
    }

    #[allow(clippy::too_many_arguments)]
    fn repeat(
        &mut self,
        steps: (u32, u32),
        count: u64,
        drop_at: bool,
        dynamic: bool,
        key: u32,
        values: &mut Values<'_>,
    ) -> Ran<()> {
        // A short text can request many runs, so they are charged: at most two, or one for each repetition.
        if count != 1 {
            self.charge_steps(steps)?;
        }
        if dynamic {
            for _ in 0..count {
                self.charge_steps(steps)?;
                self.run(steps.0, steps.1, drop_at, values)?;
            }
            return Ok(());
        }
        if count == 0 {
            return Ok(());
        }
        self.run(steps.0, steps.1, drop_at, values)?;
        if count == 1 || self.cursor == UNKNOWN {
            return Ok(());
        }
        let stride = self.stride(steps, drop_at, key, values)?;
        let end = stride.checked_mul(count - 1).and_then(|more| self.cursor.checked_add(more)).filter(|&end| end != UNKNOWN);
        self.cursor = end.ok_or_else(|| self.overflow_at(steps.0))?;
        self.grow(self.cursor);
        Ok(())
    }

    /// Returns the number of bytes that each repetition from the second on adds, when the cursor is at the end of
    /// one.
    ///
    /// Every item is rounded up to a power of two and none has an explicit address, so the cursor modulo the
    /// largest of these powers is the same after each repetition.
    pub(crate) fn stride(&mut self, steps: (u32, u32), drop_at: bool, key: u32, values: &mut Values<'_>) -> Ran<u64> {
        let at = key as usize;
        if let Some(&(age, stride)) = self.strides.get(at)
            && age == self.age
        {
            return Ok(stride);
        }
        let (cursor, total) = (self.cursor, self.total);
        self.run(steps.0, steps.1, drop_at, values)?;
        let stride = self.cursor - cursor;
        (self.cursor, self.total) = (cursor, total);
        if self.strides.len() <= at {
            self.strides.resize(self.layout.steps.len(), (0, 0));
        }
        self.strides[at] = (self.age, stride);
        Ok(stride)
    }

    fn grow(&mut self, end: u64) {
        // `max` keeps UNKNOWN, because it is `u64::MAX`.
        self.total = self.total.max(end);
    }

    fn overflow_at(&self, step: u32) -> Fault {
        let item = self.layout.steps.get(step as usize..).unwrap_or(&[]).iter().find_map(|step| match step {
            Step::Data(item) | Step::Param(item) => Some(*item),
            Step::List(of) => Some(of.list),
            Step::Extend(of) => Some(of.list),
            _ => None,
        });
        self.overflow(item.unwrap_or(ItemId::ROOT))
    }

    /// E406 at an item.
    pub(crate) fn overflow(&self, item: ItemId) -> Fault {
        let path = self.layout.static_path(item);
        self.layout.fault(Code::E406, self.layout.item(item).span, format!("the address or size of {path} does not fit 64 bits"))
    }

    /// Puts `size` bytes at the cursor; the address.
    fn put(&mut self, placement: Placement, align: u64, size: u64, drop_at: bool) -> Option<u64> {
        let placement = if drop_at && matches!(placement, Placement::At(_)) { Placement::Next } else { placement };
        if self.cursor == UNKNOWN && !matches!(placement, Placement::At(_)) {
            return Some(UNKNOWN);
        }
        let address = place(self.cursor, placement, align)?;
        self.cursor = address.checked_add(size).filter(|&end| end != UNKNOWN)?;
        self.grow(self.cursor);
        Some(address)
    }

    // Data.

    /// Places a data array.
    pub(crate) fn place_data(&mut self, item: ItemId, drop_at: bool, values: &mut Values<'_>) -> Ran<Spot> {
        let layout = self.layout;
        let Some(data) = layout.data_of(item) else { return Ok(Spot::NOTHING) };
        let of = layout.ty(data.what.ty);
        if data.filter != 0 && layout.filter(data.filter).is_some_and(|filter| filter.compresses) {
            return self.place_compressed(item, data, drop_at, values).map(|(_, spot)| spot);
        }
        if self.is_stepped(data.what) {
            return self.place_dynamic(item, data, drop_at, values);
        }
        let size = self.use_size(data.what).map_err(|Overflow| self.overflow(item))?;
        if size == 0 && spec_decisions::EMPTY_LEAVES_CURSOR {
            return Ok(Spot::NOTHING);
        }
        let address = self.put(data.placement, of.align, size, drop_at).ok_or_else(|| self.overflow(item))?;
        Ok(Spot { address, size })
    }

    /// An array after its stored length (2026): where the length is, and where the bytes.
    pub(crate) fn place_compressed(
        &mut self,
        item: ItemId,
        data: &Data,
        drop_at: bool,
        values: &mut Values<'_>,
    ) -> Ran<(Spot, Spot)> {
        // The declared size only matters where it is 0, and may be too large to be stored plain.
        let empty = matches!(self.count(data.what.dims), Ok(0)) || matches!(self.type_size(data.what.ty), Ok(0));
        if empty && !spec_decisions::EMPTY_COMPRESSED_STORED {
            return Ok((Spot::NOTHING, Spot::NOTHING));
        }
        let primitive = Primitive::I8;
        let align = primitive.alignment(self.layout.dialect);
        let address = self.put(data.placement, align, primitive.size(), drop_at).ok_or_else(|| self.overflow(item))?;
        let length = Spot { address, size: primitive.size() };
        let request = self.request(item, address, primitive, None, true);
        let value = self.ask(&request, values)?;
        let Some(value) = value else {
            let at = self.cursor;
            self.cursor = UNKNOWN;
            self.total = UNKNOWN;
            return Ok((length, Spot { address: at, size: UNKNOWN }));
        };
        let size = u64::try_from(value).map_err(|_| {
            let message = format!("the stored length of {} is {value}", self.layout.static_path(item));
            self.layout.fault(Code::E402, self.layout.item(item).span, message)
        })?;
        let address = self.put(Placement::Next, 1, size, false).ok_or_else(|| self.overflow(item))?;
        Ok((length, Spot { address, size }))
    }

    /// A struct with stored parameters: each instance for itself, one after the other.
    fn place_dynamic(&mut self, item: ItemId, data: &Data, drop_at: bool, values: &mut Values<'_>) -> Ran<Spot> {
        let (count, base) = self.instances(data.what).map_err(|Overflow| self.overflow(item))?;
        if count == 0 {
            return Ok(Spot::NOTHING);
        }
        let (cursor, total) = (self.cursor, self.total);
        let align = self.layout.ty(data.what.ty).align;
        let address = self.put(data.placement, align, 0, drop_at).ok_or_else(|| self.overflow(item))?;
        let size = self.run_instances(base, count, address, item, values)?;
        if size == 0 {
            (self.cursor, self.total) = (cursor, total);
            return Ok(Spot::NOTHING);
        }
        self.put(if address == UNKNOWN { Placement::Next } else { Placement::At(address) }, 1, size, false)
            .ok_or_else(|| self.overflow(item))?;
        Ok(Spot { address, size })
    }

    /// Returns the number and the struct of the instances that an array holds, with typedefs unfolded.
    pub(crate) fn instances(&self, what: Use) -> std::result::Result<(u64, TypeId), Overflow> {
        let mut count = self.count(what.dims)?;
        let mut ty = what.ty;
        while let TypeKind::Alias(inner) = self.layout.ty(ty).kind {
            let more = self.count(inner.dims)?;
            count = if more == 0 { 0 } else { count.checked_mul(more).ok_or(Overflow)? };
            ty = inner.ty;
        }
        Ok((count, ty))
    }

    /// Runs along instances of a struct from `base` on; how many bytes they take, the padding after
    /// each included.
    pub(crate) fn run_instances(&mut self, ty: TypeId, count: u64, base: u64, item: ItemId, values: &mut Values<'_>) -> Ran<u64> {
        let align = self.layout.ty(ty).align;
        let mut size = 0u64;
        for _ in 0..count {
            self.charge()?;
            let start = offset(base, size).ok_or_else(|| self.overflow(item))?;
            let one = self.run_instance(ty, start, item, values)?;
            size = round_up(one, align).and_then(|one| size.checked_add(one)).ok_or_else(|| self.overflow(item))?;
        }
        Ok(size)
    }

    fn run_instance(&mut self, ty: TypeId, base: u64, item: ItemId, values: &mut Values<'_>) -> Ran<u64> {
        let layout = self.layout;
        let mut members = Members::default();
        for member in layout.ty(ty).members.of(&layout.members) {
            self.member(&mut members, member, base, item, values)?;
        }
        members.size(1).ok_or_else(|| self.overflow(item))
    }

    /// Places the next member of an instance that begins at `base`.
    pub(crate) fn member(
        &mut self,
        members: &mut Members,
        member: &super::model::Member,
        base: u64,
        item: ItemId,
        values: &mut Values<'_>,
    ) -> Ran<Spot> {
        let layout = self.layout;
        match member.what {
            MemberKind::Fixed(_) => Ok(Spot::NOTHING),
            MemberKind::Stored(param) => {
                let found = self.member_size(member.what).map_err(|Overflow| self.overflow(member.item))?;
                let (size, align) = found.unwrap_or_default();
                let spot =
                    self.member_spot(members, size, member.placement, align, base).ok_or_else(|| self.overflow(member.item))?;
                self.read_param(param, spot.address, values)?;
                Ok(spot)
            }
            MemberKind::Data(what) if self.is_stepped(what) => {
                let (count, inner) = self.instances(what).map_err(|Overflow| self.overflow(member.item))?;
                if count == 0 {
                    return Ok(Spot::NOTHING);
                }
                let align = layout.ty(what.ty).align;
                let off = members.offset(member.placement, align).ok_or_else(|| self.overflow(member.item))?;
                let at = offset(base, off).ok_or_else(|| self.overflow(item))?;
                let size = self.run_instances(inner, count, at, item, values)?;
                self.member_spot(members, size, member.placement, align, base).ok_or_else(|| self.overflow(member.item))
            }
            MemberKind::Data(what) => {
                let size = self.use_size(what).map_err(|Overflow| self.overflow(member.item))?;
                let align = layout.ty(what.ty).align;
                self.member_spot(members, size, member.placement, align, base).ok_or_else(|| self.overflow(member.item))
            }
        }
    }

    fn member_spot(&self, members: &mut Members, size: u64, placement: Placement, align: u64, base: u64) -> Option<Spot> {
        let off = members.next(size, placement, align)?;
        if size == 0 {
            return Some(Spot::NOTHING);
        }
        Some(Spot { address: offset(base, off)?, size })
    }

    // Parameters.

    /// Places a stored parameter and reads it.
    pub(crate) fn place_param(&mut self, item: ItemId, drop_at: bool, values: &mut Values<'_>) -> Ran<Spot> {
        let layout = self.layout;
        let super::model::ItemKind::Param(id) = layout.item(item).kind else { return Ok(Spot::NOTHING) };
        let param = layout.param(id);
        if param.fixed.is_some() {
            return Ok(Spot::NOTHING);
        }
        let size = param.primitive.size();
        let address = self.put(param.placement, layout.ty(param.ty).align, size, drop_at).ok_or_else(|| self.overflow(item))?;
        self.read_param(id, address, values)?;
        Ok(Spot { address, size })
    }

    fn request(
        &self,
        item: ItemId,
        address: u64,
        datatype: Primitive,
        order: Option<Byteorder>,
        is_length: bool,
    ) -> ParamRequest {
        let byteorder = self.order_of(datatype, order);
        ParamRequest { address: known(address), datatype, byteorder, ordinal: self.ordinal, is_length, item }
    }

    fn read_param(&mut self, id: ParamId, address: u64, values: &mut Values<'_>) -> Ran<()> {
        let param = self.layout.param(id);
        let request = self.request(param.item, address, param.primitive, param.order, false);
        let Some(value) = self.ask(&request, values)? else {
            return Err(self.missing(&request));
        };
        if value < -1 {
            let name = self.layout.name(param.item).unwrap_or("");
            let message = format!("parameter `{name}` is {value}, which is below -1");
            return Err(self.layout.fault(Code::E402, self.layout.item(param.item).span, message));
        }
        if value > param.primitive.largest() {
            let name = self.layout.name(param.item).unwrap_or("");
            let message = format!("parameter `{name}` is {value}, which does not fit in {}", param.primitive);
            return Err(self.layout.fault(Code::E402, self.layout.item(param.item).span, message));
        }
        if param.varying {
            // Results for its last value are no longer valid.
            self.age += 1;
        }
        self.values[id.0 as usize] = value;
        Ok(())
    }

    /// Requests a value and records it.
    fn ask(&mut self, request: &ParamRequest, values: &mut Values<'_>) -> Ran<Option<i64>> {
        let layout = self.layout;
        let span = layout.item(request.item).span;
        let name = || layout.name(request.item).unwrap_or("").to_owned();
        let value = match (values.source)(request)? {
            Supply::Value(value) => Some(value),
            Supply::Bytes(bytes) => match request.decode(bytes) {
                Ok(Some(value)) => Some(value),
                Ok(None) => {
                    let message = "byte order unknown: no < or > in the layout, no Dudley signature; give the byte order";
                    return Err(layout.fault(Code::E403, span, message));
                }
                Err(raw) => {
                    let message = format!("parameter `{}` is {raw}, which does not fit 63 bits", name());
                    return Err(layout.fault(Code::E402, span, message));
                }
            },
            Supply::Short(have) => {
                let at = request.address.map_or("an unknown address".into(), |at| format!("address {at}"));
                let message = format!("stream too short for parameter `{}` at {at} (have {have} bytes)", name());
                return Err(layout.fault(Code::E401, span, message));
            }
            Supply::Unknown if request.is_length => None,
            Supply::Unknown | Supply::Missing => return Err(self.missing(request)),
        };
        self.ordinal += 1;
        self.charge()?;
        values.record.push(Stored { value, item: request.item });
        Ok(value)
    }

    fn missing(&self, request: &ParamRequest) -> Fault {
        let name = self.layout.name(request.item).unwrap_or("").to_owned();
        let message = format!("no value for parameter `{name}`, stored parameter number {}", request.ordinal + 1);
        self.layout.fault(Code::E409, self.layout.item(request.item).span, message)
    }
}

/// An address relative to one that may be unknown.
fn offset(base: u64, off: u64) -> Option<u64> {
    if base == UNKNOWN { Some(UNKNOWN) } else { base.checked_add(off).filter(|&at| at != UNKNOWN) }
}
