//! Programs that are no compiler, in the place of one.

use std::{fs, io::Read};

use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::{super::engine::Codegen, *};

/// Longer than any step of these tests takes.
const PATIENCE: Duration = Duration::from_secs(60);

const LIMITS: CompileLimits = CompileLimits { time: PATIENCE, cpu_seconds: None, memory: 1 << 20 };

/// Reads the whole request.
const READ: &str = "cat >/dev/null;";

/// Runs a script of the shell as the compiler.
async fn script(text: &str, limits: CompileLimits) -> Result<File, NotCompiled> {
    work(
        ("/bin/sh".as_ref(), &["-c".into(), text.into()]),
        Work::Compile(Codegen::Optimised),
        &[7; 300_000],
        limits,
    )
    .await
}

async fn refusal(text: &str) -> String {
    script(text, LIMITS).await.unwrap_err().to_string()
}

/// An answer that begins with code of this length.
fn code(length: u8) -> String {
    format!("printf 'D\\{length:03o}\\0\\0\\0\\0\\0\\0\\0'")
}

#[tokio::test]
async fn the_code_of_an_answer_is_received_and_never_changes_again() {
    let received = script(&format!("{READ} {}; printf abc", code(3)), LIMITS).await.unwrap();

    let mut text = String::new();
    File::open(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&received)))
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "abc");
    io::Write::write_all(&mut &received, b"d").unwrap_err();
    received.set_len(1).unwrap_err();
}

#[tokio::test]
async fn the_reason_of_an_answer_is_received() {
    let refused =
        script(&format!("{READ} printf 'I\\002\\0\\0\\0\\0\\0\\0\\0no'"), LIMITS).await.unwrap_err();

    assert!(matches!(&refused, NotCompiled::Invalid(why) if why == "no"), "{refused}");
}

#[tokio::test]
async fn a_program_that_answers_with_garbage_or_too_much_is_ended_and_refused() {
    let garbled = "it answered with something other than a result";
    // The last three never end by themselves.
    for text in [
        format!("{READ} echo '<!DOCTYPE html>'"),
        format!("{READ} {}; printf abcd", code(3)),
        "yes".to_owned(),
        format!("{}; yes", code(3)),
        "printf 'D\\0\\0\\0\\0\\0\\0\\0\\177'; exec cat /dev/zero".to_owned(),
    ] {
        assert_eq!(refusal(&text).await, garbled, "{text}");
    }
}

#[tokio::test]
async fn a_program_that_ends_without_a_whole_answer_is_refused_with_its_last_words() {
    for (text, expected) in [
        ("exit 0", "it ended with exit status: 0"),
        ("echo no compiler >&2; exit 3", "it ended with exit status: 3: no compiler"),
        ("kill -SEGV $$", "it was ended by signal 11"),
        ("kill -ABRT $$", "it aborted"),
        (&format!("{READ} {}; printf ab", code(3)), "it ended with exit status: 0"),
        (
            "echo cut >&2; yes '' | head -c 5000 >&2; echo kept >&2; exit 1",
            "it ended with exit status: 1: kept",
        ),
    ] {
        assert_eq!(refusal(text).await, expected, "{text}");
    }
    let killed = refusal("kill -KILL $$").await;
    assert!(
        killed.starts_with("it was killed; if the machine") && killed.contains("compile-memory"),
        "{killed}"
    );
}

#[tokio::test]
async fn a_program_without_memory_is_refused_with_its_limit() {
    let out_of_memory = ["memory allocation of 4096 bytes failed", "Cannot allocate memory (os error 12)"];
    for words in out_of_memory {
        let refused = script(&format!("echo '{words}' >&2; kill -ABRT $$"), LIMITS).await.unwrap_err();

        assert!(matches!(refused, NotCompiled::TooMuchMemory { limit: 1_048_576 }), "{refused}");
    }
    let after_much = "yes | head -c 5000 >&2; echo 'memory allocation of 8 bytes failed' >&2; kill -ABRT $$";
    let refused = script(after_much, LIMITS).await.unwrap_err();
    assert!(matches!(refused, NotCompiled::TooMuchMemory { .. }), "{refused}");
    let refused = script(&format!("{READ} printf 'M\\0\\0\\0\\0\\0\\0\\0\\0'"), LIMITS).await.unwrap_err();
    assert!(matches!(refused, NotCompiled::TooMuchMemory { .. }), "{refused}");
}

#[tokio::test]
async fn a_program_that_used_up_its_processor_time_is_refused_with_its_limit() {
    for (cpu_seconds, expected) in [(None, PATIENCE), (Some(5), Duration::from_secs(5))] {
        let limits = CompileLimits { cpu_seconds, ..LIMITS };

        let refused = script("kill -XCPU $$", limits).await.unwrap_err();

        assert!(matches!(refused, NotCompiled::TooLong { limit } if limit == expected), "{refused}");
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_refused_with_its_name() {
    let refused =
        work(("/not/there".as_ref(), &[]), Work::Compile(Codegen::Optimised), b"", LIMITS).await.unwrap_err();

    assert_eq!(refused.to_string(), "/not/there cannot be started: No such file or directory (os error 2)");
}

#[tokio::test]
async fn a_program_gets_nothing_of_the_environment() {
    let refused = refusal("env >&2; pwd >&2; exit 1").await;

    let printed = refused.strip_prefix("it ended with exit status: 1: ").unwrap();
    let names = printed.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
    // The shell sets the others itself.
    let known = ["RAYON_NUM_THREADS", "PWD", "SHLVL", "_", "OLDPWD"];
    assert!(names.clone().all(|name| known.contains(&name)), "{:?}", names.collect::<Vec<_>>());
    assert!(refused.ends_with("\n/"), "{refused}");
}

/// Waits until this process has ended.
async fn gone(process: &str) {
    let begun = Instant::now();
    // A process that was killed and not waited for is still there.
    while fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(begun.elapsed() < PATIENCE, "{process} still runs");
        sleep(Duration::from_millis(10)).await;
    }
}

/// A script that writes its process number to a file and then does nothing.
fn lingering(directory: &TempDir) -> (String, std::path::PathBuf) {
    let path = directory.path().join("process");
    let text =
        format!("echo $$ >{0}.partial; mv {0}.partial {0}; exec cat /dev/zero >/dev/null", path.display());
    (text, path)
}

#[tokio::test]
async fn a_program_is_killed_at_its_time_limit() {
    let directory = TempDir::new().unwrap();
    let (text, path) = lingering(&directory);
    let limits = CompileLimits { time: Duration::from_secs(1), ..LIMITS };

    let refused = loop {
        let refused = script(&text, limits).await.unwrap_err();
        // On a busy machine the limit may come before the script.
        if path.exists() {
            break refused;
        }
    };

    assert!(matches!(refused, NotCompiled::TooLong { .. }), "{refused}");
    let process = fs::read_to_string(path).unwrap();
    assert!(!fs::exists(format!("/proc/{}", process.trim())).unwrap(), "it has ended, and it was waited for");
}

#[tokio::test]
async fn a_program_whose_caller_is_gone_is_killed() {
    let directory = TempDir::new().unwrap();
    let (text, path) = lingering(&directory);

    let started = async {
        while !path.exists() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = script(&text, LIMITS) => panic!("it ended by itself"),
        () = started => {}
    }

    gone(fs::read_to_string(path).unwrap().trim()).await;
}
