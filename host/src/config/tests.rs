//! Tests of the tables: each key is read, and the annotated file and the JSON Schema are true.

mod annotated_file;
mod json_schema;

use std::{fs, path::Path};

use tempfile::TempDir;

use super::{
    Components, Config, ConfigError, Environment, Place, SMALLEST, admin, document, files,
    key::{Entry, Kind},
    parse,
};

/// Reads a text as if it were `/etc/informer/informer.toml` of a user whose home is `/home/me`.
fn read(text: &str) -> Result<Config, ConfigError> {
    let environment = Environment {
        home: Some("/home/me".into()),
        cache_dir: Some("/home/me/.cache/informer".into()),
        state_dir: Some("/home/me/.local/state/informer".into()),
    };
    let place = Place {
        file: Path::new("informer.toml"),
        base: Path::new("/etc/informer"),
        environment: &environment,
    };
    parse(text, &place, Components::Unseen)
}

/// Every key of every table, with the header of its table.
fn keys() -> Vec<(String, Entry)> {
    fn collect(entries: Vec<Entry>, header: &str, path: &str, into: &mut Vec<(String, Entry)>) {
        for mut entry in entries {
            let path = if path.is_empty() { entry.name.to_owned() } else { format!("{path}.{}", entry.name) };
            match &mut entry.kind {
                Kind::Value(_) => {}
                Kind::Table(inner, _) => collect(std::mem::take(inner), &format!("[{path}]"), &path, into),
                Kind::Tables(inner, _) => collect(std::mem::take(inner), &format!("[[{path}]]"), &path, into),
            }
            into.push((header.to_owned(), entry));
        }
    }
    let mut all = Vec::new();
    collect(document::entries(), "", "", &mut all);
    all
}

/// A file with these lines in the table of this header.
fn with_lines(header: &str, lines: &str) -> String {
    // A key that the smallest file has is replaced.
    let key = lines.split(' ').next().unwrap_or_default();
    let other: Vec<&str> = SMALLEST
        .lines()
        .filter(|line| header != "[[plugin]]" || line.split(' ').next() != Some(key))
        .collect();
    let smallest = |header: &str| other.join("\n").replace(header, &format!("{header}\n{lines}\n"));
    let signers = "[[signer]]\nname = \"acme\"\npublic-key = \"a\"\n[[signer]]\nname = \"release\"\npublic-key = \"b\"\n";
    let missing = |key: &str, value: &str| {
        if lines.starts_with(key) { String::new() } else { format!("{key} = {value}") }
    };
    match header {
        "" => format!("{lines}\n{SMALLEST}"),
        "[[registry]]" => format!("{SMALLEST}\n{header}\n{}\n{lines}\n", missing("host", "\"a.example\"")),
        "[[signer]]" => format!("{SMALLEST}\n{header}\n{}\n{lines}\n", missing("name", "\"acme\"")),
        "[[verify]]" => {
            format!("{SMALLEST}\n{signers}{header}\n{}\n{lines}\n", missing("repository", "\"*\""))
        }
        "[[plugin.timer]]" => {
            let every = if lines.starts_with("cron") { String::new() } else { missing("every", "\"1m\"") };
            format!("{SMALLEST}\n{header}\n{}\n{every}\n{lines}\n", missing("name", "\"nightly\""))
        }
        // Its resource is a pattern.
        "[[watch]]" if lines.starts_with("exclude ") => format!("{SMALLEST}\n{header}\n{lines}\n"),
        "[[watch]]" | "[[plugin]]" | "[[plugin.on]]" => smallest(header),
        other => format!("{SMALLEST}\n{other}\n{lines}\n"),
    }
}

/// No key takes a date, so each key that is read is refused.
#[test]
fn every_key_is_read() {
    for (header, Entry { name, .. }) in keys() {
        let line = format!("{name} = 1979-05-27");
        let text = match header.as_str() {
            "" => format!("{line}\n"),
            "[[watch]]" | "[[plugin]]" => format!("{header}\n{line}\n"),
            header => format!("{SMALLEST}\n{header}\n{line}\n"),
        };
        let error = read(&text).unwrap_err();

        let refused = |problem: &&super::Problem| {
            problem.key.ends_with(name) && problem.message.ends_with(", found the date 1979-05-27")
        };
        assert_eq!(error.problems.iter().filter(refused).count(), 1, "{header} {name}: {error}");
    }
}

#[test]
fn every_line_of_the_smallest_file_is_needed() {
    let config = read(SMALLEST).unwrap();

    assert_eq!((config.watches.len(), config.plugins.len()), (1, 1));
    for line in SMALLEST.lines().filter(|line| line.contains(['[', '='])) {
        let smaller = SMALLEST.replace(line, "");
        assert!(read(&smaller).is_err(), "{smaller}");
    }
}

#[test]
fn every_key_is_documented() {
    for (header, entry) in keys() {
        let doc = match &entry.kind {
            Kind::Value(described) => described.doc,
            Kind::Table(_, doc) | Kind::Tables(_, doc) => doc,
        };
        assert!(doc.ends_with('.') && doc.len() > 15, "{header} {}: {doc}", entry.name);
    }
}

/// A request for the namespaces of a namespace finds nothing, so the watch would wait for ever.
#[test]
fn a_namespace_is_in_no_namespace() {
    let text = |watch: &str, on: &str| {
        let plugin = "[[plugin]]\nname = \"p\"\nsource = \"p\"\n[[plugin.on]]\nwatch = \"v1/namespaces\"\n";
        format!("[[watch]]\ngvr = \"v1/namespaces\"\n{watch}\n{plugin}{on}\n")
    };
    let key = "namespaces = [\"shop\"]";

    assert!(read(&text("", "fields = \"metadata.name=shop\"")).is_ok());
    for (watch, on, problem) in [
        (key, "", "watch[0].namespaces: a namespace is in no namespace, so nothing of `v1/namespaces` would"),
        ("", key, "plugin.p.on[0].namespaces: `namespaces` never selects a namespace; remove it, or write"),
    ] {
        let error = read(&text(watch, on)).unwrap_err();

        assert_eq!(error.problems.len(), 1, "{error}");
        assert!(error.to_string().contains(problem), "{error}");
    }
}

/// The watch that the host adds has precedence over the pattern, so it must keep what a subscriber to the pattern expects.
#[test]
fn namespaces_that_are_watched_for_their_labels_are_kept_as_their_pattern_says() {
    let namespaces = |watches: &str| {
        let plugin = "[[plugin]]\nname = \"p\"\nsource = \"p\"\n[[plugin.on]]\nwatch = \"v1/pods\"\nnamespaces-labels = \"team\"\n";
        let config = read(&format!("[[watch]]\ngvr = \"v1/pods\"\n{watches}{plugin}")).unwrap();
        let watch = config.watches.into_iter().find(|watch| watch.gvr.is_namespaces()).unwrap();
        assert!(watch.labels.is_empty() && watch.exclude.is_empty(), "all namespaces are known");
        (watch.metadata_only, watch.resync.map_or(0, |period| period.as_secs()))
    };
    let pattern = |gvr: &str, lines: &str| format!("[[watch]]\ngvr = \"{gvr}\"\n{lines}\n");
    let whole = pattern(
        "*/*/*",
        "metadata-only = false\nresync = \"60s\"\nlabels = \"a\"\nexclude = [\"v1/secrets\"]",
    );

    assert_eq!(namespaces(""), (true, 0));
    assert_eq!(namespaces(&whole), (false, 60));
    let core = pattern("core/*/*", "metadata-only = true\nresync = \"5s\"");
    assert_eq!(namespaces(&format!("{whole}{core}")), (true, 5), "the narrowest pattern");
    let other = "metadata-only = false\nresync = \"60s\"\n";
    for lines in ["exclude = [\"v1/namespaces\"]", "namespaces = [\"shop\"]"] {
        assert_eq!(namespaces(&pattern("*/*/*", &format!("{other}{lines}"))), (true, 0), "{lines}");
    }
}

/// The admin address in a file with this text.
fn admin_in(text: &str) -> Option<String> {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("informer.toml");
    fs::write(&file, text).unwrap();
    let address = admin(&file)?.to_string();
    Some(address.replace(&directory.path().display().to_string(), "DIRECTORY"))
}

/// The parser allows 80 nested brackets with 80 parts of a dotted key in each.
#[test]
fn the_address_in_a_deeply_nested_file_with_mistakes_is_found() {
    let nested = format!("{}1{}", format!("{{ {} = ", ["a"; 80].join(".")).repeat(79), " }".repeat(79));

    let found = admin_in(&format!("[host]\nadmin = \"127.0.0.1:9\"\nadmim = {nested}\n"));

    assert_eq!(found.as_deref(), Some("127.0.0.1:9"));
}

#[test]
fn the_address_in_a_file_with_mistakes_is_found_as_far_as_it_can_be_read() {
    let default = Some("127.0.0.1:8080");
    for (text, expected) in [
        ("[host]\nadmin = \"[::1]:9\"\nadmim = 3\n", Some("[::1]:9")),
        ("[host]\nadmin = \"unix:run/admin.sock\"\nadmim = 3\n", Some("unix:DIRECTORY/run/admin.sock")),
        ("[host]\nadmin = \"off\"\n[watch]\n", None),
        ("[host]\nadmin = \"0.0.0.0:8080\"\n", default),
        ("host = 3\n", default),
        ("= [", default),
    ] {
        assert_eq!(admin_in(text).as_deref(), expected, "{text}");
    }
}

/// The host reads the file of `http-ca` only at the start, and reports a later change of the file.
#[test]
fn the_files_that_are_followed_are_the_included_ones_and_that_of_the_authorities() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("informer.toml"), "include = [\"a.toml\"]\n[host]\nhttp-ca = \"./ca.pem\"\n").unwrap();

    assert_eq!(files(&path("informer.toml")), ["informer.toml", "a.toml", "ca.pem"].map(path));
}
