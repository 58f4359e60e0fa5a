//! The order of the bytes of a number: [`Byteorder`].

use std::fmt;

/// The order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Byteorder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Byteorder {
    /// The order of the machine that this runs on.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// `little` or `big`, as ASDF writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Little => "little",
            Self::Big => "big",
        }
    }

    /// The order called `little` or `big`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "little" => Some(Self::Little),
            "big" => Some(Self::Big),
            _ => None,
        }
    }

    /// The character that means it in a Dudley layout, `<` or `>`.
    pub fn sign(self) -> char {
        match self {
            Self::Little => '<',
            Self::Big => '>',
        }
    }
}

impl fmt::Display for Byteorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
