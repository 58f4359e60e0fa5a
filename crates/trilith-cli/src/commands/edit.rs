//! `trilith edit FILE`: the tree in an editor.

use std::io::{BufRead, IsTerminal, Write};
use std::process::Command;

use clap::Args;
use trilith::asdf::{AsdfFile, ndarray};
use trilith::bytes::{Replace, read_text};
use trilith::tree::{Origin, Tree};
use trilith::{Error, Result};

use super::update::without_header;
use crate::Outcome;
use crate::options::Options;
use crate::output::note;
use crate::rewrite::Save;

/// Open the tree of a file in $VISUAL or $EDITOR, and save what comes back if it is right
///
/// The editor is started without a shell. A text that is no YAML, or whose arrays do not fit their
/// blocks, is shown with the error and can be mended.
#[derive(Debug, Args)]
pub struct Edit {
    /// The file to change
    #[arg(value_name = "FILE")]
    file: String,
    #[command(flatten)]
    save: Save,
}

impl Edit {
    /// Lets a person change the tree.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let file = options.open_asdf(&self.file)?;
        let editor = std::env::var("VISUAL").or_else(|_| std::env::var("EDITOR")).unwrap_or_else(|_| "vi".to_owned());
        let mut words = editor.split_whitespace();
        let program = words.next().ok_or_else(|| Error::usage("$EDITOR is empty"))?;
        let arguments: Vec<&str> = words.collect();
        let draft = std::env::temp_dir().join(format!("trilith-edit-{}.yaml", std::process::id()));
        let mut new = Replace::create(&draft)?;
        new.write_all(file.tree().text().as_bytes()).map_err(|e| Error::io("writing the draft", e))?;
        new.commit()?;
        let outcome = loop {
            let status = Command::new(program).args(&arguments).arg(&draft).status();
            let status = status.map_err(|e| Error::io(format!("starting the editor {program}"), e))?;
            if !status.success() {
                break Err(Error::usage(format!("the editor {program} ended with {status}")));
            }
            match self.check(&file, &draft) {
                Ok(text) if text == file.tree().text() => {
                    note("nothing was changed");
                    break Ok(Outcome::Yes);
                }
                Ok(text) => break self.save.save(&file, &self.file, &text, options).map(|()| Outcome::Yes),
                Err(error) => {
                    note(&format!("trilith: {error}"));
                    if !ask_again()? {
                        note(&format!("the draft is left in {}", draft.display()));
                        return Ok(Outcome::No);
                    }
                }
            }
        };
        let _ = std::fs::remove_file(&draft);
        outcome
    }

    /// The text that came back, if it parses and its arrays can be made.
    fn check(&self, file: &AsdfFile, draft: &std::path::Path) -> Result<String> {
        let bytes = read_text(draft, file.limits().text)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::malformed("the draft is not UTF-8"))?;
        let tree = Tree::parse_at(without_header(&text), Origin::default(), file.limits())?;
        let mut walk = tree.root().walk(file.limits());
        while let Some(visit) = walk.step()? {
            if ndarray::is_ndarray(visit.node) {
                file.array(visit.node)?;
                walk.skip_children();
            }
        }
        Ok(tree.into_text())
    }
}

/// Whether to open the editor again; never where nobody can answer.
fn ask_again() -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    note("Press Enter to edit again, q and Enter to give up.");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(|e| Error::io("reading the answer", e))?;
    Ok(!answer.trim().eq_ignore_ascii_case("q"))
}
