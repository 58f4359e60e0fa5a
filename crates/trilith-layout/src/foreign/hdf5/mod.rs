//! HDF5, and netCDF-4, which is HDF5 with conventions.
//!
//! Read are superblocks of version 0 to 3, old and new groups, and compact, contiguous and chunked storage with every index.
//! Groups become dicts, datasets arrays (in chunks, if they are), attributes `#:` comments. A part that cannot be read is an
//! unreadable item; an attribute is then the item `OWNER@NAME`. A soft link to a dataset is that dataset again, and so is one to
//! another file, and one that leads back to a group that it is in is an item without elements. A virtual dataset is made of items
//! that are not shown.

mod attributes;
mod btree;
mod data_layout;
mod dataset;
mod datatype;
mod dimensions;
mod extensible_array;
mod external_files;
mod file;
mod heaps;
mod linked_file;
mod links;
mod object_header;
mod pipeline;
mod varlen;
mod virtual_dataset;

use std::rc::Rc;

use self::attributes::{Attribute, Refused, Value};
use self::dataset::Dataset;
use self::external_files::{Others, about};
use self::file::H5;
use self::linked_file::{HOPS, Place};
use self::links::{Link, Target, members};
use self::object_header::{Header, kind};
use self::virtual_dataset::{Sources, sources};
use super::layout_text::LayoutText;
use crate::bytes::{Resolve, SourceRef};
use crate::error::{Error, Result};
use crate::layout::Literal;
use crate::limits::Limits;

/// Name of a netCDF dimension that has no variable.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

/// The prefix of a variable of netCDF that has the name of a dimension, but not its coordinates.
const NOT_COORDINATES: &str = "_nc4_non_coord_";

/// Attributes by which HDF5 keeps dimensions; what they say is in `grid_dims`.
const OF_SCALES: &[&str] = &["CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates"];

/// The layout of an HDF5 file; `resolve` opens the files that it refers to.
pub(super) fn derive(source: &SourceRef, resolve: &dyn Resolve, limits: &Limits) -> Result<String> {
    match derived(source, resolve, limits, false)? {
        // A dataset before the first mark of netCDF was taken for one of HDF5.
        (_, true) => derived(source, resolve, limits, true).map(|(text, _)| text),
        (text, false) => Ok(text),
    }
}

/// The layout of a file that may be known to be netCDF, and whether that was found out too late.
fn derived(source: &SourceRef, resolve: &dyn Resolve, limits: &Limits, is_netcdf: bool) -> Result<(String, bool)> {
    let file = H5::open(source, limits)?;
    let mut text = LayoutText::new("an HDF5 file", limits);
    file.cut_short().iter().try_for_each(|why| text.damaged(why))?;
    let (root, others) = (file.root, Others::new(resolve, source.len(), limits));
    let at = Rc::new(Place::new(file, 0, String::new())?);
    at.is_netcdf.set(at.is_netcdf.get() || is_netcdf);
    let (open, here) = (Vec::new(), String::new());
    let mut writer = Writer { at: Rc::clone(&at), others, text, open, items: 0, here, has_plain: false, is_late: false };
    let header = Header::read(&at.file, root)?;
    let links = members(&at.file, &header)?;
    writer.group(&header, &links, root, "")?;
    writer.others.write(&mut writer.text)?;
    Ok((writer.text.finish()?, writer.is_late))
}

struct Writer<'s> {
    /// The file that is being read.
    at: Rc<Place>,
    others: Others<'s>,
    text: LayoutText,
    /// The groups that are being written, from the root on: their files, the addresses of their headers, and their paths.
    open: Vec<(usize, u64, String)>,
    items: u64,
    /// The path of the group that is being written.
    here: String,
    /// `true` if a dataset of the file itself was written that was not known to be netCDF, and that the file turned out to be it.
    has_plain: bool,
    is_late: bool,
}

impl Writer<'_> {
    /// The members of a group; the text limits how deep they nest.
    fn group(&mut self, header: &Header, links: &[Link], address: u64, path: &str) -> Result<()> {
        self.open.push((self.at.number, address, if path.is_empty() { "/".to_owned() } else { path.to_owned() }));
        let above = std::mem::replace(&mut self.here, path.to_owned());
        let done = self.group_members(header, links, address, path);
        self.open.pop();
        self.here = above;
        done
    }

    fn group_members(&mut self, header: &Header, links: &[Link], address: u64, path: &str) -> Result<()> {
        self.all_attributes("", header)?;
        let at = Rc::clone(&self.at);
        for (number, link) in links.iter().enumerate() {
            at.file.announce(links.iter().skip(number).filter_map(Link::object))?;
            self.items += 1;
            if self.items > at.file.limits.items {
                return Err(Limits::exceeded("items", at.file.limits.items, "the file has more groups and datasets"));
            }
            match &link.target {
                Target::Hard(address) => self.object(&link.name, *address, &format!("{path}/{}", link.name))?,
                Target::Soft(to) => self.soft(&link.name, to, address, &format!("{path}/{}", link.name))?,
                Target::External(file, to) => self.external(&link.name, (file, to), &format!("{path}/{}", link.name))?,
                Target::Other(kind) => {
                    self.text.unreadable(&link.name, &Error::unsupported(format!("a link of the user-defined kind {kind}")))?;
                }
            }
        }
        Ok(())
    }

    /// A link to a path, from the group at an address: what it leads to is written again.
    fn soft(&mut self, name: &str, to: &str, group: u64, path: &str) -> Result<()> {
        match self.others.follow(&self.at, to, group) {
            Ok(Some(found)) => self.object_in(found, name, path),
            Ok(None) => {
                self.name_only(name, &format!("a link to {to}, which leads to more than {HOPS} links"), ("hdf5_link", to))
            }
            Err(error) if error.kind().is_passing() => Err(error),
            Err(why) => {
                self.text.unreadable(name, &why)?;
                self.text.attribute("hdf5_link", to)
            }
        }
    }

    /// An object of a file, which may be another one.
    fn object_in(&mut self, (place, address): (Rc<Place>, u64), name: &str, path: &str) -> Result<()> {
        let here = std::mem::replace(&mut self.at, place);
        let done = self.object(name, address, path);
        self.at = here;
        done
    }

    /// A link to a path of another file: what it leads to is written here.
    fn external(&mut self, name: &str, (file, to): (&str, &str), path: &str) -> Result<()> {
        let other = self.others.file(&self.at.folder, file);
        let (said, target) = (format!("a link to {to} in the file {file}"), format!("{file}:{to}"));
        match other.and_then(|other| self.others.follow(&other, to, other.file.root)) {
            Ok(Some(found)) => self.object_in(found, name, path),
            Ok(None) => {
                let said = format!("{said}, which leads to more than {HOPS} links");
                self.name_only(name, &said, ("hdf5_external_link", &target))
            }
            Err(error) if error.kind().is_passing() => Err(error),
            Err(why) => {
                self.text.unreadable(name, &about(&said, &why, why.kind()))?;
                self.text.attribute("hdf5_external_link", target.as_str())
            }
        }
    }

    /// A link that leads to nothing new: an item without elements, so that the name is not lost.
    fn name_only(&mut self, name: &str, said: &str, (word, target): (&str, &str)) -> Result<()> {
        self.text.item(name, "{}")?;
        self.text.doc(said)?;
        self.text.attribute(word, target)
    }

    /// A group, a dataset or a datatype.
    fn object(&mut self, name: &str, address: u64, path: &str) -> Result<()> {
        let at = Rc::clone(&self.at);
        let header = match Header::read(&at.file, address) {
            Ok(header) => header,
            Err(why) => return self.text.unreadable(name, &why),
        };
        if header.is_group() {
            // A group that is linked from elsewhere is written again, but not inside of itself.
            if let Some((_, _, known)) = self.open.iter().find(|(file, open, _)| (*file, *open) == (at.number, address)).cloned()
            {
                let said = format!("a link back to {known}, the group that it is in");
                return self.name_only(name, &said, ("hdf5_link", &known));
            }
            let links = match members(&at.file, &header) {
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
        self.dataset(name, &header, address)
    }

    fn dataset(&mut self, name: &str, header: &Header, address: u64) -> Result<()> {
        let name = name.strip_prefix(NOT_COORDINATES).unwrap_or(name);
        let at = Rc::clone(&self.at);
        let (attributes, mut refused) = attributes::all(&at.file, header);
        let mut dataset = match Dataset::read(&at.file, header) {
            Ok(dataset) => dataset,
            Err(why) => return self.text.unreadable(name, &why),
        };
        let is_scale = self.said(&attributes, "CLASS").is_some_and(|class| class == "DIMENSION_SCALE");
        let scale = self.said(&attributes, "NAME").filter(|_| is_scale);
        let is_only_a_dimension = scale.is_some_and(|name| name.starts_with(NO_VARIABLE));
        if is_only_a_dimension {
            self.at.is_netcdf.set(true);
            self.is_late |= self.at.number == 0 && self.has_plain;
        } else if !at.is_netcdf.get() {
            self.recognise(&attributes, is_scale, &dataset);
        }
        let mut short = None;
        if at.is_netcdf.get() {
            let scales = if is_scale { Some(vec![Some(address)]) } else { self.scales(&attributes)? };
            short = at.lengthen(&scales.unwrap_or_default(), &attributes, &mut dataset)?;
        }
        if let (true, Some([length])) = (is_only_a_dimension, dataset.space.shape.as_deref()) {
            return self.text.parameter(name, *length);
        }
        let has_one_axis = dataset.space.shape.as_ref().is_some_and(|shape| shape.len() == 1);
        let mut dims = match self.dimensions(&attributes, &dataset)? {
            None if is_scale && has_one_axis => Some(vec![(name.to_owned(), true)]),
            dims => dims,
        };
        let mut chars = None;
        if at.is_netcdf.get() && dataset.is_characters() {
            dataset.split_characters();
            short.iter_mut().for_each(Dataset::split_characters);
            let length = self.scales(&attributes)?.and_then(|scales| scales.last().copied().flatten());
            // Records that were not written are joined from parts, which are characters.
            let may_join = short.is_none() && length.is_some_and(|length| self.is_length(length));
            if may_join && dataset.join_characters() {
                chars = dims.as_mut().and_then(Vec::pop);
            }
        }
        let (mut parts, others) = (Vec::new(), &mut self.others);
        self.text.or_unreadable(name, |text| {
            dataset.find_data(others, &at.folder)?;
            let found = match short {
                Some(short) => Some(Sources::records(&at, short)),
                None => sources(&at, &dataset, others)?,
            };
            match found {
                Some(found) => {
                    parts = found.write(&dataset, name, text)?;
                    Ok(())
                }
                None => dataset.write(&at.file, &at.heaps, name, text),
            }
        })?;
        dataset.remarks(&mut self.text)?;
        if at.is_netcdf.get() && !attributes.iter().any(|attribute| attribute.name == "_FillValue") {
            dataset.library_fill(&mut self.text)?;
        }
        if let Some((length, _)) = chars {
            self.text.attribute("grid_chars", length.as_str())?;
        }
        if let Some(dims) = dims.filter(|dims| !dims.is_empty()) {
            let own = dims.iter().zip(&dataset.space.most).filter(|((_, is_near), most)| *is_near && **most == u64::MAX);
            let unlimited: Vec<Literal> = own.map(|((name, _), _)| Literal::Text(name.clone())).collect();
            self.text.attribute("grid_dims", dims.into_iter().map(|(name, _)| Literal::Text(name)).collect::<Vec<_>>())?;
            if !unlimited.is_empty() {
                self.text.attribute("grid_unlimited", unlimited)?;
            }
        }
        self.text.factors(attributes.iter().map(|attribute| (attribute.name.as_str(), attribute.typed.datatype.clone())))?;
        let hidden = if is_scale { OF_SCALES } else { OF_SCALES.get(2..).unwrap_or(&[]) };
        let (items, more) = self.attributes(&attributes, hidden)?;
        refused.retain(|refused| !hidden.contains(&refused.name.as_str()));
        refused.extend(more);
        self.attribute_items(name, items, refused)?;
        dataset.members(&at.file, &at.heaps, name, &mut self.text)?;
        parts.into_iter().try_for_each(|part| part.write(&mut self.others, &mut self.text, 0))
    }

    /// The attributes of a group or a datatype, whose item is written already.
    fn all_attributes(&mut self, owner: &str, header: &Header) -> Result<()> {
        let (attributes, mut refused) = attributes::all(&self.at.file, header);
        let (items, more) = self.attributes(&attributes, &[])?;
        refused.extend(more);
        self.attribute_items(owner, items, refused)
    }

    /// Notes that a file is netCDF, if a dataset of it shows that.
    fn recognise(&mut self, attributes: &[Attribute], is_scale: bool, dataset: &Dataset) {
        let has = |name: &str| attributes.iter().any(|attribute| attribute.name == name);
        let is_marked = has("_Netcdf4Dimid") || has("_Netcdf4Coordinates");
        // Old libraries left no other mark: the order of the members, dimensions, and their fill value in HDF5's own words.
        let is_old = || self.at.has_order && (is_scale || has("DIMENSION_LIST")) && dataset.has_library_fill();
        let is_netcdf = is_marked || is_old();
        self.at.is_netcdf.set(is_netcdf);
        if self.at.number == 0 {
            self.is_late |= is_netcdf && self.has_plain;
            self.has_plain |= !is_netcdf;
        }
    }

    /// Returns `true` if a dimension of netCDF is nothing but the length of strings: it has no variable, and only characters
    /// have it, as their last axis.
    fn is_length(&self, address: u64) -> bool {
        /// Variables of one dimension, each of which is looked at.
        const MOST: usize = 1 << 12;
        let at = &self.at;
        if let Some(known) = at.string_lengths.borrow().get(&address) {
            return *known;
        }
        let found = Header::read(&at.file, address).and_then(|header| {
            let (attributes, _) = attributes::all(&at.file, &header);
            let has_end = Dataset::read(&at.file, &header)?.space.most.iter().all(|most| *most != u64::MAX);
            let has_no_variable = self.said(&attributes, "NAME").is_some_and(|name| name.starts_with(NO_VARIABLE));
            let list = attributes.iter().find(|attribute| attribute.name == "REFERENCE_LIST");
            let users = list.map(|list| list.users(&at.file)).unwrap_or_default();
            let has_characters = |(user, axis): &(u64, u64)| {
                let user = Header::read(&at.file, *user).and_then(|header| Dataset::read(&at.file, &header));
                user.is_ok_and(|user| user.is_characters() && *axis + 1 == user.space.most.len() as u64)
            };
            Ok(has_end && has_no_variable && users.len() <= MOST && users.iter().all(has_characters))
        });
        let is_length = found.unwrap_or(false);
        at.string_lengths.borrow_mut().insert(address, is_length);
        is_length
    }

    /// The text of an attribute.
    fn said(&self, attributes: &[Attribute], name: &str) -> Option<String> {
        let attribute = attributes.iter().find(|attribute| attribute.name == name)?;
        match attribute.value(&self.at.file, &self.at.heaps, &|_| String::new()) {
            Ok(Value::One(Literal::Text(text))) => Some(text),
            _ => None,
        }
    }

    /// Returns the addresses of the scales that are attached to the axes of a dataset. A scale has none, but netCDF numbers the
    /// dimensions of one with several axes.
    fn scales(&self, attributes: &[Attribute]) -> Result<Option<Vec<Option<u64>>>> {
        let Some(list) = attributes.iter().find(|attribute| attribute.name == "DIMENSION_LIST") else {
            let numbers = attributes.iter().find(|attribute| attribute.name == "_Netcdf4Coordinates");
            return Ok(match numbers.map(|numbers| numbers.value(&self.at.file, &self.at.heaps, &|_| String::new())) {
                Some(Ok(Value::List(numbers))) => {
                    let known = self.at.dimensions();
                    let address = |number: Literal| match number {
                        Literal::Integer(number) => known.get(&number).copied(),
                        _ => None,
                    };
                    Some(numbers.into_iter().map(address).collect())
                }
                _ => None,
            });
        };
        let Ok(lists) = list.sequences(&self.at.file, &self.at.heaps) else { return Ok(None) };
        let address = |references: &Vec<Vec<u8>>| {
            references.first().map(|bytes| self.at.file.fields(bytes, 0).address()).transpose().map(Option::flatten)
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
            let path = address.and_then(|address| self.at.paths().get(&address));
            let (group, name) = path.and_then(|path| path.rsplit_once('/')).unwrap_or(("?", ""));
            names.push((name.strip_prefix(NOT_COORDINATES).unwrap_or(name).to_owned(), group == self.here));
        }
        Ok((names.len() == rank && rank > 0).then_some(names))
    }

    /// Writes attributes after their item. Those that need an item, and those that cannot be read, are given back.
    fn attributes<'a>(&mut self, attributes: &'a [Attribute], hidden: &[&str]) -> Result<(Vec<&'a Attribute>, Vec<Refused>)> {
        let (mut items, mut refused) = (Vec::new(), Vec::new());
        for attribute in attributes.iter().filter(|attribute| !hidden.contains(&attribute.name.as_str())) {
            let paths = |address: u64| self.at.paths().get(&address).cloned().unwrap_or_else(|| format!("address {address}"));
            match attribute.value(&self.at.file, &self.at.heaps, &paths) {
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
            let (file, heaps) = (&self.at.file, &self.at.heaps);
            self.text.or_unreadable(&name, |text| attribute.write(file, heaps, &name, text))?;
        }
        for Refused { name, why } in refused {
            let name = if name.is_empty() { "attributes" } else { &name };
            self.text.unreadable(&format!("{owner}@{name}"), &why)?;
        }
        Ok(())
    }
}
