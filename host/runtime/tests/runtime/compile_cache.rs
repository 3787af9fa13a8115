//! The cache of compiled code.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use informer_runtime::{
    Component, Engine, EngineConfig, LoadError, Plugin, Sources,
    capabilities::{ClientSource, NoConfigFiles, NoKeyValues},
};
use tempfile::TempDir;

use crate::host::{PATIENCE, Setup};

fn engine(cache_dir: &Path) -> Engine {
    Engine::new(&EngineConfig { cache_dir: Some(cache_dir.to_owned()), ..EngineConfig::default() }).unwrap()
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
    let (code, checksum) = (kept(&directory, "cwasm").remove(0), kept(&directory, "sha256").remove(0));

    // With the code of another guest under its name, that code runs: so the second engine loads and does not compile.
    let other = tempfile::tempdir().unwrap();
    component(&engine(other.path()), "fail_start").await;
    fs::copy(kept(&other, "cwasm").remove(0), &code).unwrap();
    fs::copy(kept(&other, "sha256").remove(0), &checksum).unwrap();

    let refused = load(&engine(directory.path()), "echo").await.unwrap_err();
    assert!(refused.contains("there is no shop of that name"), "{refused}");
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

#[tokio::test]
async fn a_component_that_takes_too_long_to_compile_is_refused_until_it_is_compiled_and_the_old_version_serves()
 {
    let directory = tempfile::tempdir().unwrap();
    component(&engine(directory.path()), "echo").await;
    let hasty = Engine::new(&EngineConfig {
        cache_dir: Some(directory.path().to_owned()),
        compile_timeout: Duration::ZERO,
        ..EngineConfig::default()
    })
    .unwrap();
    // Compiled code in the cache needs no time.
    load(&hasty, "echo").await.unwrap();

    let path = tokio::task::spawn_blocking(|| informer_guests::guest("fail_start")).await.unwrap();
    let begun = Instant::now();
    let refused = loop {
        match Component::from_file(&hasty, &path).await {
            Err(refused) => break refused,
            // On a busy machine the compilation may end before the first check.
            Ok(_) => kept(&directory, "cwasm").iter().for_each(|code| fs::remove_file(code).unwrap()),
        }
        assert!(begun.elapsed() < PATIENCE);
    };
    assert!(matches!(refused, LoadError::TooLong { .. }), "{refused}");

    // The abandoned compilation goes on, and the next load finds its code.
    let begun = Instant::now();
    while Component::from_file(&hasty, &path).await.is_err() {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
