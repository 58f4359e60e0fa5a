//! Differences between two files of any formats: items, attributes, values and elements, with tolerances.
//!
//! Storage is not a difference: compression, byte order, strides, the order of blocks, the spelling of a number.

mod attributes;
mod hdus;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use self::hdus::{describe_hdu, drop_form_of_list, is_hdu_list, number_ignored, pair_hdus};
use crate::array::{Array, Byteorder, Datatype, unravel};
use crate::asdf::{AsdfFile, annotations};
use crate::convert::stream_as_asdf;
use crate::error::{Error, ErrorKind, Result};
use crate::file::{AddressPattern, Backend, File, Item, ItemKind, surrounding_hdus};
use crate::limits::Limits;
use crate::tree::{Scalar, TreePath};

/// Options for a comparison.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Numbers that differ by at most this times the larger of them are the same.
    pub rtol: f64,
    /// Numbers that differ by at most this are the same.
    pub atol: f64,
    /// Patterns of items that are ignored with everything below them, and of attributes. After the comparison,
    /// [`AddressPattern::has_matched`] returns whether a pattern matched something.
    pub ignore: Vec<AddressPattern>,
}

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// Two scalars differ.
    Value,
    /// The item is only in the second file.
    Added,
    /// The item is only in the first file.
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
    /// An array that cannot be read in one of the files, so that it is unknown whether they differ. The text of that side is the
    /// reason.
    Unreadable,
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
            Self::Unreadable => "unreadable",
        }
    }
}

/// Differences between the elements of two arrays.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ElementsDiffer {
    /// Number of different elements.
    pub differing: u64,
    /// Number of elements that were compared.
    pub total: u64,
    /// The largest difference; None if the elements are not numbers.
    pub max_abs: Option<f64>,
    /// The largest difference as a fraction of the larger number.
    pub max_rel: Option<f64>,
    /// Index of the first that differs, in C order.
    pub first_index: Vec<u64>,
}

/// One difference between two files.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ItemDifference {
    /// The path.
    pub path: String,
    /// Kind of the difference.
    pub kind: DifferenceKind,
    /// The value in the first file, as text; None if it has none.
    pub a: Option<String>,
    /// The value in the second file.
    pub b: Option<String>,
    /// Differences between the elements, for arrays of the same shape and datatype.
    pub elements: Option<ElementsDiffer>,
}

impl File {
    /// Returns every difference between this file and another, in the order of this one.
    ///
    /// Items are compared by name, whatever the formats are; references are followed. A Dudley stream and a file of the ASDF
    /// family are compared as conversion would write the stream, with the values with which it was opened. Elements are read
    /// piece by piece. A FITS file and a tree with its HDUs differ neither in the tag of the list nor in the program that wrote the tree.
    ///
    /// The path of an item is spelled as its file spells it (`/list/3` in ASDF, `/list[3]` in Dudley). The attribute `units` of
    /// `/t` is `/t@units`, and the card EXPTIME of the first HDU is `/fits/0@EXPTIME`. The order of attributes does not count, but that
    /// of those with one name. The names of the axes are an attribute of the layout.
    ///
    /// ```
    /// use trilith::{OpenOptions, check::DiffOptions};
    /// let [a, b] = ["{a: 1, b: 2.5}", "{a: 3, b: 2.5}"].map(|tree| format!("#ASDF 1.0.0\n%YAML 1.1\n--- {tree}\n...\n"));
    /// let (a, b) = (OpenOptions::new().open_bytes(a.into())?, OpenOptions::new().open_bytes(b.into())?);
    /// let found = a.diff(&b, &DiffOptions::default())?;
    /// assert_eq!((found.len(), found[0].path.as_str(), found[0].b.as_deref()), (1, "/a", Some("3")));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// An array that cannot be read is a difference of a separate kind, [`DifferenceKind::Unreadable`], and the others are compared.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if reading fails, and [`ErrorKind::Limit`] if there are too many items.
    pub fn diff(&self, other: &File, options: &DiffOptions) -> Result<Vec<ItemDifference>> {
        match ((self.as_asdf(), self.as_dudley()), (other.as_asdf(), other.as_dudley())) {
            ((Some(a), _), (_, Some(b))) => {
                let (b, left_out) = stream_as_asdf(b)?;
                return as_converted((a, &[]), (&b, &left_out), options);
            }
            ((_, Some(a)), (Some(b), _)) => {
                let (a, left_out) = stream_as_asdf(a)?;
                return as_converted((&a, &left_out), (b, &[]), options);
            }
            _ => {}
        }
        let mut found = compare_items(self.root(), other.root(), "", options)?;
        if let (Some(a), Some(b)) = (surrounding_hdus(&self.root())?, surrounding_hdus(&other.root())?) {
            found.extend(compare_cards(&a, &b, options)?);
        }
        if let (Some(a), Some(b)) = (self.as_asdf(), other.as_asdf()) {
            drop_form_of_list(&mut found, a, b);
        }
        Ok(found)
    }
}

/// Compares the cards of the FITS files around two trees. Their data are arrays of the trees.
fn compare_cards(a: &Item<'_>, b: &Item<'_>, options: &DiffOptions) -> Result<Vec<ItemDifference>> {
    let limits = a.backend().limits().clone();
    let options = &number_ignored(a, b, options)?;
    let mut compare = Comparer { limits: &limits, out: Differences { options, found: Vec::new() }, cached: 0 };
    let keys = if options.ignore.is_empty() { TreePath::root() } else { TreePath::parse("/fits")? };
    let list = ItemPair { path: "/fits".to_owned(), keys, a: a.clone(), b: b.clone(), depth: 0, is_revisit: false };
    for pair in compare.compare_children(&list)? {
        if !compare.out.is_ignored(&pair.path, &pair.keys) {
            compare.compare_attributes(&pair)?;
        }
    }
    Ok(compare.out.found)
}

/// Compares two items and all below them. The paths of the differences begin with that of the first item, `path`.
///
/// # Errors
/// Returns the errors of [`File::diff`].
pub fn diff_items(a: &Item<'_>, b: &Item<'_>, path: &str, options: &DiffOptions) -> Result<Vec<ItemDifference>> {
    compare_items(a.clone(), b.clone(), path, options)
}

/// Leaves out of a comparison with a converted stream what the form alone brings along: the program that wrote it, and the
/// spelling of the layout. Each side comes with the items that its conversion left out, since they cannot be read.
fn as_converted(
    (a, without_a): (&AsdfFile, &[(String, String)]),
    (b, without_b): (&AsdfFile, &[(String, String)]),
    options: &DiffOptions,
) -> Result<Vec<ItemDifference>> {
    let mut how = options.clone();
    let words = ["dialect", "byteorder", "stored", "docs"].map(|word| format!("dudley/{word}"));
    let key = [a, b].into_iter().find_map(|file| Some(annotations::find(file.tree())?.0)).unwrap_or("annotations");
    let named = ["schema", "layout/dialect", "layout/byteorder", "layout/stored", "*/doc"].map(|word| format!("{key}/{word}"));
    let own = ["asdf_library", "history/extensions"].map(str::to_owned);
    for path in own.into_iter().chain(words).chain(named) {
        how.ignore.push(AddressPattern::parse(&format!("/{path}"))?);
    }
    let mut found = compare_items(Item::new(a, Backend::root(a)), Item::new(b, Backend::root(b)), "", &how)?;
    let on_one_side = |kind| matches!(kind, DifferenceKind::Added | DifferenceKind::Removed);
    let is_form = |path: &str| matches!(path, "/dudley" | "/history") || path.strip_prefix('/') == Some(key);
    found.retain(|difference| !(on_one_side(difference.kind) && is_form(&difference.path)));
    for (left_out, is_first) in [(without_a, true), (without_b, false)] {
        for (path, why) in left_out {
            if is_ignored(&how.ignore, path) {
                continue;
            }
            // An unreadable item is neither present nor absent, so the difference found for it is dropped.
            found.retain(|difference| difference.path != *path);
            let (path, why) = (path.clone(), Some(why.clone()));
            let (a, b) = if is_first { (why, None) } else { (None, why) };
            found.push(ItemDifference { path, kind: DifferenceKind::Unreadable, a, b, elements: None });
        }
    }
    Ok(found)
}

/// Two items of the same path.
struct ItemPair<'f> {
    /// The path in the spelling of the first file.
    path: String,
    /// The path as keys, if something is ignored.
    keys: TreePath,
    a: Item<'f>,
    b: Item<'f>,
    depth: usize,
    /// `true` if the pair is below an item that was compared at another place already.
    is_revisit: bool,
}

/// Compares two items and all below them, without recursion.
fn compare_items<'f>(a: Item<'f>, b: Item<'f>, path: &str, options: &DiffOptions) -> Result<Vec<ItemDifference>> {
    let limits = a.backend().limits().clone();
    let _calls = (limits.call(), b.backend().limits().call());
    let options = &number_ignored(&a, &b, options)?;
    let mut compare = Comparer { limits: &limits, out: Differences { options, found: Vec::new() }, cached: 0 };
    let mut left = limits.nodes;
    // Items that are compared once more: with references, a small file can have very many.
    let mut again = limits.expansion;
    let mut seen = HashSet::new();
    // The pairs around the current one, so that cycles end.
    let mut inside = Vec::new();
    let keys = if options.ignore.is_empty() { TreePath::root() } else { TreePath::parse(path)? };
    let mut todo = vec![ItemPair { path: path.to_owned(), keys, a, b, depth: 0, is_revisit: false }];
    while let Some(mut pair) = todo.pop() {
        left = left
            .checked_sub(1)
            .ok_or_else(|| Limits::exceeded_error("nodes", limits.nodes, "the files have more items to compare"))?;
        compare.cached = compare.cached.saturating_sub(pair.path.len() as u64);
        if compare.out.is_ignored(&pair.path, &pair.keys) {
            continue;
        }
        let is_referred_to = pair.a.kind() == ItemKind::Reference || pair.a.is_anchored();
        (pair.a, pair.b) = (resolve_references(pair.a, &limits)?, resolve_references(pair.b, &limits)?);
        let identity = (pair.a.identity_key(), pair.b.identity_key());
        pair.is_revisit |= is_referred_to && !seen.insert(identity.0);
        if pair.is_revisit {
            again = again.checked_sub(1 + pair.depth as u64).ok_or_else(|| {
                Limits::exceeded_error(
                    "expansion",
                    limits.expansion,
                    "the files, references expanded, have more items to compare",
                )
            })?;
        }
        inside.truncate(pair.depth);
        if identity.0.1.is_some() && inside.contains(&identity) {
            continue;
        }
        inside.push(identity);
        let mut below = compare.compare_pair(&pair)?;
        below.reverse();
        todo.extend(below);
    }
    Ok(compare.out.found)
}

/// Follows references until there is none.
fn resolve_references<'f>(mut item: Item<'f>, limits: &Limits) -> Result<Item<'f>> {
    let mut steps = limits.depth;
    while item.kind() == ItemKind::Reference {
        steps = steps.checked_sub(1).ok_or_else(|| Limits::exceeded_error("depth", limits.depth, "references lead on and on"))?;
        item = item.resolve()?;
    }
    Ok(item)
}

/// Returns `true` if an error concerns one item only, so that the others can be compared.
fn is_of_item(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Unsupported)
}

/// Reads all of an array and returns the reason if that fails.
fn read_failure(array: Result<Array>) -> Result<Option<String>> {
    match array.and_then(|array| array.read_through(|_| ())) {
        Ok(()) => Ok(None),
        Err(why) if is_of_item(&why) => Ok(Some(why.message().to_owned())),
        Err(why) => Err(why),
    }
}

/// Returns `true` if a pattern fits an item. Items below an item that fits are never asked.
fn is_ignored(patterns: &[AddressPattern], path: &str) -> bool {
    // Each pattern is asked, so that each knows whether it fits anything.
    !patterns.is_empty() && patterns.iter().filter(|pattern| pattern.matches_item(path)).count() > 0
}

struct Comparer<'a> {
    limits: &'a Limits,
    out: Differences<'a>,
    /// Bytes of the paths that are still to be compared.
    cached: u64,
}

impl Comparer<'_> {
    /// Compares two items except for their children, and returns these in pairs.
    fn compare_pair<'f>(&mut self, pair: &ItemPair<'f>) -> Result<Vec<ItemPair<'f>>> {
        let (path, a, b) = (&pair.path, &pair.a, &pair.b);
        self.compare_attributes(pair)?;
        match (a.kind(), b.kind()) {
            (ItemKind::Array, ItemKind::Array) => {
                let (a, b) = (a.array(), b.array());
                if let (Ok(a), Ok(b)) = (&a, &b) {
                    match self.out.compare_arrays(path, a, b) {
                        Err(why) if is_of_item(&why) => {}
                        compared => return compared.map(|()| Vec::new()),
                    }
                }
                let (a, b) = (read_failure(a)?, read_failure(b)?);
                self.out.push_difference(path.clone(), DifferenceKind::Unreadable, a, b);
                return Ok(Vec::new());
            }
            (x, y) if (x.is_collection() || y.is_collection() || x == ItemKind::Array || y == ItemKind::Array) && x != y => {
                self.out.push_difference(path.clone(), DifferenceKind::Type, Some(describe_item(a)), Some(describe_item(b)));
                return Ok(Vec::new());
            }
            _ => {}
        }
        let tags = (a.metadata().tag, b.metadata().tag);
        if tags.0 != tags.1 {
            self.out.push_difference(path.clone(), DifferenceKind::Tag, tags.0.map(str::to_owned), tags.1.map(str::to_owned));
        }
        if a.kind().is_collection() {
            return self.compare_children(pair);
        }
        if !self.out.same_scalar(&a.value()?, &b.value()?) {
            self.out.push_difference(
                path.clone(),
                DifferenceKind::Value,
                Some(a.text()?.into_owned()),
                Some(b.text()?.into_owned()),
            );
        }
        Ok(Vec::new())
    }

    fn compare_children<'f>(&mut self, pair: &ItemPair<'f>) -> Result<Vec<ItemPair<'f>>> {
        let (mut a, mut b) = (named_children(&pair.a, &pair.path)?, named_children(&pair.b, &pair.path)?);
        let is_cards = |child: &NamedChild<'_>| child.item.header().is_card_list(Some(&child.key));
        if a.iter().any(is_cards) && b.iter().any(is_cards) {
            // The attributes of both are compared.
            a.retain(|child| !is_cards(child));
            b.retain(|child| !is_cards(child));
        }
        if attributes::has_comparable_attributes(pair) {
            // An attribute that cannot be read is compared with the item that has it.
            a.retain(|child| !attributes::is_attribute_item(&child.item));
            b.retain(|child| !attributes::is_attribute_item(&child.item));
        }
        let has_hdus = is_hdu_list(&pair.a) && is_hdu_list(&pair.b);
        if has_hdus {
            pair_hdus(&a, &mut b)?;
        }
        let describe = |item: &Item<'_>| if has_hdus { describe_hdu(item) } else { Ok(describe_item(item)) };
        let in_b: HashMap<&str, &Item<'_>> = b.iter().map(|child| (child.key.as_str(), &child.item)).collect();
        let in_a: HashSet<&str> = a.iter().map(|child| child.key.as_str()).collect();
        let keys = |key: &str| if self.out.options.ignore.is_empty() { TreePath::root() } else { pair.keys.join(key) };
        let (mut both, mut only, mut held) = (Vec::new(), Vec::new(), self.cached);
        for child in &a {
            self.limits.charge_text(&mut held, child.path.len(), "the paths to compare")?;
            let (path, keys) = (child.path.clone(), keys(&child.key));
            match in_b.get(child.key.as_str()) {
                Some(other) => {
                    let (depth, is_again) = (pair.depth + 1, pair.is_revisit);
                    both.push(ItemPair { path, keys, a: child.item.clone(), b: (*other).clone(), depth, is_revisit: is_again });
                }
                None if self.out.is_ignored(&path, &keys) => {}
                None => only.push((path, DifferenceKind::Removed, Some(describe(&child.item)?), None)),
            }
        }
        for child in b.iter().filter(|child| !in_a.contains(child.key.as_str())) {
            self.limits.charge_text(&mut held, child.path.len(), "the paths to compare")?;
            if !self.out.is_ignored(&child.path, &keys(&child.key)) {
                only.push((child.path.clone(), DifferenceKind::Added, None, Some(describe(&child.item)?)));
            }
        }
        for (path, kind, a, b) in only {
            self.out.push_difference(path, kind, a, b);
        }
        self.cached = held;
        Ok(both)
    }
}

/// One child of a mapping or a list.
struct NamedChild<'f> {
    key: String,
    path: String,
    item: Item<'f>,
}

/// The children of an item by name or number; `path` is that of the item.
fn named_children<'f>(item: &Item<'f>, path: &str) -> Result<Vec<NamedChild<'f>>> {
    let children = item.backend().children(item.location())?.into_iter().enumerate();
    let named = children.map(|(n, child)| NamedChild {
        path: item.backend().child_path(path, &child, n),
        key: child.name.map_or_else(|| n.to_string(), |name| name.into_owned()),
        item: item.with_location(child.place),
    });
    Ok(named.collect())
}

/// Describes an item in a few words.
fn describe_item(item: &Item<'_>) -> String {
    let count = || item.backend().children(item.location()).map_or(0, |children| children.len());
    match item.kind() {
        ItemKind::Array => "ndarray".to_owned(),
        ItemKind::List => format!("sequence of {}", count()),
        ItemKind::Mapping => format!("mapping of {}", count()),
        ItemKind::Reference => "reference".to_owned(),
        ItemKind::Scalar | ItemKind::Text | ItemKind::Null => {
            item.text().map_or_else(|_| "null".to_owned(), |text| text.into_owned())
        }
    }
}

/// The differences found so far, and the options of the comparison.
struct Differences<'a> {
    options: &'a DiffOptions,
    found: Vec<ItemDifference>,
}

impl Differences<'_> {
    fn push_difference(&mut self, path: String, kind: DifferenceKind, a: Option<String>, b: Option<String>) {
        self.found.push(ItemDifference { path, kind, a, b, elements: None });
    }

    /// Returns `true` if an item is left out, by its path as the file or as a tree spells it.
    fn is_ignored(&self, path: &str, keys: &TreePath) -> bool {
        if self.options.ignore.is_empty() {
            return false;
        }
        let by_keys = is_ignored(&self.options.ignore, &keys.to_string());
        is_ignored(&self.options.ignore, path) || by_keys
    }

    fn same_scalar(&self, a: &Scalar<'_>, b: &Scalar<'_>) -> bool {
        match (a, b) {
            (Scalar::Float(a), Scalar::Float(b)) => self.same_number(*a, *b),
            (Scalar::Float(float), Scalar::Int(int)) | (Scalar::Int(int), Scalar::Float(float)) if self.has_tolerance() => {
                self.same_number(*float, *int as f64)
            }
            (Scalar::Float(_), Scalar::Int(_)) | (Scalar::Int(_), Scalar::Float(_)) => a.compare(b) == Some(Ordering::Equal),
            (Scalar::Int(a), Scalar::Int(b)) => a == b || self.same_number(*a as f64, *b as f64) && self.has_tolerance(),
            _ => a == b,
        }
    }

    fn has_tolerance(&self) -> bool {
        self.options.rtol > 0.0 || self.options.atol > 0.0
    }

    fn same_number(&self, a: f64, b: f64) -> bool {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= self.options.atol + self.options.rtol * a.abs().max(b.abs())
    }

    fn compare_arrays(&mut self, path: &str, a: &Array, b: &Array) -> Result<()> {
        if a.shape() != b.shape() {
            self.push_difference(
                path.to_owned(),
                DifferenceKind::Shape,
                Some(format!("{:?}", a.shape())),
                Some(format!("{:?}", b.shape())),
            );
            return Ok(());
        }
        if !a.datatype().is_equivalent(b.datatype()) {
            self.push_difference(
                path.to_owned(),
                DifferenceKind::Datatype,
                Some(a.datatype().to_string()),
                Some(b.datatype().to_string()),
            );
            return Ok(());
        }
        let (elements, masks) = self.count_differing_elements(a, b)?;
        if masks.differ {
            let text = |masked: Option<u64>| masked.map_or_else(|| "no mask".to_owned(), |count| format!("{count} masked"));
            self.push_difference(path.to_owned(), DifferenceKind::Mask, Some(text(masks.a)), Some(text(masks.b)));
        }
        if elements.differing > 0 {
            let kind = DifferenceKind::Elements;
            self.found.push(ItemDifference { path: path.to_owned(), kind, a: None, b: None, elements: Some(elements) });
        }
        Ok(())
    }

    /// Counts the elements that differ, but those that the first file masks, and compares the masks. Each array is read once, in
    /// order.
    fn count_differing_elements(&self, a: &Array, b: &Array) -> Result<(ElementsDiffer, MaskCounts)> {
        const BUFFER_SIZE: u64 = 1 << 20;
        let mut result = ElementsDiffer { total: a.element_count(), ..ElementsDiffer::default() };
        let mut masks = MaskCounts::zero_counts(a, b);
        let item = a.datatype().packed_size().max(1) as usize;
        let mut first = None;
        let mut at = 0usize;
        a.charge_element_visits()?;
        b.charge_element_visits()?;
        // A mask by field has bytes for values, not for elements.
        let is_by_element = a.mask_bytes_per_element() == 1;
        if a.is_padded() || b.is_padded() {
            let mask = (a.mask_bytes()?, b.mask_bytes()?);
            masks.add(mask.0.as_deref(), mask.1.as_deref());
            let mask = mask.0.filter(|_| is_by_element);
            let (a, b) = (a.clone().without_mask(), b.clone().without_mask());
            for (number, (x, y)) in a.strings().zip(b.strings()).enumerate() {
                if x? != y? && mask.as_ref().is_none_or(|mask| mask.get(number).is_none_or(|m| *m == 0)) {
                    result.differing += 1;
                    first.get_or_insert(number as u64);
                }
            }
            result.first_index = first.map(|flat| unravel(flat, a.shape())).unwrap_or_default();
            return Ok((result, masks));
        }
        for (left, right) in a.row_blocks(BUFFER_SIZE).zip(b.row_blocks(BUFFER_SIZE)) {
            let count = usize::try_from(left.element_count()).unwrap_or(usize::MAX);
            // A mask by value looks at the elements.
            let (left, right) = (left.to_memory(Byteorder::Little)?, right.to_memory(Byteorder::Little)?);
            let mask = (left.mask_bytes()?, right.mask_bytes()?);
            masks.add(mask.0.as_deref(), mask.1.as_deref());
            let mask = mask.0.filter(|_| is_by_element);
            let (left, right) = (left.without_mask(), right.without_mask());
            let (x, y) = (left.read_bytes(Byteorder::Little)?, right.read_bytes(Byteorder::Little)?);
            if x != y {
                let numbers =
                    if is_number(left.datatype()) { Some((left.load_as::<f64>()?, right.load_as::<f64>()?)) } else { None };
                for i in 0..count {
                    let same_bytes = x.get(i * item..(i + 1) * item) == y.get(i * item..(i + 1) * item);
                    if same_bytes || mask.as_ref().is_some_and(|mask| mask.get(i).is_some_and(|m| *m != 0)) {
                        continue;
                    }
                    if let Some((p, q)) = numbers.as_ref().and_then(|(p, q)| Some((*p.get(i)?, *q.get(i)?))) {
                        if self.same_number(p, q) && (self.has_tolerance() || p.is_nan()) {
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
                    result.differing += 1;
                    first.get_or_insert((at + i) as u64);
                }
            }
            at += count;
        }
        if let Some(flat) = first {
            result.first_index = unravel(flat, a.shape());
        }
        Ok((result, masks))
    }
}

/// The masked elements of two arrays, each if it has a mask, and whether one array masks what the other does not.
struct MaskCounts {
    a: Option<u64>,
    b: Option<u64>,
    differ: bool,
}

impl MaskCounts {
    /// The counts before anything is read.
    fn zero_counts(a: &Array, b: &Array) -> Self {
        Self { a: a.mask().map(|_| 0), b: b.mask().map(|_| 0), differ: false }
    }

    /// Adds the masks of the same elements of both.
    fn add(&mut self, a: Option<&[u8]>, b: Option<&[u8]>) {
        let count = |mask: Option<&[u8]>| mask.unwrap_or_default().iter().filter(|mark| **mark != 0).count() as u64;
        let (more_a, more_b) = (count(a), count(b));
        self.differ |= a != b && more_a + more_b > 0;
        self.a = self.a.map(|sum| sum + more_a);
        self.b = self.b.map(|sum| sum + more_b);
    }
}

fn is_number(datatype: &Datatype) -> bool {
    datatype.is_integer() || datatype.is_float()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::OpenOptions;

    fn file(body: &str) -> File {
        let text = format!("#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n{body}\n...\n");
        OpenOptions::new().open_bytes(text.into_bytes()).unwrap()
    }

    fn kinds(a: &str, b: &str, options: &DiffOptions) -> Vec<(String, &'static str)> {
        file(a).diff(&file(b), options).unwrap().into_iter().map(|d| (d.path, d.kind.name())).collect()
    }

    #[test]
    fn diff_ignores_spelling_and_reports_each_kind() {
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
        let options =
            DiffOptions { rtol: 1e-3, ignore: vec![AddressPattern::parse("/meta/*/date").unwrap()], ..DiffOptions::default() };
        assert!(kinds("a: 1.0\nmeta: {x: {date: 1}}", "a: 1.0005\nmeta: {x: {date: 2}}", &options).is_empty());
        assert_eq!(kinds("a: 1.0", "a: 1.1", &options), [("/a".into(), "value")]);
    }

    #[test]
    fn arrays_say_how_many_elements_differ_and_where() {
        let a = "a: !core/ndarray-1.1.0 {data: [[1, 2], [3, 4]], datatype: int16}";
        let b = "a: !core/ndarray-1.1.0 {data: [[1, 2], [3, 6]], datatype: int16}";
        let found = file(a).diff(&file(b), &DiffOptions::default()).unwrap();
        let elements = found[0].elements.as_ref().unwrap();
        assert_eq!((elements.differing, elements.total, elements.first_index.as_slice()), (1, 4, &[1, 1][..]));
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

    fn stream(layout: &str, bytes: &[u8]) -> File {
        use std::sync::Arc;

        use crate::bytes::MemorySource;
        use crate::dudley::DudleyFile;
        use crate::layout::Layout;

        let layout = Layout::read(layout.as_bytes()).unwrap();
        let source = Arc::new(MemorySource::new(bytes.to_vec(), "x"));
        DudleyFile::open(source, Some(layout), &Limits::default()).unwrap().into()
    }

    fn stream_kinds(a: (&str, &[u8]), b: (&str, &[u8]), options: &DiffOptions) -> Vec<(String, &'static str)> {
        let found = stream(a.0, a.1).diff(&stream(b.0, b.1), options).unwrap();
        found.into_iter().map(|d| (d.path, d.kind.name())).collect()
    }

    #[test]
    fn diff_ignores_layout_of_streams() {
        let none = DiffOptions::default();
        let a = ("N : i1 #: unit=\"m\"\nx = <i2[N]\nl [u1, u1]", &[2, 0, 1, 0, 2, 0, 7, 8][..]);
        let b = ("l [u1]*2 ## another text\nx = >i2[2]\nN : 2 #: unit=\"m\"\n", &[7, 8, 0, 1, 0, 2][..]);
        assert!(stream_kinds(a, b, &none).is_empty(), "{:?}", stream_kinds(a, b, &none));
    }

    #[test]
    fn items_parameters_attributes_and_elements_are() {
        let none = DiffOptions::default();
        let a = ("N : 1\nx = u1 #: unit=\"m\", old\n\"a b\" = u1\nl [u1, / y = u1, u1]\n", &[1, 2, 3, 4, 5][..]);
        let b = ("N : 2\nx = u1 #: unit=\"s\", new=1\ng/ .. l [u1, / y = u1]\n\"a b\" = i1", &[1, 3, 9, 2][..]);
        let found = stream_kinds(a, b, &none);
        let expected = [
            ("/l[2]", "removed"),
            ("/N", "value"),
            ("/x@\"unit\"", "value"),
            ("/x@old", "removed"),
            ("/x@new", "added"),
            ("/\"a b\"", "datatype"),
            ("/l[1]/y", "elements"),
        ];
        for (path, kind) in expected {
            assert!(found.contains(&(path.to_owned(), kind)), "{path} {kind}: {found:?}");
        }
        assert!(found.contains(&("/g".to_owned(), "added")));
        assert_eq!(found.len(), expected.len() + 1);
        let options = DiffOptions {
            ignore: ["/N", "/x", "/l/*", "/a b", "/g"].iter().map(|p| AddressPattern::parse(p).unwrap()).collect(),
            ..DiffOptions::default()
        };
        assert!(stream_kinds(a, b, &options).is_empty());
        let tolerant = DiffOptions { atol: 1.0, ..DiffOptions::default() };
        assert!(stream_kinds(("x = u1", &[1]), ("x = u1", &[2]), &tolerant).is_empty());
    }
}
