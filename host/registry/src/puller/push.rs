//! Pushes a component in the CNCF layout, for a person: with the client of `oci-client`.

use std::collections::BTreeMap;

use oci_client::{
    Client, RegistryOperation,
    client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol},
    errors::OciDistributionError,
    manifest::{OciDescriptor, OciImageManifest},
    secrets::RegistryAuth,
};

use super::Puller;
use crate::{
    Contents, Digest, Interfaces, Reference, RegistryError,
    credentials::Credentials,
    media_type,
    settings::RegistrySettings,
    transport::{authorities, unreachable},
};

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
    settings: &RegistrySettings,
    reference: &Reference,
    push: Push,
) -> Result<Digest, RegistryError> {
    let failed = |why: String| RegistryError::NotPushed {
        registry: reference.registry().to_owned(),
        reference: reference.clone(),
        why,
    };
    if reference.tag().is_none() || reference.digest().is_some() {
        return Err(failed("push to a tag: its digest follows from what is pushed".to_owned()));
    }
    let auth = match Credentials::of(settings).await? {
        Credentials::Anonymous => RegistryAuth::Anonymous,
        Credentials::Basic { user, password } => RegistryAuth::Basic(user, password),
        Credentials::Identity(_) => {
            return Err(failed(
                "an identity token cannot push; log in with a user and a password".to_owned(),
            ));
        }
    };
    let client = client(settings, reference.endpoint())?;
    let image = reference.library();
    let library = |error: OciDistributionError| match error {
        OciDistributionError::RequestError(error) => unreachable(reference.registry(), &error),
        error => failed(error.to_string()),
    };
    client.auth(image, &auth, RegistryOperation::Push).await.map_err(library)?;
    let (manifest, config) = push.documents();
    for blob in [push.component, config] {
        let digest = Digest::of(&blob).to_string();
        match client.push_blob(image, blob, &digest).await {
            Ok(_) => {}
            // Some registries accept a blob and do not say where it is.
            Err(OciDistributionError::RegistryNoLocationError)
                if client.blob_exists(image, &digest).await.map_err(library)? => {}
            Err(error) => return Err(library(error)),
        }
    }
    let artifact = Digest::of(&manifest);
    let kind = http::HeaderValue::from_static(media_type::MANIFEST);
    client.push_manifest_raw(image, manifest, kind).await.map_err(library)?;
    Ok(artifact)
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
    /// [`RegistryError::NotPushed`] with what the registry says.
    ///
    /// # Cancel safety
    /// If the future is dropped, the tag has its old manifest or the new one; parts without a manifest may stay in the registry.
    pub async fn push(&self, reference: &Reference, component: Push) -> Result<Digest, RegistryError> {
        let settings = self.transport().settings().of(reference.registry());
        push(&settings, reference, component).await
    }
}
