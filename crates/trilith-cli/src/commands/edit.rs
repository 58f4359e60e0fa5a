//! `trilith edit FILE`: the tree in an editor.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use clap::Args;
use serde_json::json;
use trilith::asdf::AsdfFile;
use trilith::bytes::{private_file, read_text};
use trilith::check::Validator;
use trilith::tree::{TextOrigin, Tree};
use trilith::{Diagnostic, Error, File, Result, Severity};

use super::schema::SchemaSources;
use super::update::without_header;
use crate::outcome::Outcome;
use crate::session::{FileRole, Session};
use crate::output::{escape_controls, eprint_line};
use crate::outputs::report_written;
use crate::save_options::{BlockRewrite, SaveArgs};
use crate::advice::error_with_advice;

/// Open the tree of a file in $VISUAL or $EDITOR, and save the result if it is valid
///
/// The editor starts without a shell. If the new text is not YAML, if its arrays do not fit their blocks, or if it
/// breaks a schema that the old text did not break, the editor shows it again with the error.
#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The file to change
    #[arg(value_name = "FILE")]
    file: String,
    #[command(flatten)]
    sources: SchemaSources,
    #[command(flatten)]
    save: SaveArgs,
}

/// The treatment of a draft that is wrong.
enum Choice {
    EditAgain,
    Save,
    Abort,
}

impl Edit {
    /// Lets a person change the tree.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let opened = session.open(&self.file, FileRole::TreeFor(self.save.output_path(&self.file)))?;
        let file = opened.edit()?.file();
        let editor = std::env::var("VISUAL").or_else(|_| std::env::var("EDITOR")).unwrap_or_else(|_| "vi".to_owned());
        let fail = |e| Error::io("writing the draft", e);
        let (mut new, draft) = private_file("edit", ".yaml").map_err(fail)?;
        new.write_all(file.tree().text().as_bytes()).map_err(fail)?;
        drop(new);
        let outcome = loop {
            if let Err(error) = launch_editor(&editor, &draft) {
                break Err(error);
            }
            let (tree, may_be_saved) = match self.parse_draft(&opened, &draft) {
                Ok(tree) if tree.text() == file.tree().text() => {
                    let unchanged = json!({"file": self.file, "changed": false});
                    break report_written(&self.file, &unchanged, "nothing was changed", session).map(|()| Outcome::Success);
                }
                Ok(tree) => {
                    let problems = self.new_problems(file, &tree)?;
                    if problems.is_empty() {
                        break self.save_tree(&opened, tree, session);
                    }
                    problems.iter().for_each(print_problem);
                    (Some(tree), true)
                }
                Err(error) => {
                    eprint_line(&format!("trilith: {}", error_with_advice(&error)));
                    (None, false)
                }
            };
            match prompt(may_be_saved)? {
                Choice::EditAgain => {}
                Choice::Save => {
                    if let Some(tree) = tree {
                        break self.save_tree(&opened, tree, session);
                    }
                }
                Choice::Abort => {
                    eprint_line(&format!("the draft is left in {}", draft.display()));
                    return Ok(Outcome::Negative);
                }
            }
        };
        let _ = std::fs::remove_file(&draft);
        outcome
    }

    /// Saves the file with another tree.
    fn save_tree(&self, file: &File, tree: Tree, session: &Session<'_>) -> Result<Outcome> {
        let mut change = file.edit()?;
        change.replace_tree(tree)?;
        self.save.save_change(&mut change, (&self.file, "", "changed"), BlockRewrite::IfNeeded, session).map(|()| Outcome::Success)
    }

    /// The tree that came back, if it parses and its arrays can be made.
    fn parse_draft(&self, file: &File, draft: &Path) -> Result<Tree> {
        let mut change = file.edit()?;
        let limits = change.file().limits();
        let bytes = read_text(draft, limits.text)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::malformed("the draft is not UTF-8"))?;
        let tree = Tree::parse_at(without_header(&text), TextOrigin::default(), limits)?;
        change.replace_tree(tree.clone())?;
        Ok(tree)
    }

    /// Lists the violations of a schema in the new tree that the old one does not have.
    fn new_problems(&self, file: &AsdfFile, tree: &Tree) -> Result<Vec<Diagnostic>> {
        let schemas = self.sources.load_schemas(file.limits())?;
        let mut validator = Validator::new(schemas).with_limits(file.limits().clone()).max_problems(MAX_PROBLEMS);
        let standard = file.standard();
        let old = validator.validate(file.tree(), standard.as_deref())?;
        let known: HashSet<_> = old.problems.iter().map(|p| (p.path.as_deref(), p.message.as_str())).collect();
        let mut new = validator.validate(tree, standard.as_deref())?;
        new.problems.retain(|p| p.severity == Severity::Error && !known.contains(&(p.path.as_deref(), p.message.as_str())));
        new.problems.truncate(MAX_SHOWN_PROBLEMS);
        Ok(new.problems)
    }
}

/// Number of problems of a tree that are looked at, and number of those shown.
const MAX_PROBLEMS: usize = 1000;
const MAX_SHOWN_PROBLEMS: usize = 10;

/// Starts the editor and waits for it. If the whole text names a file, it is one program, blanks included.
fn launch_editor(editor: &str, draft: &Path) -> Result<()> {
    let mut words = if Path::new(editor).is_file() { vec![editor] } else { editor.split_whitespace().collect() };
    if words.is_empty() {
        return Err(Error::invalid_input("$EDITOR is empty"));
    }
    let program = words.remove(0);
    let status = Command::new(program).args(words).arg(draft).status();
    let status = status.map_err(|e| Error::io(format!("starting the editor {program}"), e))?;
    if status.success() { Ok(()) } else { Err(Error::invalid_input(format!("the editor {program} ended with {status}"))) }
}

fn print_problem(problem: &Diagnostic) {
    eprint_line(&escape_controls(&format!("trilith: {problem}")));
}

/// Asks what to do with a draft that is wrong; the end of the input gives up.
fn prompt(may_be_saved: bool) -> Result<Choice> {
    let save = if may_be_saved { ", s and Enter to save it unchanged" } else { "" };
    eprint_line(&format!("Press Enter to edit again{save}, q and Enter to give up."));
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer).map_err(|e| Error::io("reading the answer", e))?;
    Ok(match answer.trim() {
        _ if read == 0 => Choice::Abort,
        "s" | "S" if may_be_saved => Choice::Save,
        "q" | "Q" => Choice::Abort,
        _ => Choice::EditAgain,
    })
}
