//! Lists of points in files: CSV, with or without names of columns, NPY, and columns of tables.

use super::units::ScaledUnit;
use super::{PositionFrame, SkyFrame, Wcs, latitude, longitude};
use crate::array::Array;
use crate::bytes::{SourceRef, read_vec};
use crate::condition::TableCell;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Names of columns with longitudes and latitudes on the sky, in small letters. Columns of one position have the names of one pair.
const POSITION_NAMES: &[[&str; 2]] = &[
    ["ra", "dec"],
    ["raj2000", "dej2000"],
    ["raj2000", "decj2000"],
    ["ra_icrs", "de_icrs"],
    ["ra_icrs", "dec_icrs"],
    ["alpha", "delta"],
    ["alpha_j2000", "delta_j2000"],
    ["lon", "lat"],
    ["longitude", "latitude"],
];
/// Names of columns with Galactic positions.
const GALACTIC_NAMES: &[[&str; 2]] = &[["glon", "glat"], ["l", "b"]];

/// Points of a file, in columns.
///
/// The columns of a CSV file may have names in the first line. Without names the first columns count.
#[derive(Debug)]
pub struct PointTable {
    names: Vec<String>,
    rows: PointRows,
}

#[derive(Debug)]
enum PointRows {
    /// Lines of text, with their numbers.
    Text {
        text: String,
        first_line: usize,
    },
    Numbers(Vec<Vec<f64>>),
    Cells(Vec<PointColumn>),
}

/// A column of a table with points.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PointColumn {
    /// Name.
    pub name: String,
    /// Unit of its numbers, if it has one.
    pub unit: Option<String>,
    /// The cells; none if they are of a type without numbers.
    pub cells: Vec<TableCell>,
}

impl PointColumn {
    /// Returns a column.
    pub fn new(name: impl Into<String>, unit: Option<String>, cells: Vec<TableCell>) -> Self {
        Self { name: name.into(), unit, cells }
    }

    /// The numbers of the column, angles in degrees.
    fn numbers(&self, kind: ColumnKind) -> Result<Vec<f64>> {
        let wrong = |what: String| Error::invalid_input(format!("cannot read points: column {}: {what}", self.name));
        let unit = self.unit.as_deref().map(str::trim).filter(|unit| !unit.is_empty());
        let factor = match (kind, unit) {
            (ColumnKind::Number, _) | (_, None) => 1.0,
            (_, Some(unit)) => {
                let found = ScaledUnit::parse(unit).and_then(|unit| unit.factor_to(&ScaledUnit::degrees())).ok();
                let hours = matches!(unit, "h" | "hr" | "hour").then_some(15.0);
                found.or(hours).ok_or_else(|| wrong(format!("the unit {unit:?} (expected an angle)")))?
            }
        };
        let value = |cell: &TableCell| match cell {
            TableCell::Null => Some(f64::NAN),
            TableCell::Int(number) => Some(*number as f64 * factor),
            TableCell::Float(number) => Some(number * factor),
            TableCell::Text(text) if text.is_empty() => Some(f64::NAN),
            TableCell::Text(text) => match kind {
                ColumnKind::Longitude => longitude(text),
                ColumnKind::Latitude => latitude(text),
                ColumnKind::Number => text.trim().parse().ok(),
            },
            _ => None,
        };
        let cells = self.cells.iter().map(|cell| value(cell).ok_or_else(|| wrong(format!("{cell:?} (expected a number)"))));
        cells.collect()
    }
}

/// The use of a list of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PointUse {
    /// Positions in a frame that the user chooses.
    Positions,
    /// World coordinates in the frame of a file.
    World,
}

impl PointUse {
    /// The subject of a sentence about the frame, with its verb.
    fn subject(self) -> &'static str {
        match self {
            Self::Positions => "the positions are",
            Self::World => "the coordinates of the file are",
        }
    }

    /// Advice for columns of another frame.
    fn advice(self, frame: &str) -> String {
        match self {
            Self::Positions => format!("{frame}, or rename the columns"),
            Self::World => "convert the positions to the frame of the file, or rename the columns".to_owned(),
        }
    }
}

/// The kind of the numbers of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    Longitude,
    Latitude,
    Number,
}

impl PointTable {
    /// Reads the points of a CSV file, or of an NPY file: a table of two axes, or a structured array.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the bytes are neither, and
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if they do not fit into memory.
    pub fn read(source: SourceRef, limits: &Limits) -> Result<Self> {
        let head = read_vec(&*source, 0, source.len().min(6), limits)?;
        if head == b"\x93NUMPY" {
            return Self::of_array(&Array::from_npy(source, limits)?);
        }
        let bytes = read_vec(&*source, 0, source.len(), limits)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::malformed("a list of points must be CSV or NPY"))?;
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        let first = text.lines().enumerate().find(|(_, line)| !line.trim().is_empty());
        let Some((at, line)) = first else { return Ok(Self { names: Vec::new(), rows: PointRows::Numbers(Vec::new()) }) };
        let cells = split_csv_line(line.trim_start_matches('#'));
        let is_value = |cell: &String| cell.is_empty() || cell.parse::<f64>().is_ok() || longitude(cell).is_some();
        let has_names = !cells.iter().any(is_value);
        let names = if has_names { cells } else { Vec::new() };
        Ok(Self { names, rows: PointRows::Text { text, first_line: at + usize::from(has_names) } })
    }

    fn of_array(array: &Array) -> Result<Self> {
        array.charge()?;
        if let Some(structure) = array.datatype().as_struct() {
            let names: Vec<String> = structure.fields().iter().map(|field| field.name.clone().unwrap_or_default()).collect();
            // Columns of text, as names of sources, are not numbers.
            let column = |name: &String| array.field(name).and_then(|field| field.load_as::<f64>()).unwrap_or_default();
            let columns = names.iter().map(column).collect();
            return Ok(Self { names, rows: PointRows::Numbers(columns) });
        }
        let &[count, width] = array.shape() else {
            return Err(Error::malformed(format!("points of shape {:?} (expected a row for each point)", array.shape())));
        };
        let values = array.load_as::<f64>()?;
        let (count, width) = (count as usize, width as usize);
        let columns = (0..width).map(|column| values.iter().skip(column).step_by(width.max(1)).copied().take(count).collect());
        Ok(Self { names: Vec::new(), rows: PointRows::Numbers(columns.collect()) })
    }

    /// Returns the points of the columns of a table.
    pub fn from_columns(columns: Vec<PointColumn>) -> Self {
        let names = columns.iter().map(|column| column.name.clone()).collect();
        Self { names, rows: PointRows::Cells(columns) }
    }

    /// Names of the columns. Empty if the file does not name them.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns longitudes and latitudes in degrees. A value that is missing is NaN.
    ///
    /// Columns of positions have a pair of the usual names, such as `ra` and `dec`, or are the first two of a file without names.
    /// Names of Galactic coordinates, such as `glon` and `glat`, are those of positions in the frame
    /// [`PositionFrame::Galactic`] alone.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there are no such columns, if the names are those of
    /// another frame, or if a value is not an angle.
    pub fn positions(&self, frame: PositionFrame) -> Result<[Vec<f64>; 2]> {
        let is_galactic = match frame {
            PositionFrame::Native => None,
            frame => Some(frame == PositionFrame::Galactic),
        };
        let columns = self.find_position(is_galactic, PointUse::Positions)?;
        let [lon, lat]: [Vec<f64>; 2] = self
            .read_columns(&[(columns[0], ColumnKind::Longitude), (columns[1], ColumnKind::Latitude)])?
            .try_into()
            .map_err(|_| Error::malformed("a list of positions without two columns"))?;
        Ok([lon, lat])
    }

    /// Returns the world coordinates of the points in the units of their axes, a column for each world axis.
    ///
    /// The file has positions on the sky in degrees, or as `12:30:00` and `-45:10:05.5`.
    ///
    /// # Errors
    /// Returns the errors of [`PointTable::positions`].
    pub fn world(&self, wcs: &Wcs) -> Result<Vec<Vec<f64>>> {
        let count = wcs.world_axes();
        let sky = wcs.sky().map(|(longitude, latitude)| [longitude, latitude]);
        // The own names of the axes of the sky, else one of the usual pairs.
        let own = |axis: usize| self.place_of(&wcs.world_axis(axis).name.to_lowercase());
        let is_galactic = wcs.sky_frame().map(|frame| frame == SkyFrame::Galactic);
        let place = match sky.map(|axes| axes.map(own)) {
            // Columns of a file without names have the order of the axes.
            _ if self.names.is_empty() => sky,
            Some([Some(longitude), Some(latitude)]) => Some([longitude, latitude]),
            Some(_) => Some(self.find_position(is_galactic, PointUse::World)?),
            None => None,
        };
        // The columns of the sky, and those with the name of an axis.
        let mut found: Vec<Option<usize>> = (0..count)
            .map(|axis| match (sky.and_then(|axes| axes.iter().position(|known| *known == axis)), place) {
                (Some(part), Some(place)) => place.get(part).copied(),
                _ => own(axis),
            })
            .collect();
        // Columns that are left are those of the axes that are left, in their order.
        if self.names.len() == count {
            let mut free = (0..count).filter(|column| !found.contains(&Some(*column))).collect::<Vec<_>>().into_iter();
            found.iter_mut().filter(|column| column.is_none()).for_each(|column| *column = free.next());
        }
        let mut columns = Vec::with_capacity(count);
        for (axis, place) in found.into_iter().enumerate() {
            let kind = match sky {
                Some([longitude, _]) if longitude == axis => ColumnKind::Longitude,
                Some([_, latitude]) if latitude == axis => ColumnKind::Latitude,
                _ => ColumnKind::Number,
            };
            let place = match place {
                Some(place) => place,
                None => self.find_column(axis, count, &[&wcs.world_axis(axis).name.to_lowercase()])?,
            };
            columns.push((place, kind));
        }
        let mut world = self.read_columns(&columns)?;
        for ((_, kind), column) in columns.iter().zip(&mut world) {
            let unit = match kind {
                ColumnKind::Longitude => wcs.sky_units()[0],
                ColumnKind::Latitude => wcs.sky_units()[1],
                ColumnKind::Number => continue,
            };
            column.iter_mut().for_each(|value| *value /= unit);
        }
        Ok(world)
    }

    /// Returns the pixels of the points, a column for each pixel axis, x first.
    ///
    /// # Errors
    /// Returns the errors of [`PointTable::positions`].
    pub fn pixels(&self, wcs: &Wcs) -> Result<Vec<Vec<f64>>> {
        let count = wcs.pixel_axes();
        let mut columns = Vec::with_capacity(count);
        for axis in 0..count {
            let name = wcs.frames().first().and_then(|frame| frame.axes.get(axis)).map(|axis| axis.name.to_lowercase());
            let usual = ["x", "y", "z"].get(axis).copied().unwrap_or_default();
            columns.push((self.find_column(axis, count, &[&name.unwrap_or_default(), usual])?, ColumnKind::Number));
        }
        self.read_columns(&columns)
    }

    /// The column of a name in small letters.
    fn place_of(&self, name: &str) -> Option<usize> {
        let is_it = |column: &String| !name.is_empty() && column.trim().to_lowercase() == name;
        self.names.iter().position(is_it)
    }

    /// The columns of longitude and latitude: by a pair of names; the first two of a file without names. None says that the frame
    /// of the positions is not known.
    fn find_position(&self, is_galactic: Option<bool>, wanted: PointUse) -> Result<[usize; 2]> {
        if self.names.is_empty() {
            return Ok([0, 1]);
        }
        let find = |pairs: &[[&str; 2]]| -> Option<[usize; 2]> {
            pairs.iter().find_map(|[longitude, latitude]| Some([self.place_of(longitude)?, self.place_of(latitude)?]))
        };
        let (usual, galactic) = (find(POSITION_NAMES), find(GALACTIC_NAMES));
        let named = |[longitude, latitude]: [usize; 2]| {
            let name = |at: usize| self.names.get(at).map_or("", |name| name.trim());
            format!("columns {} and {}", name(longitude), name(latitude))
        };
        match (is_galactic, usual, galactic) {
            (Some(false) | None, Some(found), None) | (Some(true) | None, None, Some(found)) => Ok(found),
            (Some(false), Some(found), Some(_)) | (Some(true), Some(_), Some(found)) => Ok(found),
            (Some(false), None, Some(found)) => {
                let message = format!("{} are Galactic coordinates, but {} in another frame", named(found), wanted.subject());
                Err(Error::invalid_input(message).hint(wanted.advice("choose --sky-frame galactic")))
            }
            (Some(true), Some(found), None) if find(&POSITION_NAMES[..POSITION_NAMES.len() - 2]).is_some() => {
                let message = format!("{} are equatorial coordinates, but {} Galactic", named(found), wanted.subject());
                Err(Error::invalid_input(message).hint(wanted.advice("choose another --sky-frame")))
            }
            (Some(true), Some(found), None) => Ok(found),
            (None, Some(found), Some(other)) => {
                let message = format!("positions may be in {} or in {}", named(found), named(other));
                Err(Error::invalid_input(message).hint(wanted.advice("choose --sky-frame")))
            }
            (_, None, None) => {
                let names = if is_galactic == Some(true) { "glon and glat, or l and b" } else { "ra and dec, or lon and lat" };
                Err(Error::invalid_input(format!("cannot find the columns of positions: {names}"))
                    .hint(format!("the columns are {}", self.names.join(", "))))
            }
        }
    }

    /// The column of an axis: by its name; else, if the file has no names or as many columns as there are axes, by its number.
    fn find_column(&self, axis: usize, axes: usize, names: &[&str]) -> Result<usize> {
        match names.iter().find_map(|name| self.place_of(name)) {
            Some(place) => Ok(place),
            None if self.names.is_empty() || self.names.len() == axes => Ok(axis),
            None => {
                let mut wanted: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
                wanted.dedup();
                let message = format!("cannot find column {} of the points", wanted.join(" or "));
                Err(Error::invalid_input(message).hint(format!("the columns are {}", self.names.join(", "))))
            }
        }
    }

    fn read_columns(&self, wanted: &[(usize, ColumnKind)]) -> Result<Vec<Vec<f64>>> {
        let found = self.read_cells(wanted)?;
        for (_, column) in wanted.iter().zip(&found).filter(|((_, kind), _)| *kind == ColumnKind::Latitude) {
            if let Some((row, value)) = column.iter().enumerate().find(|(_, value)| value.abs() > 90.0) {
                let message = format!("cannot read points: point {}: {value} is no latitude", row + 1);
                return Err(Error::invalid_input(message).hint("latitudes are from -90 to 90 degrees"));
            }
        }
        Ok(found)
    }

    fn read_cells(&self, wanted: &[(usize, ColumnKind)]) -> Result<Vec<Vec<f64>>> {
        let missing = |column: usize| Error::invalid_input(format!("cannot read points: there is no column {}", column + 1));
        match &self.rows {
            PointRows::Numbers(columns) if columns.is_empty() && self.names.is_empty() => Ok(vec![Vec::new(); wanted.len()]),
            PointRows::Numbers(columns) if self.names.is_empty() && columns.len() != wanted.len() => {
                let message = format!("points of {} columns (expected {}: a row for each point)", columns.len(), wanted.len());
                Err(Error::invalid_input(message))
            }
            PointRows::Numbers(columns) => {
                let count = columns.iter().map(Vec::len).max().unwrap_or(0);
                let column = |(at, _): &(usize, ColumnKind)| {
                    columns.get(*at).filter(|column| column.len() == count).cloned().ok_or_else(|| missing(*at))
                };
                wanted.iter().map(column).collect()
            }
            PointRows::Cells(columns) => {
                let count = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
                let column = |(at, kind): &(usize, ColumnKind)| {
                    let column = columns.get(*at).ok_or_else(|| missing(*at))?;
                    if column.cells.len() != count {
                        let what = format!("cannot read points: column {} has no numbers", column.name);
                        return Err(Error::invalid_input(what));
                    }
                    column.numbers(*kind)
                };
                wanted.iter().map(column).collect()
            }
            PointRows::Text { text, first_line: first } => {
                let mut columns = vec![Vec::new(); wanted.len()];
                for (number, line) in text.lines().enumerate().skip(*first) {
                    if line.trim().is_empty() || line.starts_with('#') {
                        continue;
                    }
                    let cells = split_csv_line(line);
                    for ((at, kind), column) in wanted.iter().zip(&mut columns) {
                        let wrong =
                            |what: String| Error::invalid_input(format!("cannot read points: line {}: {what}", number + 1));
                        let cell = cells.get(*at).ok_or_else(|| wrong(format!("there is no column {}", at + 1)))?;
                        let value = match kind {
                            _ if cell.is_empty() => Some(f64::NAN),
                            ColumnKind::Longitude => longitude(cell).or_else(|| missing_value(cell)),
                            ColumnKind::Latitude => latitude(cell).or_else(|| missing_value(cell)),
                            ColumnKind::Number => cell.parse().ok(),
                        };
                        column.push(value.ok_or_else(|| wrong(format!("{cell:?} (expected a number)")))?);
                    }
                }
                Ok(columns)
            }
        }
    }
}

/// NaN, if a cell says so.
fn missing_value(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|value: &f64| value.is_nan())
}

/// The cells of a line: separated by commas, some in quotes.
fn split_csv_line(line: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let (mut cell, mut is_quoted, mut letters) = (String::new(), false, line.trim().chars().peekable());
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                cell.push('"');
                letters.next();
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            letter => cell.push(letter),
        }
    }
    cells.push(cell.trim().to_owned());
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(bytes: &[u8]) -> PointTable {
        PointTable::read(std::sync::Arc::new(crate::bytes::MemorySource::new(bytes.to_vec(), "points")), &Limits::default())
            .unwrap()
    }

    #[test]
    fn columns_have_names_or_numbers() {
        for text in ["RA,Dec\n10,-20\n\n", "10,-20", "# ra,dec\n10,-20\n# end\n", "id,dec,\"ra\"\n\"a,b\",-20,00:40:00\n"] {
            assert_eq!(points(text.as_bytes()).positions(PositionFrame::Icrs).unwrap(), [[10.0], [-20.0]], "{text}");
        }
        let gaps = points(b"10,20\n,3\nnan,4\n").positions(PositionFrame::Icrs).unwrap();
        assert!(gaps[0][1].is_nan() && gaps[0][2].is_nan() && gaps[1] == [20.0, 3.0, 4.0]);
        for wrong in ["a,b,c\n1,2,3", "10", "10,20\nx,y", "mag,flux\n1,2", "ra [hour],dec [deg]\n1,2", "ra,dec\n1,91"] {
            assert!(points(wrong.as_bytes()).positions(PositionFrame::Icrs).is_err(), "{wrong}");
        }
        assert!(points(b"").positions(PositionFrame::Icrs).unwrap().iter().all(Vec::is_empty));
    }

    #[test]
    fn rows_of_npy_are_points() {
        let mut bytes = Vec::new();
        Array::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]).unwrap().write_npy(&mut bytes).unwrap();
        assert_eq!(points(&bytes).positions(PositionFrame::Icrs).unwrap(), [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]);
    }

    #[test]
    fn array_has_row_for_each_point() {
        let mut bytes = Vec::new();
        Array::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap().write_npy(&mut bytes).unwrap();
        assert!(points(&bytes).positions(PositionFrame::Icrs).is_err());
    }

    /// Tier: first. Columns of one position are a pair, whose names may say the frame.
    #[test]
    fn names_of_positions_are_pairs_of_frame() {
        let read =
            |text: &str, frame: &str| points(text.as_bytes()).positions(frame.parse().unwrap()).ok().map(|[a, b]| (a[0], b[0]));
        for (text, frame, expected) in [
            ("id,B,V,ra,dec\n1,15,14,150,22", "icrs", Some((150.0, 22.0))),
            ("lon,ra,dec\n1,150,22", "icrs", Some((150.0, 22.0))),
            ("glon,glat,ra,dec\n1,2,150,22", "icrs", Some((150.0, 22.0))),
            ("glon,glat,ra,dec\n1,2,150,22", "galactic", Some((1.0, 2.0))),
            ("ra,dec,l,b\n150,22,1,2", "galactic", Some((1.0, 2.0))),
            ("glon,glat\n1,2", "galactic", Some((1.0, 2.0))),
            ("glon,glat\n1,2", "native", Some((1.0, 2.0))),
            ("lon,lat\n1,2", "galactic", Some((1.0, 2.0))),
            ("glon,glat\n1,2", "icrs", None),
            ("l,b\n1,2", "fk5", None),
            ("ra,dec\n1,2", "galactic", None),
            ("ra,dec,glon,glat\n1,2,3,4", "native", None),
            ("ra,lat\n1,2", "icrs", None),
        ] {
            assert_eq!(read(text, frame), expected, "{text} {frame}");
        }
    }
}
