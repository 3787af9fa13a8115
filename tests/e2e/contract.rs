//! The contract with a handler, point by point. A real component shows each point.
//!
//! | point | module |
//! |---|---|
//! | 1 eventually consistent | `convergence` |
//! | 2 order per object | `order` |
//! | 3 at least once | `retries` |
//! | 4 merging | `merging` |
//! | 5 which calls, and why; 6 relists and resyncs; 7 a changed UID; 8 deletions | `causes` |
//! | 9 reads through the lister | `reads` |
//! | 10 isolation | `isolation` beside this module |
//! | 13 quiet objects | `settling` |

mod causes;
mod convergence;
mod merging;
mod order;
mod reads;
mod retries;
mod settling;
mod witness;

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    proxy::{FaultProxy, Mode},
    toml::{plugin, watch},
};

use crate::configmaps::ConfigMaps;

/// A server, its ConfigMaps, and a connection between the server and the host that a test can cut.
struct Stage {
    server: DevServer,
    objects: ConfigMaps,
    wire: FaultProxy,
}

// === impl Stage ===

impl Stage {
    async fn new() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let objects = ConfigMaps::at(&server.url()).await;
        let wire = FaultProxy::start(server.address()).unwrap();
        Self { server, objects, wire }
    }

    /// Starts a host with one guest, which subscribes to the ConfigMaps and may read them. `on` holds lines of its
    /// `[[plugin.on]]`, and `rest` the text after them.
    async fn host(&self, name: &str, on: &str, rest: &str) -> TestHost {
        let lines = format!("{on}\n[plugin.grant]\nread = [\"v1/configmaps\"]\n{rest}");
        let toml = watch("v1/configmaps") + &plugin(name, &guest(name), "v1/configmaps", &lines);
        TestHost::start(&format!("http://{}", self.wire.address()), &toml).await.unwrap()
    }

    /// Runs `what` while no watch of the host is open. The next list finds the changes.
    async fn unseen(&self, what: impl Future<Output = ()>) {
        self.wire.set(Mode::Refuse).await.unwrap();
        self.wire.cut().await;
        what.await;
        self.server.compact(self.server.resource_version());
        self.wire.set(Mode::Pass).await.unwrap();
    }
}
