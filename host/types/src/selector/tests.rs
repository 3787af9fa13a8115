use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

const LABELS: [(&str, &str); 3] = [("app", "web"), ("example.com/tier", "front"), ("empty", "")];

fn selects(selector: &str) -> bool {
    let selector: LabelSelector = selector.parse().unwrap();
    selector.matches(|key| LABELS.iter().find(|(k, _)| *k == key).map(|(_, value)| *value))
}

/// Scenario 104.
#[test]
fn each_operator_selects_as_kubernetes_documents_it() {
    for (selector, expected) in [
        ("", true),
        ("  ", true),
        ("app=web", true),
        ("app==web", true),
        ("app = web , empty", true),
        ("app=db", false),
        ("app!=web", false),
        ("app!=db", true),
        ("none!=x", true),
        ("example.com/tier in (back, front)", true),
        ("example.com/tier notin (back,front)", false),
        ("none notin (x)", true),
        ("app", true),
        ("!app", false),
        ("! none", true),
        ("empty=", true),
        ("empty in (,x)", true),
        ("app=web,example.com/tier in (front,back),!none", true),
        ("app=web,none", false),
    ] {
        assert_eq!(selects(selector), expected, "{selector}");
    }
}

#[test]
fn a_text_that_is_not_a_selector_is_refused_with_the_problem() {
    for (text, problem) in [
        ("app in web", "not a label key"),
        ("app in (web", "not closed"),
        ("app)", "out of place"),
        ("app in (a,(b))", "out of place"),
        ("app is (a)", "neither `in` nor `notin`"),
        ("(a)", "no `in` or `notin`"),
        ("a,,b", "nothing between two commas"),
        ("=web", "not a label key"),
        ("app=wéb", "not a label value"),
        ("app=-web", "not a label value"),
        ("UPPER/x", "not a label key"),
        ("a in (b) c", "must end with `)`"),
    ] {
        let error = text.parse::<LabelSelector>().unwrap_err().to_string();

        assert!(error.contains(problem) && error.contains("write for example"), "{text}: {error}");
    }
}

#[test]
fn the_written_form_reads_back_as_the_same_selector() {
    for text in ["app in (web)", "a notin (b,c),!d,e"] {
        let selector: LabelSelector = text.parse().unwrap();

        assert_eq!(selector.to_string(), text);
        assert_eq!(selector.to_string().parse::<LabelSelector>().unwrap(), selector);
    }
}

/// A search for each comma from the start of the text would take hours.
#[test]
fn a_long_list_of_values_is_read_in_one_pass() {
    for (text, written) in [
        (format!("a in ({})", ",".repeat(2 << 20)), "a in ()"),
        (format!("a in (b{}c)", ",b".repeat(1 << 20)), "a in (b,bc)"),
    ] {
        let selector: LabelSelector = text.parse().unwrap();

        assert_eq!(selector.to_string(), written);
    }
    let requirements = vec!["a"; 1 << 20].join(",");
    assert!(requirements.parse::<LabelSelector>().unwrap().matches(|key| (key == "a").then_some("")));
}

fn common(selectors: &[&str]) -> String {
    let mut selectors = selectors.iter().map(|text| text.parse::<LabelSelector>().unwrap());
    let first = selectors.next().unwrap();
    selectors.fold(first, |common, selector| common.common(&selector)).to_string()
}

#[test]
fn the_common_selector_is_as_narrow_as_labels_can_express() {
    for (selectors, expected) in [
        (&["app=web", "app=web"][..], "app in (web)"),
        (&["app=web,tier=front", "app=web,tier=back"], "app in (web),tier in (back,front)"),
        (&["app=web,tier=front", "app=web"], "app in (web)"),
        (&["app=web", "tier=front"], ""),
        (&["app=web", ""], ""),
        (&["app=web", "app"], "app"),
        (&["app", "!app"], ""),
        (&["!app", "app notin (a,b)"], "app notin (a,b)"),
        (&["app notin (a,b)", "app=b"], "app notin (a)"),
        (&["app notin (a,b)", "app notin (b,c)"], "app notin (b)"),
        (&["app!=a", "app"], ""),
        (&["app=a", "app=b", "app=c,x"], "app in (a,b,c)"),
        (&["app=a,x", "app in (a,b),x", "x,y"], "x"),
        (&["app notin (a,b)", "!app", "app=c"], "app notin (a,b)"),
    ] {
        assert_eq!(common(selectors), expected, "{selectors:?}");
    }
}

#[test]
fn joining_two_selectors_repeats_no_requirement() {
    let (one, two): (LabelSelector, LabelSelector) = ("a,b=c".parse().unwrap(), "b=c,!d".parse().unwrap());
    assert_eq!(one.and(&two).to_string(), "a,b in (c),!d");
}

fn selectors() -> impl Strategy<Value = LabelSelector> {
    let values = vec(select(vec!["x", "y", "z"]), 1..3).prop_map(|values| values.join(","));
    let term = (select(vec!["a", "b"]), 0..4, values).prop_map(|(key, kind, values)| match kind {
        0 => key.to_owned(),
        1 => format!("!{key}"),
        2 => format!("{key} in ({values})"),
        _ => format!("{key} notin ({values})"),
    });
    vec(term, 0..4).prop_map(|terms| terms.join(",").parse().unwrap())
}

proptest! {
    /// A narrowed watch is sound: it leaves out no object that a subscription selects.
    #[test]
    fn the_common_selector_selects_whatever_one_of_them_selects(
        selectors in vec(selectors(), 1..4),
        a in select(vec![None, Some("x"), Some("y"), Some("w")]),
        b in select(vec![None, Some("x"), Some("z")]),
    ) {
        let labels = |key: &str| if key == "a" { a } else { b };
        let first = selectors[0].clone();
        let common = selectors.iter().fold(first, |common, selector| common.common(selector));
        if selectors.iter().any(|selector| selector.matches(labels)) {
            prop_assert!(common.matches(labels), "{common}");
        }
        if selectors.len() == 1 {
            prop_assert_eq!(common.matches(labels), selectors[0].matches(labels));
        }
    }
}
