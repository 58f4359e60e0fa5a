//! The steps of an item path: `/group/list[3]/x`, `/s(0,1).member`.

use crate::error::{Error, Result};
use crate::layout::read_own;

/// One step of an item path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PathStep {
    /// `/name`: an item of a dict.
    Name(String),
    /// `[3]`: an element of a list.
    Element(u64),
    /// `(0,1)`: one struct of an array of structs.
    Instance(Vec<u64>),
    /// `.name`: a member of a struct.
    Member(String),
    /// `&3`: an item that references lead to.
    Reference(u64),
    /// `#length` of a compressed array.
    Length,
}

/// Splits a path to a member of structs: the path of the item, and the names of the members. Returns None for any other path.
pub fn split_members(path: &str) -> Option<(String, Vec<String>)> {
    let steps = parse(path).ok()?;
    let first = steps.iter().position(|step| matches!(step, PathStep::Member(_))).filter(|first| *first > 0)?;
    let names = |steps: &[PathStep], is_member: bool| {
        let name = |step: &PathStep| match (step, is_member) {
            (PathStep::Name(name), false) | (PathStep::Member(name), true) => Some(name.clone()),
            _ => None,
        };
        steps.iter().map(name).collect::<Option<Vec<String>>>()
    };
    let (item, members) = steps.split_at_checked(first)?;
    let item = names(item, false)?.iter().map(|name| format!("/{}", crate::layout::quoted_name(name))).collect();
    Some((item, names(members, true)?))
}

/// Takes a path apart.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for what is not a path.
pub(super) fn parse(path: &str) -> Result<Vec<PathStep>> {
    let bad =
        || Error::invalid_input(format!("{path:?} is not an item path")).hint("write it as /group/list[3]/x or /s(0).member");
    let mut out = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (mark, inside) = rest.split_at_checked(1).ok_or_else(bad)?;
        rest = match mark {
            "/" | "." => {
                let (name, after) = parse_name(inside).ok_or_else(bad)?;
                let name = read_own(&name).into_owned();
                out.push(if mark == "/" { PathStep::Name(name) } else { PathStep::Member(name) });
                after
            }
            "[" => {
                let (number, after) = inside.split_once(']').ok_or_else(bad)?;
                out.push(PathStep::Element(number.parse().map_err(|_| bad())?));
                after
            }
            "(" => {
                let (numbers, after) = inside.split_once(')').ok_or_else(bad)?;
                let numbers: std::result::Result<Vec<u64>, _> = numbers.split(',').map(|n| n.trim().parse()).collect();
                out.push(PathStep::Instance(numbers.map_err(|_| bad())?));
                after
            }
            "&" => {
                let end = inside.find(|c: char| !c.is_ascii_digit()).unwrap_or(inside.len());
                let (number, after) = inside.split_at_checked(end).ok_or_else(bad)?;
                out.push(PathStep::Reference(number.parse().map_err(|_| bad())?));
                after
            }
            "#" if inside == "length" => {
                out.push(PathStep::Length);
                ""
            }
            _ => return Err(bad()),
        };
    }
    Ok(out)
}

/// A name, quoted or not, and what follows it.
fn parse_name(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(['/', '[', '(', '.', '#']).unwrap_or(text.len());
        return text.split_at_checked(end).map(|(name, after)| (name.to_owned(), after));
    };
    let mut out = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, quoted.get(at + 1..)?)),
            '\\' => match chars.next() {
                Some((_, c @ ('"' | '\\' | '\''))) => out.push(c),
                Some((_, c)) => out.extend(['\\', c]),
                None => return None,
            },
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_apart() {
        let name = |s: &str| PathStep::Name(s.to_owned());
        assert_eq!(parse("/a/b[3][0]/c").unwrap(), [name("a"), name("b"), PathStep::Element(3), PathStep::Element(0), name("c")]);
        assert_eq!(parse("/s(0,1).m").unwrap(), [name("s"), PathStep::Instance(vec![0, 1]), PathStep::Member("m".into())]);
        assert_eq!(parse(r#"/"a/\"b"#).ok(), None);
        assert_eq!(parse(r#"/"a/\"b"/"""#).unwrap(), [name("a/\"b"), name("")]);
        assert_eq!(parse("&2").unwrap(), [PathStep::Reference(2)]);
        assert_eq!(parse("/z#length").unwrap(), [name("z"), PathStep::Length]);
        assert!(parse("a").is_err() && parse("/a[x]").is_err());
    }
}
