//! Label selectors of `[plugin.config]`, also in the older forms that stakater/Reloader still accepts.

use std::collections::BTreeMap;

use informer_sdk::labels::{InvalidSelector, LabelSelector};
use serde::Deserialize;

/// Conditions on labels. All of them must hold. No condition selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Selector(LabelSelector);

// === impl Selector ===

impl Selector {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.matches(|key| labels.get(key).map(String::as_str))
    }
}

impl TryFrom<String> for Selector {
    type Error = InvalidSelector;

    fn try_from(text: String) -> Result<Self, InvalidSelector> {
        let (mut conditions, mut in_parentheses) = (Vec::new(), false);
        for part in text.split(',') {
            let is_whole = !in_parentheses && !part.contains('(');
            in_parentheses = (in_parentheses || part.contains('(')) && !part.contains(')');
            if !is_whole {
                conditions.push(part.to_owned());
            } else if !part.trim().is_empty() {
                conditions.push(newer(part.trim()));
            }
        }
        conditions.join(",").parse().map(Self)
    }
}

/// The condition in the form of Kubernetes. The original rewrites `key=*` and `key:*` to `key`, and `key:value` to `key=value`.
fn newer(condition: &str) -> String {
    let is_negative = condition.starts_with('!') || condition.contains("!=");
    let parts = ["==", "=", ":"].into_iter().find_map(|sign| condition.split_once(sign));
    match parts.filter(|_| !is_negative) {
        Some((key, value)) if value.trim() == "*" && !key.trim().is_empty() => key.to_owned(),
        Some((key, value)) => format!("{key}={value}"),
        None => condition.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_of_the_configuration_selects_by_labels() {
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        for (text, expected) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("app=web", true),
            ("app == web", true),
            ("app=db", false),
            ("app!=db", true),
            ("app in (web, db)", true),
            ("app notin (db, web)", false),
            ("app in (web),!other,app!=db", true),
            ("app=web,other", false),
            ("app=web,", true),
            ("other=", false),
            ("app in (a.b, web)", true),
        ] {
            assert_eq!(Selector::try_from(text.to_owned()).unwrap().matches(&labels), expected, "{text}");
        }
    }

    #[test]
    fn the_older_forms_of_the_original_mean_the_same_here() {
        for (older, form) in [
            ("app=*", "app"),
            ("app = *", "app"),
            ("app == *", "app"),
            ("app:*", "app"),
            ("app:web", "app=web"),
            ("example.com/app=*,tier:b", "example.com/app,tier=b"),
            ("app in (a, b), tier:*", "app in (a, b),tier"),
        ] {
            let parsed = |text: &str| Selector::try_from(text.to_owned()).unwrap();
            assert_eq!(parsed(older), parsed(form), "{older}");
        }
    }

    #[test]
    fn a_text_without_a_meaning_is_refused_with_the_rule() {
        for text in [
            "a b",
            "=x",
            "=*",
            "app near (web)",
            "a in web",
            "!app=*",
            ":web",
            "app=we*",
            "app!=*",
            "app=a=b",
            "app in (web, *)",
            "app in (web, x=*, db)",
            "app:a:b",
        ] {
            let refused = Selector::try_from(text.to_owned()).unwrap_err().to_string();
            assert!(refused.contains("is not a condition on a label"), "{refused}");
            assert!(refused.contains("; a value has at most 63 letters, digits, "), "{refused}");
        }
    }
}
