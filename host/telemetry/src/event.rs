//! One sampled event: its decisions become spans.

mod call;

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Instant, SystemTime},
};

use informer_types::{EventSpans, HostCall, SeenEvent, Source, Step, TraceContext, Traced};
use opentelemetry::{
    InstrumentationScope, KeyValue, SpanId, TraceFlags,
    trace::{Link, SpanContext, SpanKind, Status, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use parking_lot::Mutex;

use crate::{
    attributes::{self, number, plugin, text},
    outbox::Outbox,
};
use call::Ended;

/// The most spans of one event besides its own and those of calls: a guest may call the host without end.
const SPANS: u32 = 256;

/// The most links of an event to events that it became part of.
const LINKS: usize = 8;

/// A sampled event in progress.
#[derive(Debug)]
pub(crate) struct Event {
    context: TraceContext,
    name: String,
    /// When the watch sent the event, by both clocks: spans are shown with the time of the wall clock.
    begun: (Instant, SystemTime),
    state: Mutex<State>,
    outbox: Arc<Outbox>,
}

#[derive(Debug, Default)]
struct State {
    /// The attributes of the event.
    about: Vec<KeyValue>,
    /// The traces of the events that this event became part of.
    links: Vec<TraceContext>,
    /// Spans so far.
    spans: u32,
    plugins: Vec<InPlugin>,
}

/// The event in one plugin.
#[derive(Debug)]
struct InPlugin {
    name: Arc<str>,
    /// When the event began to wait: when it was queued, or when the last call ended.
    waits_since: Option<Instant>,
    /// The span of the present call.
    call: Option<u64>,
}

/// The parts of a span that differ among the spans of one event.
struct Part {
    id: u64,
    parent: u64,
    name: &'static str,
    times: (Instant, Instant),
    about: Vec<KeyValue>,
    /// True if the span is a request to another process.
    is_request: bool,
    /// What failed, as one word.
    error: Option<String>,
}

// === impl Event ===

impl Event {
    /// Begins the trace of an event that a watch sends now.
    pub(crate) fn begin(trace_id: u128, source: &Source, event: &SeenEvent<'_>, outbox: Arc<Outbox>) -> Self {
        let context = TraceContext { trace_id, span_id: new_id() };
        let state = State { about: attributes::event(source, event), ..State::default() };
        Self {
            context,
            name: format!("watch {source}"),
            begun: (Instant::now(), SystemTime::now()),
            state: Mutex::new(state),
            outbox,
        }
    }

    /// A span below the span of the event.
    fn child(&self, name: &'static str, since: Instant, about: Vec<KeyValue>) {
        let times = (since, Instant::now());
        let parent = self.context.span_id;
        self.part(Part { id: new_id(), parent, name, times, about, is_request: false, error: None });
    }

    /// A span, unless the event has too many.
    fn part(&self, part: Part) {
        let mut state = self.state.lock();
        if state.spans >= SPANS {
            drop(state);
            return self.outbox.drop_one();
        }
        state.spans += 1;
        drop(state);
        self.put(part);
    }

    fn put(&self, part: Part) {
        let Part { id, parent, name, times: (begun, ended), mut about, is_request, error } = part;
        let status = match error {
            Some(error) => {
                about.push(text("error.type", error));
                Status::error("")
            }
            None => Status::Unset,
        };
        let kind = if is_request { SpanKind::Client } else { SpanKind::Internal };
        let span = self.span((id, parent), name.into(), kind, (begun, ended), about);
        self.outbox.put(SpanData { status, ..span });
    }

    fn span(
        &self,
        (id, parent): (u64, u64),
        name: Cow<'static, str>,
        span_kind: SpanKind,
        (begun, ended): (Instant, Instant),
        attributes: Vec<KeyValue>,
    ) -> SpanData {
        SpanData {
            span_context: span_context(TraceContext { span_id: id, ..self.context }),
            parent_span_id: SpanId::from(parent),
            parent_span_is_remote: false,
            span_kind,
            name,
            start_time: self.wall(begun),
            end_time: self.wall(ended.max(begun)),
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::builder("informer")
                .with_version(env!("CARGO_PKG_VERSION"))
                .build(),
        }
    }

    /// The time of the wall clock at an instant, by the time that passed since the event was received.
    fn wall(&self, at: Instant) -> SystemTime {
        let (instant, wall) = self.begun;
        match at.checked_duration_since(instant) {
            Some(later) => wall + later,
            None => wall.checked_sub(instant.duration_since(at)).unwrap_or(wall),
        }
    }

    /// Adds a span for a decision of the filter, or for the end of the event in a queue without a call.
    fn decided(&self, traced: &Traced, since: Instant, name: &'static str, about: Vec<KeyValue>) {
        let own = traced.plugin.as_ref().map(plugin);
        self.child(name, since, own.into_iter().chain(about).collect());
    }

    /// Notes that the event waits in the queue of a plugin.
    fn waits(&self, traced: &Traced) {
        if let Some(name) = &traced.plugin {
            let mut state = self.state.lock();
            state.plugin(name).waits_since.get_or_insert_with(Instant::now);
        }
    }

    /// Adds a span for an event that left the queue of a plugin without a call.
    fn left_queue(&self, traced: &Traced, result: &'static str) {
        let Some(name) = &traced.plugin else { return };
        let since = self.state.lock().plugin(name).waits_since.take();
        let about = vec![text("informer.result", result)];
        self.decided(traced, since.unwrap_or_else(Instant::now), "queue", about);
    }

    /// Adds the spans of a call of a plugin that ended now: of the wait and of the attempt.
    fn called(&self, traced: &Traced, ended: Ended) {
        let Some(name) = &traced.plugin else { return };
        let now = Instant::now();
        let begun = now.checked_sub(ended.took).unwrap_or(now).max(self.begun.0);
        let mut state = self.state.lock();
        let own = state.plugin(name);
        let (id, waited_since) = (own.call.take().unwrap_or_else(new_id), own.waits_since.replace(now));
        drop(state);
        let parent = self.context.span_id;
        let span =
            |id, name, times, about, error| Part { id, parent, name, times, about, is_request: false, error };
        if let Some(since) = waited_since {
            let about = vec![plugin(name), number("informer.attempt", ended.attempt.into())];
            self.put(span(new_id(), "queue", (since, begun.max(since)), about, None));
        }
        let about = std::iter::once(plugin(name)).chain(ended.about).collect();
        self.put(span(id, "attempt", (begun, now), about, ended.error));
    }
}

impl EventSpans for Event {
    fn context(&self) -> TraceContext {
        self.context
    }

    fn step(&self, traced: &Traced, since: Option<Instant>) {
        let since = since.unwrap_or_else(Instant::now);
        match &traced.step {
            Step::Stored { .. } => self.child("cache", self.begun.0, vec![text("informer.result", "stored")]),
            Step::Unchanged { .. } => {
                self.child("cache", self.begun.0, vec![text("informer.result", "unchanged")]);
            }
            Step::Removed { .. } => {
                self.child("cache", self.begun.0, vec![text("informer.result", "removed")]);
            }
            Step::Distributed { listeners, .. } => {
                self.state.lock().about.push(number("informer.listeners", *listeners as u64));
            }
            Step::Passed { verb, .. } => {
                let about = vec![text("informer.result", "passed"), text("informer.verb", *verb)];
                self.decided(traced, since, "filter", about);
            }
            Step::Suppressed { verb, by, .. } => {
                let about = vec![
                    text("informer.result", "suppressed"),
                    text("informer.verb", *verb),
                    text("informer.condition", *by),
                ];
                self.decided(traced, since, "filter", about);
            }
            Step::Queued { .. } | Step::KeyAdded { .. } => self.waits(traced),
            Step::Merged { .. } => self.left_queue(traced, "merged"),
            Step::Cancelled { .. } => self.left_queue(traced, "cancelled"),
            Step::Discarded { .. } | Step::KeyDiscarded => self.left_queue(traced, "discarded"),
            Step::Called { .. } | Step::KeyDone { .. } => {
                if let Some(ended) = Ended::of(&traced.step) {
                    self.called(traced, ended);
                }
            }
            // The trace begins with `Seen`. The other steps are not about an event, or a later step contains them.
            Step::Seen { .. }
            | Step::Undecodable { .. }
            | Step::Notified { .. }
            | Step::Withheld { .. }
            | Step::Undecided { .. }
            | Step::KeyRefused { .. }
            | Step::KeyTaken { .. } => {}
        }
    }

    fn merged_into(&self, other: TraceContext) {
        let mut state = self.state.lock();
        if state.links.len() < LINKS && !state.links.contains(&other) {
            state.links.push(other);
        }
    }

    fn begin_call(&self, plugin: &Arc<str>) -> TraceContext {
        let span_id = new_id();
        self.state.lock().plugin(plugin).call = Some(span_id);
        TraceContext { span_id, ..self.context }
    }

    fn new_span_id(&self) -> u64 {
        new_id()
    }

    fn host_call(&self, call: HostCall<'_>) {
        let (name, about, is_request) = attributes::request(&call.request);
        self.part(Part {
            id: call.span_id.unwrap_or_else(new_id),
            parent: call.parent.span_id,
            name,
            times: (call.since, Instant::now()),
            about,
            is_request,
            error: call.error.map(str::to_owned),
        });
    }
}

impl Drop for Event {
    /// Ends the span of the event, and queues it for the exporter.
    fn drop(&mut self) {
        let State { about, links, .. } = std::mem::take(self.state.get_mut());
        let times = (self.begun.0, Instant::now());
        let name = std::mem::take(&mut self.name).into();
        let mut span = self.span((self.context.span_id, 0), name, SpanKind::Consumer, times, about);
        let links = links.into_iter().map(|other| Link::with_context(span_context(other)));
        span.links.links = links.collect();
        self.outbox.put(span);
    }
}

// === impl State ===

impl State {
    #[expect(clippy::indexing_slicing, reason = "it was found or pushed")]
    fn plugin(&mut self, name: &Arc<str>) -> &mut InPlugin {
        let known = self.plugins.iter().position(|plugin| plugin.name == *name);
        let index = known.unwrap_or(self.plugins.len());
        if known.is_none() {
            self.plugins.push(InPlugin { name: Arc::clone(name), waits_since: None, call: None });
        }
        &mut self.plugins[index]
    }
}

fn span_context(context: TraceContext) -> SpanContext {
    let TraceContext { trace_id, span_id } = context;
    SpanContext::new(trace_id.into(), span_id.into(), TraceFlags::SAMPLED, false, TraceState::default())
}

/// A number for a span, not zero.
fn new_id() -> u64 {
    fastrand::u64(1..)
}

#[cfg(test)]
mod tests;
