//! Units that the headers of FITS files declare: BUNIT of images, TUNITn of columns.

use super::fits::{hdu_in_list, source_hdu};
use crate::asdf::AsdfFile;
use crate::fits;
use crate::tree::Node;

/// Returns the unit that a FITS header declares for an array: BUNIT of an image, TUNITn of a column of a table.
pub(super) fn unit_of(file: &AsdfFile, node: Node<'_>) -> Option<String> {
    let Some((hdu, path)) = hdu_in_list(file, node) else {
        return source_hdu(file, node)?.header().text("BUNIT").and_then(trimmed_text);
    };
    let cards = unit_cards(hdu.get("header")?);
    let Some(name) = path.keys().get(3) else { return find_card(&cards, "BUNIT").map(str::to_owned) };
    let position = hdu.get("data")?.pairs().into_iter().position(|(key, _)| key.key_text() == name.as_str())?;
    column_unit(&cards, name, position)
}

/// Returns the TUNITn of a field of a table.
pub(super) fn unit_of_field(file: &AsdfFile, node: Node<'_>, name: &str) -> Option<String> {
    let cards = match hdu_in_list(file, node) {
        Some((hdu, _)) => unit_cards(hdu.get("header")?),
        None => {
            let cards = source_hdu(file, node)?.header().cards().iter();
            let text = |card: &fits::Card| match card.value() {
                fits::CardValue::Text(text) => Some((card.keyword().to_owned(), trimmed_text(text)?)),
                _ => None,
            };
            cards.filter_map(text).collect()
        }
    };
    let position = name.strip_prefix('f').and_then(|number| number.parse().ok()).unwrap_or(usize::MAX);
    column_unit(&cards, name, position)
}

/// The unit of the column with a name, else of the one at a position.
fn column_unit(cards: &[(String, String)], name: &str, position: usize) -> Option<String> {
    let named = cards.iter().find(|(keyword, text)| text == name && keyword.starts_with("TTYPE"));
    let number = named.and_then(|(keyword, _)| keyword.strip_prefix("TTYPE")?.parse().ok());
    let number: usize = number.or_else(|| position.checked_add(1))?;
    find_card(cards, &format!("TUNIT{number}")).map(str::to_owned)
}

fn find_card<'c>(cards: &'c [(String, String)], keyword: &str) -> Option<&'c str> {
    cards.iter().find(|(known, _)| known == keyword).map(|(_, text)| text.as_str())
}

fn trimmed_text(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The cards with text among the rows of a header.
fn unit_cards(header: Node<'_>) -> Vec<(String, String)> {
    let card = |row: Node<'_>| Some((row.index(0)?.text().into_owned(), trimmed_text(&row.index(1)?.as_str()?)?));
    header.items().filter_map(card).collect()
}
