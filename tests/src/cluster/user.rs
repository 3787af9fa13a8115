//! The users of the API server, and their kubeconfigs.

use std::net::SocketAddr;

use base64::{Engine, engine::general_purpose::STANDARD};

/// A user that the API server authenticates by a token.
///
/// The tokens are constants: each server exists for one test, on loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// A member of the group `system:masters`, which may do everything.
    Admin,
    /// A user without permissions, until a test binds a role to the user `informer`.
    Informer,
}

// === impl User ===

impl User {
    /// The name of the user in RBAC.
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

/// The content of the file for `--token-auth-file`: token, name, uid, groups.
pub(super) fn token_file() -> String {
    let [admin, informer] = [User::Admin, User::Informer].map(|it| (it.token(), it.name()));
    format!(
        "{},{},admin-uid,\"system:masters\"\n{},{},informer-uid\n",
        admin.0, admin.1, informer.0, informer.1
    )
}

/// A complete kubeconfig without references to other files.
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
