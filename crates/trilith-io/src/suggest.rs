//! Lookup of the known word that a misspelt one was meant to be.

/// The longest word that is looked at, and how many known words are.
const MAX_WORD_LEN: usize = 64;
const MAX_WORDS: usize = 20_000;

/// The name that is nearest to `word`, if one is near enough to be meant: at most a third of its letters
/// differ, whatever their case.
///
/// ```
/// use trilith_io::suggest::nearest;
/// assert_eq!(nearest("flaot64", ["float32", "float64", "int64"]), Some("float64"));
/// assert_eq!(nearest("banana", ["float32", "int64"]), None);
/// ```
pub fn nearest<'w>(word: &str, names: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let wanted = to_lowercase_letters(word);
    if wanted.is_empty() || wanted.len() > MAX_WORD_LEN {
        return None;
    }
    let most = (wanted.len() / 3).clamp(1, 4);
    names
        .into_iter()
        .take(MAX_WORDS)
        // A letter has at most four bytes.
        .filter(|name| name.len() <= 4 * (wanted.len() + most) && *name != word)
        .map(|name| (to_lowercase_letters(name), name))
        .filter(|(known, _)| known.len().abs_diff(wanted.len()) <= most)
        .map(|(known, name)| (edit_distance(&wanted, &known), known.len(), name))
        .filter(|(far, length, _)| *far <= most && *far < wanted.len().max(*length))
        .min_by_key(|(far, ..)| *far)
        .map(|(.., name)| name)
}

/// Bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A count of something: `1 block`, `2 blocks`, `0 entries`.
///
/// ```
/// use trilith_io::error::count_noun;
/// assert_eq!(count_noun(1, "block"), "1 block");
/// assert_eq!(count_noun(1000, "entry"), "1000 entries");
/// ```
pub fn count_noun(count: impl TryInto<u64> + Copy + std::fmt::Display, one: &str) -> String {
    if count.try_into().is_ok_and(|count| count == 1) {
        return format!("{count} {one}");
    }
    match one.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o'])) {
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {one}s"),
    }
}

/// Suggests alternatives to `word`: the nearest of the names, then the first `most` of them after `lead`.
pub fn offer(word: &str, lead: &str, names: &[&str], most: usize) -> String {
    let near = unique_completion(word, names).or_else(|| nearest(word, names.iter().copied()));
    let mut text = near.map_or_else(String::new, |near| format!("did you mean {near:?}? "));
    text.push_str(lead);
    let listed: Vec<&str> = names.iter().copied().take(most).collect();
    text.push_str(&listed.join(", "));
    if names.len() > most {
        text.push_str(&format!(" and {} more", names.len() - most));
    }
    text
}

/// The only name that goes on where `word` ends: `exp` for `exposure_time`.
fn unique_completion<'w>(word: &str, names: &[&'w str]) -> Option<&'w str> {
    let mut longer = names.iter().copied().filter(|name| word.len() > 1 && name.len() > word.len() && name.starts_with(word));
    longer.next().filter(|_| longer.next().is_none())
}

fn to_lowercase_letters(word: &str) -> Vec<char> {
    word.chars().take(MAX_WORD_LEN + 1).flat_map(char::to_lowercase).collect()
}

/// Edits between two words: insertions, deletions, changes and swaps of neighbours.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_transposition_once() {
        assert_eq!(edit_distance(&to_lowercase_letters("flaot64"), &to_lowercase_letters("float64")), 1);
        assert_eq!(edit_distance(&to_lowercase_letters("kitten"), &to_lowercase_letters("sitting")), 3);
    }

    #[test]
    fn offer_puts_nearest_first_and_counts_rest() {
        assert_eq!(offer("dat", "there are: ", &["data", "err"], 12), "did you mean \"data\"? there are: data, err");
        assert_eq!(
            offer("exp", "there are: ", &["exposure_time", "err"], 1),
            "did you mean \"exposure_time\"? there are: exposure_time and 1 more"
        );
        assert_eq!(offer("q", "known: ", &["a", "b"], 12), "known: a, b");
    }

    #[test]
    fn near_misses_are_found_and_strangers_are_not() {
        let types = ["int8", "uint32", "float64"];
        assert_eq!(nearest("flaot64", types), Some("float64"));
        assert_eq!(nearest("uint33", types), Some("uint32"));
        assert_eq!(nearest("banana", types), None);
        let names = ["NGROUP", "IMAX", "JMAX", "N"];
        assert_eq!(nearest("NGROPU", names), Some("NGROUP"));
        assert_eq!(nearest("imax", names), Some("IMAX"));
        assert_eq!(nearest("TEMPERATURE", names), None);
        assert_eq!(nearest("M", names), None);
        assert_eq!(nearest("", ["a"]), None);
    }
}
