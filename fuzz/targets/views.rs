//! Views of arrays against a naive model that knows where each element lies and nothing else.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use trilith::array::{Byteorder, Field, StructType};
use trilith::{Array, Datatype, Index};
use trilith_fuzz::memory;

#[derive(Arbitrary, Debug)]
struct Input {
    datatype: u8,
    big: bool,
    bytes: Vec<u8>,
    offset: u8,
    shape: Vec<u8>,
    strides: Option<Vec<i8>>,
    steps: Vec<Step>,
    piece: u8,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Slice(Vec<Cut>),
    Transpose(Vec<u8>),
    Broadcast(Vec<u8>),
    Reshape(Vec<u8>),
    Rows(u8, u8),
}

#[derive(Arbitrary, Debug)]
enum Cut {
    At(i8),
    Range(Option<i8>, Option<i8>, i8),
    Dots,
}

/// Where each element begins, in C order.
#[derive(Clone)]
struct Model {
    shape: Vec<usize>,
    at: Vec<i64>,
}

fuzz_target!(|input: Input| {
    let datatype = datatype(input.datatype);
    let order = if input.big { Byteorder::Big } else { Byteorder::Little };
    let shape: Vec<u64> = input.shape.iter().take(5).map(|n| u64::from(n % 6)).collect();
    let size = datatype.item_size() as i64;
    let (source, offset) = (memory(input.bytes.clone()), u64::from(input.offset));
    let (made, strides) = match &input.strides {
        Some(strides) => {
            let strides: Vec<i64> = (0..shape.len()).map(|axis| i64::from(*strides.get(axis).unwrap_or(&1))).collect();
            (Array::strided(source, offset, datatype.clone(), order, shape.clone(), strides.clone()), strides)
        }
        None => {
            let mut strides = vec![size; shape.len()];
            for axis in (1..shape.len()).rev() {
                strides[axis - 1] = strides[axis] * shape[axis] as i64;
            }
            (Array::new(source, offset, datatype.clone(), order, shape.clone()), strides)
        }
    };
    let mut model = Model::new(&shape, offset as i64, &strides);
    let inside = |model: &Model| model.at.iter().all(|at| *at >= 0 && at + size <= input.bytes.len() as i64);
    let Ok(mut array) = made else {
        assert!(model.at.is_empty() || !inside(&model), "elements inside the bytes were refused");
        return;
    };
    assert!(inside(&model), "elements outside the bytes were accepted");
    compare(&array, &model, &input, &datatype);
    for step in input.steps.iter().take(6) {
        let (next, expected) = apply(step, &array, &model);
        match (next, expected) {
            (Ok(next), Some(expected)) => (array, model) = (next, expected),
            (Err(_), None) => continue,
            // A copy would be needed.
            (Err(_), Some(_)) if matches!(step, Step::Reshape(_)) => continue,
            (Ok(_), None) => panic!("{step:?} of {:?} was taken", model.shape),
            (Err(error), Some(_)) => panic!("{step:?} of {:?}: {error}", model.shape),
        }
        compare(&array, &model, &input, &datatype);
    }
});

fn datatype(which: u8) -> Datatype {
    let packed = || StructType::packed_from(vec![
        Field::new("a", Datatype::Int16, Byteorder::Big),
        Field::new("b", Datatype::Float32, Byteorder::Little).with_shape(vec![2]),
        Field::new("c", Datatype::Ascii(3), Byteorder::Little),
    ]);
    let names: Vec<Datatype> = Datatype::known_names().filter_map(Datatype::from_name).collect();
    match usize::from(which) % (names.len() + 5) {
        n if n < names.len() => names[n].clone(),
        n if n == names.len() => Datatype::Ascii(5),
        n if n == names.len() + 1 => Datatype::Ucs4(2),
        n if n == names.len() + 2 => Datatype::Ucs2(3),
        n if n == names.len() + 3 => Datatype::Utf8(4),
        _ => Datatype::Struct(packed().expect("three fields fit").into()),
    }
}

impl Model {
    fn new(shape: &[u64], offset: i64, strides: &[i64]) -> Self {
        let mut at = vec![offset];
        for (len, stride) in shape.iter().zip(strides) {
            at = at.iter().flat_map(|start| (0..*len as i64).map(move |i| start + i * stride)).collect();
        }
        Self { shape: shape.iter().map(|n| *n as usize).collect(), at }
    }

    fn get(&self, index: &[usize]) -> i64 {
        self.at[index.iter().zip(&self.shape).fold(0, |at, (i, n)| at * n + i)]
    }

    /// A model of another shape, each element taken from where `from` says.
    fn map(&self, shape: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        let count: usize = shape.iter().product();
        let mut at = Vec::with_capacity(count);
        for flat in 0..count {
            let (mut rest, mut index) = (flat, vec![0; shape.len()]);
            for axis in (0..shape.len()).rev() {
                index[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            at.push(self.get(&from(&index)));
        }
        Self { shape, at }
    }
}

fn apply(step: &Step, array: &Array, model: &Model) -> (trilith::Result<Array>, Option<Model>) {
    match step {
        Step::Slice(cuts) => {
            let cuts = &cuts[..cuts.len().min(6)];
            let list: Vec<Index> = cuts.iter().map(Cut::index).collect();
            (array.slice(&list), sliced(cuts, model))
        }
        Step::Transpose(order) => {
            let axes = model.shape.len();
            let mut names: Vec<usize> = (0..axes).collect();
            for (at, with) in order.iter().take(axes).enumerate() {
                names.swap(at, usize::from(*with) % axes);
            }
            let shape = names.iter().map(|axis| model.shape[*axis]).collect();
            let turned = model.map(shape, |index| {
                let mut from = vec![0; axes];
                names.iter().zip(index).for_each(|(axis, i)| from[*axis] = *i);
                from
            });
            (array.transpose(Some(&names)), Some(turned))
        }
        Step::Broadcast(sizes) => {
            let new: Vec<usize> = sizes.iter().take(2).map(|n| usize::from(n % 3)).collect();
            let mut shape = new.clone();
            shape.extend(model.shape.iter().map(|n| if *n == 1 { 3 } else { *n }));
            if shape.iter().product::<usize>() > 20_000 {
                return (Err(trilith::Error::invalid_input("too many for the model")), None);
            }
            let wide = model.map(shape.clone(), |index| {
                index[new.len()..].iter().zip(&model.shape).map(|(i, n)| if *n == 1 { 0 } else { *i }).collect()
            });
            (array.broadcast_to(&shape.iter().map(|n| *n as u64).collect::<Vec<_>>()), Some(wide))
        }
        Step::Reshape(sizes) => {
            let shape: Vec<usize> = sizes.iter().take(4).map(|n| usize::from(n % 8)).collect();
            let fits = shape.iter().product::<usize>() == model.at.len();
            let other = fits.then(|| Model { shape: shape.clone(), at: model.at.clone() });
            (array.reshape(&shape.iter().map(|n| *n as u64).collect::<Vec<_>>()), other)
        }
        Step::Rows(start, count) => {
            let (start, count) = (usize::from(*start % 8), usize::from(*count % 8));
            let fits = model.shape.first().is_some_and(|len| start + count <= *len);
            let part = fits.then(|| {
                let mut shape = model.shape.clone();
                shape[0] = count;
                model.map(shape, |index| {
                    let mut from = index.to_vec();
                    from[0] += start;
                    from
                })
            });
            (array.rows(start as u64, count as u64), part)
        }
    }
}

impl Cut {
    fn index(&self) -> Index {
        match self {
            Cut::At(at) => Index::Integer(i64::from(*at)),
            Cut::Range(start, stop, step) => {
                Index::Slice { start: start.map(i64::from), stop: stop.map(i64::from), step: i64::from(*step) }
            }
            Cut::Dots => Index::Ellipsis,
        }
    }
}

/// What Python's `range(len)[start:stop:step]` holds.
fn python(len: usize, start: Option<i8>, stop: Option<i8>, step: i8) -> Vec<usize> {
    let (len, step) = (len as i64, i64::from(step));
    let clamp = |at: i64, low: i64, high: i64| if at < 0 { (at + len).max(low) } else { at.min(high) };
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let start = start.map_or(if step > 0 { low } else { high }, |at| clamp(i64::from(at), low, high));
    let stop = stop.map_or(if step > 0 { high } else { low }, |at| clamp(i64::from(at), low, high));
    let (mut at, mut all) = (start, Vec::new());
    while (step > 0 && at < stop) || (step < 0 && at > stop) {
        all.push(at as usize);
        at += step;
    }
    all
}

fn sliced(cuts: &[Cut], model: &Model) -> Option<Model> {
    let dots = cuts.iter().filter(|cut| matches!(cut, Cut::Dots)).count();
    let given = cuts.len() - dots;
    if dots > 1 || given > model.shape.len() {
        return None;
    }
    let mut taken: Vec<(bool, Vec<usize>)> = Vec::new();
    let whole = |taken: &mut Vec<(bool, Vec<usize>)>| {
        let axis = taken.len();
        taken.push((true, (0..model.shape[axis]).collect()));
    };
    for cut in cuts {
        let axis = taken.len();
        match cut {
            Cut::At(at) => {
                let at = i64::from(*at) + if *at < 0 { model.shape[axis] as i64 } else { 0 };
                if at < 0 || at >= model.shape[axis] as i64 {
                    return None;
                }
                taken.push((false, vec![at as usize]));
            }
            Cut::Range(_, _, 0) => return None,
            Cut::Range(start, stop, step) => taken.push((true, python(model.shape[axis], *start, *stop, *step))),
            Cut::Dots => (given..model.shape.len()).for_each(|_| whole(&mut taken)),
        }
    }
    while taken.len() < model.shape.len() {
        whole(&mut taken);
    }
    let shape = taken.iter().filter(|(kept, _)| *kept).map(|(_, list)| list.len()).collect();
    Some(model.map(shape, |index| {
        let mut index = index.iter();
        taken.iter().map(|(kept, list)| if *kept { list[*index.next().unwrap_or(&0)] } else { list[0] }).collect()
    }))
}

fn compare(array: &Array, model: &Model, input: &Input, datatype: &Datatype) {
    let shape: Vec<usize> = array.shape().iter().map(|n| *n as usize).collect();
    assert_eq!(shape, model.shape);
    assert_eq!(array.element_count(), model.at.len() as u64);
    let size = datatype.item_size() as usize;
    let stored: Vec<u8> = model.at.iter().flat_map(|at| &input.bytes[*at as usize..*at as usize + size]).copied().collect();
    let order = array.byteorder();
    if !matches!(datatype, Datatype::Struct(_) | Datatype::Bool8) {
        assert_eq!(array.read_bytes(order).expect("elements inside the bytes can be read"), stored);
    }
    for order in [Byteorder::Little, Byteorder::Big] {
        let whole = array.read_bytes(order).expect("elements inside the bytes can be read");
        let mut joined = Vec::new();
        let most = (usize::from(input.piece) + 1) * datatype.packed_size().max(1) as usize;
        array.for_each_piece_in(order, most, &mut |piece| {
            joined.extend_from_slice(piece);
            Ok(())
        }).expect("and in pieces");
        assert_eq!(joined, whole);
    }
    if *datatype == Datatype::Uint16 {
        let from = if order == Byteorder::Big { u16::from_be_bytes } else { u16::from_le_bytes };
        let values: Vec<u16> = stored.chunks(2).map(|pair| from([pair[0], pair[1]])).collect();
        assert_eq!(array.load::<u16>().expect("elements can be loaded"), values);
        if let Some(view) = array.view::<u16>() {
            assert_eq!(view, values);
        }
        assert_eq!(array.load_as::<f64>().expect("integers are floats"), values.iter().map(|n| f64::from(*n)).collect::<Vec<_>>());
    }
    let mut count = 0;
    let done = array.for_each_scalar(|_, _| {
        count += 1;
        Ok(())
    });
    // Bytes that are no text are an error of their own.
    if done.is_ok() || !(datatype.is_text() || matches!(datatype, Datatype::Struct(_))) {
        done.expect("numbers of any bytes can be told");
        assert_eq!(count, model.at.len());
    }
}
