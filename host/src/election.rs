//! Leader election: of the hosts that name the same lease, one calls its plugins, and the others stand by with complete caches.
//!
//! The protocol is that of client-go's `leaderelection` (E-1 to E-8), so programs with client-go may compete for the same lease.
//! A [`Leadership`] also fences what a leader does: once the host has not renewed its lease in time, the requests of plugins to the
//! API server and by HTTP fail, their key-values are not changed, and no status of a Plugin object is written, even if the process
//! was stopped and continues (E-9).

mod elector;

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use informer_types::{is_namespace, is_object_name};
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

pub(crate) use elector::Elector;

/// Why something that only a leader may do is not done (E-9).
pub(crate) const NOT_LEADING: &str =
    "this host has not renewed its lease in time, and another host may lead now";

/// How much longer a pause may be, as a multiple of the shortest (E-2).
const JITTER: f64 = 1.2;

/// The name of a lease. Its text is `NAMESPACE/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseName {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// The text does not name a lease. The message shows the right form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a lease; write NAMESPACE/NAME, for example informer/informer")]
pub struct InvalidLeaseName(String);

/// The times of an election (E-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// A lease that did not change for this time is free. Other hosts may lead then.
    pub(crate) duration: Duration,
    /// A leader that has not renewed its lease for this time no longer leads.
    pub(crate) renew_within: Duration,
    /// The pause between two attempts to renew.
    pub(crate) retry: Duration,
}

/// What a host is at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Another host leads, or no host does. `leader` is the holder of the lease if the holder is known and the lease has not ended.
    StandsBy {
        /// The identity that the lease names.
        leader: Option<String>,
    },
    /// This host calls its plugins.
    Leads {
        /// The host leads no longer than this without a renewal; `None` means that there is no lease.
        until: Option<Instant>,
    },
    /// This host led, and has released the lease after its work had ended. It never leads again.
    Released,
    /// This host led, and has lost the lease. It never leads again.
    Lost,
}

/// The role of this host. Cheap to clone; all clones show the same role.
#[derive(Clone, Debug)]
pub(crate) struct Leadership {
    role: watch::Receiver<Role>,
    lease: Option<LeaseName>,
    failure: Failure,
}

/// Why the last attempt to acquire or to renew the lease failed; `None` if it did not fail. Clones share one value.
type Failure = Arc<Mutex<Option<String>>>;

// === impl LeaseName ===

impl FromStr for LeaseName {
    type Err = InvalidLeaseName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/').filter(|(namespace, name)| is_namespace(namespace) && is_object_name(name))
        {
            Some((namespace, name)) => Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() }),
            None => Err(InvalidLeaseName(text.to_owned())),
        }
    }
}

impl fmt::Display for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

// === impl Timing ===

impl Timing {
    /// The times of client-go for this duration: its defaults of 15, 10 and 2 s in proportion.
    pub(crate) fn of(duration: Duration) -> Self {
        Self { duration, renew_within: duration * 2 / 3, retry: duration * 2 / 15 }
    }

    /// The pause of a host that does not lead. `random` is a number from 0 to 1 (E-2).
    fn pause(&self, random: f64) -> Duration {
        self.retry.mul_f64(1.0 + JITTER * random)
    }
}

// === impl Leadership ===

impl Leadership {
    /// A host without a lease leads from the start.
    pub(crate) fn unconditional() -> Self {
        // The last role stays readable after the sender is gone.
        let role = watch::Sender::new(Role::Leads { until: None }).subscribe();
        Self { role, lease: None, failure: Failure::default() }
    }

    /// A host that stands by for ever.
    #[cfg(test)]
    pub(crate) fn never() -> Self {
        let role = watch::Sender::new(Role::StandsBy { leader: None }).subscribe();
        Self { role, lease: None, failure: Failure::default() }
    }

    fn new(role: &watch::Sender<Role>, lease: LeaseName, failure: &Failure) -> Self {
        Self { role: role.subscribe(), lease: Some(lease), failure: Arc::clone(failure) }
    }

    /// The lease; `None` if the host leads without one.
    pub(crate) fn lease(&self) -> Option<&LeaseName> {
        self.lease.as_ref()
    }

    /// Returns why the last attempt to acquire or to renew the lease failed, or `None` if it did not fail.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// The present role.
    pub(crate) fn role(&self) -> Role {
        self.role.borrow().clone()
    }

    /// Returns true once this host leads, until it has released its lease or noticed that the lease is lost. Between the end of the
    /// lease and that notice, [`holds`](Self::holds) returns false already.
    pub(crate) fn leads(&self) -> bool {
        matches!(&*self.role.borrow(), Role::Leads { .. })
    }

    /// Returns true while no other host may lead: this host renewed its lease in time.
    pub(crate) fn holds(&self) -> bool {
        match &*self.role.borrow() {
            Role::Leads { until } => until.is_none_or(|until| Instant::now() < until),
            Role::StandsBy { .. } | Role::Released | Role::Lost => false,
        }
    }

    /// Returns once this host leads. It never returns if that does not happen.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub(crate) async fn begins(&self) {
        self.reaches(|role| matches!(role, Role::Leads { .. })).await;
    }

    /// Returns once this host has lost its lease. It never returns if that does not happen.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub(crate) async fn ends(&self) {
        self.reaches(|role| *role == Role::Lost).await;
    }

    /// Returns once the elector has ended, so that this host holds no lease any more, or at once if there is no elector.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub(crate) async fn over(&self) {
        let mut role = self.role.clone();
        while role.changed().await.is_ok() {}
    }

    async fn reaches(&self, reached: impl Fn(&Role) -> bool) {
        let mut role = self.role.clone();
        if role.wait_for(|role| reached(role)).await.is_err() {
            // The elector has ended, so the role stays what it is.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_named_by_its_namespace_and_its_name() {
        for text in ["informer/informer", "0/a.b-c"] {
            assert_eq!(text.parse::<LeaseName>().unwrap().to_string(), text);
        }
        for text in ["", "informer", "/informer", "informer/", "in.former/a", "a/B", "a/b/c", "a/b "] {
            let refused = text.parse::<LeaseName>().unwrap_err().to_string();
            assert!(refused.contains("write NAMESPACE/NAME"), "{refused}");
        }
    }

    /// The defaults are those of client-go, and each duration keeps their order (E-1).
    #[test]
    fn a_host_gives_up_before_another_one_may_take_the_lease() {
        let seconds = Duration::from_secs;
        let default = Timing { duration: seconds(15), renew_within: seconds(10), retry: seconds(2) };
        assert_eq!(Timing::of(seconds(15)), default);
        for duration in [3, 4, 7, 60, 3600].map(seconds) {
            let timing = Timing::of(duration);
            assert!(timing.duration > timing.renew_within && timing.renew_within > timing.retry * 6 / 5);
        }
    }

    /// Hosts that wait do not write at the same moment (E-2).
    #[test]
    fn a_pause_is_one_to_two_and_a_fifth_of_the_retry_period() {
        let timing = Timing::of(Duration::from_secs(15));

        let pauses = [0.0, 0.5, 1.0].map(|random| timing.pause(random).as_millis());

        assert_eq!(pauses, [2000, 3200, 4400]);
    }

    #[tokio::test]
    async fn a_host_without_a_lease_leads_from_the_start() {
        let leadership = Leadership::unconditional();

        leadership.begins().await;
        leadership.over().await;

        assert!(leadership.holds());
        assert_eq!((leadership.lease(), leadership.role()), (None, Role::Leads { until: None }));
    }
}
