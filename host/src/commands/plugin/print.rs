//! The output of the actions.

use std::{fmt::Write, path::Path};

use informer_registry::{Digest, Inspection, Reference, RegistryError};
use serde_json::{Value, json};

use crate::{
    cli::Output,
    commands::output::{print, print_json},
};

/// A reference with its digest, and the signers that were found, if a policy asks for any.
pub(super) type Verdict = (Reference, Result<(Digest, Option<Vec<String>>), RegistryError>);

/// A tag, its digest before, and its digest now.
pub(super) type Locked = (Reference, Option<Digest>, Digest);

pub(super) fn inspection(reference: &Reference, inspection: &Inspection, output: Output) {
    let Inspection { artifact, manifest, layer, contents, signatures } = inspection;
    let manifest: Value = serde_json::from_str(manifest).unwrap_or_default();
    let component = contents.component.clone().unwrap_or_default();
    if output == Output::Json {
        return print_json(&json!({
            "reference": reference.to_string(), "digest": artifact.to_string(), "manifest": manifest,
            "component": layer.digest.to_string(), "bytes": layer.bytes, "created": contents.created,
            "author": contents.author, "imports": component.imports, "exports": component.exports,
            "world": component.target, "signatures": signatures,
        }));
    }
    let mut text =
        format!("{reference}\ndigest {artifact}\ncomponent {}, {} bytes\n", layer.digest, layer.bytes);
    let mut line = |name: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name} {value}");
    };
    for (name, value) in
        [("created", &contents.created), ("author", &contents.author), ("world", &component.target)]
    {
        value.iter().for_each(|value| line(name, value));
    }
    component.imports.iter().for_each(|name| line("import", name));
    component.exports.iter().for_each(|name| line("export", name));
    if signatures.is_empty() {
        line("signature", "none was found");
    }
    signatures.iter().for_each(|signature| line("signature, not verified:", signature));
    print(&format!("{text}{manifest:#}\n"));
}

pub(super) fn verdicts(verdicts: &[Verdict], output: Output) {
    if output == Output::Json {
        let list = verdicts.iter().map(|(reference, verdict)| match verdict {
            Ok((digest, signers)) => {
                json!({"reference": reference.to_string(), "digest": digest.to_string(), "signers": signers})
            }
            Err(error) => json!({"reference": reference.to_string(), "error": error.to_string()}),
        });
        return print_json(&list.collect());
    }
    for (reference, verdict) in verdicts {
        print(&match verdict {
            Ok((digest, None)) => format!("{reference}: {digest}, and no [[verify]] fits its repository\n"),
            Ok((digest, Some(signers))) if signers.is_empty() => {
                format!("{reference}: {digest}, accepted without a signature\n")
            }
            Ok((digest, Some(signers))) => {
                format!("{reference}: {digest}, signed by {}\n", signers.join(", "))
            }
            Err(error) => format!("{error}\n"),
        });
    }
}

pub(super) fn locked(path: &Path, changes: &[Locked], output: Output) {
    if output == Output::Json {
        let list = changes.iter().map(|(reference, before, now)| {
            json!({"source": reference.to_string(), "digest": now.to_string(), "before": before.map(|before| before.to_string())})
        });
        return print_json(&json!({"file": path, "artifacts": list.collect::<Value>()}));
    }
    for (reference, before, now) in changes {
        let change = match before {
            Some(before) if before == now => "as before".to_owned(),
            Some(before) => format!("before {before}"),
            None => "new".to_owned(),
        };
        print(&format!("{reference}: {now}, {change}\n"));
    }
    print(&format!("{} is written\n", path.display()));
}
