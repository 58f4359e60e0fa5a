//! Header and block scan over files put together part by part: blocks come in order, each behind its
//! mark, alone or in a listing; and of a file whose sizes are honest exactly its blocks are found, whatever
//! its index says.
#![no_main]

use std::sync::Arc;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use trilith::asdf::{GENERATIONS, Generation, AsdfSections, magic_len, print_index};
use trilith::bytes::WindowSource;
use trilith_fuzz::{limits, memory};

#[derive(Arbitrary, Debug)]
struct File {
    row: u8,
    documented: bool,
    comments: Vec<u8>,
    tree: Option<u8>,
    padding: u8,
    parts: Vec<Part>,
}

#[derive(Arbitrary, Debug)]
enum Part {
    /// A block whose sizes are true.
    Honest { data: Vec<u8>, spare: u8, longer_header: u8 },
    /// A block that says anything.
    Lying { flags: u32, codec: [u8; 4], allocated: u64, used: u16, data_size: u64, header_size: u16, data: Vec<u8> },
    /// Blanks between blocks.
    Blank(u8),
    /// Anything.
    Bytes(Vec<u8>),
    /// A list of any offsets.
    Index(Vec<u32>),
    /// The right list, with one entry moved.
    NearIndex { at: u8, by: i8 },
}

fuzz_target!(|file: File| {
    let row = &GENERATIONS[usize::from(file.row) % GENERATIONS.len()];
    let (bytes, offsets, honest) = build(&file, row);
    let limits = limits();
    let source = memory(bytes);
    let Ok(sections) = AsdfSections::read(source.clone(), &limits) else {
        assert!(!honest, "an honest file has a readable header");
        return;
    };
    let Ok(blocks) = sections.blocks() else { return };
    for (number, found) in blocks.iter().enumerate() {
        assert_eq!(found.index, number);
        let mut mark = [0; 4];
        source.read_at(found.offset, &mut mark).expect("a block lies inside the file");
        assert!(magic_len(&mark).is_some() || mark[1..] == *b"BFF");
        assert!(number == 0 || blocks[number - 1].offset < found.offset);
        assert_eq!(sections.block(number as i64).expect("a listed block is found").offset, found.offset);
        let _ = found.stored_source(&source);
    }
    if let Some(last) = blocks.last() {
        assert_eq!(sections.block(-1).expect("there is a last block").offset, last.offset);
    }
    assert!(sections.block(blocks.len() as i64).is_err());
    if honest {
        let found: Vec<u64> = blocks.iter().map(|block| block.offset).collect();
        assert_eq!(found, offsets, "{:?}", sections.warnings());
    }
    let _ = (sections.warnings(), sections.index_report(), sections.generation_name());
    let window = WindowSource::new(source.clone(), 0, source.len()).expect("a window of everything");
    let again = AsdfSections::read(Arc::new(window), &limits).expect("a window reads as the bytes themselves do");
    assert_eq!(again.blocks().map(|blocks| blocks.len()).ok(), Some(blocks.len()));
});

/// The bytes, where the honest blocks begin, and whether all of the file is honest.
fn build(file: &File, row: &'static Generation) -> (Vec<u8>, Vec<u64>, bool) {
    let line = match (row.token, row.major_version) {
        ("#ASDF", 1) => "#ASDF 1.0.0\n".to_owned(),
        (token, _) => format!("{token} 0.1.0\n"),
    };
    let mut bytes = line.into_bytes();
    if row.major_version == 1 && !file.comments.is_empty() {
        bytes.push(b'#');
        bytes.extend(file.comments.iter().map(|b| b'A' + b % 26));
        bytes.push(b'\n');
    }
    if let Some(items) = file.tree {
        bytes.extend_from_slice(b"%YAML 1.1\n---\n");
        for item in 0..items % 8 {
            bytes.extend_from_slice(format!("k{item}: {item}\n").as_bytes());
        }
        bytes.extend_from_slice(b"...\n");
    }
    bytes.resize(bytes.len() + usize::from(file.padding), b' ');
    let (mut offsets, mut honest, mut ended) = (Vec::new(), true, false);
    for part in &file.parts {
        match part {
            Part::Honest { data, spare, longer_header } => {
                honest &= !ended;
                offsets.push(bytes.len() as u64);
                let allocated = data.len() as u64 + u64::from(*spare);
                // Only the newest row tells an enlarged header without doubt.
                let longer = if row.major_version == 1 { u16::from(*longer_header) } else { 0 };
                header(&mut bytes, row, file.documented, row.fields.size + longer, [0; 4], 0, [allocated, data.len() as u64, data.len() as u64]);
                bytes.extend_from_slice(data);
                bytes.resize(bytes.len() + usize::from(*spare), 0);
            }
            Part::Lying { flags, codec, allocated, used, data_size, header_size, data } => {
                honest = false;
                header(&mut bytes, row, file.documented, header_size % 80, *codec, *flags, [*allocated, u64::from(*used), *data_size]);
                bytes.extend_from_slice(data);
            }
            Part::Blank(count) => {
                // In front of the first block blanks belong to the tree's room.
                bytes.resize(bytes.len() + usize::from(*count), 0);
                honest &= !ended;
            }
            Part::Bytes(more) => {
                honest &= more.is_empty();
                bytes.extend_from_slice(more);
            }
            Part::Index(list) => {
                let list: Vec<u64> = list.iter().map(|at| u64::from(*at)).collect();
                honest &= !ended && row.major_version == 1 && !offsets.is_empty();
                ended = true;
                bytes.extend_from_slice(print_index(&list).as_bytes());
            }
            Part::NearIndex { at, by } => {
                let mut list = offsets.clone();
                let at = usize::from(*at) % list.len().max(1);
                if let Some(entry) = list.get_mut(at) {
                    *entry = entry.saturating_add_signed(i64::from(*by));
                }
                honest &= !ended && row.major_version == 1 && !offsets.is_empty();
                ended = true;
                bytes.extend_from_slice(print_index(&list).as_bytes());
            }
        }
    }
    // Only where every row can be told by its size is the first block known for what it is.
    (bytes, offsets, honest && row.major_version == 1)
}

fn header(bytes: &mut Vec<u8>, row: &Generation, documented: bool, size: u16, codec: [u8; 4], flags: u32, sizes: [u64; 3]) {
    bytes.extend_from_slice(if documented { row.magic_documented } else { row.magic });
    bytes.extend_from_slice(&size.to_be_bytes());
    let start = bytes.len();
    bytes.resize(start + usize::from(size), 0);
    let mut put = |at: u16, value: &[u8]| {
        if let Some(place) = bytes.get_mut(start + usize::from(at)..start + usize::from(at) + value.len()) {
            place.copy_from_slice(value);
        }
    };
    let fields = &row.fields;
    if let Some(slot) = fields.flags {
        put(slot.offset, &flags.to_be_bytes());
    }
    if let Some(slot) = fields.compression {
        put(slot.offset, &codec);
    }
    put(fields.allocated.offset, &sizes[0].to_be_bytes());
    put(fields.used.offset, &sizes[1].to_be_bytes());
    if let Some(slot) = fields.data_size {
        put(slot.offset, &sizes[2].to_be_bytes());
    }
}
