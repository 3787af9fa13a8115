//! The shape of a capability's entry in the list of capabilities.

use wasmtime::component::{Linker, LinkerInstance};

use crate::{Grants, guest::Guest};

/// One WIT interface that a component may import.
pub(crate) struct Interface {
    /// The name that a component imports, without the version.
    pub(crate) name: &'static str,
    pub(crate) version: Version,
    /// The grant that a plugin needs to import it. `None` means that every plugin may.
    pub(crate) grant: Option<Grant>,
    pub(super) link: Link,
}

/// Adds the functions of an interface to the linker. A function reaches the guest by [`Guest::called`] alone, so that each
/// call counts as a call of the guest to the host.
pub(crate) enum Link {
    /// Adds them under the name that the bindings have.
    Named(fn(&mut Linker<Guest>) -> wasmtime::Result<()>),
    /// Adds them to an instance: the versions of the interface have the same functions.
    Versions(fn(&mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()>),
}

/// The versions of our package that this host serves, the oldest first. An interface keeps its functions with their types from
/// one version to the next and may get more of them, so one implementation serves all versions.
pub(crate) const VERSIONS: [&str; 2] = ["0.1.0", "0.2.0"];

/// The versions of an interface that the host serves.
pub(crate) enum Version {
    /// These versions of our own package.
    Ours(&'static [&'static str]),
    /// This version only: the interface is a draft.
    Exactly(&'static str),
    /// Every patch release of this minor version.
    PatchesOf(&'static str),
    /// The interface had no version yet.
    Unversioned,
}

/// A grant in the configuration.
pub(crate) struct Grant {
    /// A line to add under `[plugin.grant]`.
    pub(crate) example: &'static str,
    pub(crate) is_given: fn(&Grants) -> bool,
}

// === impl Interface ===

impl Interface {
    /// An interface of our own package, which every plugin may import.
    pub(super) const fn ours(
        name: &'static str,
        link: fn(&mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()>,
    ) -> Self {
        Self { name, version: Version::Ours(&VERSIONS), grant: None, link: Link::Versions(link) }
    }

    /// Adds its functions to the linker, under the name of each version.
    pub(crate) fn link(&self, linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
        match (&self.link, &self.version) {
            (Link::Named(link), _) => link(linker),
            (Link::Versions(link), Version::Ours(versions)) => versions
                .iter()
                .try_for_each(|version| link(&mut linker.instance(&format!("{}@{version}", self.name))?)),
            (Link::Versions(link), _) => link(&mut linker.instance(self.name)?),
        }
    }

    /// Returns true if a component that imports this version is served.
    pub(crate) fn serves(&self, version: &str) -> bool {
        match self.version {
            Version::Ours(own) => own.contains(&version),
            Version::Exactly(own) => version == own,
            Version::PatchesOf(own) => version.rsplit_once('.').is_some_and(|(minor, _)| minor == own),
            Version::Unversioned => version.is_empty(),
        }
    }

    /// The name with the versions. Returns `None` if the interface has no version.
    pub(crate) fn versioned(&self) -> Option<String> {
        match self.version {
            Version::Ours(versions) => Some(format!("{}@{}", self.name, versions.join(" or @"))),
            Version::Exactly(version) | Version::PatchesOf(version) => {
                Some(format!("{}@{version}", self.name))
            }
            Version::Unversioned => None,
        }
    }

    /// Returns true if a plugin with these grants may import it.
    pub(crate) fn is_granted(&self, grants: &Grants) -> bool {
        self.grant.as_ref().is_none_or(|grant| (grant.is_given)(grants))
    }
}
