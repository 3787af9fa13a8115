//! Components that are refused at load, and the messages.

use informer_runtime::{Component, Engine, EngineConfig, LoadError};

use crate::host::{ENGINE, Setup};

/// The message for these bytes.
async fn refusal(bytes: &[u8]) -> String {
    let loaded = match Component::from_bytes(&ENGINE, bytes.to_vec()).await {
        Ok(component) => Setup::new("{}").idle().plugin.load(&component).await.map(drop),
        Err(error) => Err(error),
    };
    loaded.expect_err("it is refused").to_string()
}

async fn refusal_of_text(wat: &str) -> String {
    refusal(&wat::parse_str(wat).unwrap()).await
}

#[tokio::test]
async fn a_missing_file_is_named() {
    let refused = Component::from_file(&ENGINE, "no/such.wasm".as_ref()).await.unwrap_err();

    assert!(matches!(refused, LoadError::Read { .. }));
    assert_eq!(
        refused.to_string(),
        "cannot read the component no/such.wasm: No such file or directory (os error 2)"
    );
}

/// A named pipe is not waited for, and an endless device is not read.
#[tokio::test]
async fn a_source_that_is_no_regular_file_is_refused_by_its_kind() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe.wasm");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let socket = directory.path().join("socket.wasm");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let link = directory.path().join("link.wasm");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();

    for (path, kind) in [
        (pipe.as_path(), "a named pipe"),
        (&socket, "a socket"),
        (directory.path(), "a directory"),
        (&link, "a device"),
    ] {
        let refused = Component::from_file(&ENGINE, path).await.unwrap_err().to_string();

        let why = format!("{}: it is {kind}, not a regular file", path.display());
        assert!(refused.ends_with(&why), "{refused}");
    }
}

/// A file of the kernel reports a length of zero, so that only reading shows how long it is.
#[tokio::test]
async fn a_source_that_reports_no_length_is_read_up_to_the_limit() {
    let engine = Engine::new(&EngineConfig { component_bytes: 4096, ..EngineConfig::default() }).unwrap();

    let refused = Component::from_file(&engine, "/proc/self/smaps".as_ref()).await.unwrap_err();

    assert!(matches!(refused, LoadError::TooLarge { bytes: 4097, limit: 4096 }), "{refused}");
}

#[tokio::test]
async fn the_start_of_a_file_that_is_not_webassembly_is_shown() {
    let begin = "not a WebAssembly component: ";
    for (bytes, found) in [
        (&b""[..], "the file is empty"),
        (b"<!DOCTYPE html><html>", "it starts with \"<!DOCTYPE html><html\""),
        (b"\xff\xfe\x00", "it starts with \"\u{fffd}\u{fffd}\\0\""),
        (b"\0as", "it starts with \"\\0as\""),
        (b"\0asm\x0d", "the file is cut off"),
        (b"\0asm\x09\0\x09\0", "it is WebAssembly of a version that this host does not support"),
    ] {
        assert_eq!(refusal(bytes).await, format!("{begin}{found}"));
    }
}

#[tokio::test]
async fn a_component_that_is_cut_off_is_refused() {
    let path = tokio::task::spawn_blocking(|| informer_guests::guest("echo")).await.unwrap();
    let whole = std::fs::read(path).unwrap();

    let refused = refusal(&whole[..whole.len() / 2]).await;

    assert!(
        refused.starts_with("the component does not compile; the file may be cut off or damaged: "),
        "{refused}"
    );
}

#[tokio::test]
async fn a_core_module_is_refused_with_the_way_to_make_a_component() {
    let refused = refusal_of_text("(module)").await;

    assert!(refused.starts_with("a core module, not a component: "), "{refused}");
    assert!(refused.contains("`informer inspect`"), "{refused}");
}

#[tokio::test]
async fn a_component_that_is_not_a_plugin_is_refused_with_missing_and_existing_exports() {
    let refused = refusal_of_text(
        r#"(component
            (instance $i)
            (export "wasi:cli/run@0.2.3" (instance $i))
            (export "informer:plugin/plugin@0.1.0" (instance $i)))"#,
    )
    .await;

    let missing = "the component does not export informer:plugin/handler@0.1.0 or informer:plugin/reconciler@0.1.0; \
                   it exports wasi:cli/run@0.2.3, informer:plugin/plugin@0.1.0. Build it against ";
    assert!(refused.starts_with(missing), "{refused}");
    let empty = refusal_of_text("(component)").await;
    let newest = "the component does not export informer:plugin/handler@0.2.0 or informer:plugin/reconciler@0.2.0, \
                  informer:plugin/plugin@0.2.0; it exports nothing. ";
    assert!(empty.starts_with(newest), "{empty}");
}

#[tokio::test]
async fn a_component_that_imports_the_workqueue_without_a_reconciler_is_refused() {
    let refused = refusal_of_text(
        r#"(component
            (import "informer:plugin/workqueue@0.1.0" (instance))
            (instance $i)
            (export "informer:plugin/handler@0.1.0" (instance $i))
            (export "informer:plugin/plugin@0.1.0" (instance $i)))"#,
    )
    .await;

    let expected = "the component imports informer:plugin/workqueue@0.1.0 and does not export \
                    informer:plugin/reconciler@0.1.0, so the keys that it adds would never be \
                    reconciled: build it against the world `controller-with-handlers` of wit/";
    assert_eq!(refused, expected);
}

#[tokio::test]
async fn a_component_that_imports_timers_without_a_handler_for_them_is_refused() {
    let refused = refusal_of_text(
        r#"(component
            (import "informer:plugin/timer@0.2.0" (instance))
            (instance $i)
            (export "informer:plugin/handler@0.2.0" (instance $i))
            (export "informer:plugin/plugin@0.2.0" (instance $i)))"#,
    )
    .await;

    let expected = "the component imports informer:plugin/timer@0.2.0 and does not export \
                    informer:plugin/timer-handler@0.2.0, so the timers that it sets would call nothing: build it against \
                    the world `controller-with-signals` of wit/";
    assert_eq!(refused, expected);
}

#[tokio::test]
async fn a_plugin_whose_functions_have_other_types_is_refused() {
    let refused = refusal_of_text(
        r#"(component
            (instance $i)
            (export "informer:plugin/handler@0.1.0" (instance $i))
            (export "informer:plugin/plugin@0.1.0" (instance $i)))"#,
    )
    .await;

    assert!(refused.starts_with("the component cannot be instantiated: "), "{refused}");
    assert!(refused.contains("informer:plugin/"), "{refused}");
}

#[tokio::test]
async fn another_version_of_the_interface_is_refused_with_those_that_are_served() {
    let refused = refusal_of_text(
        r#"(component (instance $i) (export "informer:plugin/handler@0.9.0" (instance $i)))"#,
    )
    .await;

    let expected = "the component was built against informer:plugin/handler@0.9.0; \
                    this host serves informer:plugin@0.1.0 and informer:plugin@0.2.0: build it against one of them \
                    (`informer wit` writes their files)";
    assert_eq!(refused, expected);
}

#[tokio::test]
async fn an_import_that_is_not_served_is_named_with_the_served_interfaces() {
    for import in ["wasi:http/outgoing-handler@0.3.0", "wasi:cli/stdout@0.3.0", "acme:door/bell"] {
        let refused = refusal_of_text(&format!(
            r#"(component
                (import "{import}" (instance))
                (instance $i)
                (export "informer:plugin/handler@0.1.0" (instance $i))
                (export "informer:plugin/plugin@0.1.0" (instance $i)))"#,
        ))
        .await;

        assert!(
            refused.starts_with(&format!("the component imports {import}, which this host does not serve; ")),
            "{refused}"
        );
        assert!(refused.contains("wasi:clocks"), "{refused}");
        assert!(refused.contains("informer:plugin/lister@0.1.0 or @0.2.0, "), "{refused}");
    }
}

#[tokio::test]
async fn the_lister_without_a_grant_is_refused_with_the_line_to_add() {
    let running = Setup::new(r#"{"gvr": "v1/pods", "what": "list-meta"}"#).idle();

    let refused = running.load("reader").await.unwrap_err();

    let expected = "the component imports informer:plugin/lister@0.2.0, which is not granted: \
                    add `read = [\"apps/v1/deployments\"]` under [plugin.grant]";
    assert_eq!(refused.to_string(), expected);
}

/// A person should not have to load the component once for each missing grant.
#[tokio::test]
async fn all_imports_that_are_not_granted_or_served_are_named_at_once() {
    let missing =
        ["informer:plugin/lister@0.1.0", "informer:plugin/client@0.1.0", "acme:door/bell", "acme:door/key"];
    let imports: String = missing.map(|import| format!(r#"(import "{import}" (instance))"#)).concat();
    let component = format!(
        r#"(component {imports}
            (instance $i)
            (export "informer:plugin/handler@0.1.0" (instance $i))
            (export "informer:plugin/plugin@0.1.0" (instance $i)))"#
    );

    let refused = refusal_of_text(&component).await;

    let expected = "the component imports informer:plugin/lister@0.1.0, informer:plugin/client@0.1.0, which are not \
                    granted: add `read = [\"apps/v1/deployments\"]` and `write = [\"patch apps/v1/deployments \
                    @default\"]` under [plugin.grant]; and acme:door/bell, acme:door/key, which this host does not \
                    serve; it serves ";
    assert!(refused.starts_with(expected), "{refused}");
}

#[tokio::test]
async fn the_error_of_a_failed_start_has_the_guests_words() {
    let running = Setup::new("{}").idle();

    let refused = running.load("fail_start").await.unwrap_err();
    assert_eq!(refused.to_string(), "the component does not start: there is no shop of that name");

    let refused = running.load("trap_start").await.unwrap_err().to_string();
    assert!(refused.starts_with("the component does not start: "), "{refused}");
    assert!(refused.contains("nothing works here"), "{refused}");
    let stats = running.plugin.stats();
    assert_eq!((stats.instances.created, stats.instances.retired), (2, 2));
}

#[tokio::test]
async fn a_plugin_may_refuse_its_configuration() {
    let refused = Setup::new(r#"{"tmies": 1}"#).idle().load("flaky").await.unwrap_err().to_string();

    assert!(refused.contains("unknown field `tmies`"), "{refused}");
}

#[tokio::test]
async fn a_memory_limit_that_is_too_small_to_start_is_named() {
    let limit = |limits: &mut informer_runtime::Limits| limits.memory_bytes = 64 << 10;

    let refused = Setup::new("{}").limits(limit).idle().load("echo").await.unwrap_err().to_string();

    assert!(refused.starts_with("the component cannot be instantiated: "), "{refused}");
    assert!(refused.contains("more memory than its limit of 65536 bytes"), "{refused}");
}

#[tokio::test]
async fn a_loaded_version_reports_its_name_and_version() {
    let running = Setup::new("{}").load("echo").await;

    let version = running.plugin.version().unwrap();

    assert_eq!(version.name, "informer-fixture-guests");
    assert_eq!(version.version, env!("CARGO_PKG_VERSION"));
    assert!(version.sdk.starts_with("informer-sdk-rust "), "{version:?}");
    assert_eq!(version.digest.len(), 64);
}
