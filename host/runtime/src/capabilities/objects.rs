//! `objects`: fields of the objects that the call is about, by token.

mod held;

use std::sync::Arc;

use wasmtime::component::HasSelf;

pub(crate) use held::Objects;

use super::{
    answer::{Budget, Undeclared, meta, meta_bytes, values},
    interface::Interface,
};
use crate::{
    bindings::informer::plugin::{
        objects,
        types::{self, Error, ObjectMeta},
    },
    guest::Guest,
};

pub(super) const INTERFACES: &[Interface] = &[
    Interface::ours("informer:plugin/objects", |instance| {
        objects::add_to_linker_instance::<_, HasSelf<Guest>>(instance, Guest::called)
    }),
    // The values that the interfaces share. It has no functions.
    Interface::ours("informer:plugin/types", |instance| {
        types::add_to_linker_instance::<_, HasSelf<Guest>>(instance, Guest::called)
    }),
];

impl types::Host for Guest {}

impl objects::Host for Guest {
    fn meta(&mut self, id: u32) -> Result<ObjectMeta, Error> {
        let meta = meta(&self.call.objects.get(id)?.object);
        self.receives(meta_bytes(&meta));
        Ok(meta)
    }

    fn json(&mut self, id: u32) -> Result<String, Error> {
        let json = self.call.objects.get(id)?.seen()?.text();
        Budget::new(self.config.limits.response_bytes).spend(json.len())?;
        let json = json.to_owned();
        self.receives(json.len());
        Ok(json)
    }

    fn get(&mut self, id: u32, pointer: String) -> Result<Option<String>, Error> {
        let values = self.get_many(id, vec![pointer])?;
        Ok(values.into_iter().next().flatten())
    }

    fn get_many(&mut self, id: u32, wanted: Vec<String>) -> Result<Vec<Option<String>>, Error> {
        let parts = self.query.parts(wanted)?;
        let held = self.call.objects.get(id)?;
        if let Some(undeclared) = Undeclared::of(&self.config, held.source.gvr(), &parts) {
            undeclared.check(&held.object)?;
        }
        let mut budget = Budget::new(self.config.limits.response_bytes);
        let values = values(held.seen()?, &parts, &mut budget)?;
        self.receives(budget.used());
        Ok(values)
    }

    fn differs(&mut self, old: u32, new: u32, wanted: Vec<String>) -> Result<bool, Error> {
        let parts = self.query.parts(wanted)?;
        let (old, new) = (self.call.objects.get(old)?, self.call.objects.get(new)?);
        if Arc::ptr_eq(&old.object, &new.object) {
            return Ok(false);
        }
        if let Some(undeclared) = Undeclared::of(&self.config, new.source.gvr(), &parts) {
            undeclared.check(&old.object).and_then(|()| undeclared.check(&new.object))?;
        }
        new.seen()?.differs(old.seen()?, &parts)
    }
}
