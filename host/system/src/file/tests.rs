use std::{
    io::{Seek, Write},
    os::unix::{fs::symlink, net::UnixListener},
    path::PathBuf,
};

use rustix::fs::{CWD, FileType as Kind, Mode, mknodat};
use tempfile::TempDir;

use super::*;

fn why(path: &Path) -> String {
    read_file(path, 100).unwrap_err().to_string()
}

fn named_pipe(directory: &TempDir) -> PathBuf {
    let path = directory.path().join("pipe");
    mknodat(CWD, &path, Kind::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    path
}

#[test]
fn a_regular_file_is_read_up_to_the_limit() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, [b'x'; 100]).unwrap();
    let link = directory.path().join("link");
    symlink(&path, &link).unwrap();

    let large = |limit| RegularFile::open(&path).unwrap().read_large(limit);

    assert_eq!(read_file(&path, 100).unwrap(), [b'x'; 100]);
    assert_eq!(large(100).unwrap(), [b'x'; 100].as_slice());
    assert!(matches!(large(99), Err(FileError::TooLarge { limit: 99 })));
    assert_eq!(read_file(&link, 100).unwrap().len(), 100);
    assert!(matches!(read_file(&path, 99), Err(FileError::TooLarge { limit: 99 })));
}

#[test]
fn a_file_that_is_not_regular_is_refused_by_its_kind_and_never_waited_for() {
    let directory = TempDir::new().unwrap();
    let socket = directory.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();

    assert_eq!(why(&named_pipe(&directory)), "it is a named pipe, not a regular file");
    assert_eq!(why(&socket), "it is a socket, not a regular file");
    assert_eq!(why(directory.path()), "it is a directory, not a regular file");
    assert_eq!(why(Path::new("/dev/zero")), "it is a device, not a regular file");
    let link = directory.path().join("link");
    symlink("/dev/zero", &link).unwrap();
    assert_eq!(why(&link), "it is a device, not a regular file");
    assert!(read_file(&directory.path().join("absent"), 100).unwrap_err().is_absent());
}

/// Between the look at the name and the opening, another file may take the name.
#[test]
fn an_opened_file_is_checked_again() {
    let directory = TempDir::new().unwrap();
    let flags = i32::try_from(FLAGS.bits()).unwrap();
    let open = |path: &Path| OpenOptions::new().read(true).custom_flags(flags).open(path).unwrap();

    let pipe = RegularFile::checked(open(&named_pipe(&directory)));
    assert!(matches!(pipe, Err(FileError::Special("a named pipe"))));
    let device = RegularFile::checked(open(Path::new("/dev/zero")));
    assert!(matches!(device, Err(FileError::Special("a device"))));
}

#[test]
fn a_file_that_grows_after_it_was_opened_is_read_up_to_the_limit() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "short").unwrap();
    let file = RegularFile::open(&path).unwrap();
    assert_eq!(file.length(), 5);
    let large = [100, 2000].map(|limit| (RegularFile::open(&path).unwrap(), limit));

    OpenOptions::new().append(true).open(&path).unwrap().write_all(&[b'x'; 1000]).unwrap();

    assert!(matches!(file.read(100), Err(FileError::TooLarge { limit: 100 })));
    let [small_limit, large_limit] = large.map(|(file, limit)| file.read_large(limit));
    assert!(matches!(small_limit, Err(FileError::TooLarge { limit: 100 })));
    assert_eq!(large_limit.unwrap(), fs::read(&path).unwrap());
}

#[test]
fn a_file_that_shrinks_after_it_was_opened_ends_earlier() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "long").unwrap();
    let file = RegularFile::open(&path).unwrap();

    fs::write(&path, "l").unwrap();

    assert_eq!(file.read_large(100).unwrap(), "l");
}

/// Files of the kernel report a length of zero, and some of them never end.
#[test]
fn a_file_that_reports_no_length_is_read_up_to_the_limit() {
    let maps = RegularFile::open(Path::new("/proc/self/maps")).unwrap();
    assert_eq!(maps.length(), 0);
    // Both descriptors share one position in the file.
    let mut same = maps.file.try_clone().unwrap();

    assert!(matches!(maps.read(100), Err(FileError::TooLarge { limit: 100 })));

    assert_eq!(same.stream_position().unwrap(), 101);
}
