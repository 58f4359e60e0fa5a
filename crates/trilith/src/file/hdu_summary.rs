//! Facts about an HDU from its header: [`HduSummary`].

use std::collections::BTreeSet;
use std::ops::Range;

use crate::asdf::AsdfFile;
use crate::file::{Item, ItemKind};
use crate::fits::Hdu;
use crate::tree::Node;

/// An HDU of a FITS file, by its header.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HduSummary {
    /// Index of the HDU.
    pub number: usize,
    /// `PRIMARY`, or the value of XTENSION; `IMAGE` for an image in compressed tiles.
    pub kind: String,
    /// The value of EXTNAME.
    pub name: Option<String>,
    /// The value of EXTVER; 1 for an HDU with a name and without the card.
    pub version: Option<i64>,
    /// Number of cards.
    pub cards: usize,
    /// The value of BITPIX, or the number of columns of a table.
    pub bitpix: Option<String>,
    /// The algorithm of an image in compressed tiles, or those of the columns of a compressed table.
    pub compression: Option<String>,
    /// The lengths of the axes as the header has them, the fastest first.
    pub axes: Vec<u64>,
    /// Byte offset of the header.
    pub offset: u64,
    /// Byte range of the data, without the filling of their last block.
    pub data: Range<u64>,
}

impl HduSummary {
    /// Returns the summary of the HDU that an item of a FITS file is, or that has the header of an array; `None` for any other item.
    pub fn from_item(item: &Item<'_>) -> Option<Self> {
        let (file, node) = item.as_asdf()?;
        let hdu = super::asdf::header_owner(file, node)?;
        let number = file.tree().path_of(hdu.id())?.keys().last()?.parse().ok()?;
        Some(Self::from_node(file, number, hdu))
    }

    /// Returns the [`label`](Self::label) of the HDU that an item is; `None` for any other item.
    pub fn label_of(item: &Item<'_>) -> Option<String> {
        // An array has the header of the mapping around it, and the root has that of the first HDU.
        let (file, node) = item.as_asdf().filter(|_| item.kind() == ItemKind::Mapping)?;
        let hdu = super::asdf::header_owner(file, node).filter(|hdu| hdu.id() == node.id())?;
        let first = file.tree().root().get("fits").and_then(|list| list.index(0));
        let name = card_text(hdu, "EXTNAME");
        label_text(name.as_deref(), card_number(hdu, "EXTVER"), first.is_some_and(|first| first.id() == hdu.id()))
    }

    /// Returns the name that a path has for the HDU: `SCI`, `SCI,2`, or `PRIMARY` for the first one without a name.
    pub fn label(&self) -> Option<String> {
        label_text(self.name.as_deref(), self.version, self.number == 0)
    }

    fn from_node(file: &AsdfFile, number: usize, hdu: Node<'_>) -> Self {
        let text = |keyword: &str| card_text(hdu, keyword);
        let number_of = |keyword: &str| card_number(hdu, keyword);
        // Compressed tiles are rows of a table, and Z before a keyword says what the image has there.
        let is_true = |keyword: &str| text(keyword).as_deref() == Some("true");
        let (is_tiled, is_compressed_table) = (is_true("ZIMAGE"), is_true("ZTABLE"));
        let z = if is_tiled || is_compressed_table { "Z" } else { "" };
        let naxis = if is_compressed_table { 2 } else { number_of(&format!("{z}NAXIS")).unwrap_or(0) }.clamp(0, 999);
        let axes = (1..=naxis).filter_map(|axis| number_of(&format!("{z}NAXIS{axis}"))).filter_map(|n| u64::try_from(n).ok());
        let (kind, name) = (if is_tiled { Some("IMAGE".to_owned()) } else { text("XTENSION") }, text("EXTNAME"));
        let is_table = matches!(kind.as_deref(), Some("BINTABLE" | "TABLE"));
        let unit = super::container_fits(file).and_then(|fits| fits.hdus().get(number));
        Self {
            number,
            kind: kind.unwrap_or_else(|| "PRIMARY".to_owned()),
            version: number_of("EXTVER").or_else(|| name.is_some().then_some(1)),
            name,
            cards: hdu.get("header").map_or(0, Node::len),
            bitpix: match is_table {
                true => number_of("TFIELDS").map(|count| format!("{count} columns")),
                false if naxis > 0 => number_of(&format!("{z}BITPIX")).map(|bits| bits.to_string()),
                false => None,
            },
            compression: match is_compressed_table {
                true => {
                    let columns = 1..=number_of("TFIELDS").unwrap_or(0).clamp(0, 999);
                    let names: BTreeSet<String> = columns.filter_map(|column| text(&format!("ZCTYP{column}"))).collect();
                    Some(names.into_iter().collect::<Vec<_>>().join(", "))
                }
                false => text("ZCMPTYPE").filter(|_| is_tiled),
            },
            axes: axes.collect(),
            offset: unit.map_or(0, Hdu::start),
            data: unit.map_or(0..0, Hdu::data),
        }
    }
}

/// The value of the first card of a keyword.
fn card_text(hdu: Node<'_>, keyword: &str) -> Option<String> {
    let mut rows = hdu.get("header")?.items();
    let row = rows.find(|row| row.index(0).is_some_and(|found| found.text() == keyword))?;
    row.index(1).map(|value| value.text().trim_end().to_owned())
}

fn card_number(hdu: Node<'_>, keyword: &str) -> Option<i64> {
    card_text(hdu, keyword)?.parse().ok()
}

fn label_text(name: Option<&str>, version: Option<i64>, is_first: bool) -> Option<String> {
    match (name, version) {
        (Some(name), Some(version)) if version != 1 => Some(format!("{name},{version}")),
        (Some(name), _) => Some(name.to_owned()),
        (None, _) => is_first.then(|| "PRIMARY".to_owned()),
    }
}

/// Returns the HDUs of a FITS file without an ASDF file in it, as `fitsinfo` lists them; none for any other file.
pub fn hdu_summaries(file: &AsdfFile) -> impl Iterator<Item = HduSummary> + '_ {
    let list = file.container().filter(|container| container.hdu == 0).and_then(|_| file.tree().node_at_pointer("/fits"));
    list.into_iter().flat_map(|list| list.items()).enumerate().map(move |(number, hdu)| HduSummary::from_node(file, number, hdu))
}
