//! Times the kernels of `array` against a plain copy of as many bytes.
//!
//! `cargo bench -p trilith --bench array_speed -- [MEBIBYTES]`: the best of forty rounds, into
//! memory that is warm already. Ratios are what counts; the copy is measured in every round.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::sync::Arc;
use std::time::Instant;

use trilith_array::Result;
use trilith_array::array::{Array, Byteorder, Datatype, Field, Index, StructType};
use trilith_io::bytes::{MemorySource, SourceRef};

const ROUNDS: usize = 40;

fn main() -> Result<()> {
    let size =
        std::env::args().skip(1).find(|word| word != "--bench").and_then(|text| text.parse::<usize>().ok()).unwrap_or(64) << 20;
    let mut state = 1u64;
    let mut bytes = Vec::with_capacity(size);
    while bytes.len() < size {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        bytes.extend((state >> 8).to_le_bytes());
    }
    let source: SourceRef = Arc::new(MemorySource::new(bytes, "memory"));
    let plain = |datatype: Datatype, order| {
        let count = size as u64 / datatype.item_size();
        Array::new(Arc::clone(&source), 0, datatype, order, vec![count])
    };
    let mut out = vec![0u8; size];
    println!("{:<44} {:>8} {:>8}", "bytes read as packed elements", "GB/s", "of copy");
    let copy = plain(Datatype::Uint8, Byteorder::Little)?;
    for (name, array) in cases(&source, size as u64, &plain)? {
        let used = &mut out[..usize::try_from(array.nbytes()).unwrap_or(0)];
        let base = copy.rows(0, array.nbytes())?;
        let (mut best, mut best_copy) = (f64::MAX, f64::MAX);
        for _ in 0..ROUNDS {
            let start = Instant::now();
            base.read_bytes_into(used, Byteorder::Little)?;
            best_copy = best_copy.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            array.read_bytes_into(used, Byteorder::Little)?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{name:<44} {:>8.2} {:>8.2}", used.len() as f64 / best / 1e9, best_copy / best);
    }
    loads(&plain)
}

type Plain<'a> = dyn Fn(Datatype, Byteorder) -> Result<Array> + 'a;

fn cases(source: &SourceRef, size: u64, plain: &Plain<'_>) -> Result<Vec<(&'static str, Array)>> {
    let side = (size / 8).isqrt();
    let image = Array::new(Arc::clone(source), 0, Datatype::Float64, Byteorder::Little, vec![side, side])?;
    let big = Array::new(Arc::clone(source), 0, Datatype::Float64, Byteorder::Big, vec![side, side])?;
    let small = Array::new(Arc::clone(source), 0, Datatype::Uint8, Byteorder::Big, vec![size / 4096, 4096])?;
    let part = |array: &Array, list: &str| array.slice(&Index::parse_list(list)?);
    let row = |order, aligned: bool| -> Result<Array> {
        let mut fields = vec![
            Field::new("id", Datatype::Int64, order),
            Field::new("flag", Datatype::Uint8, order),
            Field::new("x", Datatype::Float32, order),
            Field::new("y", Datatype::Float32, order),
            Field::new("flux", Datatype::Float64, order).with_shape(vec![3]),
            Field::new("name", Datatype::Ascii(7), order),
        ];
        let fields = if aligned {
            for (field, at) in fields.iter_mut().zip([0, 8, 12, 16, 24, 48]) {
                field.offset = at;
            }
            StructType::with_offsets(fields, 56)?
        } else {
            StructType::packed_from(fields)?
        };
        plain(Datatype::Struct(Arc::new(fields)), Byteorder::Little)
    };
    let triples = Array::new(Arc::clone(source), 0, Datatype::Float32, Byteorder::Big, vec![size / 16, 4])?;
    Ok(vec![
        ("copy", plain(Datatype::Float64, Byteorder::Little)?),
        ("swap int16", plain(Datatype::Int16, Byteorder::Big)?),
        ("swap float32", plain(Datatype::Float32, Byteorder::Big)?),
        ("swap float64", plain(Datatype::Float64, Byteorder::Big)?),
        ("swap complex128", plain(Datatype::Complex128, Byteorder::Big)?),
        ("swap float128", plain(Datatype::Float128, Byteorder::Big)?),
        ("bool8", plain(Datatype::Bool8, Byteorder::Big)?),
        ("half the columns of a float64 image", part(&image, ":,:1000")?),
        ("every second float64", part(&plain(Datatype::Float64, Byteorder::Little)?, "::2")?),
        ("every second float64, swapped", part(&plain(Datatype::Float64, Byteorder::Big)?, "::2")?),
        ("backwards float64", part(&plain(Datatype::Float64, Byteorder::Little)?, "::-1")?),
        ("three of four float32, swapped", part(&triples, ":,:3")?),
        ("two of four float32, every second, swapped", part(&triples, ":,::2")?),
        ("transposed float64", image.transpose(None)?),
        ("transposed float64, swapped", big.transpose(None)?),
        ("transposed bytes, rows of 4096", small.transpose(None)?),
        ("structs, little", row(Byteorder::Little, false)?),
        ("structs, big", row(Byteorder::Big, false)?),
        ("structs, little, padded", row(Byteorder::Little, true)?),
        ("structs, big, padded", row(Byteorder::Big, true)?),
        ("a column of big structs", row(Byteorder::Big, false)?.field("y")?),
    ])
}

fn loads(plain: &Plain<'_>) -> Result<()> {
    println!("\n{:<44} {:>8}", "elements loaded into fresh memory", "GB/s out");
    let show = |name: &str, load: &dyn Fn() -> Result<usize>| -> Result<()> {
        let mut best = f64::MAX;
        let mut bytes = 0;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            bytes = load()?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{name:<44} {:>8.2}", bytes as f64 / best / 1e9);
        Ok(())
    };
    let native = plain(Datatype::Float64, Byteorder::Little)?;
    let big = plain(Datatype::Float64, Byteorder::Big)?;
    let half = plain(Datatype::Float16, Byteorder::Little)?;
    let short = plain(Datatype::Int16, Byteorder::Big)?;
    let single = plain(Datatype::Float32, Byteorder::Little)?;
    let bytes = plain(Datatype::Uint8, Byteorder::Little)?;
    show("float64", &|| Ok(native.load::<f64>()?.len() * 8))?;
    show("float64, large pages", &|| Ok(native.load_pages::<f64>()?.len() * 8))?;
    show("big float64", &|| Ok(big.load::<f64>()?.len() * 8))?;
    show("float16 as f32", &|| Ok(half.load_as::<f32>()?.len() * 4))?;
    show("big int16 as f64", &|| Ok(short.load_as::<f64>()?.len() * 8))?;
    show("float32 as f64", &|| Ok(single.load_as::<f64>()?.len() * 8))?;
    show("uint8 as i64", &|| Ok(bytes.load_as::<i64>()?.len() * 8))?;
    show("float64 as f32", &|| Ok(native.load_as::<f32>()?.len() * 4))
}
