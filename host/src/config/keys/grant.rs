//! `[plugin.grant]`

use informer_runtime::capabilities::HttpGrant;
use informer_types::{ReadGrant, SecretGrant, WriteGrant};

use crate::config::{
    key::{
        Key, List, Section,
        Shown::{ByDefaultAnd, Example, Written},
    },
    table::Located,
    value::Size,
};

/// `[plugin.grant]` as it is written.
#[derive(Clone, Debug, Default)]
pub(in crate::config) struct GrantKeys {
    pub(in crate::config) read: Option<Located<Vec<Located<ReadGrant>>>>,
    pub(in crate::config) write: Option<Located<Vec<Located<WriteGrant>>>>,
    pub(in crate::config) secrets: Option<Located<Vec<Located<SecretGrant>>>>,
    pub(in crate::config) keyvalue: Option<u64>,
    pub(in crate::config) http: Option<Located<Vec<Located<HttpGrant>>>>,
}

type L<V> = List<GrantKeys, V>;

/// A counter fits into the least. The database is checked as a whole at each start, so one plugin keeps at most 1 GiB.
const KEYVALUE: (Size, Size) = (Size(64), Size(1 << 30));

pub(super) static GRANT: Section<GrantKeys> = Section {
    doc: "What the plugin may reach. Everything else is denied, and a component that imports an interface without its grant \
          is refused.",
    keys: &[
        &L::<ReadGrant> {
            name: "read",
            doc: "Resources that the plugin may read from the cache, and live if there is a `write`, too. Each must be \
                  watched. Namespaces may follow an `@`. A subresource is read live only and needs no watch. The default is none.",
            shown: Written(
                "[\"apps/v1/deployments\"]",
                "[\"apps/v1/deployments @default,shop\", \"apps/v1/deployments/scale\"]",
            ),
            set: |keys, it| keys.read = Some(it),
        },
        &L::<WriteGrant> {
            name: "write",
            doc: "Requests that the host may send for the plugin, with the credentials of the host: verbs (create, update, \
                  patch, apply, delete; `*` is all of them), a resource with or without a subresource, and namespaces. An \
                  update of an object that is sent without its `uid` may create the object, so it needs `create` as well. \
                  `informer rbac` prints the roles that the host needs. [] allows live reads of what `read` lists. The default is \
                  none.",
            shown: Example(
                "[\"patch apps/v1/deployments @default\", \"update,patch apps/v1/deployments/status @default\"]",
            ),
            set: |keys, it| keys.write = Some(it),
        },
        &L::<SecretGrant> {
            name: "secrets",
            doc: "Secrets whose values the plugin may see and write: one (`shop/credentials`), those of a namespace \
                  (`shop/*`), or all (`*`). The values of other Secrets are masked.",
            shown: ByDefaultAnd(|_| "[]".to_owned(), "[\"shop/credentials\"]"),
            set: |keys, it| keys.secrets = Some(it),
        },
        &Key::<GrantKeys, Size> {
            name: "keyvalue",
            doc: "What the plugin may keep through `wasi:keyvalue`: keys, values and names of buckets together. The data \
                  belongs to the name of the plugin, and survives reloads and restarts. The default is none.",
            shown: Example("\"1MiB\""),
            bounds: Some(KEYVALUE),
            set: |keys, it| keys.keyvalue = Some(it.value.0 as u64),
        },
        &L::<HttpGrant> {
            name: "http",
            doc: "Destinations of HTTP requests (`wasi:http`): scheme, host (`*.` stands for one label), port, and a prefix \
                  of the path. Methods may stand before it. A name may resolve to a private address, but never to this \
                  machine, a link-local address or the API server. This machine is granted by its address only \
                  (\"http://127.0.0.1:8080/\"). The default is none.",
            shown: Example(
                "[\"https://hooks.example.com/services/\", \"GET,POST https://*.example.com:8443/\"]",
            ),
            set: |keys, it| keys.http = Some(it),
        },
    ],
};
