//! Calls of a guest to the host: whatever a guest requests, it receives and changes only what its grants name, and neither the
//! host nor the guest traps.
//!
//! The guest is the fixture `interpreter`: it makes the calls of a script, and logs the marks in what it received. Each object of the
//! cache and of the API server has a mark with its name, and each value of a Secret has another one.

mod api;
mod cache;
mod keyvalue;
mod marks;
mod plugin;
mod timers;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use informer_runtime::{
    Component, Engine, EngineConfig, Grants, LogLevel, LogLine, LogSink, LogStream, Plugin, Sources,
    capabilities::{ClientSource, HttpClient, HttpConfig, NoConfigFiles},
};
use informer_types::{
    AddError, Cause, Change, Delivery, EventHandler, Gvr, Notification, Outcome, Part, Reads, Source,
    Workqueue,
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use crate::parts::texts;
use api::Api;
use cache::Cache;
use keyvalue::KeyValues;
use marks::Origin;
use plugin::{PLUGIN, QUOTA, config};
use timers::Timers;

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());

/// The pointer of the script in the delivered object.
const SCRIPT: &str = "/type";

/// The engine and the guest, compiled once.
static GUEST: LazyLock<(Engine, Component)> = LazyLock::new(|| {
    let engine = Engine::new(&EngineConfig::default()).unwrap();
    let path = informer_guests::guest("interpreter");
    let component = RUNTIME.block_on(Component::from_file(&engine, &path)).unwrap();
    (engine, component)
});

/// The marks that the guest found, from its log.
#[derive(Default)]
struct Seen(Mutex<Vec<Mark>>);

/// A mark that the guest found.
#[derive(Clone, Debug)]
struct Mark {
    text: String,
    /// It was in a whole object, which may have more than the plugin declares to read.
    in_an_object: bool,
}

/// A workqueue that holds ten keys.
#[derive(Default)]
struct Keys(Mutex<Vec<String>>);

/// Grants, one a line, behind `read`, `write` or `secrets`, and parts of objects that the plugin declares to read, behind `reads`;
/// and the script of the guest.
pub(crate) fn run(input: &[u8]) {
    let Some([grants, script]) = texts(input) else { return };
    let declared = declared(grants);
    let grants = granted(grants);
    let seen = Arc::new(Seen::default());
    let api = Arc::new(Api::new(grants.clone()));
    let (engine, component) = &*GUEST;
    let sources = Sources {
        lister: Arc::new(Cache),
        client: ClientSource::new(Arc::clone(&api) as _, "host-1"),
        http: HttpClient::new(HttpConfig::default()).unwrap(),
        log: Arc::clone(&seen) as _,
        keyvalue: Arc::new(KeyValues::default()),
        config: Arc::new(NoConfigFiles),
        workqueue: Arc::new(Keys::default()),
        timers: Arc::new(Timers::default()),
        wall_clock: None,
    };
    let plugin = Plugin::new(engine.clone(), config(grants.clone(), reads(declared.as_deref())), sources);
    let outcome = RUNTIME.block_on(async {
        plugin.load(component).await.unwrap();
        let outcome = plugin.handle(delivery(script)).await.unwrap();
        plugin.unload().await;
        outcome
    });
    assert!(matches!(outcome, Outcome::Acknowledged | Outcome::Again(_)), "{outcome:?}");
    for mark in seen.0.lock().iter() {
        assert!(
            marks::may_be_seen(&grants, &mark.text),
            "the guest received {mark:?}, which {grants:?} does not grant"
        );
        assert!(
            mark.in_an_object
                || declared.as_deref().is_none_or(|parts| marks::is_declared(parts, &mark.text)),
            "the guest received {mark:?}, which is in none of {declared:?}"
        );
    }
}

/// The parts that the plugin declares to read. `None` if the lines declare nothing, which means that it reads everything.
fn declared(text: &str) -> Option<Vec<Part>> {
    let parts: Vec<Part> = text
        .lines()
        .filter_map(|line| line.strip_prefix("reads "))
        .filter_map(|part| part.parse().ok())
        .collect();
    (!parts.is_empty()).then_some(parts)
}

/// The declaration for every resource of the cache. The guest always reads its script.
fn reads(declared: Option<&[Part]>) -> BTreeMap<Gvr, Reads> {
    let Some(declared) = declared else { return BTreeMap::new() };
    let script: Part = SCRIPT.parse().unwrap();
    let parts: Vec<Part> = declared.iter().cloned().chain([script]).collect();
    cache::RESOURCES.iter().map(|gvr| (gvr.parse().unwrap(), Reads::new(&parts, false))).collect()
}

/// The grants of the lines that are grants.
fn granted(text: &str) -> Grants {
    let of = |word: &'static str| {
        text.lines()
            .filter_map(move |line| line.split_once(' ').filter(|(kind, _)| *kind == word))
            .map(|(_, grant)| grant)
    };
    Grants {
        read: Some(of("read").filter_map(|grant| grant.parse().ok()).collect()),
        write: Some(of("write").filter_map(|grant| grant.parse().ok()).collect()),
        secrets: of("secrets").filter_map(|grant| grant.parse().ok()).collect(),
        keyvalue: Some(QUOTA),
        http: None,
    }
}

/// The addition of a Secret that the plugin is subscribed to. Its values are hidden like those of any other.
fn delivery(script: &str) -> Delivery {
    let mut secret = marks::object(Origin::Cache, &Gvr::new("", "v1", "secrets"), "shop", "delivered");
    // The type is one of the fields that are always visible.
    secret["type"] = json!(script);
    let change = Change::Added { object: cache::cached(&secret) };
    let source = Source::new(Gvr::new("", "v1", "secrets"));
    let notification =
        Notification { source, change, cause: Cause::Live, initial: None, observed: Instant::now().into() };
    Delivery { notification, attempt: 1, queued: Duration::ZERO }
}

impl LogSink for Seen {
    fn enabled(&self, _: &str, _: LogLevel) -> bool {
        true
    }

    fn line(&self, line: &LogLine<'_>) {
        assert_eq!(line.plugin, PLUGIN);
        let in_an_object = match (line.stream, line.message) {
            (LogStream::Log, "saw") => false,
            (LogStream::Log, "saw in an object") => true,
            _ => return,
        };
        let marks = line.fields.iter().map(|(_, mark)| Mark { text: mark.clone(), in_an_object });
        self.0.lock().extend(marks);
    }
}

impl Keys {
    fn take(&self, key: &str) -> Result<(), AddError> {
        let mut keys = self.0.lock();
        if key.len() > 100 {
            return Err(AddError::TooLong { bytes: key.len(), limit: 100 });
        }
        if keys.len() >= 10 {
            return Err(AddError::Full { capacity: 10 });
        }
        keys.push(key.to_owned());
        Ok(())
    }
}

impl Workqueue for Keys {
    fn add(&self, key: &str) -> Result<(), AddError> {
        self.take(key)
    }

    fn add_after(&self, key: &str, _delay: Duration) -> Result<(), AddError> {
        self.take(key)
    }

    fn add_rate_limited(&self, key: &str) -> Result<(), AddError> {
        self.take(key)
    }

    fn forget(&self, key: &str) {
        self.0.lock().retain(|kept| kept != key);
    }

    fn num_requeues(&self, key: &str) -> u32 {
        u32::try_from(key.len()).unwrap_or(u32::MAX)
    }

    fn waiting(&self) -> usize {
        self.0.lock().len()
    }
}
