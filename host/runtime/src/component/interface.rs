//! Checks the imports and exports of a component.

use std::collections::BTreeSet;

use wasmtime::component::types::Component as ComponentType;

use super::LoadError;
use crate::{
    Grants,
    capabilities::{Grant, Interface, VERSIONS, interfaces},
};

const PACKAGE: &str = "informer:plugin";

/// The interface that every plugin exports.
const LIFE_CYCLE: &str = "plugin";

/// The interfaces of which every plugin exports at least one, unless it exports [`BATCHES`].
const CALLED: [&str; 2] = ["handler", "reconciler"];

/// The interface that replaces `handler`. The advice for a component without any of the three does not mention it.
const BATCHES: &str = "batch-handler";

/// An interface that a component may import only if it exports another one.
struct Half {
    import: &'static str,
    export: &'static str,
    /// The effect that is lost without the export.
    lost: &'static str,
    /// A world with both.
    world: &'static str,
}

const HALVES: [Half; 2] = [
    Half {
        import: "workqueue",
        export: "reconciler",
        lost: "the keys that it adds would never be reconciled",
        world: "controller-with-handlers",
    },
    Half {
        import: "timer",
        export: "timer-handler",
        lost: "the timers that it sets would call nothing",
        world: "controller-with-signals",
    },
];

/// The WASI packages that language runtimes import. They give access to nothing: no files, no environment, no network.
/// Sockets are linked because Python's runtime imports them; every use is denied.
const WASI: [&str; 6] =
    ["wasi:cli", "wasi:clocks", "wasi:random", "wasi:io", "wasi:filesystem", "wasi:sockets"];

/// An interface name in its parts: `informer:plugin/handler@0.1.0`.
struct Name<'a> {
    package: &'a str,
    interface: &'a str,
    version: &'a str,
}

/// Refuses a component that is not a plugin, or imports an interface that it may not have.
pub(super) fn check(
    component: &ComponentType,
    engine: &wasmtime::Engine,
    grants: &Grants,
) -> Result<(), LoadError> {
    let imports: Vec<&str> = component.imports(engine).map(|(name, _)| name).collect();
    let exports: Vec<&str> = component.exports(engine).map(|(name, _)| name).collect();
    check_names(&imports, &exports, grants)
}

/// Refuses a component by the names of its imports and exports.
pub(super) fn check_names(imports: &[&str], exports: &[&str], grants: &Grants) -> Result<(), LoadError> {
    check_shape(imports, exports)?;
    check_imports(imports, |grant| (grant.is_given)(grants))
}

/// Refuses a component that could not be a plugin with any grants. Returns the grants that it needs, as lines to add under
/// `[plugin.grant]`, each once.
pub(super) fn grants(imports: &[&str], exports: &[&str]) -> Result<BTreeSet<&'static str>, LoadError> {
    check_shape(imports, exports)?;
    check_imports(imports, |_| true)?;
    Ok(imports.iter().filter_map(|import| Some(served(import)?.grant.as_ref()?.example)).collect())
}

/// Refuses a component of another version, and one that does not export what the host calls.
fn check_shape(imports: &[&str], exports: &[&str]) -> Result<(), LoadError> {
    check_version(imports.iter().chain(exports))?;
    check_exports(imports, exports)?;
    check_halves(imports, exports)
}

/// The interface of the host that serves an import.
fn served(import: &str) -> Option<&'static Interface> {
    let (interface, version) = import.split_once('@').unwrap_or((import, ""));
    interfaces().find(|served| served.name == interface && served.serves(version))
}

fn check_version<'a>(names: impl Iterator<Item = &'a &'a str>) -> Result<(), LoadError> {
    let other = names
        .map(|name| Name::of(name))
        .find(|name| name.package == PACKAGE && !VERSIONS.contains(&name.version));
    match other {
        Some(Name { package, interface, version }) => Err(LoadError::OtherVersion {
            found: format!("{package}/{interface}@{version}"),
            served: VERSIONS.map(|version| format!("{PACKAGE}@{version}")).join(" and "),
        }),
        None => Ok(()),
    }
}

/// The name of an interface of our package in the version that the other names have, or in the newest one.
fn full(interface: &str, names: &[&str]) -> String {
    let own = names.iter().map(|name| Name::of(name)).find(|name| name.package == PACKAGE);
    let newest = VERSIONS.last().copied().unwrap_or_default();
    format!("{PACKAGE}/{interface}@{}", own.map_or(newest, |name| name.version))
}

fn check_exports(imports: &[&str], exports: &[&str]) -> Result<(), LoadError> {
    let names = [exports, imports].concat();
    let full = |interface: &str| full(interface, &names);
    let mut missing = Vec::new();
    if !CALLED.iter().chain([&BATCHES]).any(|wanted| has(exports, wanted)) {
        missing.push(CALLED.map(full).join(" or "));
    }
    if !has(exports, LIFE_CYCLE) {
        missing.push(full(LIFE_CYCLE));
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(LoadError::MissingExport { missing, found: exports.iter().map(|&name| name.to_owned()).collect() })
}

/// Refuses a component that could add keys but exports no `reconciler`, or set timers but exports no `timer-handler`.
fn check_halves(imports: &[&str], exports: &[&str]) -> Result<(), LoadError> {
    for Half { import, export, lost, world } in &HALVES {
        let wants = imports.iter().find(|name| Name::of(name).is_ours(import));
        if let Some(&import) = wants.filter(|_| !has(exports, export)) {
            let (import, missing) = (import.to_owned(), full(export, &[import]));
            return Err(LoadError::Half { import, missing, lost, world });
        }
    }
    Ok(())
}

/// Returns true if one of the names is this interface of our package.
fn has(names: &[&str], interface: &str) -> bool {
    names.iter().any(|name| Name::of(name).is_ours(interface))
}

fn check_imports(imports: &[&str], is_given: impl Fn(&Grant) -> bool) -> Result<(), LoadError> {
    let (mut not_granted, mut not_served) = (Vec::new(), Vec::new());
    for &import in imports {
        match served(import).map(|served| &served.grant) {
            Some(Some(grant)) if !is_given(grant) => {
                not_granted.push((import.to_owned(), grant.example.to_owned()));
            }
            Some(_) => {}
            None if Name::of(import).is_wasi() => {}
            None => not_served.push(import.to_owned()),
        }
    }
    if not_granted.is_empty() && not_served.is_empty() {
        return Ok(());
    }
    let ours: Vec<String> = interfaces().filter_map(|served| served.versioned()).collect();
    let served = format!("{}, and {} @0.2", ours.join(", "), WASI.join(", "));
    Err(LoadError::Imports { not_granted, not_served, served })
}

impl<'a> Name<'a> {
    fn of(name: &'a str) -> Self {
        let (path, version) = name.split_once('@').unwrap_or((name, ""));
        let (package, interface) = path.split_once('/').unwrap_or((path, ""));
        Self { package, interface, version }
    }

    /// Returns true for this interface of our package.
    fn is_ours(&self, interface: &str) -> bool {
        self.package == PACKAGE && self.interface == interface
    }

    /// Returns true for a package that language runtimes may import. Linking shows whether the interface exists.
    fn is_wasi(&self) -> bool {
        WASI.contains(&self.package) && self.version.starts_with("0.2.")
    }
}
