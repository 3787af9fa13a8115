use std::process::Command;

/// A script that sets a variable to an empty text has no value for it.
#[test]
fn an_empty_environment_variable_counts_as_unset() {
    let directory = tempfile::tempdir().unwrap();
    let informer = |arguments: &[&str], value: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_informer"));
        command.args(arguments).current_dir(directory.path());
        for variable in ["INFORMER_CONFIG", "INFORMER_LOG", "INFORMER_LOG_FORMAT"] {
            command.env(variable, value);
        }
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };

    let commands: [&[&str]; 6] =
        [&["check"], &["run"], &["rbac"], &["status"], &["dead-letters", "list"], &["plugin", "verify"]];
    for command in commands {
        let (status, shown) = informer(command, "");
        assert_eq!(status, Some(1), "{command:?}: {shown}");
        assert!(shown.starts_with("informer: there is no configuration at "), "{command:?}: {shown}");
        assert!(shown.contains("/informer.toml; name another with --config"), "{command:?}: {shown}");
    }
    let (status, shown) = informer(&["check"], "json");
    assert_eq!(status, Some(1), "{shown}");
    assert!(shown.contains("/json; name another with --config"), "a variable with a value counts: {shown}");
}
