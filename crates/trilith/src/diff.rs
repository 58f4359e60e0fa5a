//! What differs between two files: tree and arrays, with tolerances.
//!
//! How something is stored (compression, byte order, strides, block order, spelling of a number) is
//! no difference; what it says is.

#[cfg(feature = "dudley")]
mod between;
mod items;
#[cfg(feature = "dudley")]
mod streams;

use std::cmp::Ordering;

use crate::array::{Array, Datatype, unravel};
use crate::asdf::{AsdfFile, Found, key_text, ndarray, walk};
#[cfg(feature = "dudley")]
use crate::convert::stream_as_asdf;
use crate::error::{Error, Result};
use crate::file::File;
use crate::limits::Limits;
use crate::tree::{Node, Scalar, TreePath};

/// What counts as the same.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Numbers that differ by at most this times the larger of them are the same.
    pub rtol: f64,
    /// Numbers that differ by at most this are the same.
    pub atol: f64,
    /// Paths that are left out, with all below them; `*` stands for any one key.
    pub ignore: Vec<TreePath>,
}

/// What kind of difference it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// Two scalars.
    Value,
    /// Only in the second file.
    Added,
    /// Only in the first file.
    Removed,
    /// A scalar here, a mapping there.
    Type,
    /// The tags.
    Tag,
    /// The shapes of arrays.
    Shape,
    /// The datatypes of arrays.
    Datatype,
    /// The elements of arrays.
    Elements,
    /// The masks of arrays.
    Mask,
}

impl DifferenceKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Type => "type",
            Self::Tag => "tag",
            Self::Shape => "shape",
            Self::Datatype => "datatype",
            Self::Elements => "elements",
            Self::Mask => "mask",
        }
    }
}

/// How the elements of two arrays differ.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ElementsDiffer {
    /// How many.
    pub different: u64,
    /// Of how many.
    pub of: u64,
    /// The largest difference; None where the elements are no numbers.
    pub max_abs: Option<f64>,
    /// The largest difference as a fraction of the larger number.
    pub max_rel: Option<f64>,
    /// Index of the first that differs, in C order.
    pub first: Vec<u64>,
}

/// One difference.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// Where.
    pub path: String,
    /// Of which kind.
    pub kind: DifferenceKind,
    /// What the first file says, as text; None where it says nothing.
    pub a: Option<String>,
    /// What the second file says.
    pub b: Option<String>,
    /// For arrays of the same shape and datatype.
    pub elements: Option<ElementsDiffer>,
}

#[cfg(feature = "dudley")]
pub use streams::diff_streams;

impl File {
    /// Every difference between this file and another, in the order of this one.
    ///
    /// How something is stored is no difference. A Dudley stream and a file of the ASDF family are compared as
    /// conversion would write the stream. Elements are read piece by piece.
    ///
    /// # Errors
    /// What reading the arrays says, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many items.
    pub fn diff(&self, other: &File, options: &DiffOptions) -> Result<Vec<Difference>> {
        if let (Some(a), Some(b)) = (self.as_asdf(), other.as_asdf()) {
            return diff(a, b, options);
        }
        #[cfg(feature = "dudley")]
        match ((self.as_asdf(), self.as_dudley()), (other.as_asdf(), other.as_dudley())) {
            ((_, Some(a)), (_, Some(b))) => return diff_streams(a, b, options),
            ((Some(a), _), (_, Some(b))) => return between::diff(a, &stream_as_asdf(b)?, options),
            ((_, Some(a)), (Some(b), _)) => return between::diff(&stream_as_asdf(a)?, b, options),
            _ => {}
        }
        items::diff(self, other, options)
    }
}

/// Every difference between two files, in the order of the first.
///
/// ```
/// use trilith::diff::{DiffOptions, diff};
/// let [a, b] = ["{a: 1, b: 2.5}", "{a: 3, b: 2.5}"].map(|tree| format!("#ASDF 1.0.0\n%YAML 1.1\n--- {tree}\n...\n"));
/// let [a, b] = [trilith::open_asdf_bytes(a.into())?, trilith::open_asdf_bytes(b.into())?];
/// let found = diff(&a, &b, &DiffOptions::default())?;
/// assert_eq!((found.len(), found[0].path.as_str(), found[0].b.as_deref()), (1, "/a", Some("3")));
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// What reading the arrays says, [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes.
pub fn diff(a: &AsdfFile, b: &AsdfFile, options: &DiffOptions) -> Result<Vec<Difference>> {
    let _calls = (a.limits().call(), b.limits().call());
    let mut compare = Compare { a, b, out: Differences { options, found: Vec::new() }, budget: a.limits().nodes, held: 0 };
    let mut todo = vec![(TreePath::root(), Found::root(a), Found::root(b), 0usize, false)];
    // Nodes that are compared again at another place: a small file can have very many.
    let mut again = a.limits().expansion;
    let mut seen = std::collections::HashSet::new();
    // What is being compared already, so that cycles end.
    let mut inside: Vec<(Found, Found)> = Vec::new();
    while let Some((path, left, right, depth, shared)) = todo.pop() {
        compare.budget = compare
            .budget
            .checked_sub(1)
            .ok_or_else(|| Limits::exceeded("nodes", a.limits().nodes, "the trees have more nodes to compare"))?;
        compare.held = compare.held.saturating_sub(path.text_len() as u64);
        if compare.out.is_ignored(&path) {
            continue;
        }
        inside.truncate(depth);
        let to = (walk::follow(a, &left)?, walk::follow(b, &right)?);
        let may_be_shared = left.node(a).anchor().is_some() || to.0 != left;
        let (left, right) = to;
        let place = || (std::ptr::from_ref(left.file(a)), left.node(a).id());
        let shared = shared || (may_be_shared && !seen.insert(place()));
        if shared {
            again = again.checked_sub(1 + depth as u64).ok_or_else(|| {
                Limits::exceeded(
                    "expansion",
                    a.limits().expansion,
                    "the trees, aliases and references expanded, have more nodes to compare",
                )
            })?;
        }
        if inside.iter().any(|(l, r)| *l == left && *r == right) {
            continue;
        }
        inside.push((left.clone(), right.clone()));
        let mut children = compare.pair(&path, &left, &right)?;
        children.reverse();
        todo.extend(children.into_iter().map(|(path, l, r)| (path, l, r, depth + 1, shared)));
    }
    Ok(compare.out.found)
}

fn is_under(path: &TreePath, pattern: &TreePath) -> bool {
    let (path, pattern) = (path.keys(), pattern.keys());
    !pattern.is_empty() && pattern.len() <= path.len() && pattern.iter().zip(path).all(|(p, k)| p == "*" || p == k)
}

struct Compare<'a> {
    a: &'a AsdfFile,
    b: &'a AsdfFile,
    out: Differences<'a>,
    budget: u64,
    /// Bytes of the paths that are still to be compared, and of those that were found to be in one file only.
    held: u64,
}

impl Compare<'_> {
    fn say(&mut self, path: &TreePath, kind: DifferenceKind, a: Option<String>, b: Option<String>) {
        self.out.say(path.to_string(), kind, a, b);
    }

    /// Compares two nodes but for their children, which are handed back in pairs.
    fn pair(&mut self, path: &TreePath, left: &Found, right: &Found) -> Result<Vec<(TreePath, Found, Found)>> {
        let (l, r) = (left.node(self.a), right.node(self.b));
        let arrays = (ndarray::is_ndarray(l), ndarray::is_ndarray(r));
        if arrays == (true, true) {
            let a = left.file(self.a).array(l).map_err(|e| e.context(format!("{path} of the first file")))?;
            let b = right.file(self.b).array(r).map_err(|e| e.context(format!("{path} of the second file")))?;
            self.out.arrays(&path.to_string(), &a, &b)?;
            return Ok(Vec::new());
        }
        if arrays.0 != arrays.1 || l.kind() != r.kind() {
            self.say(path, DifferenceKind::Type, Some(word(l)), Some(word(r)));
            return Ok(Vec::new());
        }
        if l.tag() != r.tag() {
            self.say(path, DifferenceKind::Tag, l.tag().map(str::to_owned), r.tag().map(str::to_owned));
        }
        if l.is_scalar() {
            if !self.out.same_scalar(&l.scalar(), &r.scalar()) {
                self.say(path, DifferenceKind::Value, Some(l.text().into_owned()), Some(r.text().into_owned()));
            }
            return Ok(Vec::new());
        }
        self.children(path, (left, l), (right, r))
    }

    fn children(
        &mut self,
        path: &TreePath,
        (left, l): (&Found, Node<'_>),
        (right, r): (&Found, Node<'_>),
    ) -> Result<Vec<(TreePath, Found, Found)>> {
        let named = |node: Node<'_>, found: &Found| -> Vec<(String, Found, String)> {
            if node.is_sequence() {
                return node.items().enumerate().map(|(i, item)| (i.to_string(), found.with(item), word(item))).collect();
            }
            node.merged_entries()
                .iter()
                .map(|(key, value)| (key_text(*key).into_owned(), found.with(*value), word(*value)))
                .collect()
        };
        let (l, r) = (named(l, left), named(r, right));
        let in_right: std::collections::HashMap<&str, &Found> = r.iter().map(|(key, found, _)| (key.as_str(), found)).collect();
        let in_left: std::collections::HashSet<&str> = l.iter().map(|(key, ..)| key.as_str()).collect();
        let mut both = Vec::new();
        let ignored = |path: &TreePath| self.out.is_ignored(path);
        let mut only = Vec::new();
        let (limits, mut held) = (self.a.limits(), self.held);
        let mut hold = |path: &TreePath| limits.charge_text(&mut held, path.text_len(), "the paths to compare");
        for (key, found, what) in &l {
            let path = path.join(key.as_str());
            hold(&path)?;
            match in_right.get(key.as_str()) {
                Some(other) => both.push((path, found.clone(), (*other).clone())),
                None if !ignored(&path) => only.push((path, DifferenceKind::Removed, Some(what.clone()), None)),
                None => {}
            }
        }
        for (key, _, what) in r.iter().filter(|(key, ..)| !in_left.contains(key.as_str())) {
            let path = path.join(key.as_str());
            hold(&path)?;
            if !ignored(&path) {
                only.push((path, DifferenceKind::Added, None, Some(what.clone())));
            }
        }
        for (path, kind, a, b) in only {
            self.say(&path, kind, a, b);
        }
        self.held = held;
        Ok(both)
    }
}

/// What has been found to differ, and what counts as the same.
struct Differences<'a> {
    options: &'a DiffOptions,
    found: Vec<Difference>,
}

impl Differences<'_> {
    fn say(&mut self, path: String, kind: DifferenceKind, a: Option<String>, b: Option<String>) {
        self.found.push(Difference { path, kind, a, b, elements: None });
    }

    fn is_ignored(&self, path: &TreePath) -> bool {
        self.options.ignore.iter().any(|pattern| is_under(path, pattern))
    }

    fn same_scalar(&self, a: &Scalar<'_>, b: &Scalar<'_>) -> bool {
        match (a, b) {
            (Scalar::Float(a), Scalar::Float(b)) => self.same_number(*a, *b),
            (Scalar::Float(float), Scalar::Int(int)) | (Scalar::Int(int), Scalar::Float(float)) if self.is_tolerant() => {
                self.same_number(*float, *int as f64)
            }
            (Scalar::Float(_), Scalar::Int(_)) | (Scalar::Int(_), Scalar::Float(_)) => a.compare(b) == Some(Ordering::Equal),
            (Scalar::Int(a), Scalar::Int(b)) => a == b || self.same_number(*a as f64, *b as f64) && self.is_tolerant(),
            _ => a == b,
        }
    }

    fn is_tolerant(&self) -> bool {
        self.options.rtol > 0.0 || self.options.atol > 0.0
    }

    fn same_number(&self, a: f64, b: f64) -> bool {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= self.options.atol + self.options.rtol * a.abs().max(b.abs())
    }

    fn arrays(&mut self, path: &str, a: &Array, b: &Array) -> Result<()> {
        if a.shape() != b.shape() {
            self.say(path.to_owned(), DifferenceKind::Shape, Some(format!("{:?}", a.shape())), Some(format!("{:?}", b.shape())));
            return Ok(());
        }
        if !a.datatype().means(b.datatype()) {
            self.say(path.to_owned(), DifferenceKind::Datatype, Some(a.datatype().to_string()), Some(b.datatype().to_string()));
            return Ok(());
        }
        let mask = (a.mask_bytes()?, b.mask_bytes()?);
        let plain = |mask: &Option<Vec<u8>>| mask.as_ref().is_none_or(|m| m.iter().all(|b| *b == 0));
        if mask.0 != mask.1 && !(plain(&mask.0) && plain(&mask.1)) {
            let text = |mask: &Option<Vec<u8>>| match mask {
                None => "no mask".to_owned(),
                Some(bytes) => format!("{} masked", bytes.iter().filter(|b| **b != 0).count()),
            };
            self.say(path.to_owned(), DifferenceKind::Mask, Some(text(&mask.0)), Some(text(&mask.1)));
        }
        // A mask by field has bytes for values, not for elements.
        let by_element = mask.0.as_deref().filter(|_| a.marks() == 1);
        let elements = self.elements(a, b, by_element)?;
        if elements.different > 0 {
            let kind = DifferenceKind::Elements;
            self.found.push(Difference { path: path.to_owned(), kind, a: None, b: None, elements: Some(elements) });
        }
        Ok(())
    }

    /// Counts the elements that differ; those that the first file masks do not count.
    fn elements(&self, a: &Array, b: &Array, mask: Option<&[u8]>) -> Result<ElementsDiffer> {
        const PIECE: u64 = 1 << 20;
        let mut result = ElementsDiffer { of: a.len(), ..ElementsDiffer::default() };
        let item = a.datatype().packed_size().max(1) as usize;
        let mut first = None;
        let mut at = 0usize;
        let (a, b) = (a.clone().without_mask(), b.clone().without_mask());
        a.charge_visits()?;
        b.charge_visits()?;
        for (left, right) in a.row_blocks(PIECE).zip(b.row_blocks(PIECE)) {
            let count = usize::try_from(left.len()).unwrap_or(usize::MAX);
            let (x, y) = (left.read_bytes(crate::array::Byteorder::Little)?, right.read_bytes(crate::array::Byteorder::Little)?);
            if x != y {
                let numbers =
                    if is_number(left.datatype()) { Some((left.load_as::<f64>()?, right.load_as::<f64>()?)) } else { None };
                for i in 0..count {
                    let same_bytes = x.get(i * item..(i + 1) * item) == y.get(i * item..(i + 1) * item);
                    if same_bytes || mask.is_some_and(|mask| mask.get(at + i).is_some_and(|m| *m != 0)) {
                        continue;
                    }
                    if let Some((p, q)) = numbers.as_ref().and_then(|(p, q)| Some((*p.get(i)?, *q.get(i)?))) {
                        if self.same_number(p, q) && (self.is_tolerant() || p.is_nan()) {
                            continue;
                        }
                        // Zeros of different sign are the same number.
                        if p == q && p == 0.0 {
                            continue;
                        }
                        let apart = (p - q).abs();
                        let larger = p.abs().max(q.abs());
                        result.max_abs = Some(result.max_abs.unwrap_or(0.0).max(apart));
                        result.max_rel = Some(result.max_rel.unwrap_or(0.0).max(if larger > 0.0 { apart / larger } else { 0.0 }));
                    }
                    result.different += 1;
                    first.get_or_insert((at + i) as u64);
                }
            }
            at += count;
        }
        if let Some(flat) = first {
            result.first = unravel(flat, a.shape());
        }
        Ok(result)
    }
}

fn is_number(datatype: &Datatype) -> bool {
    datatype.is_integer() || datatype.is_float()
}

/// What a node is, in a few words.
fn word(node: Node<'_>) -> String {
    if ndarray::is_ndarray(node) {
        "ndarray".to_owned()
    } else if node.is_scalar() {
        node.text().into_owned()
    } else if node.is_sequence() {
        format!("sequence of {}", node.len())
    } else {
        format!("mapping of {}", node.len())
    }
}

/// Reads an ignored path: a JSON Pointer in which `*` stands for any one key.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) where it is no pointer.
pub fn ignored(text: &str) -> Result<TreePath> {
    let path = TreePath::parse(text)?;
    if path.is_root() {
        return Err(Error::usage("ignoring the root leaves nothing to compare"));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::open_asdf_bytes;

    fn file(body: &str) -> AsdfFile {
        let text = format!("#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n{body}\n...\n");
        open_asdf_bytes(text.into_bytes()).unwrap()
    }

    fn kinds(a: &str, b: &str, options: &DiffOptions) -> Vec<(String, &'static str)> {
        diff(&file(a), &file(b), options).unwrap().into_iter().map(|d| (d.path, d.kind.name())).collect()
    }

    #[test]
    fn spelling_is_no_difference_but_what_is_said_is() {
        let none = DiffOptions::default();
        assert!(kinds("a: 0x10\nb: [1, 2]", "b:\n- 1\n- 2\na: 16", &none).is_empty());
        assert_eq!(
            kinds("a: 1\nb: x", "a: 2\nc: x", &none),
            [("/b".into(), "removed"), ("/c".into(), "added"), ("/a".into(), "value")]
        );
        assert_eq!(kinds("a: 1", "a: '1'", &none), [("/a".into(), "value")]);
        assert_eq!(kinds("a: !foo/x-1.0.0 m", "a: m", &none), [("/a".into(), "tag")]);
        assert_eq!(kinds("a: [1]", "a: {b: 1}", &none), [("/a".into(), "type")]);
    }

    #[test]
    fn tolerances_and_ignored_paths() {
        let options = DiffOptions { rtol: 1e-3, ignore: vec![ignored("/meta/*/date").unwrap()], ..DiffOptions::default() };
        assert!(kinds("a: 1.0\nmeta: {x: {date: 1}}", "a: 1.0005\nmeta: {x: {date: 2}}", &options).is_empty());
        assert_eq!(kinds("a: 1.0", "a: 1.1", &options), [("/a".into(), "value")]);
    }

    #[test]
    fn arrays_say_how_many_elements_differ_and_where() {
        let a = "a: !core/ndarray-1.1.0 {data: [[1, 2], [3, 4]], datatype: int16}";
        let b = "a: !core/ndarray-1.1.0 {data: [[1, 2], [3, 6]], datatype: int16}";
        let found = diff(&file(a), &file(b), &DiffOptions::default()).unwrap();
        let elements = found[0].elements.as_ref().unwrap();
        assert_eq!((elements.different, elements.of, elements.first.as_slice()), (1, 4, &[1, 1][..]));
        assert_eq!(elements.max_abs, Some(2.0));
        let c = "a: !core/ndarray-1.1.0 {data: [[1, 2], [3, 4]], datatype: int32}";
        assert_eq!(kinds(a, c, &DiffOptions::default()), [("/a".into(), "datatype")]);
        let d = "a: !core/ndarray-1.1.0 {data: [[1, null], [3, 4]], datatype: int16}";
        assert_eq!(kinds(a, d, &DiffOptions::default())[0].1, "mask");
    }

    #[test]
    fn trees_that_contain_themselves_are_compared_once() {
        let cyclic = "d: &x {self: *x, v: 1}";
        assert!(kinds(cyclic, cyclic, &DiffOptions::default()).is_empty());
    }
}
