//! `delivery`: facts about the call in flight.

use wasmtime::component::HasData;

use super::interface::Interface;
use crate::{
    bindings::informer::plugin::delivery::{self, DeliveryInfo, Host},
    guest::Guest,
};

pub(super) const INTERFACES: &[Interface] = &[Interface::ours("informer:plugin/delivery", |linker| {
    delivery::add_to_linker::<_, Calls<'static>>(linker, |guest| Calls(guest.called()))
})];

/// A call of the guest to this capability.
struct Calls<'a>(&'a mut Guest);

impl HasData for Calls<'static> {
    type Data<'a> = Calls<'a>;
}

impl Host for Calls<'_> {
    fn current(&mut self) -> DeliveryInfo {
        let Guest { call, config, .. } = &*self.0;
        DeliveryInfo {
            attempt: call.attempt.number,
            queued_ms: u32::try_from(call.attempt.queued.as_millis()).unwrap_or(u32::MAX),
            plugin: config.name.to_string(),
            host_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
