//! The configuration of a host with one watch.

use std::{fmt::Write, path::Path};

/// One watch, and the plugins that subscribe to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Configuration {
    watch: &'static str,
    /// Further lines of `[host]`.
    host: &'static str,
    plugins: String,
}

/// A plugin with one subscription.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plugin<'a> {
    /// The name.
    pub(crate) name: &'a str,
    /// The file of the component.
    pub(crate) component: &'a Path,
    /// Further lines of `[[plugin.on]]`.
    pub(crate) on: &'a str,
    /// Further tables of the plugin.
    pub(crate) tables: &'a str,
}

// === impl Configuration ===

impl Configuration {
    /// A watch of this resource. Without a plugin that subscribes to the watch, the watch does not run.
    pub(crate) fn new(watch: &'static str) -> Self {
        Self { watch, ..Self::default() }
    }

    /// Adds these lines to `[host]`.
    #[must_use]
    pub(crate) fn host(self, lines: &'static str) -> Self {
        Self { host: lines, ..self }
    }

    /// Adds a plugin.
    pub(crate) fn add(&mut self, Plugin { name, component, on, tables }: Plugin<'_>) {
        let watch = self.watch;
        // Writing to a string does not fail.
        let _ = write!(
            self.plugins,
            "[[plugin]]\nname = \"{name}\"\nsource = {component:?}\n[[plugin.on]]\nwatch = \"{watch}\"\n{on}\n{tables}\n"
        );
    }

    /// The text of the file. `cluster` is the lines of `[cluster]`, and the host keeps its state and its code cache in `directory`.
    pub(super) fn text(&self, cluster: &str, directory: &Path) -> String {
        let Self { watch, host, plugins } = self;
        let [state, code] = ["state", "code"].map(|name| directory.join(name));
        format!(
            "[cluster]\n{cluster}\n[host]\nadmin = \"127.0.0.1:0\"\nstate-dir = {state:?}\ncache-dir = {code:?}\n{host}\n\
             [[watch]]\ngvr = \"{watch}\"\n{plugins}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_has_the_cluster_the_host_the_watch_and_the_plugins() {
        let mut configuration = Configuration::new("v1/pods").host("trace = 0");
        configuration.add(Plugin {
            name: "one",
            component: Path::new("/a/b.wasm"),
            on: "initial = \"skip\"",
            tables: "[plugin.grant]\nread = []",
        });

        let text = configuration.text("server = \"http://127.0.0.1:1\"", Path::new("/a"));

        let expected = "\
[cluster]
server = \"http://127.0.0.1:1\"
[host]
admin = \"127.0.0.1:0\"
state-dir = \"/a/state\"
cache-dir = \"/a/code\"
trace = 0
[[watch]]
gvr = \"v1/pods\"
[[plugin]]
name = \"one\"
source = \"/a/b.wasm\"
[[plugin.on]]
watch = \"v1/pods\"
initial = \"skip\"
[plugin.grant]
read = []
";
        assert_eq!(text, expected);
    }
}
