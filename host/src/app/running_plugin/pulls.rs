//! The pulls of one plugin from its registry: the last result, the last failure, and the time of the next look.

use std::{path::PathBuf, sync::Arc, time::Duration};

use informer_registry::{Digest, PullStats, Pulled, Puller, Wish};
use informer_runtime::LoadError;
use informer_types::Backoff;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::{
    admin::types::{FailingPull, Pull},
    app::origin::Origin,
    config::Source,
};

/// The waits after failed pulls.
const RETRY: Backoff =
    Backoff { min: Duration::from_secs(5), max: Duration::from_secs(5 * 60), factor: 2.0, jitter: 0.2 };

/// The random share that extends the time between two looks, so that a registry is not asked for all plugins at once.
const JITTER: f64 = 0.1;

/// The pulls of one plugin.
pub(in crate::app) struct Pulls {
    puller: Arc<Puller>,
    /// The lock file, which need not exist; `None` if there is no configuration file.
    lock: Option<PathBuf>,
    state: Mutex<State>,
    /// Since the plugin was added, from all its sources.
    stats: Mutex<PullStats>,
}

struct State {
    /// The source of the other fields. If the source changes during a pull, the result of the pull changes nothing.
    source: Source,
    /// The artifact that was accepted last.
    artifact: Option<Digest>,
    failing: Option<Failing>,
    /// When the registry is asked next.
    next: Option<Instant>,
}

struct Failing {
    why: String,
    attempts: u32,
}

/// The result of a look at the registry.
pub(super) enum Supplied {
    /// The component to load.
    Component(Vec<u8>),
    /// The registry has nothing else than what is known.
    Known,
    /// The registry failed, and the version in service stays. Nothing is known about the component that the plugin should have.
    Unanswered(LoadError),
    /// The registry failed, and the component that the plugin should have was never pulled. The version in service stays. It comes from
    /// another source, or has another digest.
    NeverPulled(LoadError),
}

/// Refuses a component by the names of its imports and exports.
pub(super) type Check<'a> = dyn Fn(&[&str], &[&str]) -> Result<(), LoadError> + Send + Sync + 'a;

/// The component that a plugin needs, and the conditions for its pull.
pub(super) struct Wanted<'a> {
    pub(super) plugin: &'a str,
    pub(super) origin: &'a Origin,
    /// True if a version is in service that stays if the registry fails.
    pub(super) serves: bool,
    /// True if a caller waits for the result and receives the failure of the registry.
    pub(super) requested: bool,
    /// Refuses a component by its imports and exports.
    pub(super) check: &'a Check<'a>,
    /// Returns true if the component with this digest need not be loaded: it is in service, or it was rejected before.
    pub(super) known: &'a (dyn Fn(&str) -> bool + Send + Sync),
}

// === impl Pulls ===

impl Pulls {
    pub(super) fn new(puller: Arc<Puller>, lock: Option<PathBuf>, source: Source) -> Self {
        Self { puller, lock, state: Mutex::new(State::new(source)), stats: Mutex::default() }
    }

    /// The pulls so far.
    pub(in crate::app) fn stats(&self) -> PullStats {
        *self.stats.lock()
    }

    /// The lock file.
    pub(super) fn lock(&self) -> Option<&PathBuf> {
        self.lock.as_ref()
    }

    /// Pulls the component. If the registry fails, the component that was pulled last is taken in three cases: no version is in service,
    /// the version in service comes from another source or has another digest, or the load is requested.
    pub(super) async fn component(&self, wanted: &Wanted<'_>) -> Result<Supplied, LoadError> {
        let Wanted { plugin, origin, serves, requested, .. } = *wanted;
        let Some(reference) = origin.source.reference() else { return Ok(Supplied::Known) };
        let pin = self.pin(origin).await?;
        let interfaces = |names: &informer_registry::Interfaces| {
            let imports: Vec<&str> = names.imports.iter().map(String::as_str).collect();
            let exports: Vec<&str> = names.exports.iter().map(String::as_str).collect();
            (wanted.check)(&imports, &exports).map_err(|error| error.to_string())
        };
        let known = |digest: Digest| (wanted.known)(&digest.hex());
        let wish = Wish { reference, pin, interfaces: &interfaces, known: &known };
        let pull = self.puller.pull(wish).await;
        self.stats.lock().ended(&pull);
        let error = match pull {
            Ok(pulled) => {
                self.succeeded(origin, &pulled, origin.poll.filter(|_| pin.is_none()));
                return Ok(pulled.component.map_or(Supplied::Known, Supplied::Component));
            }
            Err(error) => error,
        };
        if let Some((attempts, wait)) = self.failed(origin, error.to_string()) {
            tracing::warn!(plugin, %error, attempts, ?wait, "the component cannot be pulled; it is tried again");
        }
        let stays = serves && error.is_about_registry();
        let failed = LoadError::Source(error.to_string());
        let failed = || match (stays, self.has_pulled(pin)) {
            (true, true) => Ok(Supplied::Unanswered(failed)),
            (true, false) => Ok(Supplied::NeverPulled(failed)),
            (false, _) => Err(failed),
        };
        let is_another = stays && !self.has_pulled(pin);
        if serves && !requested && !is_another {
            return failed();
        }
        match self.puller.cached(wish).await {
            // The version in service was pulled last: the request changed nothing, and fails with the registry.
            Ok(Pulled { artifact, component: None, .. }) if requested => {
                self.accepted(origin, artifact);
                failed()
            }
            Ok(Pulled { artifact, component, .. }) => {
                tracing::warn!(plugin, %artifact, "the component that was pulled last is used");
                self.accepted(origin, artifact);
                Ok(component.map_or(Supplied::Known, Supplied::Component))
            }
            Err(_) => failed(),
        }
    }

    /// Returns once the registry is to be asked again.
    pub(super) async fn due(&self) {
        let next = self.state.lock().next;
        match next {
            Some(next) => sleep_until(next).await,
            None => std::future::pending().await,
        }
    }

    /// The pulls, for the status; `None` before the first pull.
    pub(in crate::app) fn status(&self) -> Option<Pull> {
        let State { artifact, failing, next, .. } = &*self.state.lock();
        let failing = failing.as_ref().map(|failing| FailingPull {
            why: failing.why.clone(),
            attempts: failing.attempts,
            next_in: next.map(|next| next.saturating_duration_since(Instant::now())).unwrap_or_default(),
        });
        (artifact.is_some() || failing.is_some())
            .then(|| Pull { artifact: artifact.map(|artifact| artifact.to_string()), failing })
    }

    /// Forgets everything: the plugin has another source.
    pub(super) fn reset(&self, source: Source) {
        *self.state.lock() = State::new(source);
    }

    async fn pin(&self, origin: &Origin) -> Result<Option<Digest>, LoadError> {
        let (own, lock) = (origin.clone(), self.lock.clone());
        let reading =
            tokio::task::spawn_blocking(move || own.pin(lock.as_deref()).map_err(|error| error.to_string()));
        let pin = reading.await.unwrap_or_else(|error| Err(error.to_string()));
        pin.map_err(|why| {
            // It is read again when the file changes.
            self.note(origin, |state| state.next = None);
            LoadError::Source(why)
        })
    }

    /// Returns true if an artifact of the present source was accepted, and is the one that is pinned now.
    fn has_pulled(&self, pin: Option<Digest>) -> bool {
        let accepted = self.state.lock().artifact;
        accepted.is_some_and(|artifact| pin.is_none_or(|pin| pin == artifact))
    }

    fn accepted(&self, origin: &Origin, artifact: Digest) {
        self.note(origin, |state| state.artifact = Some(artifact));
    }

    fn succeeded(&self, origin: &Origin, pulled: &Pulled, poll: Option<Duration>) {
        let next = poll.map(|poll| Instant::now() + poll.mul_f64(1.0 + JITTER * fastrand::f64()));
        self.note(origin, |state| {
            (state.artifact, state.failing, state.next) = (Some(pulled.artifact), None, next);
        });
    }

    /// Returns the number of failures and the wait before the next pull; `None` if the plugin has another source by now.
    fn failed(&self, origin: &Origin, why: String) -> Option<(u32, Duration)> {
        self.note(origin, |state| {
            let attempts = state.failing.as_ref().map_or(0, |failing| failing.attempts).saturating_add(1);
            let wait = RETRY.delay(attempts, fastrand::f64());
            state.failing = Some(Failing { why, attempts });
            state.next = Some(Instant::now() + wait);
            (attempts, wait)
        })
    }

    /// Changes the state, unless the plugin has another source than this one by now.
    fn note<T>(&self, origin: &Origin, change: impl FnOnce(&mut State) -> T) -> Option<T> {
        let mut state = self.state.lock();
        (state.source == origin.source).then(|| change(&mut state))
    }
}

// === impl State ===

impl State {
    /// Nothing was pulled from this source.
    fn new(source: Source) -> Self {
        Self { source, artifact: None, failing: None, next: None }
    }
}
