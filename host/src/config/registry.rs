//! `[[registry]]`, `[[signer]]` and `[[verify]]`: how registries are reached, and what is accepted from them.

use std::{path::PathBuf, sync::LazyLock};

use informer_registry::{Policy, RegistrySettings, Settings, Signer, SignerKind};
use informer_types::Pattern;

use super::{
    context::Context,
    key::{Draft, Key, Section},
    nearest::nearest,
    problem::{Fault, Located, Problems},
    value::Name,
};

/// `[[signer]]` as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct SignerKeys {
    name: String,
    public_key: Option<PathBuf>,
    transparency_log: bool,
    issuer: Option<String>,
    subject: Option<Pattern>,
    trust_root: Option<PathBuf>,
}

/// `[[verify]]` as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct VerifyKeys {
    repository: Option<Pattern>,
    all_of: Vec<String>,
    any_of: Vec<String>,
    pinned: bool,
    refuse: bool,
}

type R<V> = Key<RegistrySettings, V>;
type S<V> = Key<SignerKeys, V>;
type P<V> = Key<VerifyKeys, V>;

pub(super) static REGISTRY: LazyLock<Section<RegistrySettings>> = LazyLock::new(|| {
    Section {
    doc: "Settings for one registry. A registry without a table is reached by https. The host then trusts the \
          system's certificate authorities and logs in with docker's credentials. $HTTPS_PROXY and $NO_PROXY select the proxy.",
    keys: vec![
        R::<String>::new("host", |registry| &mut registry.host)
            .required("\"ghcr.io\"")
            .check(host_fault)
            .doc("The host, and the port if there is one, as `source` writes it."),
        R::<PathBuf>::new("credentials", |registry| &mut registry.credentials)
            .example("\"/run/secrets/registry/.dockerconfigjson\"")
            .doc(
                "A file with credentials in the form of docker's config.json, as a mounted Secret of the type \
                 kubernetes.io/dockerconfigjson is. It is read again when it is needed. Default: \
                 $DOCKER_CONFIG/config.json or ~/.docker/config.json, with the credential helpers that it names.",
            ),
        R::<PathBuf>::new("ca", |registry| &mut registry.ca).example("\"/etc/informer/registry-ca.pem\"").doc(
            "A PEM file of certificate authorities to trust for this registry, besides those of the system.",
        ),
        R::<bool>::new("insecure", |registry| &mut registry.insecure).doc(
            "Use plain http for this registry. Others on the network can then read credentials, and replace \
             components that are named by a tag only.",
        ),
    ],
}
});

pub(super) static SIGNER: LazyLock<Section<SignerKeys>> = LazyLock::new(|| {
    Section {
    doc: "A person or a program that signs components with cosign: by a key (`public-key`), or by an identity (`issuer` and \
          `subject`). [[verify]] names it.",
    keys: vec![
        S::<Name>::new("name", |signer| &mut signer.name).required("\"acme\"").doc("The name for [[verify]]."),
        S::<PathBuf>::new("public-key", |signer| &mut signer.public_key).written("\"acme.pub\"").doc(
            "A PEM file with the public key of the signer. It is read at each verification.",
        ),
        S::<bool>::new("transparency-log", |signer| &mut signer.transparency_log).doc(
            "With `public-key`: the signatures must also be in the transparency log of the trust root. \
             Signatures by an identity must always be there.",
        ),
        S::<String>::new("issuer", |signer| &mut signer.issuer)
            .example("\"https://token.actions.githubusercontent.com\"\nsubject = \"https://github.com/acme/*\"")
            .doc("The service that confirms the identity (the OIDC issuer)."),
        S::<Pattern>::new("subject", |signer| &mut signer.subject)
            .example("\"ann@example.com\"\nissuer = \"https://accounts.google.com\"")
            .doc(
            "The identity: an e-mail address or the URL of a workflow. `*` stands for any characters: write \
             \"https://github.com/acme/*\" with the last `/`, or other owners fit too.",
        ),
        S::<PathBuf>::new("trust-root", |signer| &mut signer.trust_root)
            .example("\"trusted_root.json\"\npublic-key = \"acme.pub\"\ntransparency-log = true")
            .doc(
            "A file in the form of sigstore's trusted_root.json, for an instance of your own. Default: the root of the \
             public instance as it was when this host was built.",
        ),
    ],
}
});

pub(super) static VERIFY: LazyLock<Section<VerifyKeys>> = LazyLock::new(|| Section {
    doc: "Requirements for components from some repositories. The first [[verify]] that matches a repository \
          applies, and no other. A component that does not satisfy it is not loaded; a version in service \
          stays. If no [[verify]] matches, a component is accepted without a signature.",
    keys: vec![
        P::<Pattern>::new("repository", |policy| &mut policy.repository)
            .required("\"ghcr.io/acme/*\"")
            .check(repository_fault)
            .doc(
                "The repositories, with their hosts and without tags. `*` stands for any characters; \"*\" \
                 matches all.",
            ),
        P::<Vec<Name>>::new("all-of", |policy| &mut policy.all_of)
            .distinct()
            .written("[\"acme\"]")
            .doc("The names of [[signer]]s that must all have signed."),
        P::<Vec<Name>>::new("any-of", |policy| &mut policy.any_of)
            .distinct()
            .example("[\"acme\", \"release\"]")
            .doc("The names of [[signer]]s of which at least one must have signed."),
        P::<bool>::new("pinned", |policy| &mut policy.pinned).doc(
            "Accept only components whose digest is in `source`, in `digest` or in informer.lock (`informer \
             plugin lock`).",
        ),
        P::<bool>::new("refuse", |policy| &mut policy.refuse).doc(
            "Accept nothing from these repositories. With repository = \"*\" in the last [[verify]], only \
             the repositories of the tables above it are accepted.",
        ),
    ],
});

/// Judges the three sections. What is wrong is noted.
pub(super) fn settings(
    registries: Vec<Draft<RegistrySettings>>,
    signers: Vec<Draft<SignerKeys>>,
    policies: Vec<Draft<VerifyKeys>>,
    context: &mut Context<'_, '_>,
) -> Settings {
    each_once(&registries, &mut context.problems);
    let registries = registries.into_iter().map(|draft| {
        let mut path = |key, path: &Option<PathBuf>| context.path(path.as_ref()?, draft.written(key)?);
        let (ca, credentials) = (path("ca", &draft.value.ca), path("credentials", &draft.value.credentials));
        if let Some(place) = draft.written("ca").filter(|_| draft.value.insecure) {
            let fault = Fault::new("it has no meaning without TLS", "remove it, or remove `insecure`");
            context.problems.refuse(place, fault);
        }
        RegistrySettings { ca, credentials, ..draft.value }
    });
    let registries = registries.collect();
    let names =
        signers.iter().filter_map(|draft| Some(draft.written("name")?.with(draft.value.name.clone())));
    once(names.collect(), &mut context.problems);
    let signers: Vec<Signer> = signers.into_iter().filter_map(|draft| signer(&draft, context)).collect();
    let policies = policies.into_iter().filter_map(|draft| policy(&draft, &signers, &mut context.problems));
    Settings { registries, policies: policies.collect() }
}

fn host_fault(host: &String) -> Option<Fault> {
    let (name, port) = host.rsplit_once(':').unwrap_or((host, "443"));
    let is_name = name.chars().all(|character| character.is_ascii_alphanumeric() || ".-".contains(character));
    if is_name && !name.is_empty() && port.parse::<u16>().is_ok() {
        return None;
    }
    let remedy =
        "write a host like \"ghcr.io\" or \"registry.local:5000\", without https:// and without a path";
    Some(Fault::new(format!("`{host}` is not a host"), remedy))
}

/// A pattern that fits no repository would accept each of them unsigned.
fn repository_fault(pattern: &Pattern) -> Option<Fault> {
    let is_upper = pattern.as_str().chars().any(|character| character.is_ascii_uppercase());
    let message = || format!("`{pattern}` has upper-case letters, and the names of repositories have none");
    is_upper.then(|| Fault::new(message(), "write it in lower case"))
}

/// Refuses each table for a registry that an earlier table describes.
fn each_once(registries: &[Draft<RegistrySettings>], problems: &mut Problems<'_>) {
    let mut seen: Vec<Located<&RegistrySettings>> = Vec::new();
    for draft in registries {
        let Some(place) = draft.written("host") else { continue };
        let registry = &draft.value;
        let is_same =
            |earlier: &RegistrySettings| earlier.is_at(&registry.host) || registry.is_at(&earlier.host);
        if let Some(earlier) = seen.iter().find(|earlier| is_same(earlier.value)) {
            refuse_second(place, (earlier.at, &earlier.value.host), ("registry", "remove one"), problems);
        }
        seen.push(place.with(registry));
    }
}

/// Refuses each name of a signer that an earlier signer has.
fn once(names: Vec<Located<String>>, problems: &mut Problems<'_>) {
    let mut seen: Vec<Located<String>> = Vec::new();
    for name in names {
        if let Some(earlier) = seen.iter().find(|earlier| earlier.value == name.value) {
            let signer = ("signer", "remove one, or name it differently");
            refuse_second(&name, (earlier.at, &earlier.value), signer, problems);
        }
        seen.push(name);
    }
}

fn refuse_second<T>(
    second: &Located<T>,
    (at, name): (usize, &str),
    (what, remedy): (&str, &str),
    problems: &mut Problems<'_>,
) {
    let line = problems.line(at, second.at);
    let message = format!("a {what} {line} is named `{name}` already");
    problems.refuse(second, Fault::new(message, remedy));
}

fn signer(draft: &Draft<SignerKeys>, context: &mut Context<'_, '_>) -> Option<Signer> {
    let place = draft.written("name").map(|place| place.with(())).or_else(|| draft.place.clone())?;
    let keys = &draft.value;
    let mut path = |key, path: &Option<PathBuf>| context.path(path.as_ref()?, draft.written(key)?);
    let (public_key, trust_root) =
        (path("public-key", &keys.public_key), path("trust-root", &keys.trust_root));
    let kind = match (public_key, &keys.issuer, &keys.subject) {
        (Some(file), None, None) => {
            SignerKind::PublicKey { file, transparency_log: keys.transparency_log, trust_root }
        }
        (None, Some(issuer), Some(subject)) => {
            SignerKind::Identity { issuer: issuer.clone(), subject: subject.clone(), trust_root }
        }
        _ if ["public-key", "issuer", "subject"].iter().any(|key| draft.is_refused(key)) => return None,
        _ => {
            let remedy = "write `public-key`, or `issuer` and `subject`";
            let fault =
                Fault::new("it is recognised neither by a key alone nor by an identity alone", remedy);
            context.problems.refuse(&place, fault);
            return None;
        }
    };
    Some(Signer { name: keys.name.clone(), kind })
}

fn policy(draft: &Draft<VerifyKeys>, signers: &[Signer], problems: &mut Problems<'_>) -> Option<Policy> {
    let keys = &draft.value;
    let place = draft.written("repository").map(|place| place.with(())).or_else(|| draft.place.clone())?;
    let mut named = |key: &str, names: &[String]| -> Vec<Signer> {
        let places = draft.items(key);
        let found = names.iter().zip(places).filter_map(|(name, place)| {
            let found = signers.iter().find(|signer| signer.name == *name).cloned();
            if found.is_none() {
                let remedy = match nearest(name, signers.iter().map(|signer| signer.name.as_str())) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("add [[signer]] with name = \"{name}\""),
                };
                problems.refuse(place, Fault::new(format!("there is no valid signer `{name}`"), remedy));
            }
            found
        });
        found.collect()
    };
    let (all_of, any_of) = (named("all-of", &keys.all_of), named("any-of", &keys.any_of));
    let signs = !keys.all_of.is_empty() || !keys.any_of.is_empty();
    let refused = ["all-of", "any-of", "pinned", "refuse"].iter().any(|key| draft.is_refused(key));
    if !signs && !keys.pinned && !keys.refuse && !refused {
        let remedy = "write `all-of`, `any-of`, `pinned` or `refuse`";
        problems.refuse(&place, Fault::new("it requires nothing", remedy));
    }
    if keys.refuse && (signs || keys.pinned) {
        let remedy = "remove it, or the other keys";
        problems
            .refuse(&place, Fault::new("`refuse` accepts nothing, whatever the other keys require", remedy));
    }
    let repository = keys.repository.clone()?;
    Some(Policy { repository, refuse: keys.refuse, pinned: keys.pinned, all_of, any_of })
}
