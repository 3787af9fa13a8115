//! The attributes of spans. Those of OpenTelemetry's semantic conventions have their names; the others begin with
//! `informer.`.

use std::sync::Arc;

use informer_types::{Gvr, HostRequest, SeenEvent, Source};
use opentelemetry::{KeyValue, StringValue};

/// The resources that the semantic conventions have an attribute for, by group and plural name.
const KUBERNETES: [(&str, &str, &str); 12] = [
    ("", "pods", "k8s.pod.name"),
    ("", "nodes", "k8s.node.name"),
    ("", "namespaces", "k8s.namespace.name"),
    ("", "replicationcontrollers", "k8s.replicationcontroller.name"),
    ("", "resourcequotas", "k8s.resourcequota.name"),
    ("apps", "deployments", "k8s.deployment.name"),
    ("apps", "replicasets", "k8s.replicaset.name"),
    ("apps", "statefulsets", "k8s.statefulset.name"),
    ("apps", "daemonsets", "k8s.daemonset.name"),
    ("batch", "jobs", "k8s.job.name"),
    ("batch", "cronjobs", "k8s.cronjob.name"),
    ("autoscaling", "horizontalpodautoscalers", "k8s.hpa.name"),
];

/// An attribute with a text.
pub(crate) fn text(key: &'static str, value: impl Into<StringValue>) -> KeyValue {
    let value: StringValue = value.into();
    KeyValue::new(key, value)
}

/// An attribute with a number.
pub(crate) fn number(key: &'static str, value: u64) -> KeyValue {
    KeyValue::new(key, i64::try_from(value).unwrap_or(i64::MAX))
}

/// The plugin that a span is about.
pub(crate) fn plugin(name: &Arc<str>) -> KeyValue {
    text("informer.plugin", Arc::clone(name))
}

/// The object of an event, and the event.
pub(crate) fn event(source: &Source, event: &SeenEvent<'_>) -> Vec<KeyValue> {
    let SeenEvent { namespace, name, verb, version } = *event;
    let mut attributes = vec![
        text("informer.resource", source.to_string()),
        text("informer.event", verb.as_str()),
        text("informer.object.name", name.to_owned()),
        text("informer.object.resource_version", version.to_owned()),
    ];
    if !namespace.is_empty() {
        attributes.push(text("k8s.namespace.name", namespace.to_owned()));
    }
    if let Some(key) = convention(source.gvr()) {
        attributes.push(text(key, name.to_owned()));
    }
    attributes
}

fn convention(gvr: &Gvr) -> Option<&'static str> {
    let is = |(group, resource): (&str, &str)| *gvr.group == *group && *gvr.resource == *resource;
    KUBERNETES.iter().find(|(group, resource, _)| is((group, resource))).map(|(.., key)| *key)
}

/// The name of the span of a call to the host, its attributes, and whether it leaves the process.
pub(crate) fn request(request: &HostRequest<'_>) -> (&'static str, Vec<KeyValue>, bool) {
    let status =
        |status: Option<u16>| status.map(|status| number("http.response.status_code", status.into()));
    match *request {
        HostRequest::Api { method, path, status: answered } => {
            let about = [text("http.request.method", method.to_owned()), text("url.path", path.to_owned())];
            ("api request", about.into_iter().chain(status(answered)).collect(), true)
        }
        HostRequest::Http { method, https, host, port, status: answered } => {
            let about = [
                text("http.request.method", method.to_owned()),
                text("url.scheme", if https { "https" } else { "http" }),
                text("server.address", host.to_owned()),
                number("server.port", port.into()),
            ];
            ("http request", about.into_iter().chain(status(answered)).collect(), true)
        }
        HostRequest::KeyValue { operation } => {
            ("key-value call", vec![text("informer.operation", operation)], false)
        }
    }
}
