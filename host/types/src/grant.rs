//! The grants of `[plugin.grant]` for Kubernetes objects: which objects a plugin may read and write, and in which
//! namespaces.
//!
//! `runtime` enforces the grants; this module only parses them. The texts are those of `informer.toml`:
//! `apps/v1/deployments @shop,default` under `read`, `update,patch v1/configmaps/status @shop` under `write`, and
//! `shop/credentials` or `shop/*` under `secrets`.

mod read;
mod secret;
mod write;

use std::{collections::BTreeSet, fmt, sync::Arc};

pub use read::{ReadGrant, ReadGrants};
pub use secret::{SecretGrant, SecretGrants, SecretScope};
pub use write::{WriteGrant, WriteGrants, WriteVerb};

use crate::{Gvr, gvr::is_version, name::is_namespace};

/// Subresources that are never granted: streams, tunnels and credentials.
const NEVER: [&str; 6] = ["exec", "attach", "portforward", "proxy", "log", "token"];

const REMEDY: &str = "write group/version/resource (`apps/v1/deployments`), or version/resource for the core group (`v1/pods`), and append a subresource if needed (`v1/pods/status`)";

/// The namespaces in which a grant is valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Namespaces {
    /// All namespaces, and cluster-scoped objects.
    All,
    /// These namespaces. Never empty.
    Only(BTreeSet<Arc<str>>),
}

/// The text is not a grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a grant: {problem}; {remedy}")]
pub struct InvalidGrant {
    text: String,
    problem: String,
    remedy: String,
}

/// What is wrong with a part of a grant, and what would be right.
struct Fault {
    problem: String,
    remedy: String,
}

// === impl Namespaces ===

impl Namespaces {
    /// Returns true if the grant is valid in this namespace. The empty namespace is that of cluster-scoped objects.
    #[must_use]
    pub fn contains(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(namespace),
        }
    }

    /// The namespaces that either of the two has.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::Only(mut these), Self::Only(those)) => {
                these.extend(those);
                Self::Only(these)
            }
            _ => Self::All,
        }
    }

    /// The namespaces that both have; `None` if there are none.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::All, both) | (both, Self::All) => Some(both.clone()),
            (Self::Only(these), Self::Only(those)) => {
                let both: BTreeSet<Arc<str>> = these & those;
                (!both.is_empty()).then_some(Self::Only(both))
            }
        }
    }

    /// Returns true if these namespaces include all of the others.
    #[must_use]
    pub fn cover(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Only(_), Self::All) => false,
            (Self::Only(these), Self::Only(those)) => those.is_subset(these),
        }
    }

    /// Splits a text into the part before the `@` and the namespaces after it. Without an `@` the grant is for all namespaces.
    fn split(text: &str) -> Result<(&str, Self), Fault> {
        let Some((head, names)) = text.split_once('@') else { return Ok((text.trim(), Self::All)) };
        let names: BTreeSet<Arc<str>> = names.split(',').map(str::trim).map(Arc::from).collect();
        match names.iter().find(|name| !is_namespace(name)) {
            Some(wrong) => Err(Fault::new(
                format!("`{wrong}` is not a namespace"),
                "write the namespaces as in `@shop` or `@shop,default`, or nothing for all of them",
            )),
            None => Ok((head.trim(), Self::Only(names))),
        }
    }
}

/// The form in a grant, after the resource: ` @default,shop`, or nothing for all namespaces.
impl fmt::Display for Namespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => Ok(()),
            Self::Only(names) => {
                let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
                write!(f, " @{}", names.join(","))
            }
        }
    }
}

// === impl Fault ===

impl Fault {
    fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { problem: problem.into(), remedy: remedy.into() }
    }

    fn of(self, text: &str) -> InvalidGrant {
        InvalidGrant { text: text.to_owned(), problem: self.problem, remedy: self.remedy }
    }
}

/// Parses a resource and its subresource. `v1/pods/status` is the status of a pod, not a resource of the group `v1`,
/// because no group has such a name. A pattern has no subresource.
fn parse_resource(text: &str) -> Result<(Gvr, Option<String>), Fault> {
    match Gvr::pattern(text) {
        None => {}
        Some(Ok(pattern)) => return Ok((pattern, None)),
        Some(Err(error)) => {
            return Err(Fault::new(format!("`{text}` is neither a resource nor a pattern"), error.remedy));
        }
    }
    let parts: Vec<&str> = text.split('/').collect();
    let subresource = match parts.as_slice() {
        [first, _, _] if is_version(first) => parts.last(),
        [_, _, _, last] => Some(last),
        _ => None,
    };
    let resource = subresource.map_or(text, |last| text.get(..text.len() - last.len() - 1).unwrap_or(text));
    let gvr: Gvr = resource
        .parse()
        .map_err(|_| Fault::new(format!("`{text}` is neither a resource nor a subresource"), REMEDY))?;
    match subresource {
        Some(name) if NEVER.contains(name) => {
            let remedy = "remove it: a plugin gets objects, and neither connections nor credentials";
            Err(Fault::new(format!("the subresource `{name}` is never granted"), remedy))
        }
        Some(name) if !is_subresource(&gvr, name) => {
            let remedy = if gvr.is_namespaces() {
                format!(
                    "write `status` or `finalize`, or grant the objects themselves: `{}/{name}`",
                    gvr.version
                )
            } else {
                "write for example `status` or `scale`".to_owned()
            };
            Err(Fault::new(format!("`{name}` is not a subresource of `{gvr}`"), remedy))
        }
        Some(name) => Ok((gvr, Some((*name).to_owned()))),
        None => Ok((gvr, None)),
    }
}

/// Returns true if the resource may have a subresource of this name: lower-case letters. A namespace has `status` and
/// `finalize` only, because `/api/v1/namespaces/shop/secrets` is the path of all Secrets of the namespace.
#[must_use]
pub fn is_subresource(gvr: &Gvr, text: &str) -> bool {
    let sound = !text.is_empty() && text.len() <= 63 && text.bytes().all(|byte| byte.is_ascii_lowercase());
    sound && (!gvr.is_namespaces() || matches!(text, "status" | "finalize"))
}

/// The form in a grant.
fn shown(gvr: &Gvr, subresource: Option<&str>) -> String {
    subresource.map_or_else(|| gvr.to_string(), |name| format!("{gvr}/{name}"))
}

#[cfg(test)]
mod tests;
