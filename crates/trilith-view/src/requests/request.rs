//! A request: its name and the parameters of its query.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trilith::interrupt::with_flag;
use trilith::{Error, Result, bytes};

use crate::Limits;

/// A request: `tree` with `file=0&path=/roman&limit=100`.
#[derive(Debug, Clone)]
pub struct ViewerRequest {
    name: String,
    parameters: Vec<(String, String)>,
    cancelled: Arc<AtomicBool>,
}

impl ViewerRequest {
    /// A request by its name and its query; both may be percent-encoded, with `+` as it is.
    pub fn new(name: &str, query: &str) -> Self {
        let decoded = |text: &str| bytes::percent_decode(text).unwrap_or_else(|| text.to_owned());
        let pair = |part: &str| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            (decoded(key), decoded(value))
        };
        let parameters = query.split('&').filter(|part| !part.is_empty()).map(pair).collect();
        Self { name: decoded(name), parameters, cancelled: Arc::default() }
    }

    /// Sets what is asked to give the request up: once it is true, what goes on ends soon.
    #[must_use]
    pub fn cancelled_by(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancelled = flag;
        self
    }

    /// Returns the name of the request.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if the client does not wait for the answer any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Does the work on its answer, which fails soon after the client stops waiting.
    pub(crate) fn with_cancellation<R>(&self, work: impl FnOnce() -> R) -> R {
        with_flag(Arc::clone(&self.cancelled), work)
    }

    /// The text of a parameter; empty if it is not given.
    pub(crate) fn text_parameter(&self, key: &str) -> &str {
        self.get(key).unwrap_or("")
    }

    /// The text of a parameter that is given.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.parameters.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// A number, if the parameter is given and not empty.
    pub(crate) fn number_parameter<T: FromStr>(&self, key: &str) -> Result<Option<T>> {
        let Some(text) = self.get(key).filter(|text| !text.is_empty()) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| Error::invalid_input(format!("{text:?} is not a number as {key} needs one")))
    }

    /// A number that is given.
    pub(crate) fn required<T: FromStr>(&self, key: &str) -> Result<T> {
        self.number_parameter(key)?.ok_or_else(|| Error::invalid_input(format!("the request {} needs {key}", self.name)))
    }

    /// Returns the start of a page and its number of entries, at most `most`.
    pub(crate) fn page_offset_limit(&self, usual: u64, most: u64) -> Result<(u64, u64)> {
        let offset = self.number_parameter("offset")?.unwrap_or(0);
        Ok((offset, self.number_parameter("limit")?.unwrap_or(usual).min(most)))
    }

    /// Returns the ends of an interval of values, `low` and `high`, if both are given.
    pub(crate) fn limits(&self) -> Result<Option<Limits>> {
        Ok(self.number_parameter("low")?.zip(self.number_parameter("high")?).map(|(low, high)| Limits { low, high }))
    }

    /// Returns `true` if a parameter is set.
    pub(crate) fn is_parameter_set(&self, key: &str) -> bool {
        matches!(self.text_parameter(key), "1" | "true" | "yes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded_once_and_numbers_are_checked() {
        let request = ViewerRequest::new("tree", "path=%2Fa%20b%2526&offset=7&limit=1000000&x=&y=1.5e3&z=-");
        assert_eq!((request.text_parameter("path"), request.page_offset_limit(10, 500).unwrap()), ("/a b%26", (7, 500)));
        assert_eq!(request.number_parameter::<u64>("x").unwrap(), None);
        assert_eq!(request.required::<f64>("y").unwrap(), 1500.0);
        assert!(
            request.number_parameter::<f64>("z").is_err() && request.required::<u64>("w").is_err() && request.get("w").is_none()
        );
    }
}
