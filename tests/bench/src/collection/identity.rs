//! The values that differ between generated objects.

use std::fmt::Write;

use fastrand::Rng;

/// The resource version of the list. All versions have ten digits, so a version can overwrite another one in place.
pub const LISTED_AT: u64 = 1_000_000_000;

/// Kubernetes' alphabet for generated names: no vowels and no similar characters.
const NAME_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const HEX: &[u8] = b"0123456789abcdef";

const TEAMS: [&str; 8] =
    ["payments", "search", "checkout", "identity", "ledger", "shipping", "catalogue", "platform"];
const ROLES: [&str; 8] = ["api", "worker", "gateway", "scheduler", "indexer", "relay", "reporter", "sync"];
const ZONES: [&str; 3] = ["eu-central-1a", "eu-central-1b", "eu-central-1c"];
const REGISTRIES: [&str; 4] =
    ["registry.example.com", "quay.io/example", "ghcr.io/example", "public.ecr.aws/e1x2a3m4"];

const NAMESPACES: usize = 100;
/// The number of pods on a node. It is close to the kubelet's default limit of 110, as in clusters of this size.
const PODS_PER_NODE: usize = 60;

/// The values of one object. No two objects share a name, UID, owner, hash, address, digest or container id.
pub(crate) struct Identity {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The name of the controller that owns the object.
    pub(crate) owner: String,
    /// The value of the label `app` or `app.kubernetes.io/name`.
    pub(crate) app: String,
    pub(crate) team: &'static str,
    pub(crate) zone: &'static str,
    pub(crate) hash: String,
    pub(crate) uid: String,
    pub(crate) owner_uid: String,
    /// The index of the object in ten digits.
    pub(crate) resource_version: String,
    pub(crate) created: String,
    pub(crate) changed: String,
    pub(crate) node: String,
    pub(crate) host_ip: String,
    pub(crate) pod_ip: String,
    /// The values of each container, including init containers, or of each step.
    pub(crate) containers: Vec<ContainerIdentity>,
    /// Random bits for the status of a pod.
    pub(crate) dice: u8,
}

/// A container of a pod, or a step of a workflow.
pub(crate) struct Container {
    pub(crate) name: String,
    /// If true, this is an init container.
    pub(crate) initial: bool,
}

/// The values of one container.
pub(crate) struct ContainerIdentity {
    pub(crate) image: String,
    pub(crate) digest: String,
    pub(crate) id: String,
}

// === impl Identity ===

impl Identity {
    pub(crate) fn new(index: usize, seed: u64, containers: &[Container]) -> Self {
        let mut rng = Rng::with_seed(seed ^ (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let team = pick(&mut rng, &TEAMS);
        let role = pick(&mut rng, &ROLES);
        let app = format!("{team}-{role}-{}", rng.u32(1..1_000));
        let hash = letters(&mut rng, NAME_ALPHABET, 10);
        let owner = format!("{app}-{hash}");
        let node = rng.usize(..index / PODS_PER_NODE + 10);
        Self {
            namespace: format!("team-{:02}-{}", rng.usize(..NAMESPACES), pick(&mut rng, &["prod", "stage"])),
            // The index distinguishes two objects with the same random values.
            name: format!("{owner}-{}{}", letters(&mut rng, NAME_ALPHABET, 5), index),
            owner,
            app,
            team,
            zone: pick(&mut rng, &ZONES),
            hash,
            uid: uuid(&mut rng),
            owner_uid: uuid(&mut rng),
            resource_version: (LISTED_AT - 1_000_000 + index as u64).to_string(),
            created: timestamp(&mut rng),
            changed: timestamp(&mut rng),
            node: format!(
                "ip-10-{}-{}-{}.eu-central-1.compute.internal",
                node >> 16,
                node >> 8 & 255,
                node & 255
            ),
            host_ip: format!("10.{}.{}.{}", node >> 16, node >> 8 & 255, node & 255),
            pod_ip: format!("100.{}.{}.{}", 64 + (index >> 16 & 63), index >> 8 & 255, index & 255),
            containers: containers.iter().map(|_| ContainerIdentity::new(&mut rng, team, role)).collect(),
            dice: rng.u8(..),
        }
    }
}

// === impl Container ===

impl Container {
    /// A container that is no init container.
    pub(crate) fn new(name: String) -> Self {
        Self { name, initial: false }
    }
}

// === impl ContainerIdentity ===

impl ContainerIdentity {
    fn new(rng: &mut Rng, team: &str, role: &str) -> Self {
        let registry = pick(rng, &REGISTRIES);
        let (major, minor, patch) = (rng.u8(..10), rng.u8(..40), rng.u8(..20));
        Self {
            image: format!("{registry}/{team}/{role}:{major}.{minor}.{patch}"),
            digest: letters(rng, HEX, 64),
            id: letters(rng, HEX, 64),
        }
    }
}

fn pick(rng: &mut Rng, from: &[&'static str]) -> &'static str {
    from.get(rng.usize(..from.len())).copied().unwrap_or_default()
}

fn letters(rng: &mut Rng, alphabet: &[u8], length: usize) -> String {
    (0..length)
        .filter_map(|_| alphabet.get(rng.usize(..alphabet.len())))
        .map(|&byte| char::from(byte))
        .collect()
}

/// A random UUID (version 4).
fn uuid(rng: &mut Rng) -> String {
    let digits = letters(rng, HEX, 32);
    let mut text = String::with_capacity(36);
    for (index, digit) in digits.chars().enumerate() {
        match index {
            8 | 20 => text.push('-'),
            12 => {
                text.push_str("-4");
                continue;
            }
            16 => {
                text.push_str("-a");
                continue;
            }
            _ => {}
        }
        text.push(digit);
    }
    text
}

fn timestamp(rng: &mut Rng) -> String {
    let mut text = String::with_capacity(20);
    let (month, day) = (rng.u8(1..=11), rng.u8(1..=28));
    let (hour, minute, second) = (rng.u8(..24), rng.u8(..60), rng.u8(..60));
    // Writing to a string cannot fail.
    let _ = write!(text, "2026-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    text
}
