//! Comparison of the two readers: the law of the fast one, for tests and fuzzing.

use super::event::{Event, EventKind, EventReceiver, YamlScalarStyle};
use super::{Directives, read_complete, read_fast, scalar_text};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Everything that a reader reports.
#[derive(Default, Debug, PartialEq)]
pub(super) struct EventRecorder<'t> {
    text: &'t str,
    head: Directives,
    /// Each event, with the text of a scalar or the tag of a collection.
    pub(super) events: Vec<(Event, String)>,
    markers: (bool, bool),
    anchors: Vec<&'t str>,
}

impl EventReceiver for EventRecorder<'_> {
    fn receive_event(&mut self, mut event: Event, made: Option<&str>) -> Result<()> {
        let mut text = String::new();
        // Like every receiver, this one refuses an alias without its anchor and a tag without its handle.
        if !event.anchor.is_empty() {
            self.anchors.push(event.anchor.slice(self.text).trim_start_matches('&'));
        }
        if event.what == EventKind::Alias && !self.anchors.contains(&event.span.slice(self.text).trim_start_matches('*')) {
            return Err(Error::malformed("alias without anchor"));
        }
        if !event.tag.is_empty() {
            let whole = self.head.resolve_tag(event.tag.slice(self.text));
            text = whole.ok_or_else(|| Error::malformed("tag without handle"))?;
        }
        if let EventKind::Scalar { style, verbatim } = event.what {
            let raw = event.span.slice(self.text);
            let quoted = matches!(style, YamlScalarStyle::Single | YamlScalarStyle::Double);
            text += &match made {
                Some(made) => made.to_owned(),
                None if verbatim && quoted => raw.get(1..raw.len().saturating_sub(1)).unwrap_or("").to_owned(),
                None if verbatim => raw.to_owned(),
                None => scalar_text(self.text, event.span, style),
            };
            event.what = EventKind::Scalar { style, verbatim: false };
        }
        // The ends of collections are told by their last event.
        if matches!(event.what, EventKind::Sequence(_) | EventKind::Mapping(_)) {
            event.span.end = event.span.start;
        }
        if event.what == EventKind::End {
            event.span.start = event.span.end;
        }
        self.events.push((event, text));
        Ok(())
    }

    fn end_document(&mut self, begins: bool, ends: bool) -> Result<()> {
        self.markers = (begins, ends);
        Ok(())
    }
}

fn new_recorder(text: &str) -> EventRecorder<'_> {
    EventRecorder { text, head: Directives::parse_directives(text), ..EventRecorder::default() }
}

/// Returns the events of the fast reader, or `None` if it steps back or the receiver refuses.
pub(super) fn record_fast_events(text: &str) -> Option<EventRecorder<'_>> {
    let mut ours = new_recorder(text);
    read_fast(text, &mut ours).is_ok_and(|took| took).then_some(ours)
}

/// Returns `true` if the fast reader takes `text`. The complete reader must then give the same.
///
/// # Errors
/// Returns the first difference, in words.
#[doc(hidden)]
pub fn readers_agree(text: &str) -> std::result::Result<bool, String> {
    let Some(ours) = record_fast_events(text) else { return Ok(false) };
    let mut theirs = new_recorder(text);
    if let Err(error) = read_complete(text, &Limits::default(), &mut theirs) {
        return match error.kind() {
            // The fast one leaves limits to its receiver.
            crate::ErrorKind::Limit => Ok(false),
            _ => Err(format!("accepted what the complete reader refuses ({error}): {text:?}")),
        };
    }
    for (at, (a, b)) in ours.events.iter().zip(&theirs.events).enumerate() {
        if a != b {
            return Err(format!("event {at} is {a:?}, the complete reader has {b:?}: {text:?}"));
        }
    }
    if ours != theirs {
        return Err(format!("{} events, the complete reader has {}: {text:?}", ours.events.len(), theirs.events.len()));
    }
    Ok(true)
}
