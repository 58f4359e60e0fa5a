//! `trilith update FILE --from TREE.yaml`: another tree for the same blocks.

use clap::Args;
use trilith::bytes::{BaseUri, read_text};
use trilith::tree::Tree;
use trilith::{Error, Result};

use crate::outcome::Outcome;
use crate::session::{FileRole, Session};
use crate::save_options::{BlockRewrite, SaveArgs};

/// Replace the YAML tree of a file (--from), or rewrite the file with spare room for the tree
///
/// The text has the form that to-yaml prints; its ndarrays name the blocks of the file by number.
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The file to change
    #[arg(value_name = "FILE")]
    file: String,
    /// The new tree, as YAML; - is standard input
    #[arg(long, value_name = "TREE.yaml")]
    from: Option<String>,
    #[command(flatten)]
    save: SaveArgs,
}

impl Update {
    /// Changes the file.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let file = session.open(&self.file, FileRole::Tree)?;
        let mut change = file.edit()?;
        let file = change.file();
        let text = match &self.from {
            None => file.tree().text().to_owned(),
            Some(from) => {
                let bytes = if from == "-" {
                    let source = session.open_source(from)?;
                    trilith::bytes::read_vec(&*source, 0, source.len(), file.limits())?
                } else {
                    read_text(from, file.limits().text)?
                };
                let text = String::from_utf8(bytes).map_err(|_| Error::invalid_input(format!("{from} is not UTF-8")))?;
                without_header(&text)
            }
        };
        let tree = Tree::parse(text, file.limits())?;
        session.add_references(file, &tree)?;
        let tree = file.rebase_text(&tree, &BaseUri::of_file(self.save.output_path(&self.file)))?.unwrap_or(tree);
        change.replace_tree(tree)?;
        let rewrite = if self.from.is_none() { BlockRewrite::Always } else { BlockRewrite::IfNeeded };
        self.save.save_change(&mut change, (&self.file, "", "changed"), rewrite, session)?;
        Ok(Outcome::Success)
    }
}

/// The document alone: header line and comments in front of it are those of the file.
pub(super) fn without_header(text: &str) -> String {
    let mut rest = text;
    while rest.starts_with('#') || rest.starts_with("%FINF") || rest.starts_with("%ASDF") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest.to_owned()
}
