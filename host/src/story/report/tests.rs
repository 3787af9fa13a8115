use super::*;

fn reports() -> Vec<StoryReport> {
    let step = |name: &str, verdict| StepReport {
        name: name.to_owned(),
        took: Duration::from_millis(1500),
        verdict,
        asides: vec!["thread panicked".to_owned()],
    };
    let finding =
        Finding { line: 7, text: "log: - is expected, + happened\n  - a\n  + <b> & \u{1b}".to_owned() };
    let steps = vec![
        step("add #1", Verdict::Passed),
        step("scale", Verdict::Failed(vec![finding])),
        step("delete", Verdict::Skipped("the plugin did not start".to_owned())),
    ];
    vec![StoryReport { file: "a.test.yaml".into(), steps }]
}

#[test]
fn a_person_reads_the_place_and_the_difference() {
    assert_eq!(
        print(&reports(), Format::Text),
        "a.test.yaml\n\
         \x20 ok      add #1 (1500 ms)\n\
         \x20 FAILED  scale\n\
         \x20         a.test.yaml:7: log: - is expected, + happened\n\
         \x20           - a\n\
         \x20           + <b> & \u{1b}\n\
         \x20         the plugin also printed:\n\
         \x20           thread panicked\n\
         \x20 skipped delete: the plugin did not start\n\
         1 of 3 steps failed (stories: 1)\n"
    );
    assert!(!reports()[0].passed());
}

#[test]
fn one_step_is_no_plural() {
    let steps = vec![StepReport {
        name: "add".to_owned(),
        took: Duration::ZERO,
        verdict: Verdict::Passed,
        asides: Vec::new(),
    }];
    let reports = [StoryReport { file: "a.test.yaml".into(), steps }];

    assert!(print(&reports, Format::Text).ends_with("\n1 step passed (stories: 1)\n"));
}

#[test]
fn steps_that_were_not_played_have_not_passed() {
    let mut reports = reports();
    reports[0].steps.remove(1);

    assert!(print(&reports, Format::Text).ends_with("\n1 of 2 steps were not played (stories: 1)\n"));
    assert!(!reports[0].passed());
}

#[test]
fn tap_has_a_plan_directives_and_the_difference_as_yaml() {
    assert_eq!(
        print(&reports(), Format::Tap),
        "TAP version 14\n1..3\n\
         ok 1 - a.test.yaml: add \\#1\n\
         not ok 2 - a.test.yaml: scale\n\
         \x20 ---\n\
         \x20 message: |\n\
         \x20   a.test.yaml:7: log: - is expected, + happened\n\
         \x20     - a\n\
         \x20     + <b> & \u{1b}\n\
         \x20   the plugin also printed:\n\
         \x20     thread panicked\n\
         \x20 ...\n\
         ok 3 - a.test.yaml: delete # SKIP the plugin did not start\n"
    );
}

#[test]
fn junit_escapes_what_xml_cannot_contain() {
    let xml = print(&reports(), Format::Junit);

    assert!(xml.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"4.500\""), "{xml}");
    assert!(xml.contains("+ &lt;b&gt; &amp; \u{fffd}"), "{xml}");
    assert!(xml.contains("<skipped message=\"the plugin did not start\"/>"), "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), 3);
}
