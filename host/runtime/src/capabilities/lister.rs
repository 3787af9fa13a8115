//! `lister`: the host's caches, within the grants.

mod pages;

use informer_types::{Gvr, LabelSelector, Object, ObjectKey};

pub(crate) use pages::OpenLists;

use super::{
    ListerQuery,
    answer::{Budget, pointers, values},
    meta,
};
use crate::{
    bindings::informer::plugin::{
        lister::{Fields, FieldsPage, Host, JsonPage, MetaPage, Page, Selector},
        types::{self, Error},
    },
    guest::Guest,
};

impl types::Host for Guest {}

impl Guest {
    /// The resource, if the plugin may read it.
    fn readable(&self, gvr: &str) -> Result<Gvr, Error> {
        let gvr: Gvr = gvr.parse().map_err(|problem| Error::invalid(&problem))?;
        let granted = self.grants.read.as_ref().is_some_and(|read| read.contains(&gvr));
        if granted { Ok(gvr) } else { Err(Error::not_granted(&gvr)) }
    }

    /// One page, each object turned into what the guest asked for within the limit of one answer.
    fn page<T>(
        &mut self,
        gvr: &str,
        of: &Selector,
        part: &Page,
        mut item: impl FnMut(&Object, &mut Budget) -> Result<T, Error>,
    ) -> Result<(Vec<T>, Option<String>), Error> {
        let gvr = self.readable(gvr)?;
        let labels: LabelSelector = of.labels.parse().map_err(|problem| Error::invalid(&problem))?;
        let Self { lister, call, limits, .. } = self;
        let list = || {
            let index = of.index.as_ref().map(|(name, value)| (name.as_str(), value.as_str()));
            let namespace = of.namespace.as_deref();
            Ok(lister.list(&gvr, &ListerQuery { namespace, labels: &labels, index })?)
        };
        let slice = call.lists.page(part, list)?;
        let mut budget = Budget::new(limits.response_bytes);
        let items: Result<Vec<T>, Error> =
            slice.objects.iter().map(|object| item(object, &mut budget)).collect();
        Ok((items?, slice.next))
    }
}

impl Host for Guest {
    fn get(&mut self, gvr: String, key: types::ObjectKey) -> Result<Option<String>, Error> {
        let gvr = self.readable(&gvr)?;
        let Some(object) = self.lister.get(&gvr, &ObjectKey::new(key.namespace, key.name))? else {
            return Ok(None);
        };
        let json = object.json()?;
        Budget::new(self.limits.response_bytes).spend(json.len())?;
        Ok(Some(json.into_owned()))
    }

    fn get_fields(
        &mut self,
        gvr: String,
        key: types::ObjectKey,
        wanted: Vec<String>,
    ) -> Result<Option<Vec<Option<String>>>, Error> {
        let gvr = self.readable(&gvr)?;
        let pointers = pointers(&wanted)?;
        let Some(object) = self.lister.get(&gvr, &ObjectKey::new(key.namespace, key.name))? else {
            return Ok(None);
        };
        values(&object.json()?, &pointers, &mut Budget::new(self.limits.response_bytes)).map(Some)
    }

    fn list_meta(&mut self, gvr: String, of: Selector, part: Page) -> Result<MetaPage, Error> {
        let (items, next) = self.page(&gvr, &of, &part, |object, budget| {
            let meta = meta::of(object);
            budget.spend(meta::bytes(&meta))?;
            Ok(meta)
        })?;
        Ok(MetaPage { items, next })
    }

    fn list_fields(
        &mut self,
        gvr: String,
        of: Selector,
        wanted: Vec<String>,
        part: Page,
    ) -> Result<FieldsPage, Error> {
        let pointers = pointers(&wanted)?;
        let (items, next) = self.page(&gvr, &of, &part, |object, budget| {
            let key =
                types::ObjectKey { namespace: object.namespace().to_owned(), name: object.name().to_owned() };
            budget.spend(key.namespace.len() + key.name.len())?;
            Ok(Fields { key, values: values(&object.json()?, &pointers, budget)? })
        })?;
        Ok(FieldsPage { items, next })
    }

    fn list_json(&mut self, gvr: String, of: Selector, part: Page) -> Result<JsonPage, Error> {
        let (items, next) = self.page(&gvr, &of, &part, |object, budget| {
            let json = object.json()?;
            budget.spend(json.len())?;
            Ok(json.into_owned())
        })?;
        Ok(JsonPage { items, next })
    }

    fn has_synced(&mut self, gvr: String) -> Result<bool, Error> {
        let gvr = self.readable(&gvr)?;
        Ok(self.lister.has_synced(&gvr)?)
    }
}
