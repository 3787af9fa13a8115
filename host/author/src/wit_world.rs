//! A world of WIT files that a component is built for.

use std::path::{Path, PathBuf};

use wit_parser::{PackageId, Resolve, WorldId, WorldItem};

/// The world, with everything that it refers to.
pub(crate) struct World {
    pub(crate) resolve: Resolve,
    pub(crate) id: WorldId,
    package: PackageId,
}

/// The interfaces that a component exports if its sources define their functions, whatever its world has: a plugin that does not use them
/// writes nothing for them.
const OPTIONAL: [&str; 4] = ["batch-handler", "sync-handler", "timer-handler", "config-handler"];

/// The worlds whose imports the host serves.
const SERVED: [&str; 2] = ["host", "http"];

/// Why a world cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The WIT files have a mistake, or there are none.
    #[error("the WIT files in {} cannot be used; `informer wit` writes those of this version", folder.display())]
    Wit {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no world with this name.
    #[error("there is no world `{world}` in {}; there are {}", folder.display(), found.join(", "))]
    Unknown {
        /// The name.
        world: String,
        /// The folder.
        folder: PathBuf,
        /// The names of the worlds.
        found: Vec<String>,
    },
}

// === impl World ===

impl World {
    /// Reads the WIT files of a folder.
    ///
    /// # Errors
    /// [`WorldError`] if they cannot be used, or have no world of this name.
    #[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
    pub(crate) fn read(folder: &Path, world: &str) -> Result<Self, WorldError> {
        let mut resolve = Resolve::default();
        let (package, _) = resolve
            .push_dir(folder)
            .map_err(|error| WorldError::Wit { folder: folder.to_owned(), source: error.into() })?;
        let worlds = &resolve.packages[package].worlds;
        let Some(&id) = worlds.get(world) else {
            let found = worlds.keys().cloned().collect();
            return Err(WorldError::Unknown { world: world.to_owned(), folder: folder.to_owned(), found });
        };
        Ok(Self { resolve, id, package })
    }

    /// Adds the imports of the worlds `host` and `http`, if there are any: whatever the world imports, a component may call what the
    /// host serves, and imports only what it calls.
    #[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
    pub(crate) fn import_all_of_the_host(&mut self) {
        for served in SERVED {
            let Some(&served) = self.resolve.packages[self.package].worlds.get(served) else { continue };
            let imports = self.resolve.worlds[served].imports.clone();
            let own = &mut self.resolve.worlds[self.id].imports;
            for (key, item) in imports {
                own.entry(key).or_insert(item);
            }
        }
    }

    /// Adds the exports of the world `host` that are optional and defined. An earlier version of the interface has none.
    #[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
    pub(crate) fn export_optional(&mut self, defined: impl Fn(&str) -> bool) {
        let Some(&host) = self.resolve.packages[self.package].worlds.get("host") else { return };
        let mut exports = self.resolve.worlds[host].exports.clone();
        exports.retain(|_, item| {
            let WorldItem::Interface { id, .. } = item else { return false };
            let name = self.resolve.interfaces[*id].name.as_deref().unwrap_or_default();
            OPTIONAL.contains(&name) && defined(name)
        });
        let own = &mut self.resolve.worlds[self.id].exports;
        for (key, item) in exports {
            own.entry(key).or_insert(item);
        }
    }

    /// The names of the interfaces that the world exports, without their packages.
    #[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
    pub(crate) fn exported_interfaces(&self) -> Vec<String> {
        let exports = self.resolve.worlds[self.id].exports.values();
        let names = exports.filter_map(|item| match item {
            WorldItem::Interface { id, .. } => self.resolve.interfaces[*id].name.clone(),
            _ => None,
        });
        names.collect()
    }

    /// The full names of the interfaces that the world imports.
    #[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
    pub(crate) fn imported_interfaces(&self) -> Vec<String> {
        let imports = &self.resolve.worlds[self.id].imports;
        let interfaces = imports.iter().filter(|(_, item)| matches!(item, WorldItem::Interface { .. }));
        interfaces.map(|(key, _)| self.resolve.name_world_key(key)).collect()
    }

    /// The names of the functions of an interface that the world exports.
    #[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
    pub(crate) fn exported_functions(&self, interface: &str) -> Vec<&str> {
        let exports = self.resolve.worlds[self.id].exports.values();
        let found = exports.filter_map(|item| match item {
            WorldItem::Interface { id, .. } => Some(&self.resolve.interfaces[*id]),
            _ => None,
        });
        let found = found.filter(|found| found.name.as_deref() == Some(interface));
        found.flat_map(|found| found.functions.keys().map(String::as_str)).collect()
    }

    /// A WIT file with a world that has the exports of this one, and other imports. Each import is the full name of an interface.
    #[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
    pub(crate) fn with_imports(&self, name: &str, imports: &[&str]) -> String {
        let package = &self.resolve.packages[self.package].name;
        let mut text = format!("package {package};\n\nworld {name} {{\n");
        for import in imports {
            // An interface of the same package has no other name than its own.
            let id = self
                .resolve
                .interfaces
                .iter()
                .find(|(id, _)| self.resolve.id_of(*id).as_deref() == Some(import));
            let own = id.filter(|(_, interface)| interface.package == Some(self.package));
            let import = own.and_then(|(_, interface)| interface.name.as_deref()).unwrap_or(import);
            text += &format!("    import {import};\n");
        }
        for export in self.exported_interfaces() {
            text += &format!("    export {export};\n");
        }
        text + "}\n"
    }
}
