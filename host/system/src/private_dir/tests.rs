use std::{
    io::{Read, Write},
    os::unix::fs::{FileExt, symlink},
    process::Command,
};

use tempfile::TempDir;

use super::*;

const USER: u32 = 65532;
const STRANGER: u32 = 1000;
const GROUP: u32 = 2000;
const OTHER_GROUP: u32 = 3000;

fn directory(owner: u32, group: u32, mode: u32) -> Result<Option<u32>, Objection> {
    Access { owner, group, mode }.group_of_directory(USER, |group| group == GROUP)
}

fn file(owner: u32, group: u32, mode: u32, shared_with: Option<u32>) -> Result<bool, Objection> {
    Access { owner, group, mode }.may_be_of_group(USER, shared_with)
}

#[test]
fn a_directory_that_only_this_user_or_the_superuser_writes_is_used() {
    for (owner, mode) in [(USER, 0o700), (USER, 0o755), (ROOT, 0o755), (ROOT, 0o700)] {
        assert_eq!(directory(owner, OTHER_GROUP, mode), Ok(None), "{owner} {mode:o}");
    }
}

#[test]
fn a_directory_that_strangers_write_or_own_is_refused() {
    for (owner, group, mode) in [
        (USER, GROUP, 0o777),
        (USER, GROUP, 0o775),
        (USER, OTHER_GROUP, 0o720),
        (USER, OTHER_GROUP, 0o2770),
        (USER, OTHER_GROUP, 0o2777),
        (ROOT, ROOT, 0o777),
        (ROOT, OTHER_GROUP, 0o2777),
        (ROOT, GROUP, 0o777),
        (ROOT, GROUP, 0o2707),
    ] {
        assert_eq!(directory(owner, group, mode), Err(Objection::Mode(mode)), "{owner} {group} {mode:o}");
    }
    for mode in [0o700, 0o755, 0o1777, 0o2777] {
        assert_eq!(directory(STRANGER, GROUP, mode), Err(Objection::Owner(STRANGER)), "{mode:o}");
    }
}

#[test]
fn the_volume_of_a_pod_and_a_sticky_directory_are_used() {
    for (owner, mode) in
        [(ROOT, 0o2777), (ROOT, 0o2775), (ROOT, 0o2770), (USER, 0o2777), (USER, 0o2770), (ROOT, 0o770)]
    {
        assert_eq!(directory(owner, GROUP, mode), Ok(Some(GROUP)), "{owner} {mode:o}");
    }
    assert_eq!(directory(ROOT, ROOT, 0o1777), Ok(None));
}

#[test]
fn a_file_of_another_user_or_that_others_may_write_is_refused() {
    assert_eq!(file(USER, OTHER_GROUP, 0o644, None), Ok(false));
    assert_eq!(file(STRANGER, GROUP, 0o600, Some(GROUP)), Err(Objection::Owner(STRANGER)));
    assert_eq!(file(ROOT, GROUP, 0o600, Some(GROUP)), Err(Objection::Owner(ROOT)));
    assert_eq!(file(USER, GROUP, 0o660, None), Err(Objection::Mode(0o660)));
    assert_eq!(file(USER, OTHER_GROUP, 0o660, Some(GROUP)), Err(Objection::Mode(0o660)));
    assert_eq!(file(USER, GROUP, 0o662, Some(GROUP)), Err(Objection::Mode(0o662)));
    assert_eq!(file(USER, GROUP, 0o660, Some(GROUP)), Ok(true));
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn private() -> (TempDir, PrivateDir) {
    let outer = TempDir::new().unwrap();
    let private = PrivateDir::create(&outer.path().join("a/b")).unwrap();
    (outer, private)
}

#[test]
fn a_new_directory_and_its_files_are_for_this_user_only() {
    let (_outer, private) = private();
    private.write("written").unwrap().write_all(b"one").unwrap();
    private.replace("replaced", |file| file.write_all(b"two")).unwrap();

    assert_eq!(mode(private.path()), 0o700);
    assert_eq!((mode(&private.join("written")), mode(&private.join("replaced"))), (0o600, 0o600));
    let mut content = String::new();
    private.read("replaced").unwrap().unwrap().read_to_string(&mut content).unwrap();
    assert_eq!(content, "two");
    assert!(private.read("nothing").unwrap().is_none());
    assert_eq!(fs::read_dir(private.path()).unwrap().count(), 2, "no partial file is left");
}

/// A disk that fills up must not leave a part of a file under the name.
#[test]
fn a_file_that_is_created_whole_is_there_with_all_of_its_content_or_not_at_all() {
    let (_outer, private) = private();
    let fills_up = |file: &mut File| -> io::Result<()> {
        file.write_all(b"o")?;
        Err(ErrorKind::StorageFull.into())
    };
    private.create_whole("name", fills_up).unwrap_err();
    assert_eq!(fs::read_dir(private.path()).unwrap().count(), 0);

    let reads_what_it_wrote = |file: &mut File| -> io::Result<()> {
        file.write_all(b"one")?;
        file.read_exact_at(&mut [0; 3], 0)
    };
    private.create_whole("name", reads_what_it_wrote).unwrap();
    private.create_whole("name", |file| file.write_all(b"two")).unwrap();

    assert_eq!(fs::read(private.join("name")).unwrap(), b"one", "there is a file already");
    assert_eq!((mode(&private.join("name")), fs::read_dir(private.path()).unwrap().count()), (0o600, 1));
}

#[test]
fn a_directory_with_mode_0777_is_refused_with_the_way_to_make_it_private() {
    let (_outer, private) = private();
    chmod(private.path(), 0o777);

    let refused = PrivateDir::open(private.path()).unwrap_err().to_string();

    assert!(refused.contains("has mode 0777") && refused.contains("chmod go-w"), "{refused}");
}

/// Kubernetes adds the group's permissions to all files of a volume when a pod mounts it.
#[test]
fn in_a_volume_of_a_pod_files_are_made_private_again() {
    let (_outer, private) = private();
    private.write("file").unwrap();
    chmod(private.path(), 0o2777);
    chmod(&private.join("file"), 0o660);

    let volume = PrivateDir::open(private.path()).unwrap();
    assert!(volume.read("file").unwrap().is_some());
    assert_eq!(mode(&private.join("file")), 0o600);

    chmod(&private.join("file"), 0o666);
    let refused = volume.read("file").unwrap_err().to_string();
    assert!(refused.contains("has mode 0666"), "{refused}");
}

#[test]
fn links_fifos_and_directories_are_not_opened() {
    let (outer, private) = private();
    fs::write(outer.path().join("target"), "").unwrap();
    symlink(outer.path().join("target"), private.join("link")).unwrap();
    symlink(outer.path().join("new"), private.join("dangling")).unwrap();
    fs::create_dir(private.join("directory")).unwrap();
    assert!(Command::new("mkfifo").arg(private.join("fifo")).status().unwrap().success());

    for (name, what) in [
        ("link", "is a link"),
        ("dangling", "is a link"),
        ("directory", "is a directory"),
        ("fifo", "a FIFO"),
    ] {
        let refused = private.read(name).unwrap_err().to_string();
        assert!(refused.contains(what), "{name}: {refused}");
    }
    for name in ["link", "dangling", "fifo"] {
        private.write(name).unwrap_err();
    }
    assert!(!outer.path().join("new").exists());
}

#[test]
fn a_link_that_is_replaced_leaves_its_target_as_it_was() {
    let (outer, private) = private();
    let target = outer.path().join("target");
    fs::write(&target, "old").unwrap();
    symlink(&target, private.join("name")).unwrap();
    symlink(&target, private.join(&format!("name.{}.partial", std::process::id()))).unwrap();

    private.replace("name", |file| file.write_all(b"new")).unwrap();

    assert_eq!(fs::read_to_string(target).unwrap(), "old");
    assert!(private.read("name").unwrap().is_some());
}
