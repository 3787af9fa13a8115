//! The settings of an operator for registries.

use std::{iter::once, path::PathBuf, slice};

use informer_types::Pattern;
use reqwest::Url;

use crate::policy::Policy;

/// The hosts of Docker Hub. Each of them serves the same repositories.
const DOCKER_HUB: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/// The beginning of a repository of Docker Hub that is written without an organisation.
const OFFICIAL: &str = "library/";

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
        let own = self.registries.iter().find(|registry| registry.is_at(host));
        own.cloned()
            .unwrap_or_else(|| RegistrySettings { host: host.to_owned(), ..RegistrySettings::default() })
    }

    /// The name of the server that the client connects to for this host. Different spellings of a host and port have the same name, and the
    /// hosts of Docker Hub have the same name.
    pub(crate) fn server(&self, host: &str) -> String {
        let server = connected_to(self.of(host).scheme(), host);
        let [hub, ..] = DOCKER_HUB;
        if DOCKER_HUB.contains(&server.as_str()) { hub.to_owned() } else { server }
    }

    /// Returns the first policy whose pattern fits the repository. The repository includes its host. Different spellings of a host
    /// count as the same host, in the repository and in the pattern.
    pub fn policy(&self, repository: &str) -> Option<&Policy> {
        let spellings = spellings(repository);
        self.policies.iter().find(|policy| {
            let pattern = in_one_spelling(&policy.repository);
            spellings.iter().any(|one| pattern.fits(one))
        })
    }
}

// === impl RegistrySettings ===

impl RegistrySettings {
    /// Returns true if these settings apply to a reference with this host. Different spellings of a host and port count as the same host.
    /// With `insecure`, a host without a port differs from the host with port 80 and from the host with port 443, so that settings for
    /// one port never take TLS from references to another port.
    pub fn is_at(&self, host: &str) -> bool {
        let is_same = |scheme: &str| connected_to(scheme, &self.host) == connected_to(scheme, host);
        is_same("https") && (!self.insecure || is_same("http"))
    }

    /// The host in the spelling that `docker login` writes. If these settings do not apply to that spelling, the host as it is written.
    pub(crate) fn address(&self) -> String {
        let address = connected_to("https", &self.host);
        if self.is_at(&address) { address } else { self.host.clone() }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.insecure { "http" } else { "https" }
    }
}

/// The repository as it is written, and with the host that the client connects to: without the port that https has anyway, and with
/// it. A repository of Docker Hub is spelled with each host of Docker Hub, and also without [`OFFICIAL`].
fn spellings(repository: &str) -> Vec<String> {
    let (host, name) = repository.split_once('/').unwrap_or((repository, ""));
    let host = connected_to("https", host);
    let bare = host.as_str();
    let is_hub = DOCKER_HUB.contains(&bare);
    let hosts: &[&str] = if is_hub { &DOCKER_HUB } else { slice::from_ref(&bare) };
    let ports: &[&str] = if port_of(bare).is_some() { &[""] } else { &["", ":443"] };
    let mut spellings = vec![repository.to_owned()];
    for name in once(name).chain(name.strip_prefix(OFFICIAL).filter(|_| is_hub)) {
        for host in hosts {
            spellings.extend(ports.iter().map(|port| format!("{host}{port}/{name}")));
        }
    }
    spellings
}

/// Returns the pattern with its host in a spelling that [`spellings`] returns. If the host contains `*`, the port 443 stays, because `*`
/// without a port fits a host with any port.
fn in_one_spelling(pattern: &Pattern) -> Pattern {
    let Some((host, name)) = pattern.as_str().split_once('/') else { return pattern.clone() };
    let host = if host.contains('*') {
        let host = host.to_ascii_lowercase();
        port_of(&host).map_or_else(|| host.clone(), |(host, port)| format!("{host}:{port}"))
    } else {
        connected_to("https", host)
    };
    Pattern::new(format!("{host}/{name}"))
}

/// The host without its port, and the port. Returns `None` if the host has no port.
fn port_of(host: &str) -> Option<(&str, u16)> {
    let (host, port) = host.rsplit_once(':')?;
    Some((host, port.parse().ok()?))
}

/// The host and the port of a connection, as the client reads them. A URL has one spelling of each: it is in lower case, `127.1` is
/// `127.0.0.1`, the port `0443` is 443, and the port that the scheme has anyway is left out: 443 for `https`.
fn connected_to(scheme: &str, host: &str) -> String {
    let url = Url::parse(&format!("{scheme}://{host}/")).ok();
    match url.as_ref().and_then(|url| Some((url.host_str()?, url.port()))) {
        Some((host, Some(port))) => format!("{host}:{port}"),
        Some((host, None)) => host.to_owned(),
        // The client reaches no such host.
        None => host.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(repository: &str) -> Policy {
        Policy {
            repository: repository.parse().unwrap(),
            refuse: true,
            pinned: false,
            all_of: Vec::new(),
            any_of: Vec::new(),
        }
    }

    #[test]
    fn another_spelling_of_a_host_has_the_same_policy() {
        let policies = vec![policy("ghcr.io/acme/*"), policy("a.example:443/*")];
        let settings = Settings { registries: Vec::new(), policies };

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
    }

    #[test]
    fn a_registry_has_its_settings_however_its_host_is_spelled() {
        let own = |host: &str, insecure: bool, reference: &str| {
            let ca = Some("/ca.pem".into());
            let registry = RegistrySettings { host: host.to_owned(), ca, insecure, credentials: None };
            let settings = Settings { registries: vec![registry], policies: Vec::new() };
            settings.of(reference).ca.is_some()
        };
        for (host, reference) in [
            ("ghcr.io", "GHCR.io"),
            ("ghcr.io:0443", "ghcr.io"),
            ("ghcr.io:0443", "ghcr.io:443"),
            ("ghcr.io", "ghcr.io:0443"),
            ("a.example:05000", "a.example:5000"),
            ("10.0.5:5000", "10.0.0.5:5000"),
        ] {
            assert!(own(host, false, reference), "{host} {reference}");
        }
        assert!(own("A.example:080", true, "a.example:80"));
        assert!(own("A.example", true, "a.example"));
        // These references have another server or another port. No reference loses TLS because of a table for another port.
        for (host, insecure, reference) in [
            ("ghcr.io:0443", false, "ghcr.io:5000"),
            ("a.example:80", false, "a.example"),
            ("a.example:80", true, "a.example"),
            ("a.example", true, "a.example:443"),
            ("a.example:443", true, "a.example"),
        ] {
            assert!(!own(host, insecure, reference), "{host} {reference}");
        }
    }

    #[test]
    fn each_spelling_of_a_host_names_the_same_server() {
        let plain =
            RegistrySettings { host: "b.example".to_owned(), insecure: true, ..RegistrySettings::default() };
        let settings = Settings { registries: vec![plain], policies: Vec::new() };
        for (host, server) in [
            ("GHCR.io", "ghcr.io"),
            ("ghcr.io:0443", "ghcr.io"),
            ("ghcr.io:5000", "ghcr.io:5000"),
            ("10.0.5:443", "10.0.0.5"),
            ("docker.io", "docker.io"),
            ("registry-1.docker.io:443", "docker.io"),
            ("b.example", "b.example"),
            ("B.example", "b.example"),
        ] {
            assert_eq!(settings.server(host), server, "{host}");
        }
    }

    /// With the credentials of the host without a port, the client would send a password of another port without TLS.
    #[test]
    fn the_credentials_of_a_host_without_a_port_are_not_those_of_a_port_without_tls() {
        let address = |host: &str, insecure: bool| {
            RegistrySettings { host: host.to_owned(), insecure, ..RegistrySettings::default() }.address()
        };

        assert_eq!(address("A.example:0443", false), "a.example");
        assert_eq!(address("A.example:05000", true), "a.example:5000");
        for host in ["a.example:80", "a.example:443"] {
            assert_eq!(address(host, true), host);
        }
    }

    /// If a pattern fits no repository, the host accepts unsigned components.
    #[test]
    fn a_pattern_fits_however_its_host_is_spelled() {
        let fits = |pattern: &str, repository: &str| {
            let settings = Settings { registries: Vec::new(), policies: vec![policy(pattern)] };
            settings.policy(repository).is_some()
        };
        for (pattern, repository) in [
            ("ghcr.io:0443/acme/*", "ghcr.io/acme/ttl"),
            ("GHCR.io/acme/*", "ghcr.io/acme/ttl"),
            ("a.example:05000/*", "a.example:5000/ttl"),
            ("10.0.5/*", "10.0.0.5:443/ttl"),
            ("*.Example:05000/*", "a.example:5000/ttl"),
            ("*:443/ttl", "a.example/ttl"),
            ("a.example:*/ttl", "a.example/ttl"),
            ("index.docker.io:443/acme/*", "docker.io/acme/ttl"),
            ("docker.io/ttl", "docker.io/library/ttl"),
            ("docker.io/library/*", "docker.io/library/ttl"),
            ("*", "ghcr.io/acme/ttl"),
        ] {
            assert!(fits(pattern, repository), "{pattern} {repository}");
        }
        for (pattern, repository) in [
            ("ghcr.io:0443/acme/*", "ghcr.io:5000/acme/ttl"),
            ("*:443/ttl", "a.example:5000/ttl"),
            ("docker.io/library/*", "docker.io/acme/ttl"),
            ("ghcr.io/ttl", "ghcr.io/library/ttl"),
        ] {
            assert!(!fits(pattern, repository), "{pattern} {repository}");
        }
    }

    /// The client reads a port as a number and an address in many forms.
    #[test]
    fn no_spelling_of_a_port_or_an_address_avoids_a_policy() {
        let policies =
            ["ghcr.io/acme/*", "a.example:5000/*", "10.0.0.5/*", "docker.io/acme/*"].map(policy).to_vec();
        let settings = Settings { registries: Vec::new(), policies };

        for (repository, pattern) in [
            ("ghcr.io:0443/acme/ttl", "ghcr.io/acme/*"),
            ("GHCR.io:00443/acme/ttl", "ghcr.io/acme/*"),
            ("a.example:05000/ttl", "a.example:5000/*"),
            ("10.0.5:443/ttl", "10.0.0.5/*"),
            ("0xa.0.0.5/ttl", "10.0.0.5/*"),
            ("167772165:443/ttl", "10.0.0.5/*"),
            ("registry-1.docker.io/acme/ttl", "docker.io/acme/*"),
            ("index.docker.io:443/acme/ttl", "docker.io/acme/*"),
        ] {
            let found = settings.policy(repository).map(|policy| policy.repository.as_str());
            assert_eq!(found, Some(pattern), "{repository}");
        }
        for repository in ["a.example/ttl", "10.0.0.6/ttl", "registry-1.docker.io/other/ttl"] {
            assert!(settings.policy(repository).is_none(), "{repository}");
        }
    }
}
