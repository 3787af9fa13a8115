//! `lister`: reads of the host's caches, within the grants.

mod pages;
mod source;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{Gvr, LabelSelector, Namespaces, Object, ObjectKey};
use wasmtime::component::HasSelf;

pub(crate) use pages::OpenLists;
pub use source::{CacheState, IndexPage, ListError, ListerQuery, ListerSource};

use super::{
    answer::{Budget, Undeclared, meta, meta_bytes, values},
    interface::{Grant, Interface},
    secret::Masks,
};
use crate::{
    bindings::informer::plugin::{
        lister::{self, Fields, FieldsPage, Host, IndexValue, JsonPage, MetaPage, Page, Selector},
        types::{self, Error, ErrorCode},
    },
    guest::Guest,
};

/// How long a list may run before it yields to other guests. The deadline of the call is checked then.
const RUN: Duration = Duration::from_millis(2);

/// The longest label selector: a hundred times what people write.
const LABELS_BYTES: usize = 16 << 10;

pub(super) const INTERFACES: &[Interface] = &[Interface {
    grant: Some(Grant {
        example: "read = [\"apps/v1/deployments\"]",
        is_given: |grants| grants.read.is_some(),
    }),
    ..Interface::ours("informer:plugin/lister", |instance| {
        lister::add_to_linker_instance::<_, HasSelf<Guest>>(instance, Guest::called)
    })
}];

/// The resource and the namespaces in which the plugin may read it.
fn readable<'g>(guest: &'g Guest, gvr: &str) -> Result<(Gvr, &'g Namespaces), Error> {
    let gvr: Gvr = gvr.parse().map_err(|problem| Error::invalid(&problem))?;
    match guest.config.grants.read.as_ref().and_then(|read| read.namespaces(&gvr)) {
        Some(namespaces) => Ok((gvr, namespaces)),
        None => Err(Error::not_granted(&gvr)),
    }
}

/// The object if it is cached, its resource, and the masks that hide what the plugin may not see of it.
fn one(guest: &Guest, gvr: &str, key: types::ObjectKey) -> Result<Option<(Arc<Object>, Gvr, Masks)>, Error> {
    let (gvr, namespaces) = readable(guest, gvr)?;
    if !namespaces.contains(&key.namespace) {
        return Err(Error::namespace_not_granted(&gvr, &key.namespace));
    }
    let object = guest.sources.lister.get(&gvr, &ObjectKey::new(key.namespace, key.name))?;
    Ok(object.map(|object| {
        let masks = Masks::new(&guest.config, &gvr);
        (object, gvr, masks)
    }))
}

/// All matching objects that the plugin may read, from one snapshot of the cache.
fn list(guest: &Guest, gvr: &Gvr, of: &Selector, granted: &Namespaces) -> Result<Vec<Arc<Object>>, Error> {
    let labels = selector(&of.labels)?;
    let index = of.index.as_ref().map(|(name, value)| (name.as_str(), value.as_str()));
    let namespace = match (of.namespace.as_deref(), granted) {
        (Some(asked), granted) if !granted.contains(asked) => {
            return Err(Error::namespace_not_granted(gvr, asked));
        }
        // A single namespace is looked up. Several are filtered from a list of all, so that they come from one snapshot.
        (None, Namespaces::Only(names)) if names.len() == 1 => names.first().map(|only| &**only),
        (asked, _) => asked,
    };
    if index.is_some() {
        may_look_up(guest, gvr, namespace)?;
    }
    let mut objects = guest.sources.lister.list(gvr, &ListerQuery { namespace, labels: &labels, index })?;
    if namespace.is_none() && *granted != Namespaces::All {
        objects.retain(|object| granted.contains(object.namespace()));
    }
    Ok(objects)
}

/// Checks that the plugin may look values up in an index. An index may cover a value of a Secret: a plugin could guess it.
fn may_look_up(guest: &Guest, gvr: &Gvr, namespace: Option<&str>) -> Result<(), Error> {
    if gvr.is_secrets() && !guest.config.grants.secrets.contain_all(namespace) {
        let message = "listing Secrets by an index needs all Secrets, or all Secrets of the namespace, in \
                       `secrets` under [plugin.grant]";
        return Err(Error::new(ErrorCode::NotGranted, message));
    }
    Ok(())
}

/// A page of the values of an index.
fn values_of(
    guest: &Guest,
    gvr: &str,
    (index, namespace): (&str, Option<&str>),
    (after, limit): (Option<&str>, u32),
) -> Result<Vec<(String, usize)>, Error> {
    let (gvr, granted) = readable(guest, gvr)?;
    let only = match namespace {
        Some(asked) if !granted.contains(asked) => return Err(Error::namespace_not_granted(&gvr, asked)),
        Some(asked) => Some(Namespaces::Only([asked.into()].into())),
        None => None,
    };
    may_look_up(guest, &gvr, namespace)?;
    let namespaces = only.as_ref().unwrap_or(granted);
    let page = IndexPage { index, namespaces, after, limit: pages::limit(limit) };
    Ok(guest.sources.lister.index_values(&gvr, &page)?)
}

/// One page, with each object converted by `item`. The page ends early if the next object would exceed the limit of
/// one answer.
async fn page<T>(
    guest: &mut Guest,
    gvr: &str,
    of: Selector,
    part: &Page,
    mut item: impl FnMut(&Object, &Masks, &mut Budget) -> Result<T, Error>,
) -> Result<(Vec<T>, Option<String>), Error> {
    let (gvr, granted) = readable(guest, gvr)?;
    let masks = Masks::new(&guest.config, &gvr);
    let cursor = match &part.token {
        Some(token) => guest.call.lists.resume(token, &gvr, &of, part)?,
        None => {
            let objects = list(guest, &gvr, &of, granted)?;
            guest.call.lists.open(gvr, of, part, objects)
        }
    };
    let mut budget = Budget::new(guest.config.limits.response_bytes);
    let (mut items, mut bytes) = (Vec::with_capacity(cursor.objects().len()), 0);
    let mut running_since = Instant::now();
    for object in cursor.objects() {
        match item(object, &masks, &mut budget) {
            Ok(item) => {
                items.push(item);
                // The budget also counts an object that does not fit.
                bytes = budget.used();
            }
            Err(error) if error.code == ErrorCode::TooLarge && !items.is_empty() => break,
            Err(error) => return Err(error),
        }
        if running_since.elapsed() >= RUN {
            tokio::task::yield_now().await;
            running_since = Instant::now();
        }
    }
    let next = guest.call.lists.advance(cursor, items.len());
    guest.receives(bytes);
    Ok((items, next))
}

fn selector(text: &str) -> Result<LabelSelector, Error> {
    if text.len() > LABELS_BYTES {
        let bytes = text.len();
        return Err(Error::invalid(&format!(
            "a label selector has at most 16 KiB, and this one has {bytes} bytes"
        )));
    }
    let selector: LabelSelector = text.parse().map_err(|problem| Error::invalid(&problem))?;
    if selector.requirements() > LabelSelector::UNTRUSTED_REQUIREMENTS {
        return Err(Error::invalid(&format!(
            "a label selector has at most {} requirements, and this one has {}",
            LabelSelector::UNTRUSTED_REQUIREMENTS,
            selector.requirements()
        )));
    }
    Ok(selector)
}

impl Host for Guest {
    fn get(&mut self, gvr: String, key: types::ObjectKey) -> Result<Option<String>, Error> {
        let Some((object, _, masks)) = one(self, &gvr, key)? else { return Ok(None) };
        let json = masks.seen(&object)?.into_text();
        Budget::new(self.config.limits.response_bytes).spend(json.len())?;
        self.receives(json.len());
        Ok(Some(json))
    }

    fn get_fields(
        &mut self,
        gvr: String,
        key: types::ObjectKey,
        wanted: Vec<String>,
    ) -> Result<Option<Vec<Option<String>>>, Error> {
        let parts = self.query.parts(wanted)?;
        let Some((object, gvr, masks)) = one(self, &gvr, key)? else { return Ok(None) };
        if let Some(undeclared) = Undeclared::of(&self.config, &gvr, &parts) {
            undeclared.check(&object)?;
        }
        let mut budget = Budget::new(self.config.limits.response_bytes);
        let values = values(&masks.seen(&object)?, &parts, &mut budget)?;
        self.receives(budget.used());
        Ok(Some(values))
    }

    async fn list_meta(&mut self, gvr: String, of: Selector, part: Page) -> Result<MetaPage, Error> {
        let (items, next) = page(self, &gvr, of, &part, |object, _, budget| {
            let meta = meta(object);
            budget.spend(meta_bytes(&meta))?;
            Ok(meta)
        })
        .await?;
        Ok(MetaPage { items, next })
    }

    async fn list_fields(
        &mut self,
        gvr: String,
        of: Selector,
        wanted: Vec<String>,
        part: Page,
    ) -> Result<FieldsPage, Error> {
        let parts = self.query.parts(wanted)?;
        let undeclared = Undeclared::of(&self.config, &readable(self, &gvr)?.0, &parts);
        let (items, next) = page(self, &gvr, of, &part, |object, masks, budget| {
            undeclared.as_ref().map_or(Ok(()), |undeclared| undeclared.check(object))?;
            let key =
                types::ObjectKey { namespace: object.namespace().to_owned(), name: object.name().to_owned() };
            budget.spend(key.namespace.len() + key.name.len())?;
            Ok(Fields { key, values: values(&masks.seen(object)?, &parts, budget)? })
        })
        .await?;
        Ok(FieldsPage { items, next })
    }

    async fn list_json(&mut self, gvr: String, of: Selector, part: Page) -> Result<JsonPage, Error> {
        let (items, next) = page(self, &gvr, of, &part, |object, masks, budget| {
            let json = masks.seen(object)?.into_text();
            budget.spend(json.len())?;
            Ok(json)
        })
        .await?;
        Ok(JsonPage { items, next })
    }

    fn index_values(
        &mut self,
        gvr: String,
        index: String,
        namespace: Option<String>,
        after: Option<String>,
        limit: u32,
    ) -> Result<Vec<IndexValue>, Error> {
        let found = values_of(self, &gvr, (&index, namespace.as_deref()), (after.as_deref(), limit))?;
        let mut budget = Budget::new(self.config.limits.response_bytes);
        let (mut page, mut bytes) = (Vec::with_capacity(found.len()), 0);
        for (value, objects) in found {
            match budget.spend(value.len() + size_of::<IndexValue>()) {
                Ok(()) => {
                    bytes = budget.used();
                    page.push(IndexValue { value, objects: u32::try_from(objects).unwrap_or(u32::MAX) });
                }
                Err(_) if !page.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        self.receives(bytes);
        Ok(page)
    }

    fn state(&mut self, gvr: String) -> Result<lister::CacheState, Error> {
        let (gvr, _) = readable(self, &gvr)?;
        let CacheState { synced, resource_version, age } = self.sources.lister.state(&gvr)?;
        let age_ms = age.map(|age| u32::try_from(age.as_millis()).unwrap_or(u32::MAX));
        Ok(lister::CacheState { synced, resource_version, age_ms })
    }

    async fn wait_until(
        &mut self,
        gvr: String,
        namespace: Option<String>,
        resource_version: String,
        millis: u32,
    ) -> Result<bool, Error> {
        let (gvr, granted) = readable(self, &gvr)?;
        if let Some(asked) = namespace.as_deref().filter(|asked| !granted.contains(asked)) {
            return Err(Error::namespace_not_granted(&gvr, asked));
        }
        let within = Duration::from_millis(millis.into()).min(self.call.clock.left());
        let reached = self.sources.lister.wait_until(&gvr, namespace.as_deref(), &resource_version);
        match tokio::time::timeout(within, reached).await {
            Ok(reached) => Ok(reached.map(|()| true)?),
            Err(_) => Ok(false),
        }
    }

    fn has_synced(&mut self, gvr: String) -> Result<bool, Error> {
        let (gvr, _) = readable(self, &gvr)?;
        Ok(self.sources.lister.has_synced(&gvr)?)
    }
}
