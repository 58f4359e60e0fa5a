//! Places of the chunks of a grid: those of a list of items, or those that a table in the file itself gives.

use std::sync::{Arc, OnceLock};

use super::datatype::datatype_of;
use crate::array::{Array, Byteorder, Datatype, element_count};
use crate::bytes::SourceRef;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::layout::LayoutEntry;
use crate::limits::Limits;

/// Byte offset and length of a chunk in the file. The length is 0 if the chunk was never written.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkLocation {
    pub offset: u64,
    pub len: u64,
}

/// The chunks of a grid.
#[derive(Debug)]
pub(super) enum Places {
    /// Items of the layout.
    Listed(Arc<Vec<ChunkLocation>>),
    /// A table, which is read with the first chunk.
    Table(Box<ChunkTable>),
}

/// The places of the chunks, and the filters that each skipped: one entry for each chunk, or none.
#[derive(Debug, Clone)]
pub(super) struct LoadedTable {
    pub chunks: Arc<Vec<ChunkLocation>>,
    pub masks: Arc<Vec<u64>>,
}

/// Columns of numbers in the file, one row for each chunk.
#[derive(Debug)]
pub(super) struct ChunkTable {
    /// Bytes of the file, as they are without `base`.
    pub offset_column: TableColumn,
    /// Column with the stored length of each chunk. Without it each chunk has `default_len` bytes.
    pub length_column: Option<TableColumn>,
    /// The filters that were not applied.
    pub mask: Option<TableColumn>,
    pub base: u64,
    pub default_len: u64,
    pub count: u64,
    pub read: OnceLock<LoadedTable>,
}

/// Column of integers: an item, or a member of its structs.
#[derive(Debug)]
pub(super) struct TableColumn {
    /// The name in the attribute.
    reference: String,
    datatype: Datatype,
    order: Byteorder,
    shape: Vec<u64>,
    address: u64,
    member: Option<String>,
}

impl TableColumn {
    /// Returns the column that an attribute names: `""` is the annotated item itself, `at` a member of its structs,
    /// `/item` another item and `/item.member` a member of that one.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] if nothing is called so.
    pub(super) fn column_for(
        said: &str,
        own: &LayoutEntry,
        find: &dyn Fn(&str) -> Option<LayoutEntry>,
        base: u64,
    ) -> Result<Self> {
        let wrong = |why: &str| Error::malformed(format!("{said:?} names a column of the chunks, {why}"));
        let (found, member) = if said.starts_with('/') {
            match find(said) {
                Some(entry) => (entry, None),
                None => {
                    let (item, member) = said.rsplit_once('.').ok_or_else(|| wrong("but no item"))?;
                    (find(item).ok_or_else(|| wrong("but no item"))?, Some(member.to_owned()))
                }
            }
        } else {
            (own.clone(), Some(said.to_owned()).filter(|member| !member.is_empty()))
        };
        let mut shape = found.shape.clone();
        let (datatype, order) = datatype_of(&found.resolved_type, &mut shape)?;
        let address = found.address.ok_or_else(|| wrong("whose byte offset is unknown"))?.saturating_add(base);
        Ok(Self { reference: said.to_owned(), datatype, order, shape, address, member })
    }

    fn load_chunk_numbers(&self, source: &SourceRef, count: u64, limits: &Arc<Limits>) -> Result<Vec<u64>> {
        let array = Array::new(source.clone(), self.address, self.datatype.clone(), self.order, self.shape.clone())?;
        let mut array = array.with_limits(Arc::clone(limits));
        if let Some(member) = &self.member {
            array = array.field(member).map_err(|error| error.with_kind(ErrorKind::Malformed))?;
        }
        let found = element_count(array.shape())?;
        if found != count {
            return Err(Error::malformed(format!("{found} numbers for {count} chunks")));
        }
        array.load_as::<u64>()
    }
}

impl ChunkTable {
    fn read_chunk_table(&self, source: &SourceRef, limits: &Arc<Limits>) -> Result<LoadedTable> {
        limits.charge_memory(self.count.saturating_mul(size_of::<ChunkLocation>() as u64), "the table of the chunks")?;
        let load = |column: &TableColumn| {
            column
                .load_chunk_numbers(source, self.count, limits)
                .with_context(|| format!("reading the offsets of the chunks of {:?}", column.reference))
        };
        let at = load(&self.offset_column)?;
        let lens = self.length_column.as_ref().map(&load).transpose()?;
        let masks = self.mask.as_ref().map(&load).transpose()?.unwrap_or_default();
        let lens = lens.unwrap_or_else(|| vec![self.default_len; at.len()]);
        let piece = |(at, len): (&u64, u64)| ChunkLocation { offset: at.saturating_add(self.base), len };
        Ok(LoadedTable { chunks: Arc::new(at.iter().zip(lens).map(piece).collect()), masks: Arc::new(masks) })
    }
}

impl Places {
    /// Returns the places of the chunks.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] for a table that does not fit, and an error if
    /// it cannot be read.
    pub(super) fn read_chunk_ranges(
        &self,
        source: &SourceRef,
        masks: &Arc<Vec<u64>>,
        limits: &Arc<Limits>,
    ) -> Result<LoadedTable> {
        let table = match self {
            Self::Listed(pieces) => return Ok(LoadedTable { chunks: Arc::clone(pieces), masks: Arc::clone(masks) }),
            Self::Table(table) => table,
        };
        if let Some(read) = table.read.get() {
            return Ok(read.clone());
        }
        let mut read = table.read_chunk_table(source, limits)?;
        if table.mask.is_none() {
            read.masks = Arc::clone(masks);
        }
        Ok(table.read.get_or_init(|| read).clone())
    }
}
