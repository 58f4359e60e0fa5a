//! `trilith diff A B`: what differs, in tree and arrays.

use clap::Args;
use serde_json::json;
use trilith::diff::{self, DiffOptions, Difference};
use trilith::file::AnyFile;
use trilith::{Error, Result};

use crate::Outcome;
use crate::options::Options;
use crate::output::{Out, clean};

/// Compare two files: exit status 0 where they say the same, 1 where not
///
/// How something is stored (compression, byte order, strides, generation) is no difference. Two Dudley
/// streams are compared by their items; a layout given by --layout is that of both.
#[derive(Debug, Args)]
pub struct Diff {
    /// The first file, or - for standard input
    #[arg(value_name = "A")]
    a: String,
    /// The second file
    #[arg(value_name = "B")]
    b: String,
    /// Numbers that differ by this fraction are the same
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    rtol: f64,
    /// Numbers that differ by this much are the same
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    atol: f64,
    /// Leave out a path and all below it; * stands for any one key (can be given again)
    #[arg(long, value_name = "PATH")]
    ignore: Vec<String>,
}

impl Diff {
    /// Prints the differences.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let mut how = DiffOptions::default();
        (how.rtol, how.atol) = (self.rtol, self.atol);
        how.ignore = self.ignore.iter().map(|path| diff::ignored(path)).collect::<Result<_>>()?;
        let found = match (options.open_any(&self.a)?, options.open_any(&self.b)?) {
            (AnyFile::Asdf(a), AnyFile::Asdf(b)) => diff::diff(&a, &b, &how)?,
            (AnyFile::Dudley(a), AnyFile::Dudley(b)) => diff::diff_streams(&a, &b, &how)?,
            _ => {
                return Err(Error::unsupported("a Dudley stream and a file of the ASDF family are not compared")
                    .hint("convert one of them first; `digest` lists what the arrays of both hold"));
            }
        };
        let mut out = Out::new();
        if options.json {
            let list: Vec<_> = found.iter().map(difference_json).collect();
            out.json(&json!({"same": found.is_empty(), "differences": list}))?;
        } else {
            for difference in &found {
                text(&mut out, difference)?;
            }
        }
        out.finish()?;
        Ok(if found.is_empty() { Outcome::Yes } else { Outcome::No })
    }
}

fn difference_json(difference: &Difference) -> serde_json::Value {
    let mut value = json!({
        "path": difference.path, "kind": difference.kind.name(), "a": difference.a, "b": difference.b,
    });
    if let (Some(elements), Some(object)) = (&difference.elements, value.as_object_mut()) {
        let elements = json!({
            "different": elements.different, "of": elements.of, "max_abs": elements.max_abs,
            "max_rel": elements.max_rel, "first": elements.first,
        });
        object.insert("elements".to_owned(), elements);
    }
    value
}

fn text(out: &mut Out, difference: &Difference) -> Result<()> {
    let path = if difference.path.is_empty() { "/" } else { &difference.path };
    out.line(&format!("{path}: {}", difference.kind.name()))?;
    if let Some(elements) = &difference.elements {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.6e}"));
        out.line(&format!(
            "  {} of {} differ, first at {:?}, by at most {} (relative {})",
            elements.different,
            elements.of,
            elements.first,
            number(elements.max_abs),
            number(elements.max_rel)
        ))?;
    }
    for (sign, side) in [("-", &difference.a), ("+", &difference.b)] {
        if let Some(said) = side {
            let short: String = said.chars().take(200).collect();
            out.line(&format!("  {sign} {}", clean(&short)))?;
        }
    }
    Ok(())
}
