//! `objects`: fields of the objects in hand, by token.

use std::sync::{Arc, OnceLock};

use informer_types::{Object, differs};

use super::{
    answer::{Budget, pointers, values},
    meta,
};
use crate::{
    bindings::informer::plugin::{
        objects,
        types::{Error, ErrorCode, ObjectMeta},
    },
    guest::Guest,
};

/// The objects of one call. Tokens count up for as long as the instance lives, so that one of an earlier call is
/// never one of this call.
#[derive(Default)]
pub(crate) struct Objects {
    first: u32,
    held: Vec<Held>,
}

struct Held {
    object: Arc<Object>,
    /// Unpacked at most once a call.
    json: OnceLock<String>,
}

// === impl Objects ===

impl Objects {
    /// The objects of the next call: none yet.
    pub(crate) fn renew(&self) -> Self {
        let given = u32::try_from(self.held.len()).unwrap_or(u32::MAX);
        Self { first: self.first.wrapping_add(given), held: Vec::new() }
    }

    /// Holds an object for the call in hand; gives its token.
    pub(crate) fn hold(&mut self, object: Arc<Object>) -> u32 {
        let given = u32::try_from(self.held.len()).unwrap_or(u32::MAX);
        self.held.push(Held { object, json: OnceLock::new() });
        self.first.wrapping_add(given)
    }

    fn get(&self, id: u32) -> Result<&Held, Error> {
        let index = usize::try_from(id.wrapping_sub(self.first)).unwrap_or(usize::MAX);
        self.held.get(index).ok_or_else(|| {
            let message =
                format!("{id} is no object of the call in hand; tokens are good until the call returns");
            Error::new(ErrorCode::StaleToken, message)
        })
    }
}

// === impl Held ===

impl Held {
    fn json(&self) -> Result<&str, Error> {
        if let Some(json) = self.json.get() {
            return Ok(json);
        }
        match self.object.json()? {
            std::borrow::Cow::Borrowed(json) => Ok(json),
            std::borrow::Cow::Owned(json) => Ok(self.json.get_or_init(|| json)),
        }
    }
}

// === impl Guest ===

impl objects::Host for Guest {
    fn meta(&mut self, id: u32) -> Result<ObjectMeta, Error> {
        Ok(meta::of(&self.call.objects.get(id)?.object))
    }

    fn json(&mut self, id: u32) -> Result<String, Error> {
        let json = self.call.objects.get(id)?.json()?;
        Budget::new(self.limits.response_bytes).spend(json.len())?;
        Ok(json.to_owned())
    }

    fn get(&mut self, id: u32, pointer: String) -> Result<Option<String>, Error> {
        let values = self.get_many(id, vec![pointer])?;
        Ok(values.into_iter().next().flatten())
    }

    fn get_many(&mut self, id: u32, wanted: Vec<String>) -> Result<Vec<Option<String>>, Error> {
        let json = self.call.objects.get(id)?.json()?;
        values(json, &pointers(&wanted)?, &mut Budget::new(self.limits.response_bytes))
    }

    fn differs(&mut self, old: u32, new: u32, wanted: Vec<String>) -> Result<bool, Error> {
        let pointers = pointers(&wanted)?;
        let (old, new) = (self.call.objects.get(old)?, self.call.objects.get(new)?);
        if Arc::ptr_eq(&old.object, &new.object) {
            return Ok(false);
        }
        Ok(differs(old.json()?, new.json()?, &pointers)?)
    }
}
