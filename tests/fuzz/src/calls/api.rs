//! An API server that checks each request against the grants by itself, and answers with objects that have marks.

use futures::future::{BoxFuture, ready};
use http::Method;
use informer_runtime::{
    Grants,
    capabilities::{ApiAnswer, ApiClient, ApiFailure, ApiRequest},
};
use informer_types::{Gvr, WriteVerb};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::{
    cache::NAMESPACES,
    marks::{self, Origin},
    plugin::PLUGIN,
};

/// The parameters that a request may have.
const PARAMETERS: [&str; 8] = [
    "limit",
    "labelSelector",
    "fieldSelector",
    "continue",
    "dryRun",
    "fieldManager",
    "force",
    "fieldValidation",
];

pub(super) struct Api(Grants);

/// What a request is about, read as kube-apiserver reads it (`RequestInfoFactory` of k8s.io/apiserver): the path is decoded
/// first and split afterwards.
#[derive(Debug)]
struct Info {
    gvr: Gvr,
    namespace: String,
    name: String,
    subresource: Option<String>,
}

// === impl Api ===

impl Api {
    pub(super) fn new(grants: Grants) -> Self {
        Self(grants)
    }

    fn check(&self, request: &ApiRequest, info: &Info) {
        let Self(grants) = self;
        let Info { gvr, namespace, name, subresource } = info;
        let subresource = subresource.as_deref();
        let may_write = |verbs: &[WriteVerb]| marks::may_write(grants, verbs, gvr, subresource, namespace);
        let creates = WriteVerb::Create;
        let granted = match request.method {
            Method::GET => {
                let read = grants.read.as_ref().unwrap();
                read.of(gvr, subresource).is_some_and(|namespaces| namespaces.contains(namespace))
            }
            Method::POST => may_write(&[creates]),
            Method::PUT => {
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                let has_uid = body["metadata"]["uid"].as_str().is_some_and(|uid| !uid.is_empty());
                may_write(&[WriteVerb::Update]) && (has_uid || subresource.is_some() || may_write(&[creates]))
            }
            Method::PATCH if request.content_type == Some("application/apply-patch+yaml") => {
                may_write(&[WriteVerb::Apply])
            }
            // The host raises the count of an Event that it created for the plugin.
            Method::PATCH if gvr.resource == "events" && may_write(&[creates]) => true,
            Method::PATCH => may_write(&[WriteVerb::Patch]),
            Method::DELETE => may_write(&[WriteVerb::Delete]),
            _ => false,
        };
        let (request, sent) = (format!("{} {}", request.method, request.path), &request.body);
        assert!(granted, "{request} is sent with {grants:?}, and is about {info:?}");
        if gvr.is_secrets() {
            // A creation has the name in its body.
            let body: Value = serde_json::from_slice(sent).unwrap_or_default();
            let name =
                if name.is_empty() { body["metadata"]["name"].as_str().unwrap_or_default() } else { name };
            let one = !name.is_empty() && grants.secrets.contains(namespace, name);
            let all = grants.secrets.contain_all((!namespace.is_empty()).then_some(namespace));
            assert!(one || all, "{request} is sent with {grants:?}");
        }
    }
}

impl ApiClient for Api {
    fn send(&self, request: ApiRequest) -> BoxFuture<'_, Result<ApiAnswer, ApiFailure>> {
        assert_eq!(&*request.plugin, PLUGIN);
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (key, _) = parameter.split_once('=').unwrap();
            assert!(PARAMETERS.contains(&key), "{}", request.path);
        }
        assert_eq!(request.content_type.is_some(), request.method != Method::GET);
        if request.content_type.is_some() {
            assert!(serde_json::from_slice::<Value>(&request.body).is_ok(), "{request:?}");
        }
        let info = Info::of(path).unwrap_or_else(|| panic!("{path:?} names nothing"));
        self.check(&request, &info);
        let answer = ApiAnswer { status: 200, retry_after: None, body: info.answer().to_string().into() };
        Box::pin(ready(Ok(answer)))
    }
}

// === impl Info ===

impl Info {
    fn of(path: &str) -> Option<Self> {
        let decoded = percent_decode_str(path).decode_utf8().ok()?;
        let parts: Vec<&str> = decoded.strip_prefix('/')?.split('/').collect();
        assert!(parts.iter().all(|part| !matches!(*part, "" | "." | "..")), "{path:?}");
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", rest),
            ["namespaces", namespace, rest @ ..] => (*namespace, rest),
            _ => ("", rest),
        };
        let (resource, name, subresource) = match rest {
            [resource] => (*resource, "", None),
            [resource, name] => (*resource, *name, None),
            [resource, name, subresource] => (*resource, *name, Some((*subresource).to_owned())),
            _ => return None,
        };
        let gvr = Gvr::new(group, version, resource);
        Some(Self { gvr, namespace: namespace.to_owned(), name: name.to_owned(), subresource })
    }

    fn answer(&self) -> Value {
        let Self { gvr, namespace, name, .. } = self;
        if !name.is_empty() {
            return marks::object(Origin::Server, gvr, namespace, name);
        }
        let namespaces = NAMESPACES.iter().filter(|found| namespace.is_empty() || *found == namespace);
        json!({
            "apiVersion": gvr.api_version(),
            "kind": format!("{}List", marks::kind(gvr)),
            "metadata": {"resourceVersion": "9"},
            "items": namespaces.map(|namespace| marks::object(Origin::Server, gvr, namespace, "web")).collect::<Vec<_>>(),
        })
    }
}
