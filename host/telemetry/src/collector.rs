//! The way to a collector: OTLP over gRPC or HTTP.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_otlp::{
    ExporterBuildError, Protocol as Encoding, SpanExporter, WithExportConfig, WithHttpConfig, WithTonicConfig,
};
use opentelemetry_sdk::{Resource, trace::SpanExporter as _};
use tonic::transport::{ClientTlsConfig, Endpoint};

/// The longest time for a connection, and for a batch with all its retries.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
const SEND_WITHIN: Duration = Duration::from_secs(10);

/// The protocol of the collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP over gRPC. Its usual port is 4317.
    #[default]
    Grpc,
    /// OTLP over HTTP/1.1 with binary protobuf, at the path `/v1/traces`. Its usual port is 4318.
    Http,
}

/// The destination of spans, and the share of events that have spans.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The collector: scheme, host and port, without a path.
    pub endpoint: String,
    /// The protocol of the collector.
    pub protocol: Protocol,
    /// The share of events that are sampled, from 0 to 1.
    pub sample: f64,
}

/// Why an exporter cannot be made. The collector is not the reason, because no connection is made yet.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// The endpoint is no URL, or TLS cannot be used.
    #[error("the telemetry endpoint {endpoint} cannot be used")]
    Grpc {
        /// The endpoint.
        endpoint: String,
        /// The cause.
        #[source]
        source: tonic::transport::Error,
    },
    /// There is no client for HTTP.
    #[error("no HTTP client can be made for telemetry")]
    Http(#[source] reqwest::Error),
    /// OpenTelemetry refuses the settings.
    #[error("the telemetry settings cannot be used")]
    Settings(#[from] ExporterBuildError),
}

/// Makes the exporter that sends spans to this collector. The exporter connects when it sends the first batch. Must be called within a
/// tokio runtime.
pub(crate) fn connect(settings: &Settings) -> Result<SpanExporter, CollectorError> {
    let mut exporter = match settings.protocol {
        Protocol::Grpc => {
            let channel = endpoint(&settings.endpoint).map_err(|source| {
                let endpoint = settings.endpoint.clone();
                CollectorError::Grpc { endpoint, source }
            })?;
            SpanExporter::builder()
                .with_tonic()
                .with_channel(channel.connect_lazy())
                .with_timeout(SEND_WITHIN)
                .build()
        }
        Protocol::Http => SpanExporter::builder()
            .with_http()
            .with_http_client(http_client().map_err(CollectorError::Http)?)
            .with_protocol(Encoding::HttpBinary)
            .with_endpoint(format!("{}/v1/traces", settings.endpoint.trim_end_matches('/')))
            .with_timeout(SEND_WITHIN)
            .build(),
    }?;
    exporter.set_resource(&resource());
    Ok(exporter)
}

fn endpoint(url: &str) -> Result<Endpoint, tonic::transport::Error> {
    let endpoint =
        Endpoint::from_shared(url.to_owned())?.connect_timeout(CONNECT_WITHIN).timeout(SEND_WITHIN);
    if url.starts_with("https:") {
        return endpoint.tls_config(ClientTlsConfig::new().with_native_roots());
    }
    Ok(endpoint)
}

/// A client that follows no redirect and uses no proxy, as with gRPC.
fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    // TLS needs a provider for the process. If there is one already, it stays.
    tokio_rustls::rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::builder()
        .connect_timeout(CONNECT_WITHIN)
        .timeout(SEND_WITHIN)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
}

/// This program as the source of spans. `OTEL_RESOURCE_ATTRIBUTES` adds attributes.
fn resource() -> Resource {
    let instance = format!("{:032x}", fastrand::u128(..));
    Resource::builder()
        .with_service_name("informer")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("service.instance.id", instance))
        .build()
}
