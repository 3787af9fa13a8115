//! The settings of an operator for registries.

use std::path::PathBuf;

use crate::policy::Policy;

/// How registries are reached, and what is accepted from them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// One for each registry that is not reached in the usual way: https, the authorities of the system, docker's credentials.
    pub registries: Vec<RegistrySettings>,
    /// What is accepted from which repositories, in the order of the file: the first that fits a repository applies.
    pub policies: Vec<Policy>,
}

/// One registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistrySettings {
    /// The host, and the port if there is one, as references write it.
    pub host: String,
    /// The absolute path of a PEM file with certificate authorities that may certify it, besides the authorities of the system.
    pub ca: Option<PathBuf>,
    /// Talk to it without TLS.
    pub insecure: bool,
    /// A file in the form of docker's `config.json`, absolute; `None` means docker's own.
    pub credentials: Option<PathBuf>,
}

// === impl Settings ===

impl Settings {
    /// The settings of this host, or the usual ones.
    pub(crate) fn of(&self, host: &str) -> RegistrySettings {
        let own = self.registries.iter().find(|registry| registry.host == host);
        own.cloned()
            .unwrap_or_else(|| RegistrySettings { host: host.to_owned(), ..RegistrySettings::default() })
    }

    /// The policy of this repository, with its host: the first that fits.
    pub fn policy(&self, repository: &str) -> Option<&Policy> {
        self.policies.iter().find(|policy| policy.repository.fits(repository))
    }
}
