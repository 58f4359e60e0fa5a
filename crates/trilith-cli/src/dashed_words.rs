//! Words of the command line that begin with a minus sign and are not options: negative numbers, and items of standard input
//! (`-#/path`). Any other such word is an option or an error of usage, unless it follows `--`. It is never taken for a value.

use std::convert::Infallible;
use std::ffi::OsString;

use trilith::asdf::complex;
use trilith::tree::Scalar;
use trilith_yaml::yaml::resolve;

/// The beginning of a word that is not an option.
pub(crate) const MARK: &str = "\u{1}";

/// Marks the words that are not options, so that they do not look like options.
pub(crate) fn mark_words(words: &mut [OsString]) {
    let is_dashed = |at: usize| words.get(at).and_then(|word| word.to_str()).is_some_and(|word| word.starts_with('-'));
    // Options before the command may have values.
    let command = (1..words.len()).find(|at| !is_dashed(*at) && (!is_dashed(at - 1) || takes_numbers(words.get(*at))));
    let numbers = command.filter(|at| takes_numbers(words.get(*at)));
    for (at, word) in words.iter_mut().enumerate().skip(1).take_while(|(_, word)| *word != "--") {
        let is_number = |word: &str| numbers.is_some_and(|start| at > start) && is_negative(word);
        if word.as_encoded_bytes().starts_with(b"-#") || word.to_str().is_some_and(is_number) {
            let mut marked = OsString::from(MARK);
            marked.push(&*word);
            *word = marked;
        }
    }
}

fn takes_numbers(word: Option<&OsString>) -> bool {
    ["set", "insert", "sky"].iter().any(|name| word.is_some_and(|word| word == name))
}

/// Returns `true` for a negative number as YAML, JSON or FITS write it, and for a point that begins with one.
fn is_negative(word: &str) -> bool {
    let Some(digits) = word.strip_prefix('-').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')) else {
        return false;
    };
    let is_part_of_point = |part: &str| part.starts_with(['+', '-', '.', ' ']) || part.starts_with(|c: char| c.is_ascii_digit());
    digits.replace(['D', 'd'], "E").parse::<f64>().is_ok()
        || matches!(resolve(word.into()), Scalar::Int(_) | Scalar::BigInt(_) | Scalar::Float(_))
        || complex(word).is_some()
        || word.contains(',') && word.split(',').all(is_part_of_point)
}

/// Returns a word of the command line as it was given.
#[allow(clippy::unnecessary_wraps, reason = "a parser of arguments may fail")]
pub(crate) fn strip_mark(word: &str) -> Result<String, Infallible> {
    Ok(without_mark(word).to_owned())
}

/// Returns a word without the mark.
pub(crate) fn without_mark(word: &str) -> &str {
    word.strip_prefix(MARK).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First tier.
    #[test]
    fn negative_numbers_are_no_options() {
        for word in ["-1", "-1.5e3", "-.5", "-1.5D3", "-.inf", "-1+2j", "-1-2.5J", "-3j", "-1,2", "-5.5,-69.7"] {
            assert!(is_negative(word), "{word}");
        }
        for word in ["-", "-x", "-5x", "-j", "-i", "--in-place", "-1 km", "1"] {
            assert!(!is_negative(word), "{word}");
        }
    }

    /// First tier.
    #[test]
    fn only_numbers_and_standard_input_are_marked() {
        let marked = |line: &str| {
            let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            mark_words(&mut words);
            let marked = words.iter().filter_map(|word| word.to_str()).filter(|word| word.starts_with(MARK));
            marked.map(|word| without_mark(word).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(marked("trilith get -oy.npy -#/a -s0:1"), ["-#/a"]);
        assert_eq!(marked("trilith set x.asdf#/a -1 -x"), ["-1"]);
        assert_eq!(marked("trilith -q set -#/a -1"), ["-#/a", "-1"]);
        assert_eq!(marked("trilith get x.asdf -1"), [""; 0]);
        assert_eq!(marked("trilith set x.asdf#/a -- -1"), [""; 0]);
    }
}
