//! An item of a file set, read as one array.

use std::ops::Range;
use std::sync::Arc;

use super::arrangement::{Arranged, along, padded, stacked};
use super::catalog::{Catalog, Place};
use super::datatype::datatype_of;
use super::decompress::Form;
use super::file_set_source::{Joined, Piece, Stored, Turn, uri_of};
use super::item_request::Wanted;
use super::item_shapes::{Forms, How};
use super::parameters::Known;
use super::selection::{Selection, Unequal};
use crate::array::{Array, Index, Mask};
use crate::bytes::Resolve;
use crate::error::{Error, Result, counted};
use crate::layout::{Byteorder, Layout, Located, Options, PrimitiveKind};

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

impl Omission {
    /// Returns warnings for the files that omit an item, and for those that are missing.
    pub fn warnings(item: &str, omitted: &[Self]) -> Vec<String> {
        /// Maximum number of files that are named.
        const SHOWN: usize = 5;
        let of = |is_missing: bool| {
            let files: Vec<&str> =
                omitted.iter().filter(|one| one.is_missing == is_missing).map(|one| one.file.as_str()).collect();
            let what = match (is_missing, files.len()) {
                (_, 0) => return None,
                (true, 1) => "is not there and is masked".to_owned(),
                (true, _) => "are not there and are masked".to_owned(),
                (false, 1) => format!("omits {item} and is masked"),
                (false, _) => format!("omit {item} and are masked"),
            };
            let more = if files.len() > SHOWN { ", …" } else { "" };
            let names = files.get(..SHOWN).unwrap_or(&files).join(", ");
            Some(format!("{} {what}: {names}{more}", counted(files.len(), "file")))
        };
        [of(false), of(true)].into_iter().flatten().collect()
    }
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
    /// use trilith_array::array::Array;
    /// use trilith_layout::dudley::{Catalog, Draft, DudleyFile};
    /// use trilith_layout::layout::{Byteorder, Layout, Options};
    /// use trilith_io::bytes::{NoReferences, MemorySource};
    /// use trilith_layout::Limits;
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
    /// # Ok::<(), trilith_layout::Error>(())
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
        self.array_as(Wanted { template, item, rows, options }, &Selection::default(), resolve)
    }

    /// Does the same as [`Catalog::array_at`], for an item whose shape may differ between the files.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn array_as(&self, of: Wanted<'_>, form: &Selection, resolve: Arc<dyn Resolve>) -> Result<Array> {
        if let Some(array) = self.summarized(of)? {
            return Ok(array);
        }
        let chosen = self.choose(of, How::of(of.template, of.item, form), &*resolve)?;
        Set { catalog: self, of, known: Arc::new(self.known(of.template, of.options)?), resolve }.array(chosen)
    }

    /// One array for each of these files, None for a file that omits the item; None if the item has one shape in all of them.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn each_of(&self, of: Wanted<'_>, resolve: Arc<dyn Resolve>) -> Result<Option<Vec<Option<Array>>>> {
        let chosen = self.choose(of, How::Ragged, &*resolve)?;
        if !chosen.is_ragged() {
            return Ok(None);
        }
        if is_compressed(of.template, &chosen.found) {
            return Err(unlike_compressed(of.item));
        }
        let set = Set { catalog: self, of, known: Arc::new(self.known(of.template, of.options)?), resolve };
        let Chosen { found, pieces, whole, shapes, .. } = chosen;
        let one = |(piece, shape): (Piece, Vec<u64>)| {
            if piece.stored.is_none() {
                return Ok(None);
            }
            let strides = found.contiguous(&shape);
            let found = Located { shape: shape.clone(), strides, ..found.clone() };
            let chosen = Chosen {
                found,
                pieces: vec![piece],
                whole: whole.clone(),
                omitted: Vec::new(),
                shapes: vec![shape],
                how: How::Same,
            };
            set.array(chosen)?.slice([Index::At(0)]).map(Some)
        };
        pieces.into_iter().zip(shapes).map(one).collect::<Result<Vec<_>>>().map(Some)
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
        self.omitted_as(Wanted { template, item, rows, options }, &Selection::default(), resolve)
    }

    /// Does the same as [`Catalog::omitted`], for the arguments of [`Catalog::array_as`].
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn omitted_as(&self, of: Wanted<'_>, form: &Selection, resolve: &dyn Resolve) -> Result<Vec<Omission>> {
        let how = if form.unequal == Unequal::Each { How::Ragged } else { How::of(of.template, of.item, form) };
        Ok(self.choose(of, how, resolve)?.omitted)
    }

    /// Returns the place of the item in each of these files, and the files that omit it.
    fn choose(&self, of: Wanted<'_>, how: How, resolve: &dyn Resolve) -> Result<Chosen> {
        let Wanted { template, item, rows, options } = of;
        let count = rows.iter().fold(0u64, |sum, rows| sum.saturating_add(rows.len() as u64));
        options.limits.charge_memory(count.saturating_mul(56), "the places of an item in a family")?;
        let mut forms = Forms::of(how);
        let (mut pieces, mut empty, mut whole, mut shapes) = (Vec::new(), Vec::new(), None, Vec::new());
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
            if how != How::Same {
                shapes.push(found.as_ref().map(|found| found.shape.clone()).unwrap_or_default());
            }
            forms.admit(item, row, file, found);
            Ok(())
        })?;
        let (found, is_empty) = forms.settle(item)?;
        // Strings without letters are in no array of longer ones.
        let is_text = found.typed.primitive().is_some_and(|primitive| primitive.is_text());
        let has_own_shape = |shape: &Vec<u64>| shape.len() == found.shape.len() && !(is_text && shape.last() == Some(&0));
        for at in empty.into_iter().filter(|at| !is_empty && !shapes.get(*at).is_some_and(has_own_shape)) {
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
        Ok(Chosen { found, pieces, whole, omitted, shapes, how })
    }
}

/// An item in the files that were chosen.
struct Chosen {
    /// Form of the item in the files that have it.
    found: Located,
    pieces: Vec<Piece>,
    whole: Option<Form>,
    omitted: Vec<Omission>,
    /// The shape in each file, empty in one that omits the item. None are collected if they have to be the same.
    shapes: Vec<Vec<u64>>,
    how: How,
}

impl Chosen {
    /// Returns `true` if the item has several shapes in the files that have it.
    fn is_ragged(&self) -> bool {
        let there = self.pieces.iter().zip(&self.shapes).filter(|(piece, shape)| piece.stored.is_some() || !shape.contains(&0));
        let mut stored = there.map(|(_, shape)| shape).filter(|shape| shape.len() == self.found.shape.len());
        let first = stored.next();
        stored.any(|shape| Some(shape) != first)
    }
}

/// The context in which arrays of a set are made.
struct Set<'a> {
    catalog: &'a Catalog,
    of: Wanted<'a>,
    known: Arc<Known>,
    resolve: Arc<dyn Resolve>,
}

impl Set<'_> {
    /// Returns the difference that the order of a file makes to the item, which is at this place in one of them.
    fn turn(&self, row: Option<usize>, found: &Located) -> Result<Turn> {
        let Wanted { template, item, options, .. } = self.of;
        let (Some(row), Some(order), true) = (row, options.order, options.native) else { return Ok(Turn::Fixed) };
        let other = if order == Byteorder::Little { Byteorder::Big } else { Byteorder::Little };
        let options = Options { order: Some(other), ..options.clone() };
        let mut is_same = false;
        self.catalog.locate_rows(template, item, &[row..row + 1], &options, &mut |_, place| {
            is_same = place.found.is_some_and(|there| there.typed == found.typed);
            Ok(())
        })?;
        if is_same {
            return Ok(Turn::Fixed);
        }
        let Some(primitive) = found.typed.primitive().filter(|_| !is_compressed(template, found)) else {
            return Ok(Turn::Refused);
        };
        let word = if primitive.kind() == PrimitiveKind::Complex { primitive.size() / 2 } else { primitive.size() };
        // A member of structs that are packed is not at multiples of its size.
        let is_apart = found.strides.iter().any(|stride| stride.checked_rem(word) != Some(0));
        Ok(if is_apart { Turn::Refused } else { Turn::Words(word) })
    }

    /// The array of the chosen files.
    fn array(&self, chosen: Chosen) -> Result<Array> {
        let Wanted { template, item, options, .. } = self.of;
        let is_ragged = chosen.is_ragged();
        let Chosen { found, pieces, whole, shapes, how, .. } = chosen;
        let mut shape = found.shape.clone();
        let (datatype, order) = datatype_of(&found.typed, &mut shape)?;
        if is_compressed(template, &found) && (is_ragged || matches!(how, How::Along(_))) {
            return Err(unlike_compressed(item));
        }
        let lengths = (shape.as_slice(), shapes.as_slice());
        let arranged = match how {
            How::Along(axis) => along(axis, lengths, &pieces, datatype.item_size()),
            How::Ragged if is_ragged => padded(lengths, &pieces, datatype.item_size()),
            How::Same | How::Ragged => stacked(&shape, found.strides.get(..shape.len()).unwrap_or(&[]), &pieces, &datatype),
        };
        let Arranged { spread, shape, strides, len, mask } =
            arranged?.ok_or_else(|| Error::malformed(format!("E406: {item} of {} files is too large", pieces.len())))?;
        let first = pieces.iter().find(|piece| piece.stored.is_some()).map(|piece| piece.row);
        let turn = self.turn(first, &found)?;
        let is_number = datatype.is_float() || datatype.is_complex();
        let joined = Joined {
            name: format!("{item} of {} files", pieces.len()),
            len,
            files: self.catalog.shared_files(),
            known: Arc::clone(&self.known),
            pieces,
            spread,
            // A floating-point number with all bits set is NaN in every format and byte order.
            blank: if is_number { 0xff } else { 0 },
            filter: template.filter_of(found.item).filter(|filter| filter.compresses).cloned(),
            whole,
            native: options.native,
            order: if template.order().is_none() { options.order } else { None },
            turn,
            limits: options.limits.clone(),
            resolve: Arc::clone(&self.resolve),
            open: std::sync::Mutex::default(),
        };
        let array = match strides {
            Some(strides) => Array::strided(Arc::new(joined), 0, datatype, order, shape, strides)?,
            None => Array::new(Arc::new(joined), 0, datatype, order, shape)?,
        };
        let array = match mask {
            Some(mask) => array.with_mask(Mask::Array(Arc::new(mask)))?,
            None => array,
        };
        Ok(array.with_limits(Arc::new(options.limits.clone())))
    }
}

/// Returns `true` if an item is stored compressed.
fn is_compressed(template: &Layout, found: &Located) -> bool {
    template.filter_of(found.item).is_some_and(|filter| filter.compresses)
}

fn unlike_compressed(item: &str) -> Error {
    Error::unsupported(format!("{item} is stored compressed, and its shape differs between the files"))
        .hint("choose files in which it has one shape")
}
