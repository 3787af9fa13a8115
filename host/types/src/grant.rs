//! The grants of `[plugin.grant]` for Kubernetes objects: which objects a plugin may read and write, and in which
//! namespaces.
//!
//! `runtime` enforces the grants; this module only parses them. The texts are those of `informer.toml`:
//! `apps/v1/deployments @shop,default` under `read`, `update,patch v1/configmaps/status @shop` under `write`, and
//! `shop/credentials` or `shop/*` under `secrets`.

mod namespaces;
mod read;
mod resource;
mod secret;
mod write;

pub use namespaces::{Namespaces, is_namespace};
pub use read::{ReadGrant, ReadGrants};
pub use resource::is_subresource;
pub use secret::{SecretGrant, SecretGrants};
pub use write::{WriteGrant, WriteGrants, WriteVerb};

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

// === impl Fault ===

impl Fault {
    fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { problem: problem.into(), remedy: remedy.into() }
    }

    fn of(self, text: &str) -> InvalidGrant {
        InvalidGrant { text: text.to_owned(), problem: self.problem, remedy: self.remedy }
    }
}

#[cfg(test)]
mod tests;
