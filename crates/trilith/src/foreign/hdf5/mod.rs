//! HDF5, and netCDF-4, which is HDF5 with conventions.
//!
//! Read are superblocks of version 0 to 3, old and new groups, and compact, contiguous and chunked storage with every index.
//! Groups become dicts, datasets arrays (in chunks, if they are), attributes `#:` comments. A part that cannot be read is an
//! unreadable item; an attribute is then the item `OWNER@NAME`. A soft link to a dataset is that dataset again.

mod attributes;
mod chunks;
mod dataset;
mod elsewhere;
mod extensible;
mod file;
mod header;
mod heaps;
mod links;
mod trees;
mod types;

use std::cell::OnceCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use self::attributes::{Attribute, Refused, Value};
use self::dataset::Dataset;
use self::file::H5;
use self::header::{Header, kind};
use self::heaps::GlobalHeaps;
use self::links::{Link, Target, members};
use super::text::LayoutText;
use crate::array::Datatype;
use crate::bytes::SourceRef;
use crate::error::{Error, Result};
use crate::layout::Literal;
use crate::limits::Limits;

/// Name of a netCDF dimension that has no variable.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

/// The prefix of a variable of netCDF that has the name of a dimension, but not its coordinates.
const NOT_COORDINATES: &str = "_nc4_non_coord_";

/// Attributes by which HDF5 keeps dimensions; what they say is in `grid_dims`.
const OF_SCALES: &[&str] = &["CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates"];

/// The layout of an HDF5 file.
pub(super) fn derive(source: &SourceRef, limits: &Limits) -> Result<String> {
    let file = H5::open(source, limits)?;
    let text = LayoutText::new("an HDF5 file", limits);
    let heaps = GlobalHeaps::default();
    let mut writer = Writer {
        source,
        file,
        heaps,
        text,
        open: Vec::new(),
        paths: OnceCell::new(),
        links: HashMap::new(),
        items: 0,
        here: String::new(),
        is_netcdf: false,
    };
    let root = writer.file.root;
    writer.file.cut_short().iter().try_for_each(|why| writer.text.damaged(why))?;
    let header = Header::read(&writer.file, root)?;
    let links = members(&writer.file, &header)?;
    writer.is_netcdf = attributes::all(&writer.file, &header).0.iter().any(|attribute| attribute.name == "_NCProperties");
    writer.group(&header, &links, root, "")?;
    writer.text.finish()
}

struct Writer<'s> {
    source: &'s SourceRef,
    file: H5,
    heaps: GlobalHeaps,
    text: LayoutText,
    /// The groups that are being written, from the root on: the addresses of their headers, and their paths.
    open: Vec<(u64, String)>,
    /// The paths of all objects, once somebody refers to one.
    paths: OnceCell<HashMap<u64, String>>,
    /// The links of the groups through which a soft link leads, by their addresses.
    links: HashMap<u64, HashMap<String, Target>>,
    items: u64,
    /// The path of the group that is being written.
    here: String,
    /// `true` if the library of netCDF wrote the file.
    is_netcdf: bool,
}

impl Writer<'_> {
    /// The members of a group; the text limits how deep they nest.
    fn group(&mut self, header: &Header, links: &[Link], address: u64, path: &str) -> Result<()> {
        self.open.push((address, if path.is_empty() { "/".to_owned() } else { path.to_owned() }));
        let above = std::mem::replace(&mut self.here, path.to_owned());
        let done = self.group_members(header, links, address, path);
        self.open.pop();
        self.here = above;
        done
    }

    fn group_members(&mut self, header: &Header, links: &[Link], address: u64, path: &str) -> Result<()> {
        self.all_attributes("", header)?;
        for (number, link) in links.iter().enumerate() {
            self.file.announce(links.iter().skip(number).filter_map(Link::object))?;
            self.items += 1;
            if self.items > self.file.limits.items {
                return Err(Limits::exceeded("items", self.file.limits.items, "the file has more groups and datasets"));
            }
            match &link.target {
                Target::Hard(address) => self.object(&link.name, *address, &format!("{path}/{}", link.name))?,
                Target::Soft(to) => self.soft(&link.name, to, address, &format!("{path}/{}", link.name))?,
                Target::External(file, to) => {
                    let why = Error::unsupported(format!("a link to {to} in the file {file}"))
                        .hint("open that file; links to other files are not followed");
                    self.text.unreadable(&link.name, &why)?;
                    self.text.attribute("hdf5_external_link", format!("{file}:{to}").as_str())?;
                }
                Target::Other(kind) => {
                    self.text.unreadable(&link.name, &Error::unsupported(format!("a link of the user-defined kind {kind}")))?;
                }
            }
        }
        Ok(())
    }

    /// A link to a path of the same file, from the group at an address: what it leads to is written again.
    fn soft(&mut self, name: &str, to: &str, group: u64, path: &str) -> Result<()> {
        match self.led(to, group) {
            Ok(address) => self.object(name, address, path),
            Err(why) => {
                self.text.unreadable(name, &why)?;
                self.text.attribute("hdf5_link", to)
            }
        }
    }

    /// Returns the address of the object header to which a path leads from the group at an address.
    fn led(&mut self, to: &str, group: u64) -> Result<u64> {
        /// Links that lead to links: h5py follows as many.
        const HOPS: usize = 16;
        let steps = |path: &str| -> Vec<String> {
            path.rsplit('/').filter(|step| !matches!(*step, "" | ".")).map(str::to_owned).collect()
        };
        let (mut at, mut todo, mut hops) = (if to.starts_with('/') { self.file.root } else { group }, steps(to), 0);
        while let Some(step) = todo.pop() {
            match self.links_of(at)?.get(&step) {
                Some(Target::Hard(address)) => at = *address,
                Some(Target::Soft(next)) if hops < HOPS => {
                    hops += 1;
                    todo.extend(steps(next));
                    if next.starts_with('/') {
                        at = self.file.root;
                    }
                }
                Some(Target::Soft(_)) => {
                    return Err(Error::malformed(format!("a link to {to}, which leads to more than {HOPS} links")));
                }
                Some(_) => return Err(Error::unsupported(format!("a link to {to}, which leads to another file"))),
                None => return Err(Error::malformed(format!("a link to {to}, which is not in the file"))),
            }
        }
        Ok(at)
    }

    /// The links of a group, by their names.
    fn links_of(&mut self, group: u64) -> Result<&HashMap<String, Target>> {
        match self.links.entry(group) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                let links = members(&self.file, &Header::read(&self.file, group)?)?;
                // The names and a place for each.
                let size = links.iter().fold(0u64, |sum, link| sum.saturating_add(link.name.len() as u64 + 96));
                self.file.limits.charge_memory(size, "the links of a group")?;
                Ok(place.insert(links.into_iter().map(|link| (link.name, link.target)).collect()))
            }
        }
    }

    /// A group, a dataset or a datatype.
    fn object(&mut self, name: &str, address: u64, path: &str) -> Result<()> {
        let header = match Header::read(&self.file, address) {
            Ok(header) => header,
            Err(why) => return self.text.unreadable(name, &why),
        };
        if header.is_group() {
            // A group that is linked from elsewhere is written again, but not inside of itself.
            if let Some((_, known)) = self.open.iter().find(|(open, _)| *open == address).cloned() {
                let why = Error::unsupported(format!("a link back to {known}, the group that it is in"));
                self.text.unreadable(name, &why.hint(format!("read {known} itself")))?;
                return self.text.attribute("hdf5_link", known.as_str());
            }
            let links = match members(&self.file, &header) {
                Ok(links) => links,
                Err(why) => return self.text.unreadable(name, &why),
            };
            self.text.enter(name)?;
            self.group(&header, &links, address, path)?;
            return self.text.leave();
        }
        if header.message(kind::LAYOUT).is_none() {
            self.text.item(name, "{}")?;
            self.text.doc("a committed datatype")?;
            return self.all_attributes(name, &header);
        }
        self.dataset(name, &header)
    }

    fn dataset(&mut self, name: &str, header: &Header) -> Result<()> {
        let name = name.strip_prefix(NOT_COORDINATES).unwrap_or(name);
        let (attributes, mut refused) = attributes::all(&self.file, header);
        let mut dataset = match Dataset::read(&self.file, header) {
            Ok(dataset) => dataset,
            Err(why) => return self.text.unreadable(name, &why),
        };
        let is_scale = self.said(&attributes, "CLASS").is_some_and(|class| class == "DIMENSION_SCALE");
        let scale = self.said(&attributes, "NAME").filter(|_| is_scale);
        if let (Some(true), Some([length])) = (scale.map(|name| name.starts_with(NO_VARIABLE)), dataset.space.shape.as_deref()) {
            return self.text.parameter(name, *length);
        }
        let has_one_axis = dataset.space.shape.as_ref().is_some_and(|shape| shape.len() == 1);
        let dims = match self.dimensions(&attributes, &dataset)? {
            None if is_scale && has_one_axis => Some(vec![(name.to_owned(), true)]),
            dims => dims,
        };
        if self.is_netcdf {
            self.grow(&attributes, &mut dataset)?;
        }
        let (file, source, heaps) = (&self.file, self.source, &self.heaps);
        self.text.or_unreadable(name, |text| dataset.write(file, source, heaps, name, text))?;
        dataset.remarks(&mut self.text)?;
        if self.is_netcdf && !attributes.iter().any(|attribute| attribute.name == "_FillValue") {
            dataset.library_fill(&mut self.text)?;
        }
        if let Some(dims) = dims {
            let own = dims.iter().zip(&dataset.space.most).filter(|((_, is_near), most)| *is_near && **most == u64::MAX);
            let unlimited: Vec<Literal> = own.map(|((name, _), _)| Literal::Text(name.clone())).collect();
            self.text.attribute("grid_dims", dims.into_iter().map(|(name, _)| Literal::Text(name)).collect::<Vec<_>>())?;
            if !unlimited.is_empty() {
                self.text.attribute("grid_unlimited", unlimited)?;
            }
        }
        let singles = attributes.iter().filter(|attribute| attribute.typed.datatype == Datatype::Float32);
        self.text.singles(singles.map(|attribute| attribute.name.as_str()))?;
        let hidden = if is_scale { OF_SCALES } else { OF_SCALES.get(2..).unwrap_or(&[]) };
        let (items, more) = self.attributes(&attributes, hidden)?;
        refused.retain(|refused| !hidden.contains(&refused.name.as_str()));
        refused.extend(more);
        self.attribute_items(name, items, refused)?;
        dataset.members(&self.file, self.source, &self.heaps, name, &mut self.text)
    }

    /// The attributes of a group or a datatype, whose item is written already.
    fn all_attributes(&mut self, owner: &str, header: &Header) -> Result<()> {
        let (attributes, mut refused) = attributes::all(&self.file, header);
        let (items, more) = self.attributes(&attributes, &[])?;
        refused.extend(more);
        self.attribute_items(owner, items, refused)
    }

    /// The text of an attribute.
    fn said(&self, attributes: &[Attribute], name: &str) -> Option<String> {
        let attribute = attributes.iter().find(|attribute| attribute.name == name)?;
        match attribute.value(&self.file, &self.heaps, &|_| String::new()) {
            Ok(Value::One(Literal::Text(text))) => Some(text),
            _ => None,
        }
    }

    /// Lengthens the axes without an end to the dimensions of netCDF that they are: another variable may have more records.
    fn grow(&self, attributes: &[Attribute], dataset: &mut Dataset) -> Result<()> {
        let is_short = |most: &u64| *most == u64::MAX;
        if !dataset.space.most.iter().any(is_short) {
            return Ok(());
        }
        let scales = self.scales(attributes)?;
        let space = &mut dataset.space;
        let axes = space.shape.iter_mut().flatten().zip(&space.most);
        for ((length, most), scale) in axes.zip(scales.unwrap_or_default()) {
            let Some(address) = scale.filter(|_| is_short(most)) else { continue };
            let scale = Header::read(&self.file, address).and_then(|header| Dataset::read(&self.file, &header));
            if let Ok(Some([longer])) = scale.as_ref().map(|scale| scale.space.shape.as_deref()) {
                *length = (*length).max(*longer);
            }
        }
        Ok(())
    }

    /// Returns the addresses of the scales that are attached to the axes of a dataset.
    fn scales(&self, attributes: &[Attribute]) -> Result<Option<Vec<Option<u64>>>> {
        let Some(list) = attributes.iter().find(|attribute| attribute.name == "DIMENSION_LIST") else { return Ok(None) };
        let Ok(lists) = list.sequences(&self.file, &self.heaps) else { return Ok(None) };
        let address = |references: &Vec<Vec<u8>>| {
            references.first().map(|bytes| self.file.fields(bytes, 0).address()).transpose().map(Option::flatten)
        };
        lists.iter().map(address).collect::<Result<_>>().map(Some)
    }

    /// Returns the names of the dimensions, if scales are attached to all of them, and whether each scale is in the group
    /// that is being written.
    fn dimensions(&self, attributes: &[Attribute], dataset: &Dataset) -> Result<Option<Vec<(String, bool)>>> {
        let Some(scales) = self.scales(attributes)? else { return Ok(None) };
        let rank = dataset.space.shape.as_ref().map_or(0, Vec::len);
        let mut names = Vec::new();
        for address in scales {
            let path = address.and_then(|address| self.paths().get(&address));
            let (group, name) = path.and_then(|path| path.rsplit_once('/')).unwrap_or(("?", ""));
            names.push((name.strip_prefix(NOT_COORDINATES).unwrap_or(name).to_owned(), group == self.here));
        }
        Ok((names.len() == rank && rank > 0).then_some(names))
    }

    /// Writes attributes after their item. Those that need an item, and those that cannot be read, are given back.
    fn attributes<'a>(&mut self, attributes: &'a [Attribute], hidden: &[&str]) -> Result<(Vec<&'a Attribute>, Vec<Refused>)> {
        let (mut items, mut refused) = (Vec::new(), Vec::new());
        for attribute in attributes.iter().filter(|attribute| !hidden.contains(&attribute.name.as_str())) {
            let paths = |address: u64| self.paths().get(&address).cloned().unwrap_or_else(|| format!("address {address}"));
            match attribute.value(&self.file, &self.heaps, &paths) {
                Ok(Value::One(value)) => self.text.own(&attribute.name, value)?,
                Ok(Value::List(values)) => self.text.own(&attribute.name, values)?,
                Ok(Value::Item) => items.push(attribute),
                Err(why) => refused.push(Refused { name: attribute.name.clone(), why }),
            }
        }
        Ok((items, refused))
    }

    /// Attributes that are items: `NAME@attribute`.
    fn attribute_items(&mut self, owner: &str, attributes: Vec<&Attribute>, refused: Vec<Refused>) -> Result<()> {
        for attribute in attributes {
            let name = format!("{owner}@{}", attribute.name);
            let (file, heaps) = (&self.file, &self.heaps);
            self.text.or_unreadable(&name, |text| attribute.write(file, heaps, &name, text))?;
        }
        for Refused { name, why } in refused {
            let name = if name.is_empty() { "attributes" } else { &name };
            self.text.unreadable(&format!("{owner}@{name}"), &why)?;
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
