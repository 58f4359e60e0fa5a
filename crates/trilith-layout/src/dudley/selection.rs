//! The choice of some files of a set, and the form of items whose shape differs between them.

use std::ops::Range;

use crate::error::{Error, Result};

/// The files of a set that are read, and the form that their items have together.
///
/// ```
/// use trilith_layout::dudley::{FileSelection, ShapeMismatch};
/// let chosen = FileSelection::parse("0:10,20:,pad")?;
/// assert_eq!(chosen.ranges, [Some(0)..Some(10), Some(20)..None]);
/// assert_eq!(chosen.unequal, ShapeMismatch::Padded);
/// # Ok::<(), trilith_layout::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FileSelection {
    /// Numbers of files, counted from 0, in this order; None is the first or the last. All files if there are none.
    pub ranges: Vec<Range<Option<usize>>>,
    /// A condition on the values of the summary block, such as `time > 3.5`.
    pub condition: Option<String>,
    /// Names of axes along which an item that has one is joined.
    pub along: Vec<String>,
    /// The form of any other item whose shape differs between the files.
    pub unequal: ShapeMismatch,
}

/// The form of an item whose shape differs between the files of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ShapeMismatch {
    /// An error that names two of the files.
    #[default]
    Refused,
    /// A list with one array for each file.
    PerFile,
    /// One array of the maximum shape, in which the padding of each item is masked.
    Padded,
}

impl FileSelection {
    /// Reads ranges of files and forms, with commas between: `0:10`, `20:`, `pad`, `each`, `along=NAME`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for anything else, and for two forms.
    pub fn parse(text: &str) -> Result<Self> {
        let mut chosen = Self::default();
        text.split(',').try_for_each(|word| chosen.add(word.trim()))?;
        Ok(chosen)
    }

    /// Adds one range or form, as [`FileSelection::parse`] reads it.
    ///
    /// # Errors
    /// Returns the errors of [`FileSelection::parse`].
    pub fn add(&mut self, word: &str) -> Result<()> {
        let unequal = match word {
            "pad" => ShapeMismatch::Padded,
            "each" => ShapeMismatch::PerFile,
            _ => match word.strip_prefix("along=").map(str::trim).filter(|name| !name.is_empty()) {
                Some(name) => {
                    self.along.push(name.to_owned());
                    return Ok(());
                }
                None => {
                    self.ranges.push(parse_file_range(word)?);
                    return Ok(());
                }
            },
        };
        if self.unequal != ShapeMismatch::Refused && self.unequal != unequal {
            return Err(Error::invalid_input("pad and each exclude each other"));
        }
        self.unequal = unequal;
        Ok(())
    }

    /// Returns `true` if nothing is chosen: all files, whose items have one shape.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl From<Vec<Range<Option<usize>>>> for FileSelection {
    fn from(ranges: Vec<Range<Option<usize>>>) -> Self {
        Self { ranges, ..Self::default() }
    }
}

/// Reads `0:10` or `20:` as a range of files.
fn parse_file_range(text: &str) -> Result<Range<Option<usize>>> {
    let bad = || {
        Error::invalid_input(format!("{text:?} is not a range of files"))
            .hint("write FIRST:END, counted from 0; for items of unequal shape also pad, each, or along=AXIS")
    };
    let number = |part: &str| if part.trim().is_empty() { Ok(None) } else { part.trim().parse().map(Some).map_err(|_| bad()) };
    let (from, to) = text.split_once(':').ok_or_else(bad)?;
    Ok(number(from)?..number(to)?)
}
