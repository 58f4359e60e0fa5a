//! Encoding chains of ASDF 0.1.0: what was encoded decodes to the same (quantised floats: to as many), the
//! printed steps read back, and any steps over any bytes end with an error or the claimed size.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use trilith::array::Byteorder;
use trilith::asdf::{parse_chain as parse, print_chain as print};
use trilith_codec::codec::encoding_chain::{BlockArray, ChainStep, decoder, encoder, with_defaults};
use trilith_fuzz::{limits, memory};

#[derive(Arbitrary, Debug)]
struct Input {
    steps: Vec<OneStep>,
    shape: Vec<u8>,
    item_size: u8,
    big_endian: bool,
    bytes: Vec<u8>,
    claimed: Option<u32>,
    described: bool,
    text: Option<String>,
}

#[derive(Arbitrary, Debug)]
enum OneStep {
    Tile { shape: Vec<u8>, original: Option<Vec<u64>>, size: Option<u64> },
    Quantize { bits: Option<u8>, quality: Option<f64>, dither: bool },
    Zlib,
    Sparse,
    Unknown(String),
}

impl OneStep {
    fn step(&self, axes: usize) -> ChainStep {
        match self {
            Self::Tile { shape, original, size } => {
                let mut tile: Vec<u64> = shape.iter().take(5).map(|n| u64::from(*n)).collect();
                if original.is_none() {
                    tile.resize(axes, 3);
                }
                ChainStep::Tile { shape: tile, original_shape: original.clone(), item_size: *size }
            }
            Self::Quantize { bits, quality, dither } => ChainStep::Quantize {
                bits: bits.map(|bits| if bits % 4 == 0 { u64::from(bits) } else { [32, 64][usize::from(bits % 2)] }),
                original_shape: None,
                quality: *quality,
                dither: *dither,
            },
            Self::Zlib => ChainStep::Zlib,
            Self::Sparse => ChainStep::Sparse,
            Self::Unknown(name) => ChainStep::Unknown(name.clone()),
        }
    }
}

fuzz_target!(|input: Input| {
    let limits = limits();
    let shape: Vec<u64> = input.shape.iter().take(4).map(|n| u64::from(n % 12)).collect();
    let steps: Vec<ChainStep> = input.steps.iter().take(4).map(|step| step.step(shape.len())).collect();
    let item_size = [1, 2, 4, 8, 3, 16][usize::from(input.item_size % 6)];
    let array = BlockArray { shape: shape.clone(), item_size, big_endian: input.big_endian };
    let total = shape.iter().product::<u64>() * item_size;

    if let Ok(mut encoder) = encoder(&steps, &array, &limits) {
        let data: Vec<u8> =
            input.bytes.iter().copied().cycle().take(if input.bytes.is_empty() { 0 } else { total as usize }).collect();
        let data = if data.len() as u64 == total { data } else { vec![0; total as usize] };
        let mut stored = Vec::new();
        let done = encoder.write(&data, &mut stored).and_then(|()| encoder.finish(&mut stored));
        if done.is_ok() {
            let full = with_defaults(&steps, &array).expect("an encoder was made of these steps");
            let printed = print(&full);
            let document = printed.trim_end_matches("...\n");
            let again = parse(document, &limits).unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(print(&again), printed);
            let source = decoder(&again, memory(stored), Some(total), Some(&array), order(input.big_endian), &limits);
            // Zeros may become fewer bytes than the limit of the ratio allows to be believed.
            let is_limit = |error: &trilith::Error| error.kind() == trilith::ErrorKind::Limit;
            if source.as_ref().is_err_and(is_limit) {
                return;
            }
            let mut whole = vec![0; total as usize];
            let read = source.expect("our own bytes decode").read_at(0, &mut whole);
            if read.as_ref().is_err_and(is_limit) {
                return;
            }
            let lossy = steps.iter().any(|step| matches!(step, ChainStep::Quantize { .. }));
            // Floats so large that no scale holds them may not come back.
            if !lossy {
                read.expect("our own bytes decode");
                assert!(whole == data, "decoded as encoded by {steps:?}");
            }
        }
    }
    any(&steps, &input, &array);
    if let Some(steps) = input.text.as_deref().and_then(|text| parse(text, &limits).ok()) {
        any(&steps, &input, &array);
    }
});

fn order(big_endian: bool) -> Byteorder {
    if big_endian { Byteorder::Big } else { Byteorder::Little }
}

fn any(steps: &[ChainStep], input: &Input, array: &BlockArray) {
    let array = input.described.then_some(array);
    let claimed = input.claimed.map(|n| u64::from(n % (1 << 20)));
    let Ok(source) = decoder(steps, memory(input.bytes.clone()), claimed, array, order(input.big_endian), &limits()) else { return };
    if let Some(claimed) = claimed {
        assert_eq!(source.len(), claimed);
    }
    if source.len() > 1 << 22 {
        return;
    }
    let mut whole = vec![0; source.len() as usize];
    let done = source.read_at(0, &mut whole);
    let (third, two) = (source.len() / 3, source.len() * 2 / 3);
    let mut part = vec![0; (two - third) as usize];
    if source.read_at(third, &mut part).is_ok() && done.is_ok() {
        assert!(part == whole[third as usize..two as usize], "a part is that part of the whole");
    }
}
