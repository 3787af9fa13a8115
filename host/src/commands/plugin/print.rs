//! The output of the actions.

use std::{fmt::Write, path::Path};

use informer_registry::{Digest, Inspection, Reference, RegistryError};
use informer_types::one_line;
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
    print(&format!("{}{manifest:#}\n", lines(reference, inspection)));
}

/// The lines before the manifest.
fn lines(reference: &Reference, inspection: &Inspection) -> String {
    let Inspection { artifact, layer, contents, signatures, .. } = inspection;
    let component = contents.component.clone().unwrap_or_default();
    let mut text =
        format!("{reference}\ndigest {artifact}\ncomponent {}, {} bytes\n", layer.digest, layer.bytes);
    let mut line = |name: &str, value: &str| {
        // The artifact chose the value: it must not look like another line. Writing to a string does not fail.
        let _ = writeln!(text, "{name} {}", one_line(value));
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
    text
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
                format!("{reference}: {digest}, signed by {}\n", one_line(&signers.join(", ")))
            }
            Err(error) => format!("{}\n", one_line(&error.to_string())),
        });
    }
}

pub(super) fn locked(path: &Path, changes: &[Locked], output: Output) {
    if output == Output::Json {
        let list = changes.iter().map(|(reference, before, now)| {
            json!({"source": reference.to_string(), "digest": now.to_string(), "before": before.map(|before| before.to_string())})
        });
        return print_json(
            &json!({"file": path.display().to_string(), "artifacts": list.collect::<Value>()}),
        );
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

#[cfg(test)]
mod tests {
    use informer_registry::Part;

    use super::*;

    #[test]
    fn no_text_of_an_artifact_looks_like_another_line() {
        let digest: Digest = format!("sha256:{}", "a".repeat(64)).parse().unwrap();
        let contents = json!({
            "author": "me\nsignature verified", "architecture": "wasm", "os": "wasip2", "layerDigests": [],
            "component": {"imports": ["a:b/c\ndigest sha256:0"], "exports": []},
        });
        let inspection = Inspection {
            artifact: digest,
            manifest: "{}".to_owned(),
            layer: Part { digest, bytes: 7 },
            contents: serde_json::from_value(contents).unwrap(),
            signatures: vec!["of a key\rsignature verified".to_owned()],
        };

        let text = lines(&"oci://r.example/a:1".parse().unwrap(), &inspection);

        let names: Vec<&str> = text.lines().map(|line| line.split([' ', ',']).next().unwrap()).collect();
        assert_eq!(
            names,
            ["oci://r.example/a:1", "digest", "component", "author", "import", "signature"],
            "{text}"
        );
        assert!(!text.contains('\r'), "{text}");
    }
}
