//! Digests of the content of arrays, independent of its storage: SHA-256 of canonical bytes.
//!
//! The hashed bytes are the elements in C order, packed, little-endian: structures field by field without padding,
//! booleans as one byte 0 or 1, text padded with NUL. They do not depend on compression, byte order, strides or
//! generation.
//!
//! One long string among many short ones makes padding many times as large as the strings. If an array of UTF-8 strings
//! has more than 1 MiB and four times (8 bytes and the bytes of the string, for each element), then the hashed bytes of
//! each string are its length as 8 bytes, little-endian, and its bytes without padding.

use std::any::Any;
use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use crate::array::{Array, Byteorder, Datatype, Mask};
use crate::dudley::{DudleyFile, LayoutOrigin};
use crate::error::Result;
use crate::file::{Backend, File, ItemKind, ItemLocation, ListedArray, listed_arrays};

/// Bytes hashed at a time; large, so that a compressed block is decoded in few calls.
const BUFFER_SIZE: usize = 8 << 20;

/// The digest of one array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Digest {
    /// SHA-256 of the canonical bytes: masked elements as stored, and 0 if the file declares them missing.
    pub sha256: [u8; 32],
    /// SHA-256 of the mask, broadcast to the array's shape, one byte 0 or 1 an element; None without a mask.
    pub mask_sha256: Option<[u8; 32]>,
}

impl Digest {
    /// Hashes an array, piece by piece.
    ///
    /// # Errors
    /// Returns an error if the elements cannot be read or decoded.
    ///
    /// ```
    /// use trilith::{array::Array, check::Digest};
    /// let array = Array::from_slice(&[1i16, 2], &[2])?;
    /// assert_eq!(Digest::compute(&array)?.sha256[..4], [0x7b, 0x11, 0xc1, 0x13]);
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn compute(array: &Array) -> Result<Self> {
        let clears = array.mask_means_missing();
        if clears || array.mask().is_some_and(|mask| !matches!(mask, Mask::Array(_))) {
            return Self::compute_masked(array, clears);
        }
        let sha256 = match array.is_mostly_padding()? {
            true => hash_sha256(|take| {
                array.strings().try_for_each(|text| {
                    let text = text?;
                    take(&(text.len() as u64).to_le_bytes())?;
                    take(&text)
                })
            })?,
            false => hash_sha256(|take| array.for_each_piece(BUFFER_SIZE, take))?,
        };
        let mask_sha256 = match array.mask() {
            Some(_) => Some(hash_sha256(|take| array.for_each_mask_piece(BUFFER_SIZE, take))?),
            None => None,
        };
        Ok(Self { sha256, mask_sha256 })
    }

    /// Hashes the canonical bytes of an array, with 0 for what is masked if `clears`, and its mask. A mask by value looks at the
    /// elements, which may be a stream, so both are made from one copy.
    fn compute_masked(array: &Array, clears: bool) -> Result<Self> {
        array.charge_element_visits()?;
        let mut widths = Vec::new();
        widths_of(array.datatype(), &mut widths);
        if array.mask_bytes_per_element() == 1 && widths.len() > 1 {
            widths = vec![usize::try_from(array.datatype().packed_size()).unwrap_or(0)];
        }
        let (mut sha, mut mask_sha) = (Sha256::new(), Sha256::new());
        for block in array.row_blocks(BUFFER_SIZE as u64) {
            let block = block.to_memory(Byteorder::Little)?;
            let marks = block.mask_bytes()?.unwrap_or_default();
            let mut bytes = block.without_mask().read_bytes(Byteorder::Little)?;
            let mut rest = &mut bytes[..];
            for (mark, width) in marks.iter().zip(widths.iter().cycle()) {
                let (value, later) = std::mem::take(&mut rest).split_at_mut_checked(*width).unwrap_or_default();
                if *mark != 0 && clears {
                    value.fill(0);
                }
                rest = later;
            }
            sha.update(&bytes);
            mask_sha.update(&marks);
        }
        Ok(Self { sha256: sha.finalize().into(), mask_sha256: Some(mask_sha.finalize().into()) })
    }
}

/// The packed bytes of each value of an element.
fn widths_of(datatype: &Datatype, widths: &mut Vec<usize>) {
    let Datatype::Struct(fields) = datatype else {
        return widths.push(usize::try_from(datatype.packed_size()).unwrap_or(0));
    };
    for field in fields.fields() {
        for _ in 0..field.count() {
            widths_of(&field.datatype, widths);
        }
    }
}

fn hash_sha256(pieces: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>) -> Result<[u8; 32]> {
    let mut sha = Sha256::new();
    pieces(&mut |piece| {
        sha.update(piece);
        Ok(())
    })?;
    Ok(sha.finalize().into())
}

/// One array of a listing: its path, and its digest or why there is none.
#[derive(Debug)]
#[non_exhaustive]
pub struct DigestEntry {
    /// JSON Pointer of the ndarray.
    pub path: String,
    /// The array and its digest.
    pub digest: Result<(Array, Digest)>,
}

impl File {
    /// The digests of every array, like [`digest_arrays`].
    ///
    /// # Errors
    /// Returns the errors of [`digest_arrays`].
    pub fn digest(&self) -> Result<Vec<DigestEntry>> {
        digest_arrays(self.backend())
    }

    /// The digests of the array at a path, or of every array below it; references are not followed. A path to a column of a
    /// table is that of an array.
    ///
    /// # Errors
    /// Returns the errors of [`File::item`] and [`digest_arrays`].
    pub fn digest_at(&self, path: &str) -> Result<Vec<DigestEntry>> {
        let item = self.item(path)?;
        let _call = item.backend().limits().call();
        let (mut entries, mut walk) = (Vec::new(), item.walk());
        while let Some(visit) = walk.try_next()? {
            if visit.item.kind() == ItemKind::Array {
                let digest = visit.item.array().and_then(|array| {
                    let sums = Digest::compute(&array)?;
                    Ok((array, sums))
                });
                entries.push(DigestEntry { path: format!("{path}{}", walk.path()), digest });
            }
        }
        Ok(entries)
    }
}

/// The digests of every array of a file, in the order of its tree or layout; one bad array does not hide the others.
/// Parameters of a Dudley stream are not arrays; a struct with stored parameters is listed by its members.
///
/// ```
/// let text = b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: !<tag:stsci.edu:asdf/core/ndarray-1.0.0> [1, 2]}\n...\n";
/// let entries = trilith::OpenOptions::new().open_bytes(text.to_vec())?.digest()?;
/// let (array, digest) = entries[0].digest.as_ref().unwrap();
/// assert_eq!((entries[0].path.as_str(), array.shape()), ("/a", &[2][..]));
/// assert_eq!(digest.sha256, trilith::check::Digest::compute(array)?.sha256);
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the file has too many items, and an error if they
/// cannot be found.
pub fn digest_arrays(file: &dyn Backend) -> Result<Vec<DigestEntry>> {
    let _call = file.limits().call();
    // An array that many places refer to is read once, and so are equal views of one block.
    let mut known: HashMap<(*const (), usize), (Array, Digest)> = HashMap::new();
    let mut views: HashMap<ArrayIdentity, (Array, Digest)> = HashMap::new();
    let digest = |listed: ListedArray| {
        let digest = listed.target.and_then(|found| {
            let file = found.external_file.as_deref().unwrap_or(file);
            let place = match found.place {
                ItemLocation::Node(number) => Some((std::ptr::from_ref(file).cast::<()>(), number)),
                ItemLocation::Array { .. } => None,
            };
            if let Some((array, digest)) = place.and_then(|place| known.get(&place)) {
                return Ok((array.clone(), *digest));
            }
            let array = file.array(&found.place)?;
            let view = ArrayIdentity::from_array(&array).filter(|_| views.len() < MAX_CACHED);
            let digest = match view.as_ref().and_then(|view| views.get(view)) {
                Some((_, digest)) => *digest,
                None => {
                    // A stored member of an archive is read to its end, too, but no decoder compares its CRC-32.
                    let stream = (file as &dyn Any).downcast_ref::<DudleyFile>();
                    if stream.is_some_and(|file| matches!(file.origin(), LayoutOrigin::Derived("NPZ"))) {
                        array.verify_checksum()?;
                    }
                    Digest::compute(&array)?
                }
            };
            if let Some(view) = view {
                // The array is kept with it, so that no other source gets the address of its source.
                views.entry(view).or_insert_with(|| (array.clone(), digest));
            }
            if let Some(place) = place.filter(|_| known.len() < MAX_CACHED) {
                known.insert(place, (array.clone(), digest));
            }
            Ok((array, digest))
        });
        DigestEntry { path: listed.path, digest }
    };
    Ok(listed_arrays(file)?.into_iter().map(digest).collect())
}

/// Number of arrays that are kept in mind.
const MAX_CACHED: usize = 1 << 16;

/// Identity of the elements of an array without a mask: equal identities have the same content.
#[derive(PartialEq, Eq, Hash)]
struct ArrayIdentity {
    source: *const (),
    offset: u64,
    datatype: Datatype,
    byteorder: Byteorder,
    shape: Vec<u64>,
    strides: Vec<i64>,
}

impl ArrayIdentity {
    fn from_array(array: &Array) -> Option<Self> {
        let (shape, strides) = (array.shape().to_vec(), array.strides().to_vec());
        let (datatype, byteorder) = (array.datatype().clone(), array.byteorder());
        let source = std::sync::Arc::as_ptr(array.source()).cast();
        array.mask().is_none().then_some(Self { source, offset: array.offset(), datatype, byteorder, shape, strides })
    }
}
