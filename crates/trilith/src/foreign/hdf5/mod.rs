//! HDF5, and netCDF-4, which is HDF5 with conventions.
//!
//! Read are superblocks of version 0 to 3, old and new groups, and compact, contiguous and chunked storage with every index.
//! Groups become dicts, datasets arrays (in chunks, where they are), attributes `#:` comments. What cannot be read is there as
//! an item without data, with the reason in its documentation.

mod attributes;
mod chunks;
mod dataset;
mod extensible;
mod file;
mod header;
mod heaps;
mod links;
mod trees;
mod types;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use self::attributes::{Attribute, Value};
use self::dataset::Dataset;
use self::file::H5;
use self::header::{Header, kind};
use self::heaps::GlobalHeaps;
use self::links::{Link, Target, members};
use super::text::LayoutText;
use crate::array::Datatype;
use crate::bytes::SourceRef;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::Literal;
use crate::limits::Limits;

/// What a dimension of netCDF is called that has no variable.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

/// Attributes by which HDF5 keeps dimensions; what they say stands in `grid_dims`.
const OF_SCALES: &[&str] = &["CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates"];

/// The layout of an HDF5 file.
pub(super) fn derive(source: &SourceRef, limits: &Limits) -> Result<String> {
    let file = H5::open(source, limits)?;
    let text = LayoutText::new("an HDF5 file", limits);
    let heaps = GlobalHeaps::default();
    let mut writer = Writer { source, file, heaps, text, groups: HashMap::new(), paths: OnceCell::new(), items: 0 };
    let root = writer.file.root;
    let header = Header::read(&writer.file, root)?;
    writer.group(&header, root, "")?;
    writer.text.finish()
}

struct Writer<'s> {
    source: &'s SourceRef,
    file: H5,
    heaps: GlobalHeaps,
    text: LayoutText,
    /// The groups that were written, by the addresses of their headers.
    groups: HashMap<u64, String>,
    /// The paths of all objects, once somebody refers to one.
    paths: OnceCell<HashMap<u64, String>>,
    items: u64,
}

impl Writer<'_> {
    /// The members of a group; the text limits how deep they nest.
    fn group(&mut self, header: &Header, address: u64, path: &str) -> Result<()> {
        self.groups.insert(address, if path.is_empty() { "/".to_owned() } else { path.to_owned() });
        let (attributes, refused) = attributes::all(&self.file, header);
        let items = self.attributes(&attributes, &[])?;
        refused.iter().try_for_each(|why| self.text.doc(&format!("not read: {why}")))?;
        self.attribute_items("", items)?;
        let links = members(&self.file, header)?;
        for (number, link) in links.iter().enumerate() {
            self.file.announce(links.iter().skip(number).filter_map(Link::object))?;
            self.items += 1;
            if self.items > self.file.limits.items {
                return Err(Limits::exceeded("items", self.file.limits.items, "the file has more groups and datasets"));
            }
            let said = match &link.target {
                Target::Hard(address) => {
                    self.object(&link.name, *address, &format!("{path}/{}", link.name))?;
                    continue;
                }
                Target::Soft(to) => ("hdf5_link", to.clone()),
                Target::External(file, to) => ("hdf5_external_link", format!("{file}:{to}")),
                Target::Other(kind) => ("hdf5_link", format!("a link of kind {kind}")),
            };
            self.text.item(&link.name, "{}")?;
            self.text.attribute(said.0, said.1.as_str())?;
        }
        Ok(())
    }

    /// A group, a dataset or a datatype.
    fn object(&mut self, name: &str, address: u64, path: &str) -> Result<()> {
        let header = match Header::read(&self.file, address) {
            Ok(header) => header,
            Err(error) => return self.refused(name, &error),
        };
        if header.is_group() {
            if let Some(known) = self.groups.get(&address).cloned() {
                self.text.item(name, "{}")?;
                return self.text.attribute("hdf5_link", known.as_str());
            }
            self.text.enter(name)?;
            self.group(&header, address, path)?;
            return self.text.leave();
        }
        if header.message(kind::LAYOUT).is_none() {
            self.text.item(name, "{}")?;
            return self.text.doc("a committed datatype");
        }
        self.dataset(name, &header)
    }

    /// An item without data, and why.
    fn refused(&mut self, name: &str, error: &Error) -> Result<()> {
        if matches!(error.kind(), ErrorKind::Limit | ErrorKind::Io) {
            return Err(Error::new(error.kind(), error.message()).context(name.to_owned()));
        }
        self.text.item(name, "{}")?;
        self.text.doc(&format!("not read: {}", error.message()))
    }

    fn dataset(&mut self, name: &str, header: &Header) -> Result<()> {
        let (attributes, refused) = attributes::all(&self.file, header);
        let dataset = match Dataset::read(&self.file, header) {
            Ok(dataset) => dataset,
            Err(error) => return self.refused(name, &error),
        };
        let is_scale = self.said(&attributes, "CLASS").is_some_and(|class| class == "DIMENSION_SCALE");
        let scale = self.said(&attributes, "NAME").filter(|_| is_scale);
        if let (Some(true), Some([length])) = (scale.map(|name| name.starts_with(NO_VARIABLE)), dataset.space.shape.as_deref()) {
            return self.text.parameter(name, *length);
        }
        // What fails is written again as an item without data.
        let before = self.text.mark();
        if let Err(error) = dataset.write(&self.file, self.source, &self.heaps, name, &mut self.text) {
            self.text.back_to(before);
            return self.refused(name, &error);
        }
        dataset.remarks(&mut self.text)?;
        let dims = self.dimensions(&attributes, &dataset)?;
        match dims {
            Some(dims) => {
                let dims: Vec<Literal> = dims.into_iter().map(Literal::Text).collect();
                self.text.attribute("grid_dims", dims)?;
            }
            None if is_scale && dataset.space.shape.as_ref().is_some_and(|shape| shape.len() == 1) => {
                self.text.attribute("grid_dims", vec![Literal::Text(name.to_owned())])?;
            }
            None => {}
        }
        let singles = attributes.iter().filter(|attribute| attribute.typed.datatype == Datatype::Float32);
        self.text.singles(singles.map(|attribute| attribute.name.as_str()))?;
        let hidden = if is_scale { OF_SCALES } else { OF_SCALES.get(2..).unwrap_or(&[]) };
        let items = self.attributes(&attributes, hidden)?;
        refused.iter().try_for_each(|why| self.text.doc(&format!("not read: {why}")))?;
        self.attribute_items(name, items)
    }

    /// The text of an attribute.
    fn said(&self, attributes: &[Attribute], name: &str) -> Option<String> {
        let attribute = attributes.iter().find(|attribute| attribute.name == name)?;
        match attribute.value(&self.file, &self.heaps, &|_| String::new()) {
            Ok(Value::One(Literal::Text(text))) => Some(text),
            _ => None,
        }
    }

    /// The names of the dimensions, where scales are attached to all of them.
    fn dimensions(&self, attributes: &[Attribute], dataset: &Dataset) -> Result<Option<Vec<String>>> {
        let Some(list) = attributes.iter().find(|attribute| attribute.name == "DIMENSION_LIST") else { return Ok(None) };
        let rank = dataset.space.shape.as_ref().map_or(0, Vec::len);
        let Ok(lists) = list.sequences(&self.file, &self.heaps) else { return Ok(None) };
        let mut names = Vec::new();
        for references in lists {
            let address = references.first().map(|bytes| self.file.fields(bytes, 0).address()).transpose()?.flatten();
            let path = address.and_then(|address| self.paths().get(&address));
            names.push(path.and_then(|path| path.rsplit('/').next()).unwrap_or("").to_owned());
        }
        Ok((names.len() == rank && rank > 0).then_some(names))
    }

    /// Writes attributes behind their item; those that need an item of their own are given back.
    fn attributes<'a>(&mut self, attributes: &'a [Attribute], hidden: &[&str]) -> Result<Vec<&'a Attribute>> {
        let mut items = Vec::new();
        for attribute in attributes.iter().filter(|attribute| !hidden.contains(&attribute.name.as_str())) {
            let paths = |address: u64| self.paths().get(&address).cloned().unwrap_or_else(|| format!("address {address}"));
            match attribute.value(&self.file, &self.heaps, &paths) {
                Ok(Value::One(value)) => self.text.attribute(&attribute.name, value)?,
                Ok(Value::List(values)) => self.text.attribute(&attribute.name, values)?,
                Ok(Value::Item) => items.push(attribute),
                Err(error) => self.text.doc(&format!("not read: the attribute {}: {}", attribute.name, error.message()))?,
            }
        }
        Ok(items)
    }

    /// Attributes that are items: `NAME@attribute`.
    fn attribute_items(&mut self, owner: &str, attributes: Vec<&Attribute>) -> Result<()> {
        for attribute in attributes {
            let name = format!("{owner}@{}", attribute.name);
            let shape = attribute.space.shape.clone().unwrap_or_default();
            let shape: Vec<u64> = shape.into_iter().chain(attribute.typed.dims.iter().copied()).collect();
            if attribute.address == 0 || attribute.is_elsewhere() {
                self.text.item(&name, "{}")?;
                self.text.doc("not read: an attribute of many elements of variable length")?;
                continue;
            }
            let at = attribute.address.saturating_add(self.file.base);
            self.text.array(&name, &attribute.typed.datatype, attribute.typed.order, &shape, at)?;
        }
        Ok(())
    }

    /// The paths of all objects, found once.
    fn paths(&self) -> &HashMap<u64, String> {
        self.paths.get_or_init(|| {
            let mut paths = HashMap::from([(self.file.root, "/".to_owned())]);
            let mut todo = vec![(self.file.root, String::new())];
            let mut seen = HashSet::new();
            while let Some((address, path)) = todo.pop() {
                if !seen.insert(address) || paths.len() as u64 > self.file.limits.items {
                    continue;
                }
                let Ok(header) = Header::read(&self.file, address) else { continue };
                if !header.is_group() {
                    continue;
                }
                for link in members(&self.file, &header).unwrap_or_default() {
                    if let Target::Hard(address) = link.target {
                        let path = format!("{path}/{}", link.name);
                        paths.entry(address).or_insert_with(|| path.clone());
                        todo.push((address, path));
                    }
                }
            }
            paths
        })
    }
}
