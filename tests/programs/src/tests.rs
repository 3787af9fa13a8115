use std::{os::unix::fs::PermissionsExt, thread};

use tempfile::TempDir;

use super::*;

/// A replacement for `go`: `go list` succeeds, and `go build -o FILE ..` runs the script of the test.
fn fake_go(directory: &TempDir, build: &str) -> Builder {
    let go = directory.path().join("go");
    fs::write(&go, format!("#!/bin/sh\n[ \"$1\" = build ] || exit 0\n{build}\n")).unwrap();
    fs::set_permissions(&go, fs::Permissions::from_mode(0o755)).unwrap();
    Builder::new(go, directory.path().join("bin"))
}

fn without_go(builder: &Builder) -> Builder {
    Builder::new("/nonexistent/go", &builder.directory)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn concurrent_callers_build_once_and_leave_only_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let builder = fake_go(&directory, &format!("echo built >> {}; echo program > $3", log.display()));

    let paths: Vec<PathBuf> = thread::scope(|scope| {
        let callers: Vec<_> =
            (0..8).map(|_| scope.spawn(|| builder.obtain(Program::Kubectl).unwrap())).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });

    assert_eq!(fs::read_to_string(&log).unwrap(), "built\n");
    assert!(paths.iter().all(|path| fs::read_to_string(path).unwrap() == "program\n"));
    assert_eq!(names(&builder.directory), [Program::Kubectl.file_name().unwrap()]);
}

/// A build ahead may have a low priority, so a suite that needs the program must not wait for it.
#[test]
fn a_caller_builds_a_program_that_another_one_builds_ahead() {
    let directory = tempfile::tempdir().unwrap();
    // The build ahead waits until the other caller has its program, at most a minute.
    let waits = "case $3 in *.ahead/*) until [ -e obtained ] || [ $((i += 1)) -gt 6000 ]; do sleep 0.01; done ;; esac";
    let here = directory.path().display();
    let builder = fake_go(&directory, &format!("cd {here}; echo program > $3; : > begun; {waits}"));
    let begun = directory.path().join("begun");

    thread::scope(|scope| {
        let ahead = scope.spawn(|| builder.build_ahead(Program::Kubectl));
        while !begun.exists() && !ahead.is_finished() {
            thread::yield_now();
        }
        let obtained = builder.obtain(Program::Kubectl);
        fs::write(directory.path().join("obtained"), "").unwrap();

        ahead.join().unwrap().unwrap();
        assert_eq!(fs::read_to_string(obtained.unwrap()).unwrap(), "program\n");
    });
}

#[test]
fn a_program_that_is_built_ahead_needs_no_go() {
    let directory = tempfile::tempdir().unwrap();
    let builder = fake_go(&directory, "echo program > $3");
    builder.build_ahead(Program::Etcd).unwrap();

    let found = without_go(&builder);

    assert!(found.obtain(Program::Etcd).unwrap().is_file());
    found.build_ahead(Program::Etcd).unwrap();
}

#[test]
fn a_cached_program_needs_no_go() {
    let directory = tempfile::tempdir().unwrap();
    let builder = fake_go(&directory, "echo program > $3");
    let built = builder.obtain(Program::Etcd).unwrap();

    let found = without_go(&builder);

    assert_eq!(found.obtain(Program::Etcd).unwrap(), built);
    assert!(matches!(found.obtain(Program::Kubectl), Err(Unavailable::NoGo { program: "kubectl", .. })));
}

#[test]
fn a_go_that_refuses_the_module_returns_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let builder = fake_go(&directory, "");
    let refusal = "go: go.mod requires go >= 1.26.0 (running go 1.21.0; GOTOOLCHAIN=local)";
    fs::write(directory.path().join("go"), format!("#!/bin/sh\necho '{refusal}' >&2; exit 1\n")).unwrap();

    let Err(Unavailable::NoGo { reason, .. }) = builder.obtain(Program::KubeApiserver) else {
        panic!("this Go was accepted");
    };

    assert_eq!(reason, refusal);
}

#[test]
fn a_failed_build_returns_its_output_and_leaves_no_program() {
    let directory = tempfile::tempdir().unwrap();
    let builder = fake_go(&directory, "echo half > $3; echo 'no such host: proxy.golang.org' >&2; exit 1");

    let Err(Unavailable::Build { output, .. }) = builder.obtain(Program::Etcd) else {
        panic!("a failed build gave a program");
    };

    assert_eq!(output, "no such host: proxy.golang.org");
    assert!(!builder.path(Program::Etcd).unwrap().exists());
}

#[test]
fn each_program_name_contains_the_version() {
    let names = [Program::Etcd, Program::KubeApiserver, Program::KubeControllerManager, Program::Kubectl]
        .map(|program| program.file_name().unwrap());

    let prefixes =
        ["etcd-v3.6.", "kube-apiserver-v1.36.", "kube-controller-manager-v1.36.", "kubectl-v1.36."];
    for (name, prefix) in names.iter().zip(prefixes) {
        assert!(name.starts_with(prefix), "{name} does not start with {prefix}");
    }
}

#[test]
fn the_versions_equal_those_of_the_go_modules() {
    let module = |program: Program| fs::read_to_string(program.module().join("go.mod")).unwrap();

    let kubernetes = Program::Kubectl.version();
    assert!(module(Program::Kubectl).contains(&format!("k8s.io/kubernetes {kubernetes}\n")));
    assert!(Program::Kubectl.build_arguments().join(" ").contains(&format!("gitVersion={kubernetes} ")));
    let etcd = Program::Etcd.version();
    let helm = Program::Helm.version();
    // Go marks the module of a tool as indirect.
    assert!(module(Program::Helm).contains(&format!("helm.sh/helm/v4 {helm} // indirect\n")));
    assert!(Program::Helm.build_arguments().join(" ").contains(&format!("version.version={helm}")));
    let prometheus = Program::Promtool.version();
    assert!(
        module(Program::Promtool)
            .contains(&format!("github.com/prometheus/prometheus {prometheus} // indirect\n"))
    );
    let receiver = Program::Collector.version();
    let required = format!("go.opentelemetry.io/collector/receiver/otlpreceiver {receiver}\n");
    assert!(module(Program::Collector).contains(&required));
    assert!(module(Program::Etcd).contains(&format!("go.etcd.io/etcd/server/v3 {etcd}\n")));
}
