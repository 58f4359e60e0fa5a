//! Files that refer to each other: arrays in other files, `$ref`s in circles, files that do not exist.
//! Listing, digesting, resolving, taking in and cutting up end; and what was cut up or taken in says the
//! same as before.
#![no_main]

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use trilith::asdf::{ArrayOptions, AsdfFile, Block, AsdfBuilder, WriteOptions};
use trilith::assemble::{self, BlockCodec};
use trilith::bytes::{Resolve, SourceRef};
use trilith::tree::Value;
use trilith::{Array, Error, Result, Target, check, file};
use trilith_fuzz::{limits, memory};

#[derive(Arbitrary, Debug)]
struct Input {
    files: Vec<Vec<(u8, Item)>>,
}

#[derive(Arbitrary, Debug)]
enum Item {
    Number(u16),
    Text(String),
    /// An array of this file.
    Own {
        elements: Vec<u8>,
        codec: u8,
        mask: bool,
    },
    /// The first block of another file.
    Other {
        file: u8,
        shape: Vec<u8>,
        more: bool,
    },
    /// A `$ref`: to a key of a file, or to anything.
    Ref {
        file: u8,
        key: u8,
        deeper: bool,
    },
    AnyRef(String),
    List(Vec<u8>),
}

/// The files by name, a few steps deep.
#[derive(Clone)]
struct Names(Arc<BTreeMap<String, Vec<u8>>>, usize);

impl Resolve for Names {
    fn resolve(&self, uri: &str) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        let depth = self.1.checked_sub(1).ok_or_else(|| Error::limit("too many files refer to each other"))?;
        let bytes = self.0.get(uri).ok_or_else(|| Error::limit(format!("no file {uri:?}")))?;
        Ok((memory(bytes.clone()), Arc::new(Self(self.0.clone(), depth))))
    }
}

fuzz_target!(|input: Input| {
    let mut names = BTreeMap::new();
    for (number, items) in input.files.iter().take(4).enumerate() {
        let Some(bytes) = build(items) else { return };
        names.insert(format!("{number}.asdf"), bytes);
    }
    let Some(first) = names.get("0.asdf").cloned() else { return };
    let open = |bytes: Vec<u8>, names: &BTreeMap<String, Vec<u8>>| {
        file::open_asdf_source(memory(bytes), Arc::new(Names(Arc::new(names.clone()), 8)), &limits())
    };
    let Ok(one) = open(first, &names) else { return };
    let before = digests(&one);

    if let Ok(plan) = assemble::resolve(&one) {
        let _ = rewritten(&one, &plan.tree, &plan.blocks);
    }
    if let Ok(plan) = assemble::implode(&one, None) {
        let taken: Vec<_> = plan.blocks.iter().map(|file| (file.clone(), 0)).collect();
        if let Some(bytes) = rewritten(&one, &plan.tree, &taken) {
            let again = open(bytes, &names).expect("what was taken in opens");
            compare(&before, &digests(&again), "taken in");
        }
    }
    if let Ok(plan) = assemble::plan_explode(&one, None, false, |n| format!("part{n}.asdf")) {
        let mut all = names.clone();
        for (block, name) in &plan.external_blocks {
            let Ok(block) = one.sections().block(*block as i64) else { return };
            let Some(bytes) = rewritten_blocks(&one, None, std::slice::from_ref(block)) else { return };
            all.insert(name.clone(), bytes);
        }
        if let Some(bytes) = rewritten_blocks(&one, Some(&plan.tree), &plan.kept_blocks) {
            let again = open(bytes, &all).expect("what was cut up opens");
            compare(&before, &digests(&again), "cut up");
        }
    }
});

type Digests = Option<Vec<(String, Option<[u8; 32]>)>>;

fn digests(file: &AsdfFile) -> Digests {
    let entries = check::digest(file).ok()?;
    Some(entries.into_iter().map(|entry| (entry.path, entry.digest.ok().map(|(_, digest)| digest.sha256))).collect())
}

/// What could be read before reads the same; what could not may be anything.
fn compare(before: &Digests, after: &Digests, what: &str) {
    let (Some(before), Some(after)) = (before, after) else { return };
    for (path, digest) in before.iter().filter(|(_, digest)| digest.is_some()) {
        let found = after.iter().find(|(known, _)| known == path);
        assert_eq!(found.map(|(_, digest)| digest), Some(digest), "{what}: {path}");
    }
}

fn rewritten(file: &AsdfFile, tree: &str, taken: &[(Arc<AsdfFile>, usize)]) -> Option<Vec<u8>> {
    let own = file.sections().blocks().ok()?;
    let mut blocks: Vec<_> = own.into_iter().map(|block| (file, block)).collect();
    for (other, number) in taken {
        blocks.push((&**other, other.sections().block(*number as i64).ok()?));
    }
    let mut out = Cursor::new(Vec::new());
    assemble::write(file, Some(tree), &blocks, &mut out, &WriteOptions::default(), BlockCodec::Keep).ok()?;
    Some(out.into_inner())
}

fn rewritten_blocks(file: &AsdfFile, tree: Option<&str>, blocks: &[Block]) -> Option<Vec<u8>> {
    let blocks: Vec<_> = blocks.iter().map(|block| (file, block)).collect();
    let mut out = Cursor::new(Vec::new());
    assemble::write(file, tree, &blocks, &mut out, &WriteOptions::default(), BlockCodec::Keep).ok()?;
    Some(out.into_inner())
}

fn build(items: &[(u8, Item)]) -> Option<Vec<u8>> {
    let mut builder = AsdfBuilder::new(Target::latest());
    let mut root = Value::map::<&str, Value>([]);
    for (key, item) in items.iter().take(8) {
        let name = |file: &u8| format!("{}.asdf", file % 5);
        let value = match item {
            Item::Number(n) => i64::from(*n).into(),
            Item::Text(text) => text.as_str().into(),
            Item::List(items) => Value::seq(items.iter().map(|n| i64::from(*n))),
            Item::AnyRef(text) => Value::map([("$ref", text.as_str())]),
            Item::Ref { file, key, deeper } => {
                let file = if file % 6 == 5 { String::new() } else { name(file) };
                let key = char::from(b'a' + key % 8);
                Value::map([("$ref", format!("{file}#/{key}{}", if *deeper { "/a" } else { "" }))])
            }
            Item::Other { file, shape, more } => {
                let mut shape: Vec<Value> = shape.iter().take(3).map(|n| i64::from(*n).into()).collect();
                if *more {
                    shape.insert(0, "*".into());
                }
                let mut node =
                    Value::map([("source", Value::from(name(file))), ("datatype", "uint8".into()), ("byteorder", "big".into())]);
                node.set("shape", Value::seq(shape));
                node.tagged("tag:stsci.edu:asdf/core/ndarray-1.1.0")
            }
            Item::Own { elements, codec, mask } => {
                let array = Array::from_slice(elements, &[elements.len() as u64]).ok()?;
                let codecs = ["", "zlib", "bzp2", "lz4", "zstd", "blsc"];
                let options = match usize::from(*codec) % codecs.len() {
                    0 => ArrayOptions::default(),
                    n => ArrayOptions::codec(codecs[n]).ok()?,
                };
                let mut node = builder.array(&array, &options).ok()?;
                if *mask {
                    node.set("mask", 0);
                }
                node
            }
        };
        root.set(char::from(b'a' + key % 8).to_string(), value);
    }
    let mut out = Cursor::new(Vec::new());
    builder.write_to(&mut out, root).ok()?;
    Some(out.into_inner())
}
