//! `[telemetry]`: where traces of events go, and how many.

use std::sync::LazyLock;

use informer_telemetry::{Protocol, Settings};

use super::{
    context::{Context, useless},
    key::{Draft, Key, Section},
    value::{Choice, Endpoint, Number},
};

/// Enough to see the paths of events, and too little to be noticed: a hundredth.
const SAMPLE: f64 = 0.01;

/// `[telemetry]` as it is written.
#[derive(Clone, Debug)]
pub(super) struct TelemetryKeys {
    endpoint: Option<Endpoint>,
    protocol: Protocol,
    sample: f64,
}

type K<V> = Key<TelemetryKeys, V>;

pub(super) static TELEMETRY: LazyLock<Section<TelemetryKeys>> = LazyLock::new(|| {
    Section {
    doc: "Traces of events for OpenTelemetry. A trace begins when the event arrives on the watch and ends \
          when the handlers have returned. The host sends traces to a collector by OTLP. Without `endpoint` \
          there are no traces.",
    keys: vec![
        K::<Endpoint>::new("endpoint", |keys| &mut keys.endpoint).example("\"http://otel-collector.monitoring:4317\"").doc(
            "The collector: scheme, host and port. With https the host trusts the certificate authorities of \
             the system. OTEL_EXPORTER_OTLP_HEADERS in the environment names headers to send, such as a \
             token. If the collector is down, spans are dropped and counted, and nothing else changes.",
        ),
        K::<Protocol>::new("protocol", |keys| &mut keys.protocol)
            .doc("The protocol: OTLP over \"grpc\", or over \"http\" with binary protobuf."),
        K::<Number>::new("sample", |keys| &mut keys.sample).within((Number(0.0), Number(1.0))).doc(
            "The share of events that are traced. The host decides when the event arrives, so a trace is \
             complete or absent.",
        ),
    ],
}
});

impl Default for TelemetryKeys {
    fn default() -> Self {
        Self { endpoint: None, protocol: Protocol::default(), sample: SAMPLE }
    }
}

impl Choice for Protocol {
    const WORDS: &'static [(&'static str, Self)] = &[("grpc", Self::Grpc), ("http", Self::Http)];
}

/// Judges the keys that depend on one another. `None` means that there are no traces.
pub(super) fn telemetry(draft: Draft<TelemetryKeys>, context: &mut Context<'_, '_>) -> Option<Settings> {
    let default = TelemetryKeys::default();
    if draft.value.endpoint.is_none() && !draft.is_refused("endpoint") {
        let different = [
            ("protocol", draft.value.protocol != default.protocol),
            ("sample", draft.value.sample.to_bits() != default.sample.to_bits()),
        ];
        for (key, _) in different.into_iter().filter(|(_, different)| *different) {
            let message = format!("`{key}` has no effect without `endpoint`");
            let written = draft.written(key);
            useless(&mut context.problems, written, &message, "write `endpoint` too, or remove it");
        }
    }
    let TelemetryKeys { endpoint, protocol, sample } = draft.value;
    endpoint.map(|Endpoint(endpoint)| Settings { endpoint, protocol, sample })
}
