//! Label selectors of Kubernetes, such as `app=web,tier in (a, b),!legacy`, for selectors in annotations and in the configuration.
//!
//! To list objects by their labels, pass the text of a selector to [`lister::Selector::labels`](crate::lister::Selector::labels).

use std::str::FromStr;

/// The longest value of a label, in bytes.
const LONGEST_VALUE: usize = 63;

/// The most characters of a condition that an error shows.
const SHOWN: usize = 100;

/// Conditions on labels. All of them must hold. Without a condition, all labels match.
///
/// ```
/// use informer_sdk::labels::LabelSelector;
///
/// let labels = [("app", "web"), ("tier", "b")];
/// let label = |key: &str| labels.iter().find(|(own, _)| *own == key).map(|(_, value)| *value);
/// let matches = |text: &str| text.parse::<LabelSelector>().unwrap().matches(label);
/// assert!(matches("app=web,tier in (a, b),!legacy") && !matches("tier!=b"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Condition>);

/// The text is not a label selector. The error shows the condition that is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a condition on a label: write `key`, `!key`, `key=value`, `key!=value`, `key in (a, b)` or `key notin (a, b)`; a value has at most {LONGEST_VALUE} letters, digits, `-`, `_` and `.`, and begins and ends with a letter or a digit"
)]
pub struct InvalidSelector(String);

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
    /// An object without the label fits, too.
    NotIn(Vec<String>),
}

// === impl LabelSelector ===

impl LabelSelector {
    /// Returns true if there is no condition, so that all labels match.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if all conditions hold. `label` returns the value of the label with this key, or `None` without such a label.
    #[must_use]
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|condition| condition.test.holds(label(&condition.key)))
    }
}

impl FromStr for LabelSelector {
    type Err = InvalidSelector;

    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let parse = |part: &str| {
            Condition::parse(part).ok_or_else(|| InvalidSelector(part.chars().take(SHOWN).collect()))
        };
        split(text).into_iter().map(str::trim).map(parse).collect::<Result<_, _>>().map(Self)
    }
}

// === impl Condition ===

impl Condition {
    fn parse(text: &str) -> Option<Self> {
        if let Some(key) = text.strip_prefix('!') {
            return Self::new(key, Test::Absent);
        }
        if let Some((head, values)) = text.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
            let values: Vec<String> = values.split(',').map(value).collect::<Option<_>>()?;
            let (key, operator) = head.trim().split_once(char::is_whitespace)?;
            return match operator.trim() {
                "in" => Self::new(key, Test::In(values)),
                "notin" => Self::new(key, Test::NotIn(values)),
                _ => None,
            };
        }
        if let Some((key, other)) = text.split_once("!=") {
            return Self::new(key, Test::NotIn(vec![value(other)?]));
        }
        match text.split_once("==").or_else(|| text.split_once('=')) {
            Some((key, only)) => Self::new(key, Test::In(vec![value(only)?])),
            None => Self::new(text, Test::Exists),
        }
    }

    fn new(key: &str, test: Test) -> Option<Self> {
        let key = key.trim();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        (!key.is_empty() && key.bytes().all(fits)).then(|| Self { key: key.to_owned(), test })
    }
}

// === impl Test ===

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_one_of = |values: &[String]| value.is_some_and(|value| values.iter().any(|own| own == value));
        match self {
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::In(values) => is_one_of(values),
            Self::NotIn(values) => !is_one_of(values),
        }
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

/// Splits at the commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut inside = false;
    let at_comma = |character: char| {
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
        let label = |key: &str| labels.iter().find(|(own, _)| *own == key).map(|(_, value)| *value);
        selector.parse::<LabelSelector>().unwrap().matches(label)
    }

    #[test]
    fn each_form_of_a_condition_matches_as_in_kubernetes() {
        let labels = [("app", "web"), ("tier", "b"), ("example.com/team", "x.y"), ("empty", "")];
        for (selector, expected) in [
            ("", true),
            (" ", true),
            ("app", true),
            ("!app", false),
            ("other", false),
            ("!other", true),
            ("app=web", true),
            ("app == web", true),
            ("app=db", false),
            ("app!=db", true),
            ("app!=web", false),
            ("other!=web", true),
            ("other=", false),
            ("empty=", true),
            ("tier in (a, b)", true),
            ("tier  in(b)", true),
            ("tier in (a)", false),
            ("other in (a)", false),
            ("empty in ()", true),
            ("tier notin (a),app=web", true),
            ("tier notin (a, b)", false),
            ("other notin (a)", true),
            ("!legacy, example.com/team = x.y", true),
            ("app in (web),!other,app!=db", true),
            ("app=web,legacy", false),
        ] {
            assert_eq!(matches(selector, &labels), expected, "{selector}");
        }
        assert!(LabelSelector::default().is_empty() && !"app".parse::<LabelSelector>().unwrap().is_empty());
    }

    #[test]
    fn a_text_that_is_no_selector_is_refused_with_its_condition() {
        for (text, condition) in [
            (",", ""),
            ("a,,b", ""),
            ("app=web,", ""),
            ("=a", "=a"),
            ("!", "!"),
            ("!app=*", "!app=*"),
            ("a b", "a b"),
            ("a in b", "a in b"),
            ("x, a in (b", "a in (b"),
            ("x,a within (b)", "a within (b)"),
            ("in (a)", "in (a)"),
        ] {
            assert_eq!(text.parse::<LabelSelector>(), Err(InvalidSelector(condition.to_owned())), "{text}");
        }
        let long = format!("{}=$", "a".repeat(1000)).parse::<LabelSelector>().unwrap_err().to_string();
        assert!(long.len() < 400, "{long}");
    }

    #[test]
    fn a_value_that_no_label_can_have_is_refused() {
        let longest = "a".repeat(LONGEST_VALUE);
        assert!(format!("app={longest}").parse::<LabelSelector>().is_ok());
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
            long.as_str(),
        ] {
            let refused = text.parse::<LabelSelector>().unwrap_err().to_string();
            assert!(refused.contains(" is not a condition on a label: write `key`, "), "{refused}");
            assert!(refused.contains("; a value has at most 63 letters, digits, "), "{refused}");
        }
    }
}
