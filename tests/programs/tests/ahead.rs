//! The program that builds the Go programs ahead.

use std::{
    env,
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    os::unix::{
        fs::PermissionsExt,
        process::{CommandExt, ExitStatusExt},
    },
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// How long the test waits for a process. The `go` of the test runs for twice this time.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_build_of_a_go_program_ends_with_the_input() {
    let directory = tempfile::tempdir().unwrap();
    let (go, pipe) = (directory.path().join("go"), directory.path().join("pipe"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // `go list` succeeds. `go build` says that it has begun, and keeps the pipe open to its end.
    let script =
        "[ \"$1\" = build ] || exit 0\nexec 3> \"$INFORMER_CACHE/pipe\"\necho begun >&3\nexec sleep 120";
    fs::write(&go, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&go, fs::Permissions::from_mode(0o755)).unwrap();
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([directory.path().to_owned()].into_iter().chain(env::split_paths(&others)));
    let mut builder = Command::new(env!("CARGO_BIN_EXE_informer-programs"))
        .env("PATH", path.unwrap())
        .env("INFORMER_CACHE", directory.path())
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let (sender, opened) = mpsc::channel();
    thread::spawn(move || sender.send(File::open(pipe)));
    let mut written = BufReader::new(opened.recv_timeout(PATIENCE).unwrap().unwrap());
    let mut line = String::new();
    written.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");

    let closed = Instant::now();
    drop(builder.stdin.take());

    assert_eq!(builder.wait().unwrap().signal(), Some(9));
    // The pipe ends with `go`.
    assert_eq!(written.read_to_end(&mut Vec::new()).unwrap(), 0);
    assert!(closed.elapsed() < PATIENCE, "{:?}", closed.elapsed());
}
