//! An item of a file set, read as one array.

use std::ops::Range;
use std::sync::Arc;

use super::arrangement::{ArrayArrangement, concatenated, pad_items, stack_items};
use super::byte_swap::{ByteSwap, SwappedWords};
use super::catalog::{Catalog, FileItemLocation};
use super::datatype::datatype_of;
use super::decompress::UncompressedForm;
use super::file_set_source::{FilePiece, FileSetSource, ItemLocation, uri_of};
use super::item_path::split_members;
use super::item_request::ItemRequest;
use super::item_shapes::{CombineMode, ShapeForms};
use super::parameters::FirstFileParams;
use super::selection::{FileSelection, ShapeMismatch};
use crate::array::{Array, Index, Mask};
use crate::bytes::Resolve;
use crate::error::{Error, Result, count_noun};
use crate::layout::{ArrayLocation, Byteorder, EvaluateOptions, Layout};

/// A file of a family that is masked in an array of all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OmittedFile {
    /// Number of the file in the catalog, counted from 0.
    pub row: usize,
    /// The file, as the catalog names it.
    pub file: String,
    /// `true` if it is not there; otherwise it omits the item.
    pub is_missing: bool,
}

impl OmittedFile {
    /// Returns warnings for the files that omit an item, and for those that are missing.
    pub fn warnings(item: &str, omitted: &[Self]) -> Vec<String> {
        /// Maximum number of files that are named.
        const MAX_NAMED_FILES: usize = 5;
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
            let more = if files.len() > MAX_NAMED_FILES { ", …" } else { "" };
            let names = files.get(..MAX_NAMED_FILES).unwrap_or(&files).join(", ");
            Some(format!("{} {what}: {names}{more}", count_noun(files.len(), "file")))
        };
        [of(false), of(true)].into_iter().flatten().collect()
    }
}

impl Catalog {
    /// Returns one item of the files `rows` of a file set as one array. Its first axis counts the files, and the others are those
    /// of the item. Reading elements opens only the files that contain them. `resolve` opens a file by its name in the catalog.
    ///
    /// A file is masked if it does not exist or omits the item. It omits the item if it does not have it, or if it has one
    /// without elements and other files have some. Floating-point numbers of such a file are NaN. [`Catalog::omitted`] names
    /// these files.
    ///
    /// ```
    /// # use std::{io::Cursor, sync::Arc};
    /// use trilith_array::array::Array;
    /// use trilith_layout::dudley::{Catalog, Draft, DudleyFile};
    /// use trilith_layout::layout::{Byteorder, Layout, EvaluateOptions};
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
    /// let mut options = EvaluateOptions::default();
    /// (options.is_native, options.byteorder) = (true, Some(Byteorder::Little));
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
        options: &EvaluateOptions,
        resolve: Arc<dyn Resolve>,
    ) -> Result<Array> {
        self.array_as(ItemRequest { template, item, file_rows: rows, options }, &FileSelection::default(), resolve)
    }

    /// Does the same as [`Catalog::array_at`], for an item whose shape may differ between the files.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn array_as(&self, of: ItemRequest<'_>, form: &FileSelection, resolve: Arc<dyn Resolve>) -> Result<Array> {
        // The files have members of structs at distances that depend on their shape: the structs are put together, then the member.
        if let Some((item, members)) = member_request(of, form) {
            let array = self.array_as(ItemRequest { item: &item, ..of }, form, resolve)?;
            return members.iter().try_fold(array, |array, name| array.field(name));
        }
        if let Some(array) = self.with_summary(of)? {
            return Ok(array);
        }
        let chosen = self.choose_files(of, CombineMode::for_item(of.template, of.item, form), &*resolve)?;
        FileSetContext {
            catalog: self,
            request: of,
            expected_params: Arc::new(self.expected_params(of.template, of.options)?),
            resolver: resolve,
        }
        .build_chosen_array(chosen)
    }

    /// One array for each of these files, None for a file that omits the item; None if the item has one shape in all of them.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn arrays_per_file(&self, of: ItemRequest<'_>, resolve: Arc<dyn Resolve>) -> Result<Option<Vec<Option<Array>>>> {
        let chosen = self.choose_files(of, CombineMode::Ragged, &*resolve)?;
        if !chosen.is_ragged() {
            return Ok(None);
        }
        if is_compressed(of.template, &chosen.found) {
            return Err(mixed_compression_error(of.item));
        }
        let set = FileSetContext {
            catalog: self,
            request: of,
            expected_params: Arc::new(self.expected_params(of.template, of.options)?),
            resolver: resolve,
        };
        let ChosenItem { found, pieces, full_item: whole, shapes, .. } = chosen;
        let one = |(piece, shape): (FilePiece, Vec<u64>)| {
            if piece.stored.is_none() {
                return Ok(None);
            }
            let strides = found.contiguous_strides(&shape);
            let found = ArrayLocation { shape: shape.clone(), strides, ..found.clone() };
            let chosen = ChosenItem {
                found,
                pieces: vec![piece],
                full_item: whole.clone(),
                omitted: Vec::new(),
                shapes: vec![shape],
                mode: CombineMode::Stacked,
            };
            set.build_chosen_array(chosen)?.slice([Index::Integer(0)]).map(Some)
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
        options: &EvaluateOptions,
        resolve: &dyn Resolve,
    ) -> Result<Vec<OmittedFile>> {
        self.omitted_as(ItemRequest { template, item, file_rows: rows, options }, &FileSelection::default(), resolve)
    }

    /// Does the same as [`Catalog::omitted`], for the arguments of [`Catalog::array_as`].
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::array_at`].
    pub fn omitted_as(&self, of: ItemRequest<'_>, form: &FileSelection, resolve: &dyn Resolve) -> Result<Vec<OmittedFile>> {
        if let Some((item, _)) = member_request(of, form) {
            return self.omitted_as(ItemRequest { item: &item, ..of }, form, resolve);
        }
        let how = if form.unequal == ShapeMismatch::PerFile {
            CombineMode::Ragged
        } else {
            CombineMode::for_item(of.template, of.item, form)
        };
        Ok(self.choose_files(of, how, resolve)?.omitted)
    }

    /// Returns the place of the item in each of these files, and the files that omit it.
    fn choose_files(&self, of: ItemRequest<'_>, how: CombineMode, resolve: &dyn Resolve) -> Result<ChosenItem> {
        let ItemRequest { template, item, file_rows: rows, options } = of;
        let count = rows.iter().fold(0u64, |sum, rows| sum.saturating_add(rows.len() as u64));
        options.limits.charge_memory(count.saturating_mul(56), "the places of an item in a family")?;
        let mut forms = ShapeForms::new(how);
        let (mut pieces, mut empty, mut whole, mut shapes) = (Vec::new(), Vec::new(), None, Vec::new());
        self.locate_rows(template, item, rows, options, &mut |row, place| {
            let FileItemLocation { file, offset, located: found, compressed } = place;
            let inside = match (&compressed, found.as_ref().and_then(|found| found.address)) {
                (Some(entry), Some(address)) => address.saturating_sub(entry.address.unwrap_or(address)),
                _ => 0,
            };
            let stored = compressed.as_ref().and_then(|entry| entry.nbytes);
            let stored =
                ItemLocation { offset: offset.map(|at| at.saturating_sub(inside)), member_offset: inside, stored_len: stored };
            let has_elements = found.as_ref().map(|found| !found.shape.contains(&0));
            pieces.push(FilePiece { row, stored: has_elements.map(|_| stored) });
            match has_elements {
                Some(true) => whole = compressed.as_ref().map(UncompressedForm::from_entry).transpose()?.or(whole.take()),
                Some(false) => empty.push(pieces.len() - 1),
                None => {}
            }
            if how != CombineMode::Stacked {
                shapes.push(found.as_ref().map(|found| found.shape.clone()).unwrap_or_default());
            }
            forms.add_file(item, row, file, found);
            Ok(())
        })?;
        let (found, is_empty) = forms.common_form(item)?;
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
                omitted.push(OmittedFile { row: piece.row, file, is_missing: gone });
            }
        }
        Ok(ChosenItem { found, pieces, full_item: whole, omitted, shapes, mode: how })
    }
}

/// Returns the item and the members if a member of structs is requested in a form in which the shape of the structs may differ.
fn member_request(of: ItemRequest<'_>, form: &FileSelection) -> Option<(String, Vec<String>)> {
    if form.unequal == ShapeMismatch::Refused && form.along.is_empty() {
        return None;
    }
    split_members(of.item).filter(|(item, _)| super::layout_values::declared(of.template, item).is_some())
}

/// An item in the files that were chosen.
struct ChosenItem {
    /// Form of the item in the files that have it.
    found: ArrayLocation,
    pieces: Vec<FilePiece>,
    full_item: Option<UncompressedForm>,
    omitted: Vec<OmittedFile>,
    /// The shape in each file, empty in one that omits the item. None are collected if they have to be the same.
    shapes: Vec<Vec<u64>>,
    mode: CombineMode,
}

impl ChosenItem {
    /// Returns `true` if the item has several shapes in the files that have it.
    fn is_ragged(&self) -> bool {
        let there = self.pieces.iter().zip(&self.shapes).filter(|(piece, shape)| piece.stored.is_some() || !shape.contains(&0));
        let mut stored = there.map(|(_, shape)| shape).filter(|shape| shape.len() == self.found.shape.len());
        let first = stored.next();
        stored.any(|shape| Some(shape) != first)
    }
}

/// The context in which arrays of a set are made.
struct FileSetContext<'a> {
    catalog: &'a Catalog,
    request: ItemRequest<'a>,
    expected_params: Arc<FirstFileParams>,
    resolver: Arc<dyn Resolve>,
}

impl FileSetContext<'_> {
    /// Returns the difference that the order of a file makes to the item, which is at this place in one of them.
    fn byte_swap(&self, row: Option<usize>, found: &ArrayLocation) -> Result<ByteSwap> {
        let ItemRequest { template, item, options, .. } = self.request;
        let has_orders = options.is_native || self.catalog.byteorder_of(0).is_some();
        let (Some(row), Some(order), true) = (row, options.byteorder, has_orders) else { return Ok(ByteSwap::None) };
        let other = if order == Byteorder::Little { Byteorder::Big } else { Byteorder::Little };
        let options = EvaluateOptions { byteorder: Some(other), ..options.clone() };
        let mut swapped_type = None;
        self.catalog.locate_rows(template, item, &[row..row + 1], &options, &mut |_, place| {
            swapped_type = place.located.map(|there| there.typed);
            Ok(())
        })?;
        let Some(swapped_type) = swapped_type.filter(|swapped_type| *swapped_type != found.typed) else {
            return Ok(ByteSwap::None);
        };
        if is_compressed(template, found) {
            return Ok(ByteSwap::Refused);
        }
        let (mut shape, mut known) = (found.shape.clone(), found.shape.clone());
        let (datatype, order) = datatype_of(&found.typed, &mut shape)?;
        let (other, other_order) = datatype_of(&swapped_type, &mut known)?;
        let strides = found.strides.get(..shape.len()).unwrap_or(&[]);
        let words = SwappedWords::find((&datatype, order), (&other, other_order), &shape, strides);
        Ok(words.map_or(ByteSwap::Refused, |words| ByteSwap::Words(Arc::new(words))))
    }

    /// The array of the chosen files.
    fn build_chosen_array(&self, chosen: ChosenItem) -> Result<Array> {
        let ItemRequest { template, item, options, .. } = self.request;
        let is_ragged = chosen.is_ragged();
        let ChosenItem { found, pieces, full_item: whole, shapes, mode: how, .. } = chosen;
        let mut shape = found.shape.clone();
        let (datatype, order) = datatype_of(&found.typed, &mut shape)?;
        if is_compressed(template, &found) && (is_ragged || matches!(how, CombineMode::Concatenated(_))) {
            return Err(mixed_compression_error(item));
        }
        let lengths = (shape.as_slice(), shapes.as_slice());
        let arranged = match how {
            CombineMode::Concatenated(axis) => concatenated(axis, lengths, &pieces, datatype.item_size()),
            CombineMode::Ragged if is_ragged => pad_items(lengths, &pieces, datatype.item_size()),
            CombineMode::Stacked | CombineMode::Ragged => {
                stack_items(&shape, found.strides.get(..shape.len()).unwrap_or(&[]), &pieces, &datatype)
            }
        };
        let ArrayArrangement { spread, shape, strides, len, mask } =
            arranged?.ok_or_else(|| Error::malformed(format!("E406: {item} of {} files is too large", pieces.len())))?;
        let first = pieces.iter().find(|piece| piece.stored.is_some()).map(|piece| piece.row);
        let turn = self.byte_swap(first, &found)?;
        let is_number = datatype.is_float() || datatype.is_complex();
        let joined = FileSetSource {
            name: format!("{item} of {} files", pieces.len()),
            len,
            files: self.catalog.shared_files(),
            expected_params: Arc::clone(&self.expected_params),
            pieces,
            spread,
            // A floating-point number with all bits set is NaN in every format and byte order.
            fill_element: if is_number { 0xff } else { 0 },
            filter: template.filter_of(found.item).filter(|filter| filter.compresses).cloned(),
            uncompressed_item: whole,
            native: options.is_native,
            array_order: if template.order().is_none() { options.byteorder } else { None },
            byte_swap: turn,
            limits: options.limits.clone(),
            resolve: Arc::clone(&self.resolver),
            open_files: std::sync::Mutex::default(),
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
fn is_compressed(template: &Layout, found: &ArrayLocation) -> bool {
    template.filter_of(found.item).is_some_and(|filter| filter.compresses)
}

fn mixed_compression_error(item: &str) -> Error {
    Error::unsupported(format!("{item} is stored compressed, and its shape differs between the files"))
        .hint("choose files in which it has one shape")
}
