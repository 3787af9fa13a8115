//! Watches.

use std::{collections::BTreeSet, time::Duration};

use tokio::{sync::mpsc, time::Instant};

use super::{Reply, State, request::Request};
use crate::{
    body::Piece,
    ledger::{Mark, Scope, is_in},
    script::{Ending, Failure, Fault, Key, Nonsense, Op},
};

/// An open watch.
pub(crate) struct Watch {
    scope: Scope,
    sender: mpsc::UnboundedSender<Piece>,
    bookmarks: bool,
    opened: Instant,
    /// All changes up to this version were sent or omitted.
    sent: u64,
    /// The versions to omit.
    hidden: BTreeSet<u64>,
    /// True if it has omitted a change.
    gap: bool,
    pub(super) initial: Initial,
    /// The number of frames that the client accepts.
    pub(super) accepted: u32,
    cut: Option<(Cut, Ending)>,
    /// The last event.
    last: Option<(String, u64)>,
}

/// The place at which a watch breaks off.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    /// After this number of bytes.
    After(usize),
    BeforeNewline,
}

/// The progress of a watch with its initial events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Initial {
    /// Not requested, or complete.
    Done,
    /// Started at `from`, complete once all changes up to `until` were sent.
    Until { from: u64, until: u64 },
    /// Requested from a server that ignores the parameter: the client will discard them.
    Ignored,
}

/// The state of a watch after a frame.
pub(super) enum After {
    Open,
    Ended,
}

// === impl State ===

impl State {
    pub(super) fn watch(&mut self, request: &Request) -> Reply {
        let wrong = self.ledger(&request.scope).check_watch(&request.version);
        self.violations.extend(wrong);
        let fault = self.faults.watch.pop_front();
        if !matches!(fault, None | Some(Fault::Refused | Fault::Status(Failure::Throttled))) {
            self.ledger(&request.scope).excuse();
        }
        let cut = match self.fail(fault, Self::refusal) {
            Ok(cut) => cut.map(|(length, ending)| (Cut::After(length), ending)),
            Err(reply) => return reply,
        };
        let version: u64 = request.version.parse().unwrap_or_default();
        if self.ledger(&request.scope).gap || version < self.compacted {
            return self.expired(request);
        }
        let (watch, reply) = Self::open(request, version, cut);
        self.watches.push(watch);
        self.flush();
        reply
    }

    pub(super) fn open(request: &Request, version: u64, cut: Option<(Cut, Ending)>) -> (Watch, Reply) {
        let (sender, pieces) = mpsc::unbounded_channel();
        let opened = Instant::now();
        let watch = Watch {
            scope: request.scope.clone(),
            sender,
            bookmarks: request.bookmarks,
            opened,
            sent: version,
            hidden: BTreeSet::new(),
            gap: false,
            initial: Initial::Done,
            accepted: 0,
            cut,
            last: None,
        };
        let deadline = opened + Duration::from_secs(request.timeout_seconds);
        (watch, Reply::Http { status: 200, retry_after: None, pieces, deadline: Some(deadline) })
    }

    /// Reports an expired version as an answer or as an event.
    pub(super) fn expired(&mut self, request: &Request) -> Reply {
        self.ledger(&request.scope).excuse();
        if !self.gone_by_event {
            return self.refusal(Failure::Expired);
        }
        self.text(200, &format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", Failure::Expired.text()))
    }

    /// Changes the collection. If `hidden`, the open watches omit the change.
    pub(crate) fn change(&mut self, op: Op, key: Key, hidden: bool) {
        if !self.served {
            return;
        }
        let before = self.collection.version();
        self.collection.apply(op, key);
        let new = self.collection.between(before, self.collection.version());
        for watch in self.watches.iter_mut().filter(|watch| hidden && watch.initial == Initial::Done) {
            watch.hidden.extend(new.iter().map(|change| change.version));
        }
        self.flush();
    }

    /// Sends the new changes to every watch.
    pub(super) fn flush(&mut self) {
        let horizon = self.horizon();
        for mut watch in std::mem::take(&mut self.watches) {
            if watch.sender.is_closed() {
                continue;
            }
            let mut news = self.collection.between(watch.sent, horizon).to_vec();
            news.retain(|change| is_in(&watch.scope, change.key));
            watch.sent = watch.sent.max(horizon);
            let mut after = After::Open;
            for change in &news {
                if watch.hidden.contains(&change.version) {
                    watch.gap = true;
                    continue;
                }
                let frame = format!("{{\"type\":\"{}\",\"object\":{}}}\n", change.kind.as_str(), change.text);
                let mark = Mark::Event { version: change.version, gap: watch.gap };
                watch.accepted += 1;
                after = self.send(&mut watch, &frame, Some(mark));
                watch.last = Some((frame, change.version));
                if matches!(after, After::Ended) {
                    break;
                }
            }
            if matches!(after, After::Open) && !self.late_marks {
                after = self.end_initial(&mut watch);
            }
            if matches!(after, After::Open) {
                self.watches.push(watch);
            }
        }
    }

    /// Sends a frame, or the part of it before the cut.
    pub(super) fn send(&mut self, watch: &mut Watch, frame: &str, mark: Option<Mark>) -> After {
        // Frames before the end of the initial events have no effect yet.
        let is_error = matches!(mark, Some(Mark::Error { .. }));
        let mark = mark.filter(|_| is_error || watch.initial == Initial::Done);
        let cut = watch.cut.take();
        let (length, ending) = match cut {
            None => (usize::MAX, Ending::Clean),
            Some((Cut::After(length), ending)) => (length, ending),
            Some((Cut::BeforeNewline, ending)) => (frame.len() - 1, ending),
        };
        let text = frame.get(..length).unwrap_or(frame);
        let mut pieces = self.chunks(text);
        // The last frame of a stream may lack its newline, but not if the stream stalls.
        let whole = if ending == Ending::Stall { frame.len() } else { frame.len() - 1 };
        if length >= whole {
            // After an error the client does not read on.
            let at = pieces.len() - usize::from(is_error);
            if let Some(mark) = mark {
                self.ledger(&watch.scope).sent(mark);
                pieces.insert(at, Piece::Mark(mark));
            }
        } else {
            watch.accepted = watch.accepted.saturating_sub(1);
        }
        pieces.into_iter().for_each(|piece| drop(watch.sender.send(piece)));
        if length > frame.len() {
            watch.cut = cut.map(|(_, ending)| (Cut::After(length - frame.len()), ending));
            return After::Open;
        }
        self.close(watch, ending);
        After::Ended
    }

    fn close(&mut self, watch: &Watch, ending: Ending) {
        if ending != Ending::Stall && watch.accepted == 0 && watch.opened.elapsed() < Duration::from_secs(1) {
            // A very short watch leads to a list.
            self.ledger(&watch.scope).excuse();
        }
        self.finish(watch.sender.clone(), ending);
    }

    pub(super) fn finish(&mut self, sender: mpsc::UnboundedSender<Piece>, ending: Ending) {
        let _ = sender.send(match ending {
            Ending::Clean => Piece::End,
            Ending::Reset => Piece::Reset,
            Ending::Stall => Piece::Stall,
        });
        if ending == Ending::Stall {
            self.stalled.push(sender);
        }
    }

    /// Removes and returns an open watch, if there is one.
    fn pick(&mut self, number: u8) -> Option<Watch> {
        self.watches.retain(|watch| !watch.sender.is_closed());
        let count = self.watches.len();
        (count > 0).then(|| self.watches.remove(usize::from(number) % count))
    }

    pub(crate) fn end(&mut self, number: u8, ending: Ending) {
        if let Some(watch) = self.pick(number) {
            self.close(&watch, ending);
        }
    }

    pub(crate) fn cut(&mut self, number: u8, cut: Cut, ending: Ending) {
        if let Some(mut watch) = self.pick(number) {
            watch.cut = Some((cut, ending));
            self.watches.push(watch);
        }
    }

    pub(crate) fn error(&mut self, number: u8, failure: Failure) {
        if let Some(watch) = self.pick(number) {
            self.end_with(watch, failure);
        }
    }

    fn end_with(&mut self, mut watch: Watch, failure: Failure) {
        let frame = format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", failure.text());
        let unavailable = watch.initial != Initial::Done && failure.is_about_the_version();
        if matches!(self.send(&mut watch, &frame, Some(Mark::Error { unavailable })), After::Open) {
            self.close(&watch, Ending::Clean);
        }
    }

    pub(crate) fn nonsense(&mut self, number: u8, nonsense: Nonsense) {
        let Some(mut watch) = self.pick(number) else {
            return;
        };
        let frame = match nonsense {
            Nonsense::NotJson => "{\"type\":\"ADDED\",\"object\":{\"metadata\":{,}}}\n",
            Nonsense::UnknownType => "{\"type\":\"REPLACED\",\"object\":{\"metadata\":{\"name\":\"x\"}}}\n",
            Nonsense::Foreign => {
                "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"pod-0\",\"resourceVersion\":\"1\"}}}\n"
            }
            Nonsense::NoMetadata => {
                "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}}\n"
            }
            Nonsense::EmptyLine => "\n",
        };
        let fatal = matches!(nonsense, Nonsense::NotJson | Nonsense::UnknownType);
        let mark = fatal.then_some(Mark::Error { unavailable: false });
        if matches!(self.send(&mut watch, frame, mark), After::Open) {
            self.watches.push(watch);
        }
    }

    /// Removes all objects and the resource.
    pub(crate) fn remove(&mut self) {
        let objects: Vec<Key> = self.collection.at(self.collection.version()).into_keys().collect();
        objects.into_iter().for_each(|key| self.change(Op::Delete, key, false));
        (self.served, self.misses) = (false, 0);
        for watch in std::mem::take(&mut self.watches) {
            self.close(&watch, Ending::Clean);
        }
    }

    pub(crate) fn bookmark(&mut self) {
        let horizon = self.horizon();
        for mut watch in std::mem::take(&mut self.watches) {
            let mut after = self.end_initial(&mut watch);
            if matches!(after, After::Open)
                && watch.bookmarks
                && watch.sent <= horizon
                && !matches!(watch.initial, Initial::Until { .. })
            {
                let frame = format!(
                    "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"{horizon}\",\"creationTimestamp\":null}}}}}}\n"
                );
                watch.accepted += 1;
                let mark = Mark::Bookmark { version: horizon, gap: watch.gap };
                after = self.send(&mut watch, &frame, Some(mark));
            }
            if matches!(after, After::Open) {
                self.watches.push(watch);
            }
        }
    }

    /// Sends the last event again and returns its version.
    pub(crate) fn duplicate(&mut self, number: u8) -> Option<u64> {
        let mut watch = self.pick(number)?;
        let last = watch.last.clone().filter(|_| watch.initial == Initial::Done);
        if let Some((frame, version)) = &last {
            watch.accepted += 1;
            let mark = Mark::Event { version: *version, gap: watch.gap };
            if matches!(self.send(&mut watch, frame, Some(mark)), After::Ended) {
                return Some(*version);
            }
        }
        self.watches.push(watch);
        last.map(|(_, version)| version)
    }

    /// Ends the watches that omitted a change, so that their reflectors list.
    pub(super) fn show_gaps(&mut self) {
        for watch in std::mem::take(&mut self.watches) {
            let watch = Watch { cut: None, ..watch };
            if watch.gap {
                self.end_with(watch, Failure::Expired);
            } else {
                self.watches.push(watch);
            }
        }
    }

    /// Returns true once the client reads no answer any more.
    pub(crate) fn is_deserted(&self) -> bool {
        let mut senders = self.watches.iter().map(|watch| &watch.sender).chain(&self.stalled);
        senders.all(mpsc::UnboundedSender::is_closed)
    }
}
