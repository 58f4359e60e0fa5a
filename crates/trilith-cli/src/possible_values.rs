//! Values of options, from the library's own tables: for `--help`, for completions and for checks.

use trilith::array::Datatype;
use trilith::bytes::RemoteOptions;
use trilith::check::DOCUMENTS;
use trilith::convert::TargetForm;
use trilith::{Limits, asdf};
use trilith_codec::codec;

/// The values of an option, by the command it belongs to and its id; none if it takes anything.
pub(crate) fn possible_values(path: &str, id: &str) -> Vec<String> {
    let owned = |names: &mut dyn Iterator<Item = &'static str>| names.map(str::to_owned).collect();
    match (path, id) {
        ("convert", "codec") => owned(&mut codec::known_names().chain(["auto"])),
        // `repack` cannot choose the compressor inside of a Blosc buffer.
        ("repack", "codec") => owned(&mut codec::known_names().filter(|name| *name != "blsc-zstd")),
        (_, "codec") => owned(&mut codec::known_names()),
        ("convert", "to") => owned(&mut TargetForm::names()),
        ("stream", "to") => owned(&mut asdf::TARGETS.iter().map(|target| target.name)),
        ("verify", "conform") | ("check", "spec") => owned(&mut DOCUMENTS.iter().map(|document| document.name)),
        _ => Vec::new(),
    }
}

/// Returns the values of [`possible_values`], and those that only completions offer: names that need a value after them.
pub(crate) fn completion_values(path: &str, id: &str) -> Vec<String> {
    let assigned = |names: &[&str]| names.iter().map(|name| format!("{name}=")).collect();
    match id {
        "limits" => assigned(Limits::NAMES),
        "remote" => assigned(RemoteOptions::OPTION_NAMES),
        "datatype" => Datatype::known_names().map(str::to_owned).collect(),
        _ => possible_values(path, id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_one() {
        assert!(TargetForm::names().all(|name| TargetForm::from_name(name).is_ok()));
        assert_eq!(
            TargetForm::from_name("asdf1.5").unwrap_err().to_string().split('?').next(),
            Some("unknown generation \"asdf1.5\"; did you mean \"asdf-1.5\"")
        );
        assert!(possible_values("convert", "codec").iter().all(|name| name == "auto" || codec::parse_name(name).is_ok()));
        assert!(completion_values("get", "limits").contains(&"depth=".to_owned()));
    }
}
