//! `informer rbac`: the least roles that a configuration needs, ready for `kubectl apply`.
//!
//! Discovery needs no rule: the role `system:discovery` allows it to every authenticated user.

mod manifest;
mod rules;

pub use manifest::{Names, manifests};
pub use rules::{Rule, Rules};

use crate::{
    cli::{Output, RbacArgs},
    commands::output::print,
    config::{self, Components},
};

/// Prints the roles of a configuration, and their bindings.
///
/// # Errors
/// The file cannot be read, or is not a valid configuration.
pub fn run(args: &RbacArgs, output: Output) -> anyhow::Result<()> {
    let config = config::load(&args.config, Components::Unseen)?;
    let names = Names { role: args.name.clone(), account: args.service_account.clone() };
    let manifests = manifests(&Rules::of(&config), &names);
    match output {
        Output::Text => print(&yaml(&manifests)?),
        Output::Json => {
            let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": manifests});
            print(&format!("{list:#}\n"));
        }
    }
    Ok(())
}

/// One YAML document for each object.
fn yaml(manifests: &[serde_json::Value]) -> anyhow::Result<String> {
    let mut text = String::new();
    for manifest in manifests {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(manifest)?);
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
