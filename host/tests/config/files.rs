use std::path::Path;

use informer::config::{self, Components, LoadError, SMALLEST};

#[test]
fn a_missing_file_is_reported_with_its_path_and_an_example() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");

    let error = config::load(&path, Components::Unseen).unwrap_err();

    let shown = error.to_string();
    assert!(matches!(&error, LoadError::Absent { path: looked } if *looked == path), "{error:?}");
    assert!(shown.starts_with(&format!("there is no configuration at {}; ", path.display())), "{shown}");
    assert!(
        shown.contains("informer new") && shown.contains("--config") && shown.ends_with(SMALLEST),
        "{shown}"
    );
}

#[test]
fn a_directory_is_not_a_file() {
    let directory = tempfile::tempdir().unwrap();

    let error = config::load(directory.path(), Components::Unseen).unwrap_err();

    assert!(matches!(error, LoadError::Unreadable { .. }), "{error:?}");
}

#[test]
fn a_file_that_never_ends_or_is_never_written_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("informer.toml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let large = directory.path().join("large.toml");
    std::fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();

    for (path, why) in [
        (pipe.as_path(), "it is a named pipe, not a regular file"),
        (Path::new("/dev/zero"), "it is a device, not a regular file"),
        (large.as_path(), "it has more than 16777216 bytes"),
    ] {
        let Err(LoadError::Unreadable { source, .. }) = config::load(path, Components::Unseen) else {
            panic!()
        };
        assert_eq!(source.to_string(), why);
    }
}

#[test]
fn a_byte_that_is_not_utf8_is_reported_at_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    std::fs::write(&path, b"# caf\xe9\n").unwrap();

    let error = config::load(&path, Components::Unseen).unwrap_err().to_string();

    let shown = path.display();
    assert_eq!(
        error,
        format!(
            "{shown}:1:6: not UTF-8, which TOML is written in; save the file as UTF-8\n1 problem in {shown}"
        )
    );
}

#[test]
fn paths_are_relative_to_the_file_and_components_are_checked_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    std::fs::write(&path, SMALLEST).unwrap();
    let component = directory.path().join("hello.wasm");

    assert_eq!(
        config::load(&path, Components::Unseen).unwrap().plugins[0].source.file(),
        Some(component.as_path())
    );
    let error = config::load(&path, Components::Present).unwrap_err().to_string();
    assert!(
        error.contains(&format!(
            ":6:10: plugin.hello.source: there is no file at {}; build the component, or correct the path",
            component.display()
        )),
        "{error}"
    );

    let built = SMALLEST.replace("\"hello.wasm\"", "\"hello.wasm\"\nbuild = \".\"");
    std::fs::write(&path, built).unwrap();
    let error = config::load(&path, Components::Present).unwrap_err().to_string();
    assert!(error.contains("hello.wasm; run `informer build` in the folder that `build` names"), "{error}");
    std::fs::write(&path, SMALLEST).unwrap();

    std::fs::create_dir(&component).unwrap();
    let error = config::load(&path, Components::Present).unwrap_err().to_string();
    assert!(error.contains("hello.wasm is a directory; build the component"), "{error}");

    std::fs::remove_dir(&component).unwrap();
    std::fs::write(&component, b"").unwrap();
    assert!(config::load(&path, Components::Present).is_ok());
}

/// A host does not start without it.
#[test]
fn the_authorities_of_http_requests_are_checked_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    std::fs::write(&path, format!("[host]\nhttp-ca = \"ca.pem\"\n{SMALLEST}")).unwrap();
    std::fs::write(directory.path().join("hello.wasm"), b"").unwrap();
    let authorities = directory.path().join("ca.pem");

    assert!(config::load(&path, Components::Unseen).is_ok());
    let error = config::load(&path, Components::Present).unwrap_err().to_string();
    let problem = format!(
        ":2:11: host.http-ca: there is no file at {}; correct the path, or remove the key",
        authorities.display()
    );
    assert!(error.contains(&problem), "{error}");

    std::fs::write(&authorities, b"").unwrap();
    assert!(config::load(&path, Components::Present).is_ok());
}

#[test]
fn problems_name_the_file_as_the_caller_names_it() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("x.toml"), "[").unwrap();
    let path = directory.path().join("./x.toml");

    let Err(LoadError::Invalid(error)) = config::load(&path, Components::Unseen) else { panic!() };

    assert_eq!(error.file, Path::new(&path));
}
