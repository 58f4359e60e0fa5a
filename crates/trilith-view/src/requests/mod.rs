//! Requests of a viewer, and the answers: a path and a query in, a status, a content type and bytes out.
//!
//! The server of `trilith view` and the worker of the static page both hand their requests to [`answer`], and the
//! page does not know which of them it uses. Nothing here reads a socket or opens a file: a [`Session`] receives a
//! function that opens files.
//!
//! | request | asks for |
//! |---|---|
//! | `files` | the names of the files, and what can be chosen |
//! | `file` | what a file is |
//! | `tree` | the children of one item, a page of them |
//! | `search` | the items whose name or value has a text |
//! | `item` | one item: type, shape, unit, notes, place |
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
//! | `wcs` | the world coordinates of an element |
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

pub use self::request::Request;
pub use self::session::{Opened, Opener, Session};

/// An answer, in the words of HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// 200, or 400 for a question that makes no sense, 404 for an unknown request or an item that does not exist, 422
    /// for a file that cannot be read as asked, 499 for one that was given up.
    pub status: u16,
    /// The content type of the bytes: `application/json` or `image/png`.
    pub content_type: &'static str,
    /// The bytes.
    pub body: Vec<u8>,
}

impl Response {
    fn json(status: u16, value: &Value) -> Self {
        Self { status, content_type: "application/json", body: value.to_string().into_bytes() }
    }

    fn png(body: Vec<u8>) -> Self {
        Self { status: 200, content_type: "image/png", body }
    }

    /// An error, as the page shows it.
    pub fn error(error: &Error) -> Self {
        let status = match error.kind() {
            ErrorKind::InvalidInput => 400,
            ErrorKind::NotFound => 404,
            _ => 422,
        };
        Self::json(status, &json!({"error": {"kind": error.kind().name(), "message": error.to_string()}}))
    }
}

/// Answers one request.
///
/// ```
/// use trilith_view::requests::{Request, Session, answer};
/// let file = b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: 5}\n...\n";
/// let session = Session::new(move |_| trilith::OpenOptions::new().open_bytes(file.to_vec()));
/// session.add("x.asdf", "x.asdf");
/// let said = answer(&session, &Request::new("item", "file=0&path=/a"));
/// assert_eq!(said.status, 200);
/// assert!(String::from_utf8_lossy(&said.body).contains("\"text\":\"5\""));
/// ```
pub fn answer(session: &Session, request: &Request) -> Response {
    let said = request.wait(|| answered(session, request)).unwrap_or_else(|error| Response::error(&error));
    // A cancelled request fails somewhere: the place means nothing.
    let status = if request.is_cancelled() && said.status != 200 { 499 } else { said.status };
    Response { status, ..said }
}

fn answered(session: &Session, request: &Request) -> Result<Response> {
    check()?;
    if request.name() == "image" {
        return picture::image(session, request).map(Response::png);
    }
    if let Some(value) = in_json(session, request)? {
        return Ok(Response::json(200, &value));
    }
    let error = Error::invalid_input(format!("there is no request {:?}", request.name()));
    Ok(Response { status: 404, ..Response::error(&error) })
}

/// The answers that are JSON; None for a request that does not exist.
fn in_json(session: &Session, request: &Request) -> Result<Option<Value>> {
    Ok(Some(match request.name() {
        "files" => overview::files(session, request)?,
        "file" => overview::file(session, request)?,
        "blocks" => overview::blocks(session, request)?,
        "verify" => overview::verify(session, request)?,
        "tree" => items::tree(session, request)?,
        "search" => items::search(session, request)?,
        "item" => items::item(session, request)?,
        "lines" => text_pages::lines(session, request)?,
        "text" => text_pages::text(session, request)?,
        "stats" => picture::stats(session, request)?,
        "histogram" => picture::histogram(session, request)?,
        "bits" => flags::bits(session, request)?,
        "look" => row_sample::look(session, request)?,
        "levels" => picture::levels(session, request)?,
        "values" => values::values(session, request)?,
        "wcs" => wcs::wcs(session, request)?,
        "profile" => values::profile(session, request)?,
        "table" => table::table(session, request)?,
        _ => return Ok(None),
    }))
}
