//! Pulls components from registries: what the configuration names, if the policy accepts it, up to the bounds of this host.

mod push;
mod turns;

use std::{path::Path, sync::Arc};

use informer_system::NotPrivate;
use parking_lot::RwLock;

use crate::{
    Contents, Digest, Interfaces, Reference, RegistryError, Settings,
    manifest::{Manifest, Part},
    policy::{NotVerified, Policy},
    store::Store,
    transport::{MANIFEST_BYTES, Transport},
    verify::{Found, Judge, collect},
};

pub use push::Push;
use turns::Turns;

/// The most bytes of a config. It lists some dozens of names.
const CONFIG_BYTES: u64 = 1 << 20;

/// Pulls components, and keeps them on disk. Without a directory nothing is kept.
#[derive(Debug)]
pub struct Puller {
    transport: RwLock<Arc<Transport>>,
    store: Option<Store>,
    layer_bytes: u64,
    layers: Turns,
}

/// A component that is wanted.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    /// Its name.
    pub reference: &'a Reference,
    /// Its digest, if the configuration or the lock file names it.
    pub pin: Option<Digest>,
    /// Refuses a component by the interfaces that its config names, before it is pulled.
    pub interfaces: &'a (dyn Fn(&Interfaces) -> Result<(), String> + Send + Sync),
    /// Returns true if the component with this digest is not needed, because it is in service.
    pub known: &'a (dyn Fn(Digest) -> bool + Send + Sync),
}

/// A component that the policy accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// The digest of the manifest.
    pub artifact: Digest,
    /// The digest of the component.
    pub layer: Digest,
    /// The component; `None` if it is known.
    pub component: Option<Vec<u8>>,
    /// Bytes of the component that the registry sent: none if it is known or was cached.
    pub sent_bytes: u64,
}

/// The artifact that a registry has under a name.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The digest of the manifest.
    pub artifact: Digest,
    /// The manifest as the registry has it.
    pub manifest: String,
    /// The layer.
    pub layer: Part,
    /// The contents of the config.
    pub contents: Contents,
    /// Each signature in a few words, not verified.
    pub signatures: Vec<String>,
}

/// The place that parts are taken from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Registry,
    Cache,
}

// === impl Puller ===

impl Puller {
    /// A puller that keeps what it pulls in this directory, which is created for this user only. A component has at most
    /// `layer_bytes`.
    ///
    /// # Errors
    /// [`NotPrivate`] if others could plant files in the directory.
    pub fn new(settings: Settings, directory: Option<&Path>, layer_bytes: u64) -> Result<Self, NotPrivate> {
        let store = directory.map(Store::open).transpose()?;
        Ok(Self { store, ..Self::without_store(settings, layer_bytes) })
    }

    /// A puller that keeps nothing.
    pub fn without_store(settings: Settings, layer_bytes: u64) -> Self {
        let transport = RwLock::new(Arc::new(Transport::new(settings)));
        Self { transport, store: None, layer_bytes, layers: Turns::default() }
    }

    /// Applies other settings to what is pulled from now on. Returns true if they differ.
    pub fn configure(&self, settings: Settings) -> bool {
        let mut transport = self.transport.write();
        let other = *transport.settings() != settings;
        if other {
            *transport = Arc::new(Transport::new(settings));
        }
        other
    }

    /// Pulls what the registry has now. An artifact that is in the cache and was pulled from the same repository is not pulled
    /// again; with a pin the registry may not be asked at all.
    ///
    /// # Errors
    /// [`RegistryError`]. What is in the cache stays.
    ///
    /// # Cancel safety
    /// A dropped future pulls nothing more; whole parts stay in the cache.
    pub async fn pull(&self, wish: Wish<'_>) -> Result<Pulled, RegistryError> {
        self.obtain(wish, From::Registry).await
    }

    /// The component as it was pulled last, without asking the registry.
    ///
    /// # Errors
    /// [`RegistryError::NotCached`], or why the present policy does not accept it.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn cached(&self, wish: Wish<'_>) -> Result<Pulled, RegistryError> {
        self.obtain(wish, From::Cache).await
    }

    /// The digest that a reference has in the registry now.
    ///
    /// # Errors
    /// [`RegistryError`] if the registry does not say.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn resolve(&self, reference: &Reference) -> Result<Digest, RegistryError> {
        let transport = self.transport();
        match (reference.digest(), transport.digest(reference).await?) {
            (Some(digest), _) | (None, Some(digest)) => Ok(digest),
            (None, None) => Ok(transport.manifest(reference).await?.1),
        }
    }

    /// Reads everything but the component.
    ///
    /// # Errors
    /// [`RegistryError`] if the registry fails, or the artifact is no component.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn inspect(&self, reference: &Reference) -> Result<Inspection, RegistryError> {
        let transport = self.transport();
        let (bytes, artifact) = transport.manifest(reference).await?;
        let exact = reference.with_digest(artifact);
        let manifest = parse(reference, &bytes)?;
        let config = transport.document(&exact, manifest.config, "the config", CONFIG_BYTES).await?;
        let contents = contents(reference, &config, manifest.layer.digest)?;
        let found = collect(&transport, &exact, artifact).await?;
        Ok(Inspection {
            artifact,
            manifest: String::from_utf8_lossy(&bytes).into_owned(),
            layer: manifest.layer,
            contents,
            signatures: found.iter().map(Found::describe).collect(),
        })
    }

    /// Verifies the signatures of an artifact anew, whatever was accepted before. Returns its digest and the signers that were
    /// found; `None` if no policy fits the repository.
    ///
    /// # Errors
    /// [`RegistryError::NotVerified`] if the policy does not accept it.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn verify(
        &self,
        reference: &Reference,
        pin: Option<Digest>,
    ) -> Result<(Digest, Option<Vec<String>>), RegistryError> {
        let transport = self.transport();
        let artifact = match pin.or(reference.digest()) {
            Some(digest) => digest,
            None => self.resolve(reference).await?,
        };
        let policy = transport.settings().policy(&reference.full_repository()).cloned();
        let Some(policy) = policy else { return Ok((artifact, None)) };
        allowed(&policy, reference, pin)?;
        let found = collect(&transport, &reference.with_digest(artifact), artifact).await?;
        let reference = reference.clone();
        let signers = blocking(move || {
            let judge = Judge::new(policy)?;
            judge.judge(&reference, artifact, &found)?;
            Ok(judge.signers(artifact, &found))
        });
        Ok((artifact, Some(signers.await?)))
    }

    async fn obtain(&self, wish: Wish<'_>, from: From) -> Result<Pulled, RegistryError> {
        let transport = self.transport();
        let reference = wish.reference;
        let policy = transport.settings().policy(&reference.full_repository()).cloned();
        if let Some(policy) = &policy {
            allowed(policy, reference, wish.pin)?;
        }
        let artifact = self.artifact(&transport, wish, from).await?;
        let exact = reference.with_digest(artifact);
        let kept = self.kept(reference, artifact, from).await;
        // If the manifest comes from the registry, so do its parts: the registry has to have each of them in this repository.
        let store = self.store.as_ref().filter(|_| kept.is_some());
        let manifest = match kept {
            Some(bytes) => bytes,
            None if from == From::Registry => transport.manifest(&exact).await?.0,
            None => return Err(RegistryError::NotCached(reference.clone())),
        };
        let parsed = parse(reference, &manifest)?;
        if let Some(policy) = policy.filter(Policy::wants_signatures) {
            self.accept(&transport, (reference, artifact), policy, from).await?;
        }
        let config = match part(store, parsed.config.digest, CONFIG_BYTES).await {
            Some(bytes) => bytes,
            None if from == From::Registry => {
                transport.document(&exact, parsed.config, "the config", CONFIG_BYTES).await?
            }
            None => return Err(RegistryError::NotCached(reference.clone())),
        };
        let contents = contents(reference, &config, parsed.layer.digest)?;
        if let Some(interfaces) = &contents.component {
            let refused = |why| RegistryError::Refused { reference: reference.clone(), why };
            (wish.interfaces)(interfaces).map_err(refused)?;
        }
        let layer = parsed.layer;
        let (component, sent_bytes) = if (wish.known)(layer.digest) {
            (None, 0)
        } else {
            let (component, sent) = self.layer(&transport, store, (reference, &exact), layer, from).await?;
            (Some(component), sent)
        };
        // The note comes first: a manifest in the cache without a repository is that of an earlier version of this program.
        if let (Some(store), From::Registry) = (&self.store, from)
            && store.add_repository(artifact, reference.full_repository()).await
        {
            store
                .keep_all([(artifact, manifest.as_slice()), (parsed.config.digest, config.as_slice())])
                .await;
            // Last: a tag in the cache leads to whole artifacts.
            let is_whole = component.is_some() || store.holds(layer.digest).await;
            if is_whole && reference.digest().is_none() && wish.pin.is_none() {
                store.set_tag(reference, artifact).await;
            }
        }
        Ok(Pulled { artifact, layer: layer.digest, component, sent_bytes })
    }

    /// The digest of the manifest that is wanted.
    async fn artifact(
        &self,
        transport: &Transport,
        wish: Wish<'_>,
        from: From,
    ) -> Result<Digest, RegistryError> {
        let reference = wish.reference;
        if let Some(digest) = wish.pin.or(reference.digest()) {
            return Ok(digest);
        }
        match (from, &self.store) {
            (From::Registry, _) => match transport.digest(reference).await? {
                Some(digest) => Ok(digest),
                None => Ok(transport.manifest(reference).await?.1),
            },
            (From::Cache, Some(store)) => {
                store.tag(reference).await.ok_or_else(|| RegistryError::NotCached(reference.clone()))
            }
            (From::Cache, None) => Err(RegistryError::NotCached(reference.clone())),
        }
    }

    /// The manifest in the store, if the artifact was pulled from this repository. A repository that a tenant may use leads to no
    /// artifact of another one. If the store has no note of any repository, an earlier version of this program pulled the artifact.
    /// Such an artifact is pulled again, and is used only if that fails.
    async fn kept(&self, reference: &Reference, artifact: Digest, from: From) -> Option<Vec<u8>> {
        let (manifest, repositories) = self.store.as_ref()?.manifest(artifact, MANIFEST_BYTES).await?;
        let is_usable = match repositories {
            Some(repositories) => repositories.contains(&reference.full_repository()),
            None => from == From::Cache,
        };
        is_usable.then_some(manifest)
    }

    /// Verifies the signatures, unless the same policy has accepted them already.
    async fn accept(
        &self,
        transport: &Transport,
        (reference, artifact): (&Reference, Digest),
        policy: Policy,
        from: From,
    ) -> Result<(), RegistryError> {
        let judge = blocking(move || Ok(Judge::new(policy)?)).await?;
        let fingerprint = judge.fingerprint();
        if let Some(store) = &self.store
            && store.is_accepted(artifact, fingerprint).await
        {
            return Ok(());
        }
        if from == From::Cache {
            return Err(RegistryError::NotCached(reference.clone()));
        }
        let found = collect(transport, &reference.with_digest(artifact), artifact).await?;
        let reference = reference.clone();
        blocking(move || Ok(judge.judge(&reference, artifact, &found)?)).await?;
        if let Some(store) = &self.store {
            store.accept(artifact, fingerprint).await;
        }
        Ok(())
    }

    /// The component, and how many of its bytes the registry sent. It is taken from `kept` if that has it.
    async fn layer(
        &self,
        transport: &Transport,
        kept: Option<&Store>,
        (reference, exact): (&Reference, &Reference),
        layer: Part,
        from: From,
    ) -> Result<(Vec<u8>, u64), RegistryError> {
        if let Some(bytes) = part(kept, layer.digest, self.layer_bytes).await {
            return Ok((bytes, 0));
        }
        if from == From::Cache {
            return Err(RegistryError::NotCached(reference.clone()));
        }
        let _turn = self.layers.take(transport.settings(), reference.registry()).await;
        let bytes = transport.layer(exact, layer, self.layer_bytes).await?;
        tracing::info!(%reference, digest = %layer.digest, bytes = bytes.len(), "a component was pulled");
        if let Some(store) = &self.store {
            store.keep_all([(layer.digest, bytes.as_slice())]).await;
        }
        let sent = bytes.len() as u64;
        Ok((bytes, sent))
    }

    fn transport(&self) -> Arc<Transport> {
        Arc::clone(&self.transport.read())
    }
}

async fn part(store: Option<&Store>, digest: Digest, limit: u64) -> Option<Vec<u8>> {
    store?.part(digest, limit).await
}

/// Refuses what the policy refuses without a look at signatures.
fn allowed(policy: &Policy, reference: &Reference, pin: Option<Digest>) -> Result<(), NotVerified> {
    let (reference, repository) = (reference.clone(), policy.repository.to_string());
    if policy.refuse {
        return Err(NotVerified::Refuse { reference, repository });
    }
    if policy.pinned && pin.or(reference.digest()).is_none() {
        return Err(NotVerified::Unpinned { reference, repository });
    }
    Ok(())
}

fn parse(reference: &Reference, bytes: &[u8]) -> Result<Manifest, RegistryError> {
    Manifest::parse(bytes).map_err(|source| RegistryError::Manifest { reference: reference.clone(), source })
}

fn contents(reference: &Reference, bytes: &[u8], layer: Digest) -> Result<Contents, RegistryError> {
    Contents::parse(bytes, layer)
        .map_err(|source| RegistryError::Contents { reference: reference.clone(), source })
}

/// Runs cryptography and reads of small files on a thread where nothing else waits.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RegistryError> + Send + 'static,
) -> Result<T, RegistryError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}
