//! A stdout or stderr that is closed or full.

use std::{
    fs::{self, File},
    io::{self, PipeWriter},
    path::Path,
    process::Stdio,
};

use informer_guests::guest;
use informer_tests::{
    binary,
    host::PATIENCE,
    toml::{plugin, watch},
};

use super::binary::{Running, informer_into, well};

/// A pipe whose reader has seen enough, as `head` has after its lines.
fn closed() -> PipeWriter {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer
}

/// Each write to it fails as on a full disk.
fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

#[tokio::test]
async fn a_command_keeps_its_status_if_the_reader_of_its_result_has_seen_enough() {
    let directory = tempfile::tempdir().unwrap();
    let wrong = directory.path().join("informer.toml");
    fs::write(&wrong, "[hosts]\n").unwrap();
    let wrong = wrong.to_str().unwrap();
    for (arguments, status) in
        [(&["config", "example"][..], 0), (&["check", "--file-only", "--config", wrong][..], 1)]
    {
        let ended = informer_into(arguments, closed(), Stdio::piped()).await;

        assert_eq!((ended.status, ended.stderr.as_str()), (Some(status), ""), "{arguments:?}");
    }
}

#[tokio::test]
async fn a_command_fails_if_its_result_cannot_be_written() {
    for arguments in [["config", "example"], ["crd", "--output=json"]] {
        let ended = informer_into(&arguments, full(), Stdio::piped()).await;

        let message = "informer: cannot write to standard output: No space left on device (os error 28)\n";
        assert_eq!((ended.status, ended.stderr.as_str()), (Some(1), message), "{arguments:?}");
    }
}

#[tokio::test]
async fn a_command_keeps_its_status_if_its_error_cannot_be_written() {
    let arguments = ["test", "absent.test.yaml"];

    let to_closed = informer_into(&arguments, Stdio::piped(), closed()).await;
    let to_full = informer_into(&arguments, Stdio::piped(), full()).await;
    let both = informer_into(&["config", "example"], full(), full()).await;

    assert_eq!((to_closed.status, to_full.status, both.status), (Some(2), Some(2), Some(1)));
}

#[tokio::test]
async fn dev_serves_until_a_signal_and_stops_its_plugins_if_stdout_is_full() {
    let component = tokio::task::spawn_blocking(|| guest("echo")).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let host = "[host]\nadmin = \"127.0.0.1:0\"\n".to_owned();
    fs::write(&path, host + &watch("v1/configmaps") + &plugin("echo", &component, "v1/configmaps", ""))
        .unwrap();
    let program = binary::informer().await.to_str().unwrap();
    let line = "exec \"$0\" dev --config \"$1\" > /dev/full";
    let arguments = ["-c", line, program, path.to_str().unwrap()];
    let mut dev = Running::start_program(Path::new("/bin/sh"), &arguments).await;
    well(&dev.admin().await).await;

    dev.signal("TERM").await;

    dev.logged(": stop ").await;
    dev.logged("informer::app: stopped").await;
    dev.logged("informer: cannot write to standard output: ").await;
    assert_eq!(dev.ended(PATIENCE).await.code(), Some(1));
}
