//! `[plugin.config]`.

use serde::Deserialize;

use informer_sdk::patterns::Patterns;

/// The table `[plugin.config]`. Unknown keys are errors.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Settings {
    /// If true, the plugin only logs what it would write.
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
        if let Some(entry) = entries.iter().find(|entry| is_misleading(entry)) {
            return Err(format!(
                "exclude-namespaces: `{entry}` does not exclude the namespaces that it seems to: write an entry for each namespace or expression, and expressions that match the whole name, such as `kube-.*`"
            ));
        }
        let patterns = Patterns::of(entries.iter().map(String::as_str));
        match patterns.problems().first() {
            Some(problem) => Err(format!("exclude-namespaces: {problem}")),
            None => Ok(Self(patterns)),
        }
    }
}

/// Returns true for an entry in a form of the originals that has another meaning here: a list with commas, a part of names
/// (kubernetes-replicator searches its expressions in the names), or a glob (Reflector). No name of a namespace contains a comma, or
/// begins or ends with a hyphen. A comma in `{1,2}` or `[a,b]` separates no entries.
fn is_misleading(entry: &str) -> bool {
    let part = entry.trim().trim_start_matches('^').trim_end_matches('$');
    let is_list = part.contains(',') && !part.contains(['{', '[']);
    let is_plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_list || part.ends_with("-*") || is_plain && (part.starts_with('-') || part.ends_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exclusion_that_means_something_else_to_an_original_is_refused() {
        let read = |entry: &str| {
            serde_json::from_value::<Settings>(serde_json::json!({"exclude-namespaces": [entry]}))
        };
        for entry in ["kube-", "^kube-", " -temp", "kube-*", "kube-system,kube-public"] {
            let refused = read(entry).unwrap_err().to_string();
            assert!(refused.contains(" does not exclude the namespaces that it seems to: "), "{refused}");
        }
        for entry in ["kube-system", "^kube-system$", "kube-.*", "team-[0-9]{1,2}", ".*-temp", ""] {
            assert!(read(entry).is_ok(), "{entry}");
        }
        assert!(read("team-[a,b]").unwrap().excludes("team-a"));
    }

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
