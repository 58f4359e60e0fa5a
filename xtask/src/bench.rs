//! `cargo xtask bench`: the same work by Python asdf and by Trilith, in turns, on files made for it.

/// Not measured yet.
pub fn bench(_: &[String]) -> Result<(), String> {
    Err("the benchmarks come with the commands that they measure".to_owned())
}
