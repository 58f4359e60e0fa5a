//! The ASDF family, FITS included, as a tree of items.

use std::borrow::Cow;
use std::sync::Arc;

use super::annotations::dims_line;
use super::as_array::not_an_array_error;
use super::backend::{
    ArrayDescription, AxisNames, Backend, ChildItem, EventSink, ItemLocation, KeyedChildren, ListedArray, ResolvedItem,
};
use super::expand::{ExpandEvent, ExpandOptions};
use super::item::{ItemKind, ItemMetadata, MetadataParts};
use crate::array::Array;
use crate::array::attribute::ItemAttribute;
use crate::asdf::annotations::ItemAnnotation;
use crate::asdf::{self, AsdfFile, FoundNode, key_name, ndarray, walk};
use crate::bytes::{BaseUri, SourceRef};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::tree::{Node, NodeKind, Value};
use crate::yaml::Scalar;

impl AsdfFile {
    /// The node at a place.
    pub(super) fn node_at(&self, at: &ItemLocation) -> Node<'_> {
        let root = self.tree().root();
        match at {
            ItemLocation::Node(number) => self.tree().node_at(*number).unwrap_or(root),
            ItemLocation::Array { .. } => root,
        }
    }
}

/// The HDU of a FITS file whose header a node has: an HDU, its data, or the root, which has that of HDU 0.
pub(super) fn header_owner<'t>(file: &'t AsdfFile, node: Node<'t>) -> Option<Node<'t>> {
    file.container().filter(|container| container.hdu == 0)?;
    let hdu = if ndarray::is_ndarray(node) {
        file.tree().find(&file.tree().path_of(node.id())?.split_last()?.0)?
    } else if node.id() == file.tree().root().id() {
        node.get("fits")?.index(0)?
    } else {
        node
    };
    let is_hdu = hdu.is_mapping() && hdu.get("header").is_some_and(|rows| rows.is_sequence());
    is_hdu.then_some(hdu)
}

/// Returns the place of a node. An alias keeps a separate place: it is not entered.
pub(super) fn node_location(node: Node<'_>) -> ItemLocation {
    ItemLocation::Node(node.written_id() as usize)
}

fn to_resolved_item(found: &FoundNode, this: &AsdfFile) -> ResolvedItem {
    let other = found.external_file().map(|file| Arc::clone(file) as Arc<dyn Backend>);
    ResolvedItem { external_file: other, place: node_location(found.node(this)) }
}

/// The words about an item in the mapping `dudley`, in which earlier versions kept what `annotations` holds.
fn find_early_note<'f>(file: &'f AsdfFile, at: &ItemLocation, about: &str) -> Option<Node<'f>> {
    let words = file.tree().root().get("dudley")?.get(about)?;
    words.get(&file.tree().path_of(file.node_at(at).id())?.to_string())
}

/// The name that a dimension of a layout gives an axis, `ny-1` for `ny-`; None for a number.
fn parse_axis_name(text: &str) -> Option<String> {
    let name = text.trim_end_matches(['+', '-']);
    let signs = text.get(name.len()..)?;
    let sign = signs.get(..1).unwrap_or("");
    let is_name = name.parse::<i64>().is_err() && !name.is_empty();
    is_name.then(|| if sign.is_empty() { name.to_owned() } else { format!("{name}{sign}{}", signs.len()) })
}

/// Returns the entry of the mapping `annotations` for the item at a place.
fn annotation_at(file: &AsdfFile, at: &ItemLocation) -> Result<Option<ItemAnnotation>> {
    // Most files have none: this is asked for each item of a walk.
    if file.annotations().is_none() {
        return Ok(None);
    }
    file.annotation(file.node_at(at)).map(|said| ItemAnnotation::from_node(said, file.limits())).transpose()
}

impl Backend for AsdfFile {
    fn family(&self) -> &str {
        // HDU 0 never holds an ASDF file: the tree is made of the headers.
        if self.container().is_some_and(|container| container.hdu == 0) {
            return "fits";
        }
        self.sections().generation().map_or("asdf", |generation| generation.family)
    }

    fn source(&self) -> &SourceRef {
        self.sections().source()
    }

    fn limits(&self) -> &Limits {
        self.limits()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings()
    }

    fn root(&self) -> ItemLocation {
        node_location(self.tree().root())
    }

    fn find(&self, path: &str) -> Result<ResolvedItem> {
        if let Some(path) = super::hdu_paths::path_by_number(self, path) {
            return Ok(to_resolved_item(&walk::find(self, &path)?, self));
        }
        if let Some(listing) = super::fits::listing_at(self, path)? {
            let numbered = super::hdu_paths::path_by_number(&listing, path);
            let path = numbered.as_deref().unwrap_or(path);
            let found = walk::find(&listing, path)
                .map_err(|error| super::hdu_paths::missing_hdu_error(&listing, path).unwrap_or(error))?;
            let place = node_location(found.node(&listing));
            let other = found.external_file().map_or_else(|| Arc::new(listing), Arc::clone);
            return Ok(ResolvedItem { external_file: Some(other), place });
        }
        let found = walk::find(self, path).map_err(|error| super::hdu_paths::missing_hdu_error(self, path).unwrap_or(error))?;
        Ok(to_resolved_item(&found, self))
    }

    fn child(&self, at: &ItemLocation, key: &str) -> Result<Option<ItemLocation>> {
        let node = self.node_at(at);
        if ndarray::is_ndarray(node) {
            return Ok(None);
        }
        let named = || super::hdu_paths::number_of(self, node, key).and_then(|number| node.index(number));
        Ok(node.child(key).or_else(named).map(node_location))
    }

    fn keyed_children(&self, at: &ItemLocation) -> Result<KeyedChildren<'_>> {
        let node = self.node_at(at);
        if node.is_sequence() {
            return Ok(node.items().map(|item| (None, node_location(item))).collect());
        }
        let pairs = node.pairs().into_iter().map(|(key, value)| {
            let key = if key.is_scalar() { key.scalar() } else { Scalar::Str(key.source_text().into()) };
            (Some(key), node_location(value))
        });
        Ok(pairs.collect())
    }

    fn path(&self, at: &ItemLocation) -> Option<String> {
        self.tree().path_of(self.node_at(at).id()).map(|path| path.to_string())
    }

    fn attributes(&self, at: &ItemLocation, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ItemAttribute>> {
        let node = self.node_at(at);
        match header_owner(self, node) {
            Some(hdu) if hdu.id() == node.id() => Ok(super::fits::hdu_attributes(self, hdu, is_wanted)),
            _ => {
                let mut all = annotation_at(self, at)?.map(|said| said.item_attributes()).unwrap_or_default();
                all.retain(|attribute| is_wanted(&attribute.name));
                Ok(all)
            }
        }
    }

    fn kind(&self, at: &ItemLocation) -> ItemKind {
        let node = self.node_at(at);
        if ndarray::is_ndarray(node) {
            return ItemKind::Array;
        }
        match node.kind() {
            NodeKind::Scalar => match node.scalar() {
                Scalar::Null => ItemKind::Null,
                Scalar::Str(_) => ItemKind::Text,
                _ => ItemKind::Scalar,
            },
            _ if node.is_alias() => ItemKind::Reference,
            NodeKind::Sequence => ItemKind::List,
            NodeKind::Mapping if walk::reference_target(node).is_some() => ItemKind::Reference,
            NodeKind::Mapping => ItemKind::Mapping,
        }
    }

    fn children(&self, at: &ItemLocation) -> Result<Vec<ChildItem<'_>>> {
        let node = self.node_at(at);
        // An alias is not entered: its node is at the anchor.
        if node.is_scalar() || node.is_alias() || ndarray::is_ndarray(node) {
            return Ok(Vec::new());
        }
        if node.is_sequence() {
            return Ok(node.items().map(|item| ChildItem { name: None, place: node_location(item) }).collect());
        }
        let pairs = node.pairs();
        Ok(pairs.into_iter().map(|(key, value)| ChildItem { name: Some(key.key_text()), place: node_location(value) }).collect())
    }

    fn value(&self, at: &ItemLocation) -> Result<Scalar<'_>> {
        let node = self.node_at(at);
        if node.is_scalar() { Ok(node.scalar()) } else { Err(node.error("a mapping or a list, expected a single value")) }
    }

    fn text(&self, at: &ItemLocation) -> Result<Cow<'_, str>> {
        let node = self.node_at(at);
        if node.is_scalar() { Ok(node.text()) } else { Err(node.error("a mapping or a list, expected a single value")) }
    }

    fn array(&self, at: &ItemLocation) -> Result<Array> {
        let node = self.node_at(at);
        if !ndarray::is_ndarray(node) {
            return Err(not_an_array_error(self.kind(at).name()));
        }
        AsdfFile::array(self, node)
    }

    fn as_array(&self, at: &ItemLocation) -> Result<Array> {
        let node = self.node_at(at);
        if ndarray::is_ndarray(node) {
            return AsdfFile::array(self, node);
        }
        if !node.is_sequence() {
            return match self.kind(at) {
                ItemKind::Scalar | ItemKind::Text if node.is_scalar() => super::as_array::scalar_array(&node.scalar()),
                kind => Err(not_an_array_error(kind.name())),
            };
        }
        if !node.is_empty() && node.items().all(ndarray::is_ndarray) {
            return super::as_array::stack_arrays(node.items().map(|item| AsdfFile::array(self, item)), self.limits());
        }
        AsdfFile::array(self, node).map_err(|error| match error.kind() {
            ErrorKind::Malformed | ErrorKind::Unsupported => {
                Error::invalid_input(format!("not an array of one datatype: {}", error.message()))
                    .hint("write it as .json, .yaml or .txt")
            }
            _ => error,
        })
    }

    fn target(&self, at: &ItemLocation) -> Result<ResolvedItem> {
        let node = self.node_at(at);
        if node.is_alias() {
            return Ok(ResolvedItem::same_file(node.alias_target().map_or_else(|| at.clone(), node_location)));
        }
        let found = walk::follow(self, &FoundNode::root(self).with_node(node))?;
        Ok(to_resolved_item(&found, self))
    }

    fn metadata(&self, at: &ItemLocation, parts: MetadataParts) -> Result<ItemMetadata<'_>> {
        let node = self.node_at(at);
        let mut found = ItemMetadata { tag: node.tag(), ..ItemMetadata::default() };
        // An ndarray, which its tag identifies, is not a reference. Most mappings without children are ndarrays.
        if parts.includes(MetadataParts::TAG) && !node.is_alias() && !ndarray::is_ndarray(node) {
            found.reference = walk::reference_target(node);
        }
        if parts.includes(MetadataParts::TEXT)
            && let Some(said) = annotation_at(self, at)?
        {
            let own = said.item_attributes().into_iter().filter(|one| !matches!(one.name.as_str(), "unit" | "units"));
            found.attributes = own.map(|one| (Cow::Owned(one.name), one.value.literal_text())).collect();
            let names = || said.axes.iter().map(|name| name.as_deref().unwrap_or(""));
            found.dims = names().any(|name| !name.is_empty()).then(|| dims_line(names()));
            found.unit = said.unit_text().map(|unit| unit.to_owned().into());
            found.comment = said.doc.map(|doc| doc.lines().map(str::trim).collect::<Vec<_>>().join(" ").into());
        }
        if parts.includes(MetadataParts::UNIT) {
            found.unit = unit_of(self, at).map(Cow::Owned);
        }
        if parts.includes(MetadataParts::AXES) {
            found.axes = axes_of(self, at)?;
        }
        if parts.includes(MetadataParts::FLAGS) {
            found.is_ragged = super::fits::is_ragged(self, node);
        }
        Ok(found)
    }

    fn line_column(&self, at: &ItemLocation) -> Option<(u32, u32)> {
        Some(self.node_at(at).line_column())
    }

    fn describe(&self, at: &ItemLocation) -> Result<ArrayDescription> {
        let node = self.node_at(at);
        let array = Backend::array(self, at)?;
        let mut described = ArrayDescription::from_array(&array);
        described.storage = match node.get("source") {
            _ if ndarray::is_chunked(node) => asdf::chunked_array::describe_chunk_storage(self, node)?,
            None => "inline".to_owned(),
            Some(source) => match source.as_i64().map(|n| self.sections().block(n)) {
                Some(Ok(block)) if block.is_streamed() => "streamed".to_owned(),
                Some(Ok(block)) => match self.encoding_names(block) {
                    Some(chain) => chain.join("+"),
                    None => asdf::codec_name(block),
                },
                _ => format!("in {}", source.text()),
            },
        };
        Ok(described)
    }

    fn rebased_to(self: Arc<Self>, base: &BaseUri) -> Result<Arc<dyn Backend>> {
        Ok(Arc::new(AsdfFile::rebase(super::item::into_unique(self)?, base)?))
    }
}

/// The names of the axes of an array, which a conversion keeps.
fn axes_of(file: &AsdfFile, at: &ItemLocation) -> Result<AxisNames> {
    let mut axes = AxisNames::default();
    if let Some(said) = annotation_at(file, at)?.filter(|said| !said.axes.is_empty()) {
        axes.names = said.axes;
    } else if let Some(names) = find_early_note(file, at, "notes").and_then(|notes| notes.get("axes")) {
        axes.names = names.items().map(|name| (!name.is_null()).then(|| name.text().into_owned())).collect();
    } else if let Some(shape) = find_early_note(file, at, "shapes") {
        axes.names = shape.items().map(|dim| parse_axis_name(&dim.text())).collect();
    }
    Ok(axes)
}

/// The unit of an array: that of its quantity or column, a card of FITS, or what a conversion keeps.
fn unit_of(file: &AsdfFile, at: &ItemLocation) -> Option<String> {
    let node = file.node_at(at);
    let early = || find_early_note(file, at, "notes")?.get("unit").map(|unit| unit.text().into_owned());
    let said = || annotation_at(file, at).ok()??.unit_text().map(str::to_owned);
    file.unit_of(node).or_else(|| super::hdu_units::unit_of(file, node)).or_else(said).or_else(early)
}

/// The digits of an integer that is stored as an array of words, if a node is one.
pub(super) fn integer_digits(file: &AsdfFile, node: Node<'_>) -> Result<Option<String>> {
    let is_integer = node.is_mapping() && node.tag().is_some_and(walk::is_integer_tag);
    is_integer.then(|| asdf::expand::read_integer_digits(file, node)).transpose()
}

/// Hands over an item and all below it, part by part.
pub(super) fn expand(file: &AsdfFile, at: &ItemLocation, options: ExpandOptions, take: EventSink<'_>) -> Result<()> {
    let start = FoundNode::root(file).with_node(file.node_at(at));
    asdf::expand(file, &start, options, &mut |part| {
        let tag = |node: Node<'_>| if options.tags { node.tag().map(str::to_owned) } else { None };
        if options.attributes {
            let attributes = match &part {
                asdf::TreeEvent::Key(_) | asdf::TreeEvent::End => None,
                asdf::TreeEvent::Cycle(_) => Some(Vec::new()),
                asdf::TreeEvent::Scalar(node)
                | asdf::TreeEvent::Integer(node, _)
                | asdf::TreeEvent::Array(node, _)
                | asdf::TreeEvent::Unreadable(node, _)
                | asdf::TreeEvent::Sequence(node)
                | asdf::TreeEvent::Mapping(node) => Some(match std::ptr::eq(node.tree(), file.tree()) {
                    true => Backend::attributes(file, &node_location(*node), &|_| true)?,
                    false => Vec::new(),
                }),
            };
            attributes.map_or(Ok(()), |attributes| take(None, ExpandEvent::Attributes(attributes)))?;
        }
        match part {
            asdf::TreeEvent::Scalar(node) => take(tag(node).as_deref(), ExpandEvent::Scalar(node.scalar())),
            asdf::TreeEvent::Integer(node, digits) => take(tag(node).as_deref(), ExpandEvent::Scalar(Scalar::BigInt(digits))),
            asdf::TreeEvent::Array(node, array) => take(tag(node).as_deref(), ExpandEvent::Array(&array)),
            asdf::TreeEvent::Unreadable(node, why) => take(tag(node).as_deref(), ExpandEvent::Unreadable(&why)),
            asdf::TreeEvent::Sequence(node) => take(tag(node).as_deref(), ExpandEvent::List),
            asdf::TreeEvent::Mapping(node) => take(tag(node).as_deref(), ExpandEvent::Mapping),
            asdf::TreeEvent::Key(node) => take(None, ExpandEvent::Key(key_name(node))),
            asdf::TreeEvent::Cycle(path) => take(None, ExpandEvent::Cycle(path.to_string())),
            asdf::TreeEvent::End => take(None, ExpandEvent::End),
        }
    })
}

/// Lists every array with its path.
pub(super) fn arrays(file: &AsdfFile) -> Result<Vec<ListedArray>> {
    let listed = |walk::ListedNdarray { path, location: found }| ListedArray {
        path,
        target: found.map(|found| to_resolved_item(&found, file)),
    };
    Ok(walk::arrays(file)?.into_iter().map(listed).collect())
}

/// An item as a value, and the handles of its tags.
pub(super) fn to_value(file: &AsdfFile, at: &ItemLocation) -> Result<(Value, Vec<(String, String)>)> {
    let node = file.node_at(at);
    let handles = node.tree().tag_handles().map(|(handle, prefix)| (handle.to_owned(), prefix.to_owned())).collect();
    Ok((node.to_value(file.limits())?, handles))
}
