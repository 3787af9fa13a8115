//! The fixture guest `writer` as a plugin of a configuration.

use std::path::Path;

use serde_json::Value;

use crate::toml::{inline, plugin};

/// The grants and the steps of the plugin.
#[derive(Clone, Debug)]
pub struct Writer<'a> {
    /// The resource of its subscription. The plugin runs its steps when it receives the object `trigger`.
    pub on: &'a str,
    /// The lines of `[plugin.grant]`.
    pub grant: &'a str,
    /// An array of steps, see the guest's source.
    pub steps: Value,
}

// === impl Writer ===

impl Writer<'_> {
    /// The table `[[plugin]]` with the name `writer`.
    #[must_use]
    pub fn toml(&self, component: &Path) -> String {
        let Self { on, grant, steps } = self;
        let lines = format!(
            "[plugin.limits]\ndeadline = \"60s\"\nrequests = 1000\n[plugin.grant]\n{grant}\n\
             [plugin.config]\nonly = \"trigger\"\nsteps = {}",
            inline(steps)
        );
        plugin("writer", component, on, &lines)
    }
}
