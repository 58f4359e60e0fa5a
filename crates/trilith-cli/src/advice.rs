//! Wording of the library's advice for the command.

use trilith::Error;
use trilith::Setting;

/// The text of an error, with the options that would help.
pub(crate) fn said(error: &Error) -> String {
    error.text_in(&option)
}

/// Returns the remedy for an error.
pub(crate) fn advice(error: &Error) -> Option<String> {
    error.advice_in(&option)
}

/// The option that makes a setting.
fn option(setting: &Setting) -> String {
    match setting {
        Setting::Limit(name) => format!("raise it with --limit {name}=N or TRILITH_LIMITS={name}=N"),
        Setting::Allow(place) => format!("add --allow {place}"),
        Setting::Layout => "give its layout with --layout L.dud".to_owned(),
        Setting::NoLayout => "leave out --layout".to_owned(),
        Setting::Byteorder => "give it with --byteorder little or big".to_owned(),
        Setting::Files(ranges) => format!("choose them with --files {ranges}"),
        Setting::Download => "fetch it whole with --download, which needs as much room for temporary files".to_owned(),
        Setting::Overwrite => "--overwrite replaces it".to_owned(),
        Setting::Schemas => "give the folder that holds it with --schema-path".to_owned(),
        Setting::Remote(option) => format!("try --remote {option}"),
        Setting::Give(option, values) => format!("give --{} {values}", option.replace('_', "-")),
        Setting::Omit(options) => {
            let options: Vec<String> = options.iter().map(|option| format!("--{}", option.replace('_', "-"))).collect();
            format!("leave out {}", options.join(" and "))
        }
        other => other.to_string(),
    }
}
