//! Where a command writes a file: a path, replaced safely, or standard output.

use std::io::{self, BufWriter, IsTerminal, Read, Seek, Write};

use trilith::bytes::{Metered, Replace, Source, unnamed_file};
use trilith::{Error, Result};

use crate::output::metered;

/// A file being written.
pub struct Target(Kind);

enum Kind {
    /// Beside the path, put into place at the end.
    Path(BufWriter<Metered<Replace>>),
    /// In a temporary file, copied out at the end, to standard output or to a pipe or device that has a name:
    /// these cannot go back to fill in sizes.
    Stream(BufWriter<Metered<std::fs::File>>, Box<dyn Write>, String),
}

/// What a file is written through.
pub trait WriteSeek: Write + Seek {}
impl<T: Write + Seek> WriteSeek for T {}

impl Target {
    /// Starts writing; `-` is standard output, refused where that is a terminal.
    pub fn create(path: &str) -> Result<Self> {
        let is_special = |path: &str| std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir());
        let (out, is_terminal, name): (Box<dyn Write>, _, _) = match path {
            "-" => (Box::new(io::stdout()), io::stdout().is_terminal(), "stdout"),
            path if is_special(path) => {
                let out = std::fs::OpenOptions::new().write(true).open(path);
                let out = out.map_err(|e| Error::io(format!("opening {path}"), e))?;
                let is_terminal = out.is_terminal();
                (Box::new(out), is_terminal, path)
            }
            path => return Ok(Self(Kind::Path(BufWriter::with_capacity(1 << 20, metered(Replace::create(path)?))))),
        };
        if is_terminal {
            return Err(Error::usage(format!("this is binary data and {name} is a terminal")).hint("name a file, or pipe it on"));
        }
        let file = unnamed_file().map_err(|e| Error::io("making a temporary file", e))?;
        Ok(Self(Kind::Stream(BufWriter::with_capacity(1 << 20, metered(file)), out, name.to_owned())))
    }

    /// As [`Target::create`], for what is made from the file at `from`, read as `source`: where both are the
    /// same file, another process may not have changed it meanwhile.
    pub fn create_from(path: &str, from: &str, source: &dyn Source) -> Result<Self> {
        let mut target = Self::create(path)?;
        if let Kind::Path(out) = target.0 {
            let real = |path: &str| std::fs::canonicalize(path).ok();
            let out = if real(path).is_some_and(|target| Some(target) == real(from)) {
                let replace = out.into_inner().map_err(|e| Error::io("writing", e.into_error()))?.into_inner();
                BufWriter::with_capacity(1 << 20, metered(replace.unless_changed(source)?))
            } else {
                out
            };
            target = Self(Kind::Path(out));
        }
        Ok(target)
    }

    /// What to write into.
    pub fn writer(&mut self) -> &mut dyn WriteSeek {
        match &mut self.0 {
            Kind::Path(out) => out,
            Kind::Stream(out, ..) => out,
        }
    }

    /// Puts the file into place and returns its size.
    pub fn commit(self) -> Result<u64> {
        let fail = |e| Error::io("writing", e);
        match self.0 {
            Kind::Path(out) => {
                let mut file = out.into_inner().map_err(|e| fail(e.into_error()))?.into_inner();
                let size = file.seek(io::SeekFrom::End(0)).map_err(fail)?;
                file.commit()?;
                Ok(size)
            }
            Kind::Stream(out, mut to, name) => {
                let fail_there = |e| Error::io(format!("writing to {name}"), e);
                let mut file = out.into_inner().map_err(|e| fail(e.into_error()))?.into_inner();
                file.rewind().map_err(fail)?;
                let mut piece = vec![0; 1 << 20];
                let mut size = 0;
                loop {
                    let n = file.read(&mut piece).map_err(fail)?;
                    if n == 0 {
                        break;
                    }
                    to.write_all(&piece[..n]).map_err(fail_there)?;
                    size += n as u64;
                }
                to.flush().map_err(fail_there)?;
                Ok(size)
            }
        }
    }
}
