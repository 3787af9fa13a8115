//! Links and file names in documents exist.

use informer_tidy::tree::{self, SourceFile, root};

use crate::{none_of, rust_files};

/// Names that stand for any file.
const PATTERNS: [&str; 4] = ["foo.rs", "foo/tests.rs", "mod.rs", "tests.rs"];

fn documents() -> Vec<SourceFile> {
    tree::read("", &["md"]).unwrap()
}

#[test]
fn links_lead_to_files() {
    let mut problems = Vec::new();
    for document in documents() {
        let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for target in links(&without_code(&document.text)) {
            let path = target.split('#').next().unwrap_or_default();
            if !path.is_empty() && !root().join(folder).join(path).exists() {
                problems.push(format!("{} links to {target}", document.path));
            }
        }
    }
    none_of(&problems, "Mend these links.");
}

/// The text without its blocks of code, in which `](` calls a function.
fn without_code(text: &str) -> String {
    let mut fenced = false;
    let outside = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    outside.collect::<Vec<_>>().join("\n")
}

/// The targets of `[text](target)` and of `src="target"` that are no addresses.
fn links(text: &str) -> Vec<&str> {
    let markdown = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let html = ["src=\"", "srcset=\""]
        .into_iter()
        .flat_map(|key| text.split(key).skip(1).filter_map(|rest| rest.split('"').next()));
    markdown.chain(html).filter(|target| !target.contains("://") && !target.starts_with('<')).collect()
}

/// `dispatch/src/filter.rs` names the file `host/dispatch/src/filter.rs`: the end of a path is enough.
#[test]
fn files_that_the_documents_of_the_host_name_exist() {
    let mut paths: Vec<String> = rust_files("").into_iter().map(|file| file.path).collect();
    let others = tree::read("", &["md", "wit", "toml", "json", "sh", "svg", "dict"]).unwrap();
    paths.extend(others.into_iter().map(|file| file.path));
    let mut problems = Vec::new();
    let ours = ["host/ARCHITECTURE.md", "host/CONVENTIONS.md", "README.md", "CONTRIBUTING.md"];
    for document in documents()
        .iter()
        .filter(|file| ours.contains(&file.path.as_str()) || file.path.starts_with("host/docs/"))
    {
        if document.path == "host/docs/rules.md" {
            continue;
        }
        for name in names(&document.text) {
            let end = format!("/{name}");
            if !paths.iter().any(|path| path == name || path.ends_with(&end)) {
                problems.push(format!("{} names {name}", document.path));
            }
        }
    }
    none_of(&problems, "These files do not exist.");
}

/// `client/grants.rs::a_name` names the function of a file: the end of the file's path is enough.
#[test]
fn tests_that_the_promises_of_security_name_exist() {
    let document = documents().into_iter().find(|file| file.path == "host/docs/security.md").unwrap();
    let code = document.text.split('`').skip(1).step_by(2);
    let named: Vec<(&str, &str)> =
        code.filter_map(|name| name.split_once("::")).filter(|(file, _)| file.ends_with(".rs")).collect();
    assert!(named.len() > 20, "{} names only {} tests", document.path, named.len());
    let sources = rust_files("");
    let exists = |(file, test): &(&str, &str)| {
        let (end, function) = (format!("/{file}"), format!("fn {test}("));
        sources.iter().any(|source| source.path.ends_with(&end) && source.text.contains(&function))
    };
    let problems: Vec<_> =
        named.iter().filter(|test| !exists(test)).map(|(file, test)| format!("{file}::{test}")).collect();
    none_of(&problems, "These tests do not exist.");
}

/// A rule or a panel about a metric that does not exist never fires and shows nothing.
#[test]
fn metrics_that_the_alerts_and_the_dashboard_name_exist() {
    let table = documents().into_iter().find(|file| file.path == "host/METRICS.md").unwrap().text;
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let served: Vec<String> = rows.flat_map(|(name, rest)| in_samples(name, rest)).collect();
    let mut problems = Vec::new();
    for file in tree::read("host/deploy/monitoring", &["yaml", "json"]).unwrap() {
        let named: Vec<&str> = file
            .text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| word.starts_with("informer_"))
            .collect();
        assert!(named.len() > 10, "{} names only {} metrics", file.path, named.len());
        let missing = named.into_iter().filter(|name| !served.iter().any(|known| known == name));
        problems.extend(missing.map(|name| format!("{} names {name}", file.path)));
    }
    none_of(&problems, "These metrics are not served.");
}

/// The names that the samples of a metric have, by its row of the table.
fn in_samples(name: &str, rest: &str) -> Vec<String> {
    let endings: &[&str] = match rest.split(' ').next().unwrap_or_default() {
        "counter" => &["_total"],
        "histogram" => &["_bucket", "_sum", "_count"],
        _ => &[""],
    };
    endings.iter().map(|ending| format!("{name}{ending}")).collect()
}

/// What stands between backticks and looks like a file.
fn names(text: &str) -> Vec<&str> {
    let code = text.split('`').skip(1).step_by(2);
    let names = code.filter(|name| {
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        ["rs", "md", "wit"].contains(&extension)
            && name.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c))
            && !PATTERNS.contains(name)
    });
    names.collect()
}
