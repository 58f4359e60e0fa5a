//! Writing one file from many processes: space is reserved for arrays, and each process writes regions of them.
//!
//! [`ParallelWriter::create`] lays the file out under a hidden name next to its target. Any process that can reach
//! it, on this machine or on another with the same disk, [opens](ParallelWriter::open) it and [writes
//! regions](ParallelWriter::write_region). [`ParallelWriter::finish`] computes the checksums and puts the file in
//! place of the target, as every writer does, but only if each element was written.
//!
//! Each process notes its written regions next to the file, once their bytes are on the disk. So a process that is
//! killed leaves its region unwritten, however much of it was written, and another one may write it again. Until it
//! is finished the file begins with bytes that no format has, so that no reader takes it for complete.

mod dudley_draft;
mod region_runs;
mod regions;

use std::collections::BTreeMap;
use std::path::Path;

use self::region_runs::ByteRuns;
use self::regions::{Region, count_elements, region_from_indices, uncovered};
use crate::array::{Array, Index};
use crate::asdf::{AsdfBuilder, AsdfFile, Block, checksum, ndarray, reserved_block};
use crate::bytes::{ASDF_DRAFT_HEAD, Draft, TARGET, WindowSource, Writing, has_gzip_name, new_id};
use crate::error::{Error, Result, count_noun};
use crate::file::{FileFormat, check_name};
use crate::limits::Limits;
use crate::tree::Value;
use crate::writer::AsdfWriter;

/// Bytes that are converted and written at once.
const BUFFER_SIZE: usize = 4 << 20;

/// A file that many processes write at once. Readers get an error until it is finished.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("trilith-parallel-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("cube.asdf");
/// use trilith::array::{Array, Byteorder, Datatype};
/// use trilith::{ParallelWriter, AsdfWriter, s};
///
/// let mut writer = AsdfWriter::new();
/// writer.set("/exposure", &139.8)?;
/// writer.reserve("/data", &Datatype::Float32, Byteorder::NATIVE, &[4, 3])?;
/// ParallelWriter::create(&path, writer)?;
///
/// // Each process opens it, by the path of the finished file.
/// for row in 0..4 {
///     let work = ParallelWriter::open(&path)?;
///     work.write_region("/data", s![row], &Array::from_slice(&[row as f32; 3], &[3])?)?;
/// }
/// assert!(trilith::open(&path).is_err(), "it is not there yet");
///
/// ParallelWriter::open(&path)?.finish()?;
/// assert_eq!(trilith::open(&path)?.array("/data")?.slice(s![2])?.load::<f32>()?, [2.0; 3]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug)]
pub struct ParallelWriter {
    draft: Draft,
    /// The identifier of the draft; zeros if nothing is left to write.
    id: [u8; 16],
    arrays: BTreeMap<String, ReservedArray>,
    blocks: Vec<Block>,
    /// The first bytes of the draft of a native Dudley file.
    native: Option<[u8; 8]>,
}

/// An array into which regions are written.
#[derive(Debug)]
struct ReservedArray {
    array: Array,
    /// The number of its block (in a Dudley file, of the array), and where that begins in the file.
    block: usize,
    begin: u64,
}

impl ParallelWriter {
    /// Lays out a file with the arrays for which [`AsdfWriter::reserve`] was called, next to `path`. The others, and the values,
    /// are written at once.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfWriter::write`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if no array is
    /// reserved, or if the file is being written in this way already.
    pub fn create(path: impl AsRef<Path>, writer: AsdfWriter<'_>) -> Result<Self> {
        let (builder, tree) = writer.into_parts();
        Self::create_from(path, builder, tree)
    }

    /// Does the same as [`ParallelWriter::create`], from a tree with nodes of [`AsdfBuilder::reserve`].
    ///
    /// # Errors
    /// Returns the errors of [`ParallelWriter::create`].
    pub fn create_from(path: impl AsRef<Path>, builder: AsdfBuilder<'_>, tree: Value) -> Result<Self> {
        let path = path.as_ref();
        check_draft_name(path, FileFormat::Asdf, "name it .asdf")?;
        let (draft, state) = Draft::create(path, |file| {
            builder.row_layout(std::io::BufWriter::with_capacity(1 << 20, file), tree, new_id())?;
            Ok(ASDF_DRAFT_HEAD.to_vec())
        })?;
        let new = Self::from_draft(draft)?;
        new.draft.open_shared()?.append_log(&new.id(), &[format!("{TARGET} {state}")])?;
        Ok(new)
    }

    /// The file that is being written at `path`, to write regions of it, to finish or to abort it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if none is, or it was finished.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_draft(Draft::for_target(path))
    }

    /// Does the same as [`ParallelWriter::open`], for exactly the file that has this [`id`](ParallelWriter::id).
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if there is none, or another one.
    pub fn open_id(path: impl AsRef<Path>, id: &str) -> Result<Self> {
        let found = Self::open(path)?;
        if found.id() == id { Ok(found) } else { Err(found.is_another()) }
    }

    fn from_draft(draft: Draft) -> Result<Self> {
        let head = draft.head()?;
        if dudley_draft::is_head(&head) {
            return dudley_draft::open_native_writer(draft, head);
        }
        let file = AsdfFile::open(draft.read()?, &Limits::default())?;
        let blocks: Vec<Block> = file.sections().blocks()?.into_iter().filter(|block| block.is_reserved()).cloned().collect();
        let id = blocks.first().and_then(|block| block.checksum.as_deref()?.try_into().ok()).unwrap_or_default();
        let mut arrays = BTreeMap::new();
        let mut walk = file.tree().root().walk(file.limits()).without_merge();
        while let Some(visit) = walk.try_next()? {
            let number = visit.node.get("source").filter(|_| ndarray::is_ndarray(visit.node)).and_then(|source| source.as_i64());
            let Some(block) = number.and_then(|number| blocks.iter().find(|block| i64::try_from(block.index) == Ok(number)))
            else {
                continue;
            };
            let (array, path) = (file.stored_array(visit.node)?, walk.path().to_string());
            arrays.insert(path, ReservedArray { array, block: block.index, begin: block.data_offset });
        }
        Ok(Self { draft, id, arrays, blocks, native: None })
    }

    /// Path of the finished file.
    pub fn path(&self) -> &Path {
        self.draft.target()
    }

    /// Returns the identifier of this file, which no other file at the same path had or will have.
    pub fn id(&self) -> String {
        id_text(&self.id)
    }

    /// The arrays that are reserved, by their paths. Their elements are not read.
    pub fn arrays(&self) -> impl Iterator<Item = (&str, &Array)> {
        self.arrays.iter().map(|(path, reserved)| (path.as_str(), &reserved.array))
    }

    fn find_reserved(&self, path: &str) -> Result<&ReservedArray> {
        self.arrays.get(path).ok_or_else(|| {
            let known: Vec<&str> = self.arrays.keys().map(String::as_str).collect();
            Error::invalid_input(format!("no array is reserved at {path}")).hint(match known.is_empty() {
                true => "all of the file was written: finish it".to_owned(),
                false => format!("reserved are: {}", known.join(", ")),
            })
        })
    }

    /// Writes a region of a reserved array, as [`Array::slice`] takes it. When it returns, the elements are on the disk.
    ///
    /// Several processes and threads may write at once, as long as their regions do not overlap; if they do, each of
    /// their elements is one of those that were written. Whole rows of megabytes go fastest: elements that are apart on
    /// the disk are written one by one.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the shapes differ, for another datatype (byte
    /// orders may differ), for a mask, and if nothing is reserved at the path.
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the file was finished or aborted, or the disk says no.
    pub fn write_region(&self, path: &str, indices: impl AsRef<[Index]>, data: &Array) -> Result<()> {
        let (reserved, indices) = (self.find_reserved(path)?, indices.as_ref());
        let part = reserved.array.slice(indices).map_err(|e| e.at_path(path))?;
        check_region_data(part.shape(), &part, data).map_err(|e| e.at_path(path))?;
        let Some(region) = region_from_indices(reserved.array.shape(), indices)? else { return Ok(()) };
        let mut writing = self.draft.open_shared()?;
        self.check_same_draft(&writing)?;
        write_region_bytes(&mut writing, reserved, &part, data)?;
        writing.append_log(&self.id(), &[region_line(reserved, &region)])
    }

    /// Returns the number of elements of each array that were not written yet, by path.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
    pub fn unwritten(&self) -> Result<BTreeMap<String, u64>> {
        let noted = self.written_regions()?;
        let count = |(path, reserved): (&String, &ReservedArray)| {
            let mut count = 0u64;
            uncovered(reserved.array.shape(), noted.regions_of(reserved), &mut |region| {
                count = count.saturating_add(count_elements(region));
                Ok(())
            })?;
            Ok((path.clone(), count))
        };
        self.arrays.iter().map(count).collect()
    }

    /// Writes this value, an array without axes, into every element of an array that was not written, and returns
    /// their number. No process may be writing.
    ///
    /// # Errors
    /// Returns the errors of [`ParallelWriter::write_region`], and [`ErrorKind::Io`](crate::ErrorKind::Io) while a
    /// process writes.
    pub fn fill(&self, path: &str, value: &Array) -> Result<u64> {
        let reserved = self.find_reserved(path)?;
        check_region_data(&[], &reserved.array, value).map_err(|e| e.at_path(path))?;
        let mut writing = self.draft.open_exclusive()?;
        self.check_same_draft(&writing)?;
        let noted = self.written_regions()?;
        let mut left = Vec::new();
        uncovered(reserved.array.shape(), noted.regions_of(reserved), &mut |region| {
            left.push(region.to_vec());
            Ok(())
        })?;
        for region in &left {
            let part = reserved.array.slice(regions::region_to_indices(region))?;
            write_region_bytes(&mut writing, reserved, &part, &region_runs::broadcast(value, part.shape())?)?;
        }
        if left.is_empty() {
            return Ok(0);
        }
        let notes: Vec<String> = left.iter().map(|region| region_line(reserved, region)).collect();
        writing.append_log(&self.id(), &notes)?;
        Ok(left.iter().fold(0, |n, region| n.saturating_add(count_elements(region))))
    }

    /// Computes the checksums, and puts the file in place of the one at its path. Returns the properties of that
    /// file which could not be kept, such as its group.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if elements were not written, with their number.
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) while a process writes, and if the file at the path is
    /// another than when this one was begun. Also returns the errors of
    /// [`AtomicFile::commit`](crate::bytes::AtomicFile). Everything is then unchanged.
    pub fn finish(&self) -> Result<Vec<String>> {
        let mut writing = self.draft.open_exclusive()?;
        self.check_same_draft(&writing)?;
        self.check_laid_out()?;
        for (path, count) in self.unwritten()? {
            if count > 0 {
                return Err(Error::invalid_input(format!(
                    "{} never written: {} is not finished",
                    count_noun(count, "element"),
                    self.path().display()
                ))
                .hint("write these regions, fill them, or abort")
                .at_path(path));
            }
        }
        // The target is compared before anything is changed, and again when it is locked.
        self.draft.check_target()?;
        self.write_checksums(&mut writing)?;
        writing.publish()
    }

    /// Gives the blocks their checksums. After a crash some of them may be done already.
    fn write_checksums(&self, writing: &mut Writing) -> Result<()> {
        let source = self.draft.read()?;
        for sealed in &self.blocks {
            let data = WindowSource::new(source.clone(), sealed.data_offset, sealed.used)?;
            let (at, fields) = reserved_block::sealed_fields(sealed, &checksum::md5_of(&data)?);
            writing.write_at(at, &fields)?;
        }
        Ok(())
    }

    /// Removes the unfinished file. A file at the target path stays.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
    pub fn abort(&self) -> Result<()> {
        if let Ok(writing) = self.draft.open_shared() {
            self.check_same_draft(&writing)?;
        }
        self.draft.remove()
    }

    /// Checks that the draft is still the one that was opened.
    fn check_same_draft(&self, writing: &Writing) -> Result<()> {
        if let Some(head) = &self.native {
            let mut found = [0; 8];
            writing.read_at(0, &mut found)?;
            return if found == *head { Ok(()) } else { Err(self.is_another()) };
        }
        for block in &self.blocks {
            let (at, expected) = reserved_block::unsealed_fields(block);
            let mut found = vec![0; expected.len()];
            writing.read_at(at, &mut found)?;
            if found != expected {
                return Err(self.is_another());
            }
        }
        Ok(())
    }

    #[cold]
    fn is_another(&self) -> Error {
        Error::new(crate::ErrorKind::Io, format!("cannot write to {}: the file was begun again", self.path().display()))
            .hint("open it again")
    }

    /// Returns the regions of each array that were written.
    fn written_regions(&self) -> Result<WrittenRegions> {
        let mut noted = WrittenRegions::default();
        for line in self.draft.read_log(&self.id())? {
            let Some((number, text)) = line.split_once(' ').or(Some((line.as_str(), ""))) else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            let Some(reserved) = self.arrays.values().find(|reserved| reserved.block == number) else { continue };
            if let Some(region) = regions::parse_region(reserved.array.shape(), text) {
                noted.0.entry(number).or_default().push(region);
            }
        }
        Ok(noted)
    }
}

/// Refuses a name that promises another format than what is written, and one of a gzip file, whose parts cannot be written in any order.
fn check_draft_name(path: &Path, written: FileFormat, hint: &str) -> Result<()> {
    if has_gzip_name(path) {
        return Err(Error::unsupported("a gzip file cannot be written in parallel").hint(hint));
    }
    check_name(&path.to_string_lossy(), written, hint)
}

/// A number of a draft as text.
fn id_text(id: &[u8; 16]) -> String {
    id.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// The written regions, by the number of the block.
#[derive(Default)]
struct WrittenRegions(BTreeMap<usize, Vec<Region>>);

impl WrittenRegions {
    fn regions_of(&self, reserved: &ReservedArray) -> &[Region] {
        self.0.get(&reserved.block).map_or(&[], Vec::as_slice)
    }
}

fn region_line(reserved: &ReservedArray, region: &[regions::AxisSteps]) -> String {
    format!("{} {}", reserved.block, regions::print_region(region))
}

/// Checks that data can be written into a region of this shape.
fn check_region_data(shape: &[u64], array: &Array, data: &Array) -> Result<()> {
    if data.shape() != shape {
        return Err(Error::invalid_input(format!("data of shape {:?} for a region of shape {shape:?}", data.shape())));
    }
    let order = array.byteorder();
    if data.datatype().packed(order) != array.datatype().packed(order) {
        return Err(Error::invalid_input(format!("data of {} for an array of {}", data.datatype(), array.datatype()))
            .hint("convert them first: you decide what may be lost"));
    }
    data.check_unmasked("a region that is written")
}

/// Writes data to where a part of an array is.
fn write_region_bytes(writing: &mut Writing, reserved: &ReservedArray, part: &Array, data: &Array) -> Result<()> {
    let mut runs = ByteRuns::new(part, reserved.begin);
    data.for_each_piece_in(part.byteorder(), BUFFER_SIZE, &mut |bytes| {
        runs.for_each_run(bytes, |at, bytes| writing.write_at(at, bytes))
    })
}

#[cfg(test)]
mod tests;
