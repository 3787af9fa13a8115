//! Grants under `secrets`.

use std::{fmt, str::FromStr, sync::Arc};

use super::{Fault, InvalidGrant};
use crate::name::{is_namespace, is_object_name};

/// Written before the Secrets whose digests are granted.
const DIGEST: &str = "digest";

/// One line of `secrets`: `shop/credentials` for the values of a Secret, `digest shop/credentials` for digests only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretGrant {
    /// The Secrets.
    pub scope: SecretScope,
    /// True if the plugin may read digests of the data, and no values.
    pub digests_only: bool,
}

/// The Secrets of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretScope {
    /// `*`: all Secrets.
    All,
    /// `shop/*`: all Secrets of a namespace.
    Namespace(Arc<str>),
    /// `shop/credentials`: one Secret.
    One(Arc<str>, Arc<str>),
}

/// All lines of `secrets`. The default grants nothing: the values of Secrets are hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretGrants(Vec<SecretGrant>);

// === impl SecretGrant ===

impl FromStr for SecretGrant {
    type Err = InvalidGrant;

    fn from_str(text: &str) -> Result<Self, InvalidGrant> {
        let fault = |problem: &str| {
            let remedy = "write `shop/credentials` for one Secret, `shop/*` for those of a namespace, or `*`; with `digest ` before it the plugin sees digests only";
            Fault::new(problem, remedy).of(text)
        };
        let (digests_only, secrets) = match text.split_once(' ') {
            Some((DIGEST, secrets)) => (true, secrets),
            _ => (false, text),
        };
        let scope = match secrets.split_once('/') {
            None if secrets == "*" => SecretScope::All,
            None => return Err(fault("it has no namespace")),
            Some((namespace, _)) if !is_namespace(namespace) => {
                return Err(fault("its namespace is not a valid name"));
            }
            Some((namespace, "*")) => SecretScope::Namespace(namespace.into()),
            Some((namespace, name)) if is_object_name(name) => {
                SecretScope::One(namespace.into(), name.into())
            }
            Some(_) => return Err(fault("its name is not a valid name")),
        };
        Ok(Self { scope, digests_only })
    }
}

impl fmt::Display for SecretGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digests_only {
            write!(f, "{DIGEST} ")?;
        }
        match &self.scope {
            SecretScope::All => f.write_str("*"),
            SecretScope::Namespace(namespace) => write!(f, "{namespace}/*"),
            SecretScope::One(namespace, name) => write!(f, "{namespace}/{name}"),
        }
    }
}

// === impl SecretScope ===

impl SecretScope {
    /// Returns true if it contains this Secret.
    fn contains(&self, namespace: &str, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(of) => **of == *namespace,
            Self::One(of, one) => **of == *namespace && **one == *name,
        }
    }

    /// Returns true if it contains all Secrets of this namespace. `None` means all namespaces.
    fn contains_all(&self, namespace: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(of) => namespace == Some(of),
            Self::One(..) => false,
        }
    }

    /// Returns true if it contains all of `other`.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Namespace(of), Self::Namespace(namespace) | Self::One(namespace, _)) => of == namespace,
            (one, other) => one == other,
        }
    }
}

// === impl SecretGrants ===

impl SecretGrants {
    /// Returns true if the values of this Secret are granted.
    #[must_use]
    pub fn contains(&self, namespace: &str, name: &str) -> bool {
        self.values().any(|scope| scope.contains(namespace, name))
    }

    /// Returns true if digests of the data of this Secret are granted. They are if its values are.
    #[must_use]
    pub fn contains_digests(&self, namespace: &str, name: &str) -> bool {
        self.0.iter().any(|grant| grant.scope.contains(namespace, name))
    }

    /// Returns true if these lines grant all that the other line grants.
    #[must_use]
    pub fn cover(&self, other: &SecretGrant) -> bool {
        let suffices = |own: &&SecretGrant| other.digests_only || !own.digests_only;
        self.0.iter().filter(suffices).any(|own| own.scope.covers(&other.scope))
    }

    /// The lines in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &SecretGrant> {
        self.0.iter()
    }

    /// Returns true if the values of all Secrets of this namespace are granted. `None` means all namespaces.
    #[must_use]
    pub fn contain_all(&self, namespace: Option<&str>) -> bool {
        self.values().any(|scope| scope.contains_all(namespace))
    }

    /// Returns true if digests of the data of all Secrets of this namespace are granted. `None` means all namespaces.
    #[must_use]
    pub fn contain_all_digests(&self, namespace: Option<&str>) -> bool {
        self.0.iter().any(|grant| grant.scope.contains_all(namespace))
    }

    /// The Secrets whose values are granted.
    fn values(&self) -> impl Iterator<Item = &SecretScope> {
        self.0.iter().filter(|grant| !grant.digests_only).map(|grant| &grant.scope)
    }
}

impl FromIterator<SecretGrant> for SecretGrants {
    fn from_iter<I: IntoIterator<Item = SecretGrant>>(grants: I) -> Self {
        Self(grants.into_iter().collect())
    }
}
