//! The smallest plugin: it logs one line for each added object.

use informer_sdk::{Cause, Config, Event, Handler, Result};

/// A plugin without configuration or state.
struct Hello;

impl Handler for Hello {
    fn start(_config: Config) -> std::result::Result<Self, String> {
        Ok(Self)
    }

    fn on_add(&mut self, object: Event, _cause: Cause) -> Result {
        informer_sdk::log::info!(object = object.key(); "hello");
        Ok(())
    }
}

informer_sdk::export!(Hello);
