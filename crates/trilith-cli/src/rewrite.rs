//! Saving a file with another tree: in place where it fits and that was asked for, else beside and renamed.

use clap::Args;
use serde_json::json;
use trilith::asdf::AsdfFile;
use trilith::convert::{ConvertOptions, rewrite};
use trilith::{Error, Result, asdf};

use crate::item::Item;
use crate::options::Options;
use crate::output::{Out, note};
use crate::progress::Progress;
use crate::target::Target;

/// How a changed file is saved.
#[derive(Debug, Args)]
pub struct Save {
    /// Overwrite the tree where it stands, under a rollback journal, if the new one fits into its space
    #[arg(long)]
    in_place: bool,
    /// Write to another file and leave this one as it is
    #[arg(short, long, value_name = "OUT", conflicts_with = "in_place")]
    output: Option<String>,
}

impl Save {
    /// Saves `file`, opened from `name`, with `text` as its tree.
    pub fn save(&self, file: &AsdfFile, name: &str, text: &str, options: &Options) -> Result<()> {
        if name == "-" && self.output.is_none() {
            return Err(Error::usage("standard input cannot be changed").hint("write the result to a file with -o OUT"));
        }
        let mut how = "rewritten";
        if self.in_place && asdf::update::tree_in_place(file, name, text)? {
            how = "changed in place";
        } else {
            if self.in_place && !options.quiet {
                note("the new tree does not fit into its space: the whole file is written");
            }
            let total = file.sections().blocks()?.iter().fold(0u64, |sum, block| sum.saturating_add(block.decoded_len()));
            let progress = Progress::bytes("writing", total, options);
            let mut convert = ConvertOptions::default();
            // Room to grow, so that the next change fits.
            convert.write.tree_padding =
                if self.in_place { text.len() as u64 / 4 + 1024 } else { file.sections().padding().min(1 << 20) };
            let mut target = Target::create(self.output.as_deref().unwrap_or(name))?;
            rewrite(file, text, target.writer(), &convert, &mut |bytes| progress.at(bytes))?;
            target.commit()?;
        }
        let written = self.output.as_deref().unwrap_or(name);
        if options.json && written != "-" {
            let mut out = Out::new();
            out.json(&json!({"file": written, "changed": true, "in_place": how == "changed in place"}))?;
            return out.finish();
        }
        if options.verbose > 0 {
            note(&format!("{written}: {how}"));
        }
        Ok(())
    }
}

/// Opens the file of an item and makes an edit; a path that leads nowhere is a No, not a failure.
pub fn edit(
    argument: &str,
    options: &Options,
    save: &Save,
    change: impl FnOnce(&mut trilith::tree::Edit<'_>, &trilith::tree::TreePath, &AsdfFile) -> Result<()>,
) -> Result<crate::Outcome> {
    let item = Item::parse(argument);
    let path = item.path.as_deref().ok_or_else(|| Error::usage("name what to change: FILE#/path"))?;
    let file = options.open_asdf(&item.file)?;
    if file.sections().tree().is_none() {
        return Err(Error::usage("this file has no tree"));
    }
    let path = trilith::tree::TreePath::parse(path)?;
    let mut edit = file.tree().edit();
    let text = match change(&mut edit, &path, &file).and_then(|()| edit.finish(file.limits())) {
        Ok(tree) => tree.into_text(),
        Err(error) if error.kind() == trilith::Kind::Usage => {
            note(&format!("trilith: {error}"));
            return Ok(crate::Outcome::No);
        }
        Err(error) => return Err(error),
    };
    save.save(&file, &item.file, &text, options)?;
    Ok(crate::Outcome::Yes)
}
