//! From the text of a file to its keys.

use std::sync::LazyLock;

use informer_registry::RegistrySettings;
use toml::de::DeTable;

use super::{
    cluster::{CLUSTER, ClusterKeys},
    host::{HOST, Host},
    key::{Draft, Entry, Kind, Section, sub, subs},
    plugin::{Common, DEFAULTS, PLUGIN, PluginKeys},
    problem::{Fault, Problems},
    registry::{REGISTRY, SIGNER, SignerKeys, VERIFY, VerifyKeys},
    table::{Header, Known, Table},
    telemetry::{TELEMETRY, TelemetryKeys},
    tenancy::{TENANCY, TenancyKeys},
    watch::{WATCH, Watch},
    written::Written,
};

/// The parser allows 80 nested brackets with 80 parts of a dotted key in each, and drops the result by recursion: at worst
/// 6,400 levels, which took between 2 and 4 MiB of stack in a build without optimisation.
const STACK_BYTES: usize = 32 << 20;

/// The whole file as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct FileKeys {
    pub(super) cluster: Draft<ClusterKeys>,
    pub(super) host: Draft<Host>,
    pub(super) telemetry: Draft<TelemetryKeys>,
    pub(super) registries: Vec<Draft<RegistrySettings>>,
    pub(super) signers: Vec<Draft<SignerKeys>>,
    pub(super) policies: Vec<Draft<VerifyKeys>>,
    pub(super) defaults: Draft<Common>,
    pub(super) watches: Vec<Draft<Watch>>,
    pub(super) plugins: Vec<Draft<PluginKeys>>,
    pub(super) tenancy: Draft<TenancyKeys>,
    /// All of them as they are written.
    pub(super) written: Written,
}

/// The top level. `[defaults]` is read before the plugins that it applies to.
static FILE: LazyLock<Section<FileKeys>> = LazyLock::new(|| Section {
    doc: "",
    keys: vec![
        sub("cluster", &CLUSTER, |file: &mut FileKeys| &mut file.cluster),
        sub("host", &HOST, |file: &mut FileKeys| &mut file.host),
        sub("telemetry", &TELEMETRY, |file: &mut FileKeys| &mut file.telemetry),
        subs(
            "registry",
            &REGISTRY,
            |_| RegistrySettings::default(),
            |file: &mut FileKeys| &mut file.registries,
        ),
        subs("signer", &SIGNER, |_| SignerKeys::default(), |file: &mut FileKeys| &mut file.signers),
        subs("verify", &VERIFY, |_| VerifyKeys::default(), |file: &mut FileKeys| &mut file.policies),
        subs("watch", &WATCH, |_| Watch::default(), |file: &mut FileKeys| &mut file.watches),
        sub("defaults", &DEFAULTS, |file: &mut FileKeys| &mut file.defaults),
        subs(
            "plugin",
            &PLUGIN,
            |file| PluginKeys::with(&file.defaults.value),
            |file: &mut FileKeys| &mut file.plugins,
        ),
        sub("tenancy", &TENANCY, |file: &mut FileKeys| &mut file.tenancy),
    ],
});

/// Every key of the file, without its types.
pub(super) fn entries() -> Vec<Entry> {
    FILE.entries()
}

/// Reads a text. Returns `None` if it is not TOML. Then only the first error is noted, because later ones are often a
/// consequence of it.
pub(super) fn read(text: &str, problems: &mut Problems<'_>) -> Option<Draft<FileKeys>> {
    let read = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("config".to_owned()).stack_size(STACK_BYTES);
        builder.spawn_scoped(scope, || read_document(text, problems)).map(std::thread::ScopedJoinHandle::join)
    });
    match read {
        Ok(Ok(keys)) => keys,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => {
            let message = format!("the system has no thread to read it with: {error}");
            problems.add(0, "", Fault::new(message, "try again"));
            None
        }
    }
}

fn read_document(text: &str, problems: &mut Problems<'_>) -> Option<Draft<FileKeys>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let place = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    if let Some(first) = errors.iter().min_by_key(|error| place(error)) {
        problems.add(place(first), "", not_toml(first.message()));
        return None;
    }
    let mut known = Vec::new();
    collect(&entries(), &Header::default(), &mut known);
    let known = Known(known);
    let mut keys = Draft::<FileKeys>::default();
    keys.value.written = Written::of(document.get_ref());
    FILE.read(Table::root(document.get_ref(), &FILE.names(), &known, problems), &mut keys);
    Some(keys)
}

/// The keys of this table, and then of each table below it.
pub(super) fn collect(entries: &[Entry], header: &Header, into: &mut Vec<(Header, Vec<&'static str>)>) {
    into.push((header.clone(), entries.iter().map(|entry| entry.name).collect()));
    for entry in entries {
        match &entry.kind {
            Kind::Value(_) => {}
            Kind::Table(inner, _) => collect(inner, &header.below(entry.name, false), into),
            Kind::Tables(inner, _) => collect(inner, &header.below(entry.name, true), into),
        }
    }
}

/// The message of the parser, which names what it expected, except for a repeated key.
pub(super) fn not_toml(found: &str) -> Fault {
    let message = format!("not TOML: {found}");
    match found {
        "duplicate key" => Fault::new(message, "remove one of the two"),
        _ => Fault::without_remedy(message),
    }
}
