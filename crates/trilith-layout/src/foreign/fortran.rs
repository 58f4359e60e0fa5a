//! Records of unformatted Fortran files: the length of each before and after it, in 4 or 8 bytes of either order.
//!
//! The file does not describe the content of a record, so records are bytes. Long records are cut into pieces: the
//! length before a piece is negative if another follows, and that after it if one precedes it.

use super::recognize::{RecordMarkers, Subrecord, subrecords};
use crate::bytes::SourceRef;
use crate::error::{Error, Result};
use crate::layout::{ElementSpec, ItemSpec, Layout, LayoutBuilder, StorageField, TypeSpec};
use crate::limits::Limits;

/// The layout of a file of records.
pub(super) fn derive_layout(source: &SourceRef, limits: &Limits) -> Result<Layout> {
    let marks = RecordMarkers::detect(&**source).ok_or_else(|| Error::malformed("the lengths of its records do not agree"))?;
    let mut all: Vec<Vec<Subrecord>> = Vec::new();
    let mut record = Vec::new();
    for piece in subrecords(&**source, marks) {
        let piece = piece?;
        record.push(piece);
        if all.len() as u64 >= limits.items || record.len() as u64 > limits.items {
            return Err(Limits::exceeded_error("items", limits.items, "the file has more records"));
        }
        if !piece.is_continued {
            all.push(std::mem::take(&mut record));
        }
    }
    let mut builder = LayoutBuilder::new("a file of unformatted Fortran records", limits);
    builder.write_comment_lines("the file does not state the type of its records: replace u1[8] by f8 if you know it")?;
    match all.first().map(|record| &record[..]) {
        Some([first]) if all.iter().all(|record| matches!(record[..], [only] if only.len == first.len)) => {
            let (length, width, end) = (marks.layout_type(), marks.width, marks.width + first.len);
            let length = |at| TypeSpec::from_name(length).with_shape(Vec::new()).with_offset(at);
            let members = vec![
                length(0).into_member("begin"),
                ItemSpec::bytes(first.len).with_offset(width).into_member("data"),
                length(end).into_member("end"),
            ];
            builder.write_item("records", &TypeSpec::Struct(members).with_shape(vec![all.len() as u64]).with_offset(0))?;
            builder.write_field(StorageField::Column("data".to_owned()))?;
        }
        _ => builder.raw_list("records", all.iter().map(|record| record_element(record)))?,
    }
    builder.write_attribute("fortran_markers", marks.layout_type())?;
    Ok(builder.finish())
}

/// A record as an item of a list; one of several pieces is a list of them.
fn record_element(record: &[Subrecord]) -> ElementSpec {
    let piece = |piece: &Subrecord| ItemSpec::bytes(piece.len).with_offset(piece.begin);
    match record {
        [only] => ElementSpec::Item(piece(only)),
        _ => ElementSpec::List(record.iter().map(piece).collect()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bytes::MemorySource;

    fn text(bytes: &[u8]) -> Result<String> {
        let layout = derive_layout(&(Arc::new(MemorySource::new(bytes.to_vec(), "x")) as _), &Limits::default())?;
        Ok(layout.text().to_owned())
    }

    #[test]
    fn equal_records_form_array_others_form_list() {
        let mut bytes = Vec::new();
        for record in [[1u8, 2, 3], [4, 5, 6]] {
            bytes.extend(3i32.to_be_bytes());
            bytes.extend(record);
            bytes.extend(3i32.to_be_bytes());
        }
        let said = "records = {begin = >i4 @0  data = u1[3] @4  end = >i4 @7}[2] @0";
        assert!(text(&bytes).unwrap().contains(said));
        bytes.extend([0; 8]);
        assert!(text(&bytes).unwrap().contains("u1[3] @4,") && text(&bytes).unwrap().contains("u1[0] @26"));
        bytes.extend([0, 0, 0, 1]);
        assert!(text(&bytes).is_err());
    }

    #[test]
    fn empty_first_record_is_recognized() {
        for (width, is_big) in [(4, false), (4, true), (8, false), (8, true)] {
            let mark = |number: i64| {
                let bytes = if is_big { number.to_be_bytes() } else { number.to_le_bytes() };
                if is_big { bytes[8 - width..].to_vec() } else { bytes[..width].to_vec() }
            };
            let records: Vec<u8> =
                [0, 3, 0].iter().flat_map(|len| [mark(*len), vec![7; *len as usize], mark(*len)].concat()).collect();
            let found = text(&records).unwrap();
            let has = |item: String| found.contains(&item);
            assert!(has(format!("u1[0] @{width},")) && has(format!("u1[3] @{},", 3 * width)), "{found}");
            assert!(text(&records[..2 * width]).is_err() && text(&records[..2 * width + 3]).is_err());
        }
    }

    #[test]
    fn subrecords_form_one_record() {
        let mut bytes = Vec::new();
        for (before, piece, behind) in [(-2i64, [1u8, 2], 2i64), (-2, [3, 4], -2), (2, [5, 6], -2)] {
            bytes.extend(before.to_le_bytes());
            bytes.extend(piece);
            bytes.extend(behind.to_le_bytes());
        }
        assert!(text(&bytes).unwrap().contains("[u1[2] @8, u1[2] @26, u1[2] @44],"), "{}", text(&bytes).unwrap());
        // A piece that declares a predecessor, but has none.
        bytes.truncate(0);
        for number in [1i32, 7, -1] {
            bytes.extend(number.to_le_bytes());
        }
        assert!(text(&bytes).is_err());
    }
}
