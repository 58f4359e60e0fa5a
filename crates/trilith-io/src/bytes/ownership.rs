//! Owner and permissions of a file that a rewritten file keeps.
//!
//! A rewrite makes a new file, which belongs to the user who writes it. [`copy_ownership`] gives it the owner, the group and
//! the extended attributes (access control lists among them) of the file that it replaces.

use std::fs::{File, Metadata, OpenOptions};
use std::path::Path;

use crate::error::{Error, Result};

/// Makes a new file that only its owner may read and write.
pub(super) fn with_private_mode(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Opens a file that may be there in bad faith: neither through a link nor waiting for the writer of a pipe.
pub(super) fn no_follow(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    }
    options
}

/// Returns `true` if a file next to another was put there by somebody who could have changed that other one anyway:
/// its owner, the owner of the file, or root.
pub(super) fn is_trusted(journal: &Metadata, file: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let owner = journal.uid();
        owner == 0 || owner == file.uid() || owner == rustix::process::geteuid().as_raw()
    }
    #[cfg(not(unix))]
    {
        let _ = (journal, file);
        true
    }
}

/// Refuses to change a file in place that somebody else owns, or that has another name.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it may not.
pub(super) fn check_in_place(path: &Path, metadata: &Metadata) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let user = rustix::process::geteuid().as_raw();
        if metadata.nlink() > 1 {
            return Err(Error::invalid_input(format!("{} has {} names (hard links)", path.display(), metadata.nlink())).hint(
                "changed in place it could not be restored under its other names after a crash; write a new file instead",
            ));
        }
        if user != 0 && user != metadata.uid() {
            return Err(Error::invalid_input(format!("{} belongs to another user", path.display()))
                .hint("only its owner can change it in place; write a new file instead"));
        }
    }
    let _ = (path, metadata);
    Ok(())
}

/// Gives a new file the owner and group of the one that it will replace; a group that cannot be kept is a
/// warning.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the owner cannot be kept.
pub(super) fn copy_ownership(new: &File, old: &Metadata, path: &Path, warnings: &mut Vec<String>) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let made = new.metadata().map_err(|e| Error::io(format!("writing {}", path.display()), e))?;
        if made.uid() != old.uid() && fchown(new, Some(old.uid()), None).is_err() {
            return Err(Error::invalid_input(format!("{} belongs to another user, who would lose access to it", path.display()))
                .hint("write to another file with -o, or ask its owner"));
        }
        if made.gid() != old.gid() && fchown(new, None, Some(old.gid())).is_err() {
            warnings.push(format!("{} had the group {}, which could not be kept", path.display(), old.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = (new, old, path, warnings);
    Ok(())
}

/// Gives a new file the permissions and the extended attributes of the one that it will replace; an attribute
/// that cannot be kept is a warning.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the permissions cannot be set.
pub(super) fn copy_xattrs(new: &File, old: &File, metadata: &Metadata, path: &Path, warnings: &mut Vec<String>) -> Result<()> {
    let fail = |e| Error::io(format!("writing {}", path.display()), e);
    new.set_permissions(metadata.permissions()).map_err(fail)?;
    #[cfg(unix)]
    for name in attributes::xattr_names(old) {
        if !attributes::copy_attribute(&name, old, new) && !attributes::is_of_the_system(&name) {
            warnings.push(format!("the extended attribute {} of {} could not be kept", name.to_string_lossy(), path.display()));
        }
    }
    #[cfg(not(unix))]
    let _ = (old, warnings);
    Ok(())
}

#[cfg(unix)]
mod attributes {
    //! Extended attributes: names that file systems keep next to the content.

    use std::ffi::{CStr, CString};
    use std::fs::File;

    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};

    /// Longest list and longest value that Linux allows.
    const MAX_XATTR_LEN: usize = 64 << 10;

    pub(super) fn xattr_names(file: &File) -> Vec<CString> {
        // Nearly every file has none or a few, and room for the longest list is 16 pages. An empty buffer does not do:
        // what is asked for then is a length, and none is returned.
        let mut list = vec![0u8; 256];
        let len = flistxattr(file, &mut list[..]).or_else(|_| {
            list.resize(MAX_XATTR_LEN, 0);
            flistxattr(file, &mut list[..])
        });
        list.truncate(len.unwrap_or(0));
        list.split_inclusive(|byte| *byte == 0)
            .filter_map(|name| CStr::from_bytes_with_nul(name).ok())
            .map(CStr::to_owned)
            .collect()
    }

    /// Copies an attribute; whether the new file has it now.
    pub(super) fn copy_attribute(name: &CStr, from: &File, to: &File) -> bool {
        let get = |file: &File| {
            let mut value = vec![0u8; MAX_XATTR_LEN];
            let len = fgetxattr(file, name, &mut value[..]).ok()?;
            value.truncate(len);
            Some(value)
        };
        let Some(value) = get(from) else { return false };
        get(to).as_ref() == Some(&value) || fsetxattr(to, name, &value, XattrFlags::empty()).is_ok()
    }

    /// Labels that the system gives to every file by its own rules.
    pub(super) fn is_of_the_system(name: &CStr) -> bool {
        name.to_bytes().starts_with(b"security.")
    }
}
