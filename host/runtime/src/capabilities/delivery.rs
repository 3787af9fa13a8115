//! `delivery`: facts about the call in flight.

use wasmtime::component::HasSelf;

use super::interface::Interface;
use crate::{
    bindings::informer::plugin::delivery::{self, DeliveryInfo, Host},
    guest::Guest,
};

pub(super) const INTERFACES: &[Interface] = &[Interface::ours("informer:plugin/delivery", |instance| {
    delivery::add_to_linker_instance::<_, HasSelf<Guest>>(instance, Guest::called)
})];

impl Host for Guest {
    fn current(&mut self) -> DeliveryInfo {
        let Guest { call, config, .. } = self;
        DeliveryInfo {
            attempt: call.attempt.number,
            queued_ms: u32::try_from(call.attempt.queued.as_millis()).unwrap_or(u32::MAX),
            plugin: config.name.to_string(),
            host_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
