//! Advice for names of files that are not there: forms of other programs, and URLs of other schemes.

use std::path::Path;

use crate::bytes::{is_url, path_of, shown_path};
use crate::error::{Error, ErrorKind};

/// Adds to the error of a name that cannot be opened what may be meant.
pub(super) fn explain_missing(name: &str, error: Error) -> Error {
    if error.kind() != ErrorKind::Io && error.kind() != ErrorKind::InvalidInput || path_of(name).exists() {
        return error;
    }
    if let Some(hint) = extended_name_hint(name) {
        return error.hint(hint);
    }
    match name.split_once("://") {
        Some((scheme, _)) if !is_url(name) && is_scheme(scheme) => unsupported_scheme(name, scheme),
        _ => error,
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn unsupported_scheme(name: &str, scheme: &str) -> Error {
    let shown = shown_path(path_of(name));
    let error = Error::unsupported(format!("cannot open {shown}: URLs of the scheme {scheme} are not supported"));
    match scheme.to_ascii_lowercase().as_str() {
        "file" => error.hint("give the path of the file alone"),
        _ => error.hint("use http, https, s3, gs or az, or download the file first"),
    }
}

/// Returns the form of this library for a name in the form of CFITSIO, `x.fits[SCI][1:5,1:3]`; None for any other name.
fn extended_name_hint(name: &str) -> Option<String> {
    let (file, brackets) = name.split_once('[').map(|(file, rest)| (file, rest.strip_suffix(']')))?;
    if !Path::new(&*path_of(file)).is_file() {
        return None;
    }
    let mut hdu = None;
    for part in brackets?.split("][") {
        if let Some(slice) = parse_section(part) {
            let hdu = hdu.unwrap_or("0");
            return Some(format!("name the HDU and the section as '{file}#/fits/{hdu}/data' --slice {slice}"));
        }
        hdu = hdu.or(Some(part.trim()));
    }
    let hdu = hdu.filter(|hdu| !hdu.is_empty() && !hdu.contains(['/', '*', '?', '[', ']']))?;
    Some(format!("name the HDU as '{file}#/fits/{hdu}', and its data as '{file}#/fits/{hdu}/data'"))
}

/// Returns the slice for a section of CFITSIO: it counts from 1, both ends belong to it, and the fastest axis comes first.
fn parse_section(text: &str) -> Option<String> {
    let axes = text.split(',').map(|axis| {
        let axis = axis.trim();
        if axis == "*" {
            return Some(":".to_owned());
        }
        let (first, last) = axis.split_once(':')?;
        let (last, step) = last.split_once(':').map_or((last, None), |(last, step)| (last, Some(step)));
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        let step = step.map(|step| step.trim().parse::<u64>().map(|step| format!(":{step}"))).transpose().ok()?;
        Some(format!("{}:{last}{}", first.checked_sub(1).filter(|first| *first < last)?, step.unwrap_or_default()))
    });
    let mut axes = axes.collect::<Option<Vec<_>>>()?;
    axes.reverse();
    Some(axes.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_count_from_zero_and_turn_axes() {
        for (section, slice) in
            [("1:5,1:3", Some("0:3,0:5")), ("2:9:2,*", Some(":,1:9:2")), ("5", None), ("SCI", None), ("0:3", None), ("5:1", None)]
        {
            assert_eq!(parse_section(section).as_deref(), slice, "{section}");
        }
    }
}
