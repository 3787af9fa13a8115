//! Traces of events for OpenTelemetry: which events are sampled, their spans, and how spans reach a collector by OTLP.
//!
//! 1. [`Spans`] decides at the frame of a watch whether an event is sampled, and begins its trace.
//! 2. The stages pass the trace on with the event ([`EventTrace`](informer_types::EventTrace)). Each decision becomes a span
//!    when it is made, and the event itself when it is over.
//! 3. Spans go to a bounded queue. A span that finds no room is dropped and counted: no stage ever waits.
//! 4. [`Exporter`] sends them in batches, over gRPC or HTTP.
//!
//! Attributes are names, versions, numbers and words of this code, never a part of an object's body, nor the text of a
//! failure.
#![forbid(unsafe_code)]

mod attributes;
mod collector;
mod event;
mod exporter;
mod outbox;
mod spans;

pub use collector::{CollectorError, Protocol, Settings};
pub use exporter::{Exporter, Pending};
pub use outbox::{Standing, Stats};
pub use spans::Spans;
