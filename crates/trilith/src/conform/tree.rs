//! The tree as data: keys, numbers, tags, references, and the arrays that it describes.

use super::report::{Found, Place};
use super::rule::Check;
use super::{AsdfLaw, ndarray};
use crate::array::{Text, check_texts};
use crate::asdf::generation::tag_parts;
use crate::asdf::{AsdfFile, walk};
use crate::core::unit;
use crate::error::{Error, ErrorKind, Result};
use crate::tree::{Node, Rule};

/// The names under the prefix of 0.1.0dev that it defines.
const DEFINED: [&str; 6] = ["core/asdf", "core/complex", "core/ndarray", "fits/fits", "unit/unit", "unit/defunit"];

/// Checks the tree of a file, if it has one; `is_sound` is `true` if all blocks were found.
pub(super) fn check(file: &AsdfFile, law: &AsdfLaw, is_sound: bool, found: &mut Found) -> Result<()> {
    if file.sections().tree().is_none() {
        return Ok(());
    }
    for warning in file.tree().warnings() {
        // The form of the document's markers is checked in its bytes.
        let checks = [(Rule::DuplicateKey, Check::Yaml), (Rule::KeyType, Check::Keys), (Rule::BigInteger, Check::Integers)];
        let Some((_, check)) = checks.into_iter().find(|(rule, _)| rule.name() == warning.code) else { continue };
        found.add(check, Place::text(warning.line, warning.column), warning.message);
    }
    root(file, law, found);
    let mut walk = file.tree().root().walk(file.limits()).as_written();
    while let Some(visit) = walk.step()? {
        let path = || walk.path().to_string();
        reserved(visit.node, law, &path, found);
        reference(file, visit.node, law, &path, found);
    }
    // A fault of a block makes its arrays wrong, too.
    if is_sound && !found.has_blocks() {
        arrays(file, found)?;
    }
    units(file, found)?;
    schemas(file, found)
}

/// Units are in the syntax of VOUnit, and defined before their use.
fn units(file: &AsdfFile, found: &mut Found) -> Result<()> {
    if !found.asks(Check::UnitOrder) {
        return Ok(());
    }
    for finding in unit::check(file.tree(), file.limits())? {
        let check = if finding.code == unit::EARLY { Check::UnitOrder } else { Check::UnitSyntax };
        let place = Place::text(finding.line, finding.column);
        found.add(check, place.at_path(finding.path.unwrap_or_default()), finding.message);
    }
    Ok(())
}

fn place(node: Node<'_>, path: &dyn Fn() -> String) -> Place {
    let (line, column) = node.line_column();
    Place::text(line, column).at_path(path())
}

/// The tag of the root.
fn root(file: &AsdfFile, law: &AsdfLaw, found: &mut Found) {
    let node = file.tree().root();
    let tag = node.tag();
    let is_ok = match tag.and_then(tag_parts) {
        Some(("core/asdf", version)) if law.major > 0 => version.starts_with("1."),
        Some(("core/asdf", "")) => tag.is_some_and(|tag| tag.starts_with(law.prefix)),
        _ => false,
    };
    if !is_ok {
        let has = tag.map_or_else(|| "no tag".to_owned(), |tag| format!("the tag {tag}"));
        let version = if law.major > 0 { "-1.1.0" } else { "" };
        let message = format!("the root has {has}, expected {}core/asdf{version}", law.prefix);
        found.add(Check::Root, place(node, &String::new), message);
    }
}

/// A tag under the standard's own prefix that the standard does not define.
fn reserved(node: Node<'_>, law: &AsdfLaw, path: &dyn Fn() -> String, found: &mut Found) {
    let Some(name) = node.tag().filter(|_| !node.is_alias()).and_then(|tag| tag.strip_prefix(law.prefix)) else { return };
    if !DEFINED.contains(&name) {
        found.add(
            Check::Reserved,
            place(node, path),
            format!("the tag {name} under the prefix {} is not one of the standard", law.prefix),
        );
    }
}

/// A mapping with the key `$ref`.
fn reference(file: &AsdfFile, node: Node<'_>, law: &AsdfLaw, path: &dyn Fn() -> String, found: &mut Found) {
    if !node.is_mapping() || node.is_alias() || node.len() > 8 {
        return;
    }
    let Some(target) = node.get("$ref") else { return };
    if node.len() > 1 {
        found.add(Check::ReferenceAlone, place(node, path), "a reference with other keys than $ref");
        return;
    }
    let Some(uri) = target.as_str() else {
        found.add(Check::ReferenceText, place(node, path), format!("the value of $ref is {}, expected a URI", shown(target)));
        return;
    };
    let fragment = uri.split_once('#').map_or("", |(_, fragment)| fragment);
    let wrong = fragment.match_indices('~').any(|(at, _)| !matches!(fragment.as_bytes().get(at + 1), Some(b'0' | b'1')));
    if wrong {
        found.add(Check::ReferenceEscape, place(node, path), format!("a ~ that is not ~0 or ~1 in {uri:?}"));
        return;
    }
    if law.strict_pointers && !fragment.is_empty() && !fragment.starts_with('/') {
        found.add(Check::ReferencePointer, place(node, path), format!("the fragment of {uri:?} does not begin with /"));
    }
    if !found.asks(Check::ReferenceTarget) {
        return;
    }
    match walk::find(file, &path()) {
        Err(error) => outside(Check::ReferenceTarget, place(node, path), &error, found),
        // Reading takes the root for what is meant (RFC 6901: "/" is the key "").
        Ok(target) if fragment == "/" => {
            let root = target.file(file).tree().root();
            if target.node(file).id() == root.id() && root.get("").is_none() {
                let message = format!("the fragment of {uri:?} names the key \"\", which the root does not have");
                found.add(Check::ReferenceTarget, place(node, path), message);
            }
        }
        Ok(_) => {}
    }
}

/// A value as it is written. A null may be empty.
fn shown(node: Node<'_>) -> &str {
    if node.is_null() && node.raw().is_empty() { "null" } else { node.raw() }
}

/// Reports a problem of content that may be in another file. If that cannot be opened, the question stays
/// undecided.
fn outside(check: Check, place: Place, error: &Error, found: &mut Found) {
    match error.kind() {
        ErrorKind::Malformed | ErrorKind::NotFound | ErrorKind::InvalidInput => found.add(check, place, error.message()),
        _ => found.leave(place, error.to_string()),
    }
}

/// Checks that every array can be read, and that its elements fit its datatype.
fn arrays(file: &AsdfFile, found: &mut Found) -> Result<()> {
    for listed in walk::arrays(file)? {
        // A reference that leads nowhere was found before.
        let Ok(at) = listed.found else { continue };
        let node = at.node(file);
        let (line, column) = node.line_column();
        let place = || Place::text(line, column).at_path(listed.path.clone());
        match at.file(file).stored_array(node) {
            Ok(array) if found.asks(Check::Ascii) => {
                for (kind, check) in [(Text::Ascii, Check::Ascii), (Text::Ucs4, Check::Ucs4)] {
                    if let Err(error) = check_texts(&array, kind) {
                        outside(check, place(), &error, found);
                    }
                }
            }
            Ok(_) => {}
            Err(error) => {
                let check = ndarray::departs(at.file(file), node);
                outside(if found.asks(check) { check } else { Check::Arrays }, place(), &error, found);
            }
        }
    }
    Ok(())
}

#[cfg(not(feature = "schema"))]
fn schemas(_: &AsdfFile, found: &mut Found) -> Result<()> {
    if found.asks(Check::Schema(super::rule::Module::Ndarray)) {
        found.leave(Place::default(), "this build has no schemas: build it with the feature schema");
    }
    Ok(())
}

/// Checks the schemas that the standard prints.
#[cfg(feature = "schema")]
fn schemas(file: &AsdfFile, found: &mut Found) -> Result<()> {
    use super::rule::Module;
    use crate::schema::{Schemas, Validator};
    const MODULES: [(&str, Module); 6] = [
        ("core/asdf", Module::Root),
        ("core/complex", Module::Complex),
        ("core/ndarray", Module::Ndarray),
        ("fits/fits", Module::Fits),
        ("unit/unit", Module::Unit),
        ("unit/defunit", Module::Defunit),
    ];
    if !found.asks(Check::Schema(Module::Ndarray)) {
        return Ok(());
    }
    let mut validator = Validator::new(Schemas::bundled()).with_limits(file.limits().clone());
    let report = validator.validate(file.tree(), None)?;
    let is_error = |problem: &&crate::Diagnostic| problem.severity == crate::Severity::Error;
    let mut places: Vec<(Place, &crate::Diagnostic)> = Vec::new();
    for problem in report.problems.iter().filter(is_error) {
        places.push((Place::text(problem.line, problem.column).at_path(problem.path_text()), problem));
    }
    // A reference "should be treated as having the same logical content as the target" (0.1.0dev, 3.2).
    let followed = crate::asdf::expand::followed(file)?;
    let of_targets = followed.as_ref().map(|tree| validator.validate(tree, None)).transpose()?;
    for problem in of_targets.iter().flat_map(|report| &report.problems).filter(is_error) {
        let path = problem.path_text();
        if !report.problems.iter().filter(is_error).any(|known| known.path_text() == path) {
            places.push((Place::default().at_path(path), problem));
        }
    }
    for (place, problem) in places {
        let module = MODULES.iter().find(|(name, _)| problem.schema.contains(&format!("/{name}")));
        if let Some((_, module)) = module {
            let expected = if problem.rule.is_empty() { String::new() } else { format!(", expected {}", problem.rule) };
            found.add(Check::Schema(*module), place, format!("{}{expected}", problem.message));
        }
    }
    Ok(())
}
