//! Arrays and tables in other HDUs of the file to which keywords refer: distortions in arrays (`CPDISj`, `D2IMDISj`, `AXISCORR`) and coordinates in
//! tables (`-TAB`, paper III, section 6).

use std::collections::BTreeMap;

use super::keyword_name::KeywordName;
use super::{HeaderKeywords, HeaderParser};
use crate::transform::{CoordinateTable, DistortionTable, GridAxis};
use crate::{Error, Result, Transform};

/// Extension of the arrays of `D2IMDISj`.
const DETECTOR_EXTENSION: &str = "D2IMARR";
/// The keywords of distortions in arrays: that of the kind, the one of its parameters, and the extension of the arrays.
const LOOKUPS: [(&str, &str, &str); 2] = [("CPDIS", "DP", "WCSDVARR"), ("D2IMDIS", "D2IM", DETECTOR_EXTENSION)];

/// An array of another HDU that keywords refer to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ArrayReference {
    /// `EXTNAME` of the HDU, in capitals.
    pub extension: String,
    /// `EXTVER` of the HDU, 1 by default.
    pub version: i64,
    /// Column of a table, whose first row has the array. `None` for an image.
    pub column: Option<String>,
}

impl ArrayReference {
    fn new(extension: &str, version: f64, column: Option<&str>) -> Self {
        Self { extension: extension.to_ascii_uppercase(), version: version as i64, column: column.map(str::to_owned) }
    }
}

/// An array that keywords refer to.
#[derive(Debug, Clone, Default)]
pub struct ReferencedArray {
    /// Lengths of the axes; the last one varies fastest.
    pub shape: Vec<usize>,
    /// Elements.
    pub values: Vec<f64>,
    /// Keywords of the HDU.
    pub keywords: HeaderKeywords,
}

impl HeaderKeywords {
    /// Returns the arrays of other HDUs that the coordinates need. [`HeaderKeywords::insert_array`] hands them in.
    pub fn array_references(&self) -> Vec<ArrayReference> {
        let mut found = Vec::new();
        for (kind, parameters, extension) in LOOKUPS {
            let axes = (1..=2).filter(|axis| self.is_lookup(kind, *axis));
            found.extend(axes.map(|axis| ArrayReference::new(extension, self.version_of(parameters, axis), None)));
        }
        if self.has("AXISCORR") {
            found.push(ArrayReference::new(DETECTOR_EXTENSION, 1.0, None));
        }
        for axis in 1..=super::MAX_AXES {
            if is_tabular(self.keyword_text(KeywordName::numbered("CTYPE", axis))) {
                found.extend((1..=2).filter_map(|number| self.column_reference(axis, number)));
            }
        }
        found.sort();
        found.dedup();
        found
    }

    /// Returns `true` if a reference names the HDU of these keywords.
    pub fn is_named_by(&self, reference: &ArrayReference) -> bool {
        let version = self.get("EXTVER").unwrap_or(1.0);
        self.text_value("EXTNAME").eq_ignore_ascii_case(&reference.extension) && version == reference.version as f64
    }

    /// Takes in an array of another HDU.
    pub fn insert_array(&mut self, reference: ArrayReference, array: ReferencedArray) {
        self.arrays.insert(reference, array);
    }

    /// Returns `true` if a distortion of an axis is in an array.
    pub(super) fn is_lookup(&self, kind: &str, axis: usize) -> bool {
        self.keyword_text(KeywordName::numbered(kind, axis)).eq_ignore_ascii_case("lookup")
    }

    fn version_of(&self, parameters: &str, axis: usize) -> f64 {
        self.number_value(KeywordName::numbered(parameters, axis).with_text(".EXTVER")).unwrap_or(1.0)
    }

    /// The column of a table that `PSi_m` names; `None` for a blank name.
    fn column_reference(&self, axis: usize, number: usize) -> Option<ArrayReference> {
        let column = Some(self.keyword_text(KeywordName::paired("PS", axis, number))).filter(|column| !column.is_empty())?;
        let version = self.number_value(KeywordName::paired("PV", axis, 1)).unwrap_or(1.0);
        Some(ArrayReference::new(self.keyword_text(KeywordName::paired("PS", axis, 0)), version, Some(column)))
    }
}

/// Returns `true` if the coordinates of an axis are in a table.
pub(super) fn is_tabular(kind: &str) -> bool {
    kind.get(4..) == Some("-TAB")
}

/// Axes whose coordinates are in one table.
pub(super) struct TabularAxes {
    /// Axes of the header, in the order of those of the table.
    pub(super) axes: Vec<usize>,
    /// From intermediate coordinates to world coordinates.
    pub(super) transform: Transform,
}

impl HeaderParser<'_> {
    /// Returns the transform plus what the arrays of a kind of distortion give, if there are any.
    pub(super) fn add_lookup_tables(&self, transform: Transform, kind: &str) -> Result<Transform> {
        let Some((_, parameters, extension)) = LOOKUPS.iter().find(|(name, ..)| *name == kind) else { return Ok(transform) };
        let table = |axis: usize| -> Result<Option<DistortionTable>> {
            if !self.keywords.is_lookup(kind, axis) {
                return Ok(None);
            }
            let key = format!("{parameters}{axis}.AXIS.{axis}");
            let Some(along) = self.keywords.get(&key) else {
                return Err(Error::Invalid(format!("{kind}{axis} = LOOKUP without {key}")));
            };
            let reference = ArrayReference::new(extension, self.keywords.version_of(parameters, axis), None);
            self.read_distortion_table(&reference, along == axis as f64)
                .map_err(|error| error.in_keyword(&format!("{kind}{axis}")))
                .map(Some)
        };
        let tables = match self.keywords.get("AXISCORR").filter(|_| kind == "D2IMDIS") {
            // The older form: one array, for one axis. Without the array nothing is added.
            Some(axis) => {
                let reference = ArrayReference::new(DETECTOR_EXTENSION, 1.0, None);
                let table = self.keywords.arrays.contains_key(&reference).then(|| self.read_distortion_table(&reference, true));
                let table = table.transpose().map_err(|error| error.in_keyword("AXISCORR"))?;
                match axis {
                    1.0 => [table, None],
                    2.0 => [None, table],
                    _ => return Err(Error::Unsupported(format!("AXISCORR = {axis} (expected 1 or 2)"))),
                }
            }
            None => [table(1)?, table(2)?],
        };
        if tables.iter().all(Option::is_none) { Ok(transform) } else { transform.add_tables(tables) }
    }

    fn read_distortion_table(&self, reference: &ArrayReference, is_in_order: bool) -> Result<DistortionTable> {
        let array = self.find_array(reference)?;
        let [rows, columns] = match array.shape[..] {
            [columns] => [1, columns],
            [rows, columns] => [rows, columns],
            _ => return Err(Error::Invalid(format!("an array of {} axes in {}", array.shape.len(), reference.extension))),
        };
        let (lengths, values) = match is_in_order {
            true => ([columns, rows], array.values.clone()),
            false => {
                let at = |x: usize, y: usize| array.values.get(x * columns + y).copied().unwrap_or(f64::NAN);
                ([rows, columns], (0..columns).flat_map(|y| (0..rows).map(move |x| at(x, y))).collect())
            }
        };
        let axis = |number: usize| {
            let get = |name: &str, usual: f64| array.keywords.number_value(KeywordName::numbered(name, number)).unwrap_or(usual);
            GridAxis { point: get("CRPIX", 0.0), pixel: get("CRVAL", 0.0), step: get("CDELT", 1.0) }
        };
        DistortionTable::new(lengths, values, [axis(1), axis(2)])
    }

    fn find_array(&self, reference: &ArrayReference) -> Result<&ReferencedArray> {
        let ArrayReference { extension, version, column } = reference;
        let column = column.as_ref().map_or_else(String::new, |column| format!("column {column:?} of "));
        let none = || Error::Unsupported(format!("{column}extension {extension}, {version}, which this file does not have"));
        self.keywords.arrays.get(reference).ok_or_else(none)
    }

    /// Returns the transforms of the axes whose coordinates are in tables, and for each axis whose table is missing the reason.
    pub(super) fn read_tabular_axes(&self) -> Result<(Vec<TabularAxes>, BTreeMap<usize, String>)> {
        let mut groups: BTreeMap<ArrayReference, Vec<(usize, usize)>> = BTreeMap::new();
        let mut missing = BTreeMap::new();
        for axis in (0..self.count).filter(|axis| is_tabular(&self.kinds[*axis])) {
            let number = axis + 1;
            let Some(reference) = self.keywords.column_reference(number, 1) else {
                return Err(Error::Invalid(format!("CTYPE{number} = {} without PS{number}_1", self.kinds[axis])));
            };
            if let Err(error) = self.find_array(&reference) {
                missing.insert(axis, format!("{error} (PS{number}_0)"));
                continue;
            }
            let place = self.pv_parameter(axis, 3).unwrap_or(1.0);
            if !(place >= 1.0 && place <= super::MAX_AXES as f64) {
                return Err(Error::Invalid(format!("PV{number}_3 = {place}")));
            }
            groups.entry(reference).or_default().push((place as usize, axis));
        }
        let groups = groups.into_iter().map(|(reference, mut axes)| {
            axes.sort_unstable();
            let first = axes.first().map_or(0, |(_, axis)| axis + 1);
            let transform =
                self.build_tabular_transform(&reference, &axes).map_err(|error| error.in_keyword(&format!("PS{first}_0")))?;
            Ok(TabularAxes { axes: axes.into_iter().map(|(_, axis)| axis).collect(), transform })
        });
        Ok((groups.collect::<Result<_>>()?, missing))
    }

    fn build_tabular_transform(&self, reference: &ArrayReference, axes: &[(usize, usize)]) -> Result<Transform> {
        let array = self.find_array(reference)?;
        // A vector is a table of one axis.
        let (own, outer) = match array.shape.split_last() {
            Some((own, outer)) if !outer.is_empty() => (*own, outer.to_vec()),
            _ => (1, array.shape.clone()),
        };
        let is_complete = axes.iter().map(|(place, _)| *place).eq(1..=own);
        if !is_complete || outer.len() != own {
            return Err(Error::Invalid(format!(
                "axes {:?} of a table of shape {:?}, whose first axis is that of the coordinates",
                axes.iter().map(|(place, _)| *place).collect::<Vec<_>>(),
                array.shape
            )));
        }
        let lengths: Vec<usize> = outer.into_iter().rev().collect();
        let mut indices = Vec::with_capacity(axes.len());
        for (_, axis) in axes {
            let index = self.keywords.column_reference(axis + 1, 2).map(|reference| self.find_array(&reference)).transpose()?;
            indices.push(index.map(|index| index.values.clone()));
        }
        let table = CoordinateTable::new(lengths, indices, array.values.clone(), self.limits)?;
        let start = |(_, axis): &(usize, usize)| Transform::shift(self.axis_keyword_value("CRVAL", *axis).unwrap_or(0.0));
        Transform::chain(vec![Transform::parallel(axes.iter().map(start).collect()), Transform::coordinate_table(table)])
    }
}
