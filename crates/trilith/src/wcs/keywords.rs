//! Keywords of FITS headers: in a mapping, or in the list of cards of an HDU.

use trilith_wcs::{ArrayReference, HeaderKeywords, ReferencedArray};

use super::WcsKey;
use super::gwcs::to_wcs_limits;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::file::{Item, ItemKind, header_without_rows};
use crate::fits::{Card, CardValue, Header};
use crate::yaml::Scalar;

/// Keywords of a header that are read, at most.
const MAX_KEYWORDS: usize = 100_000;

/// Handling of an item that is a list, not a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CardLists {
    /// A list holds the cards of a header.
    Accepted,
    /// A list is not a header.
    Refused,
}

impl CardLists {
    /// Accepts a list at a path whose last key is that of the header of an HDU.
    pub(super) fn for_path(path: &str) -> Self {
        if path.ends_with("/header") { Self::Accepted } else { Self::Refused }
    }
}

/// The keywords of a header, with the arrays of other HDUs that they refer to; `None` for an item that cannot be one.
pub(super) fn read_keywords(item: &Item<'_>, lists: CardLists, key: WcsKey) -> Result<Option<HeaderKeywords>> {
    let Some(found) = collect_keywords(item, lists)? else { return Ok(None) };
    let mut found = match key.letter() {
        None => found,
        Some(letter) => found.alternate(letter),
    };
    let references = found.array_references();
    if !references.is_empty()
        && let Some((hdu, _)) = item.parent()
        && let Some((hdus, _)) = hdu.parent()
    {
        insert_arrays(&mut found, references, &hdus)?;
    }
    Ok(Some(found))
}

/// Hands to keywords the arrays of a list of HDUs. An array that is not there is named when the coordinates are built.
fn insert_arrays(keywords: &mut HeaderKeywords, mut references: Vec<ArrayReference>, hdus: &Item<'_>) -> Result<()> {
    if hdus.kind() != ItemKind::List {
        return Ok(());
    }
    let most = to_wcs_limits(hdus.backend().limits()).table;
    for hdu in hdus.owned_children()? {
        let hdu = hdu.resolve()?;
        let (Some(header), Some(data)) = (super::get(&hdu, "header")?, super::get(&hdu, "data")?) else { continue };
        let Some(own) = collect_keywords(&header, CardLists::Accepted)? else { continue };
        let (named, others) = references.into_iter().partition(|reference| own.is_named_by(reference));
        references = others;
        let named: Vec<ArrayReference> = named;
        for reference in named {
            if let Some((shape, values)) = read_elements(&data, reference.column.as_deref(), most)? {
                let array = ReferencedArray { shape, values, keywords: own.clone() };
                keywords.insert_array(reference, array);
            }
        }
    }
    Ok(())
}

/// Shape and elements of an image, or of the first row of a column.
fn read_elements(data: &Item<'_>, column: Option<&str>, most: usize) -> Result<Option<(Vec<usize>, Vec<f64>)>> {
    if let (ItemKind::Mapping, Some(column)) = (data.kind(), column) {
        return read_table_column(data, column, most);
    }
    if data.kind() != ItemKind::Array {
        return Ok(None);
    }
    let mut array = data.array()?;
    if let Some(column) = column {
        let fields = array.datatype().as_struct().map_or(&[][..], |fields| fields.fields());
        let is_it = |name: &Option<String>| name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(column));
        let Some(place) = fields.iter().position(|field| is_it(&field.name)) else { return Ok(None) };
        if array.shape().first() == Some(&0) {
            return Err(Error::malformed(format!("column {column:?} of coordinates has no row")));
        }
        array = array.field_at(place)?.rows(0, 1)?;
    }
    load_elements(&array, usize::from(column.is_some()), most).map(Some)
}

/// Shape and elements of the first row of a column, in a table as asdf-astropy writes it.
fn read_table_column(table: &Item<'_>, name: &str, most: usize) -> Result<Option<(Vec<usize>, Vec<f64>)>> {
    let Some(columns) = super::get(table, "columns")? else { return Ok(None) };
    for column in super::read_list(&columns)? {
        let is_it = super::get(&column, "name")?.is_some_and(|own| own.text().is_ok_and(|own| own.eq_ignore_ascii_case(name)));
        if is_it && let Some(data) = super::get(&column, "data")? {
            let values = super::get(&data, "value")?.unwrap_or(data);
            return load_elements(&values.array()?.rows(0, 1)?, 1, most).map(Some);
        }
    }
    Ok(None)
}

/// Elements of an array, and its shape without the first axes.
fn load_elements(array: &Array, skipped: usize, most: usize) -> Result<(Vec<usize>, Vec<f64>)> {
    if array.element_count() > most as u64 {
        return Err(Error::limit(format!("an array of {} coordinates (at most {most})", array.element_count())));
    }
    array.charge()?;
    let shape = array.shape().iter().skip(skipped).map(|length| *length as usize).collect();
    Ok((shape, array.load_as::<f64>()?))
}

/// The keywords of a header; `None` for an item that cannot be one.
fn collect_keywords(item: &Item<'_>, lists: CardLists) -> Result<Option<HeaderKeywords>> {
    match item.kind() {
        ItemKind::Mapping => {}
        ItemKind::List if lists == CardLists::Accepted => {}
        _ => return Ok(None),
    }
    if let Some(header) = header_without_rows(item) {
        return Ok(Some(card_keywords(header)));
    }
    let mut found = KeywordCollector::default();
    for (name, child) in item.children()?.into_iter().take(MAX_KEYWORDS) {
        if let Some(name) = name {
            found.insert(&name, &child);
        } else if let [(_, key), (_, value), ..] = &child.children()?[..]
            && let Ok(key) = key.text()
        {
            found.insert(&key, value);
        }
    }
    Ok(Some(found.into_keywords()))
}

/// The keywords of the cards of a header.
pub(crate) fn card_keywords(header: &Header) -> HeaderKeywords {
    let mut found = KeywordCollector::default();
    header.cards().iter().take(MAX_KEYWORDS).for_each(|card| found.insert_card(card));
    found.into_keywords()
}

/// Keywords as they are read.
#[derive(Default)]
struct KeywordCollector {
    keywords: HeaderKeywords,
    /// The header is that of a table with the compressed tiles of an image: ZIMAGE is true.
    is_compressed: bool,
    /// ZNAXISn, the lengths of the axes of a compressed image, without the Z.
    lengths: Vec<(String, f64)>,
}

impl KeywordCollector {
    /// Takes in a keyword, if it is a number or a string.
    fn insert(&mut self, key: &str, item: &Item<'_>) {
        match item.value() {
            Ok(Scalar::Float(number)) => self.put_number(key, number),
            Ok(Scalar::Int(number)) => self.put_number(key, number as f64),
            Ok(Scalar::Str(text)) => self.keywords.insert_text(key, &text),
            Ok(Scalar::Bool(true)) => self.is_compressed |= key.eq_ignore_ascii_case("ZIMAGE"),
            _ => {}
        }
    }

    /// Takes in the keyword of a card, if its value is a number or a string.
    fn insert_card(&mut self, card: &Card) {
        if !HeaderKeywords::may_read(card.keyword()) && !card.keyword().starts_with('Z') {
            return;
        }
        match card.value() {
            CardValue::Float(number) => self.put_number(card.keyword(), *number),
            CardValue::Integer(number) => self.put_number(card.keyword(), *number as f64),
            CardValue::Text(text) => self.keywords.insert_text(card.keyword(), text),
            CardValue::Logical(true) => self.is_compressed |= card.keyword() == "ZIMAGE",
            _ => {}
        }
    }

    fn put_number(&mut self, key: &str, number: f64) {
        self.keywords.insert_number(key, number);
        if let Some(('Z' | 'z', rest)) = key.chars().next().zip(key.get(1..)) {
            self.lengths.push((rest.to_owned(), number));
        }
    }

    /// The keywords of the image: FITS Standard 4.0, section 10.1.
    fn into_keywords(mut self) -> HeaderKeywords {
        for (key, number) in
            self.lengths.iter().filter(|(key, _)| self.is_compressed && key.to_ascii_uppercase().starts_with("NAXIS"))
        {
            self.keywords.insert_number(key, *number);
        }
        self.keywords
    }
}
