//! Places of the chunks of a grid: those of a list of items, or those that a table or an index in the file itself gives.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::datatype::datatype_of;
use crate::array::{Array, Byteorder, Datatype, element_count};
use crate::bytes::SourceRef;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::layout::{ChunkIndex, LayoutEntry, StoredChunk};
use crate::limits::Limits;
use crate::threads::lock;

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
    /// An index that only the format of the file has.
    Indexed(Arc<CachedIndex>),
}

/// The places of the chunks, and the filters that each skipped: one entry for each chunk, or none.
#[derive(Debug, Clone)]
pub(super) struct LoadedTable {
    pub chunks: Arc<Vec<ChunkLocation>>,
    pub masks: Arc<Vec<u64>>,
}

impl LoadedTable {
    fn mask(&self, number: usize) -> u64 {
        self.masks.get(number).copied().unwrap_or(0)
    }
}

impl ChunkIndex for LoadedTable {
    fn count(&self) -> u64 {
        self.chunks.len() as u64
    }

    fn end(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.offset.saturating_add(chunk.len)).max().unwrap_or(0)
    }

    fn chunk(&self, number: u64) -> Result<Option<StoredChunk>> {
        let Ok(number) = usize::try_from(number) else { return Ok(None) };
        let chunk = self.chunks.get(number).filter(|chunk| chunk.len > 0);
        Ok(chunk.map(|chunk| StoredChunk { offset: chunk.offset, len: chunk.len, skipped_filters: self.mask(number) }))
    }

    fn for_each(&self, visit: &mut dyn FnMut(u64, StoredChunk) -> Result<()>) -> Result<()> {
        (0..self.count()).try_for_each(|number| match self.chunk(number)? {
            Some(chunk) => visit(number, chunk),
            None => Ok(()),
        })
    }
}

/// All chunks of an index.
#[derive(Debug)]
enum LoadedIndex {
    /// A place for each chunk of the array.
    Table(LoadedTable),
    /// The chunks that were written, of an array with many that were not.
    Written(HashMap<u64, StoredChunk>),
}

/// The result of looking a chunk up.
enum ChunkLookup {
    /// The chunk, or None if it was never written.
    Known(Option<StoredChunk>),
    /// The whole index costs less than further lookups.
    TooMany,
}

/// An index, of which single chunks are looked up at first. When many are needed, all of it is read at once.
#[derive(Debug)]
pub(super) struct CachedIndex {
    index: Arc<dyn ChunkIndex>,
    limits: Limits,
    /// The chunks that were looked up, while they are few.
    found: Mutex<HashMap<u64, Option<StoredChunk>>>,
    /// The whole index, or None if it is damaged or too large: single chunks are then looked up.
    loaded: OnceLock<Option<LoadedIndex>>,
}

impl CachedIndex {
    /// Number of chunks that are looked up one by one before all are read.
    const MAX_LOOKUPS: usize = 32;

    pub(super) fn new(index: Arc<dyn ChunkIndex>, limits: &Limits) -> Self {
        let (limits, found) = (limits.clone(), Mutex::default());
        Self { index, limits, found, loaded: OnceLock::new() }
    }

    /// Reads the whole index, once.
    fn loaded(&self) -> Option<&LoadedIndex> {
        // A damaged index still has the chunks before the damage.
        self.loaded.get_or_init(|| self.load().unwrap_or(None)).as_ref()
    }

    /// Looks a chunk up, if fewer than [`CachedIndex::MAX_LOOKUPS`] were looked up: beyond, the whole index costs less.
    fn look_up(&self, number: u64) -> Result<ChunkLookup> {
        let mut found = lock(&self.found);
        if let Some(known) = found.get(&number) {
            return Ok(ChunkLookup::Known(*known));
        }
        // A few chunks are as many blocks as their index.
        if found.len() >= Self::MAX_LOOKUPS || self.count() <= Self::MAX_LOOKUPS as u64 {
            return Ok(ChunkLookup::TooMany);
        }
        let chunk = self.index.chunk(number)?.filter(|chunk| chunk.len > 0);
        found.insert(number, chunk);
        Ok(ChunkLookup::Known(chunk))
    }

    fn load(&self) -> Result<Option<LoadedIndex>> {
        if self.count() > self.limits.items {
            return self.load_written();
        }
        let size = self.count().saturating_mul(2 * size_of::<ChunkLocation>() as u64);
        let (Ok(()), Ok(count)) = (self.limits.charge_memory(size, "the index of chunks"), usize::try_from(self.count())) else {
            return Ok(None);
        };
        let (mut chunks, mut masks) = (vec![ChunkLocation { offset: 0, len: 0 }; count], Vec::new());
        self.index.for_each(&mut |number, chunk| {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            if let Some(place) = chunks.get_mut(number) {
                *place = ChunkLocation { offset: chunk.offset, len: chunk.len };
                if chunk.skipped_filters != 0 && masks.is_empty() {
                    masks = vec![0; count];
                }
                if let Some(mask) = masks.get_mut(number) {
                    *mask = chunk.skipped_filters;
                }
            }
            Ok(())
        })?;
        Ok(Some(LoadedIndex::Table(LoadedTable { chunks: Arc::new(chunks), masks: Arc::new(masks) })))
    }

    /// Loads the chunks that were written, of which the file has an entry each.
    fn load_written(&self) -> Result<Option<LoadedIndex>> {
        let mut chunks = HashMap::new();
        self.index.for_each(&mut |number, chunk| {
            self.limits.charge_memory((chunks.len() as u64).saturating_mul(64), "the index of chunks")?;
            chunks.insert(number, chunk);
            Ok(())
        })?;
        Ok(Some(LoadedIndex::Written(chunks)))
    }
}

impl ChunkIndex for CachedIndex {
    fn count(&self) -> u64 {
        self.index.count()
    }

    fn end(&self) -> u64 {
        self.index.end()
    }

    fn chunk(&self, number: u64) -> Result<Option<StoredChunk>> {
        let loaded = match self.loaded.get() {
            Some(known) => known.as_ref(),
            None if self.index.has_computed_places() => None,
            None => match self.look_up(number)? {
                ChunkLookup::Known(chunk) => return Ok(chunk),
                ChunkLookup::TooMany => self.loaded(),
            },
        };
        match loaded {
            Some(LoadedIndex::Table(table)) => table.chunk(number),
            Some(LoadedIndex::Written(chunks)) => Ok(chunks.get(&number).copied().filter(|chunk| chunk.len > 0)),
            None => Ok(self.index.chunk(number)?.filter(|chunk| chunk.len > 0)),
        }
    }

    fn for_each(&self, visit: &mut dyn FnMut(u64, StoredChunk) -> Result<()>) -> Result<()> {
        match self.loaded.get() {
            Some(Some(LoadedIndex::Table(table))) => table.for_each(visit),
            _ => self.index.for_each(visit),
        }
    }
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
    pub(super) fn read_chunk_index(
        &self,
        source: &SourceRef,
        masks: &Arc<Vec<u64>>,
        limits: &Arc<Limits>,
    ) -> Result<Arc<dyn ChunkIndex>> {
        let table = match self {
            Self::Listed(pieces) => {
                return Ok(Arc::new(LoadedTable { chunks: Arc::clone(pieces), masks: Arc::clone(masks) }));
            }
            Self::Indexed(index) => return Ok(Arc::clone(index) as Arc<dyn ChunkIndex>),
            Self::Table(table) => table,
        };
        if let Some(read) = table.read.get() {
            return Ok(Arc::new(read.clone()));
        }
        let mut read = table.read_chunk_table(source, limits)?;
        if table.mask.is_none() {
            read.masks = Arc::clone(masks);
        }
        Ok(Arc::new(table.read.get_or_init(|| read).clone()))
    }
}
