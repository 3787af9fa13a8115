//! `[host]`: the process itself.

use std::{
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    os::unix::net::SocketAddr as SocketPath,
    path::{Path, PathBuf},
    sync::LazyLock,
    time::Duration,
};

use informer_runtime::{
    EngineConfig,
    capabilities::{HttpClient, HttpConfig},
};
use informer_system::{FileError, HttpAddress, read_file};
use ipnet::IpNet;

use super::{
    context::{Components, Context, useless},
    environment::Environment,
    key::{Draft, Key, Section},
    problem::Fault,
    value::{Choice, Count, Holds, LogFilter, Size},
};
use crate::{election::LeaseName, logging::LogFormat};

/// Loopback only, because the admin endpoint requires no credentials.
const ADMIN: HttpAddress = HttpAddress::Tcp(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8080)));

/// Logs the life cycle and what needs an operator, but no single events.
pub const LOG: &str = "info";

/// Kubernetes kills the process after 30 s (`terminationGracePeriodSeconds`). Five are left to log which calls did not
/// finish.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(25);

/// The duration of a lease that client-go's leader election has by default (E-1).
const LEASE_DURATION: Duration = Duration::from_secs(15);

/// The most bytes of the file of `http-ca`. The authorities of all browsers together have a quarter of this size.
const AUTHORITY_BYTES: u64 = 1 << 20;

/// About two thousand notifications with one plugin, in 4 MiB.
const TRACE: u32 = 16_384;

/// The place of the state that outlives the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StateDir {
    /// In this directory, absolute.
    At(PathBuf),
    /// In memory, because the file turns it off. The state ends with the process.
    Off,
    /// In memory, because neither the file nor `$XDG_STATE_HOME` nor `$HOME` names a directory.
    #[default]
    Nowhere,
}

/// Who may read `/metrics` of the health endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricsAuth {
    /// Every client that reaches the endpoint.
    #[default]
    None,
    /// Identities that the API server accepts and that may get the path.
    Kubernetes,
}

/// The process itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The loopback address or the Unix socket of the admin endpoint, with an absolute path; `None` means that there is
    /// none.
    pub admin: Option<HttpAddress>,
    /// The address of the health endpoint; `None` means that there is none.
    pub health: Option<SocketAddr>,
    /// Who may read the metrics of the health endpoint.
    pub metrics_auth: MetricsAuth,
    /// A filter that `tracing-subscriber` accepts.
    pub log: String,
    /// The form of a log line.
    pub log_format: LogFormat,
    /// How long calls in flight may take to finish after the first signal. Never zero.
    pub shutdown_timeout: Duration,
    /// The lease that one of several hosts holds while it calls its plugins; `None` means that this host is alone.
    pub lease: Option<LeaseName>,
    /// How long other hosts wait for a leader that does not renew its lease, in whole seconds. Never zero.
    pub lease_duration: Duration,
    /// The directory of compiled components, absolute; `None` compiles each component at each start.
    pub cache_dir: Option<PathBuf>,
    /// The place of the state of plugins and of their queues.
    pub state_dir: StateDir,
    /// The size of the largest component that is accepted, in bytes. Never zero.
    pub component_bytes: usize,
    /// How long one component may take to compile. Never zero.
    pub compile_timeout: Duration,
    /// The most memory of a process that compiles, in bytes; `None` means the default of [`EngineConfig`]. Never zero.
    pub compile_memory: Option<u64>,
    /// The most memory of all guests together, in bytes; `None` means a quarter of
    /// [`memory_bytes`](informer_system::memory::memory_bytes). Never zero.
    pub guest_memory: Option<u64>,
    /// The most memory of all objects, in bytes; `None` means a quarter of
    /// [`memory_bytes`](informer_system::memory::memory_bytes). Never zero.
    pub cache_memory: Option<u64>,
    /// Networks that no HTTP request of a plugin reaches.
    pub http_deny: Vec<IpNet>,
    /// The absolute path of a PEM file with certificate authorities that HTTP requests of plugins also trust.
    pub http_ca: Option<PathBuf>,
    /// Steps to remember for `informer explain`; 0 remembers nothing.
    pub trace: u32,
}

type K<V> = Key<Host, V>;

/// A shorter time would cut off calls that are almost done, and no operator waits longer than an hour.
const SHUTDOWN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60 * 60));
/// With a shorter duration, a leader would lose the lease at each delay of the API server. A longer one would leave the plugins without
/// a host for too long.
const LEASE: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(10 * 60));
/// The least holds the smallest component that does something, and the most is more than any toolchain makes.
const COMPONENT: (Size, Size) = (Size(4 << 10), Size(1 << 30));
/// A second is the least that a small component needs on a busy machine.
const COMPILE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60 * 60));
/// Compiling the smallest component takes this much, and no machine should need more for the largest.
const COMPILE_MEMORY: (Size, Size) = (Size(64 << 20), Size(64 << 30));
/// The least is enough for a few small guests, and the most is more than the memory of any machine.
const GUEST_MEMORY: (Size, Size) = (Size(16 << 20), Size(1 << 44));
/// Up to 200 MiB of steps.
const STEPS: (Count, Count) = (Count(0), Count(1 << 20));

pub(super) static HOST: LazyLock<Section<Host>> = LazyLock::new(|| {
    Section {
    doc: "The host process.",
    keys: vec![
        K::<Option<HttpAddress>>::new("admin", |host| &mut host.admin)
            .also("\"unix:/run/informer/admin.sock\"")
            .doc(
                "The address of the admin endpoint: status, metrics, what the commands need, and a page for \
                 browsers, over HTTP. It must be a loopback address, or `unix:` and the path of a socket, which \
                 only this user may use; port 0 is any free port; \"off\" turns the endpoint off. Requests must \
                 name `localhost` or a loopback address as their host. Requests from other pages in a browser \
                 are refused.",
            ),
        K::<Option<SocketAddr>>::new("health", |host| &mut host.health).also("\"0.0.0.0:8081\"").doc(
            "The address of the health endpoint, for the kubelet and Prometheus: /livez, /readyz and \
             /metrics over HTTP, and nothing else. It may be any address of this machine, \
             \"[::]:8081\" for IPv4 and IPv6. Other machines may read it, so it neither changes nor shows objects. \
             \"off\" turns the endpoint off.",
        ),
        K::<MetricsAuth>::new("metrics-auth", |host| &mut host.metrics_auth).doc(
            "Who may read /metrics of the health endpoint. With \"none\" it needs no token. With \"kubernetes\" \
             it needs a bearer token that the API server accepts (TokenReview), of an identity that may \
             get the nonResourceURL /metrics (SubjectAccessReview); `informer rbac` prints the rules \
             that the host needs for it. The endpoint has no TLS, so use tokens that may do nothing else.",
        ),
        K::<LogFilter>::new("log", |host| &mut host.log)
            .also("\"info,informer_cache=debug\"")
            .doc("The log lines to keep, in the syntax of `RUST_LOG`."),
        K::<LogFormat>::new("log-format", |host| &mut host.log_format)
            .doc("The form of a log line: \"text\" for people, \"json\" for a log collector."),
        K::<Duration>::new("shutdown-timeout", |host| &mut host.shutdown_timeout).within(SHUTDOWN).doc(
            "How long calls in flight may take to finish after SIGTERM. Kubernetes kills the process \
             after 30s, so leave some seconds.",
        ),
        K::<LeaseName>::new("lease", |host| &mut host.lease).example("\"informer/informer\"").doc(
            "Leader election: of all hosts that name the same Lease (coordination.k8s.io/v1), one calls its \
             plugins. The others stand by: they follow all watches, so their caches are complete, and call \
             no plugin. When the leader stops, another host leads within a few seconds. When it vanishes, or \
             does not reach the API server, another one leads after `lease-duration`, and a leader that \
             cannot renew its lease ends before. A host that begins to lead delivers every object, as after \
             a restart. Give each host a `state-dir` of its own: key-values, dead letters and what \
             `initial = \"changed\"` acknowledged stay with the host that wrote them. `informer rbac` prints \
             the role for the Lease. The default is no election.",
        ),
        K::<Duration>::new("lease-duration", |host| &mut host.lease_duration).within(LEASE).doc(
            "How long other hosts wait for a leader that does not renew its lease. A leader gives up after \
             two thirds of it. It is rounded down to whole seconds. All hosts should have the same value.",
        ),
        K::<PathBuf>::new("cache-dir", |host| &mut host.cache_dir).default("\"~/.cache/informer\"").doc(
            "The directory of compiled components. The default is below $XDG_CACHE_HOME if that is set. \
             \"off\" compiles each component at each start. The host authenticates the code with a key in \
             `state-dir`; if that is off, no code is kept. An emptyDir of a pod with `fsGroup` is fine.",
        ),
        K::<PathBuf>::new("state-dir", |host| &mut host.state_dir)
            .default("\"~/.local/state/informer\"")
            .doc(
                "The directory of the state that outlives the process: the data of plugins (`keyvalue` of \
                 [plugin.grant]) and dead letters, in one database file, and the key for `cache-dir`. One \
                 host at a time may use it. Other users must not be able to write to it, except to a volume \
                 of a pod with `fsGroup`. The default is below $XDG_STATE_HOME if that is set. \"off\" keeps \
                 the state in memory, as `informer dev` does.",
            ),
        K::<Size>::new("component-size", |host| &mut host.component_bytes)
            .within(COMPONENT)
            .doc("The size of the largest component that is accepted."),
        K::<Duration>::new("compile-timeout", |host| &mut host.compile_timeout).within(COMPILE).doc(
            "How long one component may take to compile. If it takes longer, the new version is refused \
             and the version in service stays. A Python component takes about 10s. If other plugins wait, \
             each one gets 10s at a time.",
        ),
        K::<Size>::new("compile-memory", |host| &mut host.compile_memory)
            .within(COMPILE_MEMORY)
            .example("\"1GiB\"")
            .doc(
                "How much memory a process may use to compile one component, beside the memory of the host. \
                 The process ends after the component, and at most two run at a time. If a component needs \
                 more, the new version is refused and the version in service stays. The default is three \
                 eighths of the available memory, which is the container's limit or the machine's memory, \
                 whichever is smaller. The default has a minimum of 64MiB and a maximum of 1GiB.",
            ),
        K::<Size>::new("guest-memory", |host| &mut host.guest_memory)
            .within(GUEST_MEMORY)
            .example("\"2GiB\"")
            .doc(
                "The maximum memory of all guests together: linear memories, tables and what the host holds \
                 for instances. If a guest needs more, its call fails and is retried. A quarter is divided \
                 equally among the plugins and reserved for them, so a plugin that takes much does not stop \
                 the others. Cached objects, compiled code and the embedded API server are not part of it. \
                 The default is a quarter of the available memory, which is the container's limit or the \
                 machine's memory, whichever is smaller.",
            ),
        K::<Size>::new("cache-memory", |host| &mut host.cache_memory)
            .within(GUEST_MEMORY)
            .example("\"1GiB\"")
            .doc(
                "The maximum memory of all objects: those in caches, and those of pending notifications. \
                 Above three quarters of this limit, every watch compresses its objects. Above the limit, \
                 no further watch starts. An eighth above the limit, a watch ends when it receives more, \
                 and its informer follows the cluster by lists; a quarter above the limit, these lists fail \
                 too. A list that fails leaves the cache as it was, the status reports the age of the \
                 cache, and the list is tried again with a backoff. The default is a quarter of the \
                 available memory, which is the container's limit or the machine's memory, whichever is \
                 smaller.",
            ),
        K::<Count>::new("trace", |host| &mut host.trace).within(STEPS).doc(
            "The number of steps to keep for `informer explain`. A step is what one stage decided about an \
             object or a key. Steps hold names and versions, never the content of objects; newer steps \
             replace older ones. A notification takes three steps and up to three more per plugin, a call \
             for a key takes three; a step takes about 250 bytes of memory. 0 keeps no steps.",
        ),
        K::<Vec<IpNet>>::new("http-deny", |host| &mut host.http_deny)
            .distinct()
            .also("[\"10.0.0.0/28\", \"fd00:1::5\"]")
            .doc(
                "Networks and addresses that no HTTP request of a plugin may reach, whatever `http` of \
                 [plugin.grant] allows. The API server, its Service and endpoints as far as the host may \
                 read them (`informer rbac`), link-local and metadata addresses are always denied. List here \
                 what the host cannot know: load balancers and other machines of the control plane.",
            ),
        K::<PathBuf>::new("http-ca", |host| &mut host.http_ca).example("\"ca.pem\"").doc(
            "A PEM file of certificate authorities that these HTTP requests trust besides those of the \
             system. The host reads the file when it starts, and reports a later change as a key that waits \
             for a restart. The default is none.",
        ),
    ],
}
});

// === impl StateDir ===

impl StateDir {
    /// The directory. Returns `None` if the state is kept in memory.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::At(path) => Some(path),
            Self::Off | Self::Nowhere => None,
        }
    }
}

impl Holds<PathBuf> for StateDir {
    fn put(&mut self, path: PathBuf) {
        *self = if is_off(&path) { Self::Off } else { Self::At(path) };
    }

    fn get(&self) -> Option<PathBuf> {
        None
    }
}

// === impl MetricsAuth ===

impl Choice for MetricsAuth {
    const WORDS: &'static [(&'static str, Self)] = &[("none", Self::None), ("kubernetes", Self::Kubernetes)];
}

// === impl LogFormat ===

impl Choice for LogFormat {
    const WORDS: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}

// === impl Host ===

impl Default for Host {
    /// Without the directories, which depend on the environment.
    fn default() -> Self {
        let EngineConfig { component_bytes, compile_timeout, .. } = EngineConfig::default();
        let size = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        Self {
            admin: Some(ADMIN),
            health: None,
            metrics_auth: MetricsAuth::default(),
            log: LOG.to_owned(),
            log_format: LogFormat::default(),
            shutdown_timeout: SHUTDOWN_TIMEOUT,
            lease: None,
            lease_duration: LEASE_DURATION,
            cache_dir: None,
            state_dir: StateDir::default(),
            component_bytes: size(component_bytes),
            compile_timeout,
            compile_memory: None,
            guest_memory: None,
            cache_memory: None,
            http_deny: Vec::new(),
            http_ca: None,
            trace: TRACE,
        }
    }
}

/// Makes paths absolute, and adds the directories of the environment.
pub(super) fn host(draft: Draft<Host>, context: &mut Context<'_, '_>) -> Host {
    let has_health = draft.value.health.is_some() || draft.is_refused("health");
    if !has_health && draft.value.metrics_auth != MetricsAuth::None {
        let message = "there is no health endpoint, so the key has no effect";
        let remedy = "set `health`, or remove this key";
        useless(&mut context.problems, draft.written("metrics-auth"), message, remedy);
    }
    judge_endpoints(&draft, context);
    let Environment { cache_dir, state_dir, .. } = context.environment;
    let mut path = |key, path: &PathBuf| context.path(path, draft.written(key)?);
    let own = &draft.value;
    let cache_dir = match &own.cache_dir {
        None => cache_dir.clone(),
        Some(off) if is_off(off) => None,
        Some(written) => path("cache-dir", written),
    };
    let state_dir = match &own.state_dir {
        StateDir::Nowhere => state_dir.clone().map_or(StateDir::Nowhere, StateDir::At),
        StateDir::Off => StateDir::Off,
        StateDir::At(written) => path("state-dir", written).map_or(StateDir::Off, StateDir::At),
    };
    let http_ca = own.http_ca.as_ref().and_then(|file| path("http-ca", file));
    let admin = own.admin.clone().and_then(|address| match address {
        HttpAddress::Unix(socket) => path("admin", &socket).map(HttpAddress::Unix),
        address => Some(address),
    });
    if context.components == Components::Present {
        judge_files(&draft, (admin.as_ref(), http_ca.as_deref()), context);
    }
    Host { admin, cache_dir, http_ca, state_dir, ..draft.value }
}

/// Notes the paths that prevent the start of a host.
fn judge_files(
    draft: &Draft<Host>,
    (admin, http_ca): (Option<&HttpAddress>, Option<&Path>),
    context: &mut Context<'_, '_>,
) {
    if let (Some(place), Some(HttpAddress::Unix(socket))) = (draft.written("admin"), admin)
        && let Err(error) = SocketPath::from_pathname(socket)
    {
        let message = format!("{} cannot be the path of a socket: {error}", socket.display());
        context.problems.refuse(place, Fault::new(message, "write a shorter path, of at most 100 bytes"));
    }
    if let (Some(place), Some(file)) = (draft.written("http-ca"), http_ca)
        && let Some(fault) = authorities_fault(file)
    {
        context.problems.refuse(place, fault);
    }
}

/// Reads the file of `http-ca`. Blocks.
///
/// # Errors
/// [`FileError`] if it is no regular file, is too large, or cannot be read.
pub(crate) fn read_authorities(file: &Path) -> Result<Vec<u8>, FileError> {
    read_file(file, AUTHORITY_BYTES)
}

/// The fault of a file that has no certificate authorities, or that cannot be read.
fn authorities_fault(file: &Path) -> Option<Fault> {
    let (shown, remedy) = (file.display(), "correct the path, or remove the key");
    let extra_authorities = match read_authorities(file) {
        Ok(pem) => pem,
        Err(error) if error.is_absent() => {
            return Some(Fault::new(format!("there is no file at {shown}"), remedy));
        }
        Err(error) => return Some(Fault::new(format!("{shown} cannot be read: {error}"), remedy)),
    };
    let error = HttpClient::new(HttpConfig { extra_authorities, ..HttpConfig::default() }).err()?;
    let remedy = "name a PEM file with certificates of authorities, or remove the key";
    Some(Fault::new(format!("{shown}: {error}"), remedy))
}

/// Notes two endpoints of which only one could listen.
fn judge_endpoints(draft: &Draft<Host>, context: &mut Context<'_, '_>) {
    let Host { admin, health, .. } = &draft.value;
    let (Some(HttpAddress::Tcp(admin)), Some(health)) = (admin, health) else { return };
    // The unspecified address of IPv6 stands for IPv4 too.
    let includes = health.ip().is_unspecified() && (health.is_ipv6() || admin.is_ipv4());
    let is_same_port = admin.port() == health.port() && admin.port() != 0;
    if let Some(place) = draft.written("health").filter(|_| is_same_port)
        && (includes || admin.ip() == health.ip())
    {
        let message = format!("the admin endpoint listens at {admin} already");
        let remedy = "write another port, or another address for `admin`";
        context.problems.refuse(place, Fault::new(message, remedy));
    }
}

fn is_off(path: &Path) -> bool {
    path.as_os_str() == "off"
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use crate::config::{Components, SMALLEST, load};

    /// The problems of a file with this line under `[host]`, as `informer check` finds them.
    fn problems(directory: &TempDir, line: &str) -> String {
        let path = |name: &str| directory.path().join(name);
        fs::write(path("informer.toml"), format!("[host]\n{line}\n{SMALLEST}")).unwrap();
        fs::write(path("hello.wasm"), "").unwrap();
        assert!(load(&path("informer.toml"), Components::Unseen).is_ok());
        let loaded = load(&path("informer.toml"), Components::Present);
        loaded.err().map(|error| error.to_string()).unwrap_or_default()
    }

    /// A host does not start if the file has no certificates.
    #[test]
    fn a_file_without_certificates_is_refused_as_certificate_authorities() {
        let directory = TempDir::new().unwrap();
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for (content, why) in [
            (key, "the text holds no certificate; name a PEM file"),
            ("not PEM", "the text holds no certificate; name a PEM file"),
            (&*"x".repeat(2 << 20), "cannot be read: it has more than 1048576 bytes; correct the path"),
        ] {
            fs::write(directory.path().join("ca.pem"), content).unwrap();

            let problems = problems(&directory, "http-ca = \"ca.pem\"");

            assert!(problems.contains(":2:11: host.http-ca: ") && problems.contains(why), "{problems}");
        }
    }

    /// The system limits the path of a socket, and a host does not start without its admin endpoint.
    #[test]
    fn a_path_that_is_too_long_for_a_socket_is_refused() {
        let directory = TempDir::new().unwrap();

        let long = problems(&directory, &format!("admin = \"unix:/run/{}\"", "x".repeat(110)));

        assert!(long.contains(":2:9: host.admin: /run/xxx"), "{long}");
        assert!(long.contains("cannot be the path of a socket: ") && long.contains("shorter path"), "{long}");
        assert_eq!(problems(&directory, "admin = \"unix:/run/informer/admin.sock\""), "");
    }
}
