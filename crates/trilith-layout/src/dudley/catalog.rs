//! Families of files: one layout, and a catalog of the parameters of each file.
//!
//! Section 8 of our specification: from the parameters alone follows if every item of every file
//! is, so that no file of the family has to be opened.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::catalog_record::CatalogRecord;
use super::datatype::datatype_of;
use super::dudley_file::{DudleyFile, StreamItems, StreamOptions};
use super::file_settings::FileSettings;
use super::item_request::ItemRequest;
use super::new_item::Draft;
use super::param_settings::{ParamSetting, fixed_value};
use super::parameters::{FirstFileParams, ParamTable};
use super::write::base_of;
use crate::array::{Array, Byteorder, Datatype, Index, StructType};
use crate::bytes::{Source, SourceBacking};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{
    ArrayLocation, Attribute, DiagnosticCode, Dialect, EvaluateOptions, ItemId, ItemKind, Layout, LayoutEntry, LayoutLiteral,
    ParseOptions, ParseResult, ResolvedType, SuppliedValue, parse, quoted_name,
};
use crate::limits::Limits;
use crate::span::Span;
use crate::threads::lock;

/// The files of a file set and the stored parameters of each.
///
/// It is a Dudley file with the items `files` (strings, a name for each file) and `records`. These are the summary struct of the
/// template for each file, with its parameters as such or as data, or one vector of all stored parameters in the order of the
/// text. If several Dudley files share one file, `offset` has the byte offset of each.
#[derive(Debug)]
pub struct Catalog {
    files: Arc<FileNames>,
    records: CatalogRecords,
    offsets: Option<Vec<i64>>,
    native: Option<bool>,
    template: Option<Layout>,
    settings: Arc<FileSettings>,
}

/// The files of a family by the names that the catalog has for them, and what those held that were opened.
#[derive(Debug)]
pub(super) struct FileNames {
    pub names: Vec<String>,
    known: Mutex<HashMap<String, String>>,
}

impl FileNames {
    /// Files of which none was opened yet.
    pub(super) fn new(names: Vec<String>) -> Self {
        Self { names, known: Mutex::default() }
    }

    /// Fails if a file is opened again that holds something else by now: what was read of it before would not go together
    /// with what is read of it now.
    pub(super) fn check_file_version(&self, name: &str, source: &dyn Source) -> Result<()> {
        let Some(version) = source.backing().and_then(SourceBacking::content_version) else { return Ok(()) };
        let mut seen = lock(&self.known);
        match seen.get(name) {
            None => {
                seen.insert(name.to_owned(), version);
                Ok(())
            }
            Some(before) if *before == version => Ok(()),
            Some(_) => {
                let message = "it was replaced or written to while the family was open";
                Err(Error::new(ErrorKind::Io, message).hint("open the family again"))
            }
        }
    }
}

/// The records of a catalog.
#[derive(Debug)]
enum CatalogRecords {
    /// Structs, or rows of integers.
    Array(Array),
    /// Instances of a struct with stored parameters: the values of each, by name.
    Instances(HashMap<String, Vec<i64>>),
}

/// The place of an item in one file of a file set.
#[derive(Debug)]
#[non_exhaustive]
pub struct FileItemLocation<'c> {
    /// The file, as the catalog names it.
    pub file: &'c str,
    /// The byte of the file at which the item starts; None if it has no data, or is not there.
    pub offset: Option<u64>,
    /// The array as the layout describes it; None if this file has no such item.
    pub located: Option<ArrayLocation>,
    /// The whole item, if it is stored compressed (2026).
    pub(super) compressed: Option<LayoutEntry>,
}

/// The elements of an item in one file of a file set.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ItemDescription {
    /// The datatype of one element.
    pub datatype: Datatype,
    /// The byte order of the elements.
    pub byteorder: Byteorder,
    /// The dimensions, slowest first.
    pub shape: Vec<u64>,
}

impl Catalog {
    /// Reads a catalog.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if `files` or `records` are missing or do not go
    /// together, and an error if they cannot be read.
    pub fn read(file: &DudleyFile) -> Result<Self> {
        let items = file.locate_items()?;
        let (records, rows) = match items.located("/records")? {
            Some(found) if found.typed == ResolvedType::Dynamic => {
                let rows = found.shape.first().copied().unwrap_or(1);
                match items.struct_array_at("/records")? {
                    Some(records) => (CatalogRecords::Array(records), rows),
                    None => (CatalogRecords::Instances(collect_record_params(file.layout(), &items)?), rows),
                }
            }
            _ => {
                let records = items.array_at("/records")?;
                let rows = records.shape().first().copied().unwrap_or(1);
                (CatalogRecords::Array(records), rows)
            }
        };
        let files = items.array_at("/files")?;
        if !files.datatype().is_text() || files.shape().len() > 1 {
            return Err(Error::invalid_input(format!("/files of a catalog is a list of names, not {}", files.datatype())));
        }
        let files = super::char_sets::decode_text(&files)?.load_texts()?;
        let offsets = match items.located("/offset")? {
            Some(_) => Some(items.array_at("/offset")?.load_as::<i64>()?),
            None => None,
        };
        if rows != files.len() as u64 || offsets.as_ref().is_some_and(|offsets| offsets.len() != files.len()) {
            return Err(Error::invalid_input(format!("the catalog has {} files and {rows} records", files.len())));
        }
        let (native, template) = read_catalog_record(file, &items)?;
        let settings = Arc::new(FileSettings::read(&items, files.len())?);
        Ok(Self { files: Arc::new(FileNames::new(files)), records, offsets, native, template, settings })
    }

    /// Returns `true` if a file is a catalog that holds the layout of its files and records whether they have a signature, so that
    /// nothing else is needed to read them.
    #[doc(hidden)]
    pub fn holds_layout(file: &DudleyFile) -> Result<bool> {
        if !file.layout().attributes(ItemId::ROOT).any(|(name, _)| name == SIGNATURE_ATTRIBUTE) {
            return Ok(false);
        }
        let items = file.locate_items()?;
        for path in ["/files", "/records", "/layout"] {
            if items.located(path)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the layout of the files, if the catalog holds it.
    pub fn template(&self) -> Option<&Layout> {
        self.template.as_ref()
    }

    /// Returns whether the files have a signature, if the catalog records it.
    pub fn is_native(&self) -> Option<bool> {
        self.native
    }

    /// Returns the byte order that the catalog has for a file, if the files have several.
    pub fn byteorder_of(&self, row: usize) -> Option<Byteorder> {
        self.settings.order(row)
    }

    /// Returns the values that a fixed parameter of the layout has in the files; None if all files have that of the layout.
    #[doc(hidden)]
    pub fn param_values(&self, name: &str) -> Option<&[i64]> {
        let known = self.settings.params.iter().find(|(known, _)| known.trim_start_matches('/') == name);
        known.map(|(_, values)| values.as_slice())
    }

    /// Checks the values of fixed parameters with which files are added to the catalog.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if one of them has a value for each file of the catalog and none for the new files.
    #[doc(hidden)]
    pub fn check_added_params(&self, params: &[(String, ParamSetting)]) -> Result<()> {
        let is_missing = |name: &str| !params.iter().any(|(known, _)| known == name);
        let Some((name, _)) = self.settings.params.iter().find(|(name, _)| is_missing(name)) else { return Ok(()) };
        let message = format!("the catalog has a value of {name} for each file, and the files to add need one as well");
        Err(Error::invalid_input(message).hint(format!("--param {name}=fill, or params={{\"{name}\": \"fill\"}} in Python")))
    }

    /// Returns the options under which a file of the set is opened: its layout, and its byte order if the catalog has one.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if the layout lacks a fixed parameter that has a value for the file.
    #[doc(hidden)]
    pub fn stream_options(&self, row: usize, template: &Layout, limits: &Limits) -> Result<StreamOptions> {
        self.settings.stream_options(row, template, limits)
    }

    /// Sets the values of fixed parameters for each file: a number, or the number that follows from the length of the file.
    /// `open` opens one of the files `rows`. The other files keep their values.
    ///
    /// # Errors
    /// Returns the errors of `open`, and [`ErrorKind::InvalidInput`] if the layout has no such fixed parameter.
    #[doc(hidden)]
    pub fn set_params(
        &mut self,
        template: &Layout,
        params: &[(String, ParamSetting)],
        rows: &[Range<usize>],
        open: &mut dyn FnMut(&str, StreamOptions) -> Result<DudleyFile>,
        limits: &Limits,
    ) -> Result<()> {
        let mut settings = FileSettings::clone(&self.settings);
        for (name, setting) in params {
            let fixed = fixed_value(template, name)?;
            let mut values = match (setting, settings.params.iter().find(|(known, _)| known == name)) {
                (ParamSetting::Number(value), _) => vec![*value; self.len()],
                (ParamSetting::Fill, Some((_, known))) => known.clone(),
                (ParamSetting::Fill, None) => vec![fixed; self.len()],
            };
            for row in rows.iter().cloned().flatten().filter(|_| *setting == ParamSetting::Fill) {
                let (Some(file), Some(value)) = (self.files.names.get(row), values.get_mut(row)) else { continue };
                let mut how = settings.stream_options(row, template, limits)?;
                how.params = params.to_vec();
                let file = open(file, how).map_err(|error| error.context(file.clone()))?;
                *value = fixed_value(file.layout(), name)?;
            }
            settings.set_param(name, values);
        }
        self.settings = Arc::new(settings);
        Ok(())
    }

    /// Returns `true` if several streams share a file.
    pub(super) fn has_offsets(&self) -> bool {
        self.offsets.is_some()
    }

    /// Returns the values of the files that the summary block of the template stores, as the catalog has them.
    /// Returns None for anything else, and if the catalog has them in another form than the template.
    pub(super) fn with_summary(&self, of: ItemRequest<'_>) -> Result<Option<Array>> {
        let ItemRequest { template, item, file_rows: rows, options } = of;
        let CatalogRecords::Array(records) = &self.records else { return Ok(None) };
        let chosen: Vec<&Range<usize>> = rows.iter().filter(|rows| !rows.is_empty()).collect();
        let Some(first) = chosen.first().map(|rows| rows.start) else { return Ok(None) };
        let path = crate::layout::canonical_path(item).unwrap_or_default();
        let mut members = template.summary_members().into_iter();
        let Some((name, _)) = members.find(|(name, _)| path == format!("/{}", quoted_name(name))) else { return Ok(None) };
        let has_field = |fields: &StructType| fields.fields().iter().any(|field| field.name.as_deref() == Some(name));
        if !records.datatype().as_struct().is_some_and(has_field) {
            return Ok(None);
        }
        let number = |at: usize| i64::try_from(at).ok();
        let column = records.field(name)?;
        let part =
            |rows: &Range<usize>| column.slice([Index::Slice { start: number(rows.start), stop: number(rows.end), step: 1 }]);
        let mut parts = chosen.into_iter().map(part).collect::<Result<Vec<_>>>()?;
        let array = match parts.pop() {
            Some(only) if parts.is_empty() => only,
            last => Array::concatenate(parts.into_iter().chain(last).collect())?,
        };
        let mut is_alike = false;
        self.locate_rows(template, &path, &[first..first + 1], options, &mut |_, place| {
            let said = place.description()?;
            is_alike = said.is_some_and(|ItemDescription { datatype, shape, .. }| {
                array.shape().get(1..) == Some(&shape[..]) && (array.datatype() == &datatype || datatype.is_integer())
            });
            Ok(())
        })?;
        Ok(is_alike.then_some(array))
    }

    /// Creates the draft of a catalog. `template` is the name of the layout of the files, if it has one. Each row has the name of
    /// a file and the values of all stored parameters in the order of the text.
    ///
    /// ```
    /// use trilith_layout::dudley::Catalog;
    /// let rows = [("a.bd".to_owned(), vec![2, 3]), ("b.bd".to_owned(), vec![4, 5])];
    /// let (text, _) = Catalog::draft(Some("run.dud"), &rows)?.layout()?;
    /// assert_eq!(text, "#: dialect=2025\n#: template=\"run.dud\"\nfiles = S1[2, 4]\nrecords = i8[2, 2]\n");
    /// # Ok::<(), trilith_layout::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if the files have not the same number of parameters.
    pub fn draft(template: Option<&str>, rows: &[(String, Vec<i64>)]) -> Result<Draft> {
        Self::draft_with(template, rows, None)
    }

    /// Does the same as [`Catalog::draft`], with the record that the catalog keeps of its files.
    pub(super) fn draft_with(
        template: Option<&str>,
        rows: &[(String, Vec<i64>)],
        record: Option<&CatalogRecord>,
    ) -> Result<Draft> {
        let width = rows.first().map_or(0, |(_, values)| values.len());
        if let Some((file, values)) = rows.iter().find(|(_, values)| values.len() != width) {
            return Err(Error::invalid_input(format!("{file} has {} parameters, the first file {width}", values.len())));
        }
        let names: Vec<&str> = rows.iter().map(|(file, _)| file.as_str()).collect();
        let records = match record.map(|record| record.build_record_array(rows)).transpose()?.flatten() {
            Some(records) => records,
            None => {
                let values: Vec<i64> = rows.iter().flat_map(|(_, values)| values.iter().copied()).collect();
                Array::from_slice(&values, &[rows.len() as u64, width as u64])?
            }
        };
        let files = Draft::data(Array::from_texts(&names, &[rows.len() as u64])?);
        let mut items = vec![("files", files), ("records", Draft::data(records))];
        items.extend(record.map(|record| record.settings.draft_items()).transpose()?.unwrap_or_default());
        if let Some(record) = record.filter(|record| !record.text.is_empty()) {
            let text = record.text.clone().into_bytes();
            let datatype = Datatype::with_length("utf8", text.len() as u64)?;
            items.push(("layout", Draft::data(Array::from_bytes(text, datatype, Byteorder::Little, Vec::new())?)));
        }
        let mut draft = Draft::dict(items);
        let text = |template: &str| Attribute::Value(LayoutLiteral::Text(template.to_owned()));
        draft.attributes.extend(template.map(|template| ("template".to_owned(), text(template))));
        if let Some(native) = record.and_then(|record| record.native) {
            draft.attributes.push((SIGNATURE_ATTRIBUTE.to_owned(), Attribute::Value(LayoutLiteral::Integer(native.into()))));
        }
        Ok(draft)
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.names.len()
    }

    /// The files, as the catalog names them.
    pub fn files(&self) -> &[String] {
        &self.files.names
    }

    pub(super) fn shared_files(&self) -> Arc<FileNames> {
        Arc::clone(&self.files)
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.files.names.is_empty()
    }

    /// Returns the place of an item in each file, without opening the file. The layout is evaluated once for each file. `options`
    /// state whether the files are native, and their byte order.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] if the layout is not a template (E408), the
    /// records lack one of its parameters (E409) or a value is impossible, each with its place in the layout.
    /// Returns the errors of `take`, too.
    pub fn locate(
        &self,
        template: &Layout,
        item: &str,
        options: &EvaluateOptions,
        take: &mut dyn FnMut(FileItemLocation<'_>) -> Result<()>,
    ) -> Result<()> {
        let all = 0..self.files.names.len();
        self.locate_rows(template, item, &[all], options, &mut |_, place| take(place))
    }

    /// Does the same as [`Catalog::locate`], for some of the files. `take` also receives the number of each.
    /// # Errors
    /// Returns the errors of [`Catalog::locate`], and [`ErrorKind::InvalidInput`] for rows that
    /// are not there.
    pub fn locate_rows(
        &self,
        template: &Layout,
        item: &str,
        rows: &[Range<usize>],
        options: &EvaluateOptions,
        take: &mut dyn FnMut(usize, FileItemLocation<'_>) -> Result<()>,
    ) -> Result<()> {
        if let Some(rows) = rows.iter().find(|rows| self.files.names.get((*rows).clone()).is_none()) {
            return Err(Error::invalid_input(format!(
                "the catalog has {} files, not {}..{}",
                self.files.names.len(),
                rows.start,
                rows.end
            )));
        }
        if template.dialect() == Dialect::D2025 {
            template.require_template()?;
        }
        let table = self.load_param_table(template, &options.limits)?;
        let rows: Vec<usize> = rows.iter().cloned().flatten().collect();
        for alike in rows.chunk_by(|one, other| self.settings.has_same_params(*one, *other)) {
            let Some(first) = alike.first() else { continue };
            let template = self.settings.layout_of(*first, template, &options.limits)?;
            self.locate_alike(&template, item, alike, (options, &table), take)?;
        }
        Ok(())
    }

    /// Does the same as [`Catalog::locate_rows`] for files that have the same values of fixed parameters.
    fn locate_alike(
        &self,
        template: &Layout,
        item: &str,
        rows: &[usize],
        (options, table): (&EvaluateOptions, &ParamTable),
        take: &mut dyn FnMut(usize, FileItemLocation<'_>) -> Result<()>,
    ) -> Result<()> {
        let base = if options.is_native { base_of(template.dialect()) } else { 0 };
        let mut evaluation = None;
        let chosen = rows.iter().filter_map(|row| Some((*row, self.files.names.get(*row)?)));
        for (row, file) in chosen {
            let supply = |request: &crate::layout::ParamRequest| {
                let value = table.param_value(row, request.item, request.ordinal);
                Ok(value.map_or(SuppliedValue::Missing, SuppliedValue::Value))
            };
            let found = match evaluation.as_mut() {
                None => evaluation.insert(template.evaluate(options, supply).map_err(|e| Error::from(e).context(file.clone()))?),
                Some(found) => {
                    let found: &mut crate::layout::LayoutEvaluation<'_> = found;
                    found.reevaluate(supply).map_err(|e| Error::from(e).context(file.clone()))?;
                    found
                }
            };
            if let Some(width) = table.width {
                let used = found.values().count();
                if used != width {
                    let message = format!("the records have {width} values, the layout has {used} stored parameters");
                    return Err(
                        Error::from(template.error_at(DiagnosticCode::E409, Span::default(), message)).context(file.clone())
                    );
                }
            }
            let values = found;
            let found = values.locate(item)?;
            let compressed = match &found {
                Some(found) if is_compressed(template, found.item) => values.find(&found.path)?,
                _ => None,
            };
            let start = self.offsets.as_ref().and_then(|offsets| offsets.get(row)).copied().unwrap_or(0);
            let start = u64::try_from(start).map_err(|_| Error::malformed(format!("offset {start} of {file} is negative")))?;
            let address = found.as_ref().and_then(|found| found.address);
            let offset = address.map(|address| address.checked_add(base).and_then(|at| at.checked_add(start)));
            let offset = offset.map(|at| at.ok_or_else(|| Error::malformed("E406: an address is too large"))).transpose()?;
            take(row, FileItemLocation { file, offset, located: found, compressed })?;
        }
        Ok(())
    }

    /// The stored parameters of these files as the catalog has them.
    pub(super) fn expected_params(&self, template: &Layout, options: &EvaluateOptions) -> Result<FirstFileParams> {
        let table = self.load_param_table(template, &options.limits)?;
        let starts = self.offsets.clone().unwrap_or_default();
        let settings = Arc::clone(&self.settings);
        Ok(FirstFileParams {
            template: template.clone(),
            params: table,
            settings,
            options: options.clone(),
            param_offsets: starts,
        })
    }

    pub(super) fn load_param_table(&self, template: &Layout, limits: &Limits) -> Result<ParamTable> {
        let rows = self.files.names.len();
        let needed = (0..template.item_count()).filter_map(|at| template.item_at(at));
        let needed = needed.filter(|id| {
            template.kind(*id) == ItemKind::Param && template.param_of(*id).is_some_and(|param| param.fixed_value.is_none())
        });
        let needed: Vec<ItemId> = needed.collect();
        if let CatalogRecords::Array(records) = &self.records {
            if records.datatype().is_integer() {
                let width = crate::bytes::to_usize(records.element_count().checked_div(rows as u64).unwrap_or(0))?;
                return Ok(ParamTable { columns: Vec::new(), values: records.load_as::<i64>()?, width: Some(width) });
            }
            let Datatype::Struct(_) = records.datatype() else {
                return Err(Error::invalid_input(format!(
                    "/records of a catalog are structs or integers, not {}",
                    records.datatype()
                )));
            };
        }
        limits.charge_memory((rows as u64).saturating_mul(8).saturating_mul(needed.len() as u64), "the records of a catalog")?;
        let mut columns = Vec::new();
        for id in needed {
            let name = template.name(id).unwrap_or("");
            let column = match &self.records {
                CatalogRecords::Array(records) => records.field(name).and_then(|column| column.load_as::<i64>()),
                CatalogRecords::Instances(known) => {
                    let column = known.get(name).filter(|column| column.len() == rows).cloned();
                    column.ok_or_else(|| Error::not_found(format!("there is no field {name:?}")))
                }
            };
            let column = column.map_err(|e| {
                let message = format!("the records lack parameter {name}: {}", e.message());
                template.error_at(DiagnosticCode::E409, template.span(id), message)
            })?;
            columns.push((id, column));
        }
        Ok(ParamTable { columns, values: Vec::new(), width: None })
    }
}

/// The attribute of a catalog that records whether its files have a signature.
const SIGNATURE_ATTRIBUTE: &str = "signature";

/// Returns the record of a catalog about its files: whether they have a signature, and their layout.
fn read_catalog_record(file: &DudleyFile, items: &StreamItems<'_>) -> Result<(Option<bool>, Option<Layout>)> {
    let said = file.layout().attributes(ItemId::ROOT).find(|(name, _)| *name == SIGNATURE_ATTRIBUTE);
    let native = said.and_then(|(_, said)| said.as_integer()).map(|said| said != 0);
    if items.located("/layout")?.is_none() {
        return Ok((native, None));
    }
    let text = items.array_at("/layout")?;
    if !text.datatype().is_text() || !text.shape().is_empty() {
        return Ok((native, None));
    }
    let mut options = ParseOptions::default();
    options.limits = file.limits().clone();
    let text = text.load_texts()?.concat();
    let template = parse(text.as_bytes(), &options).and_then(ParseResult::into_layout);
    Ok((native, Some(template.map_err(|e| e.context("the layout in the catalog"))?)))
}

/// The stored parameters of the structs that `/records` holds, by name.
fn collect_record_params(layout: &Layout, items: &StreamItems<'_>) -> Result<HashMap<String, Vec<i64>>> {
    let mut columns: HashMap<String, Vec<i64>> = HashMap::new();
    for entry in items.entries() {
        let entry = entry?;
        let (Some(value), Some(rest)) = (entry.value, entry.path.strip_prefix("/records")) else { continue };
        let Some(name) = layout.name(entry.item) else { continue };
        // A parameter of the record itself, not of a struct in it: `(3).N`, or `.N` of a single record.
        let member = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, member)| member);
        if member.strip_prefix('.').is_some_and(|member| member == quoted_name(name)) {
            columns.entry(name.to_owned()).or_default().push(value);
        }
    }
    Ok(columns)
}

/// Returns `true` if an item is stored compressed.
fn is_compressed(layout: &Layout, item: ItemId) -> bool {
    layout.filter_of(item).is_some_and(|filter| filter.compresses)
}

impl FileItemLocation<'_> {
    /// Datatype and shape as arrays have them; None if the file has no such item.
    ///
    /// # Errors
    /// Returns the errors of [`datatype_of`].
    pub fn description(&self) -> Result<Option<ItemDescription>> {
        let Some(found) = &self.located else { return Ok(None) };
        let mut shape = found.shape.clone();
        let (datatype, byteorder) = datatype_of(&found.typed, &mut shape)?;
        Ok(Some(ItemDescription { datatype, byteorder, shape }))
    }
}
