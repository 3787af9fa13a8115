//! The identity of a host in the answers of its admin endpoint.
//!
//! A host that cannot listen on its address leaves the address to another host. A command that reads the address from a
//! configuration file compares the file with the one of the host that answers.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode, percent_encode};

use super::types::Identity;

/// The number of the process.
const PROCESS: HeaderName = HeaderName::from_static("informer-process");

/// The path of the configuration file, with escapes for bytes that a header cannot have.
const CONFIGURATION: HeaderName = HeaderName::from_static("informer-configuration");

/// The bytes of a path that are escaped.
const ESCAPED: &AsciiSet = &CONTROLS.add(b' ').add(b'%');

// === impl Identity ===

impl Identity {
    /// The identity of this process.
    pub(crate) fn own(configuration: Option<PathBuf>) -> Self {
        Self { process: std::process::id(), configuration }
    }

    /// Adds the identity to an answer.
    pub(super) fn write(&self, headers: &mut HeaderMap) {
        headers.insert(PROCESS, self.process.into());
        if let Some(path) = &self.configuration {
            let escaped = percent_encode(path.as_os_str().as_bytes(), ESCAPED).to_string();
            // What is escaped has visible characters only.
            if let Ok(value) = HeaderValue::try_from(escaped) {
                headers.insert(CONFIGURATION, value);
            }
        }
    }

    /// Reads the identity in an answer. Returns `None` if the answer has none.
    pub(super) fn read(headers: &HeaderMap) -> Option<Self> {
        let process = headers.get(PROCESS)?.to_str().ok()?.parse().ok()?;
        let decoded = |value: &HeaderValue| percent_decode(value.as_bytes()).collect::<Vec<u8>>();
        let configuration = headers.get(CONFIGURATION).map(decoded);
        Some(Self { process, configuration: configuration.map(|path| OsString::from_vec(path).into()) })
    }

    /// Returns true if the host runs with this file. Links are followed: a mounted ConfigMap is one.
    pub(super) fn runs_with(&self, file: &Path) -> bool {
        let resolved = |path: &Path| {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            absolute.canonicalize().unwrap_or(absolute)
        };
        self.configuration.as_deref().is_some_and(|own| resolved(own) == resolved(file))
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, fs};

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn any_path_passes_a_header() {
        for path in [&b"/etc/informer/informer.toml"[..], b"/a b/100%25/\xff\n\xc3\xa4.toml", b"/"] {
            let own = Identity::own(Some(OsStr::from_bytes(path).into()));
            let mut headers = HeaderMap::new();
            own.write(&mut headers);

            assert_eq!(Identity::read(&headers), Some(own));
        }
        let mut headers = HeaderMap::new();
        Identity::own(None).write(&mut headers);
        assert_eq!(Identity::read(&headers), Some(Identity::own(None)));
        assert_eq!(Identity::read(&HeaderMap::new()), None);
    }

    #[test]
    fn a_file_is_the_same_through_a_link() {
        let directory = TempDir::new().unwrap();
        let [file, link, other] = ["file", "link", "other"].map(|name| directory.path().join(name));
        fs::write(&file, "").unwrap();
        fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let host = Identity::own(Some(link.clone()));

        assert!(host.runs_with(&file) && host.runs_with(&link));
        assert!(!host.runs_with(&other));
        assert!(!Identity::own(None).runs_with(&file));
        // A file that is gone is compared by its path.
        fs::remove_file(&link).unwrap();
        assert!(host.runs_with(&link) && !host.runs_with(&file));
    }
}
