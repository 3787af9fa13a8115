//! Requests that a plugin sends as a ServiceAccount. The API server authorizes and audits them as requests of the ServiceAccount.

use http::{HeaderName, HeaderValue, Request, header::InvalidHeaderValue};
use informer_types::ServiceAccount;

/// The user. If it is a ServiceAccount and no groups are named, the API server adds the groups that every ServiceAccount of that
/// namespace has. So the host needs the permission to impersonate this ServiceAccount, and none to impersonate groups.
const USER: HeaderName = HeaderName::from_static("impersonate-user");

/// The prefix of the names of all headers of impersonation.
const PREFIX: &str = "impersonate-";

/// The mark of a request that is sent as a ServiceAccount.
#[derive(Clone)]
struct Acting(HeaderValue);

/// Sends this request as a ServiceAccount.
///
/// # Errors
/// Never, for a ServiceAccount that was read from a text.
pub(super) fn act_as<B>(
    account: &ServiceAccount,
    request: &mut Request<B>,
) -> Result<(), InvalidHeaderValue> {
    let user = HeaderValue::try_from(account.to_string())?;
    request.headers_mut().insert(USER, user.clone());
    request.extensions_mut().insert(Acting(user));
    Ok(())
}

/// Lets the ServiceAccount of a request replace the identity that `as` of the kubeconfig adds to every request: a request has one.
pub(super) fn only_one<B>(mut request: Request<B>) -> Request<B> {
    let Some(Acting(user)) = request.extensions_mut().remove() else { return request };
    let headers = request.headers_mut();
    let others: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(PREFIX)).cloned().collect();
    for other in others {
        headers.remove(other);
    }
    headers.insert(USER, user);
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_account_of_a_request_replaces_the_identity_of_the_kubeconfig() {
        let mut request = Request::new(());
        act_as(&"system:serviceaccount:shop:reloader".parse().unwrap(), &mut request).unwrap();
        for (name, value) in [
            ("impersonate-user", "admin"),
            ("impersonate-group", "system:masters"),
            ("impersonate-uid", "1"),
            ("impersonate-extra-scopes", "all"),
        ] {
            request.headers_mut().append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }

        let request = only_one(request);

        let sent: Vec<_> = request.headers().iter().collect();
        let user = HeaderValue::from_static("system:serviceaccount:shop:reloader");
        assert_eq!(sent, [(&USER, &user)]);
    }

    #[test]
    fn a_request_of_the_host_keeps_the_identity_of_the_kubeconfig() {
        let request = Request::builder().header("impersonate-user", "admin").header("impersonate-group", "a");
        let request = only_one(request.body(()).unwrap());
        assert_eq!(request.headers().len(), 2);
    }
}
