//! Names of the kinds of files that no family here reads, with advice.

use super::formats::{ADVICE_ADIOS, ADVICE_PROGRAM, Support};
use crate::bytes::Source;
use crate::error::{Error, Result, SuggestedSetting};

/// Advice for a format that is read elsewhere: a file of the ASDF family is expected here.
const ADVICE_CONVERT: &str =
    "write it as ASDF first, which keeps arrays, groups, attributes and the names of axes: trilith convert FILE OUT.asdf";
const ADVICE_UNZIP: &str = "unpack it with unzip and name the files that it held";
const ADVICE_ZARR: &str = "read it with zarr, or in xarray with open_zarr";

/// Formats that are directories: the files of which one is there, a noun with the article, and advice.
const DIRECTORY_FORMATS: &[(&[&str], &str, &str)] = &[
    (&["zarr.json", ".zgroup", ".zarray", ".zmetadata"], "a Zarr store", ADVICE_ZARR),
    (&["md.idx"], "a directory of ADIOS (BP)", ADVICE_ADIOS),
];

/// The error for a file that begins like none that can be read. Only its first bytes are looked at.
///
/// # Errors
/// Returns an error if the file cannot be read.
#[cold]
pub fn refusal(source: &dyn Source) -> Result<Error> {
    let start = super::read_start(source)?;
    let (what, advice) = describe_content(&start, source);
    let name = source.name();
    let under = "if it holds binary data of a known structure";
    Ok(match what {
        Some(_) if name.ends_with(".dud") => {
            Error::unsupported(format!("{name} is a Dudley layout")).hint("trilith layout check reads it")
        }
        Some(what) => Error::unsupported(format!("{name} is {what}")).hint(advice),
        None if has_hdf5_extension(name) => Error::unsupported(format!("{name} has no superblock of HDF5"))
            .hint("a later member of a family, and the file with the elements of a split file, are read together with the first one: h5repart -family_to_single NAME-%d.h5 OUT.h5 joins a family"),
        None => Error::unsupported(format!("{name} cannot be read: its format is not known (Trilith reads ASDF, FITS, HDF5, netCDF, TIFF, NumPy, Dudley and other formats)"))
            .setting(under, SuggestedSetting::Layout)
            .hint("an ASDF file begins with \"#ASDF 1.0.0\""),
    })
}

/// Returns `true` for the name of an HDF5 file.
fn has_hdf5_extension(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    [".h5", ".hdf5", ".he5", ".hdf"].iter().any(|ending| lower.ends_with(ending))
}

/// The error for a directory that is a file of another format, told by the names of its files; None for any other directory.
#[doc(hidden)]
pub fn dir_refusal(name: &str, has_file: impl Fn(&str) -> bool) -> Option<Error> {
    let found = DIRECTORY_FORMATS.iter().find(|(files, ..)| files.iter().any(|file| has_file(file)));
    found.map(|(_, what, advice)| Error::unsupported(format!("{name} is {what}")).hint(*advice))
}

/// The error for a URL at which there is no file, but a store by its name; None for any other URL.
#[doc(hidden)]
pub fn url_refusal(url: &str) -> Option<Error> {
    let path = url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/');
    path.ends_with(".zarr").then(|| Error::unsupported(format!("{url} is named as a Zarr store")).hint(ADVICE_ZARR))
}

/// Names the content of the first bytes, if it is known, with advice.
fn describe_content(start: &[u8], source: &dyn Source) -> (Option<String>, String) {
    let said = |what: &str, advice: &str| (Some(what.to_owned()), advice.to_owned());
    if source.len() == 0 {
        return said("empty (0 bytes)", "copy or download it again");
    }
    match super::recognize_format(start, source).map(|format| (format.name, format.support)) {
        Some((what, Support::Unsupported(advice))) => return said(what, advice),
        Some((what, Support::Derived(..))) => return said(what, ADVICE_CONVERT),
        None => {}
    }
    if start.starts_with(b"PK\x03\x04") {
        return describe_zip(start);
    }
    if let Some(at) = late_header_offset(start) {
        return (
            Some(format!("not an ASDF file from its first byte on: an ASDF header begins at byte {at}")),
            format!("cut off the bytes before it: tail -c +{} FILE > OUT", at + 1),
        );
    }
    if start.iter().all(|byte| *byte == 0) {
        return said("nothing but zeros at its beginning", "the copy or download may not be complete: repeat it");
    }
    if begins_asdf(start) {
        return said("cut short within the header line of an ASDF file", "copy or download it again");
    }
    text_kind(start).map_or((None, String::new()), |(what, advice)| said(what, advice))
}

/// A ZIP archive by its first member.
fn describe_zip(start: &[u8]) -> (Option<String>, String) {
    let length = start.get(26..28).and_then(|bytes| bytes.try_into().ok()).map_or(0, u16::from_le_bytes);
    let member = start.get(30..30 + usize::from(length)).unwrap_or_default();
    let (what, advice) = match member {
        b"[Content_Types].xml" => ("an Office document", "save its tables as CSV"),
        name if [b".zgroup".as_slice(), b".zarray", b".zattrs", b".zmetadata", b"zarr.json"]
            .iter()
            .any(|file| name.ends_with(file)) =>
        {
            ("a Zarr store in a ZIP archive", "read it with zarr (ZipStore)")
        }
        _ => ("a ZIP archive", ADVICE_UNZIP),
    };
    (Some(what.to_owned()), advice.to_owned())
}

/// Returns the offset of an ASDF header line that follows something else, at the start of a line.
fn late_header_offset(start: &[u8]) -> Option<usize> {
    start.windows(7).position(|bytes| bytes == b"\n#ASDF ").map(|at| at + 1)
}

/// Returns `true` if these are less than a header line.
fn begins_asdf(start: &[u8]) -> bool {
    [b"#ASDF 1.0.0".as_slice(), b"SIMPLE  ="]
        .iter()
        .any(|mark| start.len() > 1 && start.len() < mark.len() && mark.starts_with(start))
}

/// Returns the kind of a text, or None if it is not text.
fn text_kind(start: &[u8]) -> Option<(&'static str, &'static str)> {
    // The last character may be cut.
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(start.get(..error.valid_up_to())?).ok()?,
        Err(_) => return None,
    };
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}')) {
        return None;
    }
    let text = text.trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
    let web = "a server may have answered with it instead of the file: check the URL, and whether you must log in";
    let yaml = "an ASDF file begins with \"#ASDF 1.0.0\", and its tree with \"%YAML 1.1\" and \"---\"";
    Some(if begins(&["<!doctype html", "<html", "<head", "<body"]) {
        ("a web page (HTML)", web)
    } else if begins(&["<?xml", "<"]) {
        if text.contains("<error>") { ("an error message of a server (XML)", web) } else { ("an XML file", web) }
    } else if begins(&["{", "["]) && is_json(&text) {
        ("a JSON file, not an ASDF file", "trilith set FILE#/path VALUE writes its values into one")
    } else if begins(&["%yaml", "---"]) {
        ("a YAML file without the header of ASDF", yaml)
    } else if begins(&["#!"]) {
        ("a script", ADVICE_PROGRAM)
    } else {
        (
            "a text file without the signature of a format that is read",
            "an ASDF file begins with \"#ASDF 1.0.0\", a FITS file with \"SIMPLE  =\"",
        )
    })
}

/// Returns `true` if text that opens a bracket goes on like JSON; a Dudley layout does not.
fn is_json(text: &str) -> bool {
    let next = text.get(1..).unwrap_or("").trim_start().chars().next();
    next.is_some_and(|c| match text.as_bytes().first() {
        Some(b'{') => matches!(c, '"' | '}'),
        _ => matches!(c, '"' | '[' | '{' | ']' | '-' | '0'..='9' | 't' | 'f' | 'n'),
    })
}

#[cfg(test)]
mod tests {
    use super::super::formats::{FORMATS, MagicRule};
    use super::*;
    use crate::bytes::MemorySource;

    fn said(bytes: &[u8]) -> String {
        refusal(&MemorySource::new(bytes.to_vec(), "x")).map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn every_format_is_named_with_something_to_do() {
        for format in FORMATS {
            let MagicRule::Bytes(mark, at) = format.magic else { continue };
            for at in at {
                let mut bytes = vec![b'?'; *at];
                bytes.extend(mark);
                let text = said(&bytes);
                let Support::Unsupported(advice) = format.support else {
                    assert!(text.contains("trilith convert"), "{text}");
                    continue;
                };
                assert!(text.starts_with(&format!("x is {}", format.name)) && text.ends_with(advice), "{text}");
                assert!(!advice.is_empty() && !advice.ends_with('.'));
            }
        }
    }

    #[test]
    fn formats_without_magic_bytes_are_named() {
        let placed = |at: usize, bytes: &[u8]| [vec![0; at], bytes.to_vec(), vec![1; 80]].concat();
        for (bytes, what) in [
            (b"\x70\0\0\0\x20\0\0\0*\x0a\0\0\0".to_vec(), "a LIF image"),
            (placed(208, b"MAP \x44\x44\0\0"), "an MRC image"),
            (placed(208, b"MAP \x11\x11\0\0"), "an MRC image"),
            (b"<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\">".to_vec(), "a VTK file"),
            (b"<VTKFile type=\"ImageData\">".to_vec(), "a VTK file"),
            ([&[1, 2, 0xff, 3][..], &[7; 100], b"ADIOS-BP v2.9.0", &[0; 41]].concat(), "an ADIOS file (BP3)"),
        ] {
            let text = said(&bytes);
            assert!(text.starts_with(&format!("x is {what}")) && text.contains("; read it with "), "{text}");
        }
        // Text in the place of a mark is not a mark.
        assert!(!said(&placed(208, b"MAP of")).contains("MRC"));
    }

    #[test]
    fn directories_are_named_by_their_files() {
        for (file, what) in [(".zgroup", "Zarr"), (".zarray", "Zarr"), ("zarr.json", "Zarr"), ("md.idx", "ADIOS")] {
            let error = dir_refusal("x", |name| name == file).map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(what) && error.contains("read it with"), "{error}");
        }
        assert!(dir_refusal("x", |_| false).is_none());
        assert!(url_refusal("https://h/x.zarr/?a=b").is_some() && url_refusal("https://h/x.zarr/c/0").is_none());
    }

    #[test]
    fn text_kinds_and_binary_are_distinguished() {
        for (bytes, what) in [
            (b"".as_slice(), "x is empty (0 bytes)"),
            (b"#ASD", "x is cut short within the header line of an ASDF file"),
            (b"\n<!DOCTYPE html><html>404</html>", "x is a web page (HTML)"),
            (
                b"<?xml version=\"1.0\"?>\n<Error><DiagnosticCode>AccessDenied</Code></Error>",
                "x is an error message of a server (XML)",
            ),
            (b"<svg/>", "x is an XML file"),
            (b"<?xml version=\"1.0\"?>\n<VOTABLE version=\"1.3\"></VOTABLE>", "x is a VOTable; "),
            (b"\x80\x04\x95\x0a\0\0\0\0\0\0\0}\x94\x8c\x01a\x94K\x01s.", "x is a Python pickle; "),
            (b"\x80\x02}q\0.", "x is a Python pickle; "),
            (b"{\"a\": 1}", "x is a JSON file, not an ASDF file"),
            (b"%YAML 1.1\n---\na: 1\n", "x is a YAML file without the header of ASDF"),
            (b"#!/bin/sh\n", "x is a script"),
            (b"{ N : i8 }\n", "x is a text file"),
            (b"hello\n\xc3", "x is a text file"),
            (
                b"HTTP/1.1 200 OK\n\n#ASDF 1.0.0\n",
                "x is not an ASDF file from its first byte on: an ASDF header begins at byte 17",
            ),
            (&[0; 100], "x is nothing but zeros at its beginning"),
            (b"\x01\x02\x03\xff", "x cannot be read: its format is not known"),
            (b"\xff\xff\xff", "x cannot be read: its format is not known"),
        ] {
            let text = said(bytes);
            assert!(text.starts_with(what), "{text}");
        }
        let mut npz = b"PK\x03\x04".to_vec();
        npz.resize(30, 0);
        npz[26] = 5;
        npz.extend(b"a.npy");
        assert!(said(&npz).starts_with("x is a numpy .npz archive"));
        npz[26] = 200;
        assert!(said(&npz).starts_with("x is a ZIP archive"));
    }
}
