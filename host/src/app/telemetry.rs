//! The observers of the decisions of the stages: the memory of steps for `informer explain`, and the traces for OpenTelemetry.

use std::{num::NonZeroUsize, sync::Arc};

use informer_telemetry::{CollectorError, Exporter, Pending, Settings, Spans};
use informer_types::{EventTrace, SeenEvent, Source, TraceSink, Traced, Tracer};

use super::trace::Trace;

/// The observers that the configuration requests.
pub(super) struct Observers {
    /// The steps of objects; `None` if none are kept.
    pub(super) trace: Option<Arc<Trace>>,
    /// The exporter of spans, if there is one, and the spans that wait for it.
    pub(super) exporter: Option<(Exporter, Pending)>,
    /// The tracer that the stages write to.
    pub(super) tracer: Tracer,
}

/// Keeps the steps, if any are kept, and begins the traces. It is used only if traces are exported.
struct Both {
    trace: Option<Arc<Trace>>,
    spans: Spans,
}

// === impl Observers ===

impl Observers {
    /// Remembers this number of steps, and sends traces as configured. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`CollectorError`] if the settings of the collector cannot be used.
    pub(super) fn new(steps: u32, telemetry: Option<&Settings>) -> Result<Self, CollectorError> {
        let trace = NonZeroUsize::new(steps as usize).map(|steps| Arc::new(Trace::new(steps)));
        let Some(settings) = telemetry else {
            let tracer =
                trace.as_ref().map_or_else(Tracer::default, |trace| Tracer::new(Arc::clone(trace) as _));
            return Ok(Self { trace, exporter: None, tracer });
        };
        let (exporter, spans, pending) = Exporter::new(settings)?;
        tracing::info!(endpoint = exporter.endpoint(), sample = settings.sample, "events are traced");
        let tracer = Tracer::new(Arc::new(Both { trace: trace.clone(), spans }));
        Ok(Self { trace, exporter: Some((exporter, pending)), tracer })
    }
}

impl TraceSink for Both {
    fn record(&self, traced: Traced) {
        if let Some(trace) = &self.trace {
            trace.record(traced);
        }
    }

    fn begin_event(&self, source: &Source, event: &SeenEvent<'_>) -> EventTrace {
        self.spans.begin(source, event)
    }
}
