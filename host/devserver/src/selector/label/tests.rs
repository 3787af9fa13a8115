//! Tests of valid and invalid label selectors.

use proptest::prelude::*;

use super::*;

const LABELS: &[(&str, &str)] = &[("app", "web"), ("tier", "front"), ("build", "7"), ("empty", "")];

fn matches(text: &str) -> bool {
    let selector = LabelSelector::parse(text).unwrap();
    selector.matches(|key| LABELS.iter().find(|(have, _)| *have == key).map(|(_, value)| *value))
}

#[test]
fn every_label_operator_is_supported() {
    for yes in [
        "",
        "app",
        "!legacy",
        "app=web",
        "app==web",
        "app = web",
        "app!=db",
        "missing!=db",
        "app in (web,db)",
        "app in ( db , web )",
        "app notin (db)",
        "missing notin (db)",
        "build>6",
        "build<8",
        "empty=",
        "empty in ()",
        "app=web,tier=front,!legacy",
    ] {
        assert!(matches(yes), "{yes}");
    }
    for no in ["!app", "legacy", "app=db", "app!=web", "app in (db)", "app notin (web)", "build>7", "tier>1"]
    {
        assert!(!matches(no), "{no}");
    }
}

#[test]
fn invalid_selectors_are_refused_with_the_expected_token() {
    for bad in
        ["app=web,", ",", "app in web", "app in (web", "=web", "app web", "a b c", "build>x", "-a", "(", "!"]
    {
        let error = LabelSelector::parse(bad).unwrap_err().to_string();
        assert!(!error.is_empty(), "{bad}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-z=!,()<> ./-]{0,24}") {
        let _ = LabelSelector::parse(&text);
    }

    #[test]
    fn in_is_the_opposite_of_notin(
        key in "[a-z]{1,3}", values in prop::collection::vec("[a-z]{1,2}", 1..4), have in prop::option::of("[a-z]{1,2}"),
    ) {
        let set = values.join(",");
        let value_of = |_: &str| have.as_deref();
        let inside = LabelSelector::parse(&format!("{key} in ({set})")).unwrap().matches(value_of);
        let outside = LabelSelector::parse(&format!("{key} notin ({set})")).unwrap().matches(value_of);
        prop_assert_ne!(inside, outside);
        prop_assert_eq!(inside, have.is_some_and(|have| values.contains(&have)));
    }
}
