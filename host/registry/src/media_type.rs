//! The media types of manifests, configs, layers and signatures.

/// An OCI manifest with a config and layers.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A list of manifests.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Docker's own list of manifests.
pub(crate) const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// The config of a WebAssembly artifact (CNCF, "Wasm OCI Artifact").
pub(crate) const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// The layer of a WebAssembly artifact.
pub(crate) const WASM_LAYER: &str = "application/wasm";

/// The start of the type of a sigstore bundle: the version follows.
pub(crate) const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.";

/// The payload that cosign signs for a `.sig` tag.
pub(crate) const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// A part that is only there because a manifest needs one.
pub(crate) const EMPTY: &str = "application/vnd.oci.empty.v1+json";
