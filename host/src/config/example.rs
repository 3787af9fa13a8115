//! The annotated file: every key with its documentation, bounds and default.

use super::{
    document,
    key::{Described, Entry, Kind},
};

/// The longest line of a comment, in characters.
const WIDTH: usize = 118;

/// Tables that the example plugin has no use for. They stand in comments.
const IN_COMMENTS: [&str; 1] = ["plugin.timer"];

const INTRODUCTION: &str = r##"# informer.toml: every key, with its meaning and its default. `informer config example` prints this file.
#
# A running host follows this file: it applies what changed and leaves everything else alone. [cluster], [telemetry] and
# most keys of [host] are read only at the start; the log reports a change that needs a restart. A file with a problem
# changes nothing. `informer reload`, or SIGHUP, makes the host read the file at once.
#
# This file works as it stands. It serves the example plugin to the cluster of your kubeconfig:
#
#     cargo xtask guests      builds the component named below
#     informer check          reports everything that is wrong with a file, and with the components it names
#     informer run
#
# or, without a cluster, `informer dev --config informer.toml`.
#
# A line like `#resync = "0s"` shows a default: removing its `#` changes nothing (a test shows it).
# "e.g." shows a value of a key that has no default, or another value of one that has.
# Durations: "500ms", "30s", "10m", "1h30m". Sizes: "64KiB", "64MiB", "1GiB"; a plain number is bytes.
# Paths are relative to this file; `~/` is the home directory. Unknown keys are errors.
"##;

/// The annotated file. It is a valid configuration.
pub(super) fn text() -> String {
    let mut file = Annotated { text: INTRODUCTION.to_owned(), in_comments: false };
    for entry in document::entries() {
        file.text += &format!("\n# {}\n", "-".repeat(105));
        match &entry.kind {
            Kind::Value(described) => file.key(entry.name, described, 0),
            Kind::Table(..) | Kind::Tables(..) => file.section(&entry, "", 0),
        }
    }
    file.text
}

struct Annotated {
    text: String,
    /// Lines that are no comments become comments.
    in_comments: bool,
}

// === impl Annotated ===

impl Annotated {
    fn section(&mut self, entry: &Entry, above: &str, indent: usize) {
        let path = if above.is_empty() { entry.name.to_owned() } else { format!("{above}.{}", entry.name) };
        let none = Vec::new();
        let (entries, doc, header) = match &entry.kind {
            Kind::Table(entries, doc) => (entries, *doc, format!("[{path}]")),
            Kind::Tables(entries, doc) => (entries, *doc, format!("[[{path}]]")),
            Kind::Value(described) => (&none, described.doc, format!("[{path}]")),
        };
        self.comment(doc, indent);
        let outside = std::mem::replace(&mut self.in_comments, IN_COMMENTS.contains(&path.as_str()));
        self.line(&header, indent);
        if path == "defaults" {
            // Its tables are those of [[plugin]].
            self.line("# e.g. limits = { memory = \"128MiB\", deadline = \"10s\" }", indent);
            return;
        }
        let mut first = true;
        for entry in entries {
            if let Kind::Value(described) = &entry.kind
                && !described.is_table
            {
                if !std::mem::take(&mut first) {
                    self.text.push('\n');
                }
                self.key(entry.name, described, indent);
            }
        }
        for entry in entries {
            if !matches!(&entry.kind, Kind::Value(described) if !described.is_table) {
                self.text.push('\n');
                self.section(entry, &path, indent + 2);
            }
        }
        self.in_comments = outside;
    }

    fn key(&mut self, name: &str, described: &Described, indent: usize) {
        let Described { doc, default, example, written, bounds, .. } = described;
        let doc = match bounds {
            Some(bounds) => format!("{doc} Bounds: {bounds}."),
            None => (*doc).to_owned(),
        };
        self.comment(&doc, indent);
        if let Some(default) = default {
            self.line(&format!("#{name} = {default}"), indent);
        }
        if let Some(written) = written {
            self.line(&format!("{name} = {written}"), indent);
        }
        let mut lines = example.iter().flat_map(|example| example.lines());
        if let Some(value) = lines.next() {
            self.line(&format!("# e.g. {name} = {value}"), indent);
        }
        for line in lines {
            self.line(&format!("# with {line}"), indent);
        }
    }

    /// A comment, wrapped between words.
    fn comment(&mut self, text: &str, indent: usize) {
        let mut line = String::from("#");
        for word in text.split_whitespace() {
            if line.len() > 1 && indent + line.len() + 1 + word.len() > WIDTH {
                self.line(&line, indent);
                line = String::from("#");
            }
            line.push(' ');
            line += word;
        }
        self.line(&line, indent);
    }

    fn line(&mut self, line: &str, indent: usize) {
        self.text += &" ".repeat(indent);
        if self.in_comments && !line.starts_with('#') {
            self.text += "# e.g. ";
        }
        self.text += line;
        self.text.push('\n');
    }
}
