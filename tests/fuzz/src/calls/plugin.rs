//! The configuration of the plugin.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use informer_runtime::{Grants, Limits, PluginConfig};
use informer_types::{Gvr, Reads};

/// The name of the plugin.
pub(super) const PLUGIN: &str = "fuzzed";

/// The most that the plugin may store.
pub(super) const QUOTA: u64 = 4096;

pub(super) fn config(grants: Grants, reads: BTreeMap<Gvr, Reads>) -> PluginConfig {
    PluginConfig {
        config_json: r#"{"region":"eu","count":3}"#.to_owned(),
        grants,
        reads,
        limits: Limits {
            deadline: Duration::from_secs(30),
            log_lines: None,
            response_bytes: 16 << 10,
            requests: NonZeroU32::MAX,
            ..Limits::default()
        },
        ..PluginConfig::new(PLUGIN)
    }
}
