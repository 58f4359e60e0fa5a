//! `cargo xtask docs`: the documentation as a site under `target/site`, and a look at every link in it.
//!
//! The pages are the Markdown files of the repository. This adds a page for each command, from its `--help`, and
//! for each name of the Python package, from its stubs; the reference of the library, from its sources; and the
//! list of contents, from `docs/index.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::command::{build_program, repository_root, run, run_for_output, target_dir};
use crate::fs::{create_empty_dir, read_text, write_text};
use crate::interop::full_environment;
use crate::test::{PartOutcome, TierSelection, reference_of_the_library};

/// Pages outside `docs`.
const EXTRA_PAGES: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "crates/trilith-py/README.md",
    "tests/cases/README.md",
    "tests/conformance/README.md",
    "fuzz/README.md",
];

/// `cargo xtask docs`.
pub(crate) fn build_docs(_: &[String]) -> Result<(), String> {
    match build_site(TierSelection::Whole)? {
        PartOutcome::Skipped(reason) => Err(reason),
        _ => {
            println!("{}", target_dir().join("site/index.html").display());
            Ok(())
        }
    }
}

/// Builds the site, and fails where a link leads nowhere.
pub(crate) fn build_site(_: TierSelection) -> Result<PartOutcome, String> {
    links_of_sources()?;
    let python = match full_environment() {
        Ok(python) => python,
        Err(reason) => return Ok(PartOutcome::Skipped(reason)),
    };
    let site = build_pages(&python)?;
    run(Command::new(&python).arg(repository_root().join("docs/site/check_search.py")).arg(&site))?;
    reference_of_the_library()?;
    copy_dir(&target_dir().join("doc"), &site.join("rust"))?;
    let home = "<!doctype html><meta charset=\"utf-8\"><title>Trilith</title>\
                <meta http-equiv=\"refresh\" content=\"0; url=docs/index.html\"><a href=\"docs/index.html\">Trilith</a>\n";
    write_text(&site.join("index.html"), home)?;
    let count = links_of_site(&site)?;
    println!("{count} links of the site lead somewhere");
    Ok(PartOutcome::Passed)
}

/// Builds the pages of the site, without the reference of the Rust library, and returns their folder.
///
/// # Errors
/// Returns the reason why a page cannot be built.
pub(crate) fn build_pages(python: &Path) -> Result<PathBuf, String> {
    let trilith = match std::env::var_os("TRILITH_BIN") {
        Some(path) => PathBuf::from(path),
        None => build_program()?,
    };
    let source = target_dir().join("site-source");
    create_empty_dir(&source)?;
    stage_pages(&source, &trilith)?;
    python_reference(python, &source.join("docs/reference/python"))?;
    let site = target_dir().join("site");
    create_empty_dir(&site)?;
    // Without -W a broken link would be only a warning.
    let mut build = Command::new(python);
    build.args(["-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-n"]).arg(&source).arg(&site);
    run(build.env("TRILITH_VERSION", env!("CARGO_PKG_VERSION")))?;
    Ok(site)
}

/// Lays out the pages as they are in the repository, so that their links mean the same.
fn stage_pages(source: &Path, trilith: &Path) -> Result<(), String> {
    for page in list_pages() {
        let text = read_text(&repository_root().join(&page))?;
        write_text(&source.join(&page), &text)?;
    }
    let folder = repository_root().join("docs");
    for picture in
        list_files(&folder).iter().filter(|path| path.extension().is_some_and(|ending| ending == "png" || ending == "svg"))
    {
        if let Ok(name) = picture.strip_prefix(&folder) {
            crate::fs::copy_file(picture, &source.join("docs").join(name))?;
        }
    }
    write_text(&source.join("conf.py"), &read_text(&repository_root().join("docs/site/conf.py"))?)?;
    write_text(&source.join("_static/style.css"), &read_text(&repository_root().join("docs/site/style.css"))?)?;
    write_text(&source.join("_static/icon.svg"), &read_text(&repository_root().join("crates/trilith-view/page/icon.svg"))?)?;
    let commands = write_command_pages(&source.join("docs/reference"), trilith)?;
    let index = source.join("docs/index.md");
    let text = read_text(&index)?;
    let mut text = text.replace(
        "- [The command line for scripts](command-line.md)",
        "- [All commands](reference/index.md)\n- [The Python package, name by name](reference/python/index.md)\n- <a href=\"../rust/trilith/index.html\">The Rust library</a>\n- [The command line for scripts](command-line.md)",
    );
    text.push_str(&build_toctrees(&text, "docs"));
    write_text(&index, &text)?;
    let list: String = commands.iter().map(|name| format!("- [trilith {}]({name}.md)\n", name.replace('-', " "))).collect();
    let text = format!("# All commands\n\nThe output of `--help` for each command.\n\n## Commands\n\n{list}");
    write_text(&source.join("docs/reference/index.md"), &format!("{text}{}", build_toctrees(&text, "docs/reference")))?;
    Ok(())
}

/// A page for each public name of the Python package, from its sources.
fn python_reference(python: &Path, folder: &Path) -> Result<(), String> {
    let script = repository_root().join("docs/site/python_reference.py");
    run(Command::new(python).arg(script).arg(repository_root().join("crates/trilith-py/python/trilith")).arg(folder))?;
    let index = folder.join("index.md");
    let text = read_text(&index)?;
    write_text(&index, &format!("{text}{}", build_toctrees(&text, "docs/reference/python")))
}

/// Returns the paths of all pages of the repository.
fn list_pages() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = EXTRA_PAGES.iter().map(PathBuf::from).collect();
    found.extend(
        list_files(&repository_root().join("docs"))
            .into_iter()
            .filter_map(|path| Some(path.strip_prefix(repository_root()).ok()?.to_path_buf())),
    );
    found.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    found
}

/// A page for each command, from its `--help`; their names.
fn write_command_pages(folder: &Path, trilith: &Path) -> Result<Vec<String>, String> {
    let pages = target_dir().join("site-man");
    create_empty_dir(&pages)?;
    run(Command::new(trilith).args(["--quiet", "man", "--install"]).arg(&pages))?;
    let name = |path: &PathBuf| Some(path.file_stem()?.to_str()?.strip_prefix("trilith-")?.to_owned());
    let names: Vec<String> = list_files(&pages).iter().filter_map(name).collect();
    if names.len() < 30 {
        return Err(format!("only {} commands have a manual page", names.len()));
    }
    for name in &names {
        let words = split_command_name(name);
        let help = run_for_output(Command::new(trilith).args(&words).arg("--help").env("NO_COLOR", "1"))?;
        write_text(
            &folder.join(format!("{name}.md")),
            &format!("# trilith {}\n\n```text\n{}\n```\n", words.join(" "), help.trim_end()),
        )?;
    }
    Ok(names)
}

/// Returns the words of a command from the name of its page: only `layout` and the like have subcommands.
fn split_command_name(name: &str) -> Vec<&str> {
    match name.split_once('-') {
        Some((group @ ("layout" | "history" | "schema"), rest)) => vec![group, rest],
        _ => vec![name],
    }
}

/// The list of contents of a page, in the words of MyST: each heading with a list of links is a part.
fn build_toctrees(text: &str, folder: &str) -> String {
    let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            parts.push((heading, Vec::new()));
        } else if let (Some(rest), Some((_, links))) = (line.strip_prefix("- ["), parts.last_mut())
            && let Some((_, target)) = rest.split_once("](")
            && let Some((target, _)) = target.split_once(')')
            && target.ends_with(".md")
        {
            links.push(target);
        }
    }
    let mut made = String::new();
    for (heading, links) in parts.iter().filter(|(_, links)| !links.is_empty()) {
        let _ = write!(made, "\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n");
        for link in links {
            let _ = writeln!(made, "/{}", normalize_path(&Path::new(folder).join(link)).with_extension("").display());
        }
        made.push_str("```\n");
    }
    made
}

/// Looks at every link of the Markdown files: the file must be there, and so must the heading.
pub(crate) fn links_of_sources() -> Result<(), String> {
    let mut headings: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let mut faults = String::new();
    for page in list_pages() {
        let text = read_text(&repository_root().join(&page))?;
        for link in markdown_links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            if path.contains("://") || path.starts_with("mailto:") {
                continue;
            }
            let there = if path.is_empty() { page.clone() } else { normalize_path(&page.with_file_name("").join(path)) };
            if !repository_root().join(&there).exists() {
                let _ = writeln!(faults, "{}: {link} leads nowhere", page.display());
            } else if !anchor.is_empty() && there.extension().is_some_and(|ending| ending == "md") {
                if !headings.contains_key(&there) {
                    headings.insert(there.clone(), heading_anchors(&read_text(&repository_root().join(&there))?));
                }
                if headings.get(&there).is_none_or(|known| !known.contains(anchor)) {
                    let _ = writeln!(faults, "{}: {link}: there is no such heading", page.display());
                }
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The lines of a page that are not code.
pub(crate) fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence && !line.starts_with("    ")
    })
}

/// Returns the targets of the links of a page.
fn markdown_links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose_lines(text) {
        // Code within a line names things that look like links.
        let bare: String = line.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "code" }).collect();
        let targets = bare.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        found.extend(targets.map(|target| target.split(' ').next().unwrap_or(target).to_owned()));
    }
    found
}

/// The anchors of the headings of a page, as GitHub and MyST make them.
fn heading_anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for line in prose_lines(text).filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let count = seen.entry(anchor.clone()).or_default();
        found.insert(if *count == 0 { anchor.clone() } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    found
}

/// Looks at every link of the built site that stays on it, and says how many there are.
fn links_of_site(site: &Path) -> Result<usize, String> {
    let (mut count, mut faults) = (0, String::new());
    let mut names: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let is_page = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "html");
    // rustdoc has checked its own pages; only its front page is ours.
    let rust = site.join("rust");
    for page in list_files(site).into_iter().filter(is_page).filter(|page| !page.starts_with(&rust)) {
        let text = read_text(&page)?;
        for link in find_attribute_values(&text, &["href", "src"]) {
            if link.is_empty() || link.contains("://") || link.starts_with("data:") || link.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = path.split('?').next().unwrap_or(path);
            let there = if path.is_empty() { page.clone() } else { normalize_path(&page.with_file_name("").join(path)) };
            let there = if there.is_dir() { there.join("index.html") } else { there };
            if !there.exists() {
                let _ = writeln!(faults, "{}: {link} leads nowhere", page.display());
            } else if !anchor.is_empty() && !there.starts_with(&rust) && is_page(&there) {
                if !names.contains_key(&there) {
                    names
                        .insert(there.clone(), find_attribute_values(&read_text(&there)?, &["id", "name"]).into_iter().collect());
                }
                if names.get(&there).is_none_or(|known| !known.contains(anchor)) {
                    let _ = writeln!(faults, "{}: {link}: there is no such place", page.display());
                }
            }
        }
    }
    if faults.is_empty() { Ok(count) } else { Err(faults) }
}

/// The values of attributes in HTML that a program wrote.
fn find_attribute_values(text: &str, names: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for name in names {
        let begin = format!(" {name}=\"");
        let parts = text.split(&begin).skip(1).filter_map(|rest| rest.split('"').next());
        found.extend(parts.map(|value| value.replace("&amp;", "&")));
    }
    found
}

/// A path without `.` and `..`.
fn normalize_path(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(found.pop()),
            Component::CurDir => {}
            part => found.push(part),
        }
    }
    found
}

/// Returns all files in a folder and its subfolders, sorted.
pub(crate) fn list_files(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// Returns the Rust files of folders of the repository.
pub(crate) fn list_rust_files(folders: &[&str]) -> Vec<PathBuf> {
    let all = folders.iter().flat_map(|folder| list_files(&repository_root().join(folder)));
    all.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Copies a folder with all below it into another.
pub(crate) fn copy_dir(from: &Path, to: &Path) -> Result<(), String> {
    for path in list_files(from) {
        let Ok(name) = path.strip_prefix(from) else { continue };
        crate::fs::copy_file(&path, &to.join(name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_anchors_match_page() {
        let text = "# A b, c\n\n[x](y.md#z) and `[no](link)` and [`code`](#a-b-c \"title\")\n\n    [no](code)\n\n```\n# no\n```\n## A b, c\n";
        assert_eq!(markdown_links(text), ["y.md#z", "#a-b-c"]);
        assert_eq!(heading_anchors(text), ["a-b-c", "a-b-c-1"].map(str::to_owned).into());
        assert_eq!(normalize_path(Path::new("docs/./tutorials/../x.md")), Path::new("docs/x.md"));
    }

    #[test]
    fn every_page_link_has_target() -> Result<(), String> {
        links_of_sources()
    }

    #[test]
    fn contents_are_made_of_headings_with_links() {
        let made = build_toctrees("# T\n## A\n- [x](x.md): why\n- [r](../rust/index.html)\n## B\ntext\n", "docs");
        assert_eq!(made, "\n```{toctree}\n:hidden:\n:caption: A\n\n/docs/x\n```\n");
    }
}
