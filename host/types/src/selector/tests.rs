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
