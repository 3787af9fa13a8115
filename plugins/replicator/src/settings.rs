//! `[plugin.config]`.

use serde::Deserialize;

use informer_sdk::patterns::Patterns;

/// The table `[plugin.config]`. Unknown keys are errors.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Settings {
    /// If true, what would be written is only logged.
    pub(crate) dry_run: bool,
    /// If true, `replicate-from` needs no permission of the source.
    pub(crate) allow_all: bool,
    /// Namespaces that receive no copies, and whose copies stay as they are.
    exclude_namespaces: Excluded,
}

/// Names of namespaces, and regular expressions that match whole names.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Vec<String>")]
struct Excluded(Patterns);

// === impl Settings ===

impl Settings {
    pub(crate) fn excludes(&self, namespace: &str) -> bool {
        self.exclude_namespaces.0.matches(namespace)
    }
}

// === impl Excluded ===

impl TryFrom<Vec<String>> for Excluded {
    type Error = String;

    fn try_from(entries: Vec<String>) -> Result<Self, String> {
        let patterns = Patterns::of(entries.iter().map(String::as_str));
        match patterns.problems().first() {
            Some(problem) => Err(format!("exclude-namespaces: {problem}")),
            None => Ok(Self(patterns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_with_a_mistake_is_refused_with_the_reason() {
        let refused = |text: &str| serde_json::from_str::<Settings>(text).unwrap_err().to_string();

        assert!(refused(r#"{"dryrun": true}"#).contains("unknown field `dryrun`"));
        assert!(refused(r#"{"exclude-namespaces": ["a("]}"#).contains("`a(` is neither"));
        let many = serde_json::json!({"exclude-namespaces": vec!["team-.*"; 101]}).to_string();
        let why = "exclude-namespaces: it has more than 100 regular expressions: join some of them with `|`";
        assert!(refused(&many).starts_with(why), "{}", refused(&many));
        let settings: Settings = serde_json::from_str(r#"{"exclude-namespaces": ["kube-.*"]}"#).unwrap();
        assert!(settings.excludes("kube-system") && !settings.excludes("shop"));
    }
}
