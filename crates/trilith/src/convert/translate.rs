//! The tree in the words of another generation, by edits of its text: comments, key order and everything
//! that has no counterpart stay unchanged.

use std::collections::{BTreeMap, HashSet};

use super::block_uses::ArrayUse;
use super::history;
use super::loss::LossAccount;
use crate::array::{Datatype, Mask, c_strides};
use crate::asdf::builder::datatype_value;
use crate::asdf::ndarray::{ElementSource, Ndarray, ShapeDimension};
use crate::asdf::{AsdfFile, Target, generation, inline_write};
use crate::diagnostic::Diagnostic;
use crate::error::Result;
use crate::limits::Limits;
use crate::span::Span;
use crate::tree::{
    CollectionStyle, Edit, Node, NodeId, NodeKind, PrintOptions, Scalar, Tree, TreePath, Value, ValueData, YamlScalarStyle,
    print_value, surrogate_escape,
};
use crate::yaml::TagHandles;

/// The handle that the standard's own tags are written with.
const PRIMARY_HANDLE: &str = "!";

/// The text of the tree for a target, which has streams or not, with the comment lines that stood after the header line and
/// have no place there any more.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a limit would be exceeded, and an error if an inline
/// array cannot be read.
pub(super) fn translate_tree(
    file: &AsdfFile,
    (target, streams): (&'static Target, bool),
    uses: &[ArrayUse<'_>],
    comments: &[String],
    account: &mut LossAccount,
) -> Result<String> {
    let tree = file.tree();
    let mut odd = DiscouragedContent::default();
    let mut work = TreeTranslation::new(file, target, streams);
    work.translate_directives(comments);
    work.drop_unknown_directives(account);
    let arrays: std::collections::HashMap<NodeId, usize> =
        uses.iter().enumerate().map(|(place, item)| (item.node.id(), place)).collect();
    let mut walk = tree.root().walk(file.limits()).without_merge();
    while let Some(visit) = walk.try_next()? {
        if let Some(key) = visit.key {
            work.retag_value(key);
            work.fit_key(key, &|| walk.path().to_string(), account);
        }
        odd.check_node(&visit, || walk.path());
        if visit.node.is_alias() {
            continue;
        }
        work.fit_content(visit.node, &|| walk.path().to_string(), account);
        if visit.depth == 1 && visit.key.is_some_and(|key| key.text() == "asdf_library") && work.translate_library(&visit)? {
            walk.skip_children();
            continue;
        }
        if visit.depth == 1 && visit.key.is_some_and(|key| key.text() == "history") && work.translate_history(&visit, account)? {
            walk.skip_children();
            continue;
        }
        work.retag_value(visit.node);
        work.record_tag(visit.node, &|| walk.path().to_string());
        if let Some(item) = arrays.get(&visit.node.id()).and_then(|place| uses.get(*place)) {
            if matches!(item.ndarray.origin, ElementSource::Chunks(_)) {
                work.unchunk(item)?;
                account.notes.push(format!("{}: not in chunks any more, which {} does not have", item.path, target.name));
                walk.skip_children();
                continue;
            }
            work.translate_ndarray(file, item)?;
        } else {
            work.translate_reference(visit.node);
        }
    }
    if target.standard.is_some() {
        account.notes.extend(odd.into_notes());
    }
    let (missing, is_dependent) = (std::mem::take(&mut work.missing_tags), work.is_standard_dependent);
    for (tag, (count, path)) in missing {
        let others = if count > 1 { format!(", at {count} places") } else { String::new() };
        account.add_loss(&path, format!("the tag {tag} stays{others}, because {} has none for it", target.name));
    }
    // The changed text must still be a tree.
    let new = work.edit.finish(file.limits())?;
    if is_dependent {
        add_schema_losses(file, &new, target, account)?;
    }
    Ok(new.into_text())
}

/// Adds what the schemas of the target refuse, and those of the file did not.
#[cfg(feature = "schema")]
fn add_schema_losses(file: &AsdfFile, new: &Tree, target: &Target, account: &mut LossAccount) -> Result<()> {
    use crate::diagnostic::Severity;
    use crate::schema::{SchemaSet, Validator};
    let mut validator = Validator::new(SchemaSet::bundled()).with_limits(file.limits().clone());
    let mut errors_of = |tree: &Tree, standard: Option<&str>| -> Result<Vec<Diagnostic>> {
        let report = validator.validate(tree, standard)?;
        Ok(report.problems.into_iter().filter(|problem| problem.severity == Severity::Error).collect())
    };
    let found = errors_of(new, target.standard)?;
    if found.is_empty() {
        return Ok(());
    }
    let known: HashSet<String> =
        errors_of(file.tree(), file.standard().as_deref())?.iter().map(|problem| problem.path_text().to_owned()).collect();
    for problem in found.iter().filter(|problem| !known.contains(problem.path_text())) {
        let expected = if problem.expectation.is_empty() { String::new() } else { format!(", expected {}", problem.expectation) };
        let message = format!("{}{expected}: the schema {} of {} refuses it", problem.message, problem.schema, target.name);
        account.add_loss(problem.path_text(), message);
    }
    Ok(())
}

#[cfg(not(feature = "schema"))]
fn add_schema_losses(_: &AsdfFile, _: &Tree, _: &Target, _: &mut LossAccount) -> Result<()> {
    Ok(())
}

/// Gives a value and all below it the tags that a target has for theirs.
pub(super) fn retag_value(value: &mut Value, target: &Target) {
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        if let Some(new) = value.tag.as_deref().and_then(|tag| target.tag_for(tag)) {
            value.tag = Some(new);
        }
        match &mut value.data {
            ValueData::Seq(items) => todo.extend(items),
            ValueData::Map(pairs) => todo.extend(pairs.iter_mut().map(|(_, value)| value)),
            _ => {}
        }
    }
}

/// Content that YAML allows and the standards 1.x ask writers to avoid: copied, but reported.
#[derive(Default)]
struct DiscouragedContent {
    /// Keys that are neither strings nor whole numbers nor booleans: their number, and the place of the first.
    keys: (usize, String),
    /// Integers beyond int64: their number, and the place of the first.
    numbers: (usize, String),
}

impl DiscouragedContent {
    fn check_node(&mut self, visit: &crate::tree::WalkEntry<'_>, path: impl Fn() -> TreePath) {
        let is_odd =
            |key: Node<'_>| !key.is_scalar() || !matches!(key.scalar(), Scalar::Str(_) | Scalar::Int(_) | Scalar::Bool(_));
        let is_large = visit.node.is_scalar() && matches!(visit.node.scalar(), Scalar::BigInt(_));
        for (found, kind) in [(visit.key.is_some_and(is_odd), &mut self.keys), (is_large, &mut self.numbers)] {
            if found {
                if kind.0 == 0 {
                    kind.1 = path().to_string();
                }
                kind.0 += 1;
            }
        }
    }

    fn into_notes(self) -> impl Iterator<Item = String> {
        let keys = (self.keys, "keys that are neither text, whole numbers nor booleans, which standard 1.6 refuses");
        let numbers = (self.numbers, "whole numbers beyond int64, which standards 1.x keep in core/integer");
        let found = [keys, numbers].into_iter().filter(|((count, _), _)| *count > 0);
        found.map(|((count, path), what)| format!("the tree has {count} {what} (first: {path})"))
    }
}

/// The comments of a whole tree, a line each.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a limit would be exceeded.
pub(super) fn tree_comments(tree: &Tree, limits: &Limits) -> Result<Vec<String>> {
    if !tree.text().contains('#') {
        return Ok(Vec::new());
    }
    comments_in(tree.root(), Span::new_u32(0, tree.text().len()), limits)
}

/// The comments in a part of the text that has a node and no other scalars than those in it, a line each.
fn comments_in(node: Node<'_>, whole: Span, limits: &Limits) -> Result<Vec<String>> {
    let text = node.tree().text();
    let mut taken = Vec::new();
    let mut walk = node.walk(limits).without_merge();
    while let Some(visit) = walk.try_next()? {
        let is_written = |node: &Node<'_>| node.is_scalar() || node.is_alias();
        taken.extend(visit.key.into_iter().chain(Some(visit.node).filter(is_written)).map(Node::full_span));
        taken.extend(visit.node.tag_span());
    }
    taken.sort_by_key(|span| (span.start, span.end));
    let mut comments = Vec::new();
    let mut at = whole.start;
    for span in taken.into_iter().chain([Span::new(whole.end, whole.end)]) {
        let between = Span::new(at, span.start.max(at)).slice(text);
        for line in between.lines().filter(|line| !line.starts_with('%')) {
            let start = line.match_indices('#').map(|(at, _)| at).find(|at| {
                let before = line.get(..*at).unwrap_or("");
                before.is_empty() || before.ends_with([' ', '\t'])
            });
            comments.extend(start.and_then(|at| line.get(at..)).map(|comment| format!("{comment}\n")));
        }
        at = span.end.max(at);
    }
    Ok(comments)
}

struct TreeTranslation<'t> {
    tree: &'t Tree,
    limits: Limits,
    target: &'static Target,
    /// `true` if the block headers of the target can be those of streams, so that a shape may begin with `*`.
    has_streamed: bool,
    edit: Edit<'t>,
    /// Tag handles of the new tree.
    handles: TagHandles,
    /// `true` if `!` represents something else in the new tree.
    primary_handle_changes: bool,
    file: &'t AsdfFile,
    /// Tags that the target has no name for: their number, and the path of the first.
    missing_tags: BTreeMap<&'t str, (usize, String)>,
    /// `true` if the schemas of the target may refuse what those of the file accept.
    is_standard_dependent: bool,
}

impl<'t> TreeTranslation<'t> {
    fn new(file: &'t AsdfFile, target: &'static Target, streams: bool) -> Self {
        let tree = file.tree();
        let standard = |prefix: &str| generation::GENERATIONS.iter().any(|row| row.tree.prefix == prefix);
        let mut primary_changes = false;
        let declared = tree.tag_handles().map(|(handle, prefix)| {
            let changes = handle == PRIMARY_HANDLE && standard(prefix) && prefix != target.tree.prefix;
            primary_changes |= changes;
            (handle.to_owned(), if changes { target.tree.prefix } else { prefix }.to_owned())
        });
        let declared: Vec<_> = declared.collect();
        let handles = TagHandles::new(&declared);
        let mut edit = tree.edit();
        edit.options_mut().handles = declared;
        Self {
            tree,
            limits: file.limits().clone(),
            target,
            has_streamed: streams,
            edit,
            handles,
            primary_handle_changes: primary_changes,
            file,
            missing_tags: BTreeMap::new(),
            is_standard_dependent: false,
        }
    }

    /// The prefix in `%TAG !`, and the comments that move here from after the header line.
    fn translate_directives(&mut self, comments: &[String]) {
        let text = self.tree.text();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if line.starts_with("---") {
                let moved: String = comments.iter().map(|comment| format!("{comment}\n")).collect();
                if !moved.is_empty() {
                    self.edit.replace(Span::new_u32(at, at), moved);
                }
                return;
            }
            let mut words = line.split_whitespace();
            if self.primary_handle_changes
                && words.next() == Some("%TAG")
                && words.next() == Some(PRIMARY_HANDLE)
                && let Some(prefix) = words.next()
                && let Some(start) = line.rfind(prefix)
            {
                self.edit.replace(Span::new_u32(at + start, at + start + prefix.len()), self.target.tree.prefix);
            }
            at += line.len();
        }
    }

    /// The tag as the target names it; a tag that it does not know keeps its whole name.
    fn retag_value(&mut self, node: Node<'t>) {
        let (Some(span), Some(tag)) = (node.tag_span(), node.tag()) else { return };
        let written = span.slice(self.tree.text());
        let new = self.target.tag_for(tag);
        let is_short = written.strip_prefix(PRIMARY_HANDLE).is_some_and(|rest| !rest.is_empty() && !rest.contains(['!', '<']));
        // A tag that another era could only spell out in full has a short name again.
        let is_own = written.starts_with("!<") && tag.starts_with(self.target.tree.prefix);
        if new.is_some() || ((is_short || is_own) && self.primary_handle_changes) {
            let text = self.handles.shorten_tag(new.as_deref().unwrap_or(tag));
            self.edit.replace(span, text);
        }
    }

    /// Notes a tag whose nodes another standard may not have.
    fn record_tag(&mut self, node: Node<'t>, path: &dyn Fn() -> String) {
        let Some(tag) = node.tag().filter(|tag| Target::is_standard_dependent(tag)) else { return };
        self.is_standard_dependent = true;
        if self.target.lacks_tag(tag) {
            self.missing_tags.entry(tag).or_insert_with(|| (0, path())).0 += 1;
        }
    }

    /// Leaves out the directives that YAML 1.1 does not define, which Python asdf cannot read.
    fn drop_unknown_directives(&mut self, account: &mut LossAccount) {
        let text = self.tree.text();
        for span in self.tree.unknown_directives() {
            account.notes.push(format!("the directive {} is left out, which YAML 1.1 does not define", span.slice(text)));
            let end = text
                .get(span.end as usize..)
                .and_then(|rest| rest.find('\n'))
                .map_or(text.len(), |at| span.end as usize + at + 1);
            self.edit.replace(Span::new_u32(span.start as usize, end), "");
        }
    }

    /// Gives content that does not fit its tag the tag that it fits, because Python asdf could not open the file.
    fn fit_content(&mut self, node: Node<'t>, path: &dyn Fn() -> String, account: &mut LossAccount) {
        if node.is_alias() {
            return;
        }
        let problem = node.tag_problem();
        let escape = surrogate_escape(node);
        if let Some(escape) = escape {
            account
                .notes
                .push(format!("{}: the surrogate {escape} and the next are written as the character that they are", path()));
            if problem.is_none() {
                self.edit.replace_node(node, &Value::from(node.text().into_owned()));
            }
        }
        let Some(problem) = problem else { return };
        let (kind, name) = match node.kind() {
            // Every reader opens these.
            NodeKind::Scalar if node.is_null() => {
                if escape.is_some() {
                    self.edit.replace(node.span(), print_quoted(node));
                }
                return;
            }
            NodeKind::Mapping if node.tag().is_some_and(|tag| tag.ends_with(":set")) => return,
            NodeKind::Scalar => ("str", "string"),
            NodeKind::Sequence => ("seq", "sequence"),
            NodeKind::Mapping => ("map", "mapping"),
        };
        match node.tag_span() {
            Some(span) => {
                let tag = self.handles.shorten_tag(&format!("tag:yaml.org,2002:{kind}"));
                if escape.is_some() {
                    // Tag and content change together.
                    self.edit.replace(Span::new(span.start, node.span().end), format!("{tag} {}", print_quoted(node)));
                } else {
                    self.edit.replace(span, tag);
                }
            }
            None => self.edit.replace_node(node, &Value::from(node.text().into_owned())),
        }
        account.add_loss(&path(), format!("{problem}; it becomes a {name}"));
    }

    /// Makes a key a string whose content does not fit its tag, and writes its surrogates as characters.
    fn fit_key(&mut self, key: Node<'t>, path: &dyn Fn() -> String, account: &mut LossAccount) {
        // Every reader opens keys that are null.
        let problem = key.tag_problem().filter(|_| key.is_scalar() && !key.is_alias() && !key.is_null());
        let escape = surrogate_escape(key).filter(|_| !key.is_alias());
        if let Some(escape) = escape {
            account.notes.push(format!(
                "the key of {}: the surrogate {escape} and the next are written as the character that they are",
                path()
            ));
        }
        match (&problem, key.tag_span()) {
            (None, _) if escape.is_none() => return,
            (Some(_), Some(span)) => {
                let tag = self.handles.shorten_tag("tag:yaml.org,2002:str");
                self.edit.replace(Span::new(span.start, key.span().end), format!("{tag} {}", print_quoted(key)));
            }
            _ => self.edit.replace(key.span(), print_quoted(key)),
        }
        if let Some(problem) = problem {
            account.add_loss(&path(), format!("{problem}; the key becomes a string"));
        }
    }

    /// Names this library as the one that produced the file: "Describes the ASDF library that produced the file" (schema
    /// core/asdf). Returns `false` if the node stays.
    fn translate_library(&mut self, visit: &crate::tree::WalkEntry<'t>) -> Result<bool> {
        let node = visit.node;
        if self.target.standard.is_none() || !node.is_mapping() || self.anchors_within(node)? {
            return Ok(false);
        }
        let tag = format!("{}core/software-1.0.0", self.target.tree.prefix);
        let library = Value::map([("name", "trilith"), ("version", env!("CARGO_PKG_VERSION"))]).tagged(tag).flow();
        self.edit.set(&TreePath::root().join("asdf_library"), &library)?;
        Ok(true)
    }

    /// Writes the history in the target's form; false if it stays unchanged.
    fn translate_history(&mut self, visit: &crate::tree::WalkEntry<'t>, account: &mut LossAccount) -> Result<bool> {
        let node = visit.node;
        let Some(mut value) = history::translate_history(node, self.target.history_is_mapping, &self.limits)? else {
            return Ok(false);
        };
        if self.anchors_within(node)? {
            let what = format!("it has an anchor, and so stays as {} does not have it", self.target.name);
            account.add_loss("/history", what);
            return Ok(false);
        }
        retag_value(&mut value, self.target);
        let comments = self.comments_within(node)?;
        if let (Some(key), false) = (visit.key, comments.is_empty()) {
            let start = key.full_span().start as usize;
            let line = self.tree.text().get(..start).and_then(|text| text.rfind('\n')).map_or(0, |at| at + 1);
            self.edit.replace(Span::new_u32(line, line), comments.concat());
        }
        self.edit.set(&TreePath::root().join("history"), &value)?;
        Ok(true)
    }

    /// Returns `true` if something below a node is named for aliases.
    fn anchors_within(&self, node: Node<'t>) -> Result<bool> {
        let mut walk = node.walk(&self.limits).without_merge();
        while let Some(visit) = walk.try_next()? {
            if !visit.node.is_alias() && visit.node.anchor().is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The comments below a node, a line each.
    fn comments_within(&self, node: Node<'t>) -> Result<Vec<String>> {
        comments_in(node, node.full_span(), &self.limits)
    }

    /// `$ref`: fragments begin with a slash from 1.0 on.
    fn translate_reference(&mut self, node: Node<'t>) {
        let Some(text) = node.reference_text() else { return };
        let Some((_, value)) = node.entries().filter(|(key, _)| key.text() == "$ref").last() else { return };
        let (uri, fragment) = match text.split_once('#') {
            Some((uri, fragment)) => (uri, Some(fragment)),
            None => (&*text, None),
        };
        let mut new = self.translate_uri(uri).unwrap_or_else(|| uri.to_owned());
        if let Some(fragment) = fragment {
            let slash = self.target.standard.is_some() && !fragment.is_empty() && !fragment.starts_with('/');
            new = format!("{new}#{}{fragment}", if slash { "/" } else { "" });
        }
        if new != *text {
            self.edit.replace_node(value, &Value::from(new));
        }
    }

    /// The reference to another file, if it is written otherwise: some files before 1.0 put one `../` too many.
    fn translate_uri(&self, uri: &str) -> Option<String> {
        match (self.file.is_early(), self.target.standard.is_some()) {
            (true, true) => Some(self.file.reinterpret(uri)).filter(|meant| *meant != uri).map(str::to_owned),
            // Meant literally: protected from the correction of a superfluous `../`.
            (false, false) if uri.starts_with("../") => Some(format!("./{uri}")),
            _ => None,
        }
    }

    fn translate_ndarray(&mut self, file: &AsdfFile, item: &ArrayUse<'t>) -> Result<()> {
        let node = item.node;
        if !node.is_mapping() {
            return Ok(());
        }
        let described = &item.ndarray;
        self.datatype_keys(node, item.datatype.is_none());
        match &described.origin {
            ElementSource::Inline(data) => self.translate_inline_halves(item, *data)?,
            _ => self.translate_stored(file, item)?,
        }
        if let (Some(to), Some(from)) = (&item.datatype, &described.datatype) {
            let key = self.target.tree.datatype_key;
            let inline = matches!(described.origin, ElementSource::Inline(_));
            let order = Some(described.byteorder).filter(|_| !inline);
            self.set_key(item, &["datatype", "dtype"], key, &datatype_value(to, order, key).flow())?;
            self.scalar_mask(described, from)?;
        }
        Ok(())
    }

    /// An ndarray in the place of an array in chunks.
    fn unchunk(&mut self, item: &ArrayUse<'t>) -> Result<()> {
        let Some(array) = &item.new_array else { return Ok(()) };
        let (key, order) = (self.target.tree.datatype_key, item.ndarray.byteorder);
        let source = item.source.or(item.block.map(|block| block as i64)).unwrap_or_default();
        let datatype = item.datatype.as_ref().unwrap_or_else(|| array.datatype());
        let node = Value::map([
            ("source", Value::from(source)),
            (key, datatype_value(datatype, Some(order), key).flow()),
            ("byteorder", Value::from(order.name())),
            ("shape", Value::seq(array.shape().iter().copied()).flow()),
        ]);
        let tag = format!("{}{}", self.target.tree.prefix, self.target.tree.ndarray);
        self.edit.set(&item.path, &node.tagged(tag))
    }

    /// `source`, `offset`, `strides` and `shape` of an array in a block, and what the target requires.
    fn translate_stored(&mut self, file: &AsdfFile, item: &ArrayUse<'t>) -> Result<()> {
        let (node, described) = (item.node, &item.ndarray);
        let says = |key: &str| node.get(key).is_some_and(|value| !value.is_null());
        if !self.target.tree.default_big && !says("byteorder") {
            self.set_key(item, &["byteorder"], "byteorder", &Value::from(described.byteorder.name()))?;
        }
        if !self.target.tree.default_big {
            if let (Some(datatype), false) = (&described.datatype, says("datatype") || says("dtype")) {
                self.set_key(item, &["datatype", "dtype"], self.target.tree.datatype_key, &Value::from(datatype.name()))?;
            }
            if !says("shape")
                && let Ok(array) = file.stored_array(node)
            {
                self.set_key(item, &["shape"], "shape", &Value::seq(array.shape().iter().copied()).flow())?;
            }
        }
        self.merged_datatype(item)?;
        if let Some(source) = item.source {
            self.set_key(item, &["source"], "source", &Value::from(source))?;
        } else if let ElementSource::External(uri) = &described.origin
            && let Some(uri) = self.translate_uri(uri)
        {
            self.set_key(item, &["source"], "source", &Value::from(uri))?;
        }
        let open = described.shape.as_ref().is_some_and(|shape| shape.contains(&ShapeDimension::Streamed));
        let is_here = matches!(described.origin, ElementSource::Block(_));
        if let (None, true, false, true) = (&item.new_array, open, self.has_streamed, is_here) {
            let array = file.stored_array(node)?;
            self.set_key(item, &["shape"], "shape", &Value::seq(array.shape().iter().copied()).flow())?;
        }
        let Some(array) = &item.new_array else { return Ok(()) };
        // In a separate block the array begins at offset 0 and is in C order.
        if says("offset") {
            self.set_key(item, &["offset"], "offset", &Value::from(0u64))?;
        }
        if says("strides") {
            let datatype = item.datatype.as_ref().unwrap_or_else(|| array.datatype());
            let strides = c_strides(array.shape(), datatype.packed_size())?;
            self.set_key(item, &["strides"], "strides", &Value::seq(strides).flow())?;
        }
        // An HDU determines its shape and type, even if the tree differs.
        let is_hdu = matches!(described.origin, ElementSource::FitsHdu(_));
        if (open && !item.streamed) || is_hdu {
            self.set_key(item, &["shape"], "shape", &Value::seq(array.shape().iter().copied()).flow())?;
        }
        if is_hdu && described.datatype.as_ref().is_none_or(|stated| !stated.is_equivalent(array.datatype())) {
            let key = self.target.tree.datatype_key;
            self.set_key(
                item,
                &["datatype", "dtype"],
                key,
                &datatype_value(array.datatype(), Some(described.byteorder), key).flow(),
            )?;
        }
        Ok(())
    }

    /// A simple datatype that is merged in under the other era's key, which no edit here reaches: said again.
    fn merged_datatype(&mut self, item: &ArrayUse<'t>) -> Result<()> {
        let (node, wanted) = (item.node, self.target.tree.datatype_key);
        let is_written = node.entries().any(|(key, _)| matches!(&*key.text(), "datatype" | "dtype"));
        let is_merged =
            !is_written && node.get(wanted).is_none() && (node.get("dtype").is_some() || node.get("datatype").is_some());
        match &item.ndarray.datatype {
            Some(datatype) if is_merged && item.datatype.is_none() && datatype.as_struct().is_none() => {
                self.set_key(item, &[], wanted, &datatype_value(datatype, None, wanted))
            }
            _ => Ok(()),
        }
    }

    /// Halves in the tree: the numbers that they are rounded to, now that nothing rounds them.
    fn translate_inline_halves(&mut self, item: &ArrayUse<'t>, data: Node<'t>) -> Result<()> {
        let halves = |datatype: &Datatype| matches!(datatype, Datatype::Float16 | Datatype::Struct(_));
        if item.datatype.is_none() || !item.ndarray.datatype.as_ref().is_some_and(halves) {
            return Ok(());
        }
        let array = item.ndarray.inline(data, &self.limits)?;
        if !array.is_empty() {
            self.edit.replace_node(data, &inline_write::nested(&array, &self.target.complex_tag())?.flow());
        }
        Ok(())
    }

    /// A mask by value is compared in the precision of the elements, which was that of halves.
    fn scalar_mask(&mut self, described: &Ndarray<'t>, from: &Datatype) -> Result<()> {
        if !matches!(from, Datatype::Float16 | Datatype::Complex32) {
            return Ok(());
        }
        let Some(mask) = described.mask else { return Ok(()) };
        let half = |x: f64| half::f16::from_f64(x).to_f64();
        let rounded = match Ndarray::scalar_mask(mask)? {
            Some(Mask::Float(x)) => half(x),
            Some(Mask::Integer(n)) => half(n as f64),
            _ => return Ok(()),
        };
        self.edit.replace_node(mask, &Value::from(rounded));
        Ok(())
    }

    /// Renames `dtype` or `datatype` on the node and, unless its datatype is rewritten, in the fields of its
    /// structure.
    fn datatype_keys(&mut self, node: Node<'t>, with_fields: bool) {
        let wanted = self.target.tree.datatype_key;
        let mut todo = vec![node];
        let mut seen = HashSet::new();
        while let Some(node) = todo.pop() {
            if node.is_alias() || !seen.insert(node.id()) {
                continue;
            }
            if node.is_sequence() {
                todo.extend(node.items());
                continue;
            }
            let has_wanted = node.entries().any(|(key, _)| key.text() == wanted);
            for (key, value) in node.entries() {
                if matches!(&*key.text(), "datatype" | "dtype") {
                    if key.text() != wanted && !has_wanted && !key.is_alias() {
                        self.edit.rename_key(key, wanted);
                    }
                    todo.extend(Some(value).filter(|_| with_fields));
                }
            }
        }
    }

    /// Gives a key of an ndarray a value: in its place if the node writes one of `names`, else before
    /// the datatype or the source, so that nothing else moves.
    fn set_key(&mut self, item: &ArrayUse<'t>, names: &[&str], key: &str, value: &Value) -> Result<()> {
        let node = item.node;
        let written = |names: &[&str]| node.entries().filter(|(key, _)| names.contains(&&*key.text())).last();
        if let Some((name, old)) = written(names) {
            if old.layout() == Some(CollectionStyle::Block) && !old.is_alias() {
                return self.edit.set(&item.path.join(name.text()), value);
            }
            // Anchor and tag of the old value stay with it.
            self.edit.replace_node(old, value);
            return Ok(());
        }
        if let Some((anchor, _)) = written(&["datatype", "dtype"]).or_else(|| written(&["source"])) {
            self.edit.insert_before(node, anchor, key, value);
            return Ok(());
        }
        self.edit.set(&item.path.join(key), value)
    }
}

/// The content of a scalar in double quotes.
fn print_quoted(node: Node<'_>) -> String {
    let text = Value::from(node.text().into_owned()).styled(YamlScalarStyle::Double);
    print_value(&text, 0, &PrintOptions::default())
}
