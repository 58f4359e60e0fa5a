//! The cursor that runs along the steps of a layout and places what they declare.

use super::diagnostic::DiagnosticCode;
use super::model::{
    AddressRule, Byteorder, DataItem, Dim, DimRun, Extension, ItemId, Layout, LayoutStep, ListSteps, MemberKind, ParamId,
    Placement, Primitive, RepeatCount, TypeId, TypeKind, TypeUse,
};
use super::param_request::{EvaluateOptions, EvaluationError, ParamRequest, StoredValue, SuppliedValue};
use super::sizes::{StructLayout, apply_suffix, dim_factor, place_at, round_up};
use super::spec_decisions;
use crate::Limits;
use crate::error::Result;

/// A cursor of which nothing is known: after a compressed array of unknown length.
pub(crate) const UNKNOWN_ADDRESS: u64 = u64::MAX;

/// An address, unless unknown.
pub(crate) fn known_address(address: u64) -> Option<u64> {
    (address != UNKNOWN_ADDRESS).then_some(address)
}

/// The source of the values of stored parameters, and those that were read.
pub(crate) struct ParamValues<'s> {
    pub source: &'s mut dyn FnMut(&ParamRequest) -> Result<SuppliedValue>,
    pub recorded: &'s mut Vec<StoredValue>,
}

/// The result of running a step.
type StepResult<T> = std::result::Result<T, EvaluationError>;

/// The place of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemSpan {
    /// [`UNKNOWN_ADDRESS`] if it is not known or the item has no data.
    pub address: u64,
    /// Bytes; [`UNKNOWN_ADDRESS`] for a compressed array of unknown length.
    pub size: u64,
}

impl ItemSpan {
    pub(crate) const NO_SPOT: ItemSpan = ItemSpan { address: UNKNOWN_ADDRESS, size: 0 };
}

/// The steps that are run several times in a row.
struct Repetition {
    /// The first step, and the one after the last.
    steps: (u32, u32),
    /// The step that repeats them, under which the stride is kept.
    key: u32,
    /// Treatment of the addresses in them.
    address_rule: AddressRule,
    /// `true` if stored parameters in it have to be read.
    is_dynamic: bool,
}

/// The state of an evaluation.
#[derive(Clone)]
pub(crate) struct Evaluator<'l> {
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
    generation: u64,
    /// The remaining budget for repetitions that have to be walked.
    budget: u64,
    work_limit: u64,
    pub ordinal: u64,
}

/// An address or size does not fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AddressOverflow;

impl<'l> Evaluator<'l> {
    pub(crate) fn new(layout: &'l Layout, options: &EvaluateOptions) -> Self {
        let values = layout.params.iter().map(|param| param.fixed_value.unwrap_or(0)).collect();
        Self {
            layout,
            order: layout.order.or(options.byteorder),
            cursor: 0,
            total: 0,
            values,
            sizes: Vec::new(),
            strides: Vec::new(),
            generation: 0,
            budget: 0,
            work_limit: options.limits.nodes,
            ordinal: 0,
        }
    }

    /// Begins again at an address.
    pub(crate) fn reset(&mut self, start: u64) {
        self.cursor = start;
        self.total = start;
        self.generation += 1;
        self.budget = self.work_limit;
        self.ordinal = 0;
    }

    pub(crate) fn total(&self) -> Option<u64> {
        known_address(self.total)
    }

    /// The order of the bytes of a number of a type, if a number has one.
    pub(crate) fn order_of(&self, primitive: Primitive, own: Option<Byteorder>) -> Option<Byteorder> {
        if primitive.size() == 1 { None } else { own.or(self.order) }
    }

    /// Pays for one step of what cannot stay symbolic.
    pub(crate) fn charge_step(&mut self) -> StepResult<()> {
        match self.budget.checked_sub(1) {
            Some(rest) => {
                self.budget = rest;
                Ok(())
            }
            None => {
                Err(Limits::exceeded_error("nodes", self.work_limit, "repeated items with stored parameters need too many steps")
                    .into())
            }
        }
    }

    fn charge_steps(&mut self, steps: (u32, u32)) -> StepResult<()> {
        self.budget = self.budget.saturating_sub(u64::from(steps.1.saturating_sub(steps.0)));
        self.charge_step()
    }

    // Dimensions and sizes.

    pub(crate) fn param_value(&self, param: ParamId) -> i64 {
        self.values.get(param.0 as usize).copied().unwrap_or(0)
    }

    /// The length of a dimension: -1 if it is removed.
    pub(crate) fn dim_length(&self, dim: Dim) -> i64 {
        match dim {
            Dim::Fixed(value) => value,
            Dim::Param { param, suffix } => apply_suffix(self.param_value(param), suffix),
            Dim::Unbound { .. } => 0,
        }
    }

    /// Returns the number of elements.
    pub(crate) fn count_elements(&self, dims: DimRun) -> std::result::Result<u64, AddressOverflow> {
        let mut count = 1u64;
        for &dim in dims.slice(&self.layout.dims) {
            // A later 0 makes up for any size before it.
            let factor = dim_factor(self.dim_length(dim));
            if factor == 0 {
                return Ok(0);
            }
            count = count.saturating_mul(factor);
        }
        if count == u64::MAX { Err(AddressOverflow) } else { Ok(count) }
    }

    /// The size of an array.
    pub(crate) fn use_size(&mut self, what: TypeUse) -> std::result::Result<u64, AddressOverflow> {
        let size = self.type_size(what.ty)?;
        if what.dims.len == 0 || size == 0 {
            return Ok(size);
        }
        self.count_elements(what.dims)?.checked_mul(size).ok_or(AddressOverflow)
    }

    /// The size of one instance of a type, if no stored parameter in it decides a length.
    pub(crate) fn type_size(&mut self, ty: TypeId) -> std::result::Result<u64, AddressOverflow> {
        let of = self.layout.ty(ty);
        if let Some(size) = of.size {
            return Ok(size);
        }
        let at = ty.0 as usize;
        if let Some(&(age, size)) = self.sizes.get(at)
            && age == self.generation
        {
            return Ok(size);
        }
        let size = match of.kind {
            TypeKind::Primitive(primitive, _) => primitive.size(),
            TypeKind::Null => 0,
            TypeKind::Alias(what) => self.use_size(what)?,
            TypeKind::Struct => {
                let mut members = StructLayout::default();
                for member in of.members.slice(&self.layout.members) {
                    let Some((size, align)) = self.member_size(member.what)? else { continue };
                    members.place_next(size, member.placement, align).ok_or(AddressOverflow)?;
                }
                members.struct_size(of.align).ok_or(AddressOverflow)?
            }
        };
        if self.sizes.len() <= at {
            self.sizes.resize(self.layout.types.len(), (0, 0));
        }
        self.sizes[at] = (self.generation, size);
        Ok(size)
    }

    /// The size and the alignment of a member of a struct; None for a fixed parameter.
    pub(crate) fn member_size(&mut self, what: MemberKind) -> std::result::Result<Option<(u64, u64)>, AddressOverflow> {
        let layout = self.layout;
        Ok(match what {
            MemberKind::Data(what) => Some((self.use_size(what)?, layout.ty(what.ty).align)),
            MemberKind::Stored(id) => Some((layout.param(id).primitive.size(), layout.ty(layout.param(id).ty).align)),
            MemberKind::Fixed(_) => None,
        })
    }

    // Steps.

    /// Runs the steps `from..to`.
    pub(crate) fn run(&mut self, from: u32, to: u32, address_rule: AddressRule, values: &mut ParamValues<'_>) -> StepResult<()> {
        let mut at = from;
        while at < to {
            at = match self.layout.steps.get(at as usize) {
                Some(LayoutStep::List(of)) => {
                    self.run_step(at, address_rule, values)?;
                    of.end.max(at + 1)
                }
                Some(LayoutStep::Data(_) | LayoutStep::Param(_) | LayoutStep::Extend(_)) => {
                    self.run_step(at, address_rule, values)?;
                    at + 1
                }
                Some(_) => at + 1,
                None => to,
            };
        }
        Ok(())
    }

    /// Runs one step; of a list all its repetitions.
    pub(crate) fn run_step(&mut self, at: u32, address_rule: AddressRule, values: &mut ParamValues<'_>) -> StepResult<()> {
        match self.layout.steps.get(at as usize) {
            Some(&LayoutStep::Data(item)) => self.place_data(item, address_rule, values).map(drop),
            Some(&LayoutStep::Param(item)) => self.place_param(item, address_rule, values).map(drop),
            Some(LayoutStep::List(of)) => {
                let ListSteps { end, count, span, places, dynamic, .. } = **of;
                let count = self.resolve_repeat_count(count, span)?;
                let repeated = Repetition { steps: (at + 1, end), key: at, address_rule, is_dynamic: dynamic };
                if places { self.run_repeats(&repeated, count, values) } else { Ok(()) }
            }
            Some(LayoutStep::Extend(of)) => {
                let Extension { from, to, count, span, places, dynamic, .. } = **of;
                let count = self.resolve_repeat_count(count, span)?;
                self.charge_steps((from, to))?;
                let repeated = Repetition { steps: (from, to), key: at, address_rule: AddressRule::Drop, is_dynamic: dynamic };
                if places { self.run_repeats(&repeated, count, values) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of repetitions of a list, and E407 if it is negative.
    pub(crate) fn resolve_repeat_count(&self, count: RepeatCount, span: crate::Span) -> StepResult<u64> {
        let count = match count {
            RepeatCount::Once => return Ok(1),
            RepeatCount::Fixed(count) => count,
            RepeatCount::Param(param) => self.param_value(param),
        };
        u64::try_from(count)
            .map_err(|_| self.layout.error_at(DiagnosticCode::E407, span, format!("the repeat count {count} is negative")))
    }

    fn run_repeats(&mut self, repeated: &Repetition, count: u64, values: &mut ParamValues<'_>) -> StepResult<()> {
        let Repetition { steps, key, address_rule, is_dynamic } = *repeated;
        // A short text can request many runs, so they are charged: at most two, or one for each repetition.
        if count != 1 {
            self.charge_steps(steps)?;
        }
        if is_dynamic {
            for _ in 0..count {
                self.charge_steps(steps)?;
                self.run(steps.0, steps.1, address_rule, values)?;
            }
            return Ok(());
        }
        if count == 0 {
            return Ok(());
        }
        self.run(steps.0, steps.1, address_rule, values)?;
        if count == 1 || self.cursor == UNKNOWN_ADDRESS {
            return Ok(());
        }
        let stride = self.measure_stride(steps, address_rule, key, values)?;
        let end =
            stride.checked_mul(count - 1).and_then(|more| self.cursor.checked_add(more)).filter(|&end| end != UNKNOWN_ADDRESS);
        self.cursor = end.ok_or_else(|| self.overflow_at(steps.0))?;
        self.extend_total(self.cursor);
        Ok(())
    }

    /// Returns the number of bytes that each repetition from the second on adds, when the cursor is at the end of
    /// one.
    ///
    /// Every item is rounded up to a power of two and none has an explicit address, so the cursor modulo the
    /// largest of these powers is the same after each repetition.
    pub(crate) fn measure_stride(
        &mut self,
        steps: (u32, u32),
        address_rule: AddressRule,
        key: u32,
        values: &mut ParamValues<'_>,
    ) -> StepResult<u64> {
        let at = key as usize;
        if let Some(&(age, stride)) = self.strides.get(at)
            && age == self.generation
        {
            return Ok(stride);
        }
        let (cursor, total) = (self.cursor, self.total);
        self.run(steps.0, steps.1, address_rule, values)?;
        let stride = self.cursor - cursor;
        (self.cursor, self.total) = (cursor, total);
        if self.strides.len() <= at {
            self.strides.resize(self.layout.steps.len(), (0, 0));
        }
        self.strides[at] = (self.generation, stride);
        Ok(stride)
    }

    fn extend_total(&mut self, end: u64) {
        // `max` keeps UNKNOWN, because it is `u64::MAX`.
        self.total = self.total.max(end);
    }

    fn overflow_at(&self, step: u32) -> EvaluationError {
        let item = self.layout.steps.get(step as usize..).unwrap_or(&[]).iter().find_map(|step| match step {
            LayoutStep::Data(item) | LayoutStep::Param(item) => Some(*item),
            LayoutStep::List(of) => Some(of.list),
            LayoutStep::Extend(of) => Some(of.list),
            _ => None,
        });
        self.overflow_fault(item.unwrap_or(ItemId::ROOT))
    }

    /// E406 at an item.
    pub(crate) fn overflow_fault(&self, item: ItemId) -> EvaluationError {
        let path = self.layout.static_path(item);
        self.layout.error_at(
            DiagnosticCode::E406,
            self.layout.item(item).span,
            format!("the address or size of {path} does not fit 64 bits"),
        )
    }

    /// Puts `size` bytes at the cursor; the address.
    fn place_bytes(&mut self, placement: Placement, align: u64, size: u64) -> Option<u64> {
        if self.cursor == UNKNOWN_ADDRESS && !matches!(placement, Placement::At(_)) {
            return Some(UNKNOWN_ADDRESS);
        }
        let address = place_at(self.cursor, placement, align)?;
        self.cursor = address.checked_add(size).filter(|&end| end != UNKNOWN_ADDRESS)?;
        self.extend_total(self.cursor);
        Some(address)
    }

    // Data.

    /// Places a data array.
    pub(crate) fn place_data(
        &mut self,
        item: ItemId,
        address_rule: AddressRule,
        values: &mut ParamValues<'_>,
    ) -> StepResult<ItemSpan> {
        let layout = self.layout;
        let Some(data) = layout.data_of(item) else { return Ok(ItemSpan::NO_SPOT) };
        let of = layout.ty(data.what.ty);
        if data.filter != 0 && layout.find_filter(data.filter).is_some_and(|filter| filter.compresses) {
            return self.place_compressed(item, data, address_rule, values).map(|(_, spot)| spot);
        }
        if self.is_stepped(data.what) {
            return self.place_dynamic(item, data, address_rule, values);
        }
        let size = self.use_size(data.what).map_err(|AddressOverflow| self.overflow_fault(item))?;
        if size == 0 && spec_decisions::EMPTY_LEAVES_CURSOR {
            return Ok(ItemSpan::NO_SPOT);
        }
        let placement = address_rule.apply(data.placement);
        let address = self.place_bytes(placement, of.align, size).ok_or_else(|| self.overflow_fault(item))?;
        Ok(ItemSpan { address, size })
    }

    /// An array after its stored length (2026): where the length is, and where the bytes.
    pub(crate) fn place_compressed(
        &mut self,
        item: ItemId,
        data: &DataItem,
        address_rule: AddressRule,
        values: &mut ParamValues<'_>,
    ) -> StepResult<(ItemSpan, ItemSpan)> {
        // The declared size only matters where it is 0, and may be too large to be stored plain.
        let empty = matches!(self.count_elements(data.what.dims), Ok(0)) || matches!(self.type_size(data.what.ty), Ok(0));
        if empty && !spec_decisions::EMPTY_COMPRESSED_STORED {
            return Ok((ItemSpan::NO_SPOT, ItemSpan::NO_SPOT));
        }
        let primitive = Primitive::I8;
        let align = primitive.alignment(self.layout.dialect);
        let placement = address_rule.apply(data.placement);
        let address = self.place_bytes(placement, align, primitive.size()).ok_or_else(|| self.overflow_fault(item))?;
        let length = ItemSpan { address, size: primitive.size() };
        let request = ParamRequest { is_length: true, ..self.build_param_request(item, address, primitive, None) };
        let value = self.request_value(&request, values)?;
        let Some(value) = value else {
            let at = self.cursor;
            self.cursor = UNKNOWN_ADDRESS;
            self.total = UNKNOWN_ADDRESS;
            return Ok((length, ItemSpan { address: at, size: UNKNOWN_ADDRESS }));
        };
        let size = u64::try_from(value).map_err(|_| {
            let message = format!("the stored length of {} is {value}", self.layout.static_path(item));
            self.layout.error_at(DiagnosticCode::E402, self.layout.item(item).span, message)
        })?;
        let address = self.place_bytes(Placement::Next, 1, size).ok_or_else(|| self.overflow_fault(item))?;
        Ok((length, ItemSpan { address, size }))
    }

    /// A struct with stored parameters: each instance for itself, one after the other.
    fn place_dynamic(
        &mut self,
        item: ItemId,
        data: &DataItem,
        address_rule: AddressRule,
        values: &mut ParamValues<'_>,
    ) -> StepResult<ItemSpan> {
        let (count, base) = self.count_instances(data.what).map_err(|AddressOverflow| self.overflow_fault(item))?;
        if count == 0 {
            return Ok(ItemSpan::NO_SPOT);
        }
        let (cursor, total) = (self.cursor, self.total);
        let align = self.layout.ty(data.what.ty).align;
        let placement = address_rule.apply(data.placement);
        let address = self.place_bytes(placement, align, 0).ok_or_else(|| self.overflow_fault(item))?;
        let size = self.run_instances(base, count, address, item, values)?;
        if size == 0 {
            (self.cursor, self.total) = (cursor, total);
            return Ok(ItemSpan::NO_SPOT);
        }
        let placement = if address == UNKNOWN_ADDRESS { Placement::Next } else { Placement::At(address) };
        self.place_bytes(placement, 1, size).ok_or_else(|| self.overflow_fault(item))?;
        Ok(ItemSpan { address, size })
    }

    /// Returns the number and the struct of the instances that an array holds, with typedefs unfolded.
    pub(crate) fn count_instances(&self, what: TypeUse) -> std::result::Result<(u64, TypeId), AddressOverflow> {
        let mut count = self.count_elements(what.dims)?;
        let mut ty = what.ty;
        while let TypeKind::Alias(inner) = self.layout.ty(ty).kind {
            let more = self.count_elements(inner.dims)?;
            count = if more == 0 { 0 } else { count.checked_mul(more).ok_or(AddressOverflow)? };
            ty = inner.ty;
        }
        Ok((count, ty))
    }

    /// Runs along instances of a struct from `base` on; how many bytes they take, the padding after
    /// each included.
    pub(crate) fn run_instances(
        &mut self,
        ty: TypeId,
        count: u64,
        base: u64,
        item: ItemId,
        values: &mut ParamValues<'_>,
    ) -> StepResult<u64> {
        let align = self.layout.ty(ty).align;
        let mut size = 0u64;
        for _ in 0..count {
            self.charge_step()?;
            let start = add_offset(base, size).ok_or_else(|| self.overflow_fault(item))?;
            let one = self.run_instance(ty, start, item, values)?;
            size = round_up(one, align).and_then(|one| size.checked_add(one)).ok_or_else(|| self.overflow_fault(item))?;
        }
        Ok(size)
    }

    fn run_instance(&mut self, ty: TypeId, base: u64, item: ItemId, values: &mut ParamValues<'_>) -> StepResult<u64> {
        let layout = self.layout;
        let mut members = StructLayout::default();
        for member in layout.ty(ty).members.slice(&layout.members) {
            self.place_member(&mut members, member, base, item, values)?;
        }
        members.struct_size(1).ok_or_else(|| self.overflow_fault(item))
    }

    /// Places the next member of an instance that begins at `base`.
    pub(crate) fn place_member(
        &mut self,
        members: &mut StructLayout,
        member: &super::model::StructMember,
        base: u64,
        item: ItemId,
        values: &mut ParamValues<'_>,
    ) -> StepResult<ItemSpan> {
        let layout = self.layout;
        match member.what {
            MemberKind::Fixed(_) => Ok(ItemSpan::NO_SPOT),
            MemberKind::Stored(param) => {
                let found = self.member_size(member.what).map_err(|AddressOverflow| self.overflow_fault(member.item))?;
                let (size, align) = found.unwrap_or_default();
                let spot = self
                    .member_spot(members, size, member.placement, align, base)
                    .ok_or_else(|| self.overflow_fault(member.item))?;
                self.read_param(param, spot.address, values)?;
                Ok(spot)
            }
            MemberKind::Data(what) if self.is_stepped(what) => {
                let (count, inner) = self.count_instances(what).map_err(|AddressOverflow| self.overflow_fault(member.item))?;
                if count == 0 {
                    return Ok(ItemSpan::NO_SPOT);
                }
                let align = layout.ty(what.ty).align;
                let off = members.next_offset(member.placement, align).ok_or_else(|| self.overflow_fault(member.item))?;
                let at = add_offset(base, off).ok_or_else(|| self.overflow_fault(item))?;
                let size = self.run_instances(inner, count, at, item, values)?;
                self.member_spot(members, size, member.placement, align, base).ok_or_else(|| self.overflow_fault(member.item))
            }
            MemberKind::Data(what) => {
                let size = self.use_size(what).map_err(|AddressOverflow| self.overflow_fault(member.item))?;
                let align = layout.ty(what.ty).align;
                self.member_spot(members, size, member.placement, align, base).ok_or_else(|| self.overflow_fault(member.item))
            }
        }
    }

    fn member_spot(
        &self,
        members: &mut StructLayout,
        size: u64,
        placement: Placement,
        align: u64,
        base: u64,
    ) -> Option<ItemSpan> {
        let off = members.place_next(size, placement, align)?;
        if size == 0 {
            return Some(ItemSpan::NO_SPOT);
        }
        Some(ItemSpan { address: add_offset(base, off)?, size })
    }

    // Parameters.

    /// Places a stored parameter and reads it.
    pub(crate) fn place_param(
        &mut self,
        item: ItemId,
        address_rule: AddressRule,
        values: &mut ParamValues<'_>,
    ) -> StepResult<ItemSpan> {
        let layout = self.layout;
        let super::model::ItemData::Param(id) = layout.item(item).kind else { return Ok(ItemSpan::NO_SPOT) };
        let param = layout.param(id);
        if param.fixed_value.is_some() {
            return Ok(ItemSpan::NO_SPOT);
        }
        let size = param.primitive.size();
        let placement = address_rule.apply(param.placement);
        let address = self.place_bytes(placement, layout.ty(param.ty).align, size).ok_or_else(|| self.overflow_fault(item))?;
        self.read_param(id, address, values)?;
        Ok(ItemSpan { address, size })
    }

    /// The request for the value of a stored parameter.
    fn build_param_request(&self, item: ItemId, address: u64, datatype: Primitive, order: Option<Byteorder>) -> ParamRequest {
        let byteorder = self.order_of(datatype, order);
        ParamRequest { address: known_address(address), datatype, byteorder, ordinal: self.ordinal, is_length: false, item }
    }

    fn read_param(&mut self, id: ParamId, address: u64, values: &mut ParamValues<'_>) -> StepResult<()> {
        let param = self.layout.param(id);
        let request = self.build_param_request(param.item, address, param.primitive, param.order);
        let Some(value) = self.request_value(&request, values)? else {
            return Err(self.missing_value_fault(&request));
        };
        if value < -1 {
            let name = self.layout.name(param.item).unwrap_or("");
            let message = format!("parameter `{name}` is {value}, which is below -1");
            return Err(self.layout.error_at(DiagnosticCode::E402, self.layout.item(param.item).span, message));
        }
        if value > param.primitive.max_param_value() {
            let name = self.layout.name(param.item).unwrap_or("");
            let message = format!("parameter `{name}` is {value}, which does not fit in {}", param.primitive);
            return Err(self.layout.error_at(DiagnosticCode::E402, self.layout.item(param.item).span, message));
        }
        if param.is_redeclared {
            // Results for its last value are no longer valid.
            self.generation += 1;
        }
        self.values[id.0 as usize] = value;
        Ok(())
    }

    /// Requests a value and records it.
    fn request_value(&mut self, request: &ParamRequest, values: &mut ParamValues<'_>) -> StepResult<Option<i64>> {
        let layout = self.layout;
        let span = layout.item(request.item).span;
        let name = || layout.name(request.item).unwrap_or("").to_owned();
        let value = match (values.source)(request)? {
            SuppliedValue::Value(value) => Some(value),
            SuppliedValue::Bytes(bytes) => match request.decode_value(bytes) {
                Ok(Some(value)) => Some(value),
                Ok(None) => {
                    let message = "byte order unknown: no < or > in the layout, no Dudley signature; give the byte order";
                    return Err(layout.error_at(DiagnosticCode::E403, span, message));
                }
                Err(raw) => {
                    let message = format!("parameter `{}` is {raw}, which does not fit 63 bits", name());
                    return Err(layout.error_at(DiagnosticCode::E402, span, message));
                }
            },
            SuppliedValue::TooFewBytes(have) => {
                let at = request.address.map_or("an unknown address".into(), |at| format!("address {at}"));
                let message = format!("stream too short for parameter `{}` at {at} (have {have} bytes)", name());
                return Err(layout.error_at(DiagnosticCode::E401, span, message));
            }
            SuppliedValue::Unknown if request.is_length => None,
            SuppliedValue::Unknown | SuppliedValue::Missing => return Err(self.missing_value_fault(request)),
        };
        self.ordinal += 1;
        self.charge_step()?;
        values.recorded.push(StoredValue { value, item: request.item });
        Ok(value)
    }

    fn missing_value_fault(&self, request: &ParamRequest) -> EvaluationError {
        let name = self.layout.name(request.item).unwrap_or("").to_owned();
        let message = format!("no value for parameter `{name}`, stored parameter number {}", request.ordinal + 1);
        self.layout.error_at(DiagnosticCode::E409, self.layout.item(request.item).span, message)
    }
}

/// An address relative to one that may be unknown.
fn add_offset(base: u64, off: u64) -> Option<u64> {
    if base == UNKNOWN_ADDRESS { Some(UNKNOWN_ADDRESS) } else { base.checked_add(off).filter(|&at| at != UNKNOWN_ADDRESS) }
}
