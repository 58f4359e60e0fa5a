//! The unit of an array: what is next to it in the quantity or the column that holds it.

use super::AsdfFile;
use crate::tree::Node;

/// The key under which a quantity holds its numbers, and that of a column.
const VALUE_KEYS: &[&str] = &["value", "data"];

impl AsdfFile {
    /// The unit of an array of this file: that of the quantity whose `value` it is, or of the column whose `data`.
    ///
    /// ```
    /// # let text = b"#ASDF 1.0.0\n%YAML 1.1\n--- {q: {value: !<tag:stsci.edu:asdf/core/ndarray-1.0.0> [1.5], unit: m / s}}\n...\n";
    /// let file = trilith::open_asdf_bytes(text.to_vec())?;
    /// assert_eq!(file.unit_of(file.tree().node_at_pointer("/q/value").unwrap()).as_deref(), Some("m / s"));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn unit_of(&self, array: Node<'_>) -> Option<String> {
        let path = self.tree().path_of(array.id())?;
        let (above, key) = path.split_last()?;
        let unit = VALUE_KEYS.contains(&key).then(|| self.tree().find(&above)).flatten()?.get("unit")?;
        unit.is_scalar().then(|| unit.text().into_owned())
    }
}
