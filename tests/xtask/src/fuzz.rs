//! The fuzz targets of `tests/fuzz`, driven by libFuzzer: `cargo xtask fuzz`.

use std::{
    fs,
    path::{Path, PathBuf},
    thread::available_parallelism,
};

use crate::{
    command::{Run, Step, cargo, for_each, root, target_dir},
    guests,
    tool::Tool,
};

/// The time for each target if no other is given.
const SECONDS: u64 = 20;

/// The time for each target in the gate.
const SECONDS_IN_THE_GATE: u64 = 5;

/// The longest time of one input.
const SECONDS_OF_AN_INPUT: u64 = 20;

/// libFuzzer is part of a crate, as source.
const CXX: Tool = Tool {
    program: "c++",
    version: "--version",
    install: "install a C++ compiler, for example the package g++",
};

/// The title of the step that builds the targets.
const BUILD: &str = "build the fuzz targets";

/// How a run chooses its inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// The run begins with a random seed and with the inputs that earlier runs kept, so each run searches further.
    Further,
    /// The run begins with a constant seed and with the corpus of the repository, so all runs search in the same order. A faster machine
    /// gets further.
    Again,
}

/// Builds the targets and runs each for a bounded time, or one of them: `[TARGET] [--seconds N]`.
///
/// # Errors
/// The arguments are wrong, the build fails, a target found a bug, or `CI` is set and there is no C++ compiler.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (chosen, seconds) = parsed(arguments)?;
    fuzz_all(chosen, seconds, Search::Further)
}

/// Runs every target briefly. The gate must not fail by chance, so the inputs are the same each time.
///
/// # Errors
/// As for [`run`].
pub(crate) fn run_in_the_gate() -> Result<(), String> {
    fuzz_all(None, SECONDS_IN_THE_GATE, Search::Again)
}

/// Builds the targets for [`run_in_the_gate`], beside other work.
///
/// # Errors
/// The build fails.
pub(crate) fn build_beside() -> Result<(), String> {
    if !CXX.runs() {
        // `run_in_the_gate` says so.
        return Ok(());
    }
    instrumented()?.run_beside(&Step::new(BUILD))
}

fn fuzz_all(chosen: Option<String>, seconds: u64, search: Search) -> Result<(), String> {
    let mut targets = targets()?;
    if let Some(chosen) = chosen {
        if !targets.contains(&chosen) {
            return Err(format!("there is no target `{chosen}`; there are {}", targets.join(", ")));
        }
        targets = vec![chosen];
    }
    if !Tool::all_run(&[CXX], "fuzz")? {
        return Ok(());
    }
    // A target that builds its guest while it runs would exceed the time of an input.
    guests::build_all()?;
    let program = build()?;
    let jobs = available_parallelism().map_or(1, usize::from).min(targets.len());
    println!("==> fuzz {} targets for {seconds} s each, {jobs} at a time", targets.len());
    for_each(&targets, jobs, |target| {
        let summary = fuzz(&program, target, seconds, search)?;
        println!("    {target}: {summary}");
        Ok(())
    })
}

fn parsed(arguments: &[String]) -> Result<(Option<String>, u64), String> {
    let wrong = || format!("fuzz takes `[TARGET] [--seconds N]`, not `{}`", arguments.join(" "));
    let (mut chosen, mut seconds) = (None, SECONDS);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--seconds" {
            seconds = words.next().and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
        } else if chosen.is_none() && !word.starts_with('-') {
            chosen = Some(word.clone());
        } else {
            return Err(wrong());
        }
    }
    Ok((chosen, seconds))
}

/// The names of the targets: each has a folder in the corpus.
fn targets() -> Result<Vec<String>, String> {
    let folder = folder().join("corpus");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn folder() -> PathBuf {
    root().join("tests/fuzz")
}

/// Builds the program with all targets, and returns its path.
fn build() -> Result<PathBuf, String> {
    instrumented()?.run(&Step::new(BUILD))?;
    Ok(target_dir().join("debug/informer-fuzz"))
}

/// Returns the cargo command that builds the program. It instruments only crates of the workspace. Their dependencies stay the same
/// as in the tests, so cargo does not compile them again.
fn instrumented() -> Result<Run, String> {
    let wrapper =
        fs::canonicalize(folder().join("rustc.sh")).map_err(|error| format!("no rustc.sh: {error}"))?;
    let build = cargo(&[
        "build",
        "--workspace",
        "--exclude",
        "informer-bench",
        "--bin",
        "informer-fuzz",
        "--features",
        "informer-fuzz/libfuzzer",
    ]);
    Ok(build.env("RUSTC_WORKSPACE_WRAPPER", &wrapper.to_string_lossy()))
}

/// Runs one target. Returns what libFuzzer counted.
fn fuzz(program: &Path, target: &str, seconds: u64, search: Search) -> Result<String, String> {
    let work = target_dir().join("fuzz");
    let found = work.join("found");
    let kept = match search {
        Search::Further => work.join("corpus").join(target),
        Search::Again => work.join("gate").join(target),
    };
    if search == Search::Again && kept.exists() {
        fs::remove_dir_all(&kept).map_err(|error| format!("cannot remove {}: {error}", kept.display()))?;
    }
    for directory in [&kept, &found] {
        fs::create_dir_all(directory)
            .map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
    }
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let mut arguments = vec![
        format!("-max_total_time={seconds}"),
        format!("-timeout={SECONDS_OF_AN_INPUT}"),
        format!("-artifact_prefix={}/{target}-", found.display()),
        "-print_final_stats=1".to_owned(),
        "-rss_limit_mb=2048".to_owned(),
        // 0 is a random seed.
        format!("-seed={}", u8::from(search == Search::Again)),
    ];
    let dictionary = folder().join("dictionaries").join(format!("{target}.dict"));
    if dictionary.exists() {
        arguments.push(format!("-dict={}", dictionary.display()));
    }
    // New inputs go to the first folder.
    arguments.push(shown(&kept));
    let ours = ["corpus", "regressions"].map(|name| folder().join(name).join(target));
    arguments.extend(ours.iter().filter(|directory| directory.exists()).map(|directory| shown(directory)));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = Run::new(&shown(program), &arguments).env("INFORMER_FUZZ", target);
    // The message of a panic is more useful than the frames of libFuzzer.
    let run = run.env("RUST_BACKTRACE", "0");
    match run.report() {
        Ok(report) => Ok(summary(&report)),
        Err(problem) => Err(format!(
            "{problem}\nthe fuzz target `{target}` found a bug: the input is in {}. Copy it to tests/fuzz/regressions/{target}, \
             repeat it with `cargo test -p informer-fuzz`, and mend the bug",
            found.display()
        )),
    }
}

/// The coverage and the counts at the end of a report.
fn summary(report: &str) -> String {
    let after = |key: &str| {
        let found = report.rsplit_once(key).map_or("", |(_, rest)| rest);
        found.split_whitespace().next().unwrap_or("?").to_owned()
    };
    format!(
        "{} inputs, {} a second, {} edges, {} MiB",
        after("stat::number_of_executed_units:"),
        after("stat::average_exec_per_sec:"),
        after(" cov: "),
        after("stat::peak_rss_mb:"),
    )
}
