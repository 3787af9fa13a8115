//! TLS in front of a middlebox: it shows a certificate for 127.0.0.1, and asks for one.

use std::{path::PathBuf, sync::Arc};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig, crypto,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
        server::WebPkiClientVerifier,
    },
};

/// A file of the certificates of these tests: `authority.pem`, `one.pem`, `one.key`.
pub(crate) fn certificate(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("e2e/connections/certificates").join(name)
}

/// The content of such a file.
pub(crate) fn text_of(name: &str) -> String {
    std::fs::read_to_string(certificate(name)).unwrap()
}

/// The clients that are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clients {
    /// A client that has one shows it.
    May,
    Must,
}

/// Accepts TLS.
pub(crate) fn acceptor(clients: Clients) -> TlsAcceptor {
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(der("authority.pem")).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = match clients {
        Clients::May => verifier.allow_unauthenticated(),
        Clients::Must => verifier,
    };
    let key = PrivateKeyDer::from_pem_file(certificate("loopback.key")).unwrap();
    let builder = builder.with_client_cert_verifier(verifier.build().unwrap());
    let config = builder.with_single_cert(vec![der("loopback.pem")], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// The name of a certificate of these tests, or `None` if it is another one.
pub(crate) fn name_of(shown: &CertificateDer<'_>) -> Option<&'static str> {
    ["one", "two"].into_iter().find(|name| der(&format!("{name}.pem")) == *shown)
}

fn der(name: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(certificate(name)).unwrap()
}
