//! libyaml's events, through its C interface in Rust.

use std::mem::MaybeUninit;

use unsafe_libyaml as yaml;

/// How many events `text` has.
pub fn events(text: &[u8]) -> super::Outcome<usize> {
    let mut parser = MaybeUninit::<yaml::yaml_parser_t>::uninit();
    let parser = parser.as_mut_ptr();
    let mut event = MaybeUninit::<yaml::yaml_event_t>::uninit();
    let event = event.as_mut_ptr();
    let mut count = 0;
    // SAFETY: the parser is initialised before it is used and deleted once; `text` outlives it; an event is
    // read and deleted only where the parser says that it made one.
    unsafe {
        if yaml::yaml_parser_initialize(parser).fail {
            return Err("libyaml could not start".into());
        }
        yaml::yaml_parser_set_input_string(parser, text.as_ptr(), text.len() as u64);
        loop {
            if yaml::yaml_parser_parse(parser, event).fail {
                yaml::yaml_parser_delete(parser);
                return Err("libyaml refuses the text".into());
            }
            count += 1;
            let last = (*event).type_ == yaml::YAML_STREAM_END_EVENT;
            yaml::yaml_event_delete(event);
            if last {
                break;
            }
        }
        yaml::yaml_parser_delete(parser);
    }
    Ok(count)
}
