//! A world of WIT files that a component is built for.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

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

/// The interfaces whose functions the host calls after the start of a plugin.
const CALLED: [(&str, &[&str]); 6] = [
    (HANDLER, &["on-add", "on-update", "on-delete"]),
    (BATCHES, &["on-batch"]),
    ("reconciler", &["reconcile"]),
    ("sync-handler", &["on-synced"]),
    ("timer-handler", &["on-timer"]),
    ("config-handler", &["on-config"]),
];
const HANDLER: &str = "handler";
const BATCHES: &str = "batch-handler";
const INSTEAD: &str = "the host calls `batch-handler` of a plugin instead of `handler`";

/// The worlds whose imports the host serves.
const SERVED: [&str; 2] = ["host", "http"];

/// An interface whose functions the host would not call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uncalled {
    /// The name of the interface.
    pub(crate) interface: &'static str,
    /// The names of its functions.
    pub(crate) functions: &'static [&'static str],
    /// The reason, and what would be right.
    pub(crate) why: String,
}

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
    pub(crate) fn exported_interfaces(&self) -> Vec<String> {
        self.exports_of(self.id)
    }

    /// The names of the interfaces that a world of the same files exports.
    #[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
    fn exports_of(&self, world: WorldId) -> Vec<String> {
        let exports = self.resolve.worlds[world].exports.values();
        let names = exports.filter_map(|item| match item {
            WorldItem::Interface { id, .. } => self.resolve.interfaces[*id].name.clone(),
            _ => None,
        });
        names.collect()
    }

    /// The name of the world.
    #[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
    pub(crate) fn name(&self) -> &str {
        &self.resolve.worlds[self.id].name
    }

    /// The interfaces that the world exports for calls after the start of a plugin.
    pub(crate) fn called(&self) -> Vec<&'static str> {
        let exported = self.exported_interfaces();
        let names = CALLED.into_iter().map(|(interface, _)| interface);
        names.filter(|name| exported.iter().any(|found| found == name)).collect()
    }

    /// The interfaces whose functions the host would not call in a component of the world. An optional interface is not among them,
    /// because a build exports it if its functions are defined.
    pub(crate) fn uncalled(&self) -> Vec<Uncalled> {
        let exported = self.exported_interfaces();
        let has = |name: &str| exported.iter().any(|found| found == name);
        let mut uncalled = Vec::new();
        for (interface, functions) in CALLED {
            let why = if interface == HANDLER && has(BATCHES) {
                self.both().unwrap_or_else(|| format!("{INSTEAD}; remove one of the two"))
            } else if has(interface) || self.is_optional(interface) {
                continue;
            } else {
                self.not_exported(interface)
            };
            uncalled.push(Uncalled { interface, functions, why });
        }
        uncalled
    }

    /// Returns true if a build may add the interface to the exports of the world.
    #[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
    fn is_optional(&self, interface: &str) -> bool {
        let host = self.resolve.packages[self.package].worlds.get("host");
        OPTIONAL.contains(&interface)
            && host.is_some_and(|host| self.exports_of(*host).iter().any(|name| name == interface))
    }

    /// Describes the fault of a world that exports both `handler` and `batch-handler`, and what would be right: the host calls only one of
    /// them. Returns `None` if the world does not export both.
    pub(crate) fn both(&self) -> Option<String> {
        let mut exports = self.exported_interfaces();
        if ![HANDLER, BATCHES].iter().all(|name| exports.iter().any(|found| found == name)) {
            return None;
        }
        exports.retain(|name| name != HANDLER && !OPTIONAL.contains(&name.as_str()));
        exports.sort();
        // A build adds `batch-handler` to the other exports.
        let worlds = self.nearest(|found| found.iter().filter(|name| *name != BATCHES).eq(&exports));
        let choose = if worlds.is_empty() {
            "remove the handlers from the world and from the plugin".to_owned()
        } else {
            format!("choose the world {} and remove the handlers", worlds.join(" or "))
        };
        let name = self.name();
        Some(format!(
            "{INSTEAD}, and the world `{name}` of informer-plugin.toml exports `handler`; {choose}, or remove the function for batches"
        ))
    }

    /// The message that the world does not export an interface. The message names the worlds that export the interface.
    fn not_exported(&self, interface: &str) -> String {
        let is_optional = |name: &String| OPTIONAL.contains(&name.as_str());
        let worlds = self.nearest(|exports| {
            exports.iter().any(|name| name == interface) && !exports.iter().any(is_optional)
        });
        let right = if worlds.is_empty() {
            "no world of the WIT files exports it; `informer wit wit --replace` writes the files of this version"
                .to_owned()
        } else {
            format!("choose the world {}, or remove the function", worlds.join(" or "))
        };
        format!("the world `{}` of informer-plugin.toml does not export `{interface}`; {right}", self.name())
    }

    /// The worlds whose sorted exports satisfy `fits`, each with its exports. If several worlds have the same exports, the world that lacks
    /// the fewest imports of this world wins. If several worlds lack the same number, the world with the fewest imports wins.
    #[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
    fn nearest(&self, fits: impl Fn(&[String]) -> bool) -> Vec<String> {
        let own = &self.resolve.worlds[self.id].imports;
        let mut best: BTreeMap<Vec<String>, (usize, usize, &str)> = BTreeMap::new();
        for (name, id) in &self.resolve.packages[self.package].worlds {
            let mut exports = self.exports_of(*id);
            exports.sort();
            if !fits(&exports) {
                continue;
            }
            let imports = &self.resolve.worlds[*id].imports;
            let lacks = own.keys().filter(|key| !imports.contains_key(*key)).count();
            let found = (lacks, imports.len(), name.as_str());
            let kept = best.entry(exports).or_insert(found);
            *kept = found.min(*kept);
        }
        let worlds = best.iter().map(|(exports, (_, _, name))| {
            let exports: Vec<&str> =
                exports.iter().map(String::as_str).filter(|name| *name != "plugin").collect();
            format!("`{name}` (exports {})", exports.join(" and "))
        });
        worlds.collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Existing, WitVersion, write};

    fn world(version: WitVersion, name: &str) -> World {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &version.files(), Existing::Refuse).unwrap();
        World::read(folder.path(), name).unwrap()
    }

    /// The reasons by interface.
    fn uncalled(world: &World) -> BTreeMap<&'static str, String> {
        world.uncalled().into_iter().map(|uncalled| (uncalled.interface, uncalled.why)).collect()
    }

    #[test]
    fn the_functions_that_are_called_are_those_of_the_world_of_the_host() {
        let host = world(WitVersion::NEWEST, "host");
        let mut exported = host.exported_interfaces();
        exported.retain(|name| name != "plugin");
        exported.sort();
        let mut called: Vec<&str> = CALLED.iter().map(|(interface, _)| *interface).collect();
        called.sort_unstable();

        assert_eq!(exported, called);
        for (interface, functions) in CALLED {
            assert_eq!(host.exported_functions(interface), functions, "{interface}");
        }
    }

    #[test]
    fn an_interface_that_the_world_does_not_export_has_worlds_that_do() {
        for (name, interface, right) in [
            (
                "event-handler-with-standard",
                "reconciler",
                "choose the world `controller-with-handlers-and-standard` (exports handler and reconciler) or \
                 `controller-with-standard` (exports reconciler), or remove the function",
            ),
            (
                "controller",
                "handler",
                "choose the world `event-handler-with-client` (exports handler) or `controller-with-handlers` \
                 (exports handler and reconciler), or remove the function",
            ),
        ] {
            let expected =
                format!("the world `{name}` of informer-plugin.toml does not export `{interface}`; {right}");

            assert_eq!(uncalled(&world(WitVersion::NEWEST, name)), BTreeMap::from([(interface, expected)]));
        }
        assert!(uncalled(&world(WitVersion::NEWEST, "controller-with-handlers")).is_empty());
    }

    #[test]
    fn handlers_beside_a_function_for_batches_are_not_called() {
        for (name, right) in [
            (
                "event-handler-with-standard",
                "and the world `event-handler-with-standard` of informer-plugin.toml exports `handler`; choose the world \
                 `batch-event-handler-with-standard` (exports batch-handler) and remove the handlers, or remove the function for \
                 batches",
            ),
            (
                "controller-with-handlers",
                "and the world `controller-with-handlers` of informer-plugin.toml exports `handler`; choose the world `controller` \
                 (exports reconciler) and remove the handlers, or remove the function for batches",
            ),
        ] {
            let mut world = world(WitVersion::NEWEST, name);
            assert_eq!(world.both(), None, "{name}");
            world.export_optional(|name| name == "batch-handler");

            let expected =
                format!("the host calls `batch-handler` of a plugin instead of `handler`, {right}");
            assert_eq!(world.both(), Some(expected.clone()));
            assert_eq!(uncalled(&world).remove("handler"), Some(expected));
        }
        let world = world(WitVersion::NEWEST, "batch-event-handler");
        assert_eq!(world.both(), None);
        let why = "the host calls `batch-handler` of a plugin instead of `handler`; remove one of the two";
        assert_eq!(uncalled(&world).remove("handler").as_deref(), Some(why));
    }

    #[test]
    fn the_interfaces_that_an_earlier_version_lacks_are_not_called() {
        let uncalled = uncalled(&world(WitVersion::V0_1, "controller-with-handlers"));

        let names: Vec<&str> = uncalled.keys().copied().collect();
        assert_eq!(names, ["batch-handler", "config-handler", "sync-handler", "timer-handler"]);
        assert!(
            uncalled["timer-handler"]
                .contains("no world of the WIT files exports it; `informer wit wit --replace`")
        );
    }
}
