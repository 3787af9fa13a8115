//! `delivery`: facts about the call in hand.

use crate::{
    bindings::informer::plugin::delivery::{DeliveryInfo, Host},
    guest::Guest,
};

impl Host for Guest {
    fn current(&mut self) -> DeliveryInfo {
        DeliveryInfo {
            attempt: self.call.attempt,
            queued_ms: u32::try_from(self.call.queued.as_millis()).unwrap_or(u32::MAX),
            plugin: self.config.name.to_string(),
            host_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
