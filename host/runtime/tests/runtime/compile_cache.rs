//! The cache of compiled code.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use informer_runtime::{
    CodeCache, CodeKey, Compiler, Component, Engine, EngineConfig, LoadError, Plugin, Sources,
    capabilities::{ClientSource, NoConfigFiles, NoKeyValues, NoTimers},
};
use tempfile::TempDir;

use crate::host::Setup;

const KEY: CodeKey = CodeKey::from_bytes([7; CodeKey::BYTES]);

fn engine(cache_dir: &Path) -> Engine {
    let cache = CodeCache { directory: cache_dir.to_owned(), key: KEY };
    Engine::new(&EngineConfig { cache: Some(cache), ..EngineConfig::default() }).unwrap()
}

/// Compilations that always fail.
fn engine_without_compiler(cache_dir: &Path) -> Engine {
    let cache = CodeCache { directory: cache_dir.to_owned(), key: KEY };
    let compiler = Compiler::Child { program: "/not/there".into(), arguments: Vec::new() };
    Engine::new(&EngineConfig { cache: Some(cache), compiler, ..EngineConfig::default() }).unwrap()
}

async fn component(engine: &Engine, guest: &'static str) -> Component {
    let path = tokio::task::spawn_blocking(move || informer_guests::guest(guest)).await.unwrap();
    Component::from_file(engine, &path).await.unwrap()
}

/// Loads this guest and returns its error.
async fn load(engine: &Engine, guest: &'static str) -> Result<(), String> {
    let component = component(engine, guest).await;
    let running = Setup::new("{}").idle();
    let sources = Sources {
        lister: running.cache.clone(),
        client: ClientSource::default(),
        http: running.http.clone(),
        log: running.log.clone(),
        keyvalue: Arc::new(NoKeyValues),
        config: Arc::new(NoConfigFiles),
        workqueue: running.keys.clone(),
        timers: Arc::new(NoTimers),
        wall_clock: None,
    };
    let plugin = Plugin::new(engine.clone(), Setup::new("{}").config, sources);
    plugin.load(&component).await.map(drop).map_err(|error| error.to_string())
}

/// The files of the cache with this extension.
fn kept(directory: &TempDir, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

#[tokio::test]
async fn a_second_engine_loads_the_code_that_the_first_one_compiled() {
    let directory = tempfile::tempdir().unwrap();
    load(&engine(directory.path()), "echo").await.unwrap();

    let second = engine_without_compiler(directory.path());
    load(&second, "echo").await.unwrap();

    let path = tokio::task::spawn_blocking(|| informer_guests::guest("fail_start")).await.unwrap();
    let refused = Component::from_file(&second, &path).await.unwrap_err();
    assert!(matches!(refused, LoadError::Compiler(_)), "{refused}");
    assert_eq!(
        refused.to_string(),
        "the process that compiles components failed: /not/there cannot be started: No such file or directory (os error 2)"
    );
}

/// The directory may be full of code that others planted.
#[tokio::test]
async fn code_that_was_stored_under_another_key_is_compiled_again() {
    let directory = tempfile::tempdir().unwrap();
    let cache = CodeCache { directory: directory.path().to_owned(), key: CodeKey::generate().unwrap() };
    let other = Engine::new(&EngineConfig { cache: Some(cache), ..EngineConfig::default() }).unwrap();
    // The code of a component that does not start, under the name that the code of `echo` will have.
    component(&other, "fail_start").await;
    let planted = (kept(&directory, "cwasm").remove(0), kept(&directory, "hmac").remove(0));
    load(&engine(directory.path()), "echo").await.unwrap();
    for path in kept(&directory, "cwasm").iter().filter(|path| **path != planted.0) {
        fs::copy(&planted.0, path).unwrap();
        fs::copy(&planted.1, path.with_added_extension("hmac")).unwrap();
    }

    load(&engine(directory.path()), "echo").await.unwrap();
}

#[tokio::test]
async fn damaged_code_is_compiled_again_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    load(&engine(directory.path()), "echo").await.unwrap();
    let code = kept(&directory, "cwasm").remove(0);
    let whole = fs::read(&code).unwrap();
    fs::write(&code, b"garbage").unwrap();

    load(&engine(directory.path()), "echo").await.unwrap();

    assert_eq!(fs::read(&code).unwrap().len(), whole.len());
}

#[tokio::test]
async fn without_a_usable_cache_components_are_compiled() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();

    load(&engine(&file), "echo").await.unwrap();
}

#[tokio::test]
async fn code_that_is_cut_off_or_has_one_bit_flipped_is_compiled_again_and_never_runs() {
    let directory = tempfile::tempdir().unwrap();
    load(&engine(directory.path()), "echo").await.unwrap();
    let code = kept(&directory, "cwasm").remove(0);
    let whole = fs::read(&code).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        bytes
    };

    let damages = [
        whole[..whole.len() - 1].to_vec(),
        whole[..10].to_vec(),
        Vec::new(),
        flipped(whole.len() / 2),
        flipped(9),
    ];
    for damaged in damages {
        fs::write(&code, &damaged).unwrap();

        load(&engine(directory.path()), "echo").await.unwrap();

        assert_ne!(fs::read(&code).unwrap(), damaged, "it was compiled again and replaced");
    }
}

#[tokio::test]
async fn with_a_full_cache_directory_components_are_compiled() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cache");
    let engine = engine(&path);
    // The mode of the directory would not stop the superuser.
    fs::remove_dir(&path).unwrap();
    fs::write(&path, "").unwrap();

    load(&engine, "echo").await.unwrap();

    assert_eq!(fs::read(&path).unwrap(), b"", "no code was stored");
}
