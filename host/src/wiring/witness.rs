//! Observes the calls and requests of plugins, and answers requests in place of the API server, for `informer test`.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use futures::future::BoxFuture;
use informer_runtime::capabilities::{ApiAnswer, ApiClient, ApiFailure, ApiRequest};
use informer_types::{Delivery, Failure, Outcome, Reconciled, Request, SignalCall};

use crate::connect::KubeClient;

/// Receives each call and request of the plugins. Its methods must return at once.
pub trait Witness: Send + Sync + 'static {
    /// A handler was called.
    fn handled(&self, plugin: &str, delivery: &Delivery, outcome: &Outcome);

    /// A call for several notifications failed as a whole. Each of them is delivered alone afterwards.
    fn batch_failed(&self, _plugin: &str, _failure: &Failure) {}

    /// A reconciler was called.
    fn reconciled(&self, plugin: &str, request: &Request, outcome: &Reconciled);

    /// A signal was delivered.
    fn signalled(&self, plugin: &str, call: &SignalCall, outcome: &Reconciled);

    /// Answers a request in place of the API server; `None` leaves the answer to the server.
    fn answer(&self, _request: &ApiRequest) -> Option<ApiAnswer> {
        None
    }

    /// A request that a plugin may send was answered, or failed.
    fn requested(&self, request: &ApiRequest, answer: &Result<ApiAnswer, ApiFailure>);
}

/// Holds the witness of a host, if there is one. Clones are the same slot.
#[derive(Clone, Default)]
pub(crate) struct WitnessSlot(Arc<ArcSwapOption<Box<dyn Witness>>>);

/// Keeps a witness installed. Dropping the guard removes the witness.
pub(crate) struct WitnessGuard(WitnessSlot);

/// The client of one plugin. It notifies the witness of each request.
pub(crate) struct WitnessedClient {
    pub(crate) client: KubeClient,
    pub(crate) witness: WitnessSlot,
}

// === impl WitnessSlot ===

impl WitnessSlot {
    /// A slot that holds this witness for good.
    pub(crate) fn with(witness: Box<dyn Witness>) -> Self {
        Self(Arc::new(ArcSwapOption::from_pointee(witness)))
    }

    /// Installs a witness until the guard is dropped. Returns `None` if there is a witness already.
    pub(crate) fn install(&self, witness: Box<dyn Witness>) -> Option<WitnessGuard> {
        let before = self.0.compare_and_swap(&None::<Arc<Box<dyn Witness>>>, Some(Arc::new(witness)));
        before.is_none().then(|| WitnessGuard(self.clone()))
    }

    /// Returns true if there is a witness.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load().is_some()
    }

    /// Calls the witness, if there is one.
    pub(crate) fn notify(&self, call: impl FnOnce(&dyn Witness)) {
        if let Some(witness) = &*self.0.load() {
            call(&***witness);
        }
    }
}

impl Drop for WitnessGuard {
    fn drop(&mut self) {
        self.0.0.store(None);
    }
}

impl ApiClient for WitnessedClient {
    fn send(&self, request: ApiRequest) -> BoxFuture<'_, Result<ApiAnswer, ApiFailure>> {
        let witness = self.witness.0.load_full();
        let Some(witness) = witness else { return self.client.send(request) };
        Box::pin(async move {
            let answer = match witness.answer(&request) {
                Some(answer) => Ok(answer),
                None => self.client.send(request.clone()).await,
            };
            witness.requested(&request, &answer);
            answer
        })
    }
}
