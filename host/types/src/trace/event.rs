//! The trace of one event of a watch, which passes through the stages with the event.

use std::{fmt, sync::Arc, time::Instant};

use super::{HostCall, HostRequest, Step, TraceContext};
use crate::{ObjectKey, Source};

/// One step of one object. It contains names, versions and numbers, never any part of an object's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The shared informer that serves the object. `None` for a key of a plugin's own workqueue, which may name an
    /// object of any resource.
    pub source: Option<Source>,
    /// The object.
    pub key: ObjectKey,
    /// The plugin that the decision is for. `None` means all plugins.
    pub plugin: Option<Arc<str>>,
    /// The decision.
    pub step: Step,
}

/// The trace of an event. It is empty if the event is not sampled, which is the default. A clone copies a pointer.
///
/// The event ends when the last clone of its trace is dropped: no queue and no call has the event then.
#[derive(Clone, Default)]
pub struct EventTrace(Option<Arc<dyn EventSpans>>);

/// The call of a handler or reconciler for a sampled event.
#[derive(Clone)]
pub struct CallTrace {
    spans: Arc<dyn EventSpans>,
    context: TraceContext,
}

/// When a change was received, and the trace of the event that brought it.
#[derive(Clone, Debug)]
pub struct Observed {
    /// When the reflector read the event, or a list brought the object.
    pub at: Instant,
    /// The trace of the event. An object of a list has none.
    pub trace: EventTrace,
}

/// Receives what happens to one sampled event. The event ends when the receiver is dropped. `telemetry` implements this trait.
///
/// Each call must return at once, because stages call with their locks held.
pub trait EventSpans: fmt::Debug + Send + Sync + 'static {
    /// The span of the event as a whole.
    fn context(&self) -> TraceContext;

    /// A decision about the event. `since` is when the work for it began, if the stage measures that.
    fn step(&self, traced: &Traced, since: Option<Instant>);

    /// The event became part of another one, whose trace goes on.
    fn merged_into(&self, other: TraceContext);

    /// A call of a plugin for the event begins. Returns the span of the call, which ends with the step
    /// [`Called`](super::Step::Called) or [`KeyDone`](super::Step::KeyDone) of the plugin.
    fn begin_call(&self, plugin: &Arc<str>) -> TraceContext;

    /// The number of a further span of the event.
    fn new_span_id(&self) -> u64;

    /// A call of the guest to the host ended now.
    fn host_call(&self, call: HostCall<'_>);
}

// === impl EventTrace ===

impl EventTrace {
    /// The trace of a sampled event.
    pub fn new(spans: Arc<dyn EventSpans>) -> Self {
        Self(Some(spans))
    }

    /// Returns true if the event is sampled.
    pub fn is_sampled(&self) -> bool {
        self.0.is_some()
    }

    /// The time, if the event is sampled; otherwise no clock is read.
    #[inline]
    pub fn now(&self) -> Option<Instant> {
        self.0.as_ref().map(|_| Instant::now())
    }

    /// Passes a decision on.
    pub fn step(&self, traced: &Traced, since: Option<Instant>) {
        if let Some(spans) = &self.0 {
            spans.step(traced, since);
        }
    }

    /// Merges a later event into this one, and returns the trace that goes on: this trace if this event is sampled, and `later`
    /// otherwise.
    #[must_use]
    pub fn merge(self, later: Self) -> Self {
        match (self.0, later.0) {
            (Some(own), Some(later)) => {
                if !Arc::ptr_eq(&own, &later) {
                    later.merged_into(own.context());
                }
                Self(Some(own))
            }
            (own, later) => Self(own.or(later)),
        }
    }

    /// Begins a call of this plugin. Returns `None` if the event is not sampled.
    #[inline]
    pub fn begin_call(&self, plugin: &Arc<str>) -> Option<CallTrace> {
        let spans = self.0.as_ref()?;
        Some(CallTrace { spans: Arc::clone(spans), context: spans.begin_call(plugin) })
    }
}

impl fmt::Debug for EventTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(spans) => write!(f, "EventTrace({})", spans.context().traceparent()),
            None => f.write_str("EventTrace(not sampled)"),
        }
    }
}

// === impl CallTrace ===

impl CallTrace {
    /// The span of the call.
    pub fn context(&self) -> TraceContext {
        self.context
    }

    /// A new span below the span of the call. Report it with [`ended_as`](Self::ended_as).
    pub fn child(&self) -> TraceContext {
        TraceContext { span_id: self.spans.new_span_id(), ..self.context }
    }

    /// Reports a call of the guest to the host that began at `since` and ended now. `error` is a word of a fixed set.
    pub fn ended(&self, since: Instant, request: HostRequest<'_>, error: Option<&str>) {
        self.spans.host_call(HostCall { parent: self.context, span_id: None, since, request, error });
    }

    /// Like [`ended`](Self::ended), for a span whose number was sent to others.
    pub fn ended_as(&self, span_id: u64, since: Instant, request: HostRequest<'_>, error: Option<&str>) {
        let span_id = Some(span_id);
        self.spans.host_call(HostCall { parent: self.context, span_id, since, request, error });
    }
}

impl fmt::Debug for CallTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallTrace({})", self.context.traceparent())
    }
}

// === impl Observed ===

impl From<Instant> for Observed {
    fn from(at: Instant) -> Self {
        Self { at, trace: EventTrace::default() }
    }
}
