//! The requests of the page to the running host, and the answers.
//!
//! The answers are for one page of the same program, so they have no form for other versions. They hold no bodies of objects and
//! no secrets.

mod answers;
mod overview;

pub use answers::{
    ConfigurationInForce, CurrentKey, Letter, LetterPage, LetterQuery, Line, LinePage, LineQuery, Objects,
    ObjectsQuery, PastReload, PluginDetail, PluginGrant,
};
pub use overview::{InformerRow, Overview, OverviewHost, PluginRow, Sentences, Totals};

/// The running host, as the page uses it.
pub trait Dashboard: Send + Sync + 'static {
    /// Returns the state of the host in short: one row for each informer and plugin. With a thousand plugins it takes some
    /// milliseconds of processor time.
    fn overview(&self) -> Overview;

    /// Returns one plugin with its grants; `None` if there is no such plugin.
    fn plugin_detail(&self, name: &str) -> Option<PluginDetail>;

    /// Returns some of the dead letters, by plugin in the order of the configuration. The letters of a plugin are those of
    /// notifications, then of keys, then of signals, and the oldest of each kind comes first.
    fn letters(&self, query: &LetterQuery) -> LetterPage;

    /// Returns the keys of cached objects that contain a text, in their order.
    ///
    /// # Errors
    /// No watch serves the resource.
    fn objects(&self, query: &ObjectsQuery) -> Result<Objects, String>;

    /// Returns the newest log lines of one plugin or of all, the oldest first.
    fn lines(&self, query: &LineQuery) -> LinePage;

    /// Returns the configuration in force, and what the newest reloads did.
    fn configuration(&self) -> ConfigurationInForce;
}
