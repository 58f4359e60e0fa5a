//! The HDUs of two FITS files in pairs.

use std::collections::{HashMap, VecDeque};

use super::{DiffOptions, DifferenceKind, ItemDifference, NamedChild};
use crate::array::attribute::AttributeValue;
use crate::asdf::AsdfFile;
use crate::convert::is_format_history;
use crate::error::Result;
use crate::file::{AddressPattern, AttributeSelector, Item, ItemKind, number_hdus};
use crate::fits::{CARDS_KEY, HEAP_KEY};

/// Returns the options with patterns in which the names of HDUs are numbers.
pub(super) fn number_ignored(a: &Item<'_>, b: &Item<'_>, options: &DiffOptions) -> Result<DiffOptions> {
    let number = |pattern: &AddressPattern| {
        let (in_a, in_b) = (number_hdus(a, pattern)?, number_hdus(b, pattern)?);
        match in_b.text().strip_prefix("/fits/") {
            // The key of an HDU that only the second file has.
            Some(rest) if in_a.text() == pattern.text() && in_b.text() != pattern.text() => {
                pattern.with_text(&format!("/fits/{ADDED_MARK}{rest}"))
            }
            _ => Ok(in_a),
        }
    };
    Ok(DiffOptions { ignore: options.ignore.iter().map(number).collect::<Result<_>>()?, ..options.clone() })
}

/// The key of an HDU that only the second file has begins with it.
const ADDED_MARK: char = '+';

/// Returns `true` for the list of the HDUs of a FITS file.
pub(super) fn is_hdu_list(item: &Item<'_>) -> bool {
    item.kind() == ItemKind::List && item.backend().family() == "fits" && item.path().as_deref() == Some("/fits")
}

/// Gives each HDU of the second file the key of its partner in the first file: the first HDU is the partner of the first, any other that
/// of the same EXTNAME and EXTVER. HDUs that are left are partners if they have the same number.
pub(super) fn pair_hdus(a: &[NamedChild<'_>], b: &mut [NamedChild<'_>]) -> Result<()> {
    let names = |list: &[NamedChild<'_>]| list.iter().skip(1).map(|hdu| hdu_name(&hdu.item)).collect::<Result<Vec<_>>>();
    let (names_a, names_b) = (names(a)?, names(b)?);
    // Several HDUs may have one name, or none: they are partners in their order.
    let mut numbers: HashMap<&HduName, VecDeque<usize>> = HashMap::new();
    for (number, name) in names_a.iter().enumerate() {
        numbers.entry(name).or_default().push_back(number + 1);
    }
    let mut partners: Vec<Option<usize>> =
        names_b.iter().map(|name| numbers.get_mut(name).and_then(VecDeque::pop_front)).collect();
    let mut is_free = vec![true; a.len()];
    for number in partners.iter().flatten() {
        if let Some(free) = is_free.get_mut(*number) {
            *free = false;
        }
    }
    for (number, (hdu, partner)) in b.iter_mut().skip(1).zip(&mut partners).enumerate() {
        let same_number = || is_free.get(number + 1).is_some_and(|free| *free).then_some(number + 1);
        *partner = partner.or_else(same_number);
        hdu.key = partner.map_or_else(|| format!("{ADDED_MARK}{}", number + 1), |partner| partner.to_string());
    }
    Ok(())
}

/// Leaves out of the differences between a FITS file and a tree with its list of HDUs what only the form of the tree brings along: the
/// tag of the list, the program that wrote the tree, and the spelling of cards and columns, which the list has as values.
pub(super) fn drop_form_of_list(found: &mut Vec<ItemDifference>, a: &AsdfFile, b: &AsdfFile) {
    let is_fits = |file: &AsdfFile| file.container().is_some_and(|container| container.hdu == 0);
    let tree = match (a.container(), b.container()) {
        (None, Some(_)) if is_fits(b) => a.tree(),
        (Some(_), None) if is_fits(a) => b.tree(),
        _ => return,
    };
    let has_history = tree.root().get("history").is_some_and(|history| !is_format_history(history));
    let is_form = |key: &str| match key {
        "asdf_library" | CARDS_KEY | HEAP_KEY => true,
        "history" => !has_history,
        _ => false,
    };
    found.retain(|difference| match difference.kind {
        DifferenceKind::Added | DifferenceKind::Removed => !difference.path.strip_prefix('/').is_some_and(is_form),
        DifferenceKind::Tag => difference.path != "/fits",
        _ => true,
    });
}

/// EXTNAME, in capitals, and EXTVER of an HDU.
type HduName = (String, String);

fn hdu_name(hdu: &Item<'_>) -> Result<HduName> {
    let card = |keyword: &str| -> Result<Option<AttributeValue>> {
        Ok(hdu.header().find(&AttributeSelector::parse(keyword)?)?.map(|card| card.value))
    };
    let name = card("EXTNAME")?.and_then(|value| value.as_text().map(|name| name.trim().to_ascii_uppercase()));
    Ok((name.unwrap_or_default(), card("EXTVER")?.map_or_else(|| "1".to_owned(), |version| version.literal_text())))
}

/// Describes an HDU by its name.
pub(super) fn describe_hdu(hdu: &Item<'_>) -> Result<String> {
    Ok(match hdu_name(hdu)? {
        (name, _) if name.is_empty() => "HDU".to_owned(),
        (name, version) if version == "1" => format!("HDU {name}"),
        (name, version) => format!("HDU {name},{version}"),
    })
}
