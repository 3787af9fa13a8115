//! Pushes a component in the CNCF layout for a person, with the client of `oci-client`. [`Transport`] gets the token or the password for
//! the client. The client itself would follow each redirect and each realm to get a token, even to a server without TLS.

use std::{collections::BTreeMap, time::Duration};

use oci_client::{
    Client, RegistryOperation,
    client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol},
    errors::OciDistributionError,
    manifest::{OciDescriptor, OciImageManifest},
    secrets::RegistryAuth,
    token_cache::RegistryTokenType,
};
use tokio::time::timeout;

use super::Puller;
use crate::{
    Contents, Digest, Interfaces, Reference, RegistryError, media_type,
    settings::RegistrySettings,
    transport::{Authorization, Transport, authorities, unreachable},
};

/// The operations of a push for which the client needs an authorization. The client counts a request for the presence of a blob as a
/// pull.
const OPERATIONS: [RegistryOperation; 2] = [RegistryOperation::Push, RegistryOperation::Pull];

/// The lifetime, in seconds, that the client assumes for a token if it cannot read the lifetime. [`authorised`] replaces the token
/// earlier.
const TOKEN_SECONDS: usize = 24 * 60 * 60;

/// The shortest time between two tokens for one part. A server may name a lifetime of zero.
const SHORTEST: Duration = Duration::from_secs(10);

/// A component to push.
#[derive(Clone, Debug, Default)]
pub struct Push {
    /// The bytes of the component.
    pub component: Vec<u8>,
    /// Its imports and exports, and its world.
    pub interfaces: Interfaces,
    /// When it was made (RFC 3339).
    pub created: Option<String>,
    /// The person or program that made it.
    pub author: Option<String>,
    /// Texts of the manifest by name.
    pub annotations: BTreeMap<String, String>,
}

// === impl Push ===

impl Push {
    /// The manifest and the config. They follow from the component, so the same component has the same digest each time.
    fn documents(&self) -> (Vec<u8>, Vec<u8>) {
        let layer = Digest::of(&self.component);
        let contents =
            Contents::of_component(layer, self.interfaces.clone(), self.created.clone(), self.author.clone());
        let config = contents.to_json();
        let descriptor = |media_type: &str, bytes: &[u8]| OciDescriptor {
            media_type: media_type.to_owned(),
            digest: Digest::of(bytes).to_string(),
            size: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
            ..OciDescriptor::default()
        };
        let manifest = OciImageManifest {
            media_type: Some(media_type::MANIFEST.to_owned()),
            config: descriptor(media_type::WASM_CONFIG, &config),
            layers: vec![descriptor(media_type::WASM_LAYER, &self.component)],
            annotations: (!self.annotations.is_empty()).then(|| self.annotations.clone()),
            ..OciImageManifest::default()
        };
        // Texts and numbers always have a JSON form.
        (serde_json::to_vec(&manifest).unwrap_or_default(), config)
    }
}

// === impl Puller ===

/// Pushes a component under a tag, and returns the digest of its manifest.
pub(super) async fn push(
    transport: &Transport,
    reference: &Reference,
    push: Push,
) -> Result<Digest, RegistryError> {
    if reference.tag().is_none() || reference.digest().is_some() {
        let why = "push to a tag: its digest follows from what is pushed".to_owned();
        return Err(not_pushed(reference, why));
    }
    let client = client(&transport.settings().of(reference.registry()), reference.endpoint())?;
    let image = reference.library();
    let library = |error| failure(reference, error);
    let renew = || authorise(&client, transport, reference);
    let (manifest, config) = push.documents();
    for blob in [push.component, config] {
        let digest = Digest::of(&blob).to_string();
        match authorised(renew, Box::pin(client.push_blob(image, blob, &digest))).await? {
            Ok(_) => {}
            // Some registries accept a blob and do not say where it is.
            Err(OciDistributionError::RegistryNoLocationError)
                if client.blob_exists(image, &digest).await.map_err(library)? => {}
            Err(error) => return Err(library(error)),
        }
    }
    let artifact = Digest::of(&manifest);
    let kind = http::HeaderValue::from_static(media_type::MANIFEST);
    let pushing = Box::pin(client.push_manifest_raw(image, manifest, kind));
    authorised(renew, pushing).await?.map_err(library)?;
    Ok(artifact)
}

/// Gets a token and pushes a part. Gets a new token each time that the last token ends during the push, because a slow push may take
/// longer than the lifetime of a token.
async fn authorised<T, A>(
    mut renew: impl FnMut() -> A,
    mut part: impl Future<Output = T> + Unpin,
) -> Result<T, RegistryError>
where
    A: Future<Output = Result<Option<Duration>, RegistryError>>,
{
    loop {
        let Some(lifetime) = renew().await? else { return Ok(part.await) };
        if let Ok(pushed) = timeout(lifetime.max(SHORTEST), &mut part).await {
            return Ok(pushed);
        }
    }
}

/// Gives the client a token or a password. Returns the time for which the client uses the token, or `None` if there is no token. Without
/// a token and a password, the client sends no credentials, and does not look for any.
async fn authorise(
    client: &Client,
    transport: &Transport,
    reference: &Reference,
) -> Result<Option<Duration>, RegistryError> {
    let image = reference.library();
    match transport.push_authorization(reference).await? {
        None => Ok(None),
        Some((Authorization::Basic { user, password }, _)) => {
            // `Client::auth` would send the password to any realm that a challenge names. Therefore the password goes into the cache of
            // the client. The client uses its cache only for a registry that is in its store.
            client.store_auth_if_needed(image.resolve_registry(), &RegistryAuth::Anonymous).await;
            for operation in OPERATIONS {
                let basic = RegistryTokenType::Basic(user.clone(), password.clone());
                client.tokens.insert(image, operation, basic).await;
            }
            Ok(None)
        }
        Some((Authorization::Bearer(token), lifetime)) => {
            let bearer = RegistryAuth::Bearer(token);
            for operation in OPERATIONS {
                let given = client.auth(image, &bearer, operation).await;
                given.map_err(|error| failure(reference, error))?;
            }
            Ok(Some(lifetime))
        }
    }
}

fn failure(reference: &Reference, error: OciDistributionError) -> RegistryError {
    match error {
        OciDistributionError::RequestError(error) => unreachable(reference.registry(), &error),
        error => not_pushed(reference, error.to_string()),
    }
}

fn not_pushed(reference: &Reference, why: String) -> RegistryError {
    RegistryError::NotPushed { registry: reference.registry().to_owned(), reference: reference.clone(), why }
}

fn client(settings: &RegistrySettings, host: &str) -> Result<Client, RegistryError> {
    let mut trusted = authorities(settings)?;
    if settings.insecure {
        trusted.clear();
    }
    let certificate = |der: Vec<u8>| Certificate { encoding: CertificateEncoding::Der, data: der };
    let protocol = if settings.insecure {
        ClientProtocol::HttpsExcept(vec![host.to_owned()])
    } else {
        ClientProtocol::Https
    };
    let config = ClientConfig {
        protocol,
        tls_certs_only: trusted.into_iter().map(certificate).collect(),
        default_token_expiration_secs: TOKEN_SECONDS,
        user_agent: concat!("informer/", env!("CARGO_PKG_VERSION")),
        ..ClientConfig::default()
    };
    Client::try_from(config).map_err(|error| RegistryError::Unreachable {
        registry: settings.host.clone(),
        why: error.to_string(),
    })
}

impl Puller {
    /// Pushes a component under a tag, and returns the digest of its manifest.
    ///
    /// # Errors
    /// [`RegistryError`] if the registry fails or gives no token. [`RegistryError::NotPushed`] if the reference has no tag or
    /// has a digest, or if the registry refuses the component. This error has the reason.
    ///
    /// # Cancel safety
    /// If the future is dropped, the tag has its old manifest or the new one; parts without a manifest may stay in the registry.
    pub async fn push(&self, reference: &Reference, component: Push) -> Result<Digest, RegistryError> {
        push(&self.transport(), reference, component).await
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_part_gets_a_new_token_each_time_that_the_last_one_ends() {
        for (lifetime, expected) in [(Some(30), 4), (Some(0), 10), (None, 1)] {
            let (mut tokens, part) = (0, Box::pin(tokio::time::sleep(Duration::from_secs(95))));
            let renew = || {
                tokens += 1;
                ready(Ok(lifetime.map(Duration::from_secs)))
            };

            authorised(renew, part).await.unwrap();

            assert_eq!(tokens, expected, "{lifetime:?}");
        }
    }
}
