//! Calls that are about no single object: a cache is complete, a timer fires, or the configuration changed.

use crate::{Config, Result};

/// The cache of a subscription is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Synced {
    /// The resource, as in `informer.toml`: `apps/v1/deployments`.
    pub gvr: String,
    /// The number of objects that the subscription selected when its cache was complete.
    pub count: u32,
    /// The version of the collection that the cache had reached. If the host watches several namespaces one by one, it is
    /// the oldest one; it is empty if their versions have no order.
    pub resource_version: String,
}

/// A plugin that is notified when its caches are complete. It also implements [`Handler`](crate::Handler) or
/// [`Reconciler`](crate::Reconciler); [`export_synced!`](crate::export_synced) exports this trait besides it.
///
/// The host may make this call in another instance than the calls before, so `self` may have seen none of the objects.
///
/// ```
/// use informer_sdk::{Cause, Config, Event, Handler, Result, SyncHandler, Synced, lister, log};
///
/// struct Report;
///
/// impl Handler for Report {
///     fn start(_config: Config) -> std::result::Result<Self, String> {
///         Ok(Self)
///     }
/// }
///
/// impl SyncHandler for Report {
///     fn on_synced(&mut self, synced: Synced) -> Result {
///         log::info!(count = synced.count; "the list of {} is complete", synced.gvr);
///         Ok(())
///     }
/// }
///
/// informer_sdk::export!(Report);
/// informer_sdk::export_synced!(Report);
/// # fn main() {}
/// ```
pub trait SyncHandler: Sized + 'static {
    /// The initial notifications of a subscription have been delivered, also if there are none. The host calls it once for each
    /// subscription, and again for a new version of a plugin with `on-reload = "replay"`.
    ///
    /// # Errors
    /// The [`Failure`](crate::Failure) decides whether the call is made again.
    fn on_synced(&mut self, synced: Synced) -> Result;
}

/// A plugin with timers: those of `[[plugin.timer]]`, and those that it sets through [`timer`](crate::timer). It also implements
/// [`Handler`](crate::Handler) or [`Reconciler`](crate::Reconciler); [`export_timers!`](crate::export_timers) exports this trait
/// besides it.
///
/// The host may make this call in another instance than the calls before.
///
/// ```
/// use informer_sdk::{Config, Handler, Result, TimerHandler, log};
///
/// struct Nightly;
///
/// impl Handler for Nightly {
///     fn start(_config: Config) -> std::result::Result<Self, String> {
///         Ok(Self)
///     }
/// }
///
/// impl TimerHandler for Nightly {
///     fn on_timer(&mut self, name: &str) -> Result {
///         log::info!("the timer {name} fires");
///         Ok(())
///     }
/// }
///
/// informer_sdk::export!(Nightly);
/// informer_sdk::export_timers!(Nightly);
/// # fn main() {}
/// ```
pub trait TimerHandler: Sized + 'static {
    /// A timer fires.
    ///
    /// # Errors
    /// The [`Failure`](crate::Failure) decides whether the call is made again. A timer of the configuration fires at its next time in
    /// any case.
    fn on_timer(&mut self, name: &str) -> Result;
}

/// A plugin that is notified when a file of its `config-files` changed. It also implements [`Handler`](crate::Handler) or
/// [`Reconciler`](crate::Reconciler); [`export_config!`](crate::export_config) exports this trait besides it.
///
/// The host makes this call in one instance. The other instances keep what they have in `self`. Use this call for an action that
/// a change must cause once, and read the configuration anew in each other call.
///
/// ```
/// use informer_sdk::{Config, ConfigHandler, Handler, Result, log};
///
/// struct Rules;
///
/// impl Handler for Rules {
///     fn start(_config: Config) -> std::result::Result<Self, String> {
///         Ok(Self)
///     }
/// }
///
/// impl ConfigHandler for Rules {
///     fn on_config(&mut self, _config: Config) -> Result {
///         log::info!("the rules changed");
///         Ok(())
///     }
/// }
///
/// informer_sdk::export!(Rules);
/// informer_sdk::export_config!(Rules);
/// # fn main() {}
/// ```
pub trait ConfigHandler: Sized + 'static {
    /// A file changed, appeared or disappeared. `config` is what `start` would receive now.
    ///
    /// # Errors
    /// The [`Failure`](crate::Failure) decides whether the call is made again.
    fn on_config(&mut self, config: Config) -> Result;
}
