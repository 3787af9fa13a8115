//! The handler as a sandboxed component.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    path::Path,
    sync::Arc,
};

use anyhow::{Context, Result};
use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use informer_dispatch::workqueue::{RateLimiter, RateLimitingQueue};
use informer_runtime::{
    CodeCache, CodeKey, Component, Engine, EngineConfig, Grants, InstancePolicy, Limits, LogLevel, LogLine,
    LogSink, Plugin, PluginConfig, Sources, TrialConfig,
    capabilities::{
        ClientSource, HttpClient, HttpConfig, ListError, ListerQuery, ListerSource, NoConfigFiles,
        NoKeyValues, NoTimers,
    },
};
use informer_types::{Gvr, Object, ObjectKey};

/// A lister without objects. The component has no grant to use it.
struct NoLister;

/// Writes log lines of the component to standard error. There should be none.
struct StandardError;

/// Compiles the component into the code cache, so that the measured process does not have to. Objects would reuse the
/// memory that a compiler leaves behind, and would seem to cost nothing.
///
/// # Errors
/// The component does not exist or does not compile.
pub async fn compile(component: &Path, code_cache: &Path) -> Result<()> {
    load_code(component, code_cache).await.map(|_| ())
}

/// A plugin that serves the component with the host's default limits and instances.
///
/// # Errors
/// Those of [`compile`], or the component cannot be started.
pub async fn load(component: &Path, code_cache: &Path) -> Result<Plugin> {
    let (engine, component) = load_code(component, code_cache).await?;
    let config = PluginConfig {
        name: Arc::from(super::PLUGIN),
        config_json: "{}".to_owned(),
        grants: Grants::default(),
        limits: Limits::default(),
        instance: InstancePolicy::default(),
        instances: NonZeroUsize::MIN,
        trial: TrialConfig::default(),
    };
    // The component adds no keys.
    let workqueue = RateLimitingQueue::new(NonZeroUsize::MIN, RateLimiter::bucket(1.0, NonZeroU32::MIN));
    let plugin = Plugin::new(
        engine,
        config,
        Sources {
            lister: Arc::new(NoLister),
            client: ClientSource::default(),
            http: HttpClient::new(HttpConfig::default())?,
            log: Arc::new(StandardError),
            keyvalue: Arc::new(NoKeyValues),
            config: Arc::new(NoConfigFiles),
            workqueue: Arc::new(workqueue),
            timers: Arc::new(NoTimers),
            wall_clock: None,
        },
    );
    plugin.load(&component).await.context("cannot load the component")?;
    Ok(plugin)
}

async fn load_code(component: &Path, code_cache: &Path) -> Result<(Engine, Component)> {
    // Each run has a directory of its own, so the key is no secret.
    let cache = CodeCache { directory: code_cache.to_owned(), key: CodeKey::from_bytes([0; CodeKey::BYTES]) };
    let engine = Engine::new(&EngineConfig { cache: Some(cache), ..EngineConfig::default() })?;
    let component = Component::from_file(&engine, component)
        .await
        .with_context(|| format!("cannot compile {}; `cargo xtask guests` builds it", component.display()))?;
    Ok((engine, component))
}

// === impl NoLister ===

impl ListerSource for NoLister {
    fn get(&self, gvr: &Gvr, _key: &ObjectKey) -> Result<Option<Arc<Object>>, ListError> {
        Err(ListError::UnknownResource(gvr.clone()))
    }

    fn list(&self, gvr: &Gvr, _query: &ListerQuery<'_>) -> Result<Vec<Arc<Object>>, ListError> {
        Err(ListError::UnknownResource(gvr.clone()))
    }

    fn has_synced(&self, gvr: &Gvr) -> Result<bool, ListError> {
        Err(ListError::UnknownResource(gvr.clone()))
    }

    fn wait_until<'a>(
        &'a self,
        gvr: &'a Gvr,
        _namespace: Option<&'a str>,
        _resource_version: &'a str,
    ) -> BoxFuture<'a, Result<(), ListError>> {
        ready(Err(ListError::UnknownResource(gvr.clone()))).boxed()
    }
}

// === impl StandardError ===

impl LogSink for StandardError {
    fn enabled(&self, _plugin: &str, level: LogLevel) -> bool {
        level >= LogLevel::Warn
    }

    #[expect(clippy::print_stderr, reason = "log lines of the component explain a failed run")]
    fn line(&self, line: &LogLine<'_>) {
        eprintln!("{}: {}", line.plugin, line.message);
    }
}
