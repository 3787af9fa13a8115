//! `cargo xtask`: the chores of the project. They need only Rust.
//!
//! It has few dependencies, so it compiles in seconds on a fresh machine.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

mod bench;
mod command;
mod function_order;
mod fuzz;
mod guests;
mod image;
mod lint;
mod node;
mod pictures;
mod programs;
mod rust_only;
mod suites;
mod tool;

use std::process::ExitCode;

use command::{Run, Step, cargo, target_dir};
use programs::Programs;

const USAGE: &str = "\
usage: cargo xtask <command>

  demo [--once] [..]   build the host and the example, and run the demo; with --once it ends by itself, with
                       status 0 if everything happened as expected
  test [--all]         run the tests that need only Rust; --all also runs those against the real kube-apiserver
                       and kubectl, real registries, the examples in JavaScript and Python, the page in Chromium, and the fuzz targets
                       (needs Go, Node.js, Python 3, a C++ compiler and chromium-driver), and at the end, alone, the
                       latency of a plugin beside hostile ones; tests that do not measure run two suites at a time
  test --node          build the image, and run it on a real Kubernetes of one node (needs root, Go, and the Debian packages
                       containerd, runc, containernetworking-plugins, iptables, iproute2 and busybox-static)
  test --cosign        sign components with the real cosign in real registries (needs Go; it builds cosign, which takes minutes)
  fuzz [TARGET] [--seconds N]
                       fuzz every target of tests/fuzz, or one of them, for 20 or N seconds each (needs a C++ compiler)
  gate                 run lint, demo --once and test --all, and build the Go programs of the tests beside them: what .ci/run does
  lint                 check formatting, clippy and documentation; every warning is an error
  guests               build the example and the fixture components, and print their paths
  image [amd64] [arm64]
                       build the container image without a container runtime: target/image/informer.tar (needs Debian or
                       Ubuntu, and a C compiler for the other architecture)
  bench [..]           measure against kube-rs and client-go (needs Go), or with --plugins N a host with N idle plugins, or with
                       --costs what single things cost in a host; tests/bench/README.md lists the options
  bench --ready-made [..]
                       measure the ready-made plugins on the real kube-apiserver with its controllers, also beside other
                       programs; --help lists the options (needs Go)
  bench --languages [..]
                       measure the way from an empty folder to a running handler in each language; --help lists the options
                       (needs Go, Node.js and Python 3)
  function-order       write host/function-order.ld: the functions that a running host executes, for the linker. It takes 20
                       minutes and is due before a release (needs Go, and Linux on x86-64)
  pictures [--check]   draw the pictures of the README (host/docs/*.svg); --check compares them with the files
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let result = match command.as_str() {
        "demo" => demo(&rest),
        "test" => suites::run(&rest),
        "gate" => gate(&rest),
        "lint" => lint::run(),
        "fuzz" => fuzz::run(&rest),
        "guests" => guests::build_all(),
        "image" => image::run(&rest),
        "bench" => bench::run(&rest),
        "function-order" => function_order::run(&rest),
        "pictures" => pictures::run(&rest),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(64);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn gate(rest: &[String]) -> Result<(), String> {
    if !rest.is_empty() {
        return Err(format!("gate takes nothing, not `{}`", rest.join(" ")));
    }
    let programs = Programs::begin()?;
    lint::run()?;
    demo(&["--once".to_owned()])?;
    suites::run_all(programs)
}

fn demo(rest: &[String]) -> Result<(), String> {
    let component = guests::build_example()?;
    // All members: dependencies are then built once, with the features that the tests need.
    cargo(&["build", "--workspace", "--exclude", "informer-bench", "--bin", "informer"])
        .run(&Step::new("build the host"))?;
    let host = target_dir().join("debug/informer").to_string_lossy().into_owned();
    let mut arguments = vec!["demo", "--component", &component];
    arguments.extend(rest.iter().map(String::as_str));
    Run::new(&host, &arguments).run(&Step::new("run the demo"))
}
