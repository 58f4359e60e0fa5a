//! The `trilith` command.

fn main() {}
