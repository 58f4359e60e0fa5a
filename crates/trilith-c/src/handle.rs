//! Handles: boxes that C holds by a pointer, each with a magic number for its kind that is wiped when it is freed.

use library::{Error, Result};

/// A struct that C holds a pointer to.
pub trait OpaqueHandle: Sized {
    /// The mark of its kind.
    const MARK: u64;
    /// Name of the kind in messages.
    const NAME: &'static str;
    /// The mark that it has.
    fn magic(&self) -> u64;
    /// Returns the place of the mark.
    fn magic_mut(&mut self) -> &mut u64;
}

/// Declares a handle: a struct with a mark and what it holds.
macro_rules! handle {
    ($(#[$meta:meta])* $name:ident, $mark:literal, { $($(#[$doc:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])*
        pub struct $name {
            pub(crate) mark: u64,
            $($(#[$doc])* pub(crate) $field: $type,)*
        }

        impl $name {
            /// A new one, handed over to C.
            pub(crate) fn into_handle($($field: $type),*) -> *mut Self {
                Box::into_raw(Box::new(Self { mark: <Self as $crate::handle::OpaqueHandle>::MARK, $($field),* }))
            }
        }

        impl $crate::handle::OpaqueHandle for $name {
            const MARK: u64 = u64::from_be_bytes(*$mark);
            const NAME: &'static str = stringify!($name);
            fn magic(&self) -> u64 {
                self.mark
            }
            fn magic_mut(&mut self) -> &mut u64 {
                &mut self.mark
            }
        }
    };
}
pub(crate) use handle;

fn wrong_handle_error<H: OpaqueHandle>(found: u64) -> Error {
    match found {
        0 => Error::invalid_input(format!("this {} was freed", H::NAME)),
        _ => Error::invalid_input(format!("this is not a {}", H::NAME)),
    }
}

/// Returns the content of a handle.
///
/// # Safety
/// `handle` is null, or a handle of this library that outlives `'a` and that no other thread changes meanwhile.
pub unsafe fn get_ref<'a, H: OpaqueHandle>(handle: *const H) -> Result<&'a H> {
    // SAFETY: as the caller promises; every handle begins life as a box of a struct with a mark.
    let held =
        unsafe { handle.as_ref() }.ok_or_else(|| Error::invalid_input(format!("a null pointer in place of a {}", H::NAME)))?;
    if held.magic() == H::MARK { Ok(held) } else { Err(wrong_handle_error::<H>(held.magic())) }
}

/// Returns the content of a handle, to be changed.
///
/// # Safety
/// The conditions of [`get_ref`] hold, and no other thread uses the handle meanwhile.
pub unsafe fn get_mut<'a, H: OpaqueHandle>(handle: *mut H) -> Result<&'a mut H> {
    // SAFETY: as the caller promises.
    let held =
        unsafe { handle.as_mut() }.ok_or_else(|| Error::invalid_input(format!("a null pointer in place of a {}", H::NAME)))?;
    if held.magic() == H::MARK { Ok(held) } else { Err(wrong_handle_error::<H>(held.magic())) }
}

/// Frees a handle; null, and what is not a handle of this kind, is left alone.
///
/// # Safety
/// As [`get_mut`]; the handle is not used again.
pub unsafe fn free<H: OpaqueHandle>(handle: *mut H) {
    // SAFETY: as the caller promises.
    if let Ok(held) = unsafe { get_mut(handle) } {
        *held.magic_mut() = 0;
        // SAFETY: the mark shows that `give` made it, and that it was not freed.
        let held = unsafe { Box::from_raw(handle) };
        // The dropped value may be a program's own callback: a panic there must not cross into C.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(held)));
    }
}

/// Writes a value to a pointer of C.
///
/// # Safety
/// `place` is null or points to memory for a `T`.
pub unsafe fn write_out<T>(place: *mut T, value: T) -> Result<()> {
    if place.is_null() {
        return Err(Error::invalid_input("a null pointer in place of memory for the result"));
    }
    // SAFETY: not null, and as the caller promises.
    unsafe { place.write(value) };
    Ok(())
}

/// Checks that there is a place for the result, before the work is done.
pub fn check_out_pointer<T>(place: *mut T) -> Result<()> {
    if place.is_null() { Err(Error::invalid_input("a null pointer in place of memory for the result")) } else { Ok(()) }
}
