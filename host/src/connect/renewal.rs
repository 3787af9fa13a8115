//! The remedy if the API server does not accept the credentials of this host: where they come from, and what to do there.

use std::{env, path::Path};

use kube::config::AuthInfo;

use crate::config::Access;

/// The directory in a pod that the kubelet fills.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Returns what an operator does after an answer 401 that lasts. It names a place and no secret.
pub(super) fn renewal(access: &Access, credentials: &AuthInfo, user: &str) -> String {
    let AuthInfo { auth_provider, username, password, token, token_file, exec, .. } = credentials;
    let AuthInfo { client_certificate, client_certificate_data, .. } = credentials;
    let of_user = || match user {
        "" => format!("the kubeconfig {}", kubeconfig(access)),
        user => format!("the user {user} in the kubeconfig {}", kubeconfig(access)),
    };
    let inside = |what: &str| format!("renew {what} of {} and start this host again", of_user());
    // The order is that of kube, and a token file has precedence over a token.
    if auth_provider.is_some() {
        return inside("the id-token");
    }
    if username.is_some() && password.is_some() {
        return inside("the password");
    }
    if token.is_some() && token_file.is_none() {
        return inside("the token");
    }
    match (token_file, exec, client_certificate, client_certificate_data) {
        (Some(path), ..) if Path::new(path).starts_with(SERVICE_ACCOUNT) => format!(
            "the token in {path} is that of this pod's ServiceAccount: check that the ServiceAccount was not deleted or made \
             anew, and that the kubelet renews the file; this host reads it again by itself"
        ),
        (Some(path), ..) => {
            format!("write a valid token to {path}; this host reads the file again by itself")
        }
        (_, Some(exec), ..) => format!(
            "run the command `{}` of {} by hand and see whose credentials it gives; this host runs it again by itself",
            exec.command.as_deref().unwrap_or_default(),
            of_user()
        ),
        (_, _, _, Some(_)) => inside("the client certificate"),
        (_, _, Some(path), _) => {
            format!("renew the client certificate {path}; this host reads the file again by itself")
        }
        (None, None, None, None) => match access {
            Access::Server(_) => {
                "requests carry no credentials, because [cluster] server names the API server; name a \
                                  kubeconfig under [cluster] kubeconfig instead"
                    .to_owned()
            }
            _ => format!(
                "requests carry no credentials; add a token, a client certificate or exec to {}",
                of_user()
            ),
        },
    }
}

/// The file, or the files of the variable, that kube reads.
fn kubeconfig(access: &Access) -> String {
    let named = match access {
        Access::Kubeconfig { path, .. } => path.clone(),
        _ => None,
    };
    let named = named.map(|path| path.display().to_string());
    let variable = || env::var("KUBECONFIG").ok().filter(|paths| !paths.is_empty());
    named.or_else(variable).unwrap_or_else(|| "~/.kube/config".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_remedy_names_the_place_of_the_credentials_and_no_secret() {
        let access = Access::Kubeconfig { path: Some("/etc/kubeconfig".into()), context: None };
        let pod = format!("{SERVICE_ACCOUNT}/token");
        for (credentials, expected) in [
            (
                json!({ "tokenFile": "/run/token" }),
                "write a valid token to /run/token; this host reads the file again",
            ),
            (
                json!({ "tokenFile": pod }),
                "the token in /var/run/secrets/kubernetes.io/serviceaccount/token is that of this pod",
            ),
            (
                json!({ "exec": { "command": "aws", "args": ["secret"] } }),
                "run the command `aws` of the user me in the kubeconfig /etc/kubeconfig by hand",
            ),
            (
                json!({ "token": "secret", "tokenFile": "/run/token" }),
                "write a valid token to /run/token; this host reads the file again",
            ),
            (
                json!({ "token": "secret" }),
                "renew the token of the user me in the kubeconfig /etc/kubeconfig and start",
            ),
            (
                json!({ "username": "me", "password": "secret" }),
                "renew the password of the user me in the kubeconfig",
            ),
            (
                json!({ "client-certificate-data": "secret", "client-key-data": "secret" }),
                "renew the client certificate of the user me in the kubeconfig",
            ),
            (
                json!({ "client-certificate": "/run/crt", "client-key": "/run/key" }),
                "renew the client certificate /run/crt; this host reads the file again by itself",
            ),
            (
                json!({}),
                "requests carry no credentials; add a token, a client certificate or exec to the user me",
            ),
        ] {
            let credentials: AuthInfo = serde_json::from_value(credentials).unwrap();
            let remedy = renewal(&access, &credentials, "me");
            assert!(remedy.starts_with(expected), "{remedy}");
            assert!(!remedy.replace(SERVICE_ACCOUNT, "").contains("secret"), "{remedy}");
        }
        let url = Access::Server("http://127.0.0.1:8001".parse().unwrap());
        let remedy = renewal(&url, &AuthInfo::default(), "");
        assert!(remedy.contains("name a kubeconfig under [cluster] kubeconfig instead"), "{remedy}");
    }
}
