//! The page of the viewer: plain HTML, style sheets and modules, in the binary as they are in `page/`.

/// The parts of the page: name, content type, content.
const ASSETS: &[(&str, &str, &[u8])] = &[
    ("index.html", "text/html; charset=utf-8", include_bytes!("../page/index.html")),
    ("style.css", "text/css; charset=utf-8", include_bytes!("../page/style.css")),
    ("icon.svg", "image/svg+xml", include_bytes!("../page/icon.svg")),
    script_asset("api.js", include_bytes!("../page/api.js")),
    script_asset("attributes.js", include_bytes!("../page/attributes.js")),
    script_asset("dom.js", include_bytes!("../page/dom.js")),
    script_asset("file.js", include_bytes!("../page/file.js")),
    script_asset("flags.js", include_bytes!("../page/flags.js")),
    script_asset("image.js", include_bytes!("../page/image.js")),
    script_asset("levels.js", include_bytes!("../page/levels.js")),
    script_asset("line.js", include_bytes!("../page/line.js")),
    script_asset("lines.js", include_bytes!("../page/lines.js")),
    script_asset("main.js", include_bytes!("../page/main.js")),
    script_asset("plot.js", include_bytes!("../page/plot.js")),
    script_asset("rows.js", include_bytes!("../page/rows.js")),
    script_asset("state.js", include_bytes!("../page/state.js")),
    script_asset("statistics.js", include_bytes!("../page/statistics.js")),
    script_asset("table.js", include_bytes!("../page/table.js")),
    script_asset("tiles.js", include_bytes!("../page/tiles.js")),
    script_asset("transport.js", include_bytes!("../page/transport.js")),
    script_asset("tree.js", include_bytes!("../page/tree.js")),
];

const fn script_asset(name: &'static str, content: &'static [u8]) -> (&'static str, &'static str, &'static [u8]) {
    (name, "text/javascript; charset=utf-8", content)
}

/// A part of the page by its name: its content type and its content.
///
/// ```
/// assert!(trilith_view::assets::asset("index.html").is_some_and(|(kind, _)| kind.starts_with("text/html")));
/// assert!(trilith_view::assets::asset("../Cargo.toml").is_none());
/// ```
pub fn asset(name: &str) -> Option<(&'static str, &'static [u8])> {
    ASSETS.iter().find(|(known, ..)| *known == name).map(|(_, kind, content)| (*kind, *content))
}

/// The names of all parts.
pub fn names() -> impl Iterator<Item = &'static str> {
    ASSETS.iter().map(|(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_embedded_without_external_links() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let mut there: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        there.sort();
        let mut embedded: Vec<String> = names().map(str::to_owned).collect();
        embedded.sort();
        assert_eq!(there, embedded);
        for (name, _, content) in ASSETS {
            let text = std::str::from_utf8(content).unwrap();
            let foreign = text.replace("http://www.w3.org/2000/svg", "");
            for mark in ["http://", "//cdn", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                assert!(!foreign.contains(mark), "{name} has {mark}");
            }
        }
    }

    #[test]
    fn every_module_that_is_imported_exists() {
        for (name, _, content) in ASSETS.iter().filter(|(name, ..)| name.ends_with(".js")) {
            for part in std::str::from_utf8(content).unwrap().split("from \"./").skip(1) {
                let imported = part.split('"').next().unwrap();
                assert!(asset(imported).is_some(), "{name} imports {imported}");
            }
        }
    }
}
