//! The objects that a call may read, by token.

use std::sync::{Arc, OnceLock};

use informer_types::{Gvr, MAX_BATCH, Object, Source};

use crate::{
    bindings::informer::plugin::types::{Error, ErrorCode},
    capabilities::secret::{Seen, Sight},
};

/// A call holds at most two objects for each of its notifications: the old and the new one of an update.
const MOST_OF_A_CALL: u32 = 2 * MAX_BATCH as u32;

/// Once the unpacked texts of a call have more bytes than this, the next read of another object forgets them. The objects of a batch may
/// have more than 1 MB each, and all of them together would fill the memory of the host.
const UNPACKED_BYTES: usize = 8 << 20;

/// The objects of one call. Tokens count up for as long as the instance lives, so the token of an earlier call is never
/// a token of this call.
#[derive(Default)]
pub(crate) struct Objects {
    first: u32,
    held: Vec<Held>,
    /// Bytes of the texts that `held` keeps.
    unpacked_bytes: usize,
}

pub(super) struct Held {
    pub(super) source: Source,
    pub(super) object: Arc<Object>,
    sight: Sight,
    /// The text, from the first read until the texts of the call take too much memory.
    seen: OnceLock<Seen>,
}

// === impl Objects ===

impl Objects {
    /// Ends the call: its tokens are stale from now on.
    pub(crate) fn renew(&mut self) {
        self.first = self.next();
        self.held.clear();
        self.unpacked_bytes = 0;
    }

    /// Returns true if the call holds this object.
    pub(crate) fn contain(&self, gvr: &Gvr, namespace: &str, name: &str) -> bool {
        self.held.iter().any(|Held { source, object, .. }| {
            source.gvr() == gvr && object.namespace() == namespace && object.name() == name
        })
    }

    /// Returns true if the tokens may not suffice for another call.
    pub(crate) fn exhausted(&self) -> bool {
        self.first > u32::MAX - MOST_OF_A_CALL
    }

    /// Holds an object until the call ends, and returns its token. The plugin sees as much of it as `sight` says.
    pub(crate) fn hold(&mut self, source: Source, object: Arc<Object>, sight: Sight) -> u32 {
        let token = self.next();
        self.held.push(Held { source, object, sight, seen: OnceLock::new() });
        token
    }

    /// Unpacks the objects that a call of the guest is about to read. Before it unpacks one, it forgets all texts if they take too much
    /// memory. Objects that are unpacked stay so, however large they are: a handler reads field after field of one object.
    pub(super) fn unpack(&mut self, ids: &[u32]) -> Result<(), Error> {
        let is_unpacked = |id: &u32| self.get(*id).is_ok_and(|held| held.seen.get().is_some());
        if ids.iter().all(is_unpacked) {
            return Ok(());
        }
        if self.unpacked_bytes > UNPACKED_BYTES {
            self.held.iter_mut().for_each(|held| drop(held.seen.take()));
            self.unpacked_bytes = 0;
        }
        for id in ids {
            let held = self.get(*id)?;
            if held.seen.get().is_none() {
                self.unpacked_bytes += held.seen()?.bytes();
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, id: u32) -> Result<&Held, Error> {
        let index = id.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.held.get(index)).ok_or_else(|| {
            let message = format!("{id} is no object of this call; a token is valid until its call returns");
            Error::new(ErrorCode::StaleToken, message)
        })
    }

    fn next(&self) -> u32 {
        self.first.saturating_add(u32::try_from(self.held.len()).unwrap_or(u32::MAX))
    }
}

// === impl Held ===

impl Held {
    /// The object as the plugin may see it.
    pub(super) fn seen(&self) -> Result<&Seen, Error> {
        if let Some(seen) = self.seen.get() {
            return Ok(seen);
        }
        let seen = Seen::new(&self.object, self.sight)?;
        Ok(self.seen.get_or_init(|| seen))
    }
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Gvr, Header};

    use super::*;

    fn source() -> Source {
        Source::new(Gvr::new("", "v1", "pods"))
    }

    fn object() -> Arc<Object> {
        Arc::new(Object::new(&Header::default(), Body::Raw("{}".into())).unwrap())
    }

    #[test]
    fn a_token_of_an_earlier_call_is_no_object_of_this_one() {
        let mut objects = Objects::default();
        let old = objects.hold(source(), object(), Sight::Whole);
        objects.renew();
        let new = objects.hold(source(), object(), Sight::Whole);

        assert!(objects.get(new).is_ok());
        for stale in [old, new + 1, u32::MAX] {
            assert_eq!(objects.get(stale).err().unwrap().code, ErrorCode::StaleToken, "{stale}");
        }
    }

    #[test]
    fn the_texts_that_a_call_keeps_take_a_bounded_amount_of_memory() {
        let text = format!(r#"{{"data":"{}"}}"#, "x".repeat(1 << 20));
        let (bytes, mut objects) = (text.len(), Objects::default());
        let mut hold = || {
            let object = Object::new(&Header::default(), Body::Raw(text.as_str().into())).unwrap();
            objects.hold(source(), Arc::new(object), Sight::Whole)
        };
        let tokens: Vec<u32> = (0..30).map(|_| hold()).collect();
        let kept = |objects: &Objects| objects.held.iter().filter(|held| held.seen.get().is_some()).count();

        for pair in tokens.chunks(2) {
            objects.unpack(pair).unwrap();
            let before = kept(&objects);
            objects.unpack(pair).unwrap();

            assert_eq!(kept(&objects), before, "objects that are read again are not unpacked again");
            assert_eq!(objects.unpacked_bytes, before * bytes, "each text counts once");
            assert!(objects.unpacked_bytes <= UNPACKED_BYTES + 2 * bytes, "{before} are kept");
        }

        // A text that was forgotten is unpacked again.
        objects.unpack(&tokens[..1]).unwrap();
        assert_eq!(objects.get(tokens[0]).unwrap().seen().unwrap().text(), text);
        objects.renew();
        assert_eq!(objects.unpacked_bytes, 0);
    }

    #[test]
    fn tokens_run_out_instead_of_beginning_again() {
        let first = u32::MAX - MOST_OF_A_CALL;
        let mut objects = Objects { first, ..Objects::default() };
        assert!(!objects.exhausted());

        let tokens: Vec<_> =
            (0..MOST_OF_A_CALL).map(|_| objects.hold(source(), object(), Sight::Whole)).collect();
        assert!(tokens.iter().copied().eq(first..u32::MAX));
        objects.renew();

        assert!(objects.exhausted());
    }
}
