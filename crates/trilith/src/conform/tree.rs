//! The tree as data: keys, numbers, tags, references, and the arrays that it describes.

use super::report::{FindingLocation, Findings};
use super::rule::Check;
use super::{AsdfRules, ndarray};
use crate::array::{TextType, check_texts};
use crate::asdf::generation::tag_parts;
use crate::asdf::{AsdfFile, uris, walk};
use crate::core::unit;
use crate::error::{Error, ErrorKind, Result};
use crate::tree::{Node, TreeRule};

/// The names under the prefix of 0.1.0dev that it defines.
const DEFINED_NAMES: [&str; 6] = ["core/asdf", "core/complex", "core/ndarray", "fits/fits", "unit/unit", "unit/defunit"];

/// Checks the tree of a file, if it has one; `is_sound` is `true` if all blocks were found.
pub(super) fn check_tree(file: &AsdfFile, law: &AsdfRules, is_sound: bool, found: &mut Findings) -> Result<()> {
    if file.sections().tree().is_none() {
        return Ok(());
    }
    for warning in file.tree().warnings() {
        // The form of the document's markers is checked in its bytes.
        let checks = [
            (TreeRule::DuplicateKey, Check::Yaml),
            (TreeRule::TagContent, Check::Yaml),
            (TreeRule::SurrogateEscape, Check::Yaml),
            (TreeRule::KeyType, Check::UniqueKeys),
            (TreeRule::BigInteger, Check::Integers),
        ];
        let Some((_, check)) = checks.into_iter().find(|(rule, _)| rule.name() == warning.code) else { continue };
        found.add_deviation(check, FindingLocation::at_text(warning.line, warning.column), warning.message);
    }
    check_root_tag(file, law, found);
    let mut walk = file.tree().root().walk(file.limits()).without_merge();
    while let Some(visit) = walk.try_next()? {
        let path = || walk.path().to_string();
        check_reserved_tag(visit.node, law, &path, found);
        check_reference(file, visit.node, law, &path, found);
    }
    // A fault of a block makes its arrays wrong, too.
    if is_sound && !found.has_blocks() {
        check_arrays(file, found)?;
    }
    check_units(file, found)?;
    check_schemas(file, found)
}

/// Units are in the syntax of VOUnit, and defined before their use.
fn check_units(file: &AsdfFile, found: &mut Findings) -> Result<()> {
    if !found.has_rule(Check::UnitOrder) {
        return Ok(());
    }
    for finding in unit::check_units(file.tree(), file.limits())? {
        let check = if finding.code == unit::ORDER_CODE { Check::UnitOrder } else { Check::UnitSyntax };
        let place = FindingLocation::at_text(finding.line, finding.column);
        found.add_deviation(check, place.at_path(finding.path.unwrap_or_default()), finding.message);
    }
    Ok(())
}

fn node_location(node: Node<'_>, path: &dyn Fn() -> String) -> FindingLocation {
    let (line, column) = node.line_column();
    FindingLocation::at_text(line, column).at_path(path())
}

/// The tag of the root.
fn check_root_tag(file: &AsdfFile, law: &AsdfRules, found: &mut Findings) {
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
        found.add_deviation(Check::Root, node_location(node, &String::new), message);
    }
}

/// A tag under the standard's own prefix that the standard does not define.
fn check_reserved_tag(node: Node<'_>, law: &AsdfRules, path: &dyn Fn() -> String, found: &mut Findings) {
    let Some(name) = node.tag().filter(|_| !node.is_alias()).and_then(|tag| tag.strip_prefix(law.prefix)) else { return };
    if !DEFINED_NAMES.contains(&name) {
        found.add_deviation(
            Check::Reserved,
            node_location(node, path),
            format!("the tag {name} under the prefix {} is not one of the standard", law.prefix),
        );
    }
}

/// A mapping with the key `$ref`.
fn check_reference(file: &AsdfFile, node: Node<'_>, law: &AsdfRules, path: &dyn Fn() -> String, found: &mut Findings) {
    if !node.is_mapping() || node.is_alias() || node.len() > 8 {
        return;
    }
    let Some(target) = node.get("$ref") else { return };
    if node.len() > 1 {
        found.add_deviation(Check::ReferenceAlone, node_location(node, path), "a reference with other keys than $ref");
        return;
    }
    let Some(uri) = target.as_str() else {
        found.add_deviation(
            Check::ReferenceText,
            node_location(node, path),
            format!("the value of $ref is {}, expected a URI", display_value(target)),
        );
        return;
    };
    if let Some(character) = uris::non_uri_character(&uri) {
        let message = format!("the URI {uri:?} has the character {character:?}, which is written with % in a URI");
        found.add_deviation(Check::ReferenceText, node_location(node, path), message);
        return;
    }
    let fragment = uri.split_once('#').map_or("", |(_, fragment)| fragment);
    let wrong = fragment.match_indices('~').any(|(at, _)| !matches!(fragment.as_bytes().get(at + 1), Some(b'0' | b'1')));
    if wrong {
        found.add_deviation(Check::ReferenceEscape, node_location(node, path), format!("a ~ that is not ~0 or ~1 in {uri:?}"));
        return;
    }
    if law.strict_pointers && !fragment.is_empty() && !fragment.starts_with('/') {
        found.add_deviation(
            Check::ReferencePointer,
            node_location(node, path),
            format!("the fragment of {uri:?} does not begin with /"),
        );
    }
    if !found.has_rule(Check::ReferenceTarget) {
        return;
    }
    match walk::find(file, &path()) {
        Err(error) => external_problem(Check::ReferenceTarget, node_location(node, path), &error, found),
        // Reading takes the root for what is meant (RFC 6901: "/" is the key "").
        Ok(target) if fragment == "/" => {
            let root = target.file(file).tree().root();
            if target.node(file).id() == root.id() && root.get("").is_none() {
                let message = format!("the fragment of {uri:?} names the key \"\", which the root does not have");
                found.add_deviation(Check::ReferenceTarget, node_location(node, path), message);
            }
        }
        Ok(_) => {}
    }
}

/// A value as it is written. A null may be empty.
fn display_value(node: Node<'_>) -> &str {
    if node.is_null() && node.source_text().is_empty() { "null" } else { node.source_text() }
}

/// Reports a problem of content that may be in another file. If that cannot be opened, the question stays
/// undecided.
fn external_problem(check: Check, place: FindingLocation, error: &Error, found: &mut Findings) {
    match error.kind() {
        ErrorKind::Malformed | ErrorKind::NotFound | ErrorKind::InvalidInput => {
            found.add_deviation(check, place, error.message());
        }
        _ => found.leave_undecided(place, error.to_string()),
    }
}

/// Checks that every array can be read, and that its elements fit its datatype.
fn check_arrays(file: &AsdfFile, found: &mut Findings) -> Result<()> {
    for listed in walk::arrays(file)? {
        // A reference that leads nowhere was found before.
        let Ok(at) = listed.location else { continue };
        let node = at.node(file);
        let (line, column) = node.line_column();
        let place = || FindingLocation::at_text(line, column).at_path(listed.path.clone());
        if let Some((uri, character)) = uris::find_non_uri_source(node).filter(|_| found.has_rule(Check::SourceUri)) {
            let message = format!("the source {uri:?} has the character {character:?}, which is written with % in a URI");
            found.add_deviation(Check::SourceUri, place(), message);
        }
        match at.file(file).stored_array(node) {
            Ok(array) if found.has_rule(Check::Ascii) => {
                for (kind, check) in [(TextType::Ascii, Check::Ascii), (TextType::Ucs4, Check::Ucs4)] {
                    if let Err(error) = check_texts(&array, kind) {
                        external_problem(check, place(), &error, found);
                    }
                }
            }
            Ok(_) => {}
            Err(error) => {
                let check = ndarray::violated_check(at.file(file), node);
                external_problem(if found.has_rule(check) { check } else { Check::ReadableArrays }, place(), &error, found);
            }
        }
    }
    Ok(())
}

#[cfg(not(feature = "schema"))]
fn check_schemas(_: &AsdfFile, found: &mut Findings) -> Result<()> {
    if found.has_rule(Check::Schema(super::rule::SchemaModule::Ndarray)) {
        found.leave_undecided(FindingLocation::default(), "this build has no schemas: build it with the feature schema");
    }
    Ok(())
}

/// Checks the schemas that the standard prints.
#[cfg(feature = "schema")]
fn check_schemas(file: &AsdfFile, found: &mut Findings) -> Result<()> {
    use super::rule::SchemaModule;
    use crate::schema::{SchemaSet, Validator};
    const TAG_MODULES: [(&str, SchemaModule); 6] = [
        ("core/asdf", SchemaModule::Root),
        ("core/complex", SchemaModule::Complex),
        ("core/ndarray", SchemaModule::Ndarray),
        ("fits/fits", SchemaModule::Fits),
        ("unit/unit", SchemaModule::Unit),
        ("unit/defunit", SchemaModule::Defunit),
    ];
    if !found.has_rule(Check::Schema(SchemaModule::Ndarray)) {
        return Ok(());
    }
    let mut validator = Validator::new(SchemaSet::bundled()).with_limits(file.limits().clone());
    let report = validator.validate(file.tree(), None)?;
    let is_error = |problem: &&crate::Diagnostic| problem.severity == crate::Severity::Error;
    let mut places: Vec<(FindingLocation, &crate::Diagnostic)> = Vec::new();
    for problem in report.problems.iter().filter(is_error) {
        places.push((FindingLocation::at_text(problem.line, problem.column).at_path(problem.path_text()), problem));
    }
    // A reference "should be treated as having the same logical content as the target" (0.1.0dev, 3.2).
    let followed = crate::asdf::expand::resolve_tree_references(file)?;
    let of_targets = followed.as_ref().map(|tree| validator.validate(tree, None)).transpose()?;
    for problem in of_targets.iter().flat_map(|report| &report.problems).filter(is_error) {
        let path = problem.path_text();
        if !report.problems.iter().filter(is_error).any(|known| known.path_text() == path) {
            places.push((FindingLocation::default().at_path(path), problem));
        }
    }
    for (place, problem) in places {
        let module = TAG_MODULES.iter().find(|(name, _)| problem.schema.contains(&format!("/{name}")));
        if let Some((_, module)) = module {
            let expected =
                if problem.expectation.is_empty() { String::new() } else { format!(", expected {}", problem.expectation) };
            found.add_deviation(Check::Schema(*module), place, format!("{}{expected}", problem.message));
        }
    }
    Ok(())
}
