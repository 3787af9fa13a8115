//! Grants on Kubernetes objects, as `[plugin.grant]` lists them.

use informer_types::{InvalidGrant, ReadGrant, SecretGrant, WriteGrant};

use super::scalar::FromText;
use crate::config::problem::Fault;

// === impl ReadGrant, WriteGrant, SecretGrant ===

impl FromText for ReadGrant {
    const KIND: &'static str = "a resource";

    fn example() -> String {
        "\"apps/v1/deployments @default\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: InvalidGrant| Fault::of(&error))
    }
}

impl FromText for WriteGrant {
    const KIND: &'static str = "verbs and a resource";

    fn example() -> String {
        "\"patch apps/v1/deployments @default\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: InvalidGrant| Fault::of(&error))
    }
}

impl FromText for SecretGrant {
    const KIND: &'static str = "a Secret";

    fn example() -> String {
        "\"shop/credentials\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: InvalidGrant| Fault::of(&error))
    }
}
