//! The `trilith` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(trilith_cli::run(std::env::args_os()))
}
