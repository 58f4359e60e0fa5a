//! One item of a whole family of files, read as one array.

use std::ops::Range;
use std::sync::Arc;

use super::datatype::datatype_of;
use super::family::{Catalog, Place};
use super::inflate::Form;
use super::joined::{Joined, Piece, Stored, ranges, uri_of};
use crate::array::{Array, Datatype, Mask};
use crate::bytes::Resolve;
use crate::error::{Error, Result, Setting};
use crate::layout::{Layout, Located, Options};

/// A file of a family that is masked in an array of all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Omission {
    /// Number of the file in the catalog, counted from 0.
    pub row: usize,
    /// The file, as the catalog names it.
    pub file: String,
    /// `true` if it is not there; otherwise it omits the item.
    pub is_missing: bool,
}

impl Catalog {
    /// One item of the files `rows` of a family as one array: its first axis counts the files, the others
    /// are those of the item. Nothing is opened until elements are read, and then only the files that
    /// hold them; `resolve` opens a file by the name that the catalog has for it.
    ///
    /// A file that omits the item (it has none, or one without elements if others have some) or is not
    /// there is masked, its numbers of floating point are NaN; [`Catalog::omitted`] names these files.
    ///
    /// ```
    /// # use std::{io::Cursor, sync::Arc};
    /// use trilith::array::Array;
    /// use trilith::dudley::{Catalog, Draft, DudleyFile};
    /// use trilith::layout::{Byteorder, Layout, Options};
    /// use trilith::{Limits, bytes::{NoReferences, MemorySource}};
    /// // A catalog of two files that have 3 and 3 cells.
    /// let catalog = Draft::dict([
    ///     ("files", Draft::data(Array::from_texts(&["a.bd", "b.bd"], &[2])?)),
    ///     ("records", Draft::data(Array::from_slice(&[3i64, 3], &[2, 1])?)),
    /// ]);
    /// let mut out = Cursor::new(Vec::new());
    /// catalog.write(Byteorder::Little, &Limits::default(), &mut out)?;
    /// let stream = DudleyFile::open(Arc::new(MemorySource::new(out.into_inner(), "c.bd")), None, &Limits::default())?;
    /// let template = Layout::read(b"{ N : i8 }  rho = f8[N]")?;
    /// let mut options = Options::default();
    /// (options.native, options.order) = (true, Some(Byteorder::Little));
    /// let rho = Catalog::read(&stream)?.array_at(&template, "/rho", &[0..2], &options, Arc::new(NoReferences))?;
    /// assert_eq!(rho.shape(), [2, 3]);
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::locate`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if none of
    /// these files has the item, or if its form differs between them. Reading fails if a file
    /// cannot be opened, is too short, or is not in the byte order that `options` say.
    pub fn array_at(
        &self,
        template: &Layout,
        item: &str,
        rows: &[Range<usize>],
        options: &Options,
        resolve: Arc<dyn Resolve>,
    ) -> Result<Array> {
        if let Some(array) = self.summarized(template, item, rows, options)? {
            return Ok(array);
        }
        let Chosen { found, pieces, whole, .. } = self.choose(template, item, rows, options, &*resolve)?;
        let mut shape = found.shape.clone();
        let (datatype, order) = datatype_of(&found.typed, &mut shape)?;
        let strides = found.strides.get(..shape.len()).unwrap_or(&[]);
        let count = pieces.len() as u64;
        let too_large = || Error::malformed(format!("E406: {item} of {count} files is too large"));
        let span = extent(&datatype, &shape, strides).ok_or_else(too_large)?;
        let mut all_strides = Vec::new();
        for stride in std::iter::once(&span).chain(strides) {
            all_strides.push(i64::try_from(*stride).map_err(|_| too_large())?);
        }
        let mask = mask_of(&pieces, shape.len())?;
        let is_number = datatype.is_float() || datatype.is_complex();
        let joined = Joined {
            name: format!("{item} of {count} files"),
            len: span.checked_mul(count).ok_or_else(too_large)?,
            files: self.shared_files(),
            known: self.known(template, options)?,
            pieces,
            span,
            // All bits set are NaN in every format and order.
            blank: if is_number { 0xff } else { 0 },
            filter: template.filter_of(found.item).filter(|filter| filter.compresses).cloned(),
            whole,
            native: options.native,
            order: if template.order().is_none() { options.order } else { None },
            limits: options.limits.clone(),
            resolve,
            open: std::sync::Mutex::default(),
        };
        shape.insert(0, count);
        let array = Array::strided(Arc::new(joined), 0, datatype, order, shape, all_strides)?;
        let array = match mask {
            Some(mask) => array.with_mask(Mask::Array(Arc::new(mask)))?,
            None => array,
        };
        Ok(array.with_limits(Arc::new(options.limits.clone())))
    }

    /// The files that [`Catalog::array_at`] masks for the same arguments.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn omitted(
        &self,
        template: &Layout,
        item: &str,
        rows: &[Range<usize>],
        options: &Options,
        resolve: &dyn Resolve,
    ) -> Result<Vec<Omission>> {
        Ok(self.choose(template, item, rows, options, resolve)?.omitted)
    }

    /// Returns the place of the item in each of these files, and the files that omit it.
    fn choose(
        &self,
        template: &Layout,
        item: &str,
        rows: &[Range<usize>],
        options: &Options,
        resolve: &dyn Resolve,
    ) -> Result<Chosen> {
        let count = rows.iter().fold(0u64, |sum, rows| sum.saturating_add(rows.len() as u64));
        options.limits.charge_memory(count.saturating_mul(56), "the places of an item in a family")?;
        let mut forms = Forms::default();
        let (mut pieces, mut empty, mut whole) = (Vec::new(), Vec::new(), None);
        self.locate_rows(template, item, rows, options, &mut |row, place| {
            let Place { file, offset, found, compressed } = place;
            let inside = match (&compressed, found.as_ref().and_then(|found| found.address)) {
                (Some(entry), Some(address)) => address.saturating_sub(entry.address.unwrap_or(address)),
                _ => 0,
            };
            let stored = compressed.as_ref().and_then(|entry| entry.nbytes);
            let stored = Stored { offset: offset.map(|at| at.saturating_sub(inside)), inside, stored };
            let has_elements = found.as_ref().map(|found| !found.shape.contains(&0));
            pieces.push(Piece { row, stored: has_elements.map(|_| stored) });
            match has_elements {
                Some(true) => whole = compressed.as_ref().map(Form::of).transpose()?.or(whole.take()),
                Some(false) => empty.push(pieces.len() - 1),
                None => {}
            }
            forms.admit(item, row, file, found);
            Ok(())
        })?;
        let (found, is_empty) = forms.settle(item)?;
        for at in empty.into_iter().filter(|_| !is_empty) {
            pieces.get_mut(at).into_iter().for_each(|piece| piece.stored = None);
        }
        let is_gone = |row: usize| self.files().get(row).is_some_and(|file| resolve.is_missing(&uri_of(file)));
        let gone: Vec<bool> = pieces.iter().map(|piece| piece.stored.is_some() && !is_empty && is_gone(piece.row)).collect();
        let is_left = pieces.iter().zip(&gone).any(|(piece, gone)| piece.stored.is_some() && !gone);
        let mut omitted = Vec::new();
        for (piece, gone) in pieces.iter_mut().zip(gone) {
            // If no file is left, reading gives the reason.
            if gone && is_left {
                piece.stored = None;
            }
            if piece.stored.is_none() {
                let file = self.files().get(piece.row).cloned().unwrap_or_default();
                omitted.push(Omission { row: piece.row, file, is_missing: gone });
            }
        }
        Ok(Chosen { found, pieces, whole, omitted })
    }
}

/// An item in the files that were chosen.
struct Chosen {
    /// Its form in those that have it.
    found: Located,
    pieces: Vec<Piece>,
    whole: Option<Form>,
    omitted: Vec<Omission>,
}

/// The forms in which files have an item.
#[derive(Default)]
struct Forms {
    /// The files in which it has elements, and those in which it has none.
    full: Group,
    empty: Group,
    /// Those that can be read together with the first that has elements, which omit the item or have it as that one.
    together: Vec<usize>,
}

/// The form of an item in some files.
#[derive(Default)]
struct Group {
    /// The first of them, and the item there.
    first: Option<(String, Located)>,
    /// The reason why another file differs.
    unlike: Option<Error>,
}

impl Forms {
    /// Takes the item of one more file.
    fn admit(&mut self, item: &str, row: usize, file: &str, found: Option<Located>) {
        let Some(found) = found else {
            self.together.push(row);
            return;
        };
        let is_empty = found.shape.contains(&0);
        let form = if is_empty { &mut self.empty } else { &mut self.full };
        let alike = match &form.first {
            Some((name, known)) => same_form(item, (name, known), (file, &found)),
            None => {
                form.first = Some((file.to_owned(), found));
                Ok(())
            }
        };
        if is_empty || alike.is_ok() {
            self.together.push(row);
        }
        if let Err(error) = alike {
            form.unlike = form.unlike.take().or(Some(error));
        }
    }

    /// The common form of the item, and whether it has no elements.
    fn settle(self, item: &str) -> Result<(Located, bool)> {
        let is_empty = self.full.first.is_none();
        let form = if is_empty { self.empty } else { self.full };
        match (form.first, form.unlike) {
            (Some(_), Some(error)) if is_empty => Err(error),
            (Some(_), Some(error)) => Err(error.setting("some are alike", Setting::Files(ranges(self.together)))),
            (Some((_, found)), None) => Ok((found, is_empty)),
            (None, _) => Err(Error::invalid_input(format!("none of the chosen files has an item {item}")).at_path(item)),
        }
    }
}

/// A mask of the pieces that are not stored, for items with this number of axes; None if all are.
fn mask_of(pieces: &[Piece], axes: usize) -> Result<Option<Array>> {
    if pieces.iter().all(|piece| piece.stored.is_some()) {
        return Ok(None);
    }
    let truths: Vec<bool> = pieces.iter().map(|piece| piece.stored.is_none()).collect();
    let shape: Vec<u64> = std::iter::once(truths.len() as u64).chain(std::iter::repeat_n(1, axes)).collect();
    Array::from_slice(&truths, &shape).map(Some)
}

/// Refuses files in which the item is not of the same form.
fn same_form(item: &str, (name, known): (&str, &Located), (file, found): (&str, &Located)) -> Result<()> {
    if known.shape != found.shape {
        let message = format!("{item} has the shape {:?} in {name} and {:?} in {file}", known.shape, found.shape);
        return Err(Error::invalid_input(message));
    }
    if known.typed != found.typed || known.strides != found.strides {
        return Err(Error::invalid_input(format!("{item} is not stored alike in {name} and {file}")));
    }
    Ok(())
}

/// Returns the number of bytes from the first element to the end of the last.
pub(super) fn extent(datatype: &Datatype, shape: &[u64], strides: &[u64]) -> Option<u64> {
    let mut span = datatype.item_size();
    for (dim, stride) in shape.iter().zip(strides) {
        match dim.checked_sub(1) {
            None => return Some(0),
            Some(more) => span = span.checked_add(more.checked_mul(*stride)?)?,
        }
    }
    Some(span)
}
