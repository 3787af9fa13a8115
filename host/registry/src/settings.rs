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
        // The case of a host name has no meaning.
        let own = self.registries.iter().find(|registry| registry.host.eq_ignore_ascii_case(host));
        own.cloned()
            .unwrap_or_else(|| RegistrySettings { host: host.to_owned(), ..RegistrySettings::default() })
    }

    /// The policy of this repository, with its host: the first that fits. Another spelling of the host is the same host, so it leads
    /// to no other policy.
    pub fn policy(&self, repository: &str) -> Option<&Policy> {
        let spellings = spellings(repository);
        self.policies.iter().find(|policy| spellings.iter().any(|one| policy.repository.fits(one)))
    }
}

/// The repository as it is written, and with its host in lower case: without the port that https has anyway, and with it.
fn spellings(repository: &str) -> [String; 3] {
    let (host, name) = repository.split_once('/').unwrap_or((repository, ""));
    let host = host.to_ascii_lowercase();
    let bare = host.strip_suffix(":443").unwrap_or(&host);
    [repository.to_owned(), format!("{bare}/{name}"), format!("{bare}:443/{name}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_spelling_of_a_host_has_the_same_policy_and_the_same_settings() {
        let policy = |repository: &str| Policy {
            repository: repository.parse().unwrap(),
            refuse: true,
            pinned: false,
            all_of: Vec::new(),
            any_of: Vec::new(),
        };
        let registry = RegistrySettings {
            host: "ghcr.io".to_owned(),
            ca: Some("/ca.pem".into()),
            ..RegistrySettings::default()
        };
        let settings = Settings {
            registries: vec![registry.clone()],
            policies: vec![policy("ghcr.io/acme/*"), policy("a.example:443/*")],
        };

        for repository in
            ["ghcr.io/acme/ttl", "GHCR.io/acme/ttl", "ghcr.io:443/acme/ttl", "GHCR.IO:443/acme/ttl"]
        {
            let found = settings.policy(repository).map(|policy| policy.repository.as_str());
            assert_eq!(found, Some("ghcr.io/acme/*"), "{repository}");
        }
        for repository in ["a.example:443/ttl", "a.example/ttl", "A.example/ttl"] {
            assert!(settings.policy(repository).is_some(), "{repository}");
        }
        for repository in
            ["ghcr.io/other/ttl", "ghcr.io:5000/acme/ttl", "ghcr.io.example/acme/ttl", "a.example:5000/ttl"]
        {
            assert!(settings.policy(repository).is_none(), "{repository}");
        }
        assert_eq!(settings.of("GHCR.io").ca, registry.ca);
    }
}
