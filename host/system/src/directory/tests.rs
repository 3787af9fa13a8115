use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::*;

/// The text of the file at the path, or why it is not read.
fn read(path: &Path) -> Result<String, String> {
    match Entry::open(path).map_err(|error| error.to_string())? {
        Entry::File(file) => {
            Ok(String::from_utf8(file.read(100).map_err(|error| error.to_string())?).unwrap())
        }
        Entry::Directory(_) => Err("a directory".to_owned()),
    }
}

#[test]
fn a_link_is_followed_inside_its_directory_and_not_out_of_it() {
    let outer = TempDir::new().unwrap();
    let inner = outer.path().join("inner");
    fs::create_dir_all(inner.join("below")).unwrap();
    fs::write(inner.join("below/file"), "inside").unwrap();
    fs::write(outer.path().join("secret"), "outside").unwrap();
    let link = |target: &Path, name: &str| symlink(target, inner.join(name)).unwrap();
    link(Path::new("below/file"), "direct");
    link(Path::new("direct"), "twice");
    link(Path::new("below/../below/file"), "winding");
    link(&outer.path().join("secret"), "absolute");
    link(Path::new("../secret"), "relative");
    link(Path::new("below/../../secret"), "hidden");
    link(Path::new("relative"), "second");
    link(&inner.join("below/file"), "absolute-inside");
    link(Path::new("/proc/self/environ"), "environment");
    link(Path::new("/proc/self/cwd"), "magic");
    link(Path::new("/dev/zero"), "zeros");

    for inside in ["direct", "twice", "winding"] {
        assert_eq!(read(&inner.join(inside)).as_deref(), Ok("inside"), "{inside}");
    }
    for out in
        ["absolute", "relative", "hidden", "second", "absolute-inside", "environment", "magic", "zeros"]
    {
        let why = read(&inner.join(out)).unwrap_err();
        assert!(why.starts_with("it is a link that leads out of its directory"), "{out}: {why}");
    }
}

/// A magic link has a target that its text does not name.
#[test]
fn a_magic_link_is_not_followed() {
    let file = tempfile::tempfile().unwrap();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);

    let why = read(Path::new(&format!("/proc/self/fd/{descriptor}")));

    assert!(why.is_err(), "{why:?}");
}

#[test]
fn links_above_the_last_part_of_a_path_are_followed() {
    let directory = TempDir::new().unwrap();
    let real = directory.path().join("real");
    fs::create_dir(&real).unwrap();
    fs::write(real.join("file"), "text").unwrap();
    symlink(&real, directory.path().join("alias")).unwrap();

    assert_eq!(read(&directory.path().join("alias/file")).as_deref(), Ok("text"));
    assert!(matches!(Entry::open(Path::new("/")), Ok(Entry::Directory(_))));
}

#[test]
fn entries_that_are_not_regular_are_refused_by_their_kind_and_never_waited_for() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    mknodat(CWD, path.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _listener = UnixListener::bind(path.join("socket")).unwrap();

    assert_eq!(read(&path.join("pipe")).unwrap_err(), "it is a named pipe, not a regular file");
    assert_eq!(read(&path.join("socket")).unwrap_err(), "it is a socket, not a regular file");
    assert_eq!(read(Path::new("/dev/zero")).unwrap_err(), "it is a device, not a regular file");
    assert_eq!(read(path).unwrap_err(), "a directory");
    assert!(Entry::open(&path.join("absent")).unwrap_err().is_absent());
}

#[test]
fn a_directory_is_recognised_under_another_name_and_lists_its_names() {
    let directory = TempDir::new().unwrap();
    fs::create_dir(directory.path().join("one")).unwrap();
    fs::create_dir(directory.path().join("two")).unwrap();
    symlink("one", directory.path().join("alias")).unwrap();
    let open = |name: &str| match Directory::open(directory.path()).unwrap().entry(name.as_ref()).unwrap() {
        Entry::Directory(found) => found,
        Entry::File(_) => panic!("{name} is a directory"),
    };

    assert!(open("one").is(&open("alias")).unwrap());
    let links = |name: &str| Directory::open(directory.path()).unwrap().has_link(name.as_ref());
    assert_eq!([links("alias"), links("one"), links("absent")], [true, false, false]);
    assert!(!open("one").is(&open("two")).unwrap());
    let names = Directory::open(directory.path()).unwrap().names().unwrap();
    let mut names: Vec<OsString> = names.map(Result::unwrap).collect();
    names.sort();
    assert_eq!(names, ["alias", "one", "two"]);
}
