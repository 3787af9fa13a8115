//! Compiled code kept between runs.

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

/// What becomes of this guest when it is loaded.
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

/// The files kept, with this extension.
fn kept(directory: &TempDir, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

#[tokio::test]
async fn a_second_engine_takes_the_code_the_first_one_compiled() {
    let directory = tempfile::tempdir().unwrap();
    load(&engine(directory.path()), "echo").await.unwrap();
    let (code, checksum) = (kept(&directory, "cwasm").remove(0), kept(&directory, "sha256").remove(0));

    // Whose code it is that runs shows when the code of another guest lies in its place.
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
async fn a_cache_that_cannot_be_used_only_costs_time() {
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
async fn a_directory_that_takes_nothing_any_more_only_costs_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cache");
    let engine = engine(&path);
    // Not by its mode: to the superuser everything is writable.
    fs::remove_dir(&path).unwrap();
    fs::write(&path, "").unwrap();

    load(&engine, "echo").await.unwrap();

    assert_eq!(fs::read(&path).unwrap(), b"", "nothing was kept");
}

#[tokio::test]
async fn what_takes_too_long_to_compile_is_refused_until_it_is_compiled_and_the_version_in_service_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    component(&engine(directory.path()), "echo").await;
    let hasty = Engine::new(&EngineConfig {
        cache_dir: Some(directory.path().to_owned()),
        compile_timeout: Duration::ZERO,
        ..EngineConfig::default()
    })
    .unwrap();
    // What is compiled already takes no time.
    load(&hasty, "echo").await.unwrap();

    let path = tokio::task::spawn_blocking(|| informer_guests::guest("fail_start")).await.unwrap();
    let begun = Instant::now();
    let refused = loop {
        match Component::from_file(&hasty, &path).await {
            Err(refused) => break refused,
            // A busy machine may have compiled it before it was looked at for the first time.
            Ok(_) => kept(&directory, "cwasm").iter().for_each(|code| fs::remove_file(code).unwrap()),
        }
        assert!(begun.elapsed() < PATIENCE);
    };
    assert!(matches!(refused, LoadError::TooLong { .. }), "{refused}");

    // It goes on for nobody, and is there for whoever asks again.
    let begun = Instant::now();
    while Component::from_file(&hasty, &path).await.is_err() {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
