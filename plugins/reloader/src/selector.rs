//! Kubernetes label selectors, in the form that `kubectl -l` takes, and in the older forms that stakater/Reloader still accepts.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The longest value of a label, in bytes.
const LONGEST_VALUE: usize = 63;

/// Conditions on labels. All of them must hold. No condition selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Selector(Vec<Condition>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
}

// === impl Selector ===

impl Selector {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|condition| {
            let value = labels.get(&condition.key);
            match &condition.test {
                Test::Exists => value.is_some(),
                Test::Absent => value.is_none(),
                Test::In(values) => value.is_some_and(|value| values.contains(value)),
                Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            }
        })
    }
}

impl TryFrom<String> for Selector {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let conditions = parts(&text).into_iter().map(|part| {
            Condition::parse(part).ok_or_else(|| {
                format!(
                    "`{part}` in `{text}` is not a condition on a label: write `key`, `!key`, `key=value`, \
                     `key!=value`, `key in (a, b)` or `key notin (a, b)`; a value has at most {LONGEST_VALUE} \
                     letters, digits, `-`, `_` and `.`, and begins and ends with a letter or a digit"
                )
            })
        });
        conditions.collect::<Result<_, _>>().map(Self)
    }
}

// === impl Condition ===

impl Condition {
    fn parse(text: &str) -> Option<Self> {
        if let Some(key) = text.strip_prefix('!') {
            return Self::new(key, Test::Absent);
        }
        if let Some((key, other)) = text.split_once("!=") {
            return Self::new(key, Test::NotIn(vec![value(other)?]));
        }
        // The original rewrites `key=*` and `key:*` to `key`, and `key:value` to `key=value`.
        if let Some((key, only)) = ["==", "=", ":"].into_iter().find_map(|sign| text.split_once(sign)) {
            return match only.trim() {
                "*" => Self::new(key, Test::Exists),
                only => Self::new(key, Test::In(vec![value(only)?])),
            };
        }
        let Some((head, values)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
            return Self::new(text, Test::Exists);
        };
        let values = values.split(',').map(value).collect::<Option<Vec<_>>>()?;
        let (key, operator) = head.trim().rsplit_once(' ')?;
        match operator {
            "in" => Self::new(key, Test::In(values)),
            "notin" => Self::new(key, Test::NotIn(values)),
            _ => None,
        }
    }

    fn new(key: &str, test: Test) -> Option<Self> {
        let key = key.trim();
        let fits = |character: char| character.is_ascii_alphanumeric() || "-_./".contains(character);
        (!key.is_empty() && key.chars().all(fits)).then(|| Self { key: key.to_owned(), test })
    }
}

/// The text of a value, which may be empty. Returns `None` if no label can have this value.
fn value(text: &str) -> Option<String> {
    let (text, signs) = (text.trim(), ['-', '_', '.']);
    let fits = |character: char| character.is_ascii_alphanumeric() || signs.contains(&character);
    let is_value = text.len() <= LONGEST_VALUE
        && text.chars().all(fits)
        && !text.starts_with(signs)
        && !text.ends_with(signs);
    is_value.then(|| text.to_owned())
}

/// The parts between the commas outside of parentheses.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|character| {
        depth += i32::from(character == '(') - i32::from(character == ')');
        character == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_condition_selects_by_labels() {
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        for (text, expected) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("!other", true),
            ("app=web", true),
            ("app == web", true),
            ("app=db", false),
            ("app!=db", true),
            ("other!=x", true),
            ("app in (web, db)", true),
            ("app in (db)", false),
            ("app notin (db, web)", false),
            ("app in (web),!other,app!=db", true),
            ("app=web,other", false),
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
            ("app:*", "app"),
            ("app:web", "app=web"),
            ("example.com/app=*,tier:b", "example.com/app,tier=b"),
        ] {
            let parsed = |text: &str| Selector::try_from(text.to_owned()).unwrap();
            assert_eq!(parsed(older), parsed(form), "{older}");
        }
    }

    #[test]
    fn a_text_without_a_meaning_is_refused() {
        for text in ["a b", "=x", "app near (web)", "a in web", "!app=*", ":web"] {
            let refused = Selector::try_from(text.to_owned()).unwrap_err();
            assert!(refused.contains("is not a condition on a label"), "{refused}");
        }
    }

    #[test]
    fn a_value_that_no_label_can_have_is_refused_with_the_rule() {
        let longest = "a".repeat(LONGEST_VALUE);
        assert!(Selector::try_from(format!("app={longest}")).is_ok());
        let long = format!("app={longest}a");
        for text in [
            "app=$",
            "app=we*",
            "app!=*",
            "app=a=b",
            "app=-web",
            "app=web.",
            "app in (web, *)",
            "app notin (a b)",
            "app:a:b",
            long.as_str(),
        ] {
            let refused = Selector::try_from(text.to_owned()).unwrap_err();
            assert!(refused.contains("is not a condition on a label"), "{refused}");
            assert!(refused.contains("; a value has at most 63 letters, digits, "), "{refused}");
        }
    }
}
