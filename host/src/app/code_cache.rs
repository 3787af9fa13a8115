//! The place of compiled code, and the key that authenticates it.

use std::{
    io::{self, Read, Write},
    path::Path,
};

use informer_runtime::{CodeCache, CodeKey};
use informer_system::{NotPrivate, PrivateDir};

use crate::config::Host;

/// Name of the key's file in the state directory.
const FILE_NAME: &str = "compile-cache.key";

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
enum NoKey {
    #[error(transparent)]
    NotPrivate(#[from] NotPrivate),
    #[error("the key cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("there are no random numbers for a key: {0}")]
    NoRandomness(io::Error),
}

/// The cache of compiled code. Creates the key if there is none. Returns `None` if nothing is kept, because the configuration switches
/// the cache off, there is no state directory, or the key cannot be used.
///
/// # Blocking
/// The call reads and writes some bytes.
pub fn code_cache(host: &Host) -> Option<CodeCache> {
    let keep = |directory: &Path| {
        let state = PrivateDir::create(directory)?;
        match existing_key(&state)? {
            Some(key) => Ok(Some(key)),
            None => new_key(&state).map(Some),
        }
    };
    with_key(host, keep)
}

/// Like [`code_cache`], for a process that is not the host and may run as another user: it creates no key, and without one it keeps
/// nothing.
///
/// # Blocking
/// The call reads some bytes.
pub fn existing_code_cache(host: &Host) -> Option<CodeCache> {
    let existing = |directory: &Path| match PrivateDir::open(directory) {
        Ok(state) => existing_key(&state),
        Err(NotPrivate::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why.into()),
    };
    with_key(host, existing)
}

fn with_key(host: &Host, key: impl FnOnce(&Path) -> Result<Option<CodeKey>, NoKey>) -> Option<CodeCache> {
    let directory = host.cache_dir.clone()?;
    let Some(state) = host.state_dir.path() else {
        tracing::info!(
            "compiled code is not kept: the key that authenticates it would be in [host] state-dir, which is off"
        );
        return None;
    };
    let key = key(state).inspect_err(|error| {
        tracing::warn!(%error, "compiled code is not kept: the key that authenticates it, in [host] state-dir, cannot be used");
    });
    Some(CodeCache { directory, key: key.ok()?? })
}

/// Returns `None` if there is no key. A file of another length was cut off by a full disk.
fn existing_key(state: &PrivateDir) -> Result<Option<CodeKey>, NoKey> {
    let Some(file) = state.read(FILE_NAME)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(CodeKey::BYTES as u64 + 1).read_to_end(&mut bytes).map_err(NoKey::Unreadable)?;
    Ok(bytes.try_into().ok().map(CodeKey::from_bytes))
}

/// Creates a key. If two processes do so at once, both use the one that is written last.
fn new_key(state: &PrivateDir) -> Result<CodeKey, NoKey> {
    let key = CodeKey::generate().map_err(NoKey::NoRandomness)?;
    state.replace(FILE_NAME, |file| file.write_all(key.as_bytes()))?;
    Ok(existing_key(state)?.unwrap_or(key))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use tempfile::TempDir;

    use super::*;
    use crate::config::StateDir;

    fn host(directory: &TempDir) -> Host {
        Host {
            cache_dir: Some(directory.path().join("cache")),
            state_dir: StateDir::At(directory.path().join("state")),
            ..Host::default()
        }
    }

    #[test]
    fn the_key_is_created_once_for_this_user_only() {
        let directory = TempDir::new().unwrap();
        let host = host(&directory);
        assert!(existing_code_cache(&host).is_none());
        assert!(!directory.path().join("state").exists(), "another process creates nothing");

        let first = code_cache(&host).unwrap();

        let path = directory.path().join("state").join(FILE_NAME);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(code_cache(&host).unwrap().key, first.key);
        assert_eq!(existing_code_cache(&host).unwrap().key, first.key);
        let other = TempDir::new().unwrap();
        assert_ne!(code_cache(&self::host(&other)).unwrap().key, first.key, "keys are random");
    }

    #[test]
    fn a_key_that_others_could_have_written_is_not_used() {
        let directory = TempDir::new().unwrap();
        let host = host(&directory);
        code_cache(&host).unwrap();
        let (state, key) = (directory.path().join("state"), directory.path().join("state").join(FILE_NAME));

        fs::set_permissions(&key, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(code_cache(&host).is_none());

        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(code_cache(&host).is_none());
    }

    #[test]
    fn a_key_that_was_cut_off_is_replaced() {
        let directory = TempDir::new().unwrap();
        let host = host(&directory);
        let first = code_cache(&host).unwrap().key;
        let path = directory.path().join("state").join(FILE_NAME);
        fs::write(&path, &first.as_bytes()[..7]).unwrap();

        let second = code_cache(&host).unwrap().key;

        assert!(second != first && fs::read(&path).unwrap() == second.as_bytes());
    }

    #[test]
    fn without_a_state_directory_no_code_is_kept() {
        let directory = TempDir::new().unwrap();

        for state_dir in [StateDir::Off, StateDir::Nowhere] {
            assert!(code_cache(&Host { state_dir, ..host(&directory) }).is_none());
        }
    }
}
