use super::*;

/// A component whose function with the index 1 is `inner`. The functions have names if `named`, and then other sections precede the
/// code.
fn component(named: bool) -> Vec<u8> {
    let name = |name: &str| if named { format!("${name}") } else { String::new() };
    let before = if named { "(@custom \"a\" (before func) \"longer than before\")" } else { "" };
    let text = format!(
        "(component (core module {before} (func {}) (func {} unreachable)))",
        name("outer"),
        name("inner")
    );
    wat::parse_str(text).unwrap()
}

fn frame(offset: usize) -> Frame {
    Frame { offset, function: 1, name: None }
}

/// The answer to a question about all offsets of the running component.
fn places(running: &[u8], sections: &Sections) -> Vec<Vec<Place>> {
    let frames = (0..running.len()).map(frame).collect();
    serde_json::from_slice(&answer(&query(sections, frames, String::new())).unwrap()).unwrap()
}

#[test]
fn a_function_has_its_name_wherever_the_frame_is_in_the_code() {
    let running = component(false);
    let sections = Sections::of(&running, &component(true)).unwrap();

    let places = places(&running, &sections);

    let named = places.iter().filter(|places| **places == [Place::unlocated("inner")]).count();
    let described = (0..running.len()).filter(|offset| sections.describes(*offset)).count();
    assert!(described > 1 && described < running.len());
    assert_eq!(
        (named, places.iter().filter(|places| places.is_empty()).count()),
        (described, running.len() - described)
    );
}

#[test]
fn a_question_is_read_as_it_was_written() {
    let sections = Sections::of(&component(false), &component(true)).unwrap();
    let bytes = query(&sections, vec![frame(7)], "folder".to_owned());

    let read = query::Query::decode(&bytes).unwrap();

    assert_eq!(read, query::Query { frames: vec![frame(7)], folder: "folder".to_owned(), sections });
    assert!(answer(&bytes[..bytes.len() - 1]).is_err(), "a section is cut off");
    assert!(answer(b"no question").is_err());
}

#[test]
fn no_cut_and_no_flipped_byte_of_a_debug_file_leads_to_a_panic() {
    let (running, debug) = (component(false), component(true));
    let mut read = 0;
    for at in 0..debug.len() {
        for flipped in [0x01, 0x80, 0xff] {
            let mut bytes = debug.clone();
            bytes[at] ^= flipped;
            for bytes in [&bytes[..], &bytes[..at]] {
                let Some(sections) = Sections::of(&running, bytes) else { continue };
                read += 1;
                places(&running, &sections);
            }
        }
    }
    assert!(read > 20, "{read}");
}

#[test]
fn more_debug_information_than_is_kept_is_left_out() {
    let modules =
        |count| format!("(component {})", "(core module (@custom \".debug_line\" \"a\"))".repeat(count));
    let sections =
        |count| format!("(component (core module {}))", "(@custom \".debug_line\" \"a\")".repeat(count));
    let of = |text: String| {
        let component = wat::parse_str(text).unwrap();
        Sections::of(&component, &component)
    };
    let bytes = |count: usize| {
        format!("(component (core module (@custom \".debug_line\" \"{}\")))", "a".repeat(count))
    };

    for (few, many) in [
        (modules(1000), modules(1001)),
        (sections(1000), sections(1001)),
        (bytes(16_777_000), bytes(16_778_000)),
    ] {
        assert!(of(few).is_some());
        assert!(of(many).is_none());
    }
}
