//! Digests of arrays: SHA-256 of the elements, whatever way they are stored.

use sha2::{Digest as _, Sha256};

use crate::array::Array;
use crate::error::Result;

/// Bytes hashed at once; large, so that a compressed block is decoded in few calls.
const PIECE: usize = 8 << 20;

/// What one array holds, as two hexadecimal SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayDigest {
    /// Of the elements in C order, packed, little-endian; of the values that stand under a mask too.
    pub sha256: String,
    /// Of the mask, one byte 0 or 1 for each element; nothing where there is no mask.
    pub mask_sha256: Option<String>,
}

/// The digest of one array, read piece by piece.
///
/// ```
/// use trilith::array::Array;
/// let one = Array::from_slice(&[1i16, 2], &[2])?;
/// let digest = trilith::digest::array_digest(&one)?;
/// assert_eq!(digest.sha256, "7b11c1133330cd161071bf23a0c9b6ce5320a8f3a0f83620035a72be46df4104");
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// As [`Array::load`] and [`Array::mask_bytes`].
pub fn array_digest(array: &Array) -> Result<ArrayDigest> {
    let sha256 = hash(|take| array.for_each_piece(PIECE, take))?;
    let mask_sha256 = match array.mask() {
        Some(_) => Some(hash(|take| array.for_each_mask_piece(PIECE, take))?),
        None => None,
    };
    Ok(ArrayDigest { sha256, mask_sha256 })
}

fn hash(pieces: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>) -> Result<String> {
    let mut hasher = Sha256::new();
    pieces(&mut |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use super::*;
    use crate::array::{Byteorder, Datatype, Field, Mask, StructType};
    use crate::bytes::{OpenOptions, open};

    /// The folder of sample files, where there is one.
    fn corpus() -> Option<PathBuf> {
        let given = std::env::var_os("TRILITH_SHARED").map(PathBuf::from);
        let near = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared"));
        given.into_iter().chain(near).map(|shared| shared.join("corpus")).find(|corpus| corpus.is_dir())
    }

    /// The arrays of a sample file, told what its tree says: path, byte at which it starts, and so on.
    fn sample(file: &str, offset: u64, datatype: Datatype, shape: &[u64]) -> Option<(Array, serde_json::Value)> {
        let Some(corpus) = corpus() else {
            eprintln!("skipped: ../shared/corpus is not there");
            return None;
        };
        let expect = open(corpus.join(format!("{file}.expect.json")), OpenOptions::default()).unwrap();
        let mut text = vec![0; expect.len() as usize];
        expect.read_at(0, &mut text).unwrap();
        let expect: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let source = open(corpus.join(format!("{file}.asdf")), OpenOptions::default()).unwrap();
        let array = Array::new(source, offset, datatype, Byteorder::Little, shape.to_vec()).unwrap();
        Some((array, expect["arrays"].clone()))
    }

    #[test]
    fn a_masked_array_of_the_reference_implementation() {
        let Some((array, expect)) = sample("asdf-6.0.0-std-1.6.0/mask", 819, Datatype::Float64, &[3, 4]) else { return };
        let mask = Array::new(Arc::clone(array.source()), 969, Datatype::Bool8, Byteorder::Big, vec![3, 4]).unwrap();
        let digest = array_digest(&array.with_mask(Mask::Array(Arc::new(mask))).unwrap()).unwrap();
        assert_eq!(digest.sha256, expect["/m"]["sha256_le"]);
        assert_eq!(digest.mask_sha256.unwrap(), expect["/m"]["mask_sha256"]);
    }

    #[test]
    fn a_structured_array_of_the_reference_implementation() {
        let row = StructType::packed_from(vec![
            Field::new("a", Datatype::Int32, Byteorder::Little),
            Field::new("b", Datatype::Float64, Byteorder::Little),
            Field::new("c", Datatype::Uint8, Byteorder::Big),
        ]);
        let row = Datatype::Struct(Arc::new(row.unwrap()));
        let Some((array, expect)) = sample("asdf-6.0.0-std-1.6.0/table", 855, row, &[3]) else { return };
        assert_eq!(array_digest(&array).unwrap().sha256, expect["/t"]["sha256_le"]);
    }

    #[test]
    fn an_empty_array_has_the_digest_of_nothing() {
        let empty = Array::from_slice(&[0f64; 0], &[0, 3]).unwrap();
        let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(array_digest(&empty).unwrap().sha256, nothing);
    }
}
