//! Virtual datasets: which elements of which datasets they are made of.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::data_layout::DataLayout;
use super::dataset::Dataset;
use super::external_files::{ExternalFiles, with_subject};
use super::file::{FieldReader, Hdf5File};
use super::heaps::GlobalHeaps;
use super::linked_file::{LinkedFile, MAX_LINKS};
use super::object_header::ObjectHeader;
use crate::error::{Error, Result};
use crate::layout::{ItemSpec, LayoutBuilder, StorageField};

/// Blocks of a selection that are listed one by one.
const MAX_LISTED_BLOCKS: u64 = 1 << 16;

/// A dataset, and its elements that are those of a virtual dataset.
#[derive(Debug)]
pub(super) struct VirtualMapping {
    /// The file; None for that of the virtual dataset.
    pub file: Option<String>,
    pub dataset: String,
    pub from: DataspaceSelection,
    pub to: DataspaceSelection,
}

/// Elements of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DataspaceSelection {
    All,
    None,
    /// Start, stride, number of blocks and length of a block, for each axis.
    Hyperslab(Vec<[u64; 4]>),
    /// Boxes that are not at equal distances: start and length along each axis.
    Boxes(Vec<Vec<(u64, u64)>>),
    /// Single elements.
    Points(Vec<Vec<u64>>),
}

impl DataspaceSelection {
    /// The blocks along each axis, if any element is selected.
    ///
    /// # Errors
    /// Returns `Unsupported` if it is not made of equal blocks at equal distances.
    pub(super) fn axis_spans(&self, shape: &[u64]) -> Result<Option<Vec<[u64; 4]>>> {
        Ok(match self {
            Self::Points(_) => return Err(Error::unsupported("a virtual dataset of single points")),
            Self::Boxes(_) => return Err(Error::unsupported("a virtual dataset of irregular blocks")),
            Self::None => None,
            _ if shape.contains(&0) => None,
            Self::All => Some(shape.iter().map(|len| [0, 1, 1, *len]).collect()),
            Self::Hyperslab(spans) => Some(spans.clone()),
        })
    }
}

/// Reads the mappings of a virtual dataset, which are an object in a heap.
pub(super) fn read_mappings(file: &Hdf5File, heaps: &GlobalHeaps, (heap, index): (u64, u64)) -> Result<Vec<VirtualMapping>> {
    let (address, len) = heaps.locate_object(file, heap, index)?;
    let bytes = file.read_bytes(address, len)?;
    let mut at = file.field_reader(&bytes, address);
    let version = at.uint(1)?;
    if version > 1 {
        return Err(Error::unsupported(format!("a virtual dataset of version {version}, known are 0 and 1")));
    }
    let count = at.read_length()?;
    // A mapping takes more than 8 bytes.
    if count > len / 8 {
        return Err(Error::malformed(format!("{count} sources of a virtual dataset in {len} bytes")));
    }
    let mut found: Vec<VirtualMapping> = Vec::new();
    for _ in 0..count {
        /// Names that are said elsewhere.
        const FLAG_FILE_SHARED: u64 = 1;
        const FLAG_DATASET_SHARED: u64 = 2;
        const FLAG_SAME_FILE: u64 = 4;
        let flags = if version == 0 { 0 } else { at.uint(1)? };
        if flags & !(FLAG_FILE_SHARED | FLAG_DATASET_SHARED | FLAG_SAME_FILE) != 0 {
            return Err(Error::unsupported(format!("sources of a virtual dataset with the flags {flags}")));
        }
        let shared = |at: &mut FieldReader<'_>| -> Result<usize> { Ok(usize::try_from(at.read_length()?).unwrap_or(usize::MAX)) };
        let no_source = || Error::malformed("a source of a virtual dataset that has the name of none before it");
        let file = if flags & FLAG_SAME_FILE != 0 {
            None
        } else if flags & FLAG_FILE_SHARED != 0 {
            found.get(shared(&mut at)?).ok_or_else(no_source)?.file.clone()
        } else {
            Some(unescape_name(&at.c_string()?)?).filter(|name| name != ".")
        };
        let dataset = match flags & FLAG_DATASET_SHARED {
            0 => unescape_name(&at.c_string()?)?,
            _ => found.get(shared(&mut at)?).ok_or_else(no_source)?.dataset.clone(),
        };
        let (from, to) = (read_selection(&mut at)?, read_selection(&mut at)?);
        found.push(VirtualMapping { file, dataset, from, to });
    }
    Ok(found)
}

/// A name without the escapes of patterns.
fn unescape_name(text: &str) -> Result<String> {
    let plain = text.replace("%%", "");
    if plain.contains("%b") {
        return Err(Error::unsupported(format!("the sources of a virtual dataset are numbered: {text}")));
    }
    Ok(text.replace("%%", "%"))
}

/// Reads a selection as HDF5 stores it.
pub(super) fn read_selection(at: &mut FieldReader<'_>) -> Result<DataspaceSelection> {
    let (kind, version) = (at.uint(4)?, at.uint(4)?);
    match (kind, version) {
        (0, 1) => at.skip(8).map(|()| DataspaceSelection::None),
        (3, 1) => at.skip(8).map(|()| DataspaceSelection::All),
        (2, 1) => {
            at.skip(8)?;
            let rank = read_selection_rank(at)?;
            irregular_hyperslab(at, rank, 4)
        }
        (2, 2) => {
            let flags = at.uint(1)?;
            at.skip(4)?;
            let rank = read_selection_rank(at)?;
            if flags & 1 == 0 { irregular_hyperslab(at, rank, 8) } else { regular_hyperslab(at, rank, 8) }
        }
        (2, 3) => {
            let (flags, size) = (at.uint(1)?, selection_width(at)?);
            let rank = read_selection_rank(at)?;
            if flags & 1 == 0 { irregular_hyperslab(at, rank, size) } else { regular_hyperslab(at, rank, size) }
        }
        (1, 1) => {
            at.skip(8)?;
            let rank = read_selection_rank(at)?;
            read_points(at, rank, 4)
        }
        (1, 2) => {
            let size = selection_width(at)?;
            let rank = read_selection_rank(at)?;
            read_points(at, rank, size)
        }
        (kind, version) => Err(Error::unsupported(format!("a selection of kind {kind} and version {version}"))),
    }
}

/// Bytes of the numbers of a selection.
fn selection_width(at: &mut FieldReader<'_>) -> Result<usize> {
    match at.uint(1)? {
        size @ (2 | 4 | 8) => Ok(size as usize),
        size => Err(Error::malformed(format!("a selection with numbers of {size} bytes"))),
    }
}

/// Single elements: their number, and the places of each.
fn read_points(at: &mut FieldReader<'_>, rank: usize, size: usize) -> Result<DataspaceSelection> {
    let count = at.uint(size)?;
    if count > MAX_LISTED_BLOCKS {
        return Err(Error::unsupported(format!("a selection of {count} points, more than {MAX_LISTED_BLOCKS}")));
    }
    let point = |_| (0..rank).map(|_| at.uint(size)).collect::<Result<Vec<_>>>();
    (0..count).map(point).collect::<Result<_>>().map(DataspaceSelection::Points)
}

fn read_selection_rank(at: &mut FieldReader<'_>) -> Result<usize> {
    match at.uint(4)? {
        rank @ 1..=32 => Ok(rank as usize),
        rank => Err(Error::malformed(format!("a selection of {rank} axes"))),
    }
}

/// Blocks at equal distances.
fn regular_hyperslab(at: &mut FieldReader<'_>, rank: usize, size: usize) -> Result<DataspaceSelection> {
    let unlimited = u64::MAX >> (64 - 8 * size);
    let mut spans = Vec::with_capacity(rank);
    for _ in 0..rank {
        let (start, stride, count, block) = (at.uint(size)?, at.uint(size)?, at.uint(size)?, at.uint(size)?);
        if count == unlimited || block == unlimited {
            return Err(Error::unsupported("a virtual dataset whose sources have no end"));
        }
        spans.push([start, stride, count, block]);
    }
    Ok(if spans.iter().any(|[_, _, count, block]| *count == 0 || *block == 0) {
        DataspaceSelection::None
    } else {
        DataspaceSelection::Hyperslab(spans)
    })
}

/// Blocks that are listed: those of equal distances along each axis are what programs write.
fn irregular_hyperslab(at: &mut FieldReader<'_>, rank: usize, size: usize) -> Result<DataspaceSelection> {
    let count = at.uint(size)?;
    if count > MAX_LISTED_BLOCKS {
        return Err(Error::unsupported(format!("a selection of {count} blocks, more than {MAX_LISTED_BLOCKS}")));
    }
    if count == 0 {
        return Ok(DataspaceSelection::None);
    }
    let mut axes = vec![BTreeSet::new(); rank];
    let mut blocks = BTreeSet::new();
    let mut boxes = Vec::new();
    for _ in 0..count {
        let starts = (0..rank).map(|_| at.uint(size)).collect::<Result<Vec<_>>>()?;
        let ends = (0..rank).map(|_| at.uint(size)).collect::<Result<Vec<_>>>()?;
        let mut spans = Vec::with_capacity(rank);
        for (axis, (start, end)) in axes.iter_mut().zip(starts.iter().zip(&ends)) {
            let len = end.checked_sub(*start).ok_or_else(|| Error::malformed("a block that ends before it begins"))?;
            axis.insert((*start, len.saturating_add(1)));
            spans.push((*start, len.saturating_add(1)));
        }
        blocks.insert(starts);
        boxes.push(spans);
    }
    let product = axes.iter().fold(1u64, |n, axis| n.saturating_mul(axis.len() as u64));
    let spans: Option<Vec<[u64; 4]>> = axes.iter().map(find_regular_hyperslab).collect();
    Ok(match spans {
        Some(spans) if product == count && blocks.len() as u64 == count => DataspaceSelection::Hyperslab(spans),
        _ => DataspaceSelection::Boxes(boxes),
    })
}

/// The blocks of one axis as equal ones at equal distances.
fn find_regular_hyperslab(axis: &BTreeSet<(u64, u64)>) -> Option<[u64; 4]> {
    let all: Vec<(u64, u64)> = axis.iter().copied().collect();
    let (start, block) = *all.first()?;
    let stride = all.get(1).map_or(1, |(next, _)| next - start);
    let is_equal = all.iter().zip(0u64..).all(|(place, n)| *place == (start.saturating_add(n.saturating_mul(stride)), block));
    (is_equal && (all.len() == 1 || stride >= block)).then_some([start, stride, all.len() as u64, block])
}

/// The datasets of which a virtual one is made.
pub(super) struct VirtualSources {
    datasets: Vec<(Rc<LinkedFile>, Dataset)>,
    /// The number of a dataset, and the numbers of its slabs.
    slabs: Vec<(usize, Vec<u64>)>,
}

/// A dataset that is written only as a part of another one.
pub(super) struct SourceDataset {
    name: String,
    at: Rc<LinkedFile>,
    dataset: Dataset,
}

/// Finds the sources of a dataset; None if it is not a virtual one.
///
/// # Errors
/// Returns `Unsupported` for sources that are not there, whose numbers cannot be converted, or whose elements are not read as they
/// are stored.
pub(super) fn find_virtual_sources(
    at: &Rc<LinkedFile>,
    dataset: &Dataset,
    others: &mut ExternalFiles<'_>,
) -> Result<Option<VirtualSources>> {
    let (&DataLayout::Virtual(place), Some(shape)) = (&dataset.storage, &dataset.dataspace.shape) else { return Ok(None) };
    let mut found = VirtualSources { datasets: Vec::new(), slabs: Vec::new() };
    let mut known: HashMap<(Option<String>, String), usize> = HashMap::new();
    for mapping in place.map_or(Ok(Vec::new()), |place| read_mappings(&at.file, &at.heaps, place))? {
        let VirtualMapping { file, dataset: path, from, to } = mapping;
        let key = (file, path);
        let number = match known.get(&key) {
            Some(number) => *number,
            None => {
                let place = match &key.0 {
                    Some(file) => others.open_file(&at.folder, file),
                    None => Ok(Rc::clone(at)),
                };
                let read = place.and_then(|place| open_source_dataset(&place, &key.1, dataset, others));
                let said = format!("the source {} of a virtual dataset", key.1);
                let (place, source) = read.map_err(|error| with_subject(&said, &error, error.kind()))?;
                found.datasets.push((place, source));
                known.insert(key, found.datasets.len() - 1);
                found.datasets.len() - 1
            }
        };
        let own = found.datasets.get(number).and_then(|(_, source)| source.dataspace.shape.as_deref()).unwrap_or(&[]);
        let (Some(to), Some(from)) = (to.axis_spans(shape)?, from.axis_spans(own)?) else { continue };
        let count = |spans: &[[u64; 4]]| spans.iter().fold(1u64, |n, span| n.saturating_mul(span[2]).saturating_mul(span[3]));
        let fits = |spans: &[[u64; 4]], shape: &[u64]| {
            let ends = |[start, stride, count, block]: &[u64; 4]| {
                let last = count.saturating_sub(1).saturating_mul(*stride);
                start.saturating_add(last).saturating_add(*block)
            };
            spans.len() == shape.len() && spans.iter().zip(shape).all(|(span, len)| ends(span) <= *len)
        };
        if !fits(&to, shape) || !fits(&from, own) || count(&to) != count(&from) {
            return Err(Error::unsupported("a virtual dataset whose sources have other shapes than it says"));
        }
        let numbers = [to.concat(), vec![own.len() as u64], from.concat()].concat();
        found.slabs.push((number, numbers));
    }
    Ok(Some(found))
}

/// A source of a virtual dataset.
fn open_source_dataset(
    place: &Rc<LinkedFile>,
    path: &str,
    of: &Dataset,
    others: &mut ExternalFiles<'_>,
) -> Result<(Rc<LinkedFile>, Dataset)> {
    let endless = || Error::malformed(format!("it leads to more than {MAX_LINKS} links"));
    let (place, address) = others.resolve_path(place, path, place.file.root)?.ok_or_else(endless)?;
    let header = ObjectHeader::read_object_header(&place.file, address)?;
    let mut source = Dataset::from_header(&place.file, &header)?;
    source.find_data(others, &place.folder)?;
    let element =
        |dataset: &Dataset| ItemSpec::from_datatype(&dataset.datatype.datatype, dataset.datatype.order, &dataset.datatype.dims);
    if !of.is_direct() || !source.is_direct() {
        return Err(Error::unsupported("its elements are not read as they are stored"));
    }
    if element(of)? != element(&source)? {
        source.datatype = source.datatype.cast_to(&of.datatype)?;
    }
    Ok((place, source))
}

impl VirtualSources {
    /// The one source of a dataset that has more elements than it stores.
    pub(super) fn from_stored_dataset(at: &Rc<LinkedFile>, stored: Dataset) -> Self {
        let shape = stored.dataspace.shape.clone().unwrap_or_default();
        let all: Vec<u64> = shape.iter().flat_map(|len| [0, 1, 1, *len]).collect();
        let numbers = [&all[..], &[shape.len() as u64], &all].concat();
        let slabs = if shape.contains(&0) { Vec::new() } else { vec![(0, numbers)] };
        Self { datasets: vec![(Rc::clone(at), stored)], slabs }
    }

    /// Writes the virtual dataset, and returns the items that have to follow it.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::open_dict`].
    pub(super) fn write_virtual_dataset(
        self,
        of: &Dataset,
        name: &str,
        builder: &mut LayoutBuilder,
    ) -> Result<Vec<SourceDataset>> {
        let shape = of.dataspace.shape.as_deref().unwrap_or(&[]);
        if shape.contains(&0) {
            let all = [shape, &of.datatype.dims].concat();
            builder.write_item(name, &ItemSpec::from_datatype(&of.datatype.datatype, of.datatype.order, &all)?)?;
            return Ok(Vec::new());
        }
        builder.write_item(name, &ItemSpec::bytes(0))?;
        builder.write_grid_shape(shape, shape)?;
        builder.write_element_type(&of.datatype.datatype, of.datatype.order, &of.datatype.dims)?;
        of.write_fill(builder)?;
        if self.slabs.is_empty() {
            return Ok(Vec::new());
        }
        let mut paths = Vec::new();
        let parts = self.datasets.into_iter().enumerate().map(|(number, (at, dataset))| {
            let (name, path) = builder.reserve_name(&format!("{name}@source{number}"));
            paths.push(path);
            SourceDataset { name, at, dataset }
        });
        let parts: Vec<SourceDataset> = parts.collect();
        let named = self.slabs.iter().map(|(number, _)| paths.get(*number).cloned().unwrap_or_default()).collect();
        let numbers: Vec<u64> = self.slabs.into_iter().flat_map(|(_, numbers)| numbers).collect();
        builder.write_field(StorageField::Sources(named))?;
        builder.write_field(StorageField::Slabs(numbers))?;
        Ok(parts)
    }
}

impl SourceDataset {
    /// Writes the item, and those of which it is made itself.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::open_dict`].
    pub(super) fn write_items(self, others: &mut ExternalFiles<'_>, builder: &mut LayoutBuilder, depth: usize) -> Result<()> {
        /// Maximum depth of virtual datasets that are made of virtual datasets.
        const MAX_DEPTH: usize = 4;
        let SourceDataset { name, at, dataset } = self;
        let mut parts = Vec::new();
        builder.or_unreadable(&name, |builder| {
            if depth >= MAX_DEPTH {
                return Err(Error::unsupported(format!("virtual datasets of virtual datasets, more than {MAX_DEPTH} deep")));
            }
            match find_virtual_sources(&at, &dataset, others)? {
                Some(found) => {
                    parts = found.write_virtual_dataset(&dataset, &name, builder)?;
                    Ok(())
                }
                None => dataset.write_items(&at, &name, builder),
            }
        })?;
        builder.write_field(StorageField::Part)?;
        parts.into_iter().try_for_each(|part| part.write_items(others, builder, depth + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_one_axis_are_equal_or_refused() {
        let axis = |places: &[(u64, u64)]| find_regular_hyperslab(&places.iter().copied().collect());
        assert_eq!(axis(&[(3, 2)]), Some([3, 1, 1, 2]));
        assert_eq!(axis(&[(9, 2), (3, 2), (6, 2)]), Some([3, 3, 3, 2]));
        for wrong in [&[(3, 2), (6, 2), (10, 2)][..], &[(3, 2), (6, 1)], &[(3, 2), (4, 2)], &[]] {
            assert_eq!(axis(wrong), None);
        }
    }

    #[test]
    fn numbered_names_are_refused() {
        assert!(unescape_name("a-%b.h5").is_err() && unescape_name("%%%b").is_err());
        assert_eq!(unescape_name("100%%b").unwrap(), "100%b");
    }
}
