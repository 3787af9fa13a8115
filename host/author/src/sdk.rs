//! The SDKs that a project contains: files of `plugins/sdk/LANGUAGE`, as they were when this program was built.

use crate::{Language, TextFile};

/// The folder of the SDK in a project.
pub const SDK: &str = "sdk";

/// Lists files of `plugins/sdk` with their contents.
macro_rules! sdk {
    ($language:literal: $($path:literal),* $(,)?) => {
        &[$(TextFile {
            path: $path,
            text: include_str!(concat!("../../../plugins/sdk/", $language, "/", $path)),
        }),*]
    };
}

const JAVASCRIPT: &[TextFile<'static>] = sdk![
    "javascript":
    "README.md",
    "package.json",
    "src/batch.js",
    "src/client.js",
    "src/config.js",
    "src/console.js",
    "src/delivery.js",
    "src/errors.js",
    "src/failure.js",
    "src/http.js",
    "src/index.js",
    "src/json.js",
    "src/keyvalue.js",
    "src/lister.js",
    "src/log.js",
    "src/metadata.js",
    "src/metrics.js",
    "src/object.js",
    "src/own_writes.js",
    "src/plugin.js",
    "src/timer.js",
    "src/utf8.js",
    "src/workqueue.js",
    "testing/cluster.js",
    "testing/hooks.js",
    "testing/host.js",
    "testing/http.js",
    "testing/register.js",
    "types/batch.d.ts",
    "types/client.d.ts",
    "types/config.d.ts",
    "types/console.d.ts",
    "types/delivery.d.ts",
    "types/errors.d.ts",
    "types/failure.d.ts",
    "types/global.d.ts",
    "types/http.d.ts",
    "types/index.d.ts",
    "types/json.d.ts",
    "types/keyvalue.d.ts",
    "types/lister.d.ts",
    "types/log.d.ts",
    "types/metadata.d.ts",
    "types/metrics.d.ts",
    "types/object.d.ts",
    "types/own_writes.d.ts",
    "types/plugin.d.ts",
    "types/timer.d.ts",
    "types/utf8.d.ts",
    "types/workqueue.d.ts",
];

const C: &[TextFile<'static>] = sdk![
    "c":
    "README.md",
    "calls.c",
    "errors.c",
    "http.c",
    "informer.h",
    "internal.h",
    "json.c",
    "memory.c",
    "reads.c",
    "state.c",
    "writes.c",
];

const GO: &[TextFile<'static>] = sdk![
    "go":
    "README.md",
    "batchhandler/batchhandler.go",
    "batchhandler/batchhandler_wasip1.go",
    "bindings/export_informer_plugin_batch_handler/export.go",
    "bindings/export_informer_plugin_config_handler/export.go",
    "bindings/export_informer_plugin_handler/export.go",
    "bindings/export_informer_plugin_plugin/export.go",
    "bindings/export_informer_plugin_reconciler/export.go",
    "bindings/export_informer_plugin_sync_handler/export.go",
    "bindings/export_informer_plugin_timer_handler/export.go",
    "bindings/exports_batch_handler/exports.go",
    "bindings/exports_config_handler/exports.go",
    "bindings/exports_handler/exports.go",
    "bindings/exports_plugin/exports.go",
    "bindings/exports_reconciler/exports.go",
    "bindings/exports_sync_handler/exports.go",
    "bindings/exports_timer_handler/exports.go",
    "bindings/informer_plugin_batch_handler/empty.s",
    "bindings/informer_plugin_batch_handler/wit_bindings.go",
    "bindings/informer_plugin_client/empty.s",
    "bindings/informer_plugin_client/wit_bindings.go",
    "bindings/informer_plugin_config_handler/empty.s",
    "bindings/informer_plugin_config_handler/wit_bindings.go",
    "bindings/informer_plugin_delivery/empty.s",
    "bindings/informer_plugin_delivery/wit_bindings.go",
    "bindings/informer_plugin_handler/empty.s",
    "bindings/informer_plugin_handler/wit_bindings.go",
    "bindings/informer_plugin_lister/empty.s",
    "bindings/informer_plugin_lister/wit_bindings.go",
    "bindings/informer_plugin_log/empty.s",
    "bindings/informer_plugin_log/wit_bindings.go",
    "bindings/informer_plugin_metrics/empty.s",
    "bindings/informer_plugin_metrics/wit_bindings.go",
    "bindings/informer_plugin_objects/empty.s",
    "bindings/informer_plugin_objects/wit_bindings.go",
    "bindings/informer_plugin_plugin/empty.s",
    "bindings/informer_plugin_plugin/wit_bindings.go",
    "bindings/informer_plugin_reconciler/empty.s",
    "bindings/informer_plugin_reconciler/wit_bindings.go",
    "bindings/informer_plugin_sync_handler/empty.s",
    "bindings/informer_plugin_sync_handler/wit_bindings.go",
    "bindings/informer_plugin_timer/empty.s",
    "bindings/informer_plugin_timer/wit_bindings.go",
    "bindings/informer_plugin_timer_handler/empty.s",
    "bindings/informer_plugin_timer_handler/wit_bindings.go",
    "bindings/informer_plugin_types/empty.s",
    "bindings/informer_plugin_types/wit_bindings.go",
    "bindings/informer_plugin_workqueue/empty.s",
    "bindings/informer_plugin_workqueue/wit_bindings.go",
    "bindings/wasi_config_store/empty.s",
    "bindings/wasi_config_store/wit_bindings.go",
    "bindings/wasi_keyvalue_atomics/empty.s",
    "bindings/wasi_keyvalue_atomics/wit_bindings.go",
    "bindings/wasi_keyvalue_batch/empty.s",
    "bindings/wasi_keyvalue_batch/wit_bindings.go",
    "bindings/wasi_keyvalue_store/empty.s",
    "bindings/wasi_keyvalue_store/wit_bindings.go",
    "bindings/wasi_logging_logging/empty.s",
    "bindings/wasi_logging_logging/wit_bindings.go",
    "bindings/wasi_clocks_monotonic_clock/empty.s",
    "bindings/wasi_clocks_monotonic_clock/wit_bindings.go",
    "bindings/wasi_http_outgoing_handler/empty.s",
    "bindings/wasi_http_outgoing_handler/wit_bindings.go",
    "bindings/wasi_http_types/empty.s",
    "bindings/wasi_http_types/wit_bindings.go",
    "bindings/wasi_io_error/empty.s",
    "bindings/wasi_io_error/wit_bindings.go",
    "bindings/wasi_io_poll/empty.s",
    "bindings/wasi_io_poll/wit_bindings.go",
    "bindings/wasi_io_streams/empty.s",
    "bindings/wasi_io_streams/wit_bindings.go",
    "bindings/wit/runtime/empty.s",
    "bindings/wit/runtime/runtime.go",
    "bindings/wit/types/types.go",
    "client/client.go",
    "client/event.go",
    "client/modify.go",
    "client/wrote.go",
    "config/config.go",
    "confighandler/confighandler.go",
    "confighandler/confighandler_wasip1.go",
    "doc.go",
    "errors.go",
    "failure.go",
    "fetch/fetch.go",
    "go.mod",
    "handler/handler.go",
    "handler/handler_wasip1.go",
    "informertest/informertest.go",
    "informertest/reads.go",
    "informertest/state.go",
    "informertest/writes.go",
    "internal/answer/answer_wasip1.go",
    "internal/failure/failure.go",
    "internal/host/calls_wasip1.go",
    "internal/host/convert_wasip1.go",
    "internal/host/host.go",
    "internal/host/http_wasip1.go",
    "internal/host/native.go",
    "internal/host/wasi_wasip1.go",
    "internal/page/page.go",
    "internal/pointer/pointer.go",
    "internal/received/received_wasip1.go",
    "keyvalue/keyvalue.go",
    "lister/lister.go",
    "log.go",
    "metrics/metrics.go",
    "object.go",
    "plugin.go",
    "plugin_wasip1.go",
    "read.go",
    "reconciler/reconciler.go",
    "reconciler/reconciler_wasip1.go",
    "sdk.go",
    "synchandler/synchandler.go",
    "synchandler/synchandler_wasip1.go",
    "timer/timer.go",
    "timer/timer_wasip1.go",
    "workqueue/workqueue.go",
];

const PYTHON: &[TextFile<'static>] = sdk![
    "python":
    "README.md",
    "pyproject.toml",
    "informer_sdk/__init__.py",
    "informer_sdk/_fake_types.py",
    "informer_sdk/_types.py",
    "informer_sdk/_used.py",
    "informer_sdk/_wasi_http.py",
    "informer_sdk/app.py",
    "informer_sdk/batch.py",
    "informer_sdk/client.py",
    "informer_sdk/config.py",
    "informer_sdk/delivery.py",
    "informer_sdk/errors.py",
    "informer_sdk/http.py",
    "informer_sdk/keyvalue.py",
    "informer_sdk/lister.py",
    "informer_sdk/log.py",
    "informer_sdk/metadata.py",
    "informer_sdk/metrics.py",
    "informer_sdk/objects.py",
    "informer_sdk/own_writes.py",
    "informer_sdk/py.typed",
    "informer_sdk/testing.py",
    "informer_sdk/timer.py",
    "informer_sdk/workqueue.py",
];

/// The files of the SDK of a language, with paths relative to its folder. It is empty for a language whose compiler gets the SDK
/// itself, or that has none.
#[must_use]
pub fn sdk(language: Language) -> &'static [TextFile<'static>] {
    match language {
        Language::Js | Language::Ts => JAVASCRIPT,
        Language::Go => GO,
        Language::C => C,
        Language::Python => PYTHON,
        Language::Rust => &[],
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// Each language with the folder of its SDK, and the folder in it that has the sources.
    const SOURCES: &[(Language, &str, &str)] = &[
        (Language::Js, "javascript", "src"),
        (Language::Js, "javascript", "testing"),
        (Language::Js, "javascript", "types"),
        (Language::Go, "go", ""),
        (Language::C, "c", ""),
        (Language::Python, "python", "informer_sdk"),
    ];

    /// The files below a folder of an SDK, with paths relative to the SDK. Tests and pins of the toolchain are no part of it.
    fn found(sdk: &Path, folder: &Path, files: &mut BTreeSet<String>) {
        for entry in fs::read_dir(sdk.join(folder)).unwrap().map(Result::unwrap) {
            let path = folder.join(entry.file_name());
            if path.ends_with("test") {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                found(sdk, &path, files);
            } else if !["_test.go", "requirements.txt"]
                .iter()
                .any(|end| path.to_str().unwrap().ends_with(end))
            {
                files.insert(path.to_str().unwrap().to_owned());
            }
        }
    }

    #[test]
    fn the_program_contains_every_source_of_each_sdk() {
        for &(language, folder, sources) in SOURCES {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/sdk").join(folder);
            let below = sdk(language).iter().filter(|file| Path::new(file.path).starts_with(sources));
            let mut files = BTreeSet::new();
            found(&path, Path::new(sources), &mut files);

            let contained: BTreeSet<String> = below.map(|file| file.path.to_owned()).collect();

            assert_eq!(contained, files, "{language}");
        }
    }
}
