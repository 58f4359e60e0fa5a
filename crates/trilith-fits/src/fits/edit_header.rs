//! Edited headers: what the rows of a `fits` list say now, as cards; every other card keeps its bytes.
//!
//! A card that defines the HDU (its mandatory keywords, and those for the place of its data) cannot be
//! changed so, because the data stay. FITS Standard 4.0, sections 4.4.1, 7 and 10.

use std::collections::{HashMap, HashSet, VecDeque};

use super::card::{Card, CardValue};
use super::hdu::{Hdu, locate_data};
use super::header::Header;
use super::tree::{card_of, card_triple, node_triple, triple_key};
use crate::error::{Error, Result};
use crate::tree::{Node, Value};

/// Rows of headers that are compared pair by pair; longer ones are compared by looking for the next equal row.
const MAX_PAIRS: usize = 1 << 20;

/// Keywords that a number follows, of tables and of compressed images.
const INDEXED_KEYWORDS: [&str; 9] = ["NAXIS", "TFORM", "TBCOL", "ZNAXIS", "ZTILE", "ZNAME", "ZVAL", "ZFORM", "ZCTYP"];
/// Keywords that say what an HDU is and how long its data are.
const STRUCTURAL_KEYWORDS: [&str; 22] = [
    "SIMPLE", "XTENSION", "BITPIX", "NAXIS", "EXTEND", "PCOUNT", "GCOUNT", "GROUPS", "TFIELDS", "THEAP", "END", "CONTINUE",
    "ZIMAGE", "ZTABLE", "ZCMPTYPE", "ZBITPIX", "ZSIMPLE", "ZTENSION", "ZPCOUNT", "ZGCOUNT", "ZQUANTIZ", "ZTHEAP",
];
/// Sums that are computed, never given.
const CHECKSUM_KEYWORDS: [&str; 2] = ["CHECKSUM", "DATASUM"];
/// Names that the tree of an ASDF file next to refers to.
const NAME_KEYWORDS: [&str; 3] = ["EXTNAME", "EXTVER", "EXTLEVEL"];

/// A row, and the card that it keeps.
struct HeaderRow {
    /// The triple in the form of the header that is given.
    triple: Value,
    /// Index of the kept card in the old header, if the row keeps one.
    old_card: Option<usize>,
}

/// The header of an HDU whose rows `old` became `new`; None if they say the same. With `is_named` an ASDF file
/// next to refers to HDUs by name, and names stay.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) at the row for what cannot be a card, and for changes of
/// cards that say what the HDU is.
pub fn edited_header(hdu: &Hdu, old: Node<'_>, new: Node<'_>, is_named: bool) -> Result<Option<Header>> {
    let place = |at: usize| format!("/fits/{}/header/{at}", hdu.number);
    let triples = |rows: Node<'_>| -> Result<Vec<Value>> {
        rows.items().enumerate().map(|(at, row)| node_triple(row).map_err(|e| into_usage_error(&e, place(at)))).collect()
    };
    if !new.is_sequence() {
        let message = "a FITS header is a list of [keyword, value, comment]";
        return Err(Error::invalid_input(message).at_path(format!("/fits/{}/header", hdu.number)));
    }
    let (old, rows) = (triples(old)?, triples(new)?);
    if old == rows {
        return Ok(None);
    }
    let rows = align_rows(&old, rows);
    check_order(hdu, &rows)?;
    let mut header = Header::default();
    let (cards, before) = (hdu.header.cards(), pair_replacement_cards(&rows, old.len()));
    for (at, (row, node)) in rows.iter().zip(new.items()).enumerate() {
        let card = match (row.old_card, before.get(at).copied().flatten()) {
            (Some(kept), _) => cards.get(kept).cloned().unwrap_or_else(Card::new_blank),
            (None, before) => {
                let before = before.and_then(|at| Some((cards.get(at)?, old.get(at)?)));
                let card = build_card(&row.triple, before, is_null(node)).map_err(|e| into_usage_error(&e, place(at)))?;
                check_change(Some(&card), before.map(|(card, _)| card), is_named).map_err(|e| e.at_path(place(at)))?;
                card
            }
        };
        header.push(card);
    }
    let stays: HashSet<usize> = rows.iter().filter_map(|row| row.old_card).chain(before.into_iter().flatten()).collect();
    for (at, card) in cards.iter().enumerate().filter(|(at, _)| !stays.contains(at)) {
        check_change(None, Some(card), is_named).map_err(|e| e.at_path(place(at)))?;
    }
    check_hdu(hdu, &header)?;
    Ok(Some(header))
}

/// Returns `true` if the value of a row is written as nothing, not as empty text.
fn is_null(row: Node<'_>) -> bool {
    row.index(1).is_some_and(Node::is_null)
}

/// Converts an error of a row into one of the caller. The tree of a FITS file has no lines.
fn into_usage_error(error: &Error, path: String) -> Error {
    Error::invalid_input(error.message()).at_path(path).with_settings_of(error)
}

/// Matches each new row with an equal old row, in the same order.
fn align_rows(old: &[Value], new: Vec<Value>) -> Vec<HeaderRow> {
    let front = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - front;
    let back = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - back, new.len() - back);
    let (old_part, new_part) = (old.get(front..old_end).unwrap_or_default(), new.get(front..new_end).unwrap_or_default());
    let kept = if old_part.len().saturating_mul(new_part.len()) <= MAX_PAIRS {
        longest_common_subsequence(old_part, new_part)
    } else {
        next_equal(old_part, new_part)
    };
    let place = |at: usize| match at {
        at if at < front => Some(at),
        at if at >= new_end => Some(at - new_end + old_end),
        at => kept.get(at - front).copied().flatten().map(|found| found + front),
    };
    let places: Vec<Option<usize>> = (0..new.len()).map(place).collect();
    new.into_iter().zip(places).map(|(triple, kept)| HeaderRow { triple, old_card: kept }).collect()
}

/// Returns for each item of `new` the index of its match in `old`, by a longest common subsequence.
fn longest_common_subsequence(old: &[Value], new: &[Value]) -> Vec<Option<usize>> {
    let width = new.len() + 1;
    let mut lengths = vec![0u32; (old.len() + 1) * width];
    let at = |i: usize, j: usize| i * width + j;
    let get = |lengths: &[u32], i, j| lengths.get(at(i, j)).copied().unwrap_or(0);
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            let length = match a == b {
                true => get(&lengths, i + 1, j + 1) + 1,
                false => get(&lengths, i + 1, j).max(get(&lengths, i, j + 1)),
            };
            if let Some(place) = lengths.get_mut(at(i, j)) {
                *place = length;
            }
        }
    }
    let (mut i, mut found) = (0, vec![None; new.len()]);
    let mut j = 0;
    while let (Some(a), Some(b)) = (old.get(i), new.get(j)) {
        if a == b {
            if let Some(place) = found.get_mut(j) {
                *place = Some(i);
            }
            (i, j) = (i + 1, j + 1);
        } else if get(&lengths, i + 1, j) >= get(&lengths, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

/// Does the same as [`longest_common_subsequence`], but each item takes the next equal one: not always the most, but in one pass.
fn next_equal(old: &[Value], new: &[Value]) -> Vec<Option<usize>> {
    let mut places: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (at, value) in old.iter().enumerate() {
        places.entry(triple_key(value)).or_default().push_back(at);
    }
    let mut from = 0;
    let mut find = |value: &Value| {
        let queue = places.get_mut(&triple_key(value))?;
        while queue.front().is_some_and(|at| *at < from) {
            queue.pop_front();
        }
        let at = queue.pop_front()?;
        from = at + 1;
        Some(at)
    };
    new.iter().map(&mut find).collect()
}

/// For each row that is new, the old card in whose place it is: rows between two that are kept replace the old
/// ones between them in their order, as far as their keyword or their number is the same.
fn pair_replacement_cards(rows: &[HeaderRow], count: usize) -> Vec<Option<usize>> {
    let mut found = vec![None; rows.len()];
    let mut at = 0;
    while at < rows.len() {
        let Some(length) = rows.get(at..).map(|rest| rest.iter().take_while(|row| row.old_card.is_none()).count()) else { break };
        let before = at.checked_sub(1).and_then(|last| rows.get(last)?.old_card).map_or(0, |last| last + 1);
        let behind = rows.get(at + length).and_then(|row| row.old_card).unwrap_or(count);
        if length > 0 && behind.checked_sub(before) == Some(length) {
            for (place, old) in found.iter_mut().skip(at).zip(before..behind) {
                *place = Some(old);
            }
        }
        at += length + 1;
    }
    found
}

/// Returns the card of a new row. Unchanged parts keep their kind, which a row does not always tell: a complex
/// number, an undefined value, an integer of more than 64 bits.
fn build_card(row: &Value, before: Option<(&Card, &Value)>, is_null: bool) -> Result<Card> {
    if let Some((old, triple)) = before
        && (!is_null || *old.value() == CardValue::Undefined)
        && triple.items().get(1..) == row.items().get(1..)
    {
        let named = card_of(&Value::seq(row.items().first().cloned()))?;
        if let Some(card) = rename_card(old, &named)? {
            return Ok(card);
        }
    }
    let card = card_of(row)?;
    let value = |row: &Value| row.items().get(1).cloned();
    let mut meant = card.value().clone();
    if is_null && !card.is_commentary() {
        meant = CardValue::Undefined;
    }
    if let Some((old, triple)) = before
        && card.is_commentary() == old.is_commentary()
    {
        if value(triple) == value(row) && !is_null {
            meant = old.value().clone();
        } else if let (CardValue::Complex(..), CardValue::Text(text)) = (old.value(), &meant)
            && let complex @ CardValue::Complex(..) = CardValue::of_token(text)
        {
            meant = complex;
        }
    }
    if meant == *card.value() { Ok(card) } else { Card::new(card.keyword(), meant, card.comment()) }
}

/// A card with another keyword, that of `new`, and the text after it as it was; only blanks in front of the value make room.
/// None if the kind of the card becomes another.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is no room for it.
fn rename_card(old: &Card, new: &Card) -> Result<Option<Card>> {
    const HIERARCH_PREFIX: &[u8] = b"HIERARCH ";
    let is_long = |card: &Card| card.bytes().starts_with(HIERARCH_PREFIX);
    let (keyword, bytes) = (new.keyword(), old.bytes());
    let from = if is_long(old) { bytes.iter().position(|b| *b == b'=').unwrap_or(bytes.len()) } else { 8 };
    let start =
        if is_long(new) { [HIERARCH_PREFIX, keyword.as_bytes(), b" "].concat() } else { format!("{keyword:8}").into_bytes() };
    let mut made = [&start, bytes.get(from..).unwrap_or_default()].concat();
    let filled = |made: &[u8]| made.iter().rposition(|b| *b != b' ').map_or(0, |last| last + 1);
    let value = start.len() + 2;
    while filled(&made) > bytes.len() && made.get(start.len()) == Some(&b'=') && made.get(value) == Some(&b' ') {
        made.remove(value);
    }
    if filled(&made) > bytes.len() {
        return Err(Error::invalid_input(format!("the card of {} has no room for the keyword {keyword}", old.keyword()))
            .hint("take a shorter one, or shorten the comment first"));
    }
    made.resize(bytes.len(), b' ');
    let made = Card::parse(&made);
    let is_same = made.keyword() == keyword && card_triple(&made).items().get(1..) == card_triple(old).items().get(1..);
    Ok(is_same.then_some(made))
}

/// Returns `true` if a keyword defines the HDU, so that its card cannot change while the data stay.
fn is_structural(keyword: &str) -> bool {
    let number = keyword.trim_start_matches(|c: char| !c.is_ascii_digit());
    let numbered = || {
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        is_number && INDEXED_KEYWORDS.contains(&keyword.strip_suffix(number).unwrap_or(""))
    };
    STRUCTURAL_KEYWORDS.contains(&keyword) || numbered()
}

/// Refuses a card that comes, goes or changes its value, if it defines the HDU.
fn check_change(new: Option<&Card>, old: Option<&Card>, is_named: bool) -> Result<()> {
    let (keyword, other) = (new.or(old).map_or("", Card::keyword), old.map_or("", Card::keyword));
    if let (Some(new), Some(old)) = (new, old)
        && new.keyword() == old.keyword()
        && new.value() == old.value()
    {
        return Ok(());
    }
    if let Some(found) = [keyword, other].into_iter().find(|keyword| is_structural(keyword)) {
        return Err(Error::invalid_input(format!("{found} defines the HDU and the place of its data, and cannot be changed"))
            .hint("convert the FITS file to ASDF, change the array there, and convert it back"));
    }
    if let Some(sum) = new.map(Card::keyword).filter(|keyword| CHECKSUM_KEYWORDS.contains(keyword)) {
        return Err(Error::invalid_input(format!("{sum} is computed from the HDU and cannot be given")));
    }
    if let Some(name) = [keyword, other].into_iter().find(|keyword| is_named && NAME_KEYWORDS.contains(keyword)) {
        let message = format!("{name} cannot be changed: the ASDF file in this FITS file may name the HDU by it");
        return Err(Error::invalid_input(message).hint("convert it to ASDF, and embed that in another FITS file"));
    }
    Ok(())
}

/// The cards that say what the HDU is come first and in their order (section 4.4.1), and nothing gets between them.
fn check_order(hdu: &Hdu, rows: &[HeaderRow]) -> Result<()> {
    let cards = hdu.header.cards();
    let leading = cards.iter().take_while(|card| is_structural(card.keyword())).count();
    let keyword = |row: &HeaderRow| row.triple.items().first().and_then(Value::as_str).unwrap_or_default().to_owned();
    for (at, card) in cards.iter().take(leading).enumerate() {
        let found = rows.get(at).map(keyword).unwrap_or_default();
        if found != card.keyword() {
            let what = if found.is_empty() { "nothing".to_owned() } else { found };
            return Err(Error::invalid_input(format!(
                "the header begins with {} cards that define the HDU: found {what} in place of {}",
                leading,
                card.keyword()
            ))
            .at_path(format!("/fits/{}/header/{at}", hdu.number))
            .hint(format!("put new cards after them: number {leading} is the first free place")));
        }
    }
    Ok(())
}

/// The new header leads to the same data.
fn check_hdu(hdu: &Hdu, header: &Header) -> Result<()> {
    if let Some(why) = hdu.error() {
        return Err(why.copy().context(hdu.display_name()));
    }
    let new = Hdu::new(hdu.number, header.clone(), hdu.start, locate_data(header, hdu.data.start)?);
    let same = new.kind == hdu.kind && new.data == hdu.data && new.is_asdf() == hdu.is_asdf();
    if same {
        return Ok(());
    }
    Err(Error::invalid_input("the changed header would make another kind of HDU of it, or lead to other data")
        .context(hdu.display_name()))
}
