//! The objects that a call may read, by token.

use std::sync::{Arc, OnceLock};

use informer_types::{Gvr, MAX_BATCH, Object, Source};

use crate::{
    bindings::informer::plugin::types::{Error, ErrorCode},
    capabilities::secret::{Seen, Sight},
};

/// A call holds at most two objects for each of its notifications: the old and the new one of an update.
const MOST_OF_A_CALL: u32 = 2 * MAX_BATCH as u32;

/// The objects of one call. Tokens count up for as long as the instance lives, so the token of an earlier call is never
/// a token of this call.
#[derive(Default)]
pub(crate) struct Objects {
    first: u32,
    held: Vec<Held>,
}

pub(super) struct Held {
    pub(super) source: Source,
    pub(super) object: Arc<Object>,
    sight: Sight,
    /// Unpacked at most once per call.
    seen: OnceLock<Seen>,
}

// === impl Objects ===

impl Objects {
    /// Ends the call: its tokens are stale from now on.
    pub(crate) fn renew(&mut self) {
        self.first = self.next();
        self.held.clear();
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
