//! The tour's observation in every other form: other codecs, older generations, FITS, Dudley.

use std::path::{Path, PathBuf};
use std::time::Instant;

use trilith::bytes::Basis;
use trilith::array::Array;
use trilith::asdf::{self, AsdfFile};
use trilith::convert::{self, CodecChoice, ConvertOptions};
use trilith::digest::Digest;
use trilith::layout::Byteorder;
use trilith::{Diagnostic, Error, Result, file};

use super::Guide;
use crate::options::Options;
use crate::output::size;
use crate::target::{Target, WriteSeek};

/// Other codecs of the same generation, each with its name in the file's.
const CODECS: [(&str, &str); 3] = [("plain", "none"), ("zlib", "zlib"), ("auto", "auto")];

/// Other generations, each with its extension.
const GENERATIONS: [(&str, &str); 4] =
    [("asdf-1.0", "asdf"), ("asdf-0.1", "asdf"), ("asdf-0.1-dev", "asdf"), ("finf-0.1", "finf")];

/// The files that will be written.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let codecs = CODECS.iter().map(|(name, _)| format!("observation-{name}.asdf"));
    let generations = GENERATIONS.iter().map(|(name, extension)| format!("observation-{name}.{extension}"));
    let others = ["observation.fits".to_owned(), "observation.bd".to_owned()];
    codecs.chain(generations).chain(others).map(|name| folder.join(name)).collect()
}

/// Writes them all. What a form cannot hold is said below it; `trilith convert` refuses that without `--allow-loss`.
pub fn write_all(guide: &mut Guide, path: &Path, folder: &Path, options: &Options) -> Result<()> {
    guide.step("The same observation, stored otherwise")?;
    let opened = file::open_asdf(path)?;
    for (name, codec) in CODECS {
        let mut how = ConvertOptions::default();
        how.codec = CodecChoice::named(codec)?;
        how.level = if codec == "zlib" { Some(1) } else { None };
        form(guide, &folder.join(format!("observation-{name}.asdf")), &format!("--codec {codec}"), options, |out| {
            convert::convert(&opened, out, &how, trilith::Progress::default()).map(|done| done.losses)
        })?;
    }
    guide.line("   Plain blocks are aligned to 64 bytes and can be viewed in place by any reader.")?;
    for (name, extension) in GENERATIONS {
        let target = asdf::Target::named(name)?;
        let mut how = ConvertOptions::default();
        how.allow_loss = true;
        form(guide, &folder.join(format!("observation-{name}.{extension}")), &format!("--to {name}"), options, |out| {
            convert::convert_to(&opened, target, out, &how, trilith::Progress::default()).map(|done| done.losses)
        })?;
    }
    let fits = folder.join("observation.fits");
    form(guide, &fits, "as FITS", options, |mut out| convert::to_fits(&opened, &mut out))?;
    form(guide, &folder.join("observation.bd"), "as Dudley", options, |mut out| {
        let (draft, losses) = convert::asdf_to_draft(&opened)?;
        draft.write(Byteorder::Little, &options.limits()?, &mut out)?;
        Ok(losses)
    })?;
    same_catalogue(guide, &opened, folder)
}

/// One line: how, where to, how large, how long; below it what was lost.
fn form(guide: &mut Guide, path: &Path, how: &str, options: &Options, write: impl FnOnce(&mut dyn WriteSeek) -> Result<Vec<Diagnostic>>) -> Result<()> {
    let started = Instant::now();
    let path = path.to_string_lossy();
    let mut target = Target::create(&path, Basis::Nothing)?;
    let losses = write(target.writer())?;
    let written = target.commit(options)?;
    let ms = started.elapsed().as_secs_f64() * 1e3;
    guide.line(&format!("   {how:<18} {path:<46} {:>8}  ({ms:.0} ms)", size(written)))?;
    losses.iter().try_for_each(|loss| guide.line(&format!("     lost: {loss}")))
}

/// The catalogue has one digest in all generations of ASDF: what `trilith digest` compares.
fn same_catalogue(guide: &mut Guide, opened: &AsdfFile, folder: &Path) -> Result<()> {
    let catalogue = |file: &AsdfFile| -> Result<Array> { file.array_at("/observation/catalogue") };
    let wanted = Digest::of(&catalogue(opened)?)?;
    for name in ["observation-asdf-1.0.asdf", "observation-asdf-0.1.asdf", "observation-finf-0.1.finf"] {
        if Digest::of(&catalogue(&file::open_asdf(folder.join(name))?)?)? != wanted {
            return Err(Error::malformed(format!("{name}: the catalogue differs from that of the observation")));
        }
    }
    guide.line("   The catalogue in 2014's FINF has the digest of that in ASDF 1.6: the data are the same.")
}
