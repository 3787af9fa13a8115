//! What a component asks for and offers, against what this host serves and grants.

use wasmtime::component::types::Component as ComponentType;

use super::LoadError;
use crate::{
    Grants,
    capabilities::{Capability, Need},
};

const PACKAGE: &str = "informer:plugin";
const VERSION: &str = "0.1.0";

/// What every plugin exports, and of what at least one.
const LIFE_CYCLE: &str = "plugin";
const CALLED: [&str; 2] = ["handler", "reconciler"];

/// What may be imported only by a component that exports `reconciler`.
const WORKQUEUE: &str = "workqueue";

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
    check_workqueue(&imports, &exports)?;
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
    let full = |interface: &str| format!("{PACKAGE}/{interface}@{VERSION}");
    let mut missing = Vec::new();
    if !CALLED.iter().any(|wanted| has(exports, wanted)) {
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

/// Keys that nobody takes would wait for ever.
fn check_workqueue(imports: &[&str], exports: &[&str]) -> Result<(), LoadError> {
    let wants = imports.iter().find(|name| Name::of(name).is_ours(WORKQUEUE));
    match wants {
        Some(import) if !has(exports, "reconciler") => {
            Err(LoadError::WithoutReconciler { import: (*import).to_owned() })
        }
        _ => Ok(()),
    }
}

/// True where one of these names is this interface of ours.
fn has(names: &[&str], interface: &str) -> bool {
    names.iter().any(|name| Name::of(name).is_ours(interface))
}

fn check_imports(imports: &[&str], grants: &Grants) -> Result<(), LoadError> {
    let (mut not_granted, mut not_served) = (Vec::new(), Vec::new());
    for &import in imports {
        let (interface, version) = import.split_once('@').unwrap_or((import, ""));
        let capability =
            Capability::ALL.into_iter().find(|known| known.interface() == interface && known.serves(version));
        match capability.map(|known| (known.granted(grants), known.need())) {
            Some((false, Need::Grant(remedy))) => not_granted.push((import.to_owned(), remedy)),
            Some(_) => {}
            None if Name::of(import).is_wasi() => {}
            None => not_served.push(import.to_owned()),
        }
    }
    if not_granted.is_empty() && not_served.is_empty() {
        return Ok(());
    }
    let ours: Vec<String> = Capability::ALL
        .iter()
        .filter(|known| !known.version().is_empty())
        .map(|known| format!("{}@{}", known.interface(), known.version()))
        .collect();
    let served = format!("{}, and {} @0.2", ours.join(", "), WASI.join(", "));
    Err(LoadError::Imports { not_granted, not_served, served })
}

impl<'a> Name<'a> {
    fn of(name: &'a str) -> Self {
        let (path, version) = name.split_once('@').unwrap_or((name, ""));
        let (package, interface) = path.split_once('/').unwrap_or((path, ""));
        Self { package, interface, version }
    }

    /// True for this interface of our own package.
    fn is_ours(&self, interface: &str) -> bool {
        self.package == PACKAGE && self.interface == interface
    }

    /// True for what the language runtimes may import; whether the interface exists is found when it is linked.
    fn is_wasi(&self) -> bool {
        WASI.contains(&self.package) && self.version.starts_with("0.2.")
    }
}
