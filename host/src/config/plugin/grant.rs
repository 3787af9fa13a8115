//! `[plugin.grant]`

use std::sync::LazyLock;

use informer_runtime::{Grants, capabilities::HttpGrant};
use informer_types::{Namespaces, ReadGrant, SecretGrant, WriteGrant, WriteGrants};

use crate::config::{
    key::{Draft, Key, Section},
    problem::Problems,
    value::Size,
    watched::Watched,
};

/// `[plugin.grant]` as it is written.
#[derive(Clone, Debug, Default)]
pub(in crate::config) struct GrantKeys {
    read: Option<Vec<ReadGrant>>,
    /// Everything but `read`.
    grants: Grants,
}

type K<V> = Key<GrantKeys, V>;

/// The least holds one counter. The host checks the whole database at each start, so one plugin keeps at most 1 GiB.
const KEYVALUE: (Size, Size) = (Size(64), Size(1 << 30));

pub(super) static GRANT: LazyLock<Section<GrantKeys>> = LazyLock::new(|| {
    Section {
    doc: "What the plugin may reach. Everything else is denied, and a component that imports an interface \
          without its grant is refused.",
    keys: vec![
        K::<Vec<ReadGrant>>::new("read", |keys| &mut keys.read)
            .distinct()
            .written("[\"apps/v1/deployments\"]")
            .also("[\"apps/v1/deployments @default,shop\", \"apps/v1/deployments/scale\"]")
            .doc(
                "Resources that the plugin may read from the cache and, if there is a `write`, also live \
                 from the API server. Each must be watched. Namespaces may follow an `@`. A subresource is \
                 read live only and needs no watch. The default is none.",
            ),
        K::<Vec<WriteGrant>>::new("write", |keys| &mut keys.grants.write)
            .distinct()
            .example(
                "[\"patch apps/v1/deployments @default\", \
                 \"update,patch apps/v1/deployments/status @default\"]",
            )
            .doc(
                "Requests that the host may send for the plugin, with the credentials of the host: verbs \
                 (create, update, patch, apply, delete; `*` is all of them), a resource with or without a \
                 subresource, and namespaces. An update of an object that is sent without its `uid` may \
                 create the object, so it needs `create` as well. `informer rbac` prints the roles that \
                 the host needs. [] allows live reads of what `read` lists. The default is none.",
            ),
        K::<Vec<SecretGrant>>::new("secrets", |keys| &mut keys.grants.secrets)
            .distinct()
            .also("[\"shop/credentials\", \"digest *\"]")
            .doc(
                "Secrets whose values the plugin may see and write: one (`shop/credentials`), those of a \
                 namespace (`shop/*`), or all (`*`). With `digest ` before it, \
                 the plugin may read digests of their `data` (see `reads`) and no value; a digest shows whether a guess is right. \
                 Values and annotations of other Secrets are masked.",
            ),
        K::<Size>::new("keyvalue", |keys| &mut keys.grants.keyvalue)
            .within(KEYVALUE)
            .example("\"1MiB\"")
            .doc(
                "The quota for `wasi:keyvalue`: the size of all keys, values and names of buckets together. \
                 The data belongs to the name of the plugin, and survives reloads and restarts. The default \
                 is none.",
            ),
        K::<Vec<HttpGrant>>::new("http", |keys| &mut keys.grants.http)
            .distinct()
            .example("[\"https://hooks.example.com/services/\", \"GET,POST https://*.example.com:8443/\"]")
            .doc(
                "Destinations of HTTP requests (`wasi:http`): scheme, host (`*.` stands for one label), \
                 port, and a prefix of the path. Methods may stand before it. A name may resolve to a \
                 private address, but never to an address of this machine on any interface, a link-local \
                 address or the API server. This machine is granted by its address only \
                 (\"http://127.0.0.1:8080/\"). The default is none.",
            ),
    ],
}
});

/// Judges the keys that depend on the watches.
pub(super) fn grants(draft: Draft<GrantKeys>, watched: &Watched, problems: &mut Problems<'_>) -> Grants {
    // A subresource is in no cache: it is read live and needs no watch.
    let written = draft.value.read.iter().flatten().zip(draft.items("read"));
    for (grant, place) in written.filter(|(grant, _)| grant.subresource.is_none()) {
        let watch = watched.find(&place.with(grant.gvr.clone()), problems);
        if let (Some(watch), Namespaces::Only(granted)) = (watch, &grant.namespaces) {
            for fault in granted.iter().filter_map(|namespace| watch.outside(namespace)) {
                problems.refuse(place, fault);
            }
        }
    }
    // A pattern grants what its watch follows, and nothing else.
    let written = draft.value.grants.write.iter().flat_map(WriteGrants::iter).zip(draft.items("write"));
    for (grant, place) in written.filter(|(grant, _)| grant.gvr.is_pattern()) {
        watched.find(&place.with(grant.gvr.clone()), problems);
    }
    let read = draft.value.read.map(|read| read.into_iter().map(|grant| narrowed(grant, watched)).collect());
    Grants { read, ..draft.value.grants }
}

/// A grant on all namespaces covers the namespaces that are watched: live reads reach no further than the cache.
fn narrowed(grant: ReadGrant, watched: &Watched) -> ReadGrant {
    let watch = watched.watches.iter().find(|watch| watch.gvr == grant.gvr);
    match watch {
        Some(watch) if grant.namespaces == Namespaces::All && !watch.namespaces.is_empty() => {
            let namespaces = watch.namespaces.iter().map(|name| name.as_str().into()).collect();
            ReadGrant { namespaces: Namespaces::Only(namespaces), ..grant }
        }
        _ => grant,
    }
}
