//! Values of options, from the library's own tables: for `--help`, for completions and for checks.

use trilith::array::Datatype;
use trilith::bytes::RemoteOptions;
use trilith::check::DOCUMENTS;
use trilith::convert::To;
use trilith::{Limits, asdf};
use trilith_codec::codec;

/// The values of an option, by the command it belongs to and its id; none if it takes anything.
pub(crate) fn of(path: &str, id: &str) -> Vec<String> {
    let owned = |names: &mut dyn Iterator<Item = &'static str>| names.map(str::to_owned).collect();
    match (path, id) {
        ("convert", "codec") => owned(&mut codec::names().chain(["auto"])),
        // `repack` cannot choose the compressor inside of a Blosc buffer.
        ("repack", "codec") => owned(&mut codec::names().filter(|name| *name != "blsc-zstd")),
        (_, "codec") => owned(&mut codec::names()),
        ("convert", "to") => owned(&mut To::names()),
        ("stream", "to") => owned(&mut asdf::TARGETS.iter().map(|target| target.name)),
        ("verify", "conform") => owned(&mut DOCUMENTS.iter().map(|document| document.name)),
        _ => Vec::new(),
    }
}

/// Returns the values of [`of`], and those that only completions offer: names that need a value after them.
pub(crate) fn completed(path: &str, id: &str) -> Vec<String> {
    let assigned = |names: &[&str]| names.iter().map(|name| format!("{name}=")).collect();
    match id {
        "limits" => assigned(Limits::NAMES),
        "remote" => assigned(RemoteOptions::NAMES),
        "datatype" => Datatype::names().map(str::to_owned).collect(),
        _ => of(path, id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_one() {
        assert!(To::names().all(|name| To::named(name).is_ok()));
        assert_eq!(
            To::named("asdf1.5").unwrap_err().to_string().split('?').next(),
            Some("unknown generation \"asdf1.5\"; did you mean \"asdf-1.5\"")
        );
        assert!(of("convert", "codec").iter().all(|name| name == "auto" || codec::named(name).is_ok()));
        assert!(completed("get", "limits").contains(&"depth=".to_owned()));
    }
}
