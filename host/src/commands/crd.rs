//! `informer crd`: the definitions of Plugin and ClusterPlugin, ready for `kubectl apply`.

use serde_json::json;

use crate::{
    cli::Output,
    commands::output::{print, print_json, yaml},
    config,
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer crd | kubectl apply --server-side -f -
  informer crd --output json                 one List instead of YAML documents

They have an effect only on a host whose configuration has [tenancy].";

/// Prints both definitions. Returns true.
///
/// # Errors
/// They cannot be written as YAML.
pub(super) fn run(output: Output) -> anyhow::Result<bool> {
    let definitions = config::definitions();
    match output {
        Output::Text => print(&yaml(&definitions)?),
        Output::Json => {
            print_json(&json!({"apiVersion": "v1", "kind": "List", "items": definitions}));
        }
    }
    Ok(true)
}
