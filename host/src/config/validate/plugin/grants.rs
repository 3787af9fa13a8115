//! `[plugin.grant]`

use informer_runtime::{Grants, capabilities::HttpGrant};
use informer_types::{Namespaces, ReadGrant, SecretGrant, WriteGrant};

use crate::config::{
    context::Context,
    keys::GrantKeys,
    table::Located,
    validate::watch::{Watched, outside},
};

pub(super) fn grants(keys: GrantKeys, watched: &Watched, context: &mut Context<'_, '_>) -> Grants {
    let read = keys.read.map(|read| {
        let written = context.distinct(read.value.clone(), ReadGrant::to_string);
        for grant in &read.value {
            judge(grant, watched, context);
        }
        written.into_iter().map(|grant| narrowed(grant, watched)).collect()
    });
    let write = keys.write.map(|write| context.distinct(write.value, WriteGrant::to_string));
    let secrets = keys.secrets.map(|secrets| context.distinct(secrets.value, SecretGrant::to_string));
    Grants {
        read,
        write: write.map(|write| write.into_iter().collect()),
        secrets: secrets.unwrap_or_default().into_iter().collect(),
        keyvalue: keys.keyvalue,
        http: keys.http.map(|http| context.distinct(http.value, HttpGrant::to_string)),
    }
}

/// A resource that a plugin reads must be watched in each of the namespaces. A subresource is in no cache: it is read live
/// and needs no watch.
fn judge(grant: &Located<ReadGrant>, watched: &Watched, context: &mut Context<'_, '_>) {
    if grant.value.subresource.is_some() {
        return;
    }
    let Some(watch) = watched.find(&grant.with(grant.value.gvr.clone()), context) else { return };
    let Namespaces::Only(granted) = &grant.value.namespaces else { return };
    for fault in granted.iter().filter_map(|namespace| outside(watch, namespace)) {
        context.refuse(grant, fault);
    }
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
