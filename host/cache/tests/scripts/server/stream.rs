//! Streaming lists (KEP-3157): watches that first send the existing objects.

use super::{
    Reply, State,
    request::Request,
    watch::{After, Cut, Initial, Watch},
};
use crate::{
    ledger::{Mark, is_in},
    script::{Ending, Failure, Streaming},
};

// === impl State ===

impl State {
    pub(super) fn stream(&mut self, request: &Request) -> Reply {
        let vanished = self.vanished();
        let wrong = self.ledger(&request.scope).check_stream(&request.version, vanished);
        self.violations.extend(wrong);
        let fault = self.faults.list.pop_front();
        let cut = match self.fail(fault, |state, failure| state.refuse_list(request, failure)) {
            Ok(cut) => cut.map(|(length, ending)| (Cut::After(length), ending)),
            Err(reply) => return reply,
        };
        let version: Option<u64> = request.version.parse().ok();
        match self.streaming {
            Streaming::Refused => self.text(422, &Failure::Bare.text()),
            Streaming::Unmarked | Streaming::UnmarkedEachTime => self.stream_unmarked(request, version, cut),
            Streaming::Off | Streaming::Works if version.is_some_and(|version| version > self.horizon()) => {
                self.refuse_list(request, Failure::TooLarge)
            }
            // At least as fresh as requested, or as fresh as possible.
            Streaming::Off | Streaming::Works => {
                let until = version.unwrap_or(self.collection.version());
                let initial = Initial::Until { from: self.horizon(), until };
                self.stream_from(request, initial, cut)
            }
        }
    }

    /// A server that ignores the parameter treats the request as a plain watch.
    fn stream_unmarked(
        &mut self,
        request: &Request,
        version: Option<u64>,
        cut: Option<(Cut, Ending)>,
    ) -> Reply {
        match version {
            None => self.stream_from(request, Initial::Ignored, cut),
            Some(version) if version < self.compacted => {
                self.ledger(&request.scope).version_unavailable();
                self.expired(request)
            }
            Some(version) => {
                let (mut watch, reply) = Self::open(request, version, cut);
                watch.initial = Initial::Ignored;
                self.watches.push(watch);
                self.flush();
                reply
            }
        }
    }

    fn stream_from(&mut self, request: &Request, initial: Initial, cut: Option<(Cut, Ending)>) -> Reply {
        let horizon = self.horizon();
        let (mut watch, reply) = Self::open(request, horizon, cut);
        watch.initial = initial;
        let mut objects: Vec<_> = self.collection.at(horizon).into_values().cloned().collect();
        objects.retain(|change| is_in(&request.scope, change.key));
        for object in objects {
            watch.accepted += 1;
            let frame = format!("{{\"type\":\"ADDED\",\"object\":{}}}\n", object.text);
            if matches!(self.send(&mut watch, &frame, None), After::Ended) {
                return reply;
            }
        }
        self.watches.push(watch);
        self.flush();
        reply
    }

    /// Sends the end mark once all initial events were sent.
    pub(super) fn end_initial(&mut self, watch: &mut Watch) -> After {
        let version = self.horizon();
        let Initial::Until { from, until } = watch.initial else {
            return After::Open;
        };
        if until > version {
            return After::Open;
        }
        watch.initial = Initial::Done;
        watch.accepted += 1;
        let frame = format!(
            "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"{version}\",\"annotations\":{{\"k8s.io/initial-events-end\":\"true\"}}}}}}}}\n"
        );
        self.send(watch, &frame, Some(Mark::Listed { from, version }))
    }
}
