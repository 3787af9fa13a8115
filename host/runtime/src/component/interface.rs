//! What a component asks for and offers, against what this host serves and grants.

use wasmtime::component::types::Component as ComponentType;

use super::LoadError;
use crate::{
    Grants,
    capabilities::{Capability, Need},
};

const PACKAGE: &str = "informer:plugin";
const VERSION: &str = "0.1.0";

/// What a plugin must export.
const EXPORTS: [&str; 2] = ["handler", "plugin"];

/// The WASI packages the language runtimes import. Behind them is nothing: no files, no environment, no
/// network; sockets are linked because Python's runtime imports them, and every use is denied.
const WASI: [&str; 6] =
    ["wasi:cli", "wasi:clocks", "wasi:random", "wasi:io", "wasi:filesystem", "wasi:sockets"];

/// An interface name in its parts: `informer:plugin/handler@0.1.0`.
struct Name<'a> {
    package: &'a str,
    interface: &'a str,
    version: &'a str,
}

/// Refuses a component that is no plugin, or that asks for what it may not have.
pub(super) fn check(
    component: &ComponentType,
    engine: &wasmtime::Engine,
    grants: &Grants,
) -> Result<(), LoadError> {
    let imports: Vec<&str> = component.imports(engine).map(|(name, _)| name).collect();
    let exports: Vec<&str> = component.exports(engine).map(|(name, _)| name).collect();
    check_version(imports.iter().chain(&exports))?;
    check_exports(&exports)?;
    check_imports(&imports, grants)
}

fn check_version<'a>(names: impl Iterator<Item = &'a &'a str>) -> Result<(), LoadError> {
    let other =
        names.map(|name| Name::of(name)).find(|name| name.package == PACKAGE && name.version != VERSION);
    match other {
        Some(Name { package, interface, version }) => Err(LoadError::OtherVersion {
            found: format!("{package}/{interface}@{version}"),
            served: format!("{PACKAGE}@{VERSION}"),
        }),
        None => Ok(()),
    }
}

fn check_exports(exports: &[&str]) -> Result<(), LoadError> {
    let has = |wanted: &str| {
        exports
            .iter()
            .map(|name| Name::of(name))
            .any(|name| name.package == PACKAGE && name.interface == wanted)
    };
    let missing: Vec<String> = EXPORTS
        .iter()
        .filter(|wanted| !has(wanted))
        .map(|wanted| format!("{PACKAGE}/{wanted}@{VERSION}"))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(LoadError::MissingExport { missing, found: exports.iter().map(|&name| name.to_owned()).collect() })
}

fn check_imports(imports: &[&str], grants: &Grants) -> Result<(), LoadError> {
    let mut not_served = Vec::new();
    for &import in imports {
        let (interface, version) = import.split_once('@').unwrap_or((import, ""));
        let capability =
            Capability::ALL.into_iter().find(|known| known.interface() == interface && known.serves(version));
        match capability.map(|known| (known.granted(grants), known.need())) {
            Some((false, Need::Grant(remedy))) => {
                return Err(LoadError::NotGranted { import: import.to_owned(), remedy: remedy.to_owned() });
            }
            Some(_) => {}
            None if Name::of(import).is_wasi() => {}
            None => not_served.push(import.to_owned()),
        }
    }
    if not_served.is_empty() {
        return Ok(());
    }
    let ours: Vec<String> = Capability::ALL
        .iter()
        .filter(|known| !known.version().is_empty())
        .map(|known| format!("{}@{}", known.interface(), known.version()))
        .collect();
    let served = format!("{}, and {} @0.2", ours.join(", "), WASI.join(", "));
    Err(LoadError::NotServed { imports: not_served, served })
}

impl<'a> Name<'a> {
    fn of(name: &'a str) -> Self {
        let (path, version) = name.split_once('@').unwrap_or((name, ""));
        let (package, interface) = path.split_once('/').unwrap_or((path, ""));
        Self { package, interface, version }
    }

    /// True for what the language runtimes may import; whether the interface exists is found when it is linked.
    fn is_wasi(&self) -> bool {
        WASI.contains(&self.package) && self.version.starts_with("0.2.")
    }
}
