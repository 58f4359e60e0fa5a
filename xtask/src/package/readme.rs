//! The first lines of README.md, run with what was installed.

use std::path::Path;
use std::process::Command;

use crate::command::{repository_root, run_for_output};
use crate::fs::{ensure_dir_exists, read_text};

/// Runs the lines of the command in an empty folder, with the programs of `bin` first, and compares what they print
/// with what README.md says.
pub(super) fn command_lines(bin: &Path, folder: &Path) -> Result<(), String> {
    ensure_dir_exists(folder)?;
    run_shell_line(bin, folder, "trilith --version && trilith tour . > tour.txt")?;
    let page = read_text(&repository_root().join("README.md"))?;
    let lines = lines_of(&find_code_block(&page, "console")?);
    for (line, expected) in &lines {
        println!("$ {line}");
        // A command that prints what README.md says may answer no, as `diff` does.
        let accepted = if expected.is_empty() { line.clone() } else { format!("{line} || [ $? -eq 1 ]") };
        let said = run_shell_line(bin, folder, &accepted)?;
        if !expected.is_empty() && said.trim() != expected.trim() {
            return Err(format!("`{line}` said\n{said}\nand README.md says\n{expected}"));
        }
    }
    if lines.is_empty() { Err("README.md has no lines of the command".to_owned()) } else { Ok(()) }
}

/// Runs the program for Python in an empty folder.
pub(super) fn run_python_program(python: &Path, folder: &Path) -> Result<(), String> {
    ensure_dir_exists(folder)?;
    let program = find_code_block(&read_text(&repository_root().join("README.md"))?, "python")?;
    println!("$ python -c (the program of README.md)");
    run_for_output(Command::new(python).current_dir(folder).args(["-W", "error", "-c", &program])).map(drop)
}

/// The program for Rust.
pub(super) fn read_rust_program() -> Result<String, String> {
    find_code_block(&read_text(&repository_root().join("README.md"))?, "rust,no_run")
}

/// Returns the output of a line, on both streams.
fn run_shell_line(bin: &Path, folder: &Path, line: &str) -> Result<String, String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell.current_dir(folder).env("PATH", format!("{}:{path}", bin.display())).env("HOME", folder);
    run_for_output(shell.args(["-c", &format!("{{ {line}\n}} 2>&1")]))
}

/// The first block of a page in this language.
fn find_code_block(page: &str, language: &str) -> Result<String, String> {
    let start = format!("```{language}");
    let lines = page.lines().skip_while(|line| *line != start).skip(1);
    let text: Vec<&str> = lines.take_while(|line| *line != "```").collect();
    if text.is_empty() { Err(format!("README.md has no block {start}")) } else { Ok(text.join("\n") + "\n") }
}

/// Lines after `$ `, each with the output below it.
fn lines_of(block: &str) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), lines.last_mut()) {
            (Some(line), _) => lines.push((line.to_owned(), String::new())),
            (None, Some((_, expected))) => {
                expected.push_str(line);
                expected.push('\n');
            }
            (None, None) => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{find_code_block, lines_of};

    #[test]
    fn lines_have_what_they_print() {
        let page = "```sh\nx\n```\n```console\n$ a b\none\ntwo\n\n$ c\n```\n";
        let lines = lines_of(&find_code_block(page, "console").unwrap_or_default());
        assert_eq!(lines, [("a b".to_owned(), "one\ntwo\n\n".to_owned()), ("c".to_owned(), String::new())]);
    }
}
