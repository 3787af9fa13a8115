//! Who may talk to the API server, and how it is written down.

use std::net::SocketAddr;

use base64::{Engine, engine::general_purpose::STANDARD};

/// A user that the API server knows by a token.
///
/// The tokens are constants: they open a server that lives for one test, on loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// In the group `system:masters`: may do everything.
    Admin,
    /// May do nothing until a test binds a role to the user `informer`.
    Informer,
}

// === impl User ===

impl User {
    /// The name that RBAC knows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Informer => "informer",
        }
    }

    /// The bearer token.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::Admin => "admin-token",
            Self::Informer => "informer-token",
        }
    }
}

/// The file for `--token-auth-file`: token, name, uid, groups.
pub(super) fn token_file() -> String {
    let [admin, informer] = [User::Admin, User::Informer].map(|it| (it.token(), it.name()));
    format!(
        "{},{},admin-uid,\"system:masters\"\n{},{},informer-uid\n",
        admin.0, admin.1, informer.0, informer.1
    )
}

/// A complete kubeconfig: it refers to no other file.
pub(super) fn kubeconfig(user: User, server: SocketAddr, certificate_authority: &[u8]) -> String {
    let (name, token) = (user.name(), user.token());
    let authority = STANDARD.encode(certificate_authority);
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: real
  cluster:
    server: https://{server}
    certificate-authority-data: {authority}
users:
- name: {name}
  user:
    token: {token}
contexts:
- name: {name}@real
  context:
    cluster: real
    user: {name}
current-context: {name}@real
"
    )
}
