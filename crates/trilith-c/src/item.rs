//! Items of the tree: kinds, values, children.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use library::array::attribute::AttributeValue;
use library::file::{AttributeSelector, Backend, ItemLocation, ResolvedItem, part_value, resolve_path};
use library::tree::Scalar;
use library::{Error, File, Item, ItemKind, Result};

use crate::array::trilith_array;
use crate::error::{c_text, call, trilith_error};
use crate::handle::{free, get_mut, get_ref, handle, write_out};
use crate::open::trilith_file;
use crate::strings::{into_c_string, into_c_string_strict, required_str};

/// Named items.
pub const TRILITH_MAPPING: i32 = 1;
/// Numbered items.
pub const TRILITH_LIST: i32 = 2;
/// An array.
pub const TRILITH_ARRAY: i32 = 3;
/// A number, a boolean, a date.
pub const TRILITH_SCALAR: i32 = 4;
/// Text.
pub const TRILITH_TEXT: i32 = 5;
/// A null: no value.
pub const TRILITH_NULL: i32 = 6;
/// A reference to an item of this file or another: see trilith_item_follow.
pub const TRILITH_REFERENCE: i32 = 7;

handle! {
    /// One item of a file. Any number of threads may use one at the same time.
    trilith_item, b"tri:item", {
        reach: FileRef,
        place: ItemLocation,
    }
}

handle! {
    /// The children of an item, to be taken one after the other. One thread at a time.
    trilith_children, b"tri:chil", {
        reach: FileRef,
        left: std::vec::IntoIter<(Option<CString>, ItemLocation)>,
        /// The name that was handed over last.
        name: Option<CString>,
    }
}

/// The file that an item is in: the one that was opened, or one that it refers to.
#[derive(Clone)]
pub enum FileRef {
    This(Arc<File>),
    External(Arc<dyn Backend>),
}

impl FileRef {
    pub fn backend(&self) -> &dyn Backend {
        match self {
            Self::This(file) => file.backend(),
            Self::External(backend) => &**backend,
        }
    }

    /// Returns the target of a path or a reference.
    pub fn wrap_target(&self, found: ResolvedItem) -> *mut trilith_item {
        trilith_item::into_handle(found.external_file.map_or_else(|| self.clone(), FileRef::External), found.place)
    }
}

/// Returns the root of a file's tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_root(
    file: *const trilith_file,
    out: *mut *mut trilith_item,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let reach = FileRef::This(get_ref(file)?.file.clone());
        let place = reach.backend().root();
        trilith_item::into_handle(reach, place)
    })
}

/// Returns the item at a path such as `/roman/meta/exposure`; references on the way are followed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_at(
    file: *const trilith_file,
    path: *const c_char,
    out: *mut *mut trilith_item,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let reach = FileRef::This(get_ref(file)?.file.clone());
        let found = resolve_path(reach.backend(), required_str(path)?)?;
        reach.wrap_target(found)
    })
}

/// Returns the kind of an item: TRILITH_MAPPING and so on; 0 for a handle that is not an item.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_kind(item: *const trilith_item) -> i32 {
    // SAFETY: the caller keeps the rules of the header.
    let kind = unsafe { get_ref(item) }.map(|item| item.reach.backend().kind(&item.place));
    match kind {
        Ok(ItemKind::Mapping) => TRILITH_MAPPING,
        Ok(ItemKind::List) => TRILITH_LIST,
        Ok(ItemKind::Array) => TRILITH_ARRAY,
        Ok(ItemKind::Scalar) => TRILITH_SCALAR,
        Ok(ItemKind::Text) => TRILITH_TEXT,
        Ok(ItemKind::Null) => TRILITH_NULL,
        Ok(ItemKind::Reference) => TRILITH_REFERENCE,
        Ok(_) | Err(_) => 0,
    }
}

/// Returns the target of a reference, which may be in another file. If the item is not a reference, returns a new handle of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_follow(
    item: *const trilith_item,
    out: *mut *mut trilith_item,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let item = get_ref(item)?;
        let backend = item.reach.backend();
        let found = match backend.kind(&item.place) {
            ItemKind::Reference => backend.target(&item.place)?,
            _ => ResolvedItem::same_file(item.place.clone()),
        };
        item.reach.wrap_target(found)
    })
}

/// Returns the children of a mapping or a list, in the order of the file; none for any other item.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_children(
    item: *const trilith_item,
    out: *mut *mut trilith_children,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let item = get_ref(item)?;
        let found = item.reach.backend().children(&item.place)?;
        let children: Vec<_> = found.into_iter().map(|child| (child.name.map(|name| c_text(&name)), child.place)).collect();
        trilith_children::into_handle(item.reach.clone(), children.into_iter(), None)
    })
}

/// Number of children left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_children_left(children: *const trilith_children) -> usize {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(children) }.map_or(0, |children| children.left.len())
}

/// Returns the next child, or null after the last. `name`, which may be null itself, gets its name, or null in a list; the name lives until
/// the next call with these children.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_children_next(
    children: *mut trilith_children,
    name: *mut *const c_char,
    out: *mut *mut trilith_item,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let children = get_mut(children)?;
        let (found, item) = match children.left.next() {
            Some((name, place)) => (name, trilith_item::into_handle(children.reach.clone(), place)),
            None => (None, std::ptr::null_mut()),
        };
        children.name = found;
        if !name.is_null() {
            write_out(name, children.name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr()))?;
        }
        item
    })
}

/// Frees children. Null is allowed. Items that came from them stay valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_children_free(children: *mut trilith_children) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(children) }
}

fn scalar_value(item: &trilith_item) -> Result<Scalar<'_>> {
    item.reach.backend().value(&item.place)
}

fn wrong_kind_error(what: &str, found: &Scalar<'_>) -> Error {
    let found = match found {
        Scalar::Null => "null",
        Scalar::Bool(_) => "a boolean",
        Scalar::Int(_) => "an integer",
        Scalar::BigInt(_) => "an integer of more than 64 bits",
        Scalar::Float(_) => "a float",
        Scalar::Timestamp(_) => "a time",
        Scalar::Binary(_) => "binary data",
        _ => "text",
    };
    Error::invalid_input(format!("this item is {found}, not {what}"))
}

/// Reads an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_int(item: *const trilith_item, out: *mut i64, error: *mut *mut trilith_error) -> i32 {
    call!(
        error,
        match scalar_value(get_ref(item)?)? {
            Scalar::Int(number) => write_out(out, number),
            other => Err(wrong_kind_error("an integer of 64 bits", &other)),
        }
    )
}

/// Reads a number. An integer must fit exactly into a double.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_double(item: *const trilith_item, out: *mut f64, error: *mut *mut trilith_error) -> i32 {
    call!(
        error,
        match scalar_value(get_ref(item)?)? {
            Scalar::Float(number) => write_out(out, number),
            Scalar::Int(number) if (number as f64) as i128 == i128::from(number) => write_out(out, number as f64),
            Scalar::Int(number) => Err(Error::invalid_input(format!("a double does not hold {number} exactly"))),
            other => Err(wrong_kind_error("a number", &other)),
        }
    )
}

/// Reads a boolean: 1 or 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_bool(item: *const trilith_item, out: *mut i32, error: *mut *mut trilith_error) -> i32 {
    call!(
        error,
        match scalar_value(get_ref(item)?)? {
            Scalar::Bool(is) => write_out(out, i32::from(is)),
            other => Err(wrong_kind_error("a boolean", &other)),
        }
    )
}

/// Reads a string, or a scalar as the file spells it. Free it with trilith_string_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_text(
    item: *const trilith_item,
    out: *mut *mut c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let item = get_ref(item)?;
        into_c_string_strict(&item.reach.backend().text(&item.place)?)?
    })
}

/// Returns the tag of an item, or null if it has none. Free it with trilith_string_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_tag(
    item: *const trilith_item,
    out: *mut *mut c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let item = get_ref(item)?;
        Item::new(item.reach.backend(), item.place.clone()).metadata().tag.map_or(std::ptr::null_mut(), into_c_string)
    })
}

/// Returns the unit of an item, or null if it has none. Free it with trilith_string_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_unit(
    item: *const trilith_item,
    out: *mut *mut c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let item = get_ref(item)?;
        Item::new(item.reach.backend(), item.place.clone()).unit().map_or(std::ptr::null_mut(), |unit| into_c_string(&unit))
    })
}

/// Returns the value of an attribute of an item: a text as it is, anything else as JSON; null if the item has no such attribute.
/// `name` is that of a FITS card, an HDF5, netCDF or Dudley attribute, or a TIFF tag, as it follows the `@` of an address:
/// `EXPTIME`, `HISTORY[1]`, `EXPTIME.comment`. `datatype` gets the name of its datatype, such as `int16`, `text` or `reference`; it may
/// be null. Free both with trilith_string_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_attribute(
    item: *const trilith_item,
    name: *const c_char,
    out: *mut *mut c_char,
    datatype: *mut *mut c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let item = get_ref(item)?;
        let item = Item::new(item.reach.backend(), item.place.clone());
        let selector = AttributeSelector::parse(required_str(name)?)?;
        let found = item.header().find(&selector)?.map(|attribute| part_value(&attribute, selector.part));
        if let Some(why) = found.as_ref().and_then(AttributeValue::unreadable) {
            return Err(why.copy());
        }
        if !datatype.is_null() {
            let name = found.as_ref().map_or(std::ptr::null_mut(), |value| into_c_string(&value.datatype_name()));
            write_out(datatype, name)?;
        }
        match &found {
            None => std::ptr::null_mut(),
            Some(AttributeValue::Text(text)) => into_c_string_strict(text)?,
            Some(value) => into_c_string(&value.to_json()),
        }
    })
}

/// Returns an item as an array. A list of equal arrays or numbers is an array with one more axis.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_array(
    item: *const trilith_item,
    out: *mut *mut trilith_array,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let item = get_ref(item)?;
        trilith_array::into_raw(item.reach.backend().as_array(&item.place)?)
    })
}

/// Frees an item. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_item_free(item: *mut trilith_item) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(item) }
}
