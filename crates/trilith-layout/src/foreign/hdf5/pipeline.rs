//! The filters of a dataset, and the value of its elements that were never written.

use super::file::Hdf5File;
use crate::bytes::{CodingStep, to_usize};
use crate::error::{Error, Result};

/// The filters of a pipeline.
pub(super) fn read_filter_pipeline(file: &Hdf5File, data: &[u8], address: u64, size: u64) -> Result<Vec<CodingStep>> {
    let mut at = file.field_reader(data, address);
    let (version, count) = (at.uint(1)?, at.uint(1)?);
    if !(1..=2).contains(&version) {
        return Err(Error::unsupported(format!("a filter pipeline of version {version}, known are 1 and 2")));
    }
    at.skip(if version == 1 { 6 } else { 0 })?;
    let mut steps = Vec::new();
    for _ in 0..count {
        let id = at.uint(2)?;
        let name = if version == 1 || id >= 256 { at.uint(2)? as usize } else { 0 };
        at.skip(2)?;
        let values = at.uint(2)? as usize;
        at.skip(if version == 1 { name.next_multiple_of(8) } else { name })?;
        let arguments = (0..values).map(|_| at.uint(4)).collect::<Result<Vec<_>>>()?;
        at.skip(if version == 1 && values % 2 == 1 { 4 } else { 0 })?;
        let arguments = match id {
            1 | 3 | 307 | 32000 | 32001 | 32004 | 32015 => Vec::new(),
            2 => vec![arguments.first().copied().unwrap_or(size)],
            _ => arguments,
        };
        let name = match id {
            1 => "deflate",
            2 => "shuffle",
            3 => "fletcher32",
            4 => "szip",
            5 => "nbit",
            6 => "scaleoffset",
            307 => "bzip2",
            32000 => "lzf",
            32001 => "blosc",
            32004 => "lz4h5",
            32008 => "bitshuffleh5",
            32015 => "zstd",
            other => {
                steps.push(CodingStep::new(format!("hdf5:{other}"), arguments));
                continue;
            }
        };
        steps.push(CodingStep::new(name, arguments));
    }
    Ok(steps)
}

/// The value of what was never written, if one was set, and whether chunks begin with it.
pub(super) fn read_fill_value(file: &Hdf5File, data: &[u8], address: u64) -> Result<(Option<Vec<u8>>, bool)> {
    /// The time at which a fill value is written.
    const NEVER: u64 = 1;
    let mut at = file.field_reader(data, address);
    let version = at.uint(1)?;
    let (is_there, time) = match version {
        1 | 2 => {
            at.skip(1)?;
            let time = at.uint(1)?;
            (at.uint(1)? != 0 || version == 1, time)
        }
        3 => {
            let flags = at.uint(1)?;
            (flags & 0x20 != 0, flags >> 2 & 3)
        }
        other => return Err(Error::unsupported(format!("a fill value of version {other}, known are 1 to 3"))),
    };
    if !is_there {
        return Ok((None, time != NEVER));
    }
    let len = at.uint(4)?;
    Ok((Some(at.take_bytes(to_usize(len)?.min(at.remaining().len()))?.to_vec()), time != NEVER))
}
