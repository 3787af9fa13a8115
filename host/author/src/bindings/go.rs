//! Bindings for Go: packages from wit-bindgen, and what they need below and above them.
//!
//! The generated packages refer to a module that is elsewhere. Ours are written into the project instead, so that a build needs no
//! module proxy.

use wit_bindgen_go::{Format, Opts};

use super::{Generated, NoBindings, generated};
use crate::wit_world::World;

/// The module of the packages that the generated code imports.
const ELSEWHERE: &str = "go.bytecodealliance.org/pkg/wit/";

/// Packages of every plugin: the path and the text. `MODULE` stands for the module of the project.
const PACKAGES: [(&str, &str); 4] = [
    ("wit/runtime/runtime.go", include_str!("go/runtime.go")),
    ("wit/types/types.go", include_str!("go/types.go")),
    ("plugin/plugin.go", include_str!("go/plugin.go")),
    ("export_informer_plugin_plugin/export.go", include_str!("go/export_plugin.go")),
];

/// Packages of a plugin that exports an interface: the generated package of the interface, and the files.
const EXPORTS: [(&str, [(&str, &str); 2]); 2] = [
    (
        "informer_plugin_handler/wit_bindings.go",
        [
            ("handler/handler.go", include_str!("go/handler.go")),
            ("export_informer_plugin_handler/export.go", include_str!("go/export_handler.go")),
        ],
    ),
    (
        "informer_plugin_reconciler/wit_bindings.go",
        [
            ("reconciler/reconciler.go", include_str!("go/reconciler.go")),
            ("export_informer_plugin_reconciler/export.go", include_str!("go/export_reconciler.go")),
        ],
    ),
];

/// An empty file of assembler, which lets the Go compiler accept functions without a body.
const EMPTY: (&str, &str) =
    ("wit/runtime/empty.s", "// This file lets functions of the host be declared in this package.\n");

/// The bindings of the world, for a folder `bindings` in a Go module of this name.
///
/// # Errors
/// The generator does not support the world.
pub(crate) fn go(world: &mut World, module: &str) -> Result<Generated, NoBindings> {
    let folder = format!("{module}/bindings");
    let options = Opts {
        format: Format::False,
        pkg_name: Some(folder.clone()),
        export_pkg_name: Some(folder.clone()),
        ..Opts::default()
    };
    let mut files = generated(options.build(), world)?;
    for (_, text) in &mut files {
        *text = text.replace(ELSEWHERE, &format!("{folder}/wit/"));
    }
    let mut ours = PACKAGES.to_vec();
    for (interface, packages) in EXPORTS {
        if files.iter().any(|(path, _)| path == interface) {
            ours.extend(packages);
        }
    }
    files.extend(ours.into_iter().map(|(path, text)| (path.to_owned(), text.replace("MODULE", module))));
    files.push((EMPTY.0.to_owned(), EMPTY.1.to_owned()));
    Ok(files)
}
