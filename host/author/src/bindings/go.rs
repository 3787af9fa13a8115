//! Bindings for Go: packages from wit-bindgen, on top of the SDK.
//!
//! The SDK contains the packages of all interfaces that this host serves and calls. A project gets packages only for interfaces that
//! its world adds to them.

use wit_bindgen_go::{Format, Opts};
use wit_parser::WorldKey;

use super::{Generated, NoBindings, generated};
use crate::wit_world::World;

/// The module of the SDK.
const SDK: &str = "github.com/informer-host/informer/plugins/sdk/go";

/// The module of the packages that the generated code imports. The SDK has packages in their place, so that a build needs no module
/// proxy.
const ELSEWHERE: &str = "go.bytecodealliance.org/pkg/wit/";

/// The packages of WIT whose interfaces are in the SDK.
const OF_THE_SDK: [&str; 7] = [
    "informer:plugin/",
    "wasi:keyvalue/",
    "wasi:config/",
    "wasi:logging/",
    "wasi:http/",
    "wasi:io/",
    "wasi:clocks/",
];

/// The bindings of what the world imports beyond the SDK, for a folder `bindings` in a Go module of this name.
///
/// # Errors
/// The generator does not support the world.
pub(crate) fn go(world: &mut World, module: &str) -> Result<Generated, NoBindings> {
    let beyond = |name: &str| !OF_THE_SDK.iter().any(|package| name.starts_with(package));
    if retain(world, beyond, |_| false) == 0 {
        return Ok(Generated::new());
    }
    let mut files = packages(world, &format!("{module}/bindings"))?;
    // The SDK contains the bindings of the interfaces that a plugin exports.
    files.retain(|(path, _)| !path.starts_with("wit_exports/"));
    Ok(files)
}

/// Keeps the imports and exports with these names. Returns the number of imports.
#[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
fn retain(world: &mut World, imports: impl Fn(&str) -> bool, exports: impl Fn(&str) -> bool) -> usize {
    let name = |key: &WorldKey| world.resolve.name_world_key(key);
    let kept = |keys: Vec<(WorldKey, String)>, keep: &dyn Fn(&str) -> bool| {
        keys.into_iter().filter(|(_, name)| keep(name)).map(|(key, _)| key).collect::<Vec<_>>()
    };
    let of = &world.resolve.worlds[world.id];
    let imports = kept(of.imports.keys().map(|key| (key.clone(), name(key))).collect(), &imports);
    let exports = kept(of.exports.keys().map(|key| (key.clone(), name(key))).collect(), &exports);
    let of = &mut world.resolve.worlds[world.id];
    of.imports.retain(|key, _| imports.contains(key));
    of.exports.retain(|key, _| exports.contains(key));
    imports.len()
}

/// The generated packages, in a folder that has this path as a package.
fn packages(world: &mut World, folder: &str) -> Result<Generated, NoBindings> {
    let options = Opts {
        format: Format::False,
        pkg_name: Some(folder.to_owned()),
        export_pkg_name: Some(folder.to_owned()),
        ..Opts::default()
    };
    let mut files = generated(options.build(), world)?;
    for (_, text) in &mut files {
        *text = text.replace(ELSEWHERE, &format!("{SDK}/bindings/wit/"));
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
