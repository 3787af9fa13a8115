//! `informer inspect`: what a WebAssembly file contains.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use anyhow::Context;
use clap::Args;
use informer_author::{Inspection, Kind};
use informer_runtime::Component;
use informer_system::read_file;
use informer_types::{DeclaredReads, excerpt, one_line};
use serde_json::{Value, json};

use crate::{
    cli::Output,
    commands::output::{print, print_json},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer inspect hello.wasm           imports, exports, sizes, and the grants that it needs
  informer inspect hello.wasm --output json";

/// The largest file that is read.
const BYTES: u64 = 1 << 30;

/// The most imports and the most exports that are printed as text, and the most bytes of a name. Real components have some thirty.
const NAMES: usize = 100;
const NAME_BYTES: usize = 128;

/// `informer inspect`
#[derive(Clone, Debug, Args)]
pub struct InspectArgs {
    /// The file of the component.
    pub file: PathBuf,
}

/// The verdict of the host about a file.
enum Verdict {
    /// A plugin, with the lines that it needs under `[plugin.grant]`.
    Plugin(Vec<&'static str>),
    /// The host would refuse it with any grants, for this reason.
    Refused(String),
}

/// Reads the file and prints what it contains. Returns true if the host could load it.
///
/// # Errors
/// The file cannot be read, or is no WebAssembly.
pub(super) fn run(args: &InspectArgs, output: Output) -> anyhow::Result<bool> {
    let bytes =
        read_file(&args.file, BYTES).with_context(|| format!("cannot read {}", args.file.display()))?;
    let inspection = Inspection::of(&bytes).with_context(|| args.file.display().to_string())?;
    let verdict = Verdict::of(&inspection);
    match output {
        Output::Json => print_json(&verdict.json(args, &inspection, bytes.len())),
        Output::Text => print(&verdict.text(args, &inspection, bytes.len())),
    }
    Ok(matches!(verdict, Verdict::Plugin(_)))
}

// === impl Verdict ===

impl Verdict {
    fn of(inspection: &Inspection) -> Self {
        if let Some(advice) = inspection.advice() {
            return Self::Refused(format!("a core module, not a component: {advice}"));
        }
        let imports: Vec<&str> = inspection.imports.iter().map(String::as_str).collect();
        let exports: Vec<&str> = inspection.exports.iter().map(String::as_str).collect();
        match Component::grants(&imports, &exports) {
            Ok(grants) => Self::Plugin(grants.into_iter().collect()),
            Err(error) => Self::Refused(error.to_string()),
        }
    }

    fn json(&self, args: &InspectArgs, inspection: &Inspection, bytes: usize) -> Value {
        let (grants, problem) = match self {
            Self::Plugin(grants) => (grants.as_slice(), None),
            Self::Refused(problem) => (&[][..], Some(problem)),
        };
        let reads: BTreeMap<String, Vec<String>> = reads(inspection).collect();
        json!({
            "file": args.file.display().to_string(),
            "kind": inspection.kind.to_string(),
            "language": inspection.toolchain.as_ref().map(|toolchain| toolchain.language.word()),
            "compiler": inspection.toolchain.as_ref().and_then(|toolchain| toolchain.compiler.as_ref()),
            "wit": inspection.wit_version(),
            "bytes": bytes,
            "custom-bytes": inspection.custom_bytes,
            "modules": inspection.modules,
            "memories": inspection.memories,
            "memory-bytes": inspection.memory_bytes,
            "imports": inspection.imports,
            "exports": inspection.exports,
            "grants": grants,
            "reads": reads,
            "problem": problem,
        })
    }

    fn text(&self, args: &InspectArgs, inspection: &Inspection, bytes: usize) -> String {
        let kibibytes = |bytes: u64| bytes.div_ceil(1024);
        let mut lines = vec![
            format!("{}: {}, {} KiB", args.file.display(), inspection.kind, kibibytes(bytes as u64)),
            format!(
                "memory: {} KiB at the start in {} of {} core modules; {} KiB of the file are names and metadata",
                kibibytes(inspection.memory_bytes),
                inspection.memories,
                inspection.modules,
                kibibytes(inspection.custom_bytes),
            ),
        ];
        let made_by = inspection.toolchain.as_ref().map(ToString::to_string);
        lines.extend(made_by.map(|toolchain| format!("language: {}", short(&toolchain))));
        let version = inspection.wit_version();
        lines.extend(version.map(|version| format!("interface: informer:plugin@{}", short(version))));
        if inspection.kind == Kind::Component {
            lines.extend(names("import", &inspection.imports));
            lines.extend(names("export", &inspection.exports));
        }
        lines.extend(reads(inspection).map(|(gvr, parts)| format!("reads of {gvr}: {}", parts.join(", "))));
        match self {
            Self::Plugin(grants) if grants.is_empty() => lines.push("grants: it needs none".to_owned()),
            Self::Plugin(grants) => {
                lines.push("grants: it needs, for example,".to_owned());
                lines.push("  [plugin.grant]".to_owned());
                lines.extend(grants.iter().map(|grant| format!("  {grant}")));
            }
            Self::Refused(problem) => lines.push(format!("the host refuses it: {problem}")),
        }
        // The file chose its names: none may look like another line.
        lines.iter().map(|line| format!("{}\n", one_line(line))).collect()
    }
}

/// A line for each of the first names, and one with the number of the others.
fn names(what: &str, names: &[String]) -> impl Iterator<Item = String> {
    let shown = names.iter().take(NAMES).map(move |name| format!("{what} {}", short(name)));
    let more = names.len().saturating_sub(NAMES);
    let rest = (more > 0).then(|| format!("{what}s: {more} more, which `--output json` lists"));
    shown.chain(rest)
}

fn short(text: &str) -> impl fmt::Display {
    excerpt(text, NAME_BYTES)
}

/// The parts that the component declares to read, by resource.
fn reads(inspection: &Inspection) -> impl Iterator<Item = (String, Vec<String>)> {
    let DeclaredReads(reads) = &inspection.reads;
    reads.iter().map(|(gvr, parts)| (gvr.to_string(), parts.iter().map(ToString::to_string).collect()))
}
