//! Families of files: one layout, and a catalog of the parameters of each file.
//!
//! Section 8 of our specification: from the parameters alone follows where every item of every file
//! lies, so that no file of the family has to be opened.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::datatype::datatype_of;
use super::draft::Draft;
use super::read::{DudleyFile, Items};
use super::write::base_of;
use crate::array::{Array, Datatype};
use crate::bytes::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{
    Attribute, Code, Dialect, Entry, ItemId, Kind, Layout, Literal, Located, Options, ResolvedType, Supply, quoted_name,
};
use crate::limits::Limits;
use crate::span::Span;
use crate::threads::lock;

/// The files of a family and the stored parameters of each.
///
/// Read from a stream with the items `files` (text, one name a file) and `records`: the summary struct of
/// the template for each file, with its parameters as such or as data, or one vector of all stored
/// parameters in the order of the text; where several streams share a file, `offset` says where each begins.
#[derive(Debug)]
pub struct Catalog {
    files: Arc<Files>,
    records: Records,
    offsets: Option<Vec<i64>>,
}

/// The files of a family by the names that the catalog has for them, and what those held that were opened.
#[derive(Debug)]
pub(super) struct Files {
    pub names: Vec<String>,
    seen: Mutex<HashMap<String, String>>,
}

impl Files {
    /// Files of which none was opened yet.
    pub fn new(names: Vec<String>) -> Self {
        Self { names, seen: Mutex::default() }
    }

    /// Fails where a file is opened again that holds something else by now: what was read of it before would not go together
    /// with what is read of it now.
    pub fn check(&self, name: &str, source: &dyn Source) -> Result<()> {
        let Some(version) = source.version() else { return Ok(()) };
        let mut seen = lock(&self.seen);
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
enum Records {
    /// Structs, or rows of integers.
    Array(Array),
    /// Instances of a struct with stored parameters: the values of each, by name.
    Instances(HashMap<String, Vec<i64>>),
}

/// Where an item lies in one file of a family.
#[derive(Debug)]
#[non_exhaustive]
pub struct Place<'c> {
    /// The file, as the catalog names it.
    pub file: &'c str,
    /// The byte of the file at which the item starts; None where it has no data, or is not there.
    pub offset: Option<u64>,
    /// The array as the layout describes it; None where this file has no such item.
    pub found: Option<Located>,
    /// The whole item, where it is stored compressed (2026).
    pub(super) compressed: Option<Entry>,
}

impl Catalog {
    /// Reads a catalog.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) where `files` or `records` are missing or do not go together,
    /// and as reading them.
    pub fn read(file: &DudleyFile) -> Result<Self> {
        let items = file.items()?;
        let (records, rows) = match items.located("/records")? {
            Some(found) if found.typed == ResolvedType::Dynamic => {
                let rows = found.shape.first().copied().unwrap_or(1);
                (Records::Instances(instances(file.layout(), &items)?), rows)
            }
            _ => {
                let records = items.array_at("/records")?;
                let rows = records.shape().first().copied().unwrap_or(1);
                (Records::Array(records), rows)
            }
        };
        let files = items.array_at("/files")?;
        if !files.datatype().is_text() || files.shape().len() > 1 {
            return Err(Error::usage(format!("/files of a catalog is a list of names, not {}", files.datatype())));
        }
        let files = super::text::presented(&files)?.load_texts()?;
        let offsets = match items.located("/offset")? {
            Some(_) => Some(items.array_at("/offset")?.load_as::<i64>()?),
            None => None,
        };
        if rows != files.len() as u64 || offsets.as_ref().is_some_and(|offsets| offsets.len() != files.len()) {
            return Err(Error::usage(format!("the catalog has {} files and {rows} records", files.len())));
        }
        Ok(Self { files: Arc::new(Files::new(files)), records, offsets })
    }

    /// A catalog to be written, in which `template` is named as the layout of the files (if it has a name), each file with
    /// its name and the values of all stored parameters in the order of the text.
    ///
    /// ```
    /// use trilith::dudley::Catalog;
    /// let rows = [("a.bd".to_owned(), vec![2, 3]), ("b.bd".to_owned(), vec![4, 5])];
    /// let (text, _) = Catalog::draft(Some("run.dud"), &rows)?.layout()?;
    /// assert_eq!(text, "#: dialect=2025\n#: template=\"run.dud\"\nfiles = S1[2, 4]\nrecords = i8[2, 2]\n");
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) where the files have not the same number of parameters.
    pub fn draft(template: Option<&str>, rows: &[(String, Vec<i64>)]) -> Result<Draft> {
        let width = rows.first().map_or(0, |(_, values)| values.len());
        if let Some((file, values)) = rows.iter().find(|(_, values)| values.len() != width) {
            return Err(Error::usage(format!("{file} has {} parameters, the first file {width}", values.len())));
        }
        let names: Vec<&str> = rows.iter().map(|(file, _)| file.as_str()).collect();
        let values: Vec<i64> = rows.iter().flat_map(|(_, values)| values.iter().copied()).collect();
        let mut draft = Draft::dict([
            ("files", Draft::data(Array::from_texts(&names, &[rows.len() as u64])?)),
            ("records", Draft::data(Array::from_slice(&values, &[rows.len() as u64, width as u64])?)),
        ]);
        let text = |template: &str| Attribute::Value(Literal::Text(template.to_owned()));
        draft.attributes.extend(template.map(|template| ("template".to_owned(), text(template))));
        Ok(draft)
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.names.len()
    }

    /// The files, as the catalog names them.
    pub fn files(&self) -> &[String] {
        &self.files.names
    }

    pub(super) fn shared_files(&self) -> Arc<Files> {
        Arc::clone(&self.files)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.names.is_empty()
    }

    /// Tells for each file where an item lies, without opening the file; the layout is evaluated once for
    /// each. `options` say whether the files are native and what their byte order is.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) where the layout is no template (E408), the records lack
    /// one of its parameters (E409) or a value is impossible, each with its place in the layout, and what
    /// `take` says.
    pub fn locate(
        &self,
        template: &Layout,
        item: &str,
        options: &Options,
        take: &mut dyn FnMut(Place<'_>) -> Result<()>,
    ) -> Result<()> {
        let all = 0..self.files.names.len();
        self.locate_rows(template, item, &[all], options, &mut |_, place| take(place))
    }

    /// As [`Catalog::locate`], for some of the files; `take` is also given the number of each.
    ///
    /// # Errors
    /// As [`Catalog::locate`], and [`ErrorKind::Usage`](crate::ErrorKind::Usage) for rows that are not there.
    pub fn locate_rows(
        &self,
        template: &Layout,
        item: &str,
        rows: &[Range<usize>],
        options: &Options,
        take: &mut dyn FnMut(usize, Place<'_>) -> Result<()>,
    ) -> Result<()> {
        if let Some(rows) = rows.iter().find(|rows| self.files.names.get((*rows).clone()).is_none()) {
            return Err(Error::usage(format!(
                "the catalog has {} files, not {}..{}",
                self.files.names.len(),
                rows.start,
                rows.end
            )));
        }
        if template.dialect() == Dialect::D2025 {
            template.require_template()?;
        }
        let table = self.table(template, &options.limits)?;
        let base = if options.native { base_of(template.dialect()) } else { 0 };
        let mut evaluation = None;
        let chosen = rows.iter().cloned().flatten().filter_map(|row| Some((row, self.files.names.get(row)?)));
        for (row, file) in chosen {
            let supply = |request: &crate::layout::ParamRequest| {
                let value = table.value(row, request.item, request.ordinal);
                Ok(value.map_or(Supply::Missing, Supply::Value))
            };
            let found = match evaluation.as_mut() {
                None => evaluation.insert(template.evaluate(options, supply).map_err(|e| Error::from(e).context(file.clone()))?),
                Some(found) => {
                    let found: &mut crate::layout::Evaluation<'_> = found;
                    found.again(supply).map_err(|e| Error::from(e).context(file.clone()))?;
                    found
                }
            };
            if let Some(width) = table.width {
                let used = found.values().count();
                if used != width {
                    let message = format!("the records have {width} values, the layout has {used} stored parameters");
                    return Err(Error::from(template.fault(Code::E409, Span::default(), message)).context(file.clone()));
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
            take(row, Place { file, offset, found, compressed })?;
        }
        Ok(())
    }

    pub(super) fn table(&self, template: &Layout, limits: &Limits) -> Result<Table> {
        let rows = self.files.names.len();
        let needed = (0..template.item_count()).filter_map(|at| template.item_at(at));
        let needed = needed
            .filter(|id| template.kind(*id) == Kind::Param && template.param_of(*id).is_some_and(|param| param.fixed.is_none()));
        let needed: Vec<ItemId> = needed.collect();
        if let Records::Array(records) = &self.records {
            if records.datatype().is_integer() {
                let width = crate::bytes::to_usize(records.len().checked_div(rows as u64).unwrap_or(0))?;
                return Ok(Table { columns: Vec::new(), all: records.load_as::<i64>()?, width: Some(width) });
            }
            let Datatype::Struct(_) = records.datatype() else {
                return Err(Error::usage(format!("/records of a catalog are structs or integers, not {}", records.datatype())));
            };
        }
        limits.charge_memory((rows as u64).saturating_mul(8).saturating_mul(needed.len() as u64), "the records of a catalog")?;
        let mut columns = Vec::new();
        for id in needed {
            let name = template.name(id).unwrap_or("");
            let column = match &self.records {
                Records::Array(records) => records.field(name).and_then(|column| column.load_as::<i64>()),
                Records::Instances(known) => {
                    let column = known.get(name).filter(|column| column.len() == rows).cloned();
                    column.ok_or_else(|| Error::not_found(format!("there is no field {name:?}")))
                }
            };
            let column = column.map_err(|e| {
                let message = format!("the records lack parameter {name}: {}", e.message());
                template.fault(Code::E409, template.span(id), message)
            })?;
            columns.push((id, column));
        }
        Ok(Table { columns, all: Vec::new(), width: None })
    }
}

/// The stored parameters of the structs that `/records` holds, by name.
fn instances(layout: &Layout, items: &Items<'_>) -> Result<HashMap<String, Vec<i64>>> {
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

/// Whether an item is stored compressed.
fn is_compressed(layout: &Layout, item: ItemId) -> bool {
    layout.filter_of(item).is_some_and(|filter| filter.compresses)
}

/// The parameters of all files.
pub(super) struct Table {
    columns: Vec<(ItemId, Vec<i64>)>,
    all: Vec<i64>,
    width: Option<usize>,
}

impl Table {
    pub fn value(&self, row: usize, item: ItemId, ordinal: u64) -> Option<i64> {
        if let Some(width) = self.width {
            let at = usize::try_from(ordinal).ok().filter(|at| *at < width)?;
            return self.all.get(row.checked_mul(width)?.checked_add(at)?).copied();
        }
        let at = self.columns.binary_search_by_key(&item, |(id, _)| *id).ok()?;
        self.columns.get(at)?.1.get(row).copied()
    }
}

impl Place<'_> {
    /// Datatype and shape as arrays have them; None where the file has no such item.
    ///
    /// # Errors
    /// As [`datatype_of`].
    pub fn described(&self) -> Result<Option<(Datatype, crate::array::Byteorder, Vec<u64>)>> {
        let Some(found) = &self.found else { return Ok(None) };
        let mut shape = found.shape.clone();
        let (datatype, order) = datatype_of(&found.typed, &mut shape)?;
        Ok(Some((datatype, order, shape)))
    }
}
