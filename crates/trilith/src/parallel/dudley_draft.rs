//! The draft of a native Dudley file.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use super::{ParallelWriter, ReservedArray, check_draft_name};
use crate::array::Byteorder;
use crate::bytes::{AtomicFile, Draft, TARGET, new_id, stream_draft, stream_id};
use crate::dudley::{self, DudleyFile, LayoutStorage, LayoutValues, Signature};
use crate::error::{Error, ErrorKind, Result};
use crate::file::FileFormat;
use crate::layout::{Dialect, Layout, StorageOptions};
use crate::limits::Limits;

/// Begins the notes of the paths of reserved arrays.
const ARRAY_NOTE_PREFIX: &str = "array ";

type DraftWriter<'f> = BufWriter<&'f mut AtomicFile>;

impl ParallelWriter {
    /// Lays out a native Dudley file under a layout, next to `path`. The arrays of `filling` that are
    /// [`reserved`](crate::dudley::reserved) get their space. The others, and the parameters, are written at once.
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join(format!("trilith-blocks-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let path = folder.join("run.bd");
    /// use trilith::array::{Array, Byteorder, Datatype};
    /// use trilith::dudley::{LayoutValues, reserved};
    /// use trilith::{ParallelWriter, layout::Layout, s};
    ///
    /// let layout = Layout::read(b"{ nx : i8  ny : i8 }  rho = f4[ny, nx]")?;
    /// let mut filling = LayoutValues::default();
    /// filling.params.extend([("nx".to_owned(), 3), ("ny".to_owned(), 4)]);
    /// filling.data.push(("rho".to_owned(), reserved(Datatype::Float32, Byteorder::NATIVE, vec![4, 3])?));
    /// ParallelWriter::create_under(&path, &layout, &filling, Byteorder::Little)?;
    ///
    /// // Each process writes the block of its domain.
    /// for rows in [0, 2] {
    ///     let block = Array::from_slice(&[rows as f32; 6], &[2, 3])?;
    ///     ParallelWriter::open(&path)?.write_region("/rho", s![rows..rows + 2], &block)?;
    /// }
    /// ParallelWriter::open(&path)?.finish()?;
    /// assert_eq!(trilith::open(&path)?.array("/rho")?.slice(s![2])?.load::<f32>()?, [2.0; 3]);
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`LayoutValues::write`], and [`ErrorKind::InvalidInput`] if no array is reserved, or if the file is
    /// being written in this way already.
    pub fn create_under(path: impl AsRef<Path>, layout: &Layout, filling: &LayoutValues, order: Byteorder) -> Result<Self> {
        let limits = Limits::default();
        create_native_writer(path.as_ref(), order, |out| {
            filling.write_reserving(layout, order, LayoutStorage::Embedded, &limits, out)
        })
    }

    /// Does the same as [`ParallelWriter::create_under`], with the layout that the items of a draft need.
    ///
    /// # Errors
    /// Returns the errors of [`ParallelWriter::create_under`].
    #[doc(hidden)]
    pub fn create_draft(path: impl AsRef<Path>, draft: &dudley::Draft, dialect: Dialect, order: Byteorder) -> Result<Self> {
        let limits = Limits::default();
        create_native_writer(path.as_ref(), order, |out| {
            draft.write_reserving(dialect, &StorageOptions::default(), order, &limits, out)
        })
    }

    /// Fails if the process that began a native Dudley file ended before it noted which arrays are reserved.
    pub(super) fn check_laid_out(&self) -> Result<()> {
        let is_draft = self.native.is_some_and(|head| stream_id(&head).is_some());
        if is_draft && self.arrays.is_empty() {
            let message = format!("cannot finish {}: the process that began it ended too early", self.path().display());
            return Err(Error::invalid_input(message).hint("abort it, and begin it again"));
        }
        Ok(())
    }
}

fn create_native_writer(
    path: &Path,
    order: Byteorder,
    lay_out: impl FnOnce(&mut DraftWriter<'_>) -> Result<(u64, Vec<String>)>,
) -> Result<ParallelWriter> {
    check_draft_name(path, FileFormat::Dudley, "name it .bd")?;
    let (id, mut reserved) = (new_id(), Vec::new());
    let (draft, state) = Draft::create(path, |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        (_, reserved) = lay_out(&mut out)?;
        out.flush().map_err(|e| Error::io("writing", e))?;
        match reserved.iter().find(|path| path.contains(['\n', '\r'])) {
            _ if reserved.is_empty() => Err(Error::invalid_input("no array of the file is reserved").hint("write it at once")),
            Some(path) => Err(Error::unsupported(format!("cannot reserve {path:?}: its name has a line break"))),
            None => Ok(stream_draft(order.sign() as u8, &id).to_vec()),
        }
    })?;
    let head = draft.head()?;
    let number = stream_id(&head).unwrap_or_default();
    let notes = [format!("{TARGET} {state}")].into_iter().chain(reserved.iter().map(|path| format!("{ARRAY_NOTE_PREFIX}{path}")));
    draft.open_shared()?.append_log(&super::id_text(&number), &notes.collect::<Vec<_>>())?;
    open_native_writer(draft, head)
}

/// Returns `true` for the first bytes of a native Dudley file, finished or not.
pub(super) fn is_head(head: &[u8; 8]) -> bool {
    stream_id(head).is_some() || Signature::is_at(head)
}

/// Opens a draft with these first bytes.
pub(super) fn open_native_writer(draft: Draft, head: [u8; 8]) -> Result<ParallelWriter> {
    let id = stream_id(&head);
    let file = DudleyFile::open(draft.read()?, None, &Limits::default())?;
    let items = file.locate_items()?;
    let notes = match &id {
        Some(id) => draft.read_log(&super::id_text(id))?,
        // A draft without an id is complete: a crash interrupted only the last steps.
        None => Vec::new(),
    };
    let mut arrays = BTreeMap::new();
    for (number, path) in notes.iter().filter_map(|note| note.strip_prefix(ARRAY_NOTE_PREFIX)).enumerate() {
        let array = file.stored_array_of(&items.entry(path)?)?;
        let is_packed = array.datatype().as_struct().is_none() || *array.datatype() == array.datatype().packed(array.byteorder());
        let is_plain = is_packed && Arc::ptr_eq(array.source(), file.source());
        if !is_plain {
            let message =
                format!("regions of {path} cannot be written: its structs have gaps, or another byte order than this machine");
            return Err(Error::new(ErrorKind::Unsupported, message).hint("give their members an alignment of 1 (`%1`)"));
        }
        arrays.insert(path.to_owned(), ReservedArray { array, block: number, begin: 0 });
    }
    drop(items);
    Ok(ParallelWriter { draft, id: id.unwrap_or_default(), arrays, blocks: Vec::new(), native: Some(head) })
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test lays out separate files")]
mod tests {
    use super::*;
    use crate::array::{Array, Datatype, Index};

    fn layout() -> Layout {
        Layout::read(b"{ nx : i8  ny : i4  time = f8 }\nx = f4[nx]\nrho = f8[ny, nx]\nl [ i2[2] , i2[2] ]\nz = c8[ny] %16\n")
            .unwrap()
    }

    /// Space for all arrays but `x`.
    fn filling(nx: i64, ny: i64) -> LayoutValues {
        let (x, y) = (nx as u64, ny as u64);
        let space = |datatype, shape: Vec<u64>| dudley::reserved(datatype, Byteorder::Little, shape).unwrap();
        let mut filling = LayoutValues::default();
        filling.params.extend([("nx".to_owned(), nx), ("ny".to_owned(), ny)]);
        let numbers: Vec<f32> = (0..nx).map(|n| n as f32).collect();
        filling.data.extend([
            ("time".to_owned(), Array::from_slice(&[2.5f64], &[]).unwrap()),
            ("x".to_owned(), Array::from_slice(&numbers, &[x]).unwrap()),
            ("rho".to_owned(), space(Datatype::Float64, vec![y, x])),
            ("l".to_owned(), space(Datatype::Int16, vec![2, 2])),
            ("z".to_owned(), space(Datatype::Complex64, vec![y])),
        ]);
        filling
    }

    #[test]
    fn blocks_from_several_writers_fill_one_array() {
        let folder = tempfile::tempdir().unwrap();
        for order in [Byteorder::Little, Byteorder::Big] {
            let path = folder.path().join(format!("{}.bd", order.name()));
            let begun = ParallelWriter::create_under(&path, &layout(), &filling(5, 4), order).unwrap();
            let names: Vec<&str> = begun.arrays().map(|(name, _)| name).collect();
            assert_eq!(names, ["/l[0]", "/l[1]", "/rho", "/z"]);
            assert_eq!(begun.unwritten().unwrap().get("/rho"), Some(&20));
            // Readers take neither the file nor the draft for complete.
            let error = crate::open(&path).unwrap_err().to_string();
            assert!(error.contains("other processes are writing it"), "{error}");
            let draft = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
            let draft = draft
                .filter(|path| path.to_string_lossy().ends_with("unfinished"))
                .find(|draft| draft.to_string_lossy().contains(order.name()));
            let error = crate::open(draft.unwrap()).unwrap_err();
            assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("unfinished"), "{error}");
            // Four blocks of two processes, in any order.
            for (rows, columns) in [(2..4, 3..5), (0..2, 0..3), (2..4, 0..3), (0..2, 3..5)] {
                let other = ParallelWriter::open_id(&path, &begun.id()).unwrap();
                let numbers: Vec<f64> = rows
                    .clone()
                    .flat_map(|row: i64| columns.clone().map(move |column: i64| (10 * row + column) as f64))
                    .collect();
                let shape = [(rows.end - rows.start) as u64, (columns.end - columns.start) as u64];
                let block = Array::from_slice(&numbers, &shape).unwrap();
                other.write_region("/rho", [Index::from(rows), Index::from(columns)], &block).unwrap();
            }
            let error = begun.finish().unwrap_err().to_string();
            assert!(error.contains("never written"), "{error}");
            for (at, name) in ["/l[0]", "/l[1]"].iter().enumerate() {
                begun.write_region(name, [], &Array::from_slice(&[at as i16, 7], &[2]).unwrap()).unwrap();
            }
            begun.fill("/z", &Array::from_bytes(vec![0; 8], Datatype::Complex64, order, Vec::new()).unwrap()).unwrap();
            ParallelWriter::open(&path).unwrap().finish().unwrap();
            let file = crate::open(&path).unwrap();
            let expected: Vec<f64> = (0..4).flat_map(|row| (0..5).map(move |column| f64::from(10 * row + column))).collect();
            assert_eq!(file.array("/rho").unwrap().load::<f64>().unwrap(), expected);
            assert_eq!(file.array("/x").unwrap().load::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0]);
            assert_eq!(file.array("/l").unwrap().load::<i16>().unwrap(), [0, 7, 1, 7]);
            assert_eq!(file.array("/time").unwrap().load::<f64>().unwrap(), [2.5]);
            // The file is equal to one that a single writer writes with all elements.
            let mut whole = filling(5, 4);
            whole.data.iter_mut().for_each(|(name, array)| *array = file.array(&format!("/{name}")).unwrap());
            let mut out = std::io::Cursor::new(Vec::new());
            whole.write(&layout(), order, LayoutStorage::Embedded, &Limits::default(), &mut out).unwrap();
            assert!(out.into_inner() == std::fs::read(&path).unwrap());
            assert_eq!(
                std::fs::read_dir(folder.path()).unwrap().filter(|entry| entry.as_ref().unwrap().path() == path).count(),
                1
            );
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_cannot_be_written_in_regions_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.bd");
        let begin = |text: &str, datatype: Datatype, shape: Vec<u64>| {
            let mut filling = LayoutValues::default();
            filling.data.push(("x".to_owned(), dudley::reserved(datatype, Byteorder::Little, shape).unwrap()));
            ParallelWriter::create_under(&path, &Layout::read(text.as_bytes()).unwrap(), &filling, Byteorder::Little)
                .map(|begun| begun.abort().unwrap())
                .map_err(|error| error.to_string())
        };
        assert_eq!(begin("x = f8[3]", Datatype::Float64, vec![3]), Ok(()));
        let text = |made: std::result::Result<(), String>| made.unwrap_err();
        assert!(text(begin("x = f8[4]", Datatype::Float64, vec![3])).contains("the layout has float64 [4]"));
        assert!(text(begin("x: f8(3) -> gzip", Datatype::Float64, vec![3])).contains("compressed array cannot be reserved"));
        assert!(text(begin("\"\" = { x = f8 }[3]", Datatype::Float64, vec![3])).contains("a part of the structs"));
        // A file without reserved arrays needs no parallel writer, and other writers refuse reserved space.
        let layout = Layout::read(b"x = f8[1]").unwrap();
        let mut filling = LayoutValues::default();
        filling.data.push(("x".to_owned(), Array::from_slice(&[1.0f64], &[1]).unwrap()));
        let error = ParallelWriter::create_under(&path, &layout, &filling, Byteorder::Little).unwrap_err().to_string();
        assert!(error.contains("no array of the file is reserved"), "{error}");
        filling.data[0].1 = dudley::reserved(Datatype::Float64, Byteorder::Little, vec![1]).unwrap();
        let mut out = std::io::Cursor::new(Vec::new());
        let (order, storage) = (Byteorder::Little, LayoutStorage::Embedded);
        let error = filling.write(&layout, order, storage, &Limits::default(), &mut out).unwrap_err().to_string();
        assert!(error.contains("only space"), "{error}");
        let error = ParallelWriter::create_under(folder.path().join("x.asdf"), &layout, &filling, Byteorder::Little).unwrap_err();
        assert!(error.to_string().contains("extension"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
