//! The keys of a file as they are written, to be shown. Values that may be secret are replaced.

use std::{path::Path, sync::Arc};

use toml::de::{DeTable, DeValue};

/// Stands for what is not shown.
const HIDDEN: &str = "***";

/// Words in the name of a key whose value is not shown.
const SECRET: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "apikey",
    "api-key",
    "api_key",
    "private",
];

/// Parts of a value that is not shown.
const SECRET_VALUES: [&str; 3] = ["PRIVATE KEY-----", "Bearer ", "Basic "];

/// The deepest nesting that is shown.
const MAX_DEPTH: usize = 64;

/// The keys of a file as they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written(Arc<[WrittenKey]>);

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenKey {
    /// Such as `host`, `watch v1/pods` or `plugin hello in plugins.d/hello.toml`; empty for a key of the file itself.
    pub section: String,
    /// The key within its section.
    pub key: String,
    /// The value in TOML notation.
    pub value: String,
}

// === impl Written ===

impl Written {
    /// The keys in the order of their names; the elements of a list in the order of the file.
    pub fn keys(&self) -> &[WrittenKey] {
        &self.0
    }

    /// Adds the keys of another file.
    pub(super) fn extend(&mut self, other: &Self) {
        self.0 = self.0.iter().chain(&*other.0).cloned().collect();
    }

    /// Nested tables become dotted keys, and the tables of a list are named by `name`, `gvr` or `watch`. The sections of an included
    /// file have its name: several files may have a watch of one resource.
    pub(super) fn of(file: &DeTable<'_>, included: Option<&Path>) -> Self {
        let place = included.map(|file| format!(" in {}", file.display())).unwrap_or_default();
        let mut keys = Vec::new();
        for (name, value) in file {
            let name = name.get_ref();
            match value.get_ref() {
                DeValue::Array(items)
                    if items.iter().any(|item| matches!(item.get_ref(), DeValue::Table(_))) =>
                {
                    for (index, item) in items.iter().enumerate() {
                        let section = format!("{name} {}{place}", named(item.get_ref(), index));
                        flatten(&section, "", item.get_ref(), 0, &mut keys);
                    }
                }
                DeValue::Table(_) => flatten(name, "", value.get_ref(), 0, &mut keys),
                // A key of the file itself.
                value => flatten("", name, value, 0, &mut keys),
            }
        }
        Self(keys.into())
    }
}

fn flatten(section: &str, path: &str, value: &DeValue<'_>, depth: usize, into: &mut Vec<WrittenKey>) {
    let mut below = |name: &str, value: &DeValue<'_>| {
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        flatten(section, &path, value, depth + 1, into);
    };
    match value {
        DeValue::Table(entries) if depth < MAX_DEPTH => {
            entries.iter().for_each(|(name, value)| below(name.get_ref(), value.get_ref()));
        }
        DeValue::Array(items)
            if depth < MAX_DEPTH && items.iter().any(|item| matches!(item.get_ref(), DeValue::Table(_))) =>
        {
            for (index, item) in items.iter().enumerate() {
                below(&format!("[{}]", named(item.get_ref(), index)), item.get_ref());
            }
        }
        value => {
            let value = if is_secret(path) { HIDDEN.to_owned() } else { shown(value, depth) };
            into.push(WrittenKey { section: section.to_owned(), key: path.to_owned(), value });
        }
    }
}

/// The name of one table of a list.
fn named(value: &DeValue<'_>, index: usize) -> String {
    let DeValue::Table(entries) = value else { return index.to_string() };
    let name = ["name", "gvr", "watch"].iter().find_map(|key| entries.get(*key));
    match name.map(|name| name.get_ref()) {
        Some(DeValue::String(name)) => name.to_string(),
        _ => index.to_string(),
    }
}

/// Keys of the host itself hold no secrets: `grant.secrets` has names of Secrets. A plugin chooses the keys below `config`.
fn is_secret(path: &str) -> bool {
    let own = path.strip_prefix("config.").map(str::to_ascii_lowercase);
    own.is_some_and(|own| SECRET.iter().any(|word| own.contains(word)))
}

fn shown(value: &DeValue<'_>, depth: usize) -> String {
    match value {
        DeValue::String(text) if SECRET_VALUES.iter().any(|part| text.contains(part)) => HIDDEN.to_owned(),
        DeValue::String(text) => toml::Value::String(without_credentials(text)).to_string(),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Array(_) | DeValue::Table(_) if depth >= MAX_DEPTH => "...".to_owned(),
        DeValue::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| shown(item.get_ref(), depth + 1)).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(_) => "{}".to_owned(),
    }
}

/// The text with `***` for the user and password of each URL.
pub(super) fn without_passwords(text: &str) -> String {
    masked(text, str::to_owned)
}

/// Does the same as [`without_passwords`], also for values of the query of a URL whose name says that they are secret.
fn without_credentials(text: &str) -> String {
    masked(text, without_secret_parameters)
}

/// `shown` returns what is shown of a URL from its host on, and of the text behind it.
fn masked(text: &str, shown: fn(&str) -> String) -> String {
    let mut parts = text.split("://");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        clean.push_str("://");
        let (user, rest) = part.split_at(host_start(part));
        if !user.is_empty() {
            clean.extend([HIDDEN, "@"]);
        }
        clean.push_str(&shown(rest));
    }
    clean
}

/// Returns the index at which the host begins in a text that follows `://`. The host is the part behind the last `@` of the authority.
/// The authority of a URL ends at the first `/`, `?`, `#` or blank. A password that is not encoded may contain these characters as well.
/// If the text before the first of them has a colon without a port, that text belongs to a password. Then the function looks for the `@`
/// in all of the text before the next quotation mark.
fn host_start(text: &str) -> usize {
    let quoted = text.split(['"', '\'', '`']).next().unwrap_or_default();
    let authority = quoted.split(|c: char| "/?#".contains(c) || c.is_whitespace()).next().unwrap_or_default();
    let port = authority.split_once(':').filter(|_| !authority.starts_with('[')).map(|(_, port)| port);
    let is_user = port.is_some_and(|port| !port.bytes().all(|byte| byte.is_ascii_digit()));
    let within = if is_user { quoted } else { authority };
    within.rfind('@').map_or(0, |at| at + 1)
}

fn without_secret_parameters(rest: &str) -> String {
    let Some((path, query)) = rest.split_once('?') else { return rest.to_owned() };
    let shown = |parameter: &str| match parameter.split_once('=') {
        Some((name, _)) if SECRET.iter().any(|word| name.to_ascii_lowercase().contains(word)) => {
            format!("{name}={HIDDEN}")
        }
        _ => parameter.to_owned(),
    };
    format!("{path}?{}", query.split('&').map(shown).collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        let (document, errors) = DeTable::parse_recoverable(text);
        assert!(errors.is_empty(), "{errors:?}");
        let written = Written::of(document.get_ref(), None);
        written.keys().iter().map(|key| format!("{} | {} = {}", key.section, key.key, key.value)).collect()
    }

    #[test]
    fn nested_tables_and_lists_become_keys_of_named_sections() {
        let text = "[host]\nlog = \"info\"\n[[watch]]\ngvr = \"v1/pods\"\n[[plugin]]\nname = \"a\"\n\
                    limits = { memory = \"1MiB\" }\nconfig-files = [\"/a\", \"/b\"]\n[[plugin.on]]\nwatch = \"v1/pods\"\nwhen = 'x == \"y\"'\n\
                    [plugin.grant]\nsecrets = [\"shop/credentials\"]\n[plugin.config]\nn = 0x10\nempty = []\n";

        assert_eq!(
            keys(text),
            [
                "host | log = \"info\"",
                "plugin a | config.empty = []",
                "plugin a | config.n = 0x10",
                "plugin a | config-files = [\"/a\", \"/b\"]",
                "plugin a | grant.secrets = [\"shop/credentials\"]",
                "plugin a | limits.memory = \"1MiB\"",
                "plugin a | name = \"a\"",
                "plugin a | on.[v1/pods].watch = \"v1/pods\"",
                "plugin a | on.[v1/pods].when = 'x == \"y\"'",
                "watch v1/pods | gvr = \"v1/pods\"",
            ]
        );
    }

    #[test]
    fn the_password_of_a_url_is_hidden_also_if_it_is_not_encoded_and_a_digest_is_shown() {
        for (text, shown) in [
            ("`https://me:a@b/c?d#e@host/x`", "`https://***@host/x`"),
            ("`https://me:a b@host` and x@y", "`https://***@host` and x@y"),
            ("https://me@host:80", "https://***@host:80"),
            ("oci://host:5000/a@sha256:0", "oci://host:5000/a@sha256:0"),
            ("oci://host/a:1@sha256:0", "oci://host/a:1@sha256:0"),
            ("http://[::1]:80/a@b and a:b@c", "http://[::1]:80/a@b and a:b@c"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }

    #[test]
    fn values_that_may_be_secret_are_not_shown() {
        let text = "[cluster]\nproxy-url = \"http://jane:hunter2@proxy:3128/a\"\n[[plugin]]\nname = \"a\"\n[plugin.config]\n\
                    password = \"hunter2\"\napi-key = \"hunter2\"\nplain = 1\n\
                    hook = \"https://h/x?a=1&Access_Token=hunter2&b=2\"\nlist = [\"see https://hunter2@h/ or http://j:hunter2@k\"]\n\
                    key = \"\"\"-----BEGIN PRIVATE KEY-----\nhunter2\n\"\"\"\nheader = \"Bearer hunter2\"\n\
                    [plugin.config.secrets]\nname = \"hunter2\"\n";

        let shown = keys(text);
        assert!(!shown.iter().any(|key| key.contains("hunter2") || key.contains("jane")), "{shown:#?}");
        for expected in [
            "cluster | proxy-url = \"http://***@proxy:3128/a\"",
            "plugin a | config.hook = \"https://h/x?a=1&Access_Token=***&b=2\"",
            "plugin a | config.list = [\"see https://***@h/ or http://***@k\"]",
            "plugin a | config.plain = 1",
        ] {
            assert!(shown.iter().any(|key| key == expected), "{expected} in {shown:#?}");
        }
    }
}
