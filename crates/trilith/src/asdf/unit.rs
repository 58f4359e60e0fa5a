//! The unit of an array: what is next to it in the quantity or the column that holds it.

use super::AsdfFile;
use crate::tree::Node;

/// The key under which a quantity holds its numbers, and that of a column.
const VALUE_KEYS: &[&str] = &["value", "data"];

impl AsdfFile {
    /// The unit of an array of this file: that of the quantity whose `value` it is, or of the column whose `data`; or the
    /// unit of a quantity or a column itself.
    ///
    /// ```
    /// # let text = b"#ASDF 1.0.0\n%YAML 1.1\n--- {q: {value: !<tag:stsci.edu:asdf/core/ndarray-1.0.0> [1.5], unit: m / s}}\n...\n";
    /// let file = trilith::open_asdf_bytes(text.to_vec())?;
    /// assert_eq!(file.unit_of(file.tree().node_at_pointer("/q/value").unwrap()).as_deref(), Some("m / s"));
    /// assert_eq!(file.unit_of(file.tree().node_at_pointer("/q").unwrap()).as_deref(), Some("m / s"));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn unit_of(&self, array: Node<'_>) -> Option<String> {
        if array.is_mapping() && VALUE_KEYS.iter().any(|key| array.get(key).is_some()) && array.get("unit").is_some() {
            return unit_text(array);
        }
        let path = self.tree().path_of(array.id())?;
        let (above, key) = path.split_last()?;
        unit_text(VALUE_KEYS.contains(&key).then(|| self.tree().find(&above)).flatten()?)
    }
}

/// The unit that a quantity or a column declares.
fn unit_text(owner: Node<'_>) -> Option<String> {
    let unit = owner.get("unit").filter(|unit| unit.is_scalar() && !unit.is_null())?;
    Some(unit.text().into_owned())
}
