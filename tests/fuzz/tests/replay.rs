//! Runs each target on its corpus and on every input that found a bug.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "the helpers of tests are tests too")]

use std::{fs, path::Path};

use informer_fuzz::TARGETS;

/// The files of a folder, as their names and contents. There may be no such folder.
fn inputs(folder: &str, target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(target);
    let Ok(files) = fs::read_dir(&folder) else { return Vec::new() };
    let paths = files.map(|file| file.unwrap().path());
    paths.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect()
}

fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let corpus = inputs("corpus", name);
    assert!(!corpus.is_empty(), "there is no corpus/{name}");
    for (path, input) in corpus.into_iter().chain(inputs("regressions", name)) {
        println!("{path}");
        (target.run)(&input);
    }
}

macro_rules! replays {
    ($($test:ident $target:literal)*) => {
        $(
            #[test]
            fn $test() {
                replay($target);
            }
        )*

        #[test]
        fn every_target_is_replayed() {
            let replayed = [$($target),*];
            assert_eq!(TARGETS.map(|target| target.name), replayed);
            let root = Path::new(env!("CARGO_MANIFEST_DIR"));
            for folder in ["corpus", "regressions", "dictionaries"].map(|folder| root.join(folder)) {
                // There are no regressions before the first one.
                for file in fs::read_dir(&folder).into_iter().flatten() {
                    let name = file.unwrap().file_name().into_string().unwrap();
                    assert!(replayed.contains(&name.trim_end_matches(".dict")), "{name} has no target");
                }
            }
        }
    };
}

replays! {
    frames_are_the_same_however_the_stream_is_cut "frames"
    the_decoder_agrees_with_a_parser_of_the_tree "decoder"
    the_scanner_and_pointers_agree_with_serde_json "json"
    selectors_are_printed_as_read_and_match_as_the_model "selectors"
    conditions_are_refused_or_evaluated "when"
    grants_are_printed_as_read_and_grant_no_more "grants"
    http_requests_stay_within_their_grant "http-targets"
    any_text_is_a_configuration_or_has_problems_at_its_places "config"
    calls_of_a_guest_stay_within_its_grants "calls"
    any_component_is_counted_inspected_and_looked_up_within_bounds "components"
    a_plugin_object_reaches_its_own_namespace_only "objects"
    any_request_to_the_admin_endpoint_gets_an_answer_of_http "admin"
}
