//! `wasi:config` and `wasi:logging`, used by a real component.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use futures::future::BoxFuture;
use informer_runtime::{
    LogLevel, LogStream,
    capabilities::{ConfigFilesError, ConfigSource},
};
use informer_types::Outcome;
use parking_lot::Mutex;

use crate::host::{Running, Setup};

/// Configuration files that the test changes.
#[derive(Default)]
struct Files {
    present: Mutex<Option<BTreeMap<String, String>>>,
    /// Number of times that all files were read.
    listed: AtomicUsize,
}

impl Files {
    fn read(&self) -> Result<BTreeMap<String, String>, ConfigFilesError> {
        let absent = || ConfigFilesError { path: "/etc/x".into(), why: "no such file".to_owned() };
        self.present.lock().clone().ok_or_else(absent)
    }

    fn hold(&self, key: &str, text: &str) {
        *self.present.lock() = Some(BTreeMap::from([(key.to_owned(), text.to_owned())]));
    }
}

impl ConfigSource for Files {
    fn files(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, ConfigFilesError>> {
        let read = self.read();
        self.listed.fetch_add(1, Relaxed);
        Box::pin(async { read })
    }

    fn file(&self, name: &str) -> BoxFuture<'_, Result<Option<String>, ConfigFilesError>> {
        let read = self.read().map(|mut files| files.remove(name));
        Box::pin(async { read })
    }
}

fn setup(files: &Arc<Files>) -> Setup {
    Setup::new(r#"{"a":{"b":1},"token":"of the table"}"#).config_files(Arc::clone(files) as _)
}

async fn asks(running: &Running, key: &str) -> Vec<String> {
    running.log.clear();
    // The second line has the level debug.
    running.log.debug.store(true, Relaxed);
    assert_eq!(running.add(key).await, Outcome::Acknowledged);
    running.log.messages()
}

#[tokio::test]
async fn the_table_and_the_files_are_merged_and_a_changed_file_is_seen_at_once() {
    let files = Arc::new(Files::default());
    files.hold("token", "of the file");
    let running = setup(&files).load("settings").await;
    assert_eq!(running.log.messages(), [r#"start {"a":{"b":1},"token":"of the file"}"#]);

    assert_eq!(asks(&running, "token").await[0], r#"token is Some("of the file")"#);
    assert_eq!(asks(&running, "a.b").await[0], r#"a.b is Some("1")"#);
    assert_eq!(asks(&running, "a").await[0], "a is None");
    // Each of the three calls reads one file and then all; `start` reads all.
    assert_eq!(files.listed.load(Relaxed), 4, "one key reads one file");

    files.hold("other", "new");
    assert_eq!(
        asks(&running, "other").await,
        [r#"other is Some("new")"#, r#"Ok(["a.b", "other", "token"])"#]
    );
    assert_eq!(asks(&running, "token").await[0], r#"token is Some("of the table")"#);
    assert_eq!(running.plugin.stats().instances.created, 1, "one instance saw it all");
}

#[tokio::test]
async fn unreadable_files_are_an_error_and_fail_the_start() {
    let files = Arc::new(Files::default());
    let idle = setup(&files).idle();
    let refused = idle.load("settings").await.unwrap_err().to_string();
    assert!(refused.ends_with("the configuration files of the plugin: /etc/x: no such file"), "{refused}");

    files.hold("token", "x");
    let running = setup(&files).load("settings").await;
    *files.present.lock() = None;
    asks(&running, "token").await;
    // The path is for the operator only.
    let of = |stream| running.log.lines().into_iter().find(|line| line.stream == stream).unwrap().message;
    assert_eq!(of(LogStream::Log), r#"Error::Io("the configuration files cannot be read: no such file")"#);
    assert_eq!(of(LogStream::Host), "the configuration files of the plugin: /etc/x: no such file");
}

#[tokio::test]
async fn a_line_of_wasi_logging_has_its_level_and_context() {
    let files = Arc::new(Files::default());
    files.hold("token", "x");
    let running = setup(&files).load("settings").await;

    asks(&running, "token").await;

    let lines = running.log.lines();
    assert_eq!((lines[0].level, lines[1].level), (LogLevel::Info, LogLevel::Debug));
    assert_eq!(lines[0].fields, [("context".to_owned(), "get".to_owned())]);
    *files.present.lock() = None;
    asks(&running, "token").await;
    let lines = running.log.lines();
    let said = lines.iter().find(|line| line.stream == LogStream::Log).unwrap();
    assert_eq!(said.level, LogLevel::Error, "the level critical becomes error");
}
