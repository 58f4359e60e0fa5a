//! What hostile files are made of.

use trilith::ErrorKind;
use trilith_codec::codec::{CodecId, EncodeOptions, encode};

/// What must come of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// An error of this kind, and of no worse one.
    Fails(ErrorKind),
    /// One of these two: which one comes first is nobody's promise.
    Either(ErrorKind, ErrorKind),
    /// It is read: what looks dangerous is harmless.
    Fine,
    /// It ends, one way or another.
    Ends,
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Opened, listed, digested, verified, validated.
    File,
    /// Used as a schema, for a tree next to it.
    Schema,
    /// Used as a layout, for a stream next to it.
    Layout,
}

/// One hostile file, with what lies beside it.
pub(crate) struct Case {
    pub name: String,
    pub bytes: Vec<u8>,
    pub expect: Expect,
    pub role: Role,
    pub beside: Vec<(String, Vec<u8>)>,
    pub links: Vec<(String, String)>,
    /// The limits of a debug build, where they are not a tenth of the defaults for nodes: the case needs
    /// more, or other ones would take it too long to reach.
    pub limits: Option<&'static str>,
}

/// Collects the cases of a group.
pub(crate) struct Cases(pub Vec<Case>);

impl Cases {
    pub(crate) fn add(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>, expect: Expect) -> &mut Case {
        let case = Case {
            name: name.into(),
            bytes: bytes.into(),
            expect,
            role: Role::File,
            beside: Vec::new(),
            links: Vec::new(),
            limits: None,
        };
        self.0.push(case);
        self.0.last_mut().expect("it was just added")
    }

    /// A file that breaks the rules of its format.
    pub(crate) fn malformed(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> &mut Case {
        self.add(name, bytes, Expect::Fails(ErrorKind::Malformed))
    }

    /// A file that a policy refuses.
    pub(crate) fn limit(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> &mut Case {
        self.add(name, bytes, Expect::Fails(ErrorKind::Limit))
    }

    /// A file that is right after all.
    pub(crate) fn fine(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> &mut Case {
        self.add(name, bytes, Expect::Fine)
    }
}

pub(crate) const HEAD: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";

/// A file with this tree (without its head and end) and these blocks.
pub(crate) fn asdf(tree: &str, blocks: &[Block]) -> Vec<u8> {
    let mut bytes = format!("{HEAD}{tree}\n...\n").into_bytes();
    for block in blocks {
        bytes.extend_from_slice(&block.bytes());
    }
    bytes
}

/// An ndarray of bytes in block 0.
pub(crate) fn array(more: &str) -> String {
    format!("a: !core/ndarray-1.1.0 {{source: 0, byteorder: big, {more}}}")
}

/// A block header, field by field, and data.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub header_size: u16,
    pub flags: u32,
    pub codec: [u8; 4],
    pub allocated: u64,
    pub used: u64,
    pub data_size: u64,
    pub data: Vec<u8>,
}

impl Block {
    /// An honest block.
    pub(crate) fn of(data: &[u8]) -> Self {
        let size = data.len() as u64;
        Self { header_size: 48, flags: 0, codec: [0; 4], allocated: size, used: size, data_size: size, data: data.to_vec() }
    }

    /// An honest compressed block.
    pub(crate) fn encoded(codec: &str, data: &[u8]) -> Self {
        let id = CodecId::from_name(codec).expect("four letters");
        let stored = encode(id, data, &EncodeOptions::default()).expect("any bytes can be encoded");
        Self { codec: id.0, data_size: data.len() as u64, ..Self::of(&stored) }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"\xd3BLK".to_vec();
        bytes.extend_from_slice(&self.header_size.to_be_bytes());
        bytes.extend_from_slice(&self.flags.to_be_bytes());
        bytes.extend_from_slice(&self.codec);
        for number in [self.allocated, self.used, self.data_size] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(&[0; 16]);
        bytes.resize(6 + usize::from(self.header_size).max(48), 0);
        bytes.extend_from_slice(&self.data);
        bytes
    }
}

/// A FITS file of cards and data.
pub(crate) fn fits(headers: &[(&[&str], &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let pad = |bytes: &mut Vec<u8>, with| bytes.resize(bytes.len().div_ceil(2880) * 2880, with);
    for (cards, data) in headers {
        for card in cards.iter().chain([&"END"]) {
            let mut card = card.as_bytes().to_vec();
            card.resize(80, b' ');
            bytes.extend_from_slice(&card);
        }
        pad(&mut bytes, b' ');
        bytes.extend_from_slice(data);
        pad(&mut bytes, 0);
    }
    bytes
}

/// Cards `KEY = VALUE` at their columns.
pub(crate) fn card(key: &str, value: &str) -> String {
    format!("{key:<8}= {value:>20}")
}
