//! One open HDF5 file with cached lookups: the main file, or a file that it refers to.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::attributes::{self, AttributeValue};
use super::file::{Hdf5File, check_driver};
use super::heaps::GlobalHeaps;
use super::links::{LinkTarget, read_group_links};
use super::object_header::{ObjectHeader, kind};
use crate::error::{Error, Result};
use crate::layout::LayoutLiteral;

/// Links that lead to links: the HDF5 library follows as many.
pub(super) const MAX_LINKS: usize = 16;

/// The result of following a path.
pub(super) enum ResolvedLink {
    /// The address of an object header in the file.
    Local(u64),
    /// A path in another file.
    External { file: String, path: String },
    /// More links than are followed, for example a link to itself.
    Endless,
}

/// The links of a group, by their names.
type LinkMap = Rc<HashMap<String, LinkTarget>>;

/// A file.
pub(super) struct LinkedFile {
    pub file: Hdf5File,
    pub heaps: GlobalHeaps,
    /// 0 for the file itself.
    pub number: usize,
    /// The folder of the file as a relative reference, with a slash at its end; empty for that of the file itself.
    pub folder: String,
    /// `true` if the file is known to have the conventions of netCDF.
    pub is_netcdf: Cell<bool>,
    /// `true` if the root keeps the order of its members, as each file of the netCDF library does.
    pub has_order: bool,
    /// Cache by the address of a netCDF dimension: `true` if the dimension is only the length of strings.
    pub string_lengths: RefCell<HashMap<u64, bool>>,
    /// The addresses of the dimensions of netCDF that have a number, by their numbers.
    dimensions: OnceCell<HashMap<i64, u64>>,
    /// The paths of all objects, once somebody refers to one.
    paths: OnceCell<HashMap<u64, String>>,
    /// The links of the groups through which a soft link leads, by their addresses.
    links: RefCell<HashMap<u64, LinkMap>>,
    /// The lengths of the dimensions without an end that were needed, by the addresses of their scales.
    pub lengths: RefCell<HashMap<u64, u64>>,
}

impl LinkedFile {
    /// A file that is open.
    pub(super) fn new(file: Hdf5File, number: usize, folder: String) -> Result<Self> {
        // A damaged extension hides nothing but the message that names a driver.
        let extension = file.extension.and_then(|address| ObjectHeader::read_object_header(&file, address).ok());
        if let Some(message) = extension.as_ref().and_then(|header| header.find_message(kind::MSG_DRIVER_INFO)) {
            check_driver(message.data.get(1..).unwrap_or(&[]))?;
        }
        let header = ObjectHeader::read_object_header(&file, file.root)?;
        let is_mark = |name: &str| matches!(name, "_NCProperties" | "_nc3_strict");
        let is_netcdf = attributes::read_all(&file, &header).0.iter().any(|attribute| is_mark(&attribute.name));
        // The order is tracked and has an index.
        let has_order =
            header.find_message(kind::MSG_LINK_INFO).is_some_and(|links| links.data.get(1).is_some_and(|flags| flags & 3 == 3));
        Ok(Self {
            file,
            heaps: GlobalHeaps::default(),
            number,
            folder,
            is_netcdf: Cell::new(is_netcdf),
            has_order,
            string_lengths: RefCell::default(),
            lengths: RefCell::default(),
            dimensions: OnceCell::new(),
            paths: OnceCell::new(),
            links: RefCell::default(),
        })
    }

    /// Returns to what a path leads from the group at an address. The links on the way are taken off `hops`.
    pub(super) fn resolve_link(&self, to: &str, group: u64, hops: &mut usize) -> Result<ResolvedLink> {
        let steps = |path: &str| -> Vec<String> {
            path.rsplit('/').filter(|step| !matches!(*step, "" | ".")).map(str::to_owned).collect()
        };
        let (mut at, mut todo) = (if to.starts_with('/') { self.file.root } else { group }, steps(to));
        while let Some(step) = todo.pop() {
            match self.links_of(at)?.get(&step) {
                Some(LinkTarget::Hard(address)) => at = *address,
                Some(LinkTarget::Soft(_) | LinkTarget::External(..)) if *hops == 0 => return Ok(ResolvedLink::Endless),
                Some(LinkTarget::Soft(next)) => {
                    *hops -= 1;
                    todo.extend(steps(next));
                    if next.starts_with('/') {
                        at = self.file.root;
                    }
                }
                Some(LinkTarget::External(file, next)) => {
                    *hops -= 1;
                    let rest: Vec<&str> =
                        std::iter::once(next.trim_end_matches('/')).chain(todo.iter().rev().map(String::as_str)).collect();
                    return Ok(ResolvedLink::External { file: file.clone(), path: rest.join("/") });
                }
                Some(LinkTarget::UserDefined(kind)) => {
                    return Err(Error::unsupported(format!(
                        "a link to {to}, which leads to one of the user-defined kind {kind}"
                    )));
                }
                None => return Err(Error::malformed(format!("a link to {to}, which is not in the file"))),
            }
        }
        Ok(ResolvedLink::Local(at))
    }

    fn links_of(&self, group: u64) -> Result<LinkMap> {
        if let Some(known) = self.links.borrow().get(&group) {
            return Ok(Rc::clone(known));
        }
        let links = read_group_links(&self.file, &ObjectHeader::read_object_header(&self.file, group)?)?;
        // The names and a place for each.
        let size = links.iter().fold(0u64, |sum, link| sum.saturating_add(link.name.len() as u64 + 96));
        self.file.limits.charge_memory(size, "the links of a group")?;
        let links = Rc::new(links.into_iter().map(|link| (link.name, link.target)).collect());
        self.links.borrow_mut().insert(group, Rc::clone(&links));
        Ok(links)
    }

    /// The addresses of the dimensions of netCDF that have a number, by their numbers; found once.
    pub(super) fn netcdf_dimensions(&self) -> &HashMap<i64, u64> {
        self.dimensions.get_or_init(|| {
            let number = |address: &u64| {
                let header = ObjectHeader::read_object_header(&self.file, *address).ok().filter(|header| !header.is_group())?;
                let (all, _) = attributes::read_all(&self.file, &header);
                // Variables have the number of their first dimension.
                all.iter().find(|attribute| attribute.name == "CLASS")?;
                let number = all.iter().find(|attribute| attribute.name == "_Netcdf4Dimid")?;
                match number.to_layout_value(&self.file, &self.heaps, &|_, _| String::new()) {
                    Ok(AttributeValue::One(LayoutLiteral::Integer(number))) => Some((number, *address)),
                    _ => None,
                }
            };
            self.object_paths().keys().filter_map(number).collect()
        })
    }

    /// The paths of all objects, found once.
    pub(super) fn object_paths(&self) -> &HashMap<u64, String> {
        self.paths.get_or_init(|| {
            let mut paths = HashMap::from([(self.file.root, "/".to_owned())]);
            let mut todo = vec![(self.file.root, String::new())];
            let mut seen = HashSet::new();
            while let Some((address, path)) = todo.pop() {
                if !seen.insert(address) || paths.len() as u64 > self.file.limits.items {
                    continue;
                }
                let Ok(header) = ObjectHeader::read_object_header(&self.file, address) else { continue };
                if !header.is_group() {
                    continue;
                }
                for link in read_group_links(&self.file, &header).unwrap_or_default() {
                    if let LinkTarget::Hard(address) = link.target {
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
