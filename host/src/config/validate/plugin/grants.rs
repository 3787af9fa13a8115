//! `[plugin.grant]`

use informer_runtime::capabilities::HttpGrant;
use informer_types::{Namespaces, ReadGrant, SecretGrant, WriteGrant};

use super::Context;
use crate::config::{
    plugin::Grants,
    raw::{Located, RawGrant, Size},
    validate::watch::{Watched, outside},
};

/// A counter fits; and what one database file of a host is good for, which is checked as a whole at each start.
const KEYVALUE: (Size, Size) = (Size(64), Size(1 << 30));

pub(super) fn grants(raw: RawGrant, watched: &Watched, context: &mut Context<'_, '_>) -> Grants {
    let read = raw.read.map(|read| {
        let written = context.distinct(read.value.clone(), ReadGrant::to_string);
        for grant in &read.value {
            judge(grant, watched, context);
        }
        written.into_iter().map(|grant| narrowed(grant, watched)).collect()
    });
    let write = raw.write.map(|write| context.distinct(write.value, WriteGrant::to_string));
    let secrets = raw.secrets.map(|secrets| context.distinct(secrets.value, SecretGrant::to_string));
    Grants {
        read,
        write: write.map(|write| write.into_iter().collect()),
        secrets: secrets.unwrap_or_default().into_iter().collect(),
        keyvalue: raw.keyvalue.map(|quota| context.within(Some(&quota), quota.value, KEYVALUE).0 as u64),
        http: raw.http.map(|http| context.distinct(http.value, HttpGrant::to_string)),
    }
}

/// What is read must be watched, and a namespace that is not watched holds nothing for ever. A subresource is in no
/// cache: it is read live, and needs no watch.
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

/// Whoever may read what is watched may not read live what is not.
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
