use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
};

use tempfile::TempDir;

use super::{super::compiler::Codegen, *};

const DIGEST: &str = "0123";

struct Fixture {
    directory: TempDir,
    engine: wasmtime::Engine,
    cache: CompileCache,
}

fn key(byte: u8) -> CodeKey {
    CodeKey::from_bytes([byte; CodeKey::BYTES])
}

fn open(directory: &std::path::Path, key: CodeKey, engine: &wasmtime::Engine) -> CompileCache {
    CompileCache::open(&CodeCache { directory: directory.to_owned(), key }, engine).unwrap()
}

fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let engine = wasmtime::Engine::default();
    let cache = open(&directory.path().join("cache"), key(1), &engine);
    Fixture { directory, engine, cache }
}

fn compiled(engine: &wasmtime::Engine) -> Vec<u8> {
    Component::new(engine, wat::parse_str("(component)").unwrap()).unwrap().serialize().unwrap()
}

impl CompileCache {
    fn put(&self, digest: &str, code: &[u8]) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(code).unwrap();
        self.store(digest, &file).unwrap();
    }

    fn code(&self, digest: &str) -> PathBuf {
        self.directory.join(&self.name(digest))
    }

    fn tag_file(&self, digest: &str) -> PathBuf {
        self.directory.join(&tag_name(&self.name(digest)))
    }
}

#[test]
fn stored_code_is_loaded_again() {
    let Fixture { engine, cache, directory: _directory } = fixture();
    assert!(cache.load(&engine, DIGEST).is_none());

    cache.put(DIGEST, &compiled(&engine));

    assert!(cache.load(&engine, DIGEST).is_some());
    assert!(cache.load(&engine, "another").is_none());
    let names: Vec<_> =
        fs::read_dir(cache.directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "no partial file is left: {names:?}");
}

#[test]
fn the_directory_belongs_to_this_user_only() {
    let Fixture { cache, directory: _directory, .. } = fixture();

    assert_eq!(fs::metadata(cache.directory.path()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_directory_that_others_may_write_is_refused() {
    let Fixture { directory, engine, .. } = fixture();
    let public = directory.path().join("public");
    fs::create_dir(&public).unwrap();
    fs::set_permissions(&public, Permissions::from_mode(0o777)).unwrap();

    let refused = CompileCache::open(&CodeCache { directory: public, key: key(1) }, &engine).unwrap_err();

    assert!(refused.to_string().contains("other users may write to it"), "{refused}");
}

/// Kubernetes gives an emptyDir this mode if the pod has `fsGroup`.
#[test]
fn the_volume_of_a_pod_keeps_code() {
    let Fixture { directory, engine, .. } = fixture();
    let volume = directory.path().join("volume");
    fs::create_dir(&volume).unwrap();
    fs::set_permissions(&volume, Permissions::from_mode(0o2777)).unwrap();

    open(&volume, key(1), &engine).put(DIGEST, &compiled(&engine));

    assert!(open(&volume, key(1), &engine).load(&engine, DIGEST).is_some());
}

#[test]
fn damaged_code_is_never_loaded_and_removed() {
    let Fixture { engine, cache, directory: _directory } = fixture();
    let code = compiled(&engine);
    let mut flipped = code.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let (half, path, tag) = (&code[..code.len() / 2], cache.code(DIGEST), cache.tag_file(DIGEST));
    let damages: [(&str, &std::path::Path, Option<&[u8]>); 6] = [
        ("cut off", &path, Some(half)),
        ("one bit flipped", &path, Some(&flipped)),
        ("no tag", &tag, None),
        ("an empty tag", &tag, Some(&[])),
        ("another tag", &tag, Some(&[0; 32])),
        ("a tag that is too long", &tag, Some(&[0; 33])),
    ];
    for (what, file, damage) in damages {
        cache.put(DIGEST, &code);
        match damage {
            Some(content) => fs::write(file, content).unwrap(),
            None => fs::remove_file(file).unwrap(),
        }

        assert!(cache.load(&engine, DIGEST).is_none(), "{what}");

        assert!(!path.exists() && !tag.exists(), "{what}");
    }
    cache.put(DIGEST, &code);
    assert!(cache.load(&engine, DIGEST).is_some(), "stored again");
}

/// Strangers could write to the directory before it was made private, and all files were given to this user then.
#[test]
fn code_that_others_planted_is_not_loaded() {
    let Fixture { engine, cache, directory } = fixture();
    let code = compiled(&engine);
    // Strangers can compile code and name it, but they do not have the key.
    let stranger = open(&directory.path().join("strangers"), key(2), &engine);
    stranger.put(DIGEST, &code);
    fs::copy(stranger.code(DIGEST), cache.code(DIGEST)).unwrap();
    fs::copy(stranger.tag_file(DIGEST), cache.tag_file(DIGEST)).unwrap();
    assert!(cache.load(&engine, DIGEST).is_none(), "a tag of another key");

    cache.put("another", &code);
    fs::rename(cache.code("another"), cache.code(DIGEST)).unwrap();
    fs::rename(cache.tag_file("another"), cache.tag_file(DIGEST)).unwrap();
    assert!(cache.load(&engine, DIGEST).is_none(), "code of another component, with its tag");
}

#[test]
fn code_that_others_can_write_is_not_loaded() {
    let Fixture { engine, cache, directory } = fixture();
    let code = compiled(&engine);
    let elsewhere = directory.path().join("elsewhere");
    for file in [cache.code(DIGEST), cache.tag_file(DIGEST)] {
        cache.put(DIGEST, &code);
        fs::set_permissions(&file, Permissions::from_mode(0o646)).unwrap();
        assert!(cache.load(&engine, DIGEST).is_none(), "mode 0646 of {}", file.display());

        cache.put(DIGEST, &code);
        fs::rename(&file, &elsewhere).unwrap();
        symlink(&elsewhere, &file).unwrap();
        assert!(cache.load(&engine, DIGEST).is_none(), "a link at {}", file.display());
        assert!(elsewhere.exists());
    }
    cache.put(DIGEST, &code);
    assert!(cache.load(&engine, DIGEST).is_some(), "all is as it should be");
}

#[test]
fn bytes_that_are_not_compiled_code_are_not_loaded_even_with_a_valid_tag() {
    let Fixture { engine, cache, directory: _directory } = fixture();

    cache.put(DIGEST, b"not compiled code");

    assert!(cache.load(&engine, DIGEST).is_none());
}

#[test]
fn code_for_other_settings_is_not_loaded() {
    let Fixture { cache, directory: _directory, .. } = fixture();
    let mut settings = wasmtime::Config::new();
    settings.epoch_interruption(true);
    let other = wasmtime::Engine::new(&settings).unwrap();
    cache.put(DIGEST, &compiled(&other));

    assert!(cache.load(&wasmtime::Engine::default(), DIGEST).is_none());

    let of_other = open(cache.directory.path(), key(1), &other);
    assert_ne!(of_other.name(DIGEST), cache.name(DIGEST));
}

/// `informer dev` and the other commands have one cache.
#[test]
fn baseline_code_and_optimised_code_of_a_component_are_kept_apart() {
    let directory = tempfile::tempdir().unwrap();
    let [optimised, baseline] = [Codegen::Optimised, Codegen::Baseline].map(|codegen| {
        let engine = codegen.engine().unwrap();
        (open(&directory.path().join("cache"), key(1), &engine), engine)
    });
    baseline.0.put(DIGEST, &compiled(&baseline.1));

    assert!(optimised.0.load(&optimised.1, DIGEST).is_none());

    optimised.0.put(DIGEST, &compiled(&optimised.1));
    assert_ne!(optimised.0.code(DIGEST), baseline.0.code(DIGEST));
    assert!(baseline.0.load(&baseline.1, DIGEST).is_some());
    assert!(optimised.0.load(&optimised.1, DIGEST).is_some());
}

#[test]
fn code_of_another_wasmtime_is_not_loaded_even_under_the_file_name_of_this_one() {
    let Fixture { engine, cache, directory: _directory } = fixture();
    let mut settings = wasmtime::Config::new();
    settings.module_version(wasmtime::ModuleVersionStrategy::Custom("1.2.3".to_owned())).unwrap();
    let other = wasmtime::Engine::new(&settings).unwrap();
    cache.put(DIGEST, &compiled(&other));

    assert!(cache.load(&engine, DIGEST).is_none());

    let of_other = open(cache.directory.path(), key(1), &other);
    assert_ne!(of_other.name(DIGEST), cache.name(DIGEST), "its file name differs, too");
    cache.put(DIGEST, &compiled(&other));
    assert!(cache.load(&other, DIGEST).is_some(), "the other engine loads it");
}

#[test]
fn a_key_is_not_shown() {
    let shown = format!("{:?}", CodeKey::from_bytes([0xab; CodeKey::BYTES]));

    assert!(!shown.to_lowercase().contains("abab") && !shown.contains("171"), "{shown}");
}
