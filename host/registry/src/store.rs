//! What was pulled, on disk: each part under its digest, the digest of each tag, the repositories of each artifact, and which
//! artifacts a policy has accepted.

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::Path,
    sync::Arc,
    time::SystemTime,
};

use informer_system::{NotPrivate, PrivateDir};
use parking_lot::Mutex;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};

use crate::{Digest, Reference};

/// The most bytes of all parts together. The oldest go first.
const BYTES: u64 = 512 << 20;

/// The most files.
const FILES: usize = 4_096;

/// The ending of a note of repositories. The name before it is that of the manifest.
const REPOSITORIES: &str = ".from";

/// The most bytes of a file that is no part.
const NOTE_BYTES: u64 = 4 << 10;

/// Parts of artifacts in a directory that only this user writes. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    directory: Arc<PrivateDir>,
    /// Held while a file is written or, to make room, removed.
    writing: Arc<Mutex<()>>,
}

// === impl Store ===

impl Store {
    /// # Errors
    /// [`NotPrivate`] if others could plant files in the directory.
    pub(crate) fn open(path: &Path) -> Result<Self, NotPrivate> {
        Ok(Self { directory: Arc::new(PrivateDir::create(path)?), writing: Arc::default() })
    }

    /// The bytes of this digest, of which there are at most `limit`. A file with other bytes is removed.
    pub(crate) async fn part(&self, digest: Digest, limit: u64) -> Option<Vec<u8>> {
        self.blocking(move |store| store.whole(digest, limit)).await
    }

    /// Reads the manifest as [`Store::part`] does, and the repositories that the artifact was pulled from. The repositories are `None`
    /// if the store has no note of them, because an earlier version of this program wrote none. No file is removed between the two reads.
    pub(crate) async fn manifest(
        &self,
        artifact: Digest,
        limit: u64,
    ) -> Option<(Vec<u8>, Option<Vec<String>>)> {
        self.blocking(move |store| {
            let _writing = store.writing.lock();
            Some((store.whole(artifact, limit)?, store.noted(artifact)))
        })
        .await
    }

    /// Returns true if the part is on disk. It is in use, so it stays longest.
    pub(crate) async fn holds(&self, digest: Digest) -> bool {
        self.blocking(move |store| {
            let Ok(Some(file)) = store.directory.read(&part_name(digest)) else { return false };
            used_now(&file);
            true
        })
        .await
    }

    /// Keeps bytes under their digests. If that fails, the next start pulls them again.
    pub(crate) async fn keep_all<const N: usize>(&self, parts: [(Digest, &[u8]); N]) {
        let parts = parts.map(|(digest, bytes)| (part_name(digest), bytes.to_vec()));
        self.blocking(move |store| {
            let is_absent = |name: &String| !store.directory.join(name).exists();
            parts
                .iter()
                .filter(|(name, _)| is_absent(name))
                .for_each(|(name, bytes)| store.write(name, bytes));
        })
        .await;
    }

    /// The digest that a tag had when it was pulled last.
    pub(crate) async fn tag(&self, reference: &Reference) -> Option<Digest> {
        let reference = reference.to_string();
        self.blocking(move |store| {
            let text = String::from_utf8(store.read(&tag_name(&reference), NOTE_BYTES)?).ok()?;
            let (own, digest) = text.trim_end().split_once('\n')?;
            (own == reference).then(|| digest.parse().ok()).flatten()
        })
        .await
    }

    /// Notes the digest of a tag.
    pub(crate) async fn set_tag(&self, reference: &Reference, digest: Digest) {
        if self.tag(reference).await == Some(digest) {
            return;
        }
        let reference = reference.to_string();
        self.blocking(move |store| {
            store.write(&tag_name(&reference), format!("{reference}\n{digest}\n").as_bytes());
        })
        .await;
    }

    /// Notes that the artifact was pulled from this repository. Returns false if the note cannot be written.
    pub(crate) async fn add_repository(&self, artifact: Digest, repository: String) -> bool {
        self.blocking(move |store| {
            // Held from the read to the write, so that no repository is lost.
            let _writing = store.writing.lock();
            let mut known = store.noted(artifact).unwrap_or_default();
            if known.contains(&repository) {
                return true;
            }
            // A note that is too long loses its oldest repositories, which are asked again.
            known.insert(0, repository);
            let mut text = String::new();
            for repository in known {
                if text.len() + repository.len() < NOTE_BYTES as usize {
                    text.push_str(&repository);
                    text.push('\n');
                }
            }
            store.replace(&repositories_name(artifact), text.as_bytes())
        })
        .await
    }

    /// Returns true if a policy with this fingerprint has accepted the artifact.
    pub(crate) async fn is_accepted(&self, artifact: Digest, policy: Digest) -> bool {
        self.blocking(move |store| {
            let text = store.read(&accepted_name(artifact), NOTE_BYTES);
            text.is_some_and(|text| text == policy.to_string().as_bytes())
        })
        .await
    }

    pub(crate) async fn accept(&self, artifact: Digest, policy: Digest) {
        self.blocking(move |store| store.write(&accepted_name(artifact), policy.to_string().as_bytes()))
            .await;
    }

    async fn blocking<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let store = self.clone();
        tokio::task::spawn_blocking(move || work(&store)).await.unwrap_or_default()
    }

    fn read(&self, name: &str, limit: u64) -> Option<Vec<u8>> {
        let file = match self.directory.read(name) {
            Ok(file) => file?,
            Err(error) => {
                tracing::warn!(%error, "a pulled part on disk is not used");
                return None;
            }
        };
        let mut bytes = Vec::new();
        (&file).take(limit.saturating_add(1)).read_to_end(&mut bytes).ok()?;
        used_now(&file);
        (bytes.len() as u64 <= limit).then_some(bytes)
    }

    fn whole(&self, digest: Digest, limit: u64) -> Option<Vec<u8>> {
        let name = part_name(digest);
        let bytes = self.read(&name, limit)?;
        if Digest::of(&bytes) == digest {
            return Some(bytes);
        }
        tracing::warn!(%digest, "a pulled part was damaged on disk; it is pulled again");
        self.directory.remove(&name);
        None
    }

    /// The repositories that the artifact was pulled from. Returns `None` if the store has no note of them.
    fn noted(&self, artifact: Digest) -> Option<Vec<String>> {
        let text = String::from_utf8(self.read(&repositories_name(artifact), NOTE_BYTES)?).ok()?;
        Some(text.lines().map(str::to_owned).collect())
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let _writing = self.writing.lock();
        self.replace(name, bytes);
    }

    /// Writes a file, while the caller holds `writing`. Returns false if that fails.
    fn replace(&self, name: &str, bytes: &[u8]) -> bool {
        let written = self.directory.replace(name, |file| file.write_all(bytes));
        if let Err(error) = &written {
            tracing::warn!(%error, "pulled components are not kept; a start without the registry is not possible");
        }
        self.prune();
        written.is_ok()
    }

    /// Removes the files that were used longest ago, while there are too many. A manifest does not outlive its note of repositories:
    /// without one it would be used for each repository.
    fn prune(&self) {
        let Ok(entries) = fs::read_dir(self.directory.path()) else { return };
        let mut files: Vec<(SystemTime, u64, String)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), entry.file_name().into_string().ok()?))
            })
            .collect();
        files.sort();
        let (mut bytes, mut count) = (files.iter().map(|file| file.1).sum::<u64>(), files.len());
        for (_, length, name) in files {
            if bytes <= BYTES && count <= FILES {
                return;
            }
            if let Some(manifest) = name.strip_suffix(REPOSITORIES) {
                self.directory.remove(&format!("{manifest}.part"));
            }
            self.directory.remove(&name);
            (bytes, count) = (bytes.saturating_sub(length), count - 1);
        }
    }
}

/// Notes that a file is used: what is used stays longest.
fn used_now(file: &File) {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    futimens(file, &Timestamps { last_access: now, last_modification: now }).ok();
}

fn part_name(digest: Digest) -> String {
    format!("{}.part", digest.hex())
}

fn tag_name(reference: &str) -> String {
    format!("{}.tag", Digest::of(reference.as_bytes()).hex())
}

fn repositories_name(artifact: Digest) -> String {
    format!("{}{REPOSITORIES}", artifact.hex())
}

fn accepted_name(artifact: Digest) -> String {
    format!("{}.accepted", artifact.hex())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use futures::FutureExt;
    use tempfile::TempDir;

    use super::*;

    #[tokio::test]
    async fn parts_tags_and_verdicts_outlive_the_process() {
        let directory = TempDir::new().unwrap();
        let reference: Reference = "oci://ghcr.io/acme/a:1".parse().unwrap();
        let (part, policy) = (Digest::of(b"part"), Digest::of(b"policy"));
        let store = Store::open(directory.path()).unwrap();
        assert_eq!((store.part(part, 10).await, store.tag(&reference).await), (None, None));

        store.keep_all([(part, b"part".as_slice())]).await;
        store.set_tag(&reference, part).await;
        store.accept(part, policy).await;

        let store = Store::open(directory.path()).unwrap();
        assert_eq!(store.part(part, 10).await.unwrap(), b"part");
        assert_eq!(store.part(part, 3).await, None, "larger than the caller accepts");
        assert_eq!(store.tag(&reference).await, Some(part));
        assert!(store.is_accepted(part, policy).await && !store.is_accepted(part, part).await);
    }

    #[tokio::test]
    async fn the_repositories_of_an_artifact_are_noted_once_and_up_to_a_limit() {
        let directory = TempDir::new().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let artifact = Digest::of(b"manifest");
        assert_eq!(store.noted(artifact), None);

        for repository in ["ghcr.io/acme/a", "ghcr.io/acme/b", "ghcr.io/acme/a"] {
            store.add_repository(artifact, repository.to_owned()).await;
        }
        assert_eq!(store.noted(artifact).unwrap(), ["ghcr.io/acme/b", "ghcr.io/acme/a"]);

        for number in 0..100 {
            store.add_repository(artifact, format!("ghcr.io/{}/{number}", "x".repeat(200))).await;
        }
        let noted = store.noted(artifact).unwrap();
        assert!((10..100).contains(&noted.len()) && noted[0].ends_with("/99"), "{noted:?}");
    }

    #[tokio::test]
    async fn a_manifest_goes_with_its_note_of_repositories() {
        let directory = TempDir::new().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let (artifact, reference) = (Digest::of(b"manifest"), "oci://ghcr.io/acme/a:1".parse().unwrap());
        store.add_repository(artifact, format!("ghcr.io/{}", "a".repeat(1_000))).await;
        store.keep_all([(artifact, b"manifest".as_slice())]).await;
        let note = directory.path().join(repositories_name(artifact));
        let note = File::options().write(true).open(note).unwrap();
        note.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        // This file makes the store too large by less than the size of the note, so only the note has to be removed.
        File::create(directory.path().join("large.part")).unwrap().set_len(BYTES - 500).unwrap();

        store.set_tag(&reference, artifact).await;

        assert_eq!(store.noted(artifact), None, "the note was used longest ago");
        assert_eq!(store.part(artifact, 10).await, None);
        assert_eq!(store.tag(&reference).await, Some(artifact));
    }

    /// Without its note, the manifest would be used for each repository.
    #[tokio::test]
    async fn no_file_is_removed_between_the_reads_of_a_manifest_and_its_note() {
        let directory = TempDir::new().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let artifact = Digest::of(b"manifest");
        store.add_repository(artifact, "ghcr.io/acme/a".to_owned()).await;
        store.keep_all([(artifact, b"manifest".as_slice())]).await;
        let (bytes, noted) = store.manifest(artifact, 10).await.unwrap();
        assert_eq!((bytes, noted.unwrap()), (b"manifest".to_vec(), vec!["ghcr.io/acme/a".to_owned()]));

        let mut reading = Box::pin(store.manifest(artifact, 10));
        {
            let _writing = store.writing.lock();
            assert!(reading.as_mut().now_or_never().is_none(), "it waits while files are removed");
            store.directory.remove(&part_name(artifact));
            store.directory.remove(&repositories_name(artifact));
        }

        assert_eq!(reading.await, None);
    }

    #[tokio::test]
    async fn a_damaged_part_and_one_that_others_can_write_are_not_used() {
        let directory = TempDir::new().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let (part, path) = (Digest::of(b"part"), directory.path().join(part_name(Digest::of(b"part"))));
        store.keep_all([(part, b"part".as_slice())]).await;

        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(store.part(part, 10).await, None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(store.part(part, 10).await.is_some());

        fs::write(&path, b"trap").unwrap();
        assert_eq!(store.part(part, 10).await, None);
        assert!(!path.exists(), "it is removed");
    }
}
