//! `trilith explode FILE`: the tree in one file, each block in another.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use trilith_io::error::count_noun;
use trilith::asdf::{self, AsdfFile};
use trilith::assemble::{self, ExplodePlan};
use trilith::bytes::{BaseUri, name_of, path_of};
use trilith::convert::extract_from_fits;
use trilith::{Error, Result};

use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::item_arg::ItemArg;
use crate::losses::{AllowLoss, losses_json, report_refused, report_losses};
use crate::session::{FileRole, Session};
use crate::output::{Output, eprint_line};
use crate::outputs::{check_absent, make_folder, split_extension};
use crate::save_options::report_removed;

/// Write each block to a separate file; the file with the tree is then YAML
///
/// NAME.asdf becomes NAME_exploded.asdf with the tree, and NAME_exploded0000.asdf and so on, one for each
/// block. Blocks that no array names stay in the file with the tree. The command replaces existing files only with
/// --overwrite.
#[derive(Debug, Args)]
pub(crate) struct Explode {
    /// The file, with an optional #/path of the one array to move
    #[arg(value_name = "FILE[#/path]", value_parser = strip_mark)]
    item: String,
    /// The folder to write into (default: that of the file)
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Leave out blocks that no array names
    #[arg(long)]
    drop_unused: bool,
    #[command(flatten)]
    loss: AllowLoss,
}

impl Explode {
    /// Writes the files.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let item = ItemArg::parse(&self.item);
        let file = session.open(&item.file, FileRole::Tree)?.into_asdf()?;
        let from_fits = file.container().is_some();
        let (file, mut losses) = extract_from_fits(&file)?.unwrap_or((file, Vec::new()));
        let given = path_of(&item.file);
        let folder = self.output.clone().unwrap_or_else(|| given.parent().unwrap_or(Path::new("")).to_path_buf());
        make_folder(&folder)?;
        let file = session.for_output(file.into(), &BaseUri::of_folder(&folder))?.into_asdf()?;
        let only = one_array(&file, &item)?;
        let (stem, ending) = split_extension(&item.file);
        // The arrays of a FITS file leave it: what is written are files of the ASDF family.
        let extension = if from_fits { "asdf" } else { ending.split('.').next().unwrap_or("asdf") };
        let files = ExplodePlan::plan(&file, only, self.drop_unused, &folder, &format!("{stem}_exploded"), extension)?;
        let (plan, main) = (&files.plan, &files.main);
        check_absent(files.paths(), session.args.overwrite).map_err(|error| match main.exists() {
            true => error,
            // Killed before it wrote the tree.
            false => error.hint(format!("no {} names it: an explode that did not finish left it; --overwrite replaces it", main.display())),
        })?;
        for path in files.paths() {
            session.check_inputs(&name_of(path), &[])?;
        }
        // Losses are found before the first file is written, because files take their places one after the other.
        let all = file.sections().all_blocks()?;
        let leaving = plan.external_blocks.iter().filter_map(|(index, _)| all.get(*index).copied());
        losses.extend(assemble::damaged(leaving.chain(&plan.kept_blocks).map(|block| (&file, block)))?);
        if self.loss.is_refused(&losses) {
            return report_refused(&item.file, &main.to_string_lossy(), &losses, session);
        }
        let (parts, warnings) = files.write(&file)?;
        session.warn_all(warnings);
        let left = parts.kept.iter();
        session.warn_all(left.map(|part| format!("{} is left: the tree no longer names it, but others may", part.display())).collect());
        report_losses(&item.file, &losses);
        session.warn_of_omission(&file, false)?;
        let kept = plan.kept_blocks.iter().filter(|block| block.stored_len() > 0).count();
        if only.is_none() {
            let name = main.display();
            if plan.in_chunks > 0 {
                session.warn(&format!("{name} keeps the blocks of arrays in chunks ({}): their numbers name them", plan.in_chunks));
            }
            if plan.unreferenced > 0 {
                let way = if plan.in_chunks > 0 { "" } else { "; --drop-unused drops them" };
                session.warn(&format!("{name} keeps the blocks that no array uses ({}), next to its YAML{way}", plan.unreferenced));
            }
        }
        if !session.args.quiet {
            report_removed(&parts.removed);
        }
        let names: Vec<_> = files.paths().map(|path| path.display().to_string()).collect();
        if session.args.json {
            Output::print_json(&json!({"files": names, "losses": losses_json(&losses)}))?;
        } else if !session.args.quiet {
            let kept = if kept > 0 && only.is_some() { format!("; {kept} stay") } else { String::new() };
            eprint_line(&format!("{} and {}, one for each block{kept}", names[0], count_noun(names.len() - 1, "file")));
        }
        Ok(Outcome::Success)
    }
}

/// The node of the one array that an item names; None for the whole file.
pub(super) fn one_array(file: &AsdfFile, item: &ItemArg) -> Result<Option<trilith::tree::NodeId>> {
    match &item.path {
        None => Ok(None),
        Some(path) => {
            let found = asdf::find(file, path)?;
            if !std::ptr::eq(found.file(file), file) || !asdf::is_ndarray(found.node(file)) {
                return Err(Error::invalid_input("this is not an ndarray of the file").at_path(path.as_str()));
            }
            Ok(Some(found.node(file).id()))
        }
    }
}
