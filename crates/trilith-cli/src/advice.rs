//! Wording of the library's advice for the command.

use std::ffi::OsString;
use std::path::Path;

use trilith::Error;
use trilith::SuggestedSetting;

/// The text of an error, with the options that would help.
pub(crate) fn error_with_advice(error: &Error) -> String {
    error.text_in(&option_for_setting)
}

/// Returns the remedy for an error.
pub(crate) fn error_remedy(error: &Error) -> Option<String> {
    error.advice_in(&option_for_setting)
}

/// The option that makes a setting.
fn option_for_setting(setting: &SuggestedSetting) -> String {
    match setting {
        SuggestedSetting::Limit(name) => format!("raise it with --limit {name}=N or TRILITH_LIMITS={name}=N"),
        SuggestedSetting::Allow(place) => format!("add --allow {place}"),
        SuggestedSetting::Layout => "give its layout with --layout L.dud".to_owned(),
        SuggestedSetting::NoLayout => "leave out --layout".to_owned(),
        SuggestedSetting::Byteorder => "give it with --byteorder little or big".to_owned(),
        SuggestedSetting::Files(ranges) => format!("choose them with --files {ranges}"),
        SuggestedSetting::Download => "fetch it whole with --download, which needs as much room for temporary files".to_owned(),
        SuggestedSetting::Overwrite => "--overwrite replaces it".to_owned(),
        SuggestedSetting::Schemas => "give the folder that holds it with --schema-path".to_owned(),
        SuggestedSetting::Remote(option) => format!("try --remote {option}"),
        SuggestedSetting::Provide(option, values) => format!("give --{} {values}", option.replace('_', "-")),
        SuggestedSetting::Remove(options) => {
            let options: Vec<String> = options.iter().map(|option| format!("--{}", option.replace('_', "-"))).collect();
            format!("leave out {}", options.join(" and "))
        }
        other => other.to_string(),
    }
}

/// Returns the advice for a path of an item that is typed as a separate word after its file.
pub(crate) fn misplaced_path(words: &[OsString]) -> Option<String> {
    let exists = |name: &str| std::fs::symlink_metadata(name).is_ok();
    words.windows(3).find_map(|words| {
        let [before, file, path] = words else { return None };
        let (before, file, path) = (before.to_str()?, file.to_str()?, path.to_str()?);
        // A file after an option may be its value.
        let is_misplaced = path.starts_with('/') && !exists(path) && !before.starts_with('-') && Path::new(file).is_file();
        is_misplaced.then(|| format!("there is no file {path}; for the item of {file} with this path, write '{file}#{path}'"))
    })
}
