//! The handler as a sandboxed component.

use std::{path::Path, sync::Arc};

use anyhow::{Context, Result};
use informer_runtime::{
    CodeCache, CodeKey, Component, Engine, EngineConfig, LogLevel, LogLine, LogSink, Plugin, PluginConfig,
    Sources,
    capabilities::{HttpClient, HttpConfig},
};

use crate::collection::Kind;

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

/// A plugin that reads two fields of this kind in the component, with the host's default limits and instances.
///
/// # Errors
/// Fails as [`compile`] does, or if the component cannot be started.
pub async fn load(component: &Path, code_cache: &Path, kind: Kind) -> Result<Plugin> {
    let (engine, component) = load_code(component, code_cache).await?;
    let config = PluginConfig {
        config_json: serde_json::json!({ "fields": kind.two_fields() }).to_string(),
        ..PluginConfig::new(super::PLUGIN)
    };
    let plugin = Plugin::new(
        engine,
        config,
        // The component has no grant and adds no keys.
        Sources { log: Arc::new(StandardError), ..Sources::nothing(HttpClient::new(HttpConfig::default())?) },
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
