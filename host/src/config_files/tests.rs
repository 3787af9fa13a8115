use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use futures::future::select;
use tempfile::TempDir;
use tokio::time::timeout;

use super::*;

fn texts(paths: &[PathBuf]) -> Result<Vec<(String, String)>, String> {
    let read = ConfigFiles::new(paths.to_vec()).read();
    read.map(|texts| texts.into_iter().collect()).map_err(|error| error.to_string())
}

fn pair(key: &str, text: &str) -> (String, String) {
    (key.to_owned(), text.to_owned())
}

/// Writes a volume as the kubelet mounts a ConfigMap.
fn mount(volume: &Path, state: &str, files: &[(&str, &str)]) {
    let directory = volume.join(state);
    fs::create_dir(&directory).unwrap();
    for (name, text) in files {
        fs::write(directory.join(name), text).unwrap();
        symlink(Path::new(PRESENT).join(name), volume.join(name)).ok();
    }
    symlink(state, volume.join("..swap")).unwrap();
    fs::rename(volume.join("..swap"), volume.join(PRESENT)).unwrap();
}

#[test]
fn a_mounted_volume_shows_the_files_of_its_present_state_only() {
    let volume = TempDir::new().unwrap();
    let paths = [volume.path().to_owned()];
    mount(volume.path(), "..2026_01", &[("a", "1"), ("b", "2")]);
    assert_eq!(texts(&paths).unwrap(), [pair("a", "1"), pair("b", "2")]);

    mount(volume.path(), "..2026_02", &[("a", "3\n")]);

    assert_eq!(texts(&paths).unwrap(), [pair("a", "3\n")]);
}

#[test]
fn the_later_path_wins_and_a_file_keeps_its_name() {
    let directory = TempDir::new().unwrap();
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    fs::create_dir_all(one.join("below")).unwrap();
    fs::create_dir(&two).unwrap();
    fs::write(one.join("a"), "first").unwrap();
    fs::write(two.join("a"), "second").unwrap();
    fs::write(directory.path().join("c"), "alone").unwrap();

    let all = texts(&[one.clone(), two, directory.path().join("c")]).unwrap();

    assert_eq!(all, [pair("a", "second"), pair("c", "alone")]);
    assert_eq!(texts(&[one]).unwrap(), [pair("a", "first")]);
}

#[test]
fn an_unreadable_file_is_named_without_its_content() {
    let directory = TempDir::new().unwrap();
    let absent = texts(&[directory.path().join("absent")]).unwrap_err();
    assert!(absent.contains("/absent: No such file"), "{absent}");

    fs::write(directory.path().join("key"), b"hunter2\xff").unwrap();
    let binary = texts(&[directory.path().to_owned()]).unwrap_err();
    assert!(binary.ends_with("`key` is not UTF-8") && !binary.contains("hunter2"), "{binary}");

    fs::write(directory.path().join("key"), vec![b'x'; 1 + (4 << 20)]).unwrap();
    let large = texts(&[directory.path().to_owned()]).unwrap_err();
    assert!(large.ends_with("more than 4194304 bytes"), "{large}");
}

#[test]
fn the_size_limit_applies_to_all_paths_together() {
    let directory = TempDir::new().unwrap();
    let paths: Vec<_> = ["one", "two", "three"].map(|name| directory.path().join(name)).into();
    for path in &paths {
        fs::create_dir(path).unwrap();
        fs::write(path.join("a"), vec![b'x'; 2 << 20]).unwrap();
    }

    assert_eq!(texts(&paths[..2]).unwrap().len(), 1);
    let large = texts(&paths).unwrap_err();
    assert!(large.ends_with("three: more than 4194304 bytes"), "{large}");
}

#[test]
fn one_file_is_found_by_name_without_reading_the_others() {
    let directory = TempDir::new().unwrap();
    let (volume, single) = (directory.path().join("volume"), directory.path().join("single"));
    fs::create_dir(&volume).unwrap();
    mount(&volume, "..2026_01", &[("a", "1"), ("single", "2")]);
    fs::write(&single, "3").unwrap();
    fs::write(volume.join("..2026_01/binary"), b"\xff").unwrap();
    fs::write(directory.path().join("outside"), "x").unwrap();
    let files = ConfigFiles::new(vec![volume.clone(), single]);

    let of = |name: &str| files.read_one(name).unwrap();

    assert_eq!((of("a").as_deref(), of("single").as_deref()), (Some("1"), Some("3")));
    let long = "x".repeat(5000);
    for absent in
        ["b", "", ".", "..", "..data", "..data/a", "../outside", "a/", "a/b", "/etc/hosts", "a\0", &long]
    {
        assert_eq!(of(absent), None, "{absent:?}");
    }
    assert!(files.read_one("binary").unwrap_err().why.ends_with("`binary` is not UTF-8"));
    let gone = ConfigFiles::new(vec![volume.join("gone")]).read_one("a").unwrap_err();
    assert!(!gone.why.contains("gone") && gone.to_string().contains("/volume/gone: "), "{gone}");
}

/// The error about one entry of the directory, which is the same in both ways of reading.
fn refused(directory: &Path, name: &str) -> String {
    let all = texts(&[directory.to_owned()]).unwrap_err();
    let one = ConfigFiles::new(vec![directory.to_owned()]).read_one(name).unwrap_err().to_string();
    assert_eq!(all, one);
    let (_, why) = all.split_once(&format!("`{name}`: ")).unwrap();
    why.to_owned()
}

fn named_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_link_out_of_the_directory_is_refused_wherever_it_leads() {
    let outer = TempDir::new().unwrap();
    fs::write(outer.path().join("secret"), "hunter2").unwrap();
    let secret = outer.path().join("secret").to_str().unwrap().to_owned();
    for target in [
        secret.as_str(),
        "../secret",
        "../../../../../../etc/passwd",
        "/proc/self/environ",
        "/proc/self/pagemap",
        "/proc/self/fd/0",
        "/proc/thread-self/root/etc/passwd",
        "/dev/zero",
    ] {
        let directory = outer.path().join("mounted");
        fs::create_dir(&directory).unwrap();
        symlink(target, directory.join("a")).unwrap();

        let why = refused(&directory, "a");

        assert_eq!(why, "it is a link that leads out of its directory, which is not followed", "{target}");
        // The same file, named by the operator.
        let named = texts(&[directory.join("a")]).unwrap_err();
        assert!(named.ends_with(&why), "{target}: {named}");
        fs::remove_dir_all(&directory).unwrap();
    }
}

/// The link of the present state is under the control of the volume's owner, too.
#[test]
fn the_state_of_a_volume_lies_inside_the_volume() {
    let volume = TempDir::new().unwrap();
    symlink("/etc", volume.path().join(PRESENT)).unwrap();

    let why = texts(&[volume.path().to_owned()]).unwrap_err();

    assert!(
        why.ends_with("`..data`: it is a link that leads out of its directory, which is not followed"),
        "{why}"
    );
}

#[test]
fn an_entry_that_is_no_regular_file_is_refused_and_never_waited_for() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a");
    named_pipe(&path);
    assert_eq!(refused(directory.path(), "a"), "it is a named pipe, not a regular file");
    assert!(
        texts(std::slice::from_ref(&path)).unwrap_err().ends_with("it is a named pipe, not a regular file")
    );
    fs::remove_file(&path).unwrap();

    let _listener = UnixListener::bind(&path).unwrap();
    assert_eq!(refused(directory.path(), "a"), "it is a socket, not a regular file");
    fs::remove_file(&path).unwrap();

    let device = texts(&["/dev/zero".into()]).unwrap_err();
    assert!(device.ends_with("/dev/zero: it is a device, not a regular file"), "{device}");
}

#[test]
fn a_file_of_a_mounted_volume_can_be_named_alone() {
    let volume = TempDir::new().unwrap();
    mount(volume.path(), "..2026_01", &[("token", "1")]);
    assert_eq!(texts(&[volume.path().join("token")]).unwrap(), [pair("token", "1")]);

    mount(volume.path(), "..2026_02", &[("token", "2")]);

    assert_eq!(texts(&[volume.path().join("token")]).unwrap(), [pair("token", "2")]);
}

#[test]
fn a_directory_with_too_many_files_is_refused() {
    let directory = TempDir::new().unwrap();
    for number in 0..=FILES {
        fs::write(directory.path().join(number.to_string()), "").unwrap();
    }

    let why = texts(&[directory.path().to_owned()]).unwrap_err();

    assert!(why.ends_with("more than 10000 files"), "{why}");
}

/// The kubelet writes the new state, replaces the link, and removes the old state.
#[test]
fn every_read_sees_one_whole_state_while_states_replace_each_other() {
    let volume = TempDir::new().unwrap();
    let names: Vec<String> = (0..20).map(|number| format!("key-{number}")).collect();
    let state = |number: usize| {
        let text = number.to_string();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
        mount(volume.path(), &format!("..{number}"), &files);
    };
    state(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=200 {
                state(number);
                fs::remove_dir_all(volume.path().join(format!("..{}", number - 1))).unwrap();
            }
            done.store(true, Ordering::Release);
        });
        let mut reads = 0;
        while !done.load(Ordering::Acquire) || reads == 0 {
            let all = texts(&[volume.path().to_owned()]).unwrap();
            assert_eq!(all.len(), names.len());
            assert!(all.iter().all(|(_, text)| *text == all[0].1), "two states at once: {all:?}");
            let one = ConfigFiles::new(vec![volume.path().to_owned()]).read_one("key-7").unwrap();
            assert!(one.is_some(), "a key of every state is always there");
            reads += 1;
        }
    });
}

#[tokio::test]
async fn a_plugin_whose_reads_hang_starts_no_further_ones() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a"), "1").unwrap();
    let files = ConfigFiles::new(vec![directory.path().to_owned()]);
    let hanging = Arc::clone(&files.reads).acquire_many_owned(READS as u32).await.unwrap();
    let (mut all, mut one) = (files.files(), files.file("a"));

    let first = select(&mut all, &mut one);
    assert!(timeout(Duration::from_millis(200), first).await.is_err(), "no read begins");

    drop(hanging);
    assert_eq!(all.await.unwrap(), BTreeMap::from([pair("a", "1")]));
    assert_eq!(one.await.unwrap().as_deref(), Some("1"));
}
