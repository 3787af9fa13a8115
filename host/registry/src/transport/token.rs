//! The challenge of a registry before it answers: a password, or a token that another server issues.

use std::{fmt, time::Duration};

use http::HeaderValue;
use http_auth::parser::ChallengeParser;
use reqwest::{RequestBuilder, Url};
use serde::Deserialize;

use super::{failure::read_error, wire::Wire};
use crate::{RegistryError, credentials::Credentials};

/// The most bytes of the answer with a token.
const TOKEN_BYTES: usize = 256 << 10;

/// The lifetime of a token that does not name it, by the specification.
const LIFETIME: Duration = Duration::from_secs(60);

/// The longest lifetime that is used. A server may name any number, and a clock cannot count all of them.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// A token is not used in its last seconds.
const MARGIN: Duration = Duration::from_secs(10);

/// How long a password is used without being read again.
const PASSWORD_LIFETIME: Duration = Duration::from_secs(60);

/// The actions that a token permits.
pub(super) const PULL: &str = "pull";
pub(super) const PUSH: &str = "pull,push";

/// A challenge of a registry.
#[derive(Debug, Default, PartialEq, Eq)]
enum Challenge {
    #[default]
    Other,
    Basic,
    Bearer {
        realm: String,
        service: Option<String>,
    },
}

/// The credentials that are sent to a registry with each request.
#[derive(Clone)]
pub(crate) enum Authorization {
    Basic { user: String, password: String },
    Bearer(String),
}

/// The answer of a server that issues tokens.
#[derive(Deserialize)]
struct Issued {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization")
    }
}

/// The credentials that are sent to the registry, and how long they are used; `None` if its challenges cannot be answered.
pub(super) async fn answer(
    wire: &Wire,
    challenges: &[String],
    (repository, actions): (&str, &str),
    credentials: &Credentials,
) -> Result<Option<(Authorization, Duration)>, RegistryError> {
    for challenge in challenges.iter().flat_map(|header| read(header)) {
        match (challenge, credentials) {
            (Challenge::Bearer { realm, service }, _) => {
                let issued =
                    issue(wire, (&realm, service.as_deref()), (repository, actions), credentials).await?;
                let lifetime = issued.expires_in.map_or(LIFETIME, Duration::from_secs).min(LONGEST);
                let lifetime = lifetime.saturating_sub(MARGIN);
                let token = issued.token.or(issued.access_token).filter(|token| !token.is_empty());
                return Ok(token.map(|token| (Authorization::Bearer(token), lifetime)));
            }
            (Challenge::Basic, Credentials::Basic { user, password }) => {
                let authorization = Authorization::Basic { user: user.clone(), password: password.clone() };
                return Ok(Some((authorization, PASSWORD_LIFETIME)));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// The challenges of a header, those that can be answered first.
fn read(header: &str) -> Vec<Challenge> {
    let mut found: Vec<Challenge> = ChallengeParser::new(header)
        .map_while(Result::ok)
        .map(|challenge| {
            let parameter = |name: &str| {
                let own = challenge.params.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
                own.map(|(_, value)| value.to_unescaped())
            };
            if challenge.scheme.eq_ignore_ascii_case("basic") {
                return Challenge::Basic;
            }
            match parameter("realm").filter(|_| challenge.scheme.eq_ignore_ascii_case("bearer")) {
                Some(realm) => Challenge::Bearer { realm, service: parameter("service") },
                None => Challenge::Other,
            }
        })
        .collect();
    found.retain(|challenge| *challenge != Challenge::Other);
    found
}

/// Gets a token for these actions in a repository.
async fn issue(
    wire: &Wire,
    (realm, service): (&str, Option<&str>),
    (repository, actions): (&str, &str),
    credentials: &Credentials,
) -> Result<Issued, RegistryError> {
    let unauthorized = |why: String| RegistryError::Unauthorized {
        registry: wire.settings().host.clone(),
        repository: repository.to_owned(),
        why,
    };
    let Some(url) = wire.realm(realm) else {
        return Err(unauthorized(format!("it names {realm:?} for tokens, which is no https URL")));
    };
    let scope = format!("repository:{repository}:{actions}");
    let mut response = wire.sent(request(wire, url, (&scope, service), credentials)).await?;
    if !response.status().is_success() {
        let (status, why) = (response.status().as_u16(), read_error(response).await);
        let with = if credentials.is_anonymous() { "without" } else { "with" };
        return Err(unauthorized(format!("no token {with} the credentials of this host ({status}): {why}")));
    }
    let mut bytes = Vec::new();
    while let Some(piece) =
        response.chunk().await.map_err(|error| unauthorized(error.without_url().to_string()))?
    {
        bytes.extend_from_slice(&piece);
        if bytes.len() > TOKEN_BYTES {
            let why = format!("the answer with the token is larger than {TOKEN_BYTES} bytes");
            return Err(unauthorized(why));
        }
    }
    let issued: Issued = serde_json::from_slice(&bytes)
        .map_err(|error| unauthorized(format!("the answer with the token cannot be read: {error}")))?;
    // The client that pushes panics if a token cannot be part of a header.
    let is_unusable = |token: &String| HeaderValue::from_str(token).is_err();
    if issued.token.as_ref().is_some_and(is_unusable) || issued.access_token.as_ref().is_some_and(is_unusable)
    {
        return Err(unauthorized("the token has a character that no header may have".to_owned()));
    }
    Ok(issued)
}

/// The request for a token, with the credentials in the form that the specification has for them.
fn request(
    wire: &Wire,
    mut url: Url,
    (scope, service): (&str, Option<&str>),
    credentials: &Credentials,
) -> RequestBuilder {
    let mut parameters = vec![("scope", scope)];
    parameters.extend(service.map(|service| ("service", service)));
    if let Credentials::Identity(token) = credentials {
        parameters.extend([
            ("grant_type", "refresh_token"),
            ("client_id", "informer"),
            ("refresh_token", token),
        ]);
        let mut form = without_query(&url);
        form.query_pairs_mut().extend_pairs(&parameters);
        let form = form.query().unwrap_or_default().to_owned();
        let kind = "application/x-www-form-urlencoded";
        return wire.tokens().post(url).header(http::header::CONTENT_TYPE, kind).body(form);
    }
    url.query_pairs_mut().extend_pairs(&parameters);
    let request = wire.tokens().get(url);
    match credentials {
        Credentials::Basic { user, password } => request.basic_auth(user, Some(password)),
        _ => request,
    }
}

/// A URL without a query, to encode a form with.
fn without_query(url: &Url) -> Url {
    let mut form = url.clone();
    form.set_query(None);
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_name_a_place_for_tokens_or_want_a_password() {
        let bearer = |realm: &str, service: Option<&str>| Challenge::Bearer {
            realm: realm.to_owned(),
            service: service.map(str::to_owned),
        };
        for (header, expected) in [
            (r#"Bearer realm="https://a/t",service="a""#, vec![bearer("https://a/t", Some("a"))]),
            (r#"bearer realm="https://a/t""#, vec![bearer("https://a/t", None)]),
            (r#"Basic realm="x""#, vec![Challenge::Basic]),
            (r#"Negotiate, Basic realm="x""#, vec![Challenge::Basic]),
            (r#"Bearer service="a""#, vec![]),
            ("", vec![]),
            ("\"", vec![]),
        ] {
            assert_eq!(read(header), expected, "{header}");
        }
    }
}
