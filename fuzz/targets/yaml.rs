//! The two readers of YAML: the fast one says what the complete one says, or steps back; it never takes
//! what the complete one refuses.
//!
//! The first byte decides how the rest is read: as text, or as pieces of YAML laid out in lines, which
//! reach deep where single bytes would only break the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trilith_yaml::yaml::readers_agree;

/// What a byte stands for: tokens, and near misses of them.
const PIECES: &[&str] = &[
    "a",
    "b",
    "key",
    "a b",
    "é",
    "1",
    "-2.5",
    "true",
    "~",
    ": ",
    ":",
    ":\n",
    "- ",
    "-",
    "-\n",
    "? ",
    ", ",
    ",",
    "[",
    "]",
    "{",
    "}",
    "'x'",
    "'it''s'",
    "'",
    "\"y\"",
    "\"\\n\\u00e9\"",
    "\"\\\n",
    "\"",
    "\\",
    "\\x41",
    "&a ",
    "&b",
    "*a",
    "*a ",
    "!t ",
    "!!str ",
    "!<tag:x> ",
    "!",
    "|\n",
    "|-\n",
    "|+\n",
    "|2\n",
    ">\n",
    ">-\n",
    ">+\n",
    "# c",
    " # c\n",
    "#",
    "\n\n",
    "...\n",
    "---\n",
    "--- ",
    "%YAML 1.1\n",
    "%TAG ! tag:x,1:\n",
    "<<: ",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{2028}",
    "\u{85}",
    "'q\n  r'",
    "[1,\n 2]",
    "{k: v}",
    "@",
    "`",
    "%",
];

/// Lines of pieces: a byte of 240 and more begins a line that is indented by what is above 240.
fn text_of(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        match byte {
            240.. => {
                text.push('\n');
                text.extend(std::iter::repeat_n(' ', usize::from(byte - 240)));
            }
            200..240 => text.push(' '),
            _ => text.push_str(PIECES.get(usize::from(byte) % PIECES.len()).unwrap_or(&"")),
        }
    }
    text
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let text = match (kind % 2, std::str::from_utf8(rest)) {
        (0, Ok(text)) => text.to_owned(),
        _ => text_of(rest),
    };
    if let Err(difference) = readers_agree(&text) {
        panic!("{difference}");
    }
});
