//! The schemas that come with the library, in our own words: the rules of the published ones.
//!
//! `resources/condense.py` makes the schemas from the published packages. Those of 0.1.0dev are written by hand
//! from its standard, and those of FINF and 0.1.0 are the same under other tags. That of the mapping `annotations` is ours. A
//! schema is parsed when it is first needed.

const CORE: &str = include_str!("../../resources/schemas/core.txt");
const TRANSFORM: &str = include_str!("../../resources/schemas/transform.txt");
const META: &str = include_str!("../../resources/schemas/meta.txt");
const DEV: &str = include_str!("../../resources/schemas/asdf-0.1.0dev.txt");
const TRILITH_SCHEMAS: &str = include_str!("../../resources/schemas/own.txt");
const EARLY: [&str; 2] =
    [include_str!("../../resources/schemas/finf-0.1.0.txt"), include_str!("../../resources/schemas/asdf-0.1.0.txt")];
const TITLES: &str = include_str!("../../resources/schemas/titles.txt");

/// A manifest a line: its URI, the standards it is for, its tags.
pub(super) const MANIFESTS: &str = include_str!("../../resources/schemas/manifests.txt");

const TAGS: &str = "tag:stsci.edu:asdf/";
const SCHEMAS: &str = "http://stsci.edu/schemas/asdf/";
const FINF: &str = "http://stsci.edu/schemas/finf/";

/// URI and text of every bundled schema.
pub(super) fn iter_schema_texts() -> impl Iterator<Item = (&'static str, &'static str)> {
    [META, CORE, TRANSFORM, DEV, TRILITH_SCHEMAS]
        .into_iter()
        .chain(EARLY)
        .flat_map(str::lines)
        .filter_map(|line| line.split_once(' '))
}

/// The whole tag of a manifest's entry, and its schemas.
pub(super) fn tag_entry(entry: &str) -> (String, Vec<String>) {
    match entry.split_once('=') {
        Some((tag, uris)) => (tag.to_owned(), uris.split(',').filter(|uri| !uri.is_empty()).map(str::to_owned).collect()),
        None => (format!("{TAGS}{entry}"), vec![format!("{SCHEMAS}{entry}")]),
    }
}

/// Title and description of a bundled schema, or of a property of one (`core/ndarray#shape`).
pub(super) fn words_of(uri: &str, property: Option<&str>) -> Option<(&'static str, &'static str)> {
    let (name, _) = super::uri::name_and_version(uri);
    let name = name.strip_prefix(SCHEMAS).or_else(|| name.strip_prefix(FINF))?;
    let name = name.strip_prefix("0.1.0/").unwrap_or(name);
    let wanted = match property {
        Some(property) => format!("{name}#{property}"),
        None => name.to_owned(),
    };
    TITLES.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let (key, words) = line.split_once('\t')?;
        (key == wanted).then(|| words.split_once('\t').unwrap_or((words, "")))
    })
}
