use tempfile::TempDir;

use super::*;

const DIGEST: &str = "0123";

struct Fixture {
    directory: TempDir,
    engine: wasmtime::Engine,
    cache: CompileCache,
}

fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let engine = wasmtime::Engine::default();
    let cache = CompileCache::open(&directory.path().join("cache"), &engine).unwrap();
    Fixture { directory, engine, cache }
}

fn compiled(engine: &wasmtime::Engine) -> Vec<u8> {
    Component::new(engine, "(component)").unwrap().serialize().unwrap()
}

#[test]
fn stored_code_is_loaded_again() {
    let Fixture { engine, cache, directory: _directory } = fixture();
    assert!(cache.load(&engine, DIGEST).is_none());

    cache.store(DIGEST, &compiled(&engine)).unwrap();

    assert!(cache.load(&engine, DIGEST).is_some());
    assert!(cache.load(&engine, "another").is_none());
    let names: Vec<_> =
        fs::read_dir(&cache.directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "no partial file is left: {names:?}");
}

#[test]
fn the_directory_belongs_to_this_user_only() {
    let Fixture { cache, directory: _directory, .. } = fixture();

    assert_eq!(fs::metadata(&cache.directory).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_directory_that_others_may_write_is_refused() {
    let Fixture { directory, engine, .. } = fixture();
    let open = directory.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();

    let refused = CompileCache::open(&open, &engine).unwrap_err().to_string();

    assert!(refused.contains("other users may write to it") && refused.contains("0700"), "{refused}");
}

#[test]
fn damaged_code_is_never_loaded() {
    let Fixture { engine, cache, directory: _directory } = fixture();
    let code = compiled(&engine);
    let path = cache.path(DIGEST);

    cache.store(DIGEST, &code).unwrap();
    fs::write(&path, &code[..code.len() / 2]).unwrap();
    assert!(cache.load(&engine, DIGEST).is_none(), "cut off");

    let mut flipped = code.clone();
    *flipped.last_mut().unwrap() ^= 1;
    fs::write(&path, &flipped).unwrap();
    assert!(cache.load(&engine, DIGEST).is_none(), "one bit flipped");

    fs::write(&path, &code).unwrap();
    fs::remove_file(checksum_path(&path)).unwrap();
    assert!(cache.load(&engine, DIGEST).is_none(), "no checksum");

    cache.store(DIGEST, &code).unwrap();
    assert!(cache.load(&engine, DIGEST).is_some(), "stored again");
}

#[test]
fn bytes_that_are_not_compiled_code_are_not_loaded_even_with_a_valid_checksum() {
    let Fixture { engine, cache, directory: _directory } = fixture();

    cache.store(DIGEST, b"not compiled code").unwrap();

    assert!(cache.load(&engine, DIGEST).is_none());
}

#[test]
fn code_for_other_settings_is_not_loaded() {
    let Fixture { cache, directory: _directory, .. } = fixture();
    let mut settings = wasmtime::Config::new();
    settings.epoch_interruption(true);
    let other = wasmtime::Engine::new(&settings).unwrap();
    cache.store(DIGEST, &compiled(&other)).unwrap();

    assert!(cache.load(&wasmtime::Engine::default(), DIGEST).is_none());

    let of_other = CompileCache::open(&cache.directory, &other).unwrap();
    assert_ne!(of_other.path(DIGEST), cache.path(DIGEST));
}

#[test]
fn code_of_another_wasmtime_is_not_loaded_even_under_the_file_name_of_this_one() {
    let Fixture { engine, cache, directory: _directory } = fixture();
    let mut settings = wasmtime::Config::new();
    settings.module_version(wasmtime::ModuleVersionStrategy::Custom("1.2.3".to_owned())).unwrap();
    let other = wasmtime::Engine::new(&settings).unwrap();
    cache.store(DIGEST, &compiled(&other)).unwrap();

    assert!(cache.load(&engine, DIGEST).is_none());

    let of_other = CompileCache::open(&cache.directory, &other).unwrap();
    assert_ne!(of_other.path(DIGEST), cache.path(DIGEST), "its file name differs, too");
    assert!(cache.load(&other, DIGEST).is_some(), "the other engine loads it");
}
