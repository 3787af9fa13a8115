//! `lister`: the host's caches, within the grants.

mod pages;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{Gvr, LabelSelector, Object, ObjectKey};

pub(crate) use pages::OpenLists;

use super::{
    ListerQuery, ListerSource,
    answer::{Budget, values},
    meta,
};
use crate::{
    bindings::informer::plugin::{
        lister::{Fields, FieldsPage, Host, JsonPage, MetaPage, Page, Selector},
        types::{self, Error, ErrorCode},
    },
    guest::Guest,
};

/// A list that takes longer lets others run in between; the deadline is checked then.
const RUN: Duration = Duration::from_millis(2);

impl Guest {
    /// The resource, if the plugin may read it.
    fn readable(&self, gvr: &str) -> Result<Gvr, Error> {
        let gvr: Gvr = gvr.parse().map_err(|problem| Error::invalid(&problem))?;
        let granted = self.config.grants.read.as_ref().is_some_and(|read| read.namespaces(&gvr).is_some());
        if granted { Ok(gvr) } else { Err(Error::not_granted(&gvr)) }
    }

    /// One page: each object turned into what the guest asked for. The page ends early where the next object would
    /// exceed the limit of one answer.
    async fn page<T>(
        &mut self,
        gvr: &str,
        of: Selector,
        part: &Page,
        mut item: impl FnMut(&Object, &mut Budget) -> Result<T, Error>,
    ) -> Result<(Vec<T>, Option<String>), Error> {
        let gvr = self.readable(gvr)?;
        let cursor = self.call.lists.open(gvr, of, part, |gvr, of| list(&*self.sources.lister, gvr, of))?;
        let mut budget = Budget::new(self.config.limits.response_bytes);
        let mut items = Vec::new();
        let mut running_since = Instant::now();
        for object in cursor.objects() {
            match item(object, &mut budget) {
                Ok(item) => items.push(item),
                Err(error) if error.code == ErrorCode::TooLarge && !items.is_empty() => break,
                Err(error) => return Err(error),
            }
            if running_since.elapsed() >= RUN {
                tokio::task::yield_now().await;
                running_since = Instant::now();
            }
        }
        let next = self.call.lists.advance(cursor, items.len());
        Ok((items, next))
    }
}

impl types::Host for Guest {}

impl Host for Guest {
    fn get(&mut self, gvr: String, key: types::ObjectKey) -> Result<Option<String>, Error> {
        let gvr = self.readable(&gvr)?;
        let Some(object) = self.sources.lister.get(&gvr, &ObjectKey::new(key.namespace, key.name))? else {
            return Ok(None);
        };
        let json = object.json()?;
        Budget::new(self.config.limits.response_bytes).spend(json.len())?;
        Ok(Some(json.into_string()))
    }

    fn get_fields(
        &mut self,
        gvr: String,
        key: types::ObjectKey,
        wanted: Vec<String>,
    ) -> Result<Option<Vec<Option<String>>>, Error> {
        let gvr = self.readable(&gvr)?;
        let pointers = self.question.pointers(wanted)?;
        let Some(object) = self.sources.lister.get(&gvr, &ObjectKey::new(key.namespace, key.name))? else {
            return Ok(None);
        };
        values(&object.json()?, &pointers, &mut Budget::new(self.config.limits.response_bytes)).map(Some)
    }

    async fn list_meta(&mut self, gvr: String, of: Selector, part: Page) -> Result<MetaPage, Error> {
        let (items, next) = self
            .page(&gvr, of, &part, |object, budget| {
                let meta = meta::of(object);
                budget.spend(meta::bytes(&meta))?;
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
        let pointers = self.question.pointers(wanted)?;
        let (items, next) = self
            .page(&gvr, of, &part, |object, budget| {
                let key = types::ObjectKey {
                    namespace: object.namespace().to_owned(),
                    name: object.name().to_owned(),
                };
                budget.spend(key.namespace.len() + key.name.len())?;
                Ok(Fields { key, values: values(&object.json()?, &pointers, budget)? })
            })
            .await?;
        Ok(FieldsPage { items, next })
    }

    async fn list_json(&mut self, gvr: String, of: Selector, part: Page) -> Result<JsonPage, Error> {
        let (items, next) = self
            .page(&gvr, of, &part, |object, budget| {
                let json = object.json()?;
                budget.spend(json.len())?;
                Ok(json.into_string())
            })
            .await?;
        Ok(JsonPage { items, next })
    }

    async fn wait_until(
        &mut self,
        gvr: String,
        namespace: Option<String>,
        resource_version: String,
        millis: u32,
    ) -> Result<bool, Error> {
        let gvr = self.readable(&gvr)?;
        let left = self.call.deadline.saturating_duration_since(Instant::now());
        let within = Duration::from_millis(millis.into()).min(left);
        let reached = self.sources.lister.wait_until(&gvr, namespace.as_deref(), &resource_version);
        match tokio::time::timeout(within, reached).await {
            Ok(reached) => Ok(reached.map(|()| true)?),
            Err(_) => Ok(false),
        }
    }

    fn has_synced(&mut self, gvr: String) -> Result<bool, Error> {
        let gvr = self.readable(&gvr)?;
        Ok(self.sources.lister.has_synced(&gvr)?)
    }
}

/// All matching objects, in one state of the cache.
fn list(lister: &dyn ListerSource, gvr: &Gvr, of: &Selector) -> Result<Vec<Arc<Object>>, Error> {
    let labels: LabelSelector = of.labels.parse().map_err(|problem| Error::invalid(&problem))?;
    let index = of.index.as_ref().map(|(name, value)| (name.as_str(), value.as_str()));
    Ok(lister.list(gvr, &ListerQuery { namespace: of.namespace.as_deref(), labels: &labels, index })?)
}
