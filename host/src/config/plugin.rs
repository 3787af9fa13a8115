//! `[[plugin]]`: one component, its subscriptions, and what it may use; and `[defaults]` for all plugins.

mod grant;
mod limits;
mod quarantine;
mod queue;
mod reload;
mod retry;
mod subscription;
mod timer;
mod workqueue;

use std::{
    collections::BTreeMap, io::ErrorKind, num::NonZeroU64, path::PathBuf, sync::LazyLock, time::Duration,
};

use informer_dispatch::{DeliveryMode, QuarantineConfig};
use informer_registry::{Digest, Reference};
use informer_runtime::{Grants, InstancePolicy, LogLevel, TrialConfig};
use informer_types::{Gvr, Part, Reads, ServiceAccount};

use super::{
    context::{Components, Context, is_default, useless},
    key::{Draft, Field, Key, Section, free, sub, subs},
    problem::{Fault, Located, Problems},
    source::Source,
    value::{Choice, Count, Name, Scalar, outside as out_of_bounds},
    watched::Watched,
};
use crate::logging::LEVELS;
use grant::{GRANT, GrantKeys};
pub(super) use limits::LIMITS;
use quarantine::QUARANTINE;
use queue::{QUEUE, QueueKeys};
use reload::RELOAD;
use retry::RETRY;
use subscription::ON;
use timer::{TIMER, TimerKeys};
use workqueue::WORKQUEUE;

pub use limits::Limits;
pub use queue::Queue;
pub use retry::Retry;
pub use subscription::{Enqueue, Reading, Relist, Subscription};
pub use timer::{Schedule, Timer};
pub use workqueue::Workqueue;

/// The configuration of a plugin without `[plugin.config]`.
const CONFIG_JSON: &str = "{}";

/// How often a tag is looked up. A registry that limits requests allows some hundred in an hour.
const POLL: Duration = Duration::from_secs(5 * 60);

/// A shorter period helps no plugin, and a longer one is as good as never.
const POLLS: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(7 * 24 * 60 * 60));

/// One component. No two have the same name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plugin {
    /// A DNS label.
    pub name: String,
    /// The UID of its Plugin object; empty for a plugin of the file.
    pub uid: String,
    /// The file or the artifact of the component. A file exists if [`Components::Present`] was requested.
    pub source: Source,
    /// The folder of the project that `informer dev` builds `source` from, absolute.
    pub build: Option<PathBuf>,
    /// The digest that it must have: the digest of the file, or of the artifact's manifest.
    pub digest: Option<Digest>,
    /// How often a tag is looked up in its registry; `None` means when the component is loaded only.
    pub poll: Option<Duration>,
    /// The ServiceAccount in whose name the plugin sends requests to the API server; `None` means the identity of the host.
    pub account: Option<ServiceAccount>,
    /// How long an instance lives.
    pub instance: InstancePolicy,
    /// No two have the same resource or pattern. The file has at least one; a pattern may stand for none.
    pub subscriptions: Vec<Subscription>,
    /// Times at which the plugin is called. No two have the same name.
    pub timers: Vec<Timer>,
    /// The queue of notifications.
    pub queue: Queue,
    /// The queue of keys.
    pub workqueue: Workqueue,
    /// How failed notifications are retried.
    pub retry: Retry,
    /// When the host stops calling a plugin that does not work.
    pub quarantine: QuarantineConfig,
    /// How a new version is judged.
    pub reload: TrialConfig,
    /// What a new version receives about existing objects.
    pub on_reload: OnReload,
    /// What the plugin may use.
    pub limits: Limits,
    /// What the plugin may reach.
    pub grants: Grants,
    /// `[plugin.config]` as a JSON object with sorted keys; dates are texts.
    pub config_json: String,
    /// The least severe log lines of the plugin to keep; `None` leaves it to the filter of the host.
    pub log_level: Option<LogLevel>,
    /// Files that extend the configuration by name, and directories of them, absolute. They need not exist.
    pub config_files: Vec<PathBuf>,
}

impl Plugin {
    /// The patterns that it subscribes to, reads or writes.
    pub fn patterns(&self) -> impl Iterator<Item = &Gvr> {
        let read = self.grants.read.iter().flat_map(|read| read.iter()).map(|(gvr, ..)| gvr);
        let write = self.grants.write.iter().flat_map(|write| write.iter()).map(|grant| &grant.gvr);
        let subscribed = self.subscriptions.iter().map(|on| &on.watch);
        subscribed.chain(read).chain(write).filter(|gvr| gvr.is_pattern())
    }

    /// Returns true if the plugin may read objects of this resource.
    pub fn may_read(&self, gvr: &Gvr) -> bool {
        self.grants.read.as_ref().is_some_and(|read| read.namespaces(gvr).is_some())
    }

    /// Returns true if the labels of namespaces decide what the plugin receives.
    pub fn follows_namespaces(&self) -> bool {
        self.subscriptions.iter().any(Subscription::follows_namespaces)
    }

    /// Returns true if the configuration leaves to the component what is read of a resource.
    pub fn follows_declaration(&self) -> bool {
        self.subscriptions.iter().any(|on| on.reads == Reading::AsDeclared)
    }

    /// Completes what the configuration leaves to the component. `declared` returns what the component reads of a resource, and `None`
    /// if that may be everything.
    pub fn declare(&mut self, declared: impl Fn(&Gvr) -> Option<Vec<Part>>) {
        for on in &mut self.subscriptions {
            if let Some(parts) = declared(&on.watch) {
                on.declare(parts);
            }
        }
    }

    /// What the plugin declares to read of the objects of each resource. A resource that is missing is read whole.
    pub fn reads(&self) -> BTreeMap<Gvr, Reads> {
        let declared = |on: &Subscription| Some(Reads::new(on.reads.parts()?, on.whole_if.is_some()));
        self.subscriptions.iter().filter_map(|on| Some((on.watch.clone(), declared(on)?))).collect()
    }

    /// The problem if there are timers and the component does not export `timer-handler`: no timer of the configuration is
    /// delivered.
    pub fn unhandled_timers(&self, has_handler: bool) -> Option<String> {
        let first = self.timers.first().filter(|_| !has_handler)?;
        Some(format!(
            "the timer `{}` calls nothing, because the component does not export `timer-handler`: remove [[plugin.timer]], or \
             export `timer-handler` (world `controller-with-signals` of wit/)",
            first.name
        ))
    }
}

/// What a new version of a component receives about existing objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnReload {
    /// Nothing: the new version continues where the previous one stopped.
    #[default]
    Keep,
    /// Every object that the subscriptions select, once more, as an addition with cause `replay`.
    Replay,
}

/// `[[plugin]]` as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct PluginKeys {
    instance: Option<InstanceKind>,
    max_calls: Option<NonZeroU64>,
    idle_timeout: Option<Duration>,
    poll: Option<Duration>,
    on: Vec<Draft<Subscription>>,
    timers: Vec<Draft<TimerKeys>>,
    common: Common,
    grant: Draft<GrantKeys>,
    /// All other keys.
    plugin: Plugin,
}

/// The tables that `[defaults]` and `[[plugin]]` have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Common {
    queue: Draft<QueueKeys>,
    workqueue: Draft<Workqueue>,
    retry: Draft<Retry>,
    quarantine: Draft<QuarantineConfig>,
    reload: Draft<TrialConfig>,
    limits: Draft<Limits>,
}

/// The value of `instance`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InstanceKind {
    Warm,
    Fresh,
}

type K<V> = Key<PluginKeys, V>;

/// The keys that only the file has: a name of its own, and what belongs to the operator of the host.
const OF_THE_FILE: [&str; 4] = ["name", "build", "as", "config-files"];

const DOC: &str = "One plugin: a WebAssembly component, its subscriptions, its limits and its grants.";

pub(super) static PLUGIN: LazyLock<Section<PluginKeys>> =
    LazyLock::new(|| Section { doc: DOC, keys: keys() });

/// `spec` of a Plugin object: the keys of `[[plugin]]` without those that only the file has.
pub(super) static OBJECT: LazyLock<Section<PluginKeys>> = LazyLock::new(|| {
    let mut keys = keys();
    keys.retain(|key| !OF_THE_FILE.contains(&key.name()));
    Section { doc: DOC, keys }
});

fn keys() -> Vec<Field<PluginKeys>> {
    origin_keys().into_iter().chain(conduct_keys()).chain(tables()).collect()
}

/// Its name and its source.
fn origin_keys() -> Vec<Field<PluginKeys>> {
    vec![
        K::<Name>::new("name", |keys| &mut keys.plugin.name).required("\"deployments\"").doc(
            "The name of the plugin in logs, metrics and commands: up to 63 lower-case letters, digits \
             and `-`. No two plugins have the same name.",
        ),
        K::<Source>::new("source", |keys| &mut keys.plugin.source)
            .required("\"target/wasm32-wasip2/plugin/deployments_rust.wasm\"")
            .also("\"oci://ghcr.io/acme/ttl:1.2\"")
            .doc(
                "The file of the component, or its name in a registry: \"oci://HOST/NAME:TAG\" or \
                 \"oci://HOST/NAME@sha256:DIGEST\", in the CNCF layout for WebAssembly (`informer plugin \
                 push` makes it). If the file or the tag changes, the host loads the new version. A pulled \
                 component is kept below `cache-dir`, so the host can start while the registry is down.",
            ),
        K::<PathBuf>::new("build", |keys| &mut keys.plugin.build).example("\".\"").doc(
            "The folder of the project of the component, with its informer-plugin.toml. `informer dev` builds it at the start \
             and when a source changes, as `informer build` does. Files that a .gitignore of the folder names are no sources. \
             Other commands ignore this key.",
        ),
        K::<Digest>::new("digest", |keys| &mut keys.plugin.digest)
            .example("\"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"")
            .doc(
                "The digest that the component must have: the SHA-256 of the file, or the digest of the \
                 artifact in the registry. Other content is refused. For tags, informer.lock beside this \
                 file does the same (`informer plugin lock`).",
            ),
        K::<Duration>::new("poll", |keys| &mut keys.poll)
            .default(&POLL.shown())
            .check(poll_fault)
            .doc(
                "How often a tag is looked up in its registry. \"0s\" means at the start and on `informer reload` only. A tag \
                 that is pinned by `digest` or informer.lock is not looked up. Bounds: 0s, or 10s to 168h.",
            ),
    ]
}

/// How it runs.
fn conduct_keys() -> Vec<Field<PluginKeys>> {
    vec![
        K::<ServiceAccount>::new("as", |keys| &mut keys.plugin.account)
            .example("\"system:serviceaccount:shop:reloader\"")
            .doc(
                "The ServiceAccount in whose name the plugin's own requests to the API server are sent \
                 (impersonation), so that RBAC and the audit log of the API server see it. The grants apply \
                 as well. The host needs the permission to impersonate this ServiceAccount, which `informer \
                 rbac` prints. Watches use the identity of the host, so [plugin.grant] alone decides what \
                 the plugin reads from the caches. Without `write` in [plugin.grant] the plugin sends no \
                 requests. Default: the identity of the host.",
            ),
        K::<Vec<PathBuf>>::new("config-files", |keys| &mut keys.plugin.config_files)
            .also("[\"/etc/informer/hello\", \"/run/secrets/token\"]")
            .doc(
                "Files that extend [plugin.config], or directories of such files, such as mounted ConfigMaps \
                 and Secrets. The name of each file is its key. The files are read each time the plugin \
                 reads its configuration (`wasi:config`) and for each new instance, so a change needs no \
                 restart. A link is followed if it stays inside its directory. Only regular files are read, \
                 at most 4 MiB of a plugin together, and at most 10000 of a directory.",
            ),
        K::<LogLevel>::new("log-level", |keys| &mut keys.plugin.log_level).example("\"debug\"").doc(
            "The least severe log lines of this plugin to keep: trace, debug, info, warn or error. \
             Default: what `log` of [host] keeps of the target `plugin`. `informer log-level` changes \
             both while the host runs.",
        ),
        K::<InstanceKind>::new("instance", |keys| &mut keys.instance).default("\"warm\"").doc(
            "How long an instance of the component lives. \"warm\" instances serve one call after \
             another. With \"fresh\" each call gets its own instance. An instance that traps, exceeds its \
             deadline or is refused memory ends at once.",
        ),
        K::<Count>::new("max-calls", |keys| &mut keys.max_calls)
            .default("0")
            .doc("Calls after which a warm instance ends. 0 means no limit."),
        K::<Duration>::new("idle-timeout", |keys| &mut keys.idle_timeout)
            .default(&default_idle_timeout().shown())
            .doc(
                "Time without a call after which a warm instance ends and frees its memory. \"0s\" means \
                 never. An instance that was never called ends after about a minute, unless this key is \
                 \"0s\".",
            ),
        K::<OnReload>::new("on-reload", |keys| &mut keys.plugin.on_reload).doc(
            "What a new version of the component receives about existing objects. \"keep\": nothing; it \
             continues where the previous version stopped. \"replay\": every object once more, as an \
             addition with the cause `replay`. Choose \"replay\" for plugins that keep state in memory.",
        ),
    ]
}

fn tables() -> Vec<Field<PluginKeys>> {
    vec![
        subs("on", &ON, |_| Subscription::default(), |keys: &mut PluginKeys| &mut keys.on),
        subs("timer", &TIMER, |_| TimerKeys::default(), |keys: &mut PluginKeys| &mut keys.timers),
        sub("queue", &QUEUE, |keys: &mut PluginKeys| &mut keys.common.queue),
        sub("workqueue", &WORKQUEUE, |keys: &mut PluginKeys| &mut keys.common.workqueue),
        sub("retry", &RETRY, |keys: &mut PluginKeys| &mut keys.common.retry),
        sub("quarantine", &QUARANTINE, |keys: &mut PluginKeys| &mut keys.common.quarantine),
        sub("reload", &RELOAD, |keys: &mut PluginKeys| &mut keys.common.reload),
        sub("limits", &LIMITS, |keys: &mut PluginKeys| &mut keys.common.limits),
        sub("grant", &GRANT, |keys: &mut PluginKeys| &mut keys.grant),
        free(
            "config",
            |keys: &mut PluginKeys| &mut keys.plugin.config_json,
            "The plugin's own configuration. It is passed to the plugin as JSON at the start, and served \
             through `wasi:config`: there `a.b` is the text at `b` in the table `a`. Default: empty.",
        ),
    ]
}

pub(super) static DEFAULTS: LazyLock<Section<Common>> = LazyLock::new(|| Section {
    doc: "Values for all plugins. The tables [defaults.queue], [defaults.workqueue], [defaults.retry], \
          [defaults.quarantine], [defaults.reload] and [defaults.limits] have the keys of the tables of the \
          same names below [[plugin]]. A key of a plugin overrides [defaults], and [defaults] overrides the \
          built-in default.",
    keys: vec![
        sub("queue", &QUEUE, |common: &mut Common| &mut common.queue),
        sub("workqueue", &WORKQUEUE, |common: &mut Common| &mut common.workqueue),
        sub("retry", &RETRY, |common: &mut Common| &mut common.retry),
        sub("quarantine", &QUARANTINE, |common: &mut Common| &mut common.quarantine),
        sub("reload", &RELOAD, |common: &mut Common| &mut common.reload),
        sub("limits", &LIMITS, |common: &mut Common| &mut common.limits),
    ],
});

// === impl OnReload, InstanceKind, LogLevel ===

impl Choice for OnReload {
    const WORDS: &'static [(&'static str, Self)] = &[("keep", Self::Keep), ("replay", Self::Replay)];
}

impl Choice for InstanceKind {
    const WORDS: &'static [(&'static str, Self)] = &[("warm", Self::Warm), ("fresh", Self::Fresh)];
}

impl Choice for LogLevel {
    const WORDS: &'static [(&'static str, Self)] = &LEVELS;
}

// === impl PluginKeys ===

impl PluginKeys {
    /// A plugin before its keys are read.
    pub(super) fn with(defaults: &Common) -> Self {
        Self { common: defaults.clone(), ..Self::default() }
    }

    /// The resources of the subscriptions.
    pub(super) fn subscribed(&self) -> impl Iterator<Item = &Gvr> {
        self.on.iter().filter(|on| on.written("watch").is_some()).map(|on| &on.value.watch)
    }

    /// Returns true if the plugin itself has this key of `limits`.
    pub(super) fn has_limit(&self, key: &str) -> bool {
        self.common.limits.written(key).is_some_and(|place| !is_default(place))
    }

    /// The time between two looks at a tag, if it is written.
    pub(super) fn poll(&self) -> Option<Duration> {
        self.poll
    }
}

// === impl Common ===

impl Common {
    /// Judges the keys that depend on one another, and puts the values into the plugin.
    pub(super) fn settle(self, plugin: &mut Plugin, problems: &mut Problems<'_>) {
        let Self { queue, mut workqueue, mut retry, mut quarantine, reload, limits } = self;
        workqueue.value.max = longest(&workqueue, (workqueue.value.min, workqueue.value.max), problems);
        let waits = retry.value.calls.backoff;
        retry.value.calls.backoff.max = longest(&retry, (waits.min, waits.max), problems);
        let waits = quarantine.value.backoff;
        quarantine.value.backoff.max = longest(&quarantine, (waits.min, waits.max), problems);
        plugin.queue = queue::queue(&queue, problems);
        plugin.workqueue = workqueue.value;
        plugin.retry = retry.value;
        plugin.quarantine = quarantine.value;
        plugin.reload = reload.value;
        plugin.limits = limits.value;
    }
}

/// Judges the plugins of a file.
pub(super) fn plugins(
    written: Vec<Draft<PluginKeys>>,
    watched: &Watched,
    context: &mut Context<'_, '_>,
) -> Vec<Plugin> {
    let mut seen: Vec<Located<String>> = Vec::new();
    let mut plugins = Vec::with_capacity(written.len());
    for draft in written {
        if let Some(name) = draft.written("name").map(|place| place.with(draft.value.plugin.name.clone())) {
            if let Some(earlier) = seen.iter().find(|earlier| earlier.value == name.value) {
                let line = context.problems.line(earlier.at, name.at);
                let message = format!("a plugin {line} is named `{}` already", name.value);
                context.problems.refuse(&name, Fault::new(message, "give each its own name"));
            }
            seen.push(name);
        }
        plugins.push(plugin(draft, watched, context));
    }
    plugins
}

/// Judges one plugin.
pub(super) fn plugin(
    mut draft: Draft<PluginKeys>,
    watched: &Watched,
    context: &mut Context<'_, '_>,
) -> Plugin {
    let settling = settling(&draft);
    let subscriptions = subscriptions(&mut draft, watched, &mut context.problems);
    let timers = timer::timers(std::mem::take(&mut draft.value.timers), &mut context.problems);
    let instance = instance(&draft, &mut context.problems);
    let config_files = draft.value.plugin.config_files.iter().zip(draft.items("config-files"));
    let config_files = config_files.filter_map(|(path, place)| context.path(path, place)).collect();
    let source = draft.written("source").and_then(|place| source(&draft, place, context));
    let build = build(&draft, context);
    judge_pin(&draft, &mut context.problems);
    let poll = draft.value.poll.unwrap_or(POLL);
    let PluginKeys { common, grant, mut plugin, .. } = draft.value;
    common.settle(&mut plugin, &mut context.problems);
    if let DeliveryMode::Every { .. } = plugin.queue.delivery {
        for settle in settling {
            let message = "it merges changes, and delivery = \"every\" delivers each of them";
            let remedy = "remove it, or write delivery = \"latest\" under [plugin.queue]";
            context.problems.refuse(&settle, Fault::new(message, remedy));
        }
    }
    if plugin.config_json.is_empty() {
        CONFIG_JSON.clone_into(&mut plugin.config_json);
    }
    let grants = grant::grants(grant, watched, &mut context.problems);
    let poll = Some(poll).filter(|poll| !poll.is_zero());
    Plugin {
        source: source.unwrap_or_default(),
        build,
        poll,
        instance,
        subscriptions,
        timers,
        config_files,
        grants,
        ..plugin
    }
}

fn source(
    draft: &Draft<PluginKeys>,
    place: &Located<impl Sized>,
    context: &mut Context<'_, '_>,
) -> Option<Source> {
    let written = &draft.value.plugin.source;
    let Source::File(text) = written else { return Some(written.clone()) };
    let path = context.path(text, place)?;
    if context.components == Components::Present && !path.is_file() {
        let shown = path.display();
        let message = match path.metadata() {
            Ok(found) if found.is_dir() => format!("{shown} is a directory"),
            Ok(_) => format!("{shown} is not a regular file"),
            Err(error) if error.kind() == ErrorKind::NotFound => format!("there is no file at {shown}"),
            Err(error) => format!("{shown} cannot be looked at: {error}"),
        };
        let remedy = match draft.written("build") {
            Some(_) => "run `informer build` in the folder that `build` names, or correct the path",
            None => "build the component, or correct the path",
        };
        context.problems.refuse(place, Fault::new(message, remedy));
    }
    Some(Source::File(path))
}

/// The folder to build from.
fn build(draft: &Draft<PluginKeys>, context: &mut Context<'_, '_>) -> Option<PathBuf> {
    let place = draft.written("build")?;
    if draft.value.plugin.source.reference().is_some() {
        let fault = Fault::new("a component from a registry is not built here", "name its file in `source`");
        context.problems.refuse(place, fault);
    }
    context.path(draft.value.plugin.build.as_ref()?, place)
}

/// Notes a pin that contradicts the source.
fn judge_pin(draft: &Draft<PluginKeys>, problems: &mut Problems<'_>) {
    let Plugin { source, digest, .. } = &draft.value.plugin;
    let named = source.reference().and_then(Reference::digest);
    if let Some(place) = draft.written("digest").filter(|_| named.is_some() && named != *digest) {
        let remedy = "remove one of them";
        problems.refuse(place, Fault::new("it differs from the digest in `source`", remedy));
    }
}

fn poll_fault(poll: &Duration) -> Option<Fault> {
    if poll.is_zero() { None } else { out_of_bounds(poll, &POLLS) }
}

fn subscriptions(
    plugin: &mut Draft<PluginKeys>,
    watched: &Watched,
    problems: &mut Problems<'_>,
) -> Vec<Subscription> {
    let written = std::mem::take(&mut plugin.value.on);
    if let Some(place) = plugin.place.as_ref().filter(|_| written.is_empty() && !plugin.is_refused("on")) {
        let remedy = match watched.first() {
            Some(watch) => format!("add [[plugin.on]] with watch = \"{}\"", watch.gvr),
            None => "add [[plugin.on]] with watch = \"apps/v1/deployments\", or another resource".to_owned(),
        };
        problems.refuse(place, Fault::new("it subscribes to nothing and would never be called", remedy));
    }
    let mut seen: Vec<Located<Gvr>> = Vec::new();
    let mut subscriptions = Vec::with_capacity(written.len());
    for draft in written {
        if let Some(gvr) = draft.written("watch").map(|place| place.with(draft.value.watch.clone())) {
            if let Some(earlier) = seen.iter().find(|earlier| earlier.value == gvr.value) {
                let line = problems.line(earlier.at, gvr.at);
                let message = format!("it is subscribed to `{}` already {line}", gvr.value);
                problems.refuse(&gvr, Fault::new(message, "remove one: each event would be delivered twice"));
            }
            seen.push(gvr);
        }
        subscriptions.extend(subscription::subscription(draft, watched, problems));
    }
    subscriptions
}

/// The `settle` of each subscription that has one.
fn settling(plugin: &Draft<PluginKeys>) -> Vec<Located<()>> {
    let settling = plugin.value.on.iter().filter(|on| !on.value.settle.is_zero());
    settling.filter_map(|on| Some(on.written("settle")?.with(()))).collect()
}

/// Returns the longest wait of a table with `min` and `max`. If only `min` is written and exceeds the default of `max`, the longest
/// wait is `min`.
fn longest<T>(table: &Draft<T>, (min, max): (Duration, Duration), problems: &mut Problems<'_>) -> Duration {
    match (table.written("max"), table.written("min")) {
        (Some(longest), Some(first)) if max < min && is_default(longest) && !is_default(first) => {
            let remedy = "lower `min`, or write `max` too";
            problems.refuse(first, Fault::new("`min` is longer than `max` of [defaults]", remedy));
        }
        (Some(longest), first) if max < min => {
            let remedy =
                if first.is_some() { "lower `min` or raise `max`" } else { "write a shorter `min` too" };
            problems.refuse(longest, Fault::new("`max` is shorter than `min`", remedy));
        }
        _ => {}
    }
    max.max(min)
}

fn instance(draft: &Draft<PluginKeys>, problems: &mut Problems<'_>) -> InstancePolicy {
    let PluginKeys { instance, max_calls, idle_timeout, .. } = &draft.value;
    if *instance == Some(InstanceKind::Fresh) {
        for key in ["max-calls", "idle-timeout"] {
            let message = "it has no meaning if each call has its own instance";
            useless(problems, draft.written(key), message, "remove it, or write instance = \"warm\"");
        }
        return InstancePolicy::Fresh;
    }
    let idle_timeout = match *idle_timeout {
        Some(Duration::ZERO) => Duration::MAX,
        Some(timeout) => timeout,
        None => default_idle_timeout(),
    };
    InstancePolicy::Warm { max_calls: *max_calls, idle_timeout }
}

/// The time without a call after which a warm instance ends.
fn default_idle_timeout() -> Duration {
    match InstancePolicy::default() {
        InstancePolicy::Warm { idle_timeout, .. } => idle_timeout,
        InstancePolicy::Fresh => Duration::ZERO,
    }
}
