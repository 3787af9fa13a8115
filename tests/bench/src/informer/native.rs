//! The handler as a native function. The difference to the component is the cost of the sandbox.

use informer_types::{Change, Delivery, EventHandler, Failure, FailureKind, Outcome, Pointer, locate};

use crate::collection::Kind;

/// A handler that reads two fields in the host.
#[derive(Clone, Debug)]
pub struct Native {
    fields: Vec<Pointer>,
}

// === impl Native ===

impl Native {
    /// The handler for objects of this kind.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self { fields: kind.two_fields().iter().filter_map(|text| text.parse().ok()).collect() }
    }

    fn read(&self, delivery: &Delivery) -> Result<(), String> {
        let (Change::Added { object } | Change::Updated { new: object, .. } | Change::Deleted { object, .. }) =
            &delivery.notification.change;
        let json = object.json().map_err(|error| error.to_string())?;
        let found = locate(&json, &self.fields).map_err(|error| error.to_string())?;
        match found.iter().all(Option::is_some) {
            true => Ok(()),
            false => Err(format!("{} lacks a field", object.key())),
        }
    }
}

impl EventHandler for Native {
    async fn handle(&self, delivery: Delivery) -> Option<Outcome> {
        Some(match self.read(&delivery) {
            Ok(()) => Outcome::Acknowledged,
            Err(message) => Outcome::Permanent { failure: Failure::new(FailureKind::Handler, message) },
        })
    }
}
