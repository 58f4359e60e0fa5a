//! HDF5, and netCDF-4, which is HDF5 with conventions.
//!
//! Read are superblocks of version 0 to 3, old and new groups, and compact, contiguous and chunked storage with every index.
//! Groups become dicts, datasets arrays (in chunks, if they are), attributes `#:` comments. A part that cannot be read is an
//! unreadable item; an attribute is then the item `OWNER@NAME`, too. A soft link to a dataset is that dataset again, and so is one to
//! another file, and one that leads back to a group that it is in is an item without elements, which names the group. A virtual
//! dataset is made of items that are not shown.

mod attributes;
mod btree;
mod chunk_index;
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
mod metadata_checksum;
mod object_header;
mod pipeline;
mod references;
mod varlen;
mod virtual_dataset;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use self::attributes::{Attribute, AttributeValue, UnreadableAttribute};
use self::dataset::Dataset;
use self::datatype::UnmappedKind;
use self::external_files::{ExternalFiles, with_subject};
use self::file::Hdf5File;
use self::linked_file::{LinkedFile, MAX_LINKS};
use self::links::{Link, LinkTarget, read_group_links};
pub use self::metadata_checksum::MetadataChecksums;
use self::metadata_checksum::SharedLedger;
use self::object_header::{ObjectHeader, kind};
use self::references::{ReferenceForm, reference_text};
use self::virtual_dataset::{VirtualSources, find_virtual_sources};
use crate::array::{Datatype, undeclared_text};
use crate::bytes::{NoReferences, PartCheck, Resolve, SourceRef, read_vec};
use crate::error::{Error, Result};
use crate::layout::{ItemSpec, LINK_ATTRIBUTE, Layout, LayoutBuilder, LayoutLiteral, OWNER_ATTRIBUTE, StorageField};
use crate::limits::Limits;

/// Name of a netCDF dimension that has no variable.
const DIM_WITHOUT_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

/// The prefix of a variable of netCDF that has the name of a dimension, but not its coordinates.
const NON_COORD_PREFIX: &str = "_nc4_non_coord_";

/// Attributes by which HDF5 keeps dimensions; what they say are the names of axes.
const DIMENSION_SCALE_ATTRIBUTES: &[&str] =
    &["CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates"];

/// The layout of an HDF5 file; `resolve` opens the files that it refers to.
pub(super) fn derive_layout(source: &SourceRef, resolve: &dyn Resolve, limits: &Limits) -> Result<Layout> {
    let file = || Hdf5File::open(source, limits);
    let derived = try_derive_layout(file()?, resolve, NetcdfKnowledge::Open)?;
    if derived.is_late {
        // A dataset before the first mark of netCDF was taken for one of HDF5, or was too short.
        let knowledge = NetcdfKnowledge::Certain(derived.lengths);
        return try_derive_layout(file()?, resolve, knowledge).map(|derived| derived.layout);
    }
    Ok(derived.layout)
}

/// Compares the checksums of all metadata that lead to items: their number, and the errors of those that differ.
///
/// # Errors
/// Returns an error if the file cannot be read, or if its superblock is damaged.
pub(super) fn check_metadata_checksums(source: &SourceRef, limits: &Limits) -> Result<MetadataChecksums> {
    let ledger = SharedLedger::default();
    let file = Hdf5File::open_with_ledger(source, Some(Arc::clone(&ledger)), limits)?;
    // The list has the checksums that differ; anything else that is wrong is a problem of its item.
    let compare = || {
        let layout = try_derive_layout(file, &NoReferences, NetcdfKnowledge::Open)?.layout;
        layout.chunk_indices().try_for_each(|index| match index.for_each(&mut |_, _| Ok(())) {
            Err(error) if !error.kind().is_transient() => Ok(()),
            done => done,
        })
    };
    if let Err(error) = compare()
        && error.kind().is_transient()
    {
        return Err(error);
    }
    Ok(ledger.take())
}

/// Returns the comparison of the checksums of all metadata, which is made once: they decide which bytes are the elements of any array.
pub(super) fn metadata_check() -> PartCheck {
    let known: OnceLock<Result<()>> = OnceLock::new();
    Arc::new(move |source: &SourceRef, _| {
        let compare = || match check_metadata_checksums(source, &Limits::default())?.wrong.into_iter().next() {
            None => Ok(()),
            Some(wrong) => Err(wrong.hint("restore the file from a copy").context(format!("{} is damaged", source.name()))),
        };
        match known.get_or_init(compare) {
            Ok(()) => Ok(()),
            Err(error) => Err(error.copy()),
        }
    })
}

/// The knowledge about a file before its datasets are read: whether it is netCDF.
enum NetcdfKnowledge {
    /// The marks of netCDF in the file decide, and may come late.
    Open,
    /// The file is netCDF, and these are lengths of its dimensions, by the addresses of their scales.
    Certain(HashMap<u64, u64>),
}

/// A layout, and what was found out about its file.
struct DerivedLayout {
    layout: Layout,
    /// `true` if the file turned out to be netCDF after a dataset had been taken for one of HDF5, or if a dimension turned out to be
    /// longer than a dataset before.
    is_late: bool,
    /// The lengths of dimensions without an end.
    lengths: HashMap<u64, u64>,
}

/// The form of the references in lists, such as those of DIMENSION_LIST.
fn reference_form(list: &Attribute) -> ReferenceForm {
    let form = match &list.datatype.special {
        UnmappedKind::Sequence(element) => element.references.first().map(|part| part.form),
        _ => None,
    };
    form.unwrap_or(ReferenceForm::Object)
}

/// The error for a link that leads to more links than the HDF5 library follows.
fn endless_error(link: &str) -> Error {
    Error::malformed(format!("{link}, which leads to more than {MAX_LINKS} links"))
}

/// Derives the layout of a file, once through.
fn try_derive_layout(file: Hdf5File, resolve: &dyn Resolve, netcdf: NetcdfKnowledge) -> Result<DerivedLayout> {
    let mut builder = LayoutBuilder::new("an HDF5 file", &file.limits);
    file.cut_short().iter().try_for_each(|why| builder.write_file_damage(why))?;
    let (root, others) = (file.root, ExternalFiles::new(resolve, file.source().len(), &file.limits));
    let at = Rc::new(LinkedFile::new(file, 0, String::new())?);
    if let NetcdfKnowledge::Certain(lengths) = netcdf {
        at.is_netcdf.set(true);
        at.lengths.replace(lengths);
    }
    let (open, here) = (Vec::new(), String::new());
    let mut writer = LayoutWriter {
        addresses: Rc::clone(&at),
        external_files: others,
        builder,
        open_groups: open,
        items: 0,
        file: here,
        has_plain: false,
        is_late: false,
    };
    let header = ObjectHeader::read_object_header(&at.file, root)?;
    let links = read_group_links(&at.file, &header)?;
    writer.write_user_block()?;
    writer.write_group(&header, &links, root, "")?;
    writer.external_files.write_file_list(&mut writer.builder)?;
    Ok(DerivedLayout { layout: writer.builder.finish(), is_late: writer.is_late, lengths: at.lengths.take() })
}

struct LayoutWriter<'s> {
    /// The file that is being read.
    addresses: Rc<LinkedFile>,
    external_files: ExternalFiles<'s>,
    builder: LayoutBuilder,
    /// The groups that are being written, from the root on: their files, the addresses of their headers, and their paths.
    open_groups: Vec<(usize, u64, String)>,
    items: u64,
    /// The path of the group that is being written.
    file: String,
    /// `true` if a dataset of the file itself was written that was not known to be netCDF, and that the file turned out to be it or a
    /// dimension longer.
    has_plain: bool,
    is_late: bool,
}

impl LayoutWriter<'_> {
    /// The members of a group; the text limits how deep they nest.
    fn write_group(&mut self, header: &ObjectHeader, links: &[Link], address: u64, path: &str) -> Result<()> {
        self.open_groups.push((self.addresses.number, address, if path.is_empty() { "/".to_owned() } else { path.to_owned() }));
        let above = std::mem::replace(&mut self.file, path.to_owned());
        let done = self.group_members(header, links, address, path);
        self.open_groups.pop();
        self.file = above;
        done
    }

    fn group_members(&mut self, header: &ObjectHeader, links: &[Link], address: u64, path: &str) -> Result<()> {
        self.write_comment(header)?;
        self.all_attributes("", header)?;
        self.builder.reserve_items(links.len());
        let at = Rc::clone(&self.addresses);
        for (number, link) in links.iter().enumerate() {
            at.file.prefetch(links.iter().skip(number).filter_map(Link::object_address))?;
            self.items += 1;
            if self.items > at.file.limits.items {
                return Err(Limits::exceeded_error("items", at.file.limits.items, "the file has more groups and datasets"));
            }
            match &link.target {
                LinkTarget::Hard(address) => self.write_object(&link.name, *address, &format!("{path}/{}", link.name))?,
                LinkTarget::Soft(to) => self.write_soft_link(&link.name, to, address, &format!("{path}/{}", link.name))?,
                LinkTarget::External(file, to) => {
                    self.write_external_link(&link.name, (file, to), &format!("{path}/{}", link.name))?;
                }
                LinkTarget::UserDefined(kind) => {
                    self.builder.write_unreadable_item(
                        &link.name,
                        &Error::unsupported(format!("a link of the user-defined kind {kind}")),
                    )?;
                }
            }
        }
        Ok(())
    }

    /// A link to a path, from the group at an address: what it leads to is written again.
    fn write_soft_link(&mut self, name: &str, to: &str, group: u64, path: &str) -> Result<()> {
        match self.external_files.resolve_path(&self.addresses, to, group) {
            Ok(Some(found)) => self.object_in(found, name, path),
            Ok(None) => self.unreadable_link(name, &endless_error(&format!("a link to {to}")), (LINK_ATTRIBUTE, to)),
            Err(error) if error.kind().is_transient() => Err(error),
            Err(why) => self.unreadable_link(name, &why, (LINK_ATTRIBUTE, to)),
        }
    }

    /// An object of a file, which may be another one.
    fn object_in(&mut self, (place, address): (Rc<LinkedFile>, u64), name: &str, path: &str) -> Result<()> {
        let here = std::mem::replace(&mut self.addresses, place);
        let done = self.write_object(name, address, path);
        self.addresses = here;
        done
    }

    /// A link to a path of another file: what it leads to is written here.
    fn write_external_link(&mut self, name: &str, (file, to): (&str, &str), path: &str) -> Result<()> {
        let other = self.external_files.open_file(&self.addresses.folder, file);
        let (said, target) = (format!("a link to {to} in the file {file}"), format!("{file}:{to}"));
        match other.and_then(|other| self.external_files.resolve_path(&other, to, other.file.root)) {
            Ok(Some(found)) => self.object_in(found, name, path),
            Ok(None) => self.unreadable_link(name, &endless_error(&said), ("hdf5_external_link", &target)),
            Err(error) if error.kind().is_transient() => Err(error),
            Err(why) => self.unreadable_link(name, &with_subject(&said, &why, why.kind()), ("hdf5_external_link", &target)),
        }
    }

    /// A link that leads to no object.
    fn unreadable_link(&mut self, name: &str, why: &Error, (word, target): (&str, &str)) -> Result<()> {
        self.builder.write_unreadable_item(name, why)?;
        self.builder.write_attribute(word, target)
    }

    /// A group, a dataset or a datatype.
    fn write_object(&mut self, name: &str, address: u64, path: &str) -> Result<()> {
        let at = Rc::clone(&self.addresses);
        let header = match ObjectHeader::read_object_header(&at.file, address) {
            Ok(header) => header,
            Err(why) => return self.builder.write_unreadable_item(name, &why),
        };
        if header.is_group() {
            // A group that is linked from elsewhere is written again, but not inside of itself.
            if let Some((_, _, known)) =
                self.open_groups.iter().find(|(file, open, _)| (*file, *open) == (at.number, address)).cloned()
            {
                self.builder.write_item(name, &ItemSpec::null())?;
                self.builder.write_doc_lines(&format!("a link back to {known}, the group that it is in"))?;
                return self.builder.write_attribute(LINK_ATTRIBUTE, known.as_str());
            }
            let links = match read_group_links(&at.file, &header) {
                Ok(links) => links,
                Err(why) => return self.builder.write_unreadable_item(name, &why),
            };
            self.builder.open_dict(name)?;
            self.write_group(&header, &links, address, path)?;
            self.builder.close_dict();
            return Ok(());
        }
        if header.find_message(kind::MSG_DATA_LAYOUT).is_none() {
            if header.find_message(kind::MSG_DATATYPE).is_none() {
                let why = Error::unsupported("an object that is not a group, dataset or datatype");
                return self.builder.write_unreadable_item(name, &why);
            }
            self.builder.write_item(name, &ItemSpec::null())?;
            self.builder.write_doc_lines("a committed datatype")?;
            self.write_comment(&header)?;
            return self.all_attributes(name, &header);
        }
        self.write_dataset(name, &header, address)
    }

    fn write_dataset(&mut self, name: &str, header: &ObjectHeader, address: u64) -> Result<()> {
        let name = name.strip_prefix(NON_COORD_PREFIX).unwrap_or(name);
        let at = Rc::clone(&self.addresses);
        let (attributes, mut refused) = attributes::read_all(&at.file, header);
        let mut dataset = match Dataset::from_header(&at.file, header) {
            Ok(dataset) => dataset,
            Err(why) => return self.builder.write_unreadable_item(name, &why),
        };
        let is_scale = self.text_attribute(&attributes, "CLASS").is_some_and(|class| class == "DIMENSION_SCALE");
        let scale = self.text_attribute(&attributes, "NAME").filter(|_| is_scale);
        let is_only_a_dimension = scale.as_ref().is_some_and(|name| name.starts_with(DIM_WITHOUT_VARIABLE));
        let stated_scale = scale.filter(|_| !is_only_a_dimension);
        if is_only_a_dimension {
            self.addresses.is_netcdf.set(true);
            self.is_late |= self.addresses.number == 0 && self.has_plain;
        } else if !at.is_netcdf.get() {
            self.detect_netcdf(&attributes, is_scale, &dataset);
        }
        let mut short = None;
        let has_one_axis = dataset.dataspace.shape.as_ref().is_some_and(|shape| shape.len() == 1);
        if at.is_netcdf.get() {
            let is_coordinate = is_scale && has_one_axis;
            let scales = if is_coordinate { Some(vec![Some(address)]) } else { self.find_scale_addresses(&attributes)? };
            let scales = scales.unwrap_or_default();
            if is_scale && at.lengthen_dimensions(&scales, &dataset)? {
                self.is_late |= at.number == 0;
            }
            short = at.extend_to_dimensions(&scales, &attributes, &mut dataset)?;
        }
        if let (true, Some([length])) = (is_only_a_dimension, dataset.dataspace.shape.as_deref()) {
            return self.builder.write_parameter(name, *length);
        }
        let mut dims = match self.find_dimension_names(&attributes, &dataset)? {
            None if is_scale && has_one_axis => Some(vec![(name.to_owned(), true)]),
            dims => dims,
        };
        let mut chars = None;
        if at.is_netcdf.get() && dataset.is_characters() {
            dataset.split_characters();
            short.iter_mut().for_each(Dataset::split_characters);
            let length = self.find_scale_addresses(&attributes)?.and_then(|scales| scales.last().copied().flatten());
            // Records that were not written are joined from parts, which are characters.
            let may_join = short.is_none() && length.is_some_and(|length| self.is_length(length));
            if may_join && dataset.join_characters() {
                chars = dims.as_mut().and_then(Vec::pop);
            }
        }
        let (mut parts, others) = (Vec::new(), &mut self.external_files);
        self.builder.or_unreadable(name, |builder| {
            dataset.find_data(others, &at.folder)?;
            let found = match short {
                Some(short) => Some(VirtualSources::from_stored_dataset(&at, short)),
                None => find_virtual_sources(&at, &dataset, others)?,
            };
            match found {
                Some(found) => {
                    parts = found.write_virtual_dataset(&dataset, name, builder)?;
                    Ok(())
                }
                None => {
                    dataset.resolve_references(&at)?;
                    dataset.write_items(&at, name, builder)
                }
            }
        })?;
        self.write_comment(header)?;
        dataset.datatype.write_type_attributes(&mut self.builder)?;
        dataset.write_fill_value(&attributes, &mut self.builder)?;
        if let Some(scale) = stated_scale.filter(|scale| !scale.is_empty() && scale != name) {
            self.builder.write_field(StorageField::ScaleName(scale.clone()))?;
        }
        self.write_scales(&attributes)?;
        if at.is_netcdf.get() && !attributes.iter().any(|attribute| attribute.name == "_FillValue") {
            dataset.netcdf_fill(&mut self.builder)?;
        }
        if let Some((length, _)) = chars {
            self.builder.write_field(StorageField::StringAxis(length.clone()))?;
        }
        if let Some(dims) = dims.filter(|dims| !dims.is_empty()) {
            let own = dims.iter().zip(&dataset.dataspace.max_dims).filter(|((_, is_near), most)| *is_near && **most == u64::MAX);
            let unlimited: Vec<&str> = own.map(|((name, _), _)| name.as_str()).collect();
            self.builder.write_dims(dims.iter().map(|(name, _)| name.as_str()))?;
            if !unlimited.is_empty() {
                self.builder.write_unlimited_dims(unlimited)?;
            }
        }
        let hidden = if is_scale { DIMENSION_SCALE_ATTRIBUTES } else { DIMENSION_SCALE_ATTRIBUTES.get(2..).unwrap_or(&[]) };
        let (items, more) = self.write_attributes(&attributes, hidden, Some(&dataset.datatype.datatype))?;
        refused.retain(|refused| !hidden.contains(&refused.name.as_str()));
        refused.extend(more);
        self.attribute_items(name, items, refused)?;
        dataset.write_varlen_members(&at, name, &mut self.builder)?;
        parts.into_iter().try_for_each(|part| part.write_items(&mut self.external_files, &mut self.builder, 0))
    }

    /// Writes the comment of an object as the documentation of its item.
    fn write_comment(&mut self, header: &ObjectHeader) -> Result<()> {
        let Some(message) = header.find_message(kind::MSG_COMMENT) else { return Ok(()) };
        let comment = message.data.split(|byte| *byte == 0).next().unwrap_or(&message.data);
        self.builder.write_doc_lines(&undeclared_text(comment))
    }

    /// Writes the bytes of the file before its superblock, if they say something.
    fn write_user_block(&mut self) -> Result<()> {
        /// Bytes that a layout holds; programs write a few lines of text.
        const MAX_BYTES: u64 = 1 << 12;
        let file = &self.addresses.file;
        let len = file.base_address;
        if len > MAX_BYTES {
            return self.builder.write_omissions(&[format!("the user block, which is its first {len} bytes")]);
        }
        let mut bytes = read_vec(&**file.source(), 0, len, &file.limits)?;
        bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
        if bytes.is_empty() { Ok(()) } else { self.builder.write_field(StorageField::UserBlock(bytes)) }
    }

    /// Writes the scales of the axes of a dataset, if an axis has several of them: the names of axes are those of the first ones.
    fn write_scales(&mut self, attributes: &[Attribute]) -> Result<()> {
        let at = &self.addresses;
        let list = attributes.iter().find(|attribute| attribute.name == "DIMENSION_LIST");
        let Some(list) = list.filter(|list| list.has_several_in_list(&at.file)) else { return Ok(()) };
        let lists = list.varlen_lists(&at.file, &at.heaps).unwrap_or_default();
        let form = reference_form(list);
        let pairs = lists
            .iter()
            .enumerate()
            .flat_map(|(axis, scales)| scales.iter().map(move |scale| (axis.to_string(), reference_text(at, form, scale))));
        let pairs = pairs.collect();
        self.builder.write_field(StorageField::Scales(pairs))
    }

    /// The attributes of a group or a datatype, whose item is written already.
    fn all_attributes(&mut self, owner: &str, header: &ObjectHeader) -> Result<()> {
        let (attributes, mut refused) = attributes::read_all(&self.addresses.file, header);
        let (items, more) = self.write_attributes(&attributes, &[], None)?;
        refused.extend(more);
        self.attribute_items(owner, items, refused)
    }

    /// Notes that a file is netCDF, if a dataset of it shows that.
    fn detect_netcdf(&mut self, attributes: &[Attribute], is_scale: bool, dataset: &Dataset) {
        let has = |name: &str| attributes.iter().any(|attribute| attribute.name == name);
        let is_marked = has("_Netcdf4Dimid") || has("_Netcdf4Coordinates");
        // Old libraries left no other mark: the order of the members, dimensions, and their fill value in HDF5's own words.
        let is_old = || self.addresses.has_order && (is_scale || has("DIMENSION_LIST")) && dataset.has_library_fill();
        let is_netcdf = is_marked || is_old();
        self.addresses.is_netcdf.set(is_netcdf);
        if self.addresses.number == 0 {
            self.is_late |= is_netcdf && self.has_plain;
            self.has_plain |= !is_netcdf;
        }
    }

    /// Returns `true` if a dimension of netCDF is nothing but the length of strings: it has no variable, and only characters
    /// have it, as their last axis.
    fn is_length(&self, address: u64) -> bool {
        /// Variables of one dimension, each of which is looked at.
        const MAX_DIMENSION_VARIABLES: usize = 1 << 12;
        let at = &self.addresses;
        if let Some(known) = at.string_lengths.borrow().get(&address) {
            return *known;
        }
        let found = ObjectHeader::read_object_header(&at.file, address).and_then(|header| {
            let (attributes, _) = attributes::read_all(&at.file, &header);
            let has_end = Dataset::from_header(&at.file, &header)?.dataspace.max_dims.iter().all(|most| *most != u64::MAX);
            let has_no_variable =
                self.text_attribute(&attributes, "NAME").is_some_and(|name| name.starts_with(DIM_WITHOUT_VARIABLE));
            let list = attributes.iter().find(|attribute| attribute.name == "REFERENCE_LIST");
            let users = list.map(|list| list.parse_reference_list(&at.file)).unwrap_or_default();
            let has_characters = |(user, axis): &(u64, u64)| {
                let user =
                    ObjectHeader::read_object_header(&at.file, *user).and_then(|header| Dataset::from_header(&at.file, &header));
                user.is_ok_and(|user| user.is_characters() && *axis + 1 == user.dataspace.max_dims.len() as u64)
            };
            Ok(has_end && has_no_variable && users.len() <= MAX_DIMENSION_VARIABLES && users.iter().all(has_characters))
        });
        let is_length = found.unwrap_or(false);
        at.string_lengths.borrow_mut().insert(address, is_length);
        is_length
    }

    /// The text of an attribute.
    fn text_attribute(&self, attributes: &[Attribute], name: &str) -> Option<String> {
        let attribute = attributes.iter().find(|attribute| attribute.name == name)?;
        match attribute.to_layout_value(&self.addresses.file, &self.addresses.heaps, &|_, _| String::new()) {
            Ok(AttributeValue::One(LayoutLiteral::Text(text))) => Some(text),
            _ => None,
        }
    }

    /// Returns the addresses of the scales that are attached to the axes of a dataset. A scale has none, but netCDF numbers the
    /// dimensions of one with several axes.
    fn find_scale_addresses(&self, attributes: &[Attribute]) -> Result<Option<Vec<Option<u64>>>> {
        let Some(list) = attributes.iter().find(|attribute| attribute.name == "DIMENSION_LIST") else {
            let numbers = attributes.iter().find(|attribute| attribute.name == "_Netcdf4Coordinates");
            return Ok(
                match numbers
                    .map(|numbers| numbers.to_layout_value(&self.addresses.file, &self.addresses.heaps, &|_, _| String::new()))
                {
                    Some(Ok(AttributeValue::List(numbers))) => {
                        let known = self.addresses.netcdf_dimensions();
                        let address = |number: LayoutLiteral| match number {
                            LayoutLiteral::Integer(number) => known.get(&number).copied(),
                            _ => None,
                        };
                        Some(numbers.into_iter().map(address).collect())
                    }
                    _ => None,
                },
            );
        };
        let Ok(lists) = list.varlen_lists(&self.addresses.file, &self.addresses.heaps) else { return Ok(None) };
        let form = reference_form(list);
        let address = |references: &Vec<Vec<u8>>| {
            let first = references.first().map(|bytes| form.object_address(&self.addresses.file, bytes));
            first.transpose().map(Option::flatten)
        };
        lists.iter().map(address).collect::<Result<_>>().map(Some)
    }

    /// Returns the names of the dimensions, if scales are attached to all of them, and whether each scale is in the group
    /// that is being written.
    fn find_dimension_names(&self, attributes: &[Attribute], dataset: &Dataset) -> Result<Option<Vec<(String, bool)>>> {
        let Some(scales) = self.find_scale_addresses(attributes)? else { return Ok(None) };
        let rank = dataset.dataspace.shape.as_ref().map_or(0, Vec::len);
        let mut names = Vec::new();
        for address in scales {
            let path = address.and_then(|address| self.addresses.object_paths().get(&address));
            let (group, name) = path.and_then(|path| path.rsplit_once('/')).unwrap_or(("?", ""));
            names.push((name.strip_prefix(NON_COORD_PREFIX).unwrap_or(name).to_owned(), group == self.file));
        }
        Ok((names.len() == rank && rank > 0).then_some(names))
    }

    /// Writes attributes after their item, whose elements have a datatype if it is an array. Those that need an item, and those that
    /// cannot be read, are given back.
    fn write_attributes<'a>(
        &mut self,
        attributes: &'a [Attribute],
        hidden: &[&str],
        elements: Option<&Datatype>,
    ) -> Result<(Vec<&'a Attribute>, Vec<UnreadableAttribute>)> {
        let (mut items, mut refused) = (Vec::new(), Vec::new());
        for attribute in attributes.iter().filter(|attribute| !hidden.contains(&attribute.name.as_str())) {
            let paths = |form: ReferenceForm, stored: &[u8]| reference_text(&self.addresses, form, stored);
            match attribute.to_layout_value(&self.addresses.file, &self.addresses.heaps, &paths) {
                Ok(AttributeValue::One(value)) => self.builder.file_attribute(&attribute.name, value)?,
                Ok(AttributeValue::List(values)) => self.builder.file_attribute(&attribute.name, values)?,
                Ok(AttributeValue::Item) => {
                    items.push(attribute);
                    continue;
                }
                Err(why) => {
                    refused.push(UnreadableAttribute { name: attribute.name.clone(), reason: why });
                    continue;
                }
            }
            self.builder
                .write_attribute_types(elements, std::iter::once((attribute.name.as_str(), attribute.attribute_type())))?;
        }
        Ok((items, refused))
    }

    /// Attributes that are items: `NAME@attribute`.
    fn attribute_items(&mut self, owner: &str, attributes: Vec<&Attribute>, refused: Vec<UnreadableAttribute>) -> Result<()> {
        for attribute in attributes {
            let name = format!("{owner}@{}", attribute.name);
            let at = &self.addresses;
            self.builder.or_unreadable(&name, |builder| attribute.write_item(at, &name, builder))?;
            self.builder.write_attribute(OWNER_ATTRIBUTE, owner)?;
            attribute.write_varlen_members(at, &name, owner, &mut self.builder)?;
        }
        for UnreadableAttribute { name, reason: why } in refused {
            let name = if name.is_empty() { "attributes" } else { &name };
            self.builder.write_unreadable_item(&format!("{owner}@{name}"), &why)?;
            self.builder.write_attribute(OWNER_ATTRIBUTE, owner)?;
        }
        Ok(())
    }
}
