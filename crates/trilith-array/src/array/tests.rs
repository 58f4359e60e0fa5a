//! Laws that hold for every array, against a model that takes one element after the other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use half::f16;
use num_complex::Complex;
use proptest::prelude::*;

use super::*;
use crate::bytes::{MemorySource, Source, SourceRef};
use crate::{ErrorKind, Limits, Result};

mod text;

/// A source without bytes in memory, that counts what is read.
#[derive(Default)]
struct Counted {
    bytes: Vec<u8>,
    reads: AtomicU64,
    amount: AtomicU64,
    asked: Mutex<Vec<std::ops::Range<u64>>>,
}

impl Counted {
    fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { bytes, ..Self::default() })
    }
}

impl Source for Counted {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.amount.fetch_add(into.len() as u64, Ordering::Relaxed);
        self.asked.lock().unwrap().push(offset..offset + into.len() as u64);
        into.copy_from_slice(&self.bytes[offset as usize..offset as usize + into.len()]);
        Ok(())
    }

    fn name(&self) -> &str {
        "counted"
    }
}

/// Returns every index of a shape, in C order.
fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![Vec::new()], |done, len| {
        done.iter().flat_map(|head| (0..*len).map(move |i| [head.as_slice(), &[i]].concat())).collect()
    })
}

/// Packs one stored element in `order`, byte by byte.
fn pack(datatype: &Datatype, stored: Byteorder, order: Byteorder, bytes: &[u8], out: &mut Vec<u8>) {
    match datatype {
        Datatype::Struct(fields) => {
            for field in fields.fields() {
                let size = field.datatype.item_size() as usize;
                for i in 0..field.count() as usize {
                    pack(&field.datatype, field.byteorder, order, &bytes[field.offset as usize + i * size..], out);
                }
            }
        }
        Datatype::Bool8 => out.push(u8::from(bytes[0] != 0)),
        plain => {
            let size = plain.item_size() as usize;
            let width = match plain {
                Datatype::Ascii(_) | Datatype::Utf8(_) | Datatype::Int8 | Datatype::Uint8 => 1,
                Datatype::Ucs2(_) => 2,
                Datatype::Ucs4(_) => 4,
                complex if complex.is_complex() => size / 2,
                _ => size,
            };
            for word in bytes[..size].chunks(width.max(1)) {
                if stored == order { out.extend(word) } else { out.extend(word.iter().rev()) }
            }
        }
    }
}

fn naive(array: &Array, bytes: &[u8], order: Byteorder) -> Vec<u8> {
    let mut out = Vec::new();
    for index in indices(array.shape()) {
        let at = index.iter().zip(array.strides()).fold(array.offset() as i64, |at, (i, s)| at + *i as i64 * s);
        pack(array.datatype(), array.byteorder(), order, &bytes[at as usize..], &mut out);
    }
    out
}

fn order() -> impl Strategy<Value = Byteorder> {
    prop_oneof![Just(Byteorder::Little), Just(Byteorder::Big)]
}

fn datatype() -> impl Strategy<Value = Datatype> {
    let plain = prop_oneof![
        proptest::sample::select(Datatype::known_names().filter_map(Datatype::from_name).collect::<Vec<_>>()),
        (0u32..5).prop_map(Datatype::Ascii),
        (0u32..5).prop_map(Datatype::Ucs4),
        (0u32..5).prop_map(Datatype::Ucs2),
        (0u32..5).prop_map(Datatype::Utf8),
    ];
    plain.prop_recursive(3, 12, 4, |inner| {
        let field = (inner, order(), proptest::collection::vec(0u64..4, 0..3), 0u64..3);
        proptest::collection::vec(field, 1..4).prop_map(|fields| {
            let (mut made, mut end) = (Vec::new(), 0);
            for (i, (datatype, byteorder, shape, gap)) in fields.into_iter().enumerate() {
                let field = Field { name: Some(format!("n{i}")), datatype, byteorder, shape, offset: end + gap };
                end += gap + field.count() * field.datatype.item_size();
                made.push(field);
            }
            Datatype::Struct(Arc::new(StructType::with_offsets(made, end + 1).unwrap()))
        })
    })
}

/// An array somewhere in random bytes, and those bytes.
fn array() -> impl Strategy<Value = (Array, Vec<u8>)> {
    let axis = (prop_oneof![4 => 0u64..6, 1 => 10u64..40], -3i64..4, any::<bool>());
    (datatype(), order(), proptest::collection::vec(axis, 0..4), 0u64..9, any::<u64>(), any::<bool>()).prop_map(
        |(datatype, byteorder, axes, offset, seed, in_memory)| {
            let shape: Vec<u64> = axes.iter().map(|(len, ..)| *len).collect();
            let size = datatype.item_size();
            let mut strides = if seed % 3 == 0 {
                c_strides(&shape, size).unwrap()
            } else if seed % 3 == 1 {
                fortran_strides(&shape, size).unwrap()
            } else {
                axes.iter().map(|(_, stride, odd)| stride * size as i64 + i64::from(*odd)).collect()
            };
            if seed % 5 == 0 {
                strides.iter_mut().for_each(|s| *s = -*s);
            }
            let reach =
                |sign: i64| -> i64 { shape.iter().zip(&strides).map(|(n, s)| (*n as i64 - 1).max(0) * (s * sign).max(0)).sum() };
            let offset = offset + reach(-1) as u64;
            let total = offset as i64 + reach(1) + size as i64 + (seed % 7) as i64;
            let mut state = seed | 1;
            let bytes: Vec<u8> = (0..total)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (state >> 33) as u8
                })
                .collect();
            let source: SourceRef =
                if in_memory { Arc::new(MemorySource::new(bytes.clone(), "memory")) } else { Counted::new(bytes.clone()) };
            (Array::strided(source, offset, datatype, byteorder, shape, strides).unwrap(), bytes)
        },
    )
}

fn index() -> impl Strategy<Value = Index> {
    let bound = || proptest::option::of(-9i64..9);
    prop_oneof![
        1 => (-5i64..5).prop_map(Index::Integer),
        4 => (bound(), bound(), prop_oneof![-3i64..0, 1i64..4]).prop_map(|(start, stop, step)| Index::Slice { start, stop, step }),
        1 => Just(Index::Ellipsis),
    ]
}

/// The indices that Python's `range(*slice(start, stop, step).indices(len))` gives, told by counting.
fn python_range(start: Option<i64>, stop: Option<i64>, step: i64, len: i64) -> Vec<i64> {
    let wrap = |i: i64| if i < 0 { i + len } else { i };
    let (mut at, end) = if step > 0 {
        (start.map_or(0, |i| wrap(i).max(0)), stop.map_or(len, |i| wrap(i).min(len)))
    } else {
        (start.map_or(len - 1, |i| wrap(i).min(len - 1)), stop.map_or(-1, |i| wrap(i).max(-1)))
    };
    let mut out = Vec::new();
    while if step > 0 { at < end } else { at > end } {
        out.push(at);
        at += step;
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn read_bytes_matches_naive_elementwise_read((array, bytes) in array(), order in order()) {
        prop_assert_eq!(array.read_bytes(order).unwrap(), naive(&array, &bytes, order));
    }

    #[test]
    fn batches_of_any_size_join_to_same_bytes((array, bytes) in array(), size in 1usize..200) {
        let mut joined = Vec::new();
        array.for_each_piece(size, |piece| {
            assert!(piece.len() <= size.max(array.datatype().packed_size() as usize));
            joined.extend_from_slice(piece);
            Ok(())
        }).unwrap();
        prop_assert_eq!(joined, naive(&array, &bytes, Byteorder::Little));
    }

    #[test]
    fn swapping_twice_changes_nothing((array, _) in array()) {
        let big = array.read_bytes(Byteorder::Big).unwrap();
        let again = Array::from_bytes(big, array.datatype().packed(Byteorder::Big), Byteorder::Big, array.shape().to_vec()).unwrap();
        prop_assert!(again.datatype().is_equivalent(array.datatype()));
        prop_assert_eq!(again.read_bytes(Byteorder::Little).unwrap(), array.read_bytes(Byteorder::Little).unwrap());
    }

    #[test]
    fn slices_take_what_numpy_takes((array, bytes) in array(), list in proptest::collection::vec(index(), 0..5)) {
        let axes = array.shape().len();
        let given = list.iter().filter(|i| **i != Index::Ellipsis).count();
        let part = array.slice(&list);
        if given > axes || list.len() > given + 1 {
            prop_assert_eq!(part.unwrap_err().kind(), ErrorKind::InvalidInput);
            return Ok(());
        }
        let mut full = Vec::new();
        for index in &list {
            if *index == Index::Ellipsis { full.resize(full.len() + axes - given, Index::ALL) } else { full.push(*index) }
        }
        full.resize(axes, Index::ALL);
        let mut taken = Vec::new();
        for (index, len) in full.iter().zip(array.shape()) {
            let len = *len as i64;
            match *index {
                Index::Integer(i) if i >= len || i < -len => {
                    prop_assert_eq!(part.unwrap_err().kind(), ErrorKind::InvalidInput);
                    return Ok(());
                }
                Index::Integer(i) => taken.push((vec![if i < 0 { i + len } else { i }], false)),
                Index::Slice { start, stop, step } => taken.push((python_range(start, stop, step, len), true)),
                Index::Ellipsis => unreachable!(),
            }
        }
        let part = part.unwrap();
        let shape: Vec<u64> = taken.iter().filter(|(_, keep)| *keep).map(|(list, _)| list.len() as u64).collect();
        prop_assert_eq!(part.shape(), &shape[..]);
        let mut expected = Vec::new();
        let counts: Vec<u64> = taken.iter().map(|(list, _)| list.len() as u64).collect();
        for index in indices(&counts) {
            let at = index.iter().zip(&taken).zip(array.strides())
                .fold(array.offset() as i64, |at, ((i, (list, _)), s)| at + list[*i as usize] * s);
            pack(array.datatype(), array.byteorder(), Byteorder::Little, &bytes[at as usize..], &mut expected);
        }
        prop_assert_eq!(part.read_bytes(Byteorder::Little).unwrap(), expected);
    }

    #[test]
    fn plan_covers_every_element_in_order((array, bytes) in array(), gap in 0u64..40) {
        let plan = array.plan(gap);
        prop_assert!(plan.windows(2).all(|two| two[0].end + gap < two[1].start));
        prop_assert!(plan.iter().all(|range| range.end <= bytes.len() as u64));
        if array.nbytes() > 0 {
            for index in indices(array.shape()) {
                let at = index.iter().zip(array.strides()).fold(array.offset() as i64, |at, (i, s)| at + *i as i64 * s) as u64;
                let end = at + array.datatype().item_size();
                prop_assert!(plan.iter().any(|range| range.start <= at && end <= range.end), "{plan:?} {at}");
            }
        }
    }

    #[test]
    fn hostile_descriptions_never_panic(
        shape in proptest::collection::vec(prop_oneof![any::<u64>(), 0u64..4], 0..5),
        strides in proptest::collection::vec(prop_oneof![any::<i64>(), -9i64..9, Just(0)], 0..5),
        offset in prop_oneof![any::<u64>(), 0u64..80],
        datatype in datatype(),
        list in proptest::collection::vec(index(), 0..4),
    ) {
        let source: SourceRef = Counted::new(vec![0; 64]);
        let limits: Limits = "memory=65536".parse().unwrap();
        if let Ok(array) = Array::strided(source, offset, datatype, Byteorder::Big, shape, strides) {
            let array = array.with_limits(Arc::new(limits));
            let _ = array.read_bytes(Byteorder::Little);
            let _ = array.for_each_piece(1000, |_| Ok(()));
            let _ = array.plan(10);
            let _ = array.mask_bytes();
            let _ = array.transpose(None).map(|t| t.row_blocks(64).take(5).count());
            let _ = array.slice(&list).map(|part| part.read_bytes(Byteorder::Big));
            let _ = array.load_as::<f64>();
        }
    }
}

#[test]
fn number_types_load_and_view_round_trip() {
    fn check<T: ArrayElement + std::fmt::Debug>(values: &[T]) {
        let array = Array::from_slice(values, &[values.len() as u64]).unwrap();
        assert_eq!(array.load::<T>().unwrap(), values);
        assert_eq!(array.load_as::<T>().unwrap(), values);
        let mut into = vec![T::default(); values.len()];
        array.read_into(&mut into).unwrap();
        assert_eq!(into, values);
        if let Some(view) = array.view::<T>() {
            assert_eq!(view, values);
        }
    }
    check(&[i8::MIN, 0, i8::MAX]);
    check(&[i16::MIN, 0, i16::MAX]);
    check(&[i32::MIN, 0, i32::MAX]);
    check(&[i64::MIN, 0, i64::MAX]);
    check(&[0u8, u8::MAX]);
    check(&[0u16, u16::MAX]);
    check(&[0u32, u32::MAX]);
    check(&[0u64, u64::MAX]);
    check(&[f16::MIN, f16::ONE]);
    check(&[f32::MIN, -0.0, f32::INFINITY]);
    check(&[f64::MIN_POSITIVE, f64::MAX]);
    check(&[Complex::new(1f32, -2.0)]);
    check(&[Complex::new(1f64, -2.0)]);
    check(&[true, false, true]);
}

#[test]
fn conversions_keep_integers_or_err() {
    let whole = Array::from_slice(&[u64::MAX, 1], &[2]).unwrap();
    let error = whole.load_as::<i64>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("element 0") && error.message().contains("18446744073709551615"), "{error}");
    assert_eq!(Array::from_slice(&[2f64.powi(64)], &[1]).unwrap().load_as::<u64>().unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(Array::from_slice(&[-(2f64.powi(63))], &[1]).unwrap().load_as::<i64>().unwrap(), [i64::MIN]);
    assert!(Array::from_slice(&[0.5f32], &[1]).unwrap().load_as::<i8>().is_err());
    assert!(Array::from_slice(&[f64::NAN], &[1]).unwrap().load_as::<i8>().is_err());
    assert_eq!(Array::from_slice(&[16777217i64], &[1]).unwrap().load_as::<f32>().unwrap(), [16777216.0]);
    assert_eq!(Array::from_slice(&[true], &[1]).unwrap().load_as::<f64>().unwrap(), [1.0]);
    assert!(Array::from_slice(&[Complex::new(1f32, 0.0)], &[1]).unwrap().load_as::<f64>().is_err());
    let text = Array::from_bytes(Vec::new(), Datatype::Ascii(3), Byteorder::Big, vec![0]).unwrap();
    assert_eq!(text.load_as::<f64>().unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn finf_80_bit_floats_load_as_f64() {
    // 1.0, -2.5, infinity, the smallest positive: sign and exponent above 64 bits of fraction.
    let numbers: [(u16, u64); 5] = [(0x3fff, 1 << 63), (0xc000, 0xa000 << 48), (0x7fff, 1 << 63), (0, 1), (0x43fe, u64::MAX)];
    let bytes: Vec<u8> =
        numbers.iter().flat_map(|(high, low)| ((u128::from(*high) << 64) | u128::from(*low)).to_be_bytes()).collect();
    let array = Array::from_bytes(bytes.clone(), Datatype::Float128, Byteorder::Big, vec![5]).unwrap();
    assert_eq!(array.load_as::<f64>().unwrap(), [1.0, -2.5, f64::INFINITY, 0.0, f64::INFINITY]);
    let little = array.read_bytes(Byteorder::Little).unwrap();
    assert_eq!(little[..16], {
        let mut one = bytes[..16].to_vec();
        one.reverse();
        one
    });
}

#[test]
fn masks_mark_values_not_numbers_and_broadcast() {
    let marks = |array: Array, mask| array.with_mask(mask).unwrap().mask_bytes().unwrap().unwrap();
    let floats = Array::from_slice(&[0.1f32, f32::NAN, 3.0], &[3]).unwrap();
    assert_eq!(marks(floats.clone(), Mask::Float(0.1)), [1, 0, 0]);
    assert_eq!(marks(floats.clone(), Mask::Float(f64::NAN)), [0, 1, 0]);
    assert_eq!(marks(floats.clone(), Mask::Integer(3)), [0, 0, 1]);
    let whole = Array::from_slice(&[u64::MAX, 5], &[2]).unwrap();
    assert_eq!(marks(whole.clone(), Mask::Integer(u64::MAX.into())), [1, 0]);
    assert_eq!(marks(whole.clone(), Mask::Float(u64::MAX as f64)), [0, 0]);
    assert_eq!(marks(whole.clone(), Mask::Float(5.0)), [0, 1]);
    assert_eq!(marks(whole, Mask::Nan), [0, 0]);
    let complex = Array::from_slice(&[Complex::new(1f64, 2.0), Complex::new(f64::NAN, 0.0)], &[2]).unwrap();
    assert_eq!(marks(complex.clone(), Mask::Complex(1.0, 2.0)), [1, 0]);
    assert_eq!(marks(complex, Mask::Nan), [0, 1]);

    let row = Array::from_bytes(vec![0, 7, 0], Datatype::Bool8, Byteorder::Big, vec![3]).unwrap();
    let image = Array::from_slice(&[1i16; 6], &[2, 3]).unwrap().with_mask(Mask::Array(Arc::new(row.clone()))).unwrap();
    assert_eq!(image.mask_bytes().unwrap().unwrap(), [0, 1, 0, 0, 1, 0]);
    let part = image.slice(Index::parse_list("1,1:").unwrap()).unwrap();
    assert_eq!(part.mask_bytes().unwrap().unwrap(), [1, 0]);
    assert_eq!(image.reshape(&[6]).unwrap().mask_bytes().unwrap().unwrap(), [0, 1, 0, 0, 1, 0]);
    assert_eq!(image.transpose(None).unwrap().mask_bytes().unwrap().unwrap(), [0, 0, 1, 1, 0, 0]);
    let wrong = Array::from_slice(&[1i16; 4], &[2, 2]).unwrap().with_mask(Mask::Array(Arc::new(row)));
    assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Malformed);
}

/// 0.1.0dev, 4.1.3, `mask`: "the given array provides a mask, where non-zero values represent missing values".
#[test]
fn masks_accept_every_numeric_datatype() {
    let image = Array::from_slice(&[1i16; 6], &[2, 3]).unwrap();
    let numeric = Datatype::known_names().filter_map(Datatype::from_name);
    let mut checked = 0;
    for datatype in numeric.filter(|d| d.is_integer() || d.is_float() || d.is_complex() || *d == Datatype::Bool8) {
        for order in [Byteorder::Little, Byteorder::Big] {
            // Zero, a value whose lowest byte alone counts, and zero again.
            let one = ElementValue::Int(1);
            let mut bytes = vec![0; datatype.item_size() as usize];
            if datatype == Datatype::Float128 || datatype == Datatype::Complex256 {
                bytes.extend(std::iter::repeat_n(0x3f, datatype.item_size() as usize));
            } else if one.encode(&datatype, order, &mut bytes).is_err() {
                bytes.extend(std::iter::repeat_n(0x3c, datatype.item_size() as usize));
            }
            bytes.resize(3 * datatype.item_size() as usize, 0);
            let mask = Array::from_bytes(bytes, datatype.clone(), order, vec![3]).unwrap();
            let masked = image.clone().with_mask(Mask::Array(Arc::new(mask))).unwrap();
            assert_eq!(masked.mask_bytes().unwrap().unwrap(), [0, 1, 0, 0, 1, 0], "{datatype} {order:?}");
            let made = masked.mask_array().unwrap().unwrap();
            assert_eq!(made.load::<bool>().unwrap(), [false, true, false, false, true, false], "{datatype} {order:?}");
            let part = masked.slice(Index::parse_list("1,1:").unwrap()).unwrap();
            assert_eq!(part.mask_bytes().unwrap().unwrap(), [1, 0], "{datatype}");
            assert_eq!(masked.transpose(None).unwrap().mask_bytes().unwrap().unwrap(), [0, 0, 1, 1, 0, 0], "{datatype}");
            checked += 1;
        }
    }
    assert!(checked >= 2 * 14, "{checked}");
    let floats = Array::from_slice(&[-0.0f64, f64::NAN, 0.0], &[3]).unwrap();
    let masked = image.clone().with_mask(Mask::Array(Arc::new(floats))).unwrap();
    assert_eq!(masked.mask_bytes().unwrap().unwrap(), [0, 1, 0, 0, 1, 0]);
    let text = Array::from_bytes(b"ab".to_vec(), Datatype::Ascii(1), Byteorder::Big, vec![2]).unwrap();
    assert_eq!(image.with_mask(Mask::Array(Arc::new(text))).unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn nested_fields_keep_byte_order() {
    let inner = StructType::packed_from(vec![Field::new("x.y", Datatype::Int16, Byteorder::Big)]).unwrap();
    let row = StructType::packed_from(vec![
        Field::new("a", Datatype::Struct(Arc::new(inner)), Byteorder::Little).with_shape(vec![2]),
        Field::without_name(Datatype::Uint8, Byteorder::Little),
    ])
    .unwrap();
    let bytes = vec![0, 1, 0, 2, 9, 0, 3, 0, 4, 8];
    let table = Array::from_bytes(bytes, Datatype::Struct(Arc::new(row)), Byteorder::Little, vec![2]).unwrap();
    let xy = table.field("a.x.y").unwrap();
    assert_eq!(xy.shape(), [2, 2]);
    assert_eq!(xy.load::<i16>().unwrap(), [1, 2, 3, 4]);
    assert_eq!(table.field("f1").unwrap().load::<u8>().unwrap(), [9, 8]);
    let error = table.field("b").unwrap_err();
    assert!(error.to_string().contains("the fields are a, f1"), "{error}");
    assert_eq!(table.read_bytes(Byteorder::Little).unwrap(), [1, 0, 2, 0, 9, 3, 0, 4, 0, 8]);
}

#[test]
fn overlapping_elements_cannot_claim_endless_memory() {
    let array = Array::from_slice(&[1f64], &[1]).unwrap().broadcast_to(&[1 << 50]).unwrap();
    assert_eq!(array.load::<f64>().unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(array.for_each_piece(100, |_| Ok(())).unwrap_err().kind(), ErrorKind::Limit);
    // A terabyte is not a rare limit: what may be loaded may not be made of nothing.
    let some = Array::from_slice(&[1u8], &[1]).unwrap().broadcast_to(&[600 << 20]).unwrap();
    let refused =
        [some.load::<u8>().unwrap_err(), some.load_as::<u8>().unwrap_err(), some.read_bytes(Byteorder::Little).unwrap_err()];
    assert!(refused.iter().all(|error| error.to_string().contains("limit overlap=")), "{refused:?}");
    assert_eq!(array.with_mask(Mask::Nan).unwrap().mask_bytes().unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn slice_reads_only_planned_ranges() {
    let source = Counted::new(vec![1; 8 << 20]);
    let image = Array::new(source.clone(), 0, Datatype::Float64, Byteorder::Little, vec![1024, 1024]).unwrap();
    assert_eq!(source.reads.load(Ordering::Relaxed), 0);
    // Contiguous rows: one read.
    image.slice(Index::parse_list("10:20").unwrap()).unwrap().load::<f64>().unwrap();
    assert_eq!((source.reads.load(Ordering::Relaxed), source.amount.load(Ordering::Relaxed)), (1, 81920));
    // Far columns: one read a row, as the plan reports.
    let part = image.slice(Index::parse_list("0:100,5:10").unwrap()).unwrap();
    let plan = part.plan(4096);
    assert_eq!((plan.len(), plan[1].clone()), (100, 8232..8272));
    source.asked.lock().unwrap().clear();
    part.load::<f64>().unwrap();
    assert_eq!(*source.asked.lock().unwrap(), plan);
    assert_eq!(part.plan(10_000).len(), 1);
}

#[test]
fn large_fortran_order_array_reads_once() {
    let count = 1500u64;
    let bytes: Vec<u8> = (0..count * count).flat_map(|i| (i as u32).to_le_bytes()).collect();
    let strides = fortran_strides(&[count, count], 4).unwrap();
    let source = Counted::new(bytes);
    let array = Array::strided(source.clone(), 0, Datatype::Uint32, Byteorder::Little, vec![count, count], strides).unwrap();
    let loaded = array.load::<u32>().unwrap();
    assert!((0..count * count).all(|i| u64::from(loaded[i as usize]) == i % count * count + i / count));
    assert_eq!(source.amount.load(Ordering::Relaxed), 4 * count * count);
}

#[test]
fn limits_beyond_elements_mask_all_or_none() {
    use DeclaredNumber::{Float, Int};
    use MissingRule::{Above, Below, Equal};
    let unsigned = Array::from_slice(&[0u8, 7, 255], &[3]).unwrap();
    let signed = Array::from_slice(&[i64::MIN, 0, i64::MAX], &[3]).unwrap();
    for (array, rule, masked) in [
        (&unsigned, Below(Int(300)), 3),
        (&unsigned, Below(Int(256)), 3),
        (&unsigned, Below(Int(255)), 2),
        (&unsigned, Below(Float(254.5)), 2),
        (&unsigned, Below(Int(-1)), 0),
        (&unsigned, Above(Int(300)), 0),
        (&unsigned, Above(Int(-1)), 3),
        (&unsigned, Above(Float(-0.5)), 3),
        (&unsigned, Above(Int(0)), 2),
        (&unsigned, Equal(Int(300)), 0),
        (&unsigned, Below(Float(f64::INFINITY)), 3),
        (&unsigned, Above(Float(f64::NEG_INFINITY)), 3),
        (&unsigned, Below(Float(f64::NAN)), 0),
        (&signed, Below(Float(1e300)), 3),
        (&signed, Above(Float(1e300)), 0),
        (&signed, Above(Float(-1e300)), 3),
        (&signed, Above(Int(i64::MAX.into())), 0),
    ] {
        let decoding = ValueDecoding { transform: ValueTransform::Identity, missing_rules: vec![rule.clone()] };
        assert_eq!(physical(array, &[decoding]).unwrap().masked_count().unwrap(), masked, "{rule:?}");
    }
}
