//! `read`

use std::{collections::BTreeMap, fmt, str::FromStr};

use super::{InvalidGrant, Namespaces, resource};
use crate::Gvr;

/// One line of `read`: `apps/v1/deployments @shop,default`. With a subresource (`apps/v1/deployments/scale`) it is
/// for live reads alone: no cache holds those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadGrant {
    /// The resource.
    pub gvr: Gvr,
    /// None: the objects themselves.
    pub subresource: Option<String>,
    /// Where.
    pub namespaces: Namespaces,
}

/// All lines of `read` together. The default grants nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadGrants(BTreeMap<(Gvr, Option<String>), Namespaces>);

// === impl ReadGrant ===

impl FromStr for ReadGrant {
    type Err = InvalidGrant;

    fn from_str(text: &str) -> Result<Self, InvalidGrant> {
        let read = || {
            let (head, namespaces) = Namespaces::split(text)?;
            let (gvr, subresource) = resource::parse(head)?;
            Ok(Self { gvr, subresource, namespaces })
        };
        read().map_err(|fault: super::Fault| fault.of(text))
    }
}

impl fmt::Display for ReadGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", resource::shown(&self.gvr, self.subresource.as_deref()), self.namespaces)
    }
}

// === impl ReadGrants ===

impl ReadGrants {
    /// Where the objects of this resource may be read; none: nowhere.
    #[must_use]
    pub fn namespaces(&self, gvr: &Gvr) -> Option<&Namespaces> {
        self.of(gvr, None)
    }

    /// Where this subresource, or without one the objects themselves, may be read; none: nowhere.
    #[must_use]
    pub fn of(&self, gvr: &Gvr, subresource: Option<&str>) -> Option<&Namespaces> {
        self.0.get(&(gvr.clone(), subresource.map(str::to_owned)))
    }

    /// The resources whose objects may be read, somewhere; sorted.
    pub fn gvrs(&self) -> impl Iterator<Item = &Gvr> {
        self.0.keys().filter(|(_, subresource)| subresource.is_none()).map(|(gvr, _)| gvr)
    }

    /// Everything, one line a resource and subresource; sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&Gvr, Option<&str>, &Namespaces)> {
        self.0.iter().map(|((gvr, subresource), namespaces)| (gvr, subresource.as_deref(), namespaces))
    }
}

impl FromIterator<ReadGrant> for ReadGrants {
    /// Lines of one resource add up.
    fn from_iter<I: IntoIterator<Item = ReadGrant>>(grants: I) -> Self {
        let mut all = BTreeMap::new();
        for ReadGrant { gvr, subresource, namespaces } in grants {
            let key = (gvr, subresource);
            let namespaces = match all.remove(&key) {
                Some(earlier) => namespaces.union(earlier),
                None => namespaces,
            };
            all.insert(key, namespaces);
        }
        Self(all)
    }
}
