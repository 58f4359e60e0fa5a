//! Several ranges in one response: `multipart/byteranges`, RFC 9110, section 14.6.

use std::io::{BufRead, BufReader, Read};

use super::response_headers::content_range;

/// Longest line of a part's headers that is read.
const MAX_LINE_LEN: u64 = 8 << 10;
/// Maximum number of lines before the first part, and of header lines of a part.
const MAX_HEADER_LINES: usize = 64;

/// Reads the parts of an answer one by one. `take` receives the offset of a part in the file, its bytes, and the
/// size of the file if the server states it.
///
/// Parts longer than `most` are refused, because they were not requested.
pub(super) fn read_parts(
    body: impl Read,
    content_type: &str,
    most: u64,
    take: &mut dyn FnMut(u64, Vec<u8>, Option<u64>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut body = BufReader::with_capacity(64 << 10, body);
    let boundary = parse_boundary(content_type).ok_or_else(|| invalid_data_error("no boundary between the parts"))?;
    let (delimiter, close) = (format!("--{boundary}"), format!("--{boundary}--"));
    // Text before the first delimiter has no meaning.
    let mut lines = 0;
    while read_part_line(&mut body)? != delimiter {
        lines += 1;
        if lines > MAX_HEADER_LINES {
            return Err(invalid_data_error("the parts do not begin"));
        }
    }
    loop {
        let mut range = None;
        for at in 0.. {
            let header = read_part_line(&mut body)?;
            if header.is_empty() {
                break;
            }
            if at > MAX_HEADER_LINES {
                return Err(invalid_data_error("the headers of a part do not end"));
            }
            if let Some((name, value)) = header.split_once(':')
                && name.trim().eq_ignore_ascii_case("content-range")
            {
                range = content_range(value);
            }
        }
        let (range, size) = range.ok_or_else(|| invalid_data_error("a part does not state its byte offset"))?;
        let len = range.end - range.start;
        if len > most {
            return Err(invalid_data_error("a part is longer than requested"));
        }
        let mut bytes = Vec::new();
        if body.by_ref().take(len).read_to_end(&mut bytes)? as u64 != len {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        take(range.start, bytes, size)?;
        if !read_part_line(&mut body)?.is_empty() {
            return Err(invalid_data_error("a part is longer than it states"));
        }
        match read_part_line(&mut body)? {
            next if next == delimiter => {}
            next if next == close => {
                // Reading to the end of the body lets the connection be reused.
                std::io::copy(&mut body.by_ref().take(MAX_LINE_LEN), &mut std::io::sink())?;
                return Ok(());
            }
            _ => return Err(invalid_data_error("a part is not followed by another")),
        }
    }
}

/// The parameter `boundary` of a content type.
fn parse_boundary(content_type: &str) -> Option<String> {
    let (kind, rest) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/byteranges") {
        return None;
    }
    rest.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        (name.trim().eq_ignore_ascii_case("boundary") && (1..=70).contains(&value.len())).then(|| value.to_owned())
    })
}

/// The next line without its end.
fn read_part_line(body: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = Vec::new();
    body.by_ref().take(MAX_LINE_LEN).read_until(b'\n', &mut line)?;
    match line.strip_suffix(b"\n") {
        Some(rest) => Ok(String::from_utf8_lossy(rest.strip_suffix(b"\r").unwrap_or(rest)).into_owned()),
        None if line.len() as u64 == MAX_LINE_LEN => Err(invalid_data_error("a line does not end")),
        None => Err(std::io::ErrorKind::UnexpectedEof.into()),
    }
}

fn invalid_data_error(what: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Part = (u64, Vec<u8>, Option<u64>);

    fn parts(text: &str) -> std::io::Result<Vec<Part>> {
        let mut parts = Vec::new();
        read_parts(text.as_bytes(), "multipart/byteranges; boundary=\"XY\"", 100, &mut |at, bytes, size| {
            parts.push((at, bytes, size));
            Ok(())
        })?;
        Ok(parts)
    }

    #[test]
    fn parts_are_read_by_length_whatever_content() {
        let text = "\r\n--XY\r\nContent-Type: text/plain\r\nContent-Range: bytes 5-8/20\r\n\r\n\r\n--\r\n\
                    --XY\r\ncontent-range: bytes 10-10/*\r\n\r\na\r\n--XY--\r\n";
        assert_eq!(parts(text).unwrap(), [(5, b"\r\n--".to_vec(), Some(20)), (10, b"a".to_vec(), None)]);
    }

    #[test]
    fn short_and_unordered_answers_are_errors() {
        for bad in [
            "",
            "--XY\r\n",
            "--XY\r\n\r\nabc\r\n--XY--",
            "--XY\r\nContent-Range: bytes 5-8/20\r\n\r\nab",
            "--XY\r\nContent-Range: bytes 5-8/20\r\n\r\nabcdef\r\n--XY--\r\n",
            "--XY\r\nContent-Range: bytes 8-5/20\r\n\r\nab\r\n--XY--\r\n",
            "--XY\r\nContent-Range: bytes 0-999/2000\r\n\r\nab\r\n--XY--\r\n",
        ] {
            assert!(parts(bad).is_err(), "{bad:?}");
        }
        assert!(parse_boundary("text/html; boundary=a").is_none());
    }
}
