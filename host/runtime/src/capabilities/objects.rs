//! `objects`: fields of the objects in hand, by token.

use std::sync::{Arc, OnceLock};

use informer_types::{Gvr, JsonText, Object, Source, differs};

use super::{
    answer::{Budget, values},
    meta,
    secret::masked,
};
use crate::{
    bindings::informer::plugin::{
        objects,
        types::{Error, ErrorCode, ObjectMeta},
    },
    guest::Guest,
};

/// A call hands out the old and the new object of an update.
const MOST_OF_A_CALL: u32 = 2;

/// The objects of one call. Tokens count up for as long as the instance lives, so that one of an earlier call is
/// never one of this call.
#[derive(Default)]
pub(crate) struct Objects {
    first: u32,
    held: Vec<Held>,
    /// What the call is about; none where it has no objects.
    source: Option<Source>,
}

struct Held {
    object: Arc<Object>,
    /// A Secret whose values the plugin may not see.
    masked: bool,
    /// Unpacked at most once a call.
    json: OnceLock<JsonText>,
}

// === impl Objects ===

impl Objects {
    /// The call is over; its tokens are stale.
    pub(crate) fn renew(&mut self) {
        self.first = self.next();
        self.held.clear();
        self.source = None;
    }

    /// The resource of the objects that will be held.
    pub(crate) fn are_of(&mut self, source: Source) {
        self.source = Some(source);
    }

    /// True where this is one of them.
    pub(super) fn contain(&self, gvr: &Gvr, namespace: &str, name: &str) -> bool {
        let same = |held: &Held| held.object.namespace() == namespace && held.object.name() == name;
        self.source.as_ref().is_some_and(|source| source.gvr() == gvr) && self.held.iter().any(same)
    }

    /// True where the next call might need a token that was given before.
    pub(crate) fn exhausted(&self) -> bool {
        self.first > u32::MAX - MOST_OF_A_CALL
    }

    /// Holds an object for the call in hand; gives its token. A masked one shows no values of a Secret.
    pub(crate) fn hold(&mut self, object: Arc<Object>, masked: bool) -> u32 {
        let token = self.next();
        self.held.push(Held { object, masked, json: OnceLock::new() });
        token
    }

    fn next(&self) -> u32 {
        self.first.saturating_add(u32::try_from(self.held.len()).unwrap_or(u32::MAX))
    }

    fn get(&self, id: u32) -> Result<&Held, Error> {
        let index = id.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.held.get(index)).ok_or_else(|| {
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
        let json = if self.masked { masked(&self.object)? } else { self.object.json()? };
        Ok(self.json.get_or_init(|| json))
    }
}

// === impl Guest ===

impl objects::Host for Guest {
    fn meta(&mut self, id: u32) -> Result<ObjectMeta, Error> {
        Ok(meta::of(&self.call.objects.get(id)?.object))
    }

    fn json(&mut self, id: u32) -> Result<String, Error> {
        let json = self.call.objects.get(id)?.json()?;
        Budget::new(self.config.limits.response_bytes).spend(json.len())?;
        Ok(json.to_owned())
    }

    fn get(&mut self, id: u32, pointer: String) -> Result<Option<String>, Error> {
        let values = self.get_many(id, vec![pointer])?;
        Ok(values.into_iter().next().flatten())
    }

    fn get_many(&mut self, id: u32, wanted: Vec<String>) -> Result<Vec<Option<String>>, Error> {
        let pointers = self.question.pointers(wanted)?;
        let json = self.call.objects.get(id)?.json()?;
        values(json, &pointers, &mut Budget::new(self.config.limits.response_bytes))
    }

    fn differs(&mut self, old: u32, new: u32, wanted: Vec<String>) -> Result<bool, Error> {
        let pointers = self.question.pointers(wanted)?;
        let (old, new) = (self.call.objects.get(old)?, self.call.objects.get(new)?);
        if Arc::ptr_eq(&old.object, &new.object) {
            return Ok(false);
        }
        Ok(differs(old.json()?, new.json()?, &pointers)?)
    }
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Header};

    use super::*;

    fn object() -> Arc<Object> {
        Arc::new(Object::new(&Header::default(), Body::Raw("{}".into())).unwrap())
    }

    #[test]
    fn a_token_of_an_earlier_call_is_no_object_of_this_one() {
        let mut objects = Objects::default();
        let old = objects.hold(object(), false);
        objects.renew();
        let new = objects.hold(object(), false);

        assert!(objects.get(new).is_ok());
        for stale in [old, new + 1, u32::MAX] {
            assert_eq!(objects.get(stale).err().unwrap().code, ErrorCode::StaleToken, "{stale}");
        }
    }

    #[test]
    fn tokens_run_out_instead_of_beginning_again() {
        let mut objects = Objects { first: u32::MAX - 2, ..Objects::default() };
        assert!(!objects.exhausted());

        let (old, new) = (objects.hold(object(), false), objects.hold(object(), false));
        assert_eq!((old, new), (u32::MAX - 2, u32::MAX - 1));
        objects.renew();

        assert!(objects.exhausted());
    }
}
