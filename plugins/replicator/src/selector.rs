//! Label selectors of Kubernetes: `app=web,tier in (a, b),!legacy`.

use std::str::FromStr;

/// Conditions on labels that must all hold. Without a condition every object fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selector(Vec<Requirement>);

/// The text is not a label selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a label selector: write conditions like `app=web`, `tier in (a, b)`, `legacy` or `!legacy`"
)]
pub(crate) struct InvalidSelector(String);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    Exists,
    Absent,
    In(Vec<String>),
    /// An object without the label fits, too.
    NotIn(Vec<String>),
}

// === impl Selector ===

impl Selector {
    pub(crate) fn matches(&self, labels: &[(String, String)]) -> bool {
        self.0.iter().all(|requirement| requirement.matches(labels))
    }
}

impl FromStr for Selector {
    type Err = InvalidSelector;

    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        let conditions = split(text).into_iter().map(str::trim);
        let requirements = if text.trim().is_empty() {
            Some(Vec::new())
        } else {
            conditions.map(Requirement::parse).collect()
        };
        requirements.map(Self).ok_or_else(|| InvalidSelector(text.to_owned()))
    }
}

// === impl Requirement ===

impl Requirement {
    fn parse(text: &str) -> Option<Self> {
        if let Some(key) = text.strip_prefix('!') {
            return Self::new(key, Operator::Absent);
        }
        if let Some((before, values)) = text.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
            let values: Option<Vec<String>> = values.split(',').map(value).collect();
            let (key, operator) = before.trim().split_once(char::is_whitespace)?;
            return match operator.trim() {
                "in" => Self::new(key, Operator::In(values?)),
                "notin" => Self::new(key, Operator::NotIn(values?)),
                _ => None,
            };
        }
        if let Some((key, other)) = text.split_once("!=") {
            return Self::new(key, Operator::NotIn(vec![value(other)?]));
        }
        match text.split_once("==").or_else(|| text.split_once('=')) {
            Some((key, only)) => Self::new(key, Operator::In(vec![value(only)?])),
            None => Self::new(text, Operator::Exists),
        }
    }

    fn new(key: &str, operator: Operator) -> Option<Self> {
        let key = key.trim();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        (!key.is_empty() && key.bytes().all(fits)).then(|| Self { key: key.to_owned(), operator })
    }

    fn matches(&self, labels: &[(String, String)]) -> bool {
        let value = labels.iter().find(|(key, _)| *key == self.key).map(|(_, value)| value);
        match (&self.operator, value) {
            (Operator::Exists, value) => value.is_some(),
            (Operator::Absent, value) => value.is_none(),
            (Operator::In(values), value) => value.is_some_and(|value| values.contains(value)),
            (Operator::NotIn(values), value) => value.is_none_or(|value| !values.contains(value)),
        }
    }
}

/// The text of a value, which may be empty. Returns `None` if no label can have it.
fn value(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.bytes().all(fits).then(|| text.to_owned())
}

/// Splits at the commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut inside = false;
    let at_comma = move |character: char| {
        match character {
            '(' => inside = true,
            ')' => inside = false,
            _ => {}
        }
        character == ',' && !inside
    };
    text.split(at_comma).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels: Vec<(String, String)> =
            labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        selector.parse::<Selector>().unwrap().matches(&labels)
    }

    #[test]
    fn every_form_of_a_condition_matches_as_in_kubernetes() {
        let labels = [("app", "web"), ("tier", "b"), ("example.com/team", "x"), ("empty", "")];
        for (selector, expected) in [
            ("", true),
            ("app=web", true),
            ("app == web", true),
            ("app=api", false),
            ("app!=api", true),
            ("app!=web", false),
            ("other!=web", true),
            ("tier in (a, b)", true),
            ("tier in (a)", false),
            ("tier notin (a),app=web", true),
            ("tier notin (a, b)", false),
            ("other notin (a)", true),
            ("app", true),
            ("!app", false),
            ("!legacy, example.com/team = x", true),
            ("app=web,legacy", false),
            ("empty=", true),
        ] {
            assert_eq!(matches(selector, &labels), expected, "{selector}");
        }
    }

    #[test]
    fn a_text_that_is_no_selector_is_refused() {
        for text in [",", "=a", "a=b=c", "a in b", "a in (b", "a within (b)", "a b", "!", "a,,b", "a=$"] {
            assert!(text.parse::<Selector>().is_err(), "{text}");
        }
    }
}
