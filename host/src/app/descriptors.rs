//! The files and connections that a configuration needs, compared with those that the process may open.

use informer_system::descriptors::limit;

use super::settings;
use crate::{admin, config::Config};

/// For the log, the database, the compile cache, the watcher of files and the threads.
const BASE: usize = 64;

/// For each watched namespace: the watch, and the list that replaces it after a gap.
const FOR_COLLECTION: usize = 2;

/// For each call in flight: its requests to the API server and to others, and the configuration files.
const FOR_CALL: usize = 4;

/// Warns if the process may open too few.
pub(super) fn check(config: &Config) {
    let (limit, needed) = (limit(), needed(config));
    if limit < needed as u64 {
        tracing::warn!(
            limit,
            needed,
            "this process may open fewer files and connections than its configuration may need; raise the limit with `ulimit -n`, or LimitNOFILE of systemd"
        );
    }
}

fn needed(config: &Config) -> usize {
    let endpoints = usize::from(config.host.admin.is_some()) + usize::from(config.host.health.is_some());
    let collections: usize = config.watches.iter().map(|watch| watch.namespaces.len().max(1)).sum();
    let calls: usize = config.plugins.iter().map(|plugin| settings::plugin(plugin).instances.get()).sum();
    BASE + endpoints * admin::CONNECTIONS + FOR_COLLECTION * collections + FOR_CALL * calls
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use informer_system::HttpAddress;

    use super::*;
    use crate::config::{Components, Environment, Place, SMALLEST, parse};

    #[test]
    fn each_watched_namespace_and_each_call_in_flight_needs_descriptors() {
        let environment = Environment { home: None, cache_dir: None, state_dir: None };
        let place = Place { file: Path::new("x"), base: Path::new("/"), environment: &environment };
        let text = format!("[host]\nstate-dir = \"off\"\n{SMALLEST}");
        let mut small = parse(&text, &place, Components::Unseen).unwrap();
        small.host.admin = None;
        let collections = small.watches.iter().map(|watch| watch.namespaces.len().max(1)).sum::<usize>();
        let before = needed(&small);
        assert!(before > BASE + FOR_COLLECTION * collections);

        small.watches[0].namespaces = ["a", "b", "c"].map(str::to_owned).into();
        assert_eq!(needed(&small), before + 2 * FOR_COLLECTION);

        small.host.admin = Some(HttpAddress::Tcp("127.0.0.1:0".parse().unwrap()));
        assert_eq!(needed(&small), before + 2 * FOR_COLLECTION + admin::CONNECTIONS);
        small.host.health = Some("0.0.0.0:0".parse().unwrap());
        assert_eq!(needed(&small), before + 2 * FOR_COLLECTION + 2 * admin::CONNECTIONS);
    }
}
