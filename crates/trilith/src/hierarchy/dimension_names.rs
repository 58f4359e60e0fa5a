//! Names of axes: those in the file, else those of the conventions of an instrument.
//!
//! - A gwcs next to an array names the pixel axes of its first frame, in the order x, y: the axes of the array are the same
//!   names in the other order.
//! - Data models of Roman and JWST have images along `y` and `x`, before these `resultant`, or `integration` and `group`.
//! - A layout, and with it a file of another format, says them with an attribute; otherwise the parameters that are lengths of
//!   axes name these.
//!
//! Axes without a name are `dim_0`, `dim_1` and so on: those of one shape in one group share them, those of the next shape
//! have the numbers that follow.

use std::collections::HashMap;

use crate::file::{Item, ItemKind};

const DATAMODELS_TAG_PREFIX: &str = "asdf://stsci.edu/datamodels/";

/// Places in a group that describe the world coordinates of its pixels.
const WCS_PATHS: &[&[&str]] = &[&["meta", "wcs"], &["wcs"]];
const AXIS_NAMES_PATH: &[&str] = &["steps", "0", "frame", "axes_names"];

/// Conventions of a group of a tree for the axes of all arrays in it: by its WCS, or by the data model of an
/// instrument.
#[derive(Debug, Clone)]
pub struct DimensionConventions {
    names: Vec<String>,
    telescope: Option<String>,
}

impl DimensionConventions {
    /// Returns the conventions of a group, or None if it has none.
    ///
    /// ```
    /// use trilith::hierarchy::DimensionConventions;
    ///
    /// let text = "#ASDF 1.0.0\n--- {meta: {telescope: ROMAN}, data: 1}\n...\n";
    /// let file = trilith::OpenOptions::new().open_bytes(text.as_bytes().to_vec())?;
    /// let found = DimensionConventions::detect(&file.root()).expect("Roman has conventions");
    /// assert_eq!(found.names("data", 3).expect("a cube has names"), ["resultant", "y", "x"]);
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn detect(group: &Item<'_>) -> Option<Self> {
        let telescope = detect_telescope(group);
        let image = || vec!["y".to_owned(), "x".to_owned()];
        let names = pixel_axis_names(group).or_else(|| telescope.as_ref().map(|_| image()))?;
        Some(Self { names, telescope })
    }

    /// The names of the axes of an array under a key; None if there are none.
    pub fn names(&self, key: &str, axes: usize) -> Option<Vec<String>> {
        let count = axes.checked_sub(self.names.len())?;
        let first: &[&str] = match (count, key, self.telescope.as_deref()) {
            (0, _, _) => &[],
            // Bits of one number, whose first axis counts the numbers.
            (1, "context", _) => &["plane"],
            (1, _, Some("ROMAN")) => &["resultant"],
            (1, _, Some("JWST")) => &["integration"],
            (2, _, Some("JWST")) => &["integration", "group"],
            _ => return None,
        };
        Some(first.iter().map(|name| (*name).to_owned()).chain(self.names.iter().cloned()).collect())
    }
}

fn detect_telescope(group: &Item<'_>) -> Option<String> {
    if let Some(model) = group.metadata().tag.and_then(|tag| tag.strip_prefix(DATAMODELS_TAG_PREFIX)) {
        return Some(model.split('/').next().unwrap_or(model).to_uppercase());
    }
    let named = find_descendant(group, &["meta", "telescope"])?.text().ok()?.to_uppercase();
    matches!(named.as_str(), "ROMAN" | "JWST").then_some(named)
}

/// The names of the pixel axes of the world of a group, in the order of an array.
fn pixel_axis_names(group: &Item<'_>) -> Option<Vec<String>> {
    let named = WCS_PATHS.iter().find_map(|world| find_descendant(&find_descendant(group, world)?, AXIS_NAMES_PATH))?;
    let list = named.children().ok()?;
    let name = |item: &Item<'_>| (item.kind() == ItemKind::Text).then(|| item.text().ok().map(|text| text.into_owned()))?;
    let names: Option<Vec<String>> = list.iter().map(|(_, item)| name(item).filter(|name| !name.is_empty())).collect();
    names.filter(|names| !names.is_empty()).map(|mut names| {
        names.reverse();
        names
    })
}

/// Returns the item at a path below another, by names in mappings and numbers in lists. References are followed.
pub(super) fn find_descendant<'f>(item: &Item<'f>, path: &[&str]) -> Option<Item<'f>> {
    let mut at = item.resolve().ok()?;
    for key in path {
        let number = match at.kind() {
            ItemKind::List => key.parse().ok()?,
            ItemKind::Mapping => at.children().ok()?.iter().position(|(name, _)| name.as_deref() == Some(*key))?,
            _ => return None,
        };
        at = at.child(number).ok()??.resolve().ok()?;
    }
    Some(at)
}

/// Returns the names in a file for the axes of one array; an axis without a name has None. None if there are no names.
pub type StatedNames = Option<Vec<Option<String>>>;

/// The axes of one array of a group.
#[derive(Debug, Clone)]
pub struct ArrayAxes<'a> {
    /// Key of the array in its group.
    pub key: &'a str,
    /// Length of each axis.
    pub shape: &'a [u64],
    /// Names in the file.
    pub stated_names: StatedNames,
}

/// The names that were given to axes in a group and the groups above it: every axis gets one, and no name has two lengths
/// in one group.
///
/// ```
/// use trilith::hierarchy::{ArrayAxes, DimensionNames};
///
/// let arrays = [
///     ArrayAxes { key: "image", shape: &[4, 5], stated_names: Some(vec![Some("y".to_owned()), None]) },
///     ArrayAxes { key: "table", shape: &[7], stated_names: None },
///     ArrayAxes { key: "other", shape: &[7], stated_names: None },
/// ];
/// let names = DimensionNames::default().assign_names(&arrays, &[]);
/// assert_eq!(names, [vec!["y", "image_1"], vec!["dim_0"], vec!["dim_0"]]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct DimensionNames {
    shapes: HashMap<Vec<u64>, Vec<String>>,
    count: usize,
}

impl DimensionNames {
    /// The names of the axes of the arrays of one group. `first` are the names of the first axes of all.
    pub fn assign_names(&mut self, arrays: &[ArrayAxes<'_>], first: &[String]) -> Vec<Vec<String>> {
        let mut lengths: HashMap<String, u64> = HashMap::new();
        let mut named = Vec::with_capacity(arrays.len());
        for ArrayAxes { key, shape, stated_names } in arrays {
            let is_named = |said: &&Vec<Option<String>>| {
                let leading = said.iter().zip(first).take_while(|(said, name)| said.as_ref() == Some(name)).count();
                said.len() == shape.len() && said.iter().skip(leading).any(Option::is_some)
            };
            let Some(said) = stated_names.as_ref().filter(is_named) else {
                named.push(None);
                continue;
            };
            // If a name would have two lengths, the later array has its own.
            let own = said.iter().zip(*shape).enumerate().map(|(axis, (name, length))| {
                let name = name.clone().unwrap_or_else(|| format!("{key}_{axis}"));
                let known = *lengths.entry(name.clone()).or_insert(*length);
                if known == *length { name } else { format!("{key}_{name}") }
            });
            named.push(Some(own.collect()));
        }
        let all = named.into_iter().zip(arrays);
        all.map(|(names, array)| names.unwrap_or_else(|| self.by_shape(array.shape, first))).collect()
    }

    fn by_shape(&mut self, shape: &[u64], first: &[String]) -> Vec<String> {
        let inner = shape.get(first.len()..).unwrap_or_default();
        let names = match self.shapes.get(inner) {
            Some(names) => names.clone(),
            None => {
                let names: Vec<String> = (0..inner.len()).map(|axis| format!("dim_{}", self.count + axis)).collect();
                self.count += names.len();
                self.shapes.insert(inner.to_vec(), names.clone());
                names
            }
        };
        first.iter().take(shape.len()).cloned().chain(names).collect()
    }
}
