//! `[plugin.grant]`

use informer_types::{Namespaces, ReadGrant, SecretGrant, WriteGrant};

use super::Context;
use crate::config::{
    plugin::Grants,
    problem::Fault,
    raw::{Located, RawGrant, Size},
    validate::watch::Watched,
    watch::Watch,
};

/// A counter fits; and what one database file of a host is good for, which is checked as a whole at each start.
const KEYVALUE: (Size, Size) = (Size(64), Size(1 << 30));

pub(super) fn grants(raw: RawGrant, watched: &Watched, context: &mut Context<'_, '_>) -> Grants {
    // A subresource is in no cache: it is read live, and needs no watch.
    for grant in
        raw.read.iter().flat_map(|read| &read.value).filter(|grant| grant.value.subresource.is_none())
    {
        if let Some(watch) = watched.find(&grant.with(grant.value.gvr.clone()), context) {
            within(grant, watch, context);
        }
    }
    let write = raw.write.map(|write| context.distinct(write.value, WriteGrant::to_string));
    let secrets = raw.secrets.map(|secrets| context.distinct(secrets.value, SecretGrant::to_string));
    Grants {
        read: raw.read.map(|read| context.distinct(read.value, ReadGrant::to_string).into_iter().collect()),
        write: write.map(|write| write.into_iter().collect()),
        secrets: secrets.unwrap_or_default().into_iter().collect(),
        keyvalue: raw.keyvalue.map(|quota| context.within(Some(&quota), quota.value, KEYVALUE).0 as u64),
    }
}

/// A namespace that is not watched holds nothing for ever.
fn within(grant: &Located<ReadGrant>, watch: &Watch, context: &mut Context<'_, '_>) {
    let Namespaces::Only(granted) = &grant.value.namespaces else { return };
    if watch.namespaces.is_empty() {
        return;
    }
    for namespace in
        granted.iter().filter(|name| !watch.namespaces.iter().any(|watched| **watched == ***name))
    {
        let message = format!("`{}` is not watched in namespace `{namespace}`", watch.gvr);
        let remedy = format!("add \"{namespace}\" to `namespaces` of its [[watch]], or remove it here");
        context.refuse(grant, Fault::new(message, remedy));
    }
}
