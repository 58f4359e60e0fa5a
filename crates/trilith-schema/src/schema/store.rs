//! Sources of schemas: the bundled ones, and those that a caller adds.

use std::collections::HashMap;

use super::bundled;
use super::json_view::JsonType;
use super::uri::{name_and_version, split_fragment};
use crate::error::{Error, Result, ResultExt, SuggestedSetting};
use crate::limits::Limits;
use crate::suggest::nearest;
use crate::tree::{Node, Tree};

/// A set of schemas by URI, and the manifests that say which schema a tag has.
///
/// ```
/// use trilith_schema::schema::{SchemaSet, TagSchemas};
/// let schemas = SchemaSet::bundled();
/// let found = schemas.of_tag("tag:stsci.edu:asdf/core/ndarray-1.1.0", Some("1.6.0"));
/// assert_eq!(found, TagSchemas::Schemas(vec!["http://stsci.edu/schemas/asdf/core/ndarray-1.1.0".into()]));
/// ```
#[derive(Debug, Clone, Default)]
pub struct SchemaSet {
    /// The text of each schema, by URI.
    texts: HashMap<String, SchemaText>,
    /// The bindings of each tag, by manifest.
    tags: HashMap<String, Vec<TagBinding>>,
}

#[derive(Debug, Clone)]
enum SchemaText {
    Static(&'static str),
    Owned(String),
}

/// A tag's schemas in one manifest.
#[derive(Debug, Clone)]
struct TagBinding {
    version_requirement: VersionRequirement,
    schemas: Vec<String>,
}

/// The schemas of a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TagSchemas {
    /// The URIs of its schemas.
    Schemas(Vec<String>),
    /// The tag is known, but not in this version of the standard.
    OtherStandard,
    /// The tag is unknown.
    Unknown,
}

/// The kind of document that [`SchemaSet::add`] has found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddedDocument {
    /// A schema with this URI.
    Schema(String),
    /// A manifest with this number of tags.
    Manifest(usize),
    /// A schema without `id`, to which nothing can refer.
    WithoutId,
    /// A document that is neither a schema nor a manifest.
    Other,
}

/// Versions of the standard, as the intersection of comparisons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct VersionRequirement(Vec<(Comparison, [u32; 3])>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl VersionRequirement {
    /// Reads `1.6.0`, `>=1.6.0`, `>1.0.0,<2.0.0` or `*`.
    fn parse(text: &str) -> Option<Self> {
        let mut all = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty() && *part != "*") {
            let (how, version) = [
                (">=", Comparison::AtLeast),
                ("<=", Comparison::AtMost),
                ("==", Comparison::Equal),
                (">", Comparison::More),
                ("<", Comparison::Less),
                ("", Comparison::Equal),
            ]
            .into_iter()
            .find_map(|(sign, how)| part.strip_prefix(sign).map(|rest| (how, rest)))?;
            all.push((how, version_of(version)?));
        }
        Some(Self(all))
    }

    fn allows(&self, version: [u32; 3]) -> bool {
        self.0.iter().all(|(how, limit)| match how {
            Comparison::Equal => version == *limit,
            Comparison::Less => version < *limit,
            Comparison::AtMost => version <= *limit,
            Comparison::More => version > *limit,
            Comparison::AtLeast => version >= *limit,
        })
    }
}

/// `1.6.0`, `1.6` or `1` as three numbers; what follows (`-dev`) does not count.
pub(super) fn version_of(text: &str) -> Option<[u32; 3]> {
    let mut version = [0; 3];
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let mut parts = text.get(..end)?.split('.');
    for (at, place) in version.iter_mut().enumerate() {
        match parts.next() {
            Some(part) => *place = part.parse().ok()?,
            None if at > 0 => {}
            None => return None,
        }
    }
    Some(version)
}

impl SchemaSet {
    /// Returns an empty set of schemas.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The schemas of the standards 1.0 to 1.6 (core, unit, time, table, fits, the old wcs, transform),
    /// those of the documents FINF 0.1.0, 0.1.0dev and 0.1.0, and the metaschemas.
    pub fn bundled() -> Self {
        let mut schemas = Self::default();
        for (uri, text) in bundled::iter_schema_texts() {
            schemas.texts.insert(uri.to_owned(), SchemaText::Static(text));
        }
        for line in bundled::MANIFESTS.lines() {
            let mut words = line.split(' ');
            let (Some(_), Some(needs)) = (words.next(), words.next()) else { continue };
            let Some(needs) = VersionRequirement::parse(needs) else { continue };
            for entry in words {
                let (tag, uris) = bundled::tag_entry(entry);
                schemas.tags.entry(tag).or_default().push(TagBinding { version_requirement: needs.clone(), schemas: uris });
            }
        }
        schemas
    }

    /// Adds a schema or a manifest from its text; one with the same URI is replaced.
    ///
    /// A schema whose `tag` keyword is at the top is bound to that tag.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the text is not YAML (JSON is YAML too).
    pub fn add(&mut self, text: impl Into<String>, limits: &Limits) -> Result<AddedDocument> {
        let tree = Tree::parse(text, limits)?;
        let root = tree.root();
        let text_of = |key: &str| root.get(key).and_then(|node| node.as_str()).map(|text| text.into_owned());
        if let Some(tags) = root.get("tags").filter(|tags| tags.is_sequence() && root.get("extension_uri").is_some()) {
            return self.add_manifest(&tree, tags.items());
        }
        let Some(id) = text_of("id") else {
            return Ok(if root.get("id").is_some() || is_schema(root) { AddedDocument::WithoutId } else { AddedDocument::Other });
        };
        let uri = split_fragment(&id).0.to_owned();
        if let Some(tag) = text_of("tag").filter(|tag| !tag.contains('*')) {
            self.bind_tag(&tag, VersionRequirement::default(), vec![uri.clone()]);
        }
        self.texts.insert(uri.clone(), SchemaText::Owned(tree.into_text()));
        Ok(AddedDocument::Schema(uri))
    }

    fn add_manifest<'t>(&mut self, tree: &Tree, tags: impl Iterator<Item = Node<'t>>) -> Result<AddedDocument> {
        let needs = match tree.root().get("asdf_standard_requirement") {
            None => VersionRequirement::default(),
            Some(node) if node.is_mapping() => {
                let parts: Vec<String> = node
                    .entries()
                    .filter_map(|(key, value)| {
                        let sign = match &*key.text() {
                            "gt" => ">",
                            "gte" => ">=",
                            "lt" => "<",
                            "lte" => "<=",
                            _ => return None,
                        };
                        Some(format!("{sign}{}", value.text()))
                    })
                    .collect();
                VersionRequirement::parse(&parts.join(",")).unwrap_or_default()
            }
            Some(node) => VersionRequirement::parse(&node.text()).unwrap_or_default(),
        };
        let mut count = 0;
        for entry in tags {
            let Some(tag) = entry.get("tag_uri").and_then(|tag| tag.as_str()) else { continue };
            let uris = match entry.get("schema_uri") {
                None => Vec::new(),
                Some(list) if list.is_sequence() => list.items().map(|uri| uri.text().into_owned()).collect(),
                Some(one) => vec![one.text().into_owned()],
            };
            self.bind_tag(&tag, needs.clone(), uris);
            count += 1;
        }
        Ok(AddedDocument::Manifest(count))
    }

    fn bind_tag(&mut self, tag: &str, needs: VersionRequirement, schemas: Vec<String>) {
        let bindings = self.tags.entry(tag.to_owned()).or_default();
        bindings.retain(|known| known.version_requirement != needs);
        bindings.push(TagBinding { version_requirement: needs, schemas });
    }

    /// Adds a schema under a URI of the caller's choice.
    pub(super) fn insert(&mut self, uri: &str, text: String) {
        self.texts.insert(uri.to_owned(), SchemaText::Owned(text));
    }

    /// The text of a schema, by URI without fragment.
    pub fn text(&self, uri: &str) -> Option<&str> {
        match self.texts.get(uri)? {
            SchemaText::Static(text) => Some(text),
            SchemaText::Owned(text) => Some(text),
        }
    }

    /// The URIs of all schemas, in alphabetical order.
    pub fn uris(&self) -> Vec<&str> {
        let mut uris: Vec<&str> = self.texts.keys().map(String::as_str).collect();
        uris.sort_unstable();
        uris
    }

    /// The schemas of a tag in a version of the standard (None: any).
    ///
    /// Manifests decide; a tag that none lists has the schema that its name leads to
    /// (`tag:stsci.edu:XXX` is `http://stsci.edu/schemas/XXX`, 0.1.0dev section 5.2.2) if there is one.
    pub fn of_tag(&self, tag: &str, standard: Option<&str>) -> TagSchemas {
        let version = standard.and_then(version_of);
        let Some(bindings) = self.tags.get(tag) else {
            return match by_name(tag).filter(|uri| self.leads_by_name(tag, uri)) {
                Some(uri) => TagSchemas::Schemas(vec![uri]),
                None => TagSchemas::Unknown,
            };
        };
        let mut uris: Vec<String> = Vec::new();
        let mut any = false;
        for binding in bindings.iter().filter(|binding| version.is_none_or(|version| binding.version_requirement.allows(version)))
        {
            any = true;
            for uri in &binding.schemas {
                if !uris.contains(uri) {
                    uris.push(uri.clone());
                }
            }
        }
        if any { TagSchemas::Schemas(uris) } else { TagSchemas::OtherStandard }
    }

    /// Whether a tag that no manifest lists leads to the schema of its name: those of 2014 and 2015 do, and those that were
    /// added. Of the others Python asdf knows only what the manifests list.
    fn leads_by_name(&self, tag: &str, uri: &str) -> bool {
        match self.texts.get(uri) {
            Some(SchemaText::Owned(_)) => true,
            Some(SchemaText::Static(_)) => tag.contains("/0.1.0/") || tag.ends_with("-0.1.0"),
            None => false,
        }
    }

    /// A tag that may have been meant: of the same name in another version that the standard has, or one
    /// that is spelt nearly so.
    pub(super) fn near_tag(&self, tag: &str, standard: Option<&str>) -> Option<&str> {
        let version = standard.and_then(version_of);
        let fits = |known: &&String| {
            let bindings = self.tags.get(*known).map_or(&[][..], Vec::as_slice);
            bindings.iter().any(|binding| version.is_none_or(|version| binding.version_requirement.allows(version)))
        };
        let (name, _) = name_and_version(tag);
        let same = self.tags.keys().filter(|known| name_and_version(known).0 == name).filter(fits);
        // The highest version: longer numbers are higher.
        if let Some(found) = same.max_by_key(|known| (version_of(name_and_version(known).1.unwrap_or("")), known.len())) {
            return Some(found);
        }
        let (family, last) = name.rsplit_once('/')?;
        let names = self.tags.keys().filter(fits).map(|known| name_and_version(known).0);
        let mut names: Vec<&str> = names.filter_map(|known| known.strip_prefix(family)?.strip_prefix('/')).collect();
        names.sort_unstable();
        names.dedup();
        let meant = nearest(last, names).filter(|meant| *meant != last)?;
        self.near_tag(&format!("{family}/{meant}"), standard)
    }

    /// The parsed document of a URI.
    pub(super) fn parse_schema(&self, uri: &str, limits: &Limits) -> Option<Result<Tree>> {
        self.text(uri).map(|text| Tree::parse(text, limits).with_context(|| format!("reading schema {uri}")))
    }
}

/// The schema that a tag leads to by its name.
fn by_name(tag: &str) -> Option<String> {
    tag.strip_prefix("tag:stsci.edu:").map(|rest| format!("http://stsci.edu/schemas/{rest}"))
}

/// Returns `true` if a text without `id` is a schema.
fn is_schema(root: Node<'_>) -> bool {
    const SCHEMA_KEYWORDS: [&str; 7] =
        ["$schema", "properties", "patternProperties", "allOf", "anyOf", "oneOf", "requiredProperties"];
    let is_type = |node: Node<'_>| node.as_str().is_some_and(|name| JsonType::bits_of(&name).is_some());
    SCHEMA_KEYWORDS.iter().any(|part| root.get(part).is_some()) || root.get("type").is_some_and(is_type)
}

/// The error for a schema that is not there.
pub(super) fn missing_schema_error(uri: &str) -> Error {
    Error::invalid_input(format!("schema {uri} is not known")).setting("", SuggestedSetting::Schemas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_bind_tags_by_standard_version() {
        let schemas = SchemaSet::bundled();
        let ndarray = "tag:stsci.edu:asdf/core/ndarray-1.0.0";
        assert!(matches!(schemas.of_tag(ndarray, Some("1.5.0")), TagSchemas::Schemas(_)));
        assert_eq!(schemas.of_tag(ndarray, Some("1.6.0")), TagSchemas::OtherStandard);
        assert!(matches!(schemas.of_tag(ndarray, None), TagSchemas::Schemas(_)));
        assert_eq!(schemas.of_tag("tag:example.org:x", Some("1.6.0")), TagSchemas::Unknown);
    }

    #[test]
    fn tags_of_2014_resolve_to_schema_by_name() {
        let schemas = SchemaSet::bundled();
        for name in ["asdf/0.1.0/core/ndarray", "asdf/core/ndarray-0.1.0", "finf/0.1.0/core/finf", "finf/0.1.0/ndarray"] {
            let found = schemas.of_tag(&format!("tag:stsci.edu:{name}"), None);
            assert_eq!(found, TagSchemas::Schemas(vec![format!("http://stsci.edu/schemas/{name}")]), "{name}");
        }
    }

    #[test]
    fn every_manifest_schema_is_bundled() {
        let schemas = SchemaSet::bundled();
        for (tag, bindings) in &schemas.tags {
            for uri in bindings.iter().flat_map(|binding| &binding.schemas) {
                assert!(schemas.texts.contains_key(uri), "{tag}: {uri}");
            }
        }
    }

    #[test]
    fn add_accepts_manifest_and_schema() {
        let limits = Limits::default();
        let mut schemas = SchemaSet::empty();
        let manifest = "id: asdf://x/m\nextension_uri: asdf://x/e\nasdf_standard_requirement: {gte: 1.6.0}\n\
                        tags:\n- {tag_uri: 'asdf://x/t-1', schema_uri: [a, b]}\n";
        assert_eq!(schemas.add(manifest, &limits).unwrap(), AddedDocument::Manifest(1));
        assert_eq!(schemas.of_tag("asdf://x/t-1", Some("1.5.0")), TagSchemas::OtherStandard);
        assert_eq!(schemas.of_tag("asdf://x/t-1", Some("1.6.0")), TagSchemas::Schemas(vec!["a".into(), "b".into()]));
        let schema = "id: http://science.edu/s\ntag: 'tag:science.edu:FOO'\n";
        assert_eq!(schemas.add(schema, &limits).unwrap(), AddedDocument::Schema("http://science.edu/s".into()));
        assert!(matches!(schemas.of_tag("tag:science.edu:FOO", None), TagSchemas::Schemas(_)));
        assert_eq!(schemas.add("a: 1", &limits).unwrap(), AddedDocument::Other);
    }
}
