//! From the text of a file to its keys.

use std::{io, path::PathBuf, sync::LazyLock};

use informer_registry::RegistrySettings;
use informer_system::HttpAddress;
use toml::de::DeTable;

use super::{
    cluster::{CLUSTER, ClusterKeys},
    host::{HOST, Host},
    key::{Draft, Entry, Field, Key, Kind, Section, sub, subs},
    plugin::{Common, DEFAULTS, PLUGIN, PluginKeys},
    problem::{Fault, Problems},
    registry::{REGISTRY, SIGNER, SignerKeys, VERIFY, VerifyKeys},
    table::{Header, Known, Table},
    telemetry::{TELEMETRY, TelemetryKeys},
    tenancy::{TENANCY, TenancyKeys},
    value::Scalar,
    watch::{WATCH, Watch},
    written::Written,
};

/// The parser allows 80 nested brackets with 80 parts of a dotted key in each, and drops the result by recursion: at worst
/// 6,400 levels, which took between 2 and 4 MiB of stack in a build without optimisation.
const STACK_BYTES: usize = 32 << 20;

/// The whole file as it is written, together with what it includes.
#[derive(Clone, Debug, Default)]
pub(super) struct FileKeys {
    pub(super) include: Vec<PathBuf>,
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
        Key::<FileKeys, Vec<PathBuf>>::new("include", |file| &mut file.include)
            .distinct()
            .also("[\"plugins.d\", \"/usr/share/informer/plugins/reloader.toml\"]")
            .doc(
                "Files with further [[watch]] and [[plugin]], or directories of such files: all files in \
                 them whose names end in `.toml`, in the order of their names. Paths in an included file are \
                 relative to that file. If several files have a [[watch]] of the same resource, they share \
                 one watch, which keeps each field that one of them keeps, and has the indexes of all. All \
                 other tables stand in this file only; [defaults] applies to the included plugins too.",
            ),
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
        watches(),
        sub("defaults", &DEFAULTS, |file: &mut FileKeys| &mut file.defaults),
        plugins(),
        sub("tenancy", &TENANCY, |file: &mut FileKeys| &mut file.tenancy),
    ],
});

/// The top level of an included file.
static INCLUDED: LazyLock<Section<FileKeys>> =
    LazyLock::new(|| Section { doc: "", keys: vec![watches(), plugins()] });

fn watches() -> Field<FileKeys> {
    subs("watch", &WATCH, |_| Watch::default(), |file: &mut FileKeys| &mut file.watches)
}

fn plugins() -> Field<FileKeys> {
    subs(
        "plugin",
        &PLUGIN,
        |file: &FileKeys| PluginKeys::with(&file.defaults.value),
        |file: &mut FileKeys| &mut file.plugins,
    )
}

/// Every key of the file, without its types.
pub(super) fn entries() -> Vec<Entry> {
    FILE.entries()
}

/// Reads the text of the file. Returns `None` if it is not TOML. Then only the first error is noted, because later ones are
/// often a consequence of it.
pub(super) fn read(text: &str, problems: &mut Problems<'_>) -> Option<Draft<FileKeys>> {
    let mut keys = Draft::default();
    read_into(&FILE, text, &mut keys, problems).map(|_| keys)
}

/// Reads `admin` of `[host]` in a text that may have mistakes. Returns the default address if the text has no valid `admin`. Returns
/// `None` if `admin` is "off". A relative path of a socket stays relative.
pub(super) fn admin(text: &str) -> Option<HttpAddress> {
    let read = on_large_stack(|| {
        let (document, _) = DeTable::parse_recoverable(text);
        let host = document.get_ref().get("host")?.get_ref().as_table()?;
        Option::<HttpAddress>::read(host.get("admin")?.get_ref()).ok()
    });
    read.ok().flatten().unwrap_or_else(|| Host::default().admin)
}

/// Reads the text of a file that the file includes, which [`Problems::begin`] has made the current one, and adds its watches and
/// plugins to the watches and plugins of the file. Returns false if the text cannot be read as TOML, or has an unknown top-level
/// key, which may be a misspelled `watch`.
pub(super) fn read_included(text: &str, file: &mut Draft<FileKeys>, problems: &mut Problems<'_>) -> bool {
    read_into(&INCLUDED, text, file, problems).unwrap_or_default()
}

/// Returns true if each top-level key is known, and `None` if the text cannot be read as TOML.
fn read_into(
    section: &Section<FileKeys>,
    text: &str,
    file: &mut Draft<FileKeys>,
    problems: &mut Problems<'_>,
) -> Option<bool> {
    let at = problems.place(0..0);
    match on_large_stack(|| read_document(section, text, file, &mut *problems)) {
        Ok(read) => read,
        Err(error) => {
            let message = format!("the system has no thread to read it with: {error}");
            problems.add(at, "", Fault::new(message, "try again"));
            None
        }
    }
}

/// Calls `read` on a thread with the stack that the parser needs.
///
/// # Errors
/// The system has no thread.
fn on_large_stack<T: Send>(read: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("config".to_owned()).stack_size(STACK_BYTES);
        match builder.spawn_scoped(scope, read)?.join() {
            Ok(read) => Ok(read),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn read_document(
    section: &Section<FileKeys>,
    text: &str,
    file: &mut Draft<FileKeys>,
    problems: &mut Problems<'_>,
) -> Option<bool> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let place = |error: &toml::de::Error| error.span().unwrap_or_default();
    if let Some(first) = errors.iter().min_by_key(|error| place(error).start) {
        problems.add(problems.place(place(first)), "", not_toml(first.message()));
        return None;
    }
    let mut known = Vec::new();
    collect(&section.entries(), &Header::default(), &mut known);
    let mut names = section.names();
    for (key, _) in document.get_ref() {
        if let Some(name) =
            FILE.names().into_iter().find(|name| *name == key.get_ref() && !names.contains(name))
        {
            let remedy = "move it to the file that includes this one";
            let fault = Fault::new("an included file has [[watch]] and [[plugin]] only", remedy);
            problems.add(problems.place(key.span()), name, fault);
            names.push(name);
        }
    }
    let is_known = document.get_ref().keys().all(|key| {
        let name: &str = key.get_ref();
        names.contains(&name)
    });
    file.value.written.extend(&Written::of(document.get_ref(), problems.included()));
    section.read(Table::root(document.get_ref(), &names, &Known(known), problems), file);
    Some(is_known)
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
