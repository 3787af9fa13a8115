//! Grants under `read`.

use std::{collections::BTreeMap, fmt, str::FromStr};

use super::{Fault, InvalidGrant, Namespaces, parse_resource, shown};
use crate::Gvr;

/// One line of `read`: `apps/v1/deployments @shop,default`. A grant with a subresource (`apps/v1/deployments/scale`) is
/// for live reads only, because no cache contains subresources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadGrant {
    /// The resource.
    pub gvr: Gvr,
    /// The subresource. `None` means the objects themselves.
    pub subresource: Option<String>,
    /// The namespaces in which the grant is valid.
    pub namespaces: Namespaces,
}

/// All lines of `read`. The default grants nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadGrants(BTreeMap<Gvr, BySubresource>);

/// The grants of one resource, never empty. `None` stands for the objects themselves.
type BySubresource = BTreeMap<Option<String>, Namespaces>;

// === impl ReadGrant ===

impl FromStr for ReadGrant {
    type Err = InvalidGrant;

    fn from_str(text: &str) -> Result<Self, InvalidGrant> {
        let read = || {
            let (head, namespaces) = Namespaces::split(text)?;
            let (gvr, subresource) = parse_resource(head)?;
            Ok(Self { gvr, subresource, namespaces })
        };
        read().map_err(|fault: Fault| fault.of(text))
    }
}

impl fmt::Display for ReadGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", shown(&self.gvr, self.subresource.as_deref()), self.namespaces)
    }
}

// === impl ReadGrants ===

impl ReadGrants {
    /// The namespaces in which the objects of this resource may be read. `None` means none.
    #[must_use]
    pub fn namespaces(&self, gvr: &Gvr) -> Option<&Namespaces> {
        self.of(gvr, None)
    }

    /// The namespaces in which this subresource, or without one the objects themselves, may be read. `None` means none.
    #[must_use]
    pub fn of(&self, gvr: &Gvr, subresource: Option<&str>) -> Option<&Namespaces> {
        self.0.get(gvr)?.get(&subresource.map(str::to_owned))
    }

    /// The resources whose objects may be read in some namespace, sorted.
    pub fn gvrs(&self) -> impl Iterator<Item = &Gvr> {
        self.iter().filter(|(_, subresource, _)| subresource.is_none()).map(|(gvr, ..)| gvr)
    }

    /// All grants, one for each resource and subresource, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&Gvr, Option<&str>, &Namespaces)> {
        self.0.iter().flat_map(|(gvr, grants)| {
            grants.iter().map(move |(subresource, namespaces)| (gvr, subresource.as_deref(), namespaces))
        })
    }
}

impl FromIterator<ReadGrant> for ReadGrants {
    /// Lines for the same resource are combined.
    fn from_iter<I: IntoIterator<Item = ReadGrant>>(grants: I) -> Self {
        let mut all = BTreeMap::<Gvr, BySubresource>::new();
        for ReadGrant { gvr, subresource, namespaces } in grants {
            let of_resource = all.entry(gvr).or_default();
            let namespaces = match of_resource.remove(&subresource) {
                Some(earlier) => namespaces.union(earlier),
                None => namespaces,
            };
            of_resource.insert(subresource, namespaces);
        }
        Self(all)
    }
}
