//! Grants under `secrets`.

use std::{fmt, str::FromStr, sync::Arc};

use super::{Fault, InvalidGrant, is_label, is_namespace};

/// One line of `secrets`: the Secrets whose values a plugin may read and write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretGrant {
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
            let remedy = "write `shop/credentials` for one Secret, `shop/*` for those of a namespace, or `*`";
            Fault::new(problem, remedy).of(text)
        };
        match text.split_once('/') {
            None if text == "*" => Ok(Self::All),
            None => Err(fault("it has no namespace")),
            Some((namespace, _)) if !is_namespace(namespace) => {
                Err(fault("its namespace is not a valid name"))
            }
            Some((namespace, "*")) => Ok(Self::Namespace(namespace.into())),
            Some((namespace, name)) if is_secret_name(name) => Ok(Self::One(namespace.into(), name.into())),
            Some(_) => Err(fault("its name is not a valid name")),
        }
    }
}

impl fmt::Display for SecretGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Namespace(namespace) => write!(f, "{namespace}/*"),
            Self::One(namespace, name) => write!(f, "{namespace}/{name}"),
        }
    }
}

// === impl SecretGrants ===

impl SecretGrants {
    /// Returns true if the values of this Secret are granted.
    #[must_use]
    pub fn contains(&self, namespace: &str, name: &str) -> bool {
        self.0.iter().any(|grant| match grant {
            SecretGrant::All => true,
            SecretGrant::Namespace(of) => **of == *namespace,
            SecretGrant::One(of, one) => **of == *namespace && **one == *name,
        })
    }

    /// The lines in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &SecretGrant> {
        self.0.iter()
    }

    /// Returns true if the values of all Secrets of this namespace are granted. `None` means all namespaces.
    #[must_use]
    pub fn contain_all(&self, namespace: Option<&str>) -> bool {
        self.0.iter().any(|grant| match grant {
            SecretGrant::All => true,
            SecretGrant::Namespace(of) => namespace == Some(of),
            SecretGrant::One(..) => false,
        })
    }
}

impl FromIterator<SecretGrant> for SecretGrants {
    fn from_iter<I: IntoIterator<Item = SecretGrant>>(grants: I) -> Self {
        Self(grants.into_iter().collect())
    }
}

/// Returns true for a DNS subdomain (RFC 1123).
fn is_secret_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}
