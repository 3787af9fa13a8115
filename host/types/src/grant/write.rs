//! Grants under `write`.

use std::{collections::BTreeSet, fmt, str::FromStr};

use super::{Fault, InvalidGrant, Namespaces, parse_resource, shown};
use crate::Gvr;

/// A kind of write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WriteVerb {
    /// Creates an object.
    Create,
    /// Replaces a whole object. For some resources, an update without a `uid` creates the object if it does not exist
    /// (`AllowCreateOnUpdate`). Such an update also needs [`WriteVerb::Create`].
    Update,
    /// Changes parts of an object, with a merge patch, a JSON patch or a strategic merge patch.
    Patch,
    /// Server-side apply, which creates the object if it does not exist.
    Apply,
    /// Deletes one object; never a collection.
    Delete,
}

/// One line of `write`: verbs, resource, subresource and namespaces, `update,patch v1/configmaps/status @shop`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteGrant {
    /// The granted verbs. Never empty.
    pub verbs: BTreeSet<WriteVerb>,
    /// The resource.
    pub gvr: Gvr,
    /// The subresource. `None` means the objects themselves.
    pub subresource: Option<String>,
    /// The namespaces in which the grant is valid.
    pub namespaces: Namespaces,
}

/// All lines of `write`. The default grants nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteGrants(Vec<WriteGrant>);

// === impl WriteVerb ===

impl WriteVerb {
    /// All verbs, in the order of an object's life.
    pub const ALL: [Self; 5] = [Self::Create, Self::Update, Self::Patch, Self::Apply, Self::Delete];

    /// The word in `informer.toml`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Apply => "apply",
            Self::Delete => "delete",
        }
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == text).ok_or_else(|| {
            let remedy =
                "write create, update, patch, apply or delete, joined by commas, or `*` for all of them";
            Fault::new(format!("`{text}` is not a verb"), remedy)
        })
    }
}

impl fmt::Display for WriteVerb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl WriteGrant ===

impl FromStr for WriteGrant {
    type Err = InvalidGrant;

    fn from_str(text: &str) -> Result<Self, InvalidGrant> {
        let read = || {
            let (head, namespaces) = Namespaces::split(text)?;
            let Some((verbs, resource)) = head.rsplit_once(char::is_whitespace) else {
                return Err(Fault::new(
                    "it needs verbs and a resource",
                    "write for example `patch apps/v1/deployments @default`",
                ));
            };
            let (gvr, subresource) = parse_resource(resource)?;
            let verbs = match verbs.trim() {
                "*" => WriteVerb::ALL.into_iter().collect(),
                verbs => {
                    verbs.split(',').map(|verb| WriteVerb::parse(verb.trim())).collect::<Result<_, _>>()?
                }
            };
            Ok(Self { verbs, gvr, subresource, namespaces })
        };
        read().map_err(|fault| fault.of(text))
    }
}

impl fmt::Display for WriteGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verbs: Vec<&str> = self.verbs.iter().map(|verb| verb.as_str()).collect();
        let resource = shown(&self.gvr, self.subresource.as_deref());
        write!(f, "{} {resource}{}", verbs.join(","), self.namespaces)
    }
}

// === impl WriteGrants ===

impl WriteGrants {
    /// Returns true if this write is granted in this namespace. The empty namespace is that of cluster-scoped objects.
    #[must_use]
    pub fn allow(&self, verb: WriteVerb, gvr: &Gvr, subresource: Option<&str>, namespace: &str) -> bool {
        self.0.iter().any(|grant| {
            grant.gvr == *gvr
                && grant.subresource.as_deref() == subresource
                && grant.verbs.contains(&verb)
                && grant.namespaces.contains(namespace)
        })
    }

    /// The lines in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &WriteGrant> {
        self.0.iter()
    }
}

impl FromIterator<WriteGrant> for WriteGrants {
    fn from_iter<I: IntoIterator<Item = WriteGrant>>(grants: I) -> Self {
        Self(grants.into_iter().collect())
    }
}
