//! Requests of a viewer, and the answers: a path and a query in, a status, a content type and bytes out.
//!
//! The server of `trilith view` and the worker of the static page both hand their requests to [`respond`], and the
//! page does not know which of them it uses. Nothing here reads a socket or opens a file: a [`ViewerSession`] receives a
//! function that opens files.
//!
//! | request | asks for |
//! |---|---|
//! | `files` | the names of the files, and what can be chosen |
//! | `file` | what a file is |
//! | `tree` | the children of one item, a page of them |
//! | `search` | the items and attributes whose name or value has a text |
//! | `item` | one item: type, shape, unit, notes, place, attributes (cards of FITS), the place of the first row of an image |
//! | `lines` | the text of the file (header, tree or layout) with line numbers, a page of it |
//! | `text` | a text of the tree, a page of its lines |
//! | `blocks` | the stored pieces of the file |
//! | `verify` | checksums and structure |
//! | `stats` | the statistics of an array |
//! | `histogram` | its histogram |
//! | `look` | how much of an array with two axes a first look takes, and whether the rest is read unasked |
//! | `levels` | the interval of values that a rule chooses |
//! | `bits` | which bits an array of flags has: names, counts, colours |
//! | `image` | a part of an array with two axes, as PNG |
//! | `values` | some of its elements, as text |
//! | `wcs` | the world coordinates of an element, and the directions of north and east there |
//! | `profile` | a row or a column of it, or an array with one axis, in at most this number of points |
//! | `table` | rows of a table, in an order |

mod arrays;
mod columns;
mod flags;
mod items;
mod overview;
mod picture;
mod request;
mod row_sample;
mod session;
mod table;
mod text_pages;
mod values;
mod wcs;

use serde_json::{Value, json};
use trilith::interrupt::check;
use trilith::{Error, ErrorKind, Result};

pub(crate) use self::arrays::row_text;
pub use self::request::ViewerRequest;
pub use self::session::{FileOpener, OpenFile, ViewerSession};

/// An answer, in the words of HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewerResponse {
    /// 200, or 400 for a question that makes no sense, 404 for an unknown request or an item that does not exist, 422
    /// for a file that cannot be read as asked, 499 for one that was given up.
    pub status: u16,
    /// The content type of the bytes: `application/json` or `image/png`.
    pub content_type: &'static str,
    /// The bytes.
    pub body: Vec<u8>,
}

impl ViewerResponse {
    fn from_json(status: u16, value: &Value) -> Self {
        Self { status, content_type: "application/json", body: value.to_string().into_bytes() }
    }

    fn from_png(body: Vec<u8>) -> Self {
        Self { status: 200, content_type: "image/png", body }
    }

    /// An error, as the page shows it.
    pub fn error(error: &Error) -> Self {
        let status = match error.kind() {
            ErrorKind::InvalidInput => 400,
            ErrorKind::NotFound => 404,
            _ => 422,
        };
        Self::from_json(status, &json!({"error": {"kind": error.kind().name(), "message": error.to_string()}}))
    }
}

/// Answers one request.
///
/// ```
/// use trilith_view::requests::{ViewerRequest, ViewerSession, respond};
/// let file = b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: 5}\n...\n";
/// let session = ViewerSession::new(move |_| trilith::OpenOptions::new().open_bytes(file.to_vec()));
/// session.add("x.asdf", "x.asdf");
/// let said = respond(&session, &ViewerRequest::new("item", "file=0&path=/a"));
/// assert_eq!(said.status, 200);
/// assert!(String::from_utf8_lossy(&said.body).contains("\"text\":\"5\""));
/// ```
pub fn respond(session: &ViewerSession, request: &ViewerRequest) -> ViewerResponse {
    let said = request.with_cancellation(|| try_respond(session, request)).unwrap_or_else(|error| ViewerResponse::error(&error));
    // A cancelled request fails somewhere: the place means nothing.
    let status = if request.is_cancelled() && said.status != 200 { 499 } else { said.status };
    ViewerResponse { status, ..said }
}

fn try_respond(session: &ViewerSession, request: &ViewerRequest) -> Result<ViewerResponse> {
    check()?;
    if request.name() == "image" {
        return picture::answer_image(session, request).map(ViewerResponse::from_png);
    }
    if let Some(value) = to_json(session, request)? {
        return Ok(ViewerResponse::from_json(200, &value));
    }
    let error = Error::invalid_input(format!("there is no request {:?}", request.name()));
    Ok(ViewerResponse { status: 404, ..ViewerResponse::error(&error) })
}

/// The answers that are JSON; None for a request that does not exist.
fn to_json(session: &ViewerSession, request: &ViewerRequest) -> Result<Option<Value>> {
    Ok(Some(match request.name() {
        "files" => overview::answer_files(session, request)?,
        "file" => overview::answer_file(session, request)?,
        "blocks" => overview::answer_blocks(session, request)?,
        "verify" => overview::answer_verify(session, request)?,
        "tree" => items::answer_tree(session, request)?,
        "search" => items::answer_search(session, request)?,
        "item" => items::answer_item(session, request)?,
        "lines" => text_pages::answer_lines(session, request)?,
        "text" => text_pages::answer_text(session, request)?,
        "stats" => picture::answer_stats(session, request)?,
        "histogram" => picture::answer_histogram(session, request)?,
        "bits" => flags::answer_bits(session, request)?,
        "look" => row_sample::handle_look(session, request)?,
        "levels" => picture::answer_levels(session, request)?,
        "values" => values::answer_values(session, request)?,
        "wcs" => wcs::answer_wcs(session, request)?,
        "profile" => values::answer_profile(session, request)?,
        "table" => table::answer_table(session, request)?,
        _ => return Ok(None),
    }))
}
