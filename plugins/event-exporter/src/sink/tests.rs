use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::{
    http::{Answer, Request, Verdict},
    record::Record,
};

fn now() -> Timestamp {
    "2026-05-02T00:00:00Z".parse().unwrap()
}

fn record(uid: &str, count: u64) -> Record {
    Record::new(json!({
        "metadata": {"namespace": "shop", "name": "web.1", "uid": uid},
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web",
            "labels": {"app.kubernetes.io/name": "web", "owner": "ann"},
        },
        "reason": "BackOff", "type": "Warning", "message": "Back-off", "count": count,
        "firstTimestamp": "2026-05-01T12:00:00Z", "lastTimestamp": "2026-05-01T12:05:00Z",
    }))
}

fn sink(kind: &str, table: Value) -> Box<dyn Sink> {
    match Destination::new(kind, table).unwrap() {
        Destination::Http(sink) => sink,
        Destination::Stdout(_) => panic!("stdout gets no requests"),
    }
}

fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    let mut own = request.headers.iter().filter(|(own, _)| own == name);
    let found = own.next().map(|(_, value)| value.as_str());
    assert_eq!(own.next(), None, "{name} is sent once");
    found
}

fn body(request: &Request) -> Value {
    serde_json::from_str(&request.body).unwrap()
}

fn answered(status: u16, body: &str) -> Answer {
    Answer { status, body: body.to_owned(), ..Answer::default() }
}

#[test]
fn stdout_prints_a_line_of_json() {
    let line = |table: Value| {
        let Ok(Destination::Stdout(stdout)) = Destination::new("stdout", table) else { panic!("no stdout") };
        serde_json::from_str::<Value>(&stdout.line(&record("u", 1)).unwrap()).unwrap()
    };

    assert_eq!(line(Value::Null), *record("u", 1).document());
    assert_eq!(line(json!({"deDot": true}))["involvedObject"]["labels"]["app_kubernetes_io/name"], "web");
    assert_eq!(line(json!({"layout": {"m": "{{ .Message }}"}})), json!({"m": "Back-off"}));
}

/// The host cuts a longer line, and half of a line is no JSON.
#[test]
fn stdout_refuses_a_line_that_the_log_would_cut() {
    let line = |times: usize| {
        // Each quotation mark takes two bytes in JSON.
        let layout = json!({"m": format!("{{{{ repeat {times} \"'\" | replace \"'\" `\"` }}}}")});
        let Ok(Destination::Stdout(stdout)) = Destination::new("stdout", json!({"layout": layout})) else {
            panic!("no stdout")
        };
        stdout.line(&record("u", 1))
    };

    assert_eq!(line(30_000).unwrap().len(), 60_008);
    let why =
        "the line has 80008 bytes, and at most 61440 fit into the log; shorten it by a `layout` with `trunc`";
    assert_eq!(line(40_000).unwrap_err(), why);
}

#[test]
fn a_webhook_gets_the_layout_and_headers_of_templates() {
    let webhook = sink(
        "webhook",
        json!({
            "endpoint": "https://u:p@hooks.example.com/in?key=1",
            "headers": {"X-Reason": "{{ .Reason }}", "User-Agent": "exporter 1.0"},
            "layout": {
                "at": "{{ .GetTimestampMs }}",
                "details": {"labels": "{{ toJson .InvolvedObject.Labels }}", "list": ["{{ .Type }}", 7, true]},
            },
        }),
    );

    let request = webhook.request(&[record("u", 1)], 1).unwrap();

    assert_eq!(
        (request.url.to_string().as_str(), request.url.path.as_str()),
        ("https://hooks.example.com", "/in?key=1")
    );
    assert_eq!(header(&request, "X-Reason"), Some("BackOff"));
    assert_eq!(header(&request, "Content-Type"), Some("application/json"));
    assert_eq!(header(&request, "Authorization"), Some("Basic dTpw"));
    let labels = r#"{"app.kubernetes.io/name":"web","owner":"ann"}"#;
    let expected = json!({
        "at": "1777636800000",
        "details": {"labels": labels, "list": ["Warning", 7, true]},
    });
    assert_eq!(body(&request), expected);
    assert_eq!((webhook.batch(), webhook.takes_updates()), (1, true));

    let whole = sink("webhook", json!({"endpoint": "http://a", "sentUpdateEvent": false}));
    assert_eq!(body(&whole.request(&[record("u", 1)], 1).unwrap()), *record("u", 1).document());
    assert!(!whole.takes_updates());

    let wrong = sink("webhook", json!({"endpoint": "http://a", "layout": {"x": "{{ .Message.Foo }}"}}));
    assert!(wrong.request(&[record("u", 1)], 1).unwrap_err().starts_with("layout: "));
}

#[test]
fn loki_gets_streams_with_times_in_nanoseconds() {
    let loki = sink(
        "loki",
        json!({
            "url": "http://loki:3100/loki/api/v1/push", "username": "u", "password": "p",
            "headers": {"X-Scope-OrgID": "tenant"},
            "streamLabels": {"job": "events", "namespace": "{{ .Namespace }}"},
            "layout": {"reason": "{{ .Reason }}"},
        }),
    );
    let mut other = record("v", 1);
    other.set("metadata", json!({"namespace": "blog"}));

    let request = loki.request(&[record("u", 1), other, record("u", 2)], 1).unwrap();

    let line = r#"{"reason":"BackOff"}"#;
    let entry = json!(["1777637100000000000", line]);
    let expected = json!({"streams": [
        {"stream": {"job": "events", "namespace": "blog"}, "values": [entry]},
        {"stream": {"job": "events", "namespace": "shop"}, "values": [entry, entry]},
    ]});
    assert_eq!(body(&request), expected);
    assert_eq!(header(&request, "X-Scope-OrgID"), Some("tenant"));
    assert_eq!(header(&request, "Authorization"), Some("Basic dTpw"));
    assert_eq!(loki.batch(), 100);
    let by_event = json!({"url": "http://a", "headers": {"X-Scope-OrgID": "{{ .Namespace }}"}});
    assert_eq!(sink("loki", by_event).batch(), 1, "one request has one set of headers");
}

#[test]
fn loki_gets_one_authorization() {
    let authorization = |more: Value| {
        let mut table = json!({"url": "http://of:url@loki/push"});
        table.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let request = sink("loki", table).request(&[record("u", 1)], 1).unwrap();
        let is_it = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("authorization");
        let sent: Vec<&str> = request.headers.iter().filter(is_it).map(|(_, value)| value.as_str()).collect();
        sent.join(" and ")
    };
    let name = json!({"username": "u", "password": "p"});
    assert_eq!(authorization(json!({})), "Basic b2Y6dXJs");
    assert_eq!(authorization(name.clone()), "Basic dTpw");
    assert_eq!(
        authorization(json!({"username": "", "password": ""})),
        "Basic b2Y6dXJs",
        "no name is no header"
    );
    for header in ["Authorization", "authorization"] {
        let mut both = name.clone();
        both["headers"] = json!({header: "Bearer token"});
        assert_eq!(authorization(both), "Bearer token", "{header}");
    }
}

#[test]
fn a_header_that_the_host_writes_is_refused_at_the_start() {
    for name in ["Host", "content-length", "Connection", "Transfer-Encoding", "a b", ""] {
        for kind in ["webhook", "teams", "loki", "elasticsearch"] {
            let table = json!({
                "endpoint": "http://a", "url": "http://a", "hosts": ["http://a"], "index": "i", "headers": {name: "x"},
            });
            let keys: &[&str] = match kind {
                "webhook" | "teams" => &["endpoint", "headers"],
                "loki" => &["url", "headers"],
                _ => &["hosts", "index", "headers"],
            };
            let fits = |(key, _): &(&String, &Value)| keys.contains(&key.as_str());
            let fields = table.as_object().unwrap().iter().filter(fits);
            let table: Map<String, Value> = fields.map(|(key, value)| (key.clone(), value.clone())).collect();
            let refused = Destination::new(kind, Value::Object(table)).err().unwrap();
            assert!(refused.contains(&format!("headers.{name}: ")), "{refused}");
        }
    }
}

#[test]
fn elasticsearch_gets_a_bulk_request_at_one_host_after_the_other() {
    let elastic = sink(
        "elasticsearch",
        json!({
            "hosts": ["http://es-1:9200", "http://es-2:9200/"], "apiKey": "key",
            "indexFormat": "events-{{ .Namespace }}-{2006-01-02}", "deDot": true,
            "layout": {"labels": "{{ toJson .InvolvedObject.Labels }}"},
        }),
    );

    let request = elastic.request(&[record("u", 3), record("v", 1)], 2).unwrap();

    let lines: Vec<Value> = request.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let document = json!({"labels": r#"{"app_kubernetes_io/name":"web","owner":"ann"}"#});
    let action = |id: &str| json!({"create": {"_index": "events-shop-2026-05-01", "_id": id}});
    let (first, second) = (action("u.3.1777637100000"), action("v.1.1777637100000"));
    assert_eq!(lines, [first, document.clone(), second, document]);
    assert!(request.body.ends_with('\n'));
    assert_eq!((request.url.authority.as_str(), request.url.path.as_str()), ("es-2:9200", "/_bulk"));
    assert_eq!(header(&request, "Authorization"), Some("ApiKey key"));
    assert_eq!(header(&request, "Content-Type"), Some("application/x-ndjson"));
}

#[test]
fn each_occurrence_has_a_document_of_its_own_in_elasticsearch() {
    let elastic = sink("elasticsearch", json!({"hosts": ["http://es"], "index": "events"}));
    let id = |record: Record| {
        let request = elastic.request(&[record], 1).unwrap();
        let action: Value = serde_json::from_str(request.body.lines().next().unwrap()).unwrap();
        action["create"]["_id"].as_str().unwrap().to_owned()
    };
    let mut later = record("u", 1);
    later.set("lastTimestamp", json!("2026-05-01T12:06:00Z"));

    assert_eq!(id(record("u", 1)), id(record("u", 1)));
    assert_ne!(id(record("u", 1)), id(record("u", 2)));
    assert_ne!(id(record("u", 1)), id(later));
    let without_time = || Record::new(json!({"metadata": {"uid": "u"}}));
    assert_eq!(id(without_time()), id(without_time()));
}

#[test]
fn opensearch_may_replace_the_document_of_an_event_and_have_a_type() {
    let table = json!({
        "hosts": ["https://os"], "index": "events", "useEventID": true, "type": "event",
        "username": "u", "password": "p",
    });
    let request = sink("opensearch", table).request(&[record("u", 3)], 1).unwrap();

    let action: Value = serde_json::from_str(request.body.lines().next().unwrap()).unwrap();
    assert_eq!(action, json!({"index": {"_index": "events", "_id": "u", "_type": "event"}}));
    assert_eq!(header(&request, "Authorization"), Some("Basic dTpw"));

    let cloud = json!({"cloudID": "prod:ZXUuZXhhbXBsZS5jb20kYWJjJGRlZg==", "index": "events"});
    let request = sink("elasticsearch", cloud).request(&[record("u", 1)], 1).unwrap();
    assert_eq!(request.url.to_string(), "https://abc.eu.example.com:443");
}

#[test]
fn the_answer_to_a_bulk_request_judges_each_document() {
    let elastic = sink("elasticsearch", json!({"hosts": ["http://es"], "index": "events"}));
    let judge = |status, body: &Value| elastic.judge(&answered(status, &body.to_string()), 3, now());
    let item = |status: u16| json!({"create": {"status": status, "error": {"type": "x"}}});

    assert_eq!(judge(200, &json!({"errors": false, "items": []})), vec![Verdict::Sent; 3]);
    let verdicts = judge(200, &json!({"errors": true, "items": [item(503), item(429), item(400)]}));
    assert!(
        matches!(verdicts.as_slice(), [Verdict::Later(..), Verdict::Busy(..), Verdict::Never(why)] if why.contains("400")),
        "{verdicts:?}"
    );
    let busy = json!({"errors": true, "items": [item(201), item(429), item(503)]}).to_string();
    let named = Answer { retry_after: Some("30".to_owned()), ..answered(200, &busy) };
    let pause = Some(Duration::from_secs(30));
    assert!(
        matches!(elastic.judge(&named, 3, now()).as_slice(),
            [Verdict::Sent, Verdict::Busy(_, busy), Verdict::Later(_, later)] if (*busy, *later) == (pause, pause)),
        "the time that the answer names counts for its documents"
    );
    // The second document exists, because an earlier request stored it.
    let verdicts = judge(200, &json!({"errors": true, "items": [item(201), item(409), item(201)]}));
    assert_eq!(verdicts, vec![Verdict::Sent; 3]);
    let replaces = |status: u16| json!({"index": {"status": status}});
    let replaced = json!({"errors": true, "items": [replaces(200), replaces(409), replaces(201)]});
    assert!(matches!(judge(200, &replaced).as_slice(), [Verdict::Sent, Verdict::Never(_), Verdict::Sent]));
    assert!(matches!(judge(200, &json!("what")).as_slice(), [Verdict::Later(..), ..]));
    assert!(matches!(
        judge(200, &json!({"errors": true, "items": [{}]})).as_slice(),
        [Verdict::Later(..), ..]
    ));
    assert!(matches!(judge(503, &json!({})).as_slice(), [Verdict::Later(..), ..]));
    assert!(matches!(judge(401, &json!({})).as_slice(), [Verdict::Never(..), ..]));
}

#[test]
fn slack_gets_a_message_with_fields_and_its_answer_is_read() {
    let slack = sink(
        "slack",
        json!({
            "token": "xoxb-1", "channel": "@{{ .InvolvedObject.Labels.owner }}", "message": "{{ .Message }}",
            "color": "#f00", "author_name": "{{ .Reason }}",
            "fields": {"namespace": "{{ .Namespace }}", "object": "{{ .InvolvedObject.Name }}"},
        }),
    );

    let request = slack.request(&[record("u", 1)], 1).unwrap();

    let expected = json!({
        "channel": "@ann", "text": "Back-off",
        "attachments": [{"color": "#f00", "author_name": "BackOff", "fields": [
            {"title": "namespace", "value": "shop", "short": false},
            {"title": "object", "value": "web", "short": false},
        ]}],
    });
    assert_eq!(body(&request), expected);
    assert_eq!(
        (request.url.to_string(), request.url.path.as_str()),
        ("https://slack.com".into(), "/api/chat.postMessage")
    );
    assert_eq!(header(&request, "Authorization"), Some("Bearer xoxb-1"));
    let judge = |body: &str| slack.judge(&answered(200, body), 1, now());
    assert_eq!(judge(r#"{"ok": true}"#), [Verdict::Sent]);
    let never = Verdict::Never("Slack answered channel_not_found".to_owned());
    assert_eq!(judge(r#"{"ok": false, "error": "channel_not_found"}"#), [never]);
    assert!(matches!(judge(r#"{"ok": false, "error": "fatal_error"}"#).as_slice(), [Verdict::Later(..)]));
    assert!(matches!(judge(r#"{"ok": false, "error": "ratelimited"}"#).as_slice(), [Verdict::Busy(..)]));
    assert!(matches!(slack.judge(&answered(429, ""), 1, now()).as_slice(), [Verdict::Busy(..)]));
}

#[test]
fn slack_gets_an_escaped_text_and_an_attachment_only_with_fields() {
    let message = |fields: Value| {
        let table = json!({
            "token": "t", "channel": "c", "message": "<!channel> a & {{ .Message }}",
            "title": "<t>", "fields": fields,
        });
        body(&sink("slack", table).request(&[record("u", 1)], 1).unwrap())
    };

    let text = "&lt;!channel&gt; a &amp; Back-off";
    assert_eq!(message(Value::Null), json!({"channel": "c", "text": text}));
    let fields = json!([{"title": "f", "value": "<a & b>", "short": false}]);
    let expected = json!({"channel": "c", "text": text, "attachments": [{"title": "<t>", "fields": fields}]});
    assert_eq!(message(json!({"f": "<a & b>"})), expected);
}

#[test]
fn teams_gets_a_text_or_the_message_of_the_layout() {
    let plain = sink("teams", json!({"endpoint": "https://teams.example/hook"}));
    let request = plain.request(&[record("u", 1)], 1).unwrap();
    let text = body(&request)["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("Event: Back-off \nStatus: BackOff \nMetadata: {"), "{text}");
    assert_eq!(body(&request)["summary"], "event");

    let card = json!({"type": "message", "attachments": [{"content": {"body": "{{ .Reason }}"}}]});
    let own = sink("teams", json!({"endpoint": "https://teams.example/hook", "layout": card}));
    let expected = json!({"type": "message", "attachments": [{"content": {"body": "BackOff"}}]});
    assert_eq!(body(&own.request(&[record("u", 1)], 1).unwrap()), expected);

    assert_eq!(plain.judge(&answered(200, "1"), 1, now()), [Verdict::Sent]);
    let limited = answered(200, "Microsoft Teams endpoint returned HTTP error 429 with ContextId x");
    let verdicts = plain.judge(&limited, 1, now());
    assert!(
        matches!(verdicts.as_slice(), [Verdict::Busy(_, Some(pause))] if *pause == Duration::from_secs(10)),
        "{verdicts:?}"
    );
}

#[test]
fn opsgenie_gets_an_alert() {
    let opsgenie = sink(
        "opsgenie",
        json!({
            "apiKey": "k", "priority": "P3", "message": "Event {{ .Reason }}", "alias": "{{ .UID }}",
            "description": "<pre>{{ toPrettyJson .InvolvedObject.Labels }}</pre>",
            "tags": ["event", "{{ .Type }}"], "details": {"kind": "{{ .InvolvedObject.Kind }}"},
        }),
    );

    let request = opsgenie.request(&[record("u", 1)], 1).unwrap();

    let alert = body(&request);
    assert_eq!(
        (&alert["message"], &alert["alias"], &alert["priority"]),
        (&json!("Event BackOff"), &json!("u"), &json!("P3"))
    );
    assert_eq!((&alert["tags"], &alert["details"]), (&json!(["event", "Warning"]), &json!({"kind": "Pod"})));
    assert!(alert["description"].as_str().unwrap().contains("\"owner\": \"ann\""));
    assert_eq!(header(&request, "Authorization"), Some("GenieKey k"));
    assert_eq!(
        (request.url.to_string(), request.url.path.as_str()),
        ("https://api.opsgenie.com".into(), "/v2/alerts")
    );
}

/// The SDK of the original adds the scheme to the host.
#[test]
fn the_address_of_opsgenie_may_be_a_host_and_may_be_empty() {
    let address = |url: Value| {
        let table = json!({"apiKey": "k", "message": "m", "URL": url});
        sink("opsgenie", table).request(&[record("u", 1)], 1).unwrap().url
    };

    for (text, expected) in [
        (json!("api.eu.opsgenie.com"), "https://api.eu.opsgenie.com"),
        (json!("http://localhost:8080/"), "http://localhost:8080"),
        (json!(""), "https://api.opsgenie.com"),
        (Value::Null, "https://api.opsgenie.com"),
    ] {
        let url = address(text.clone());
        assert_eq!((url.to_string().as_str(), url.path.as_str()), (expected, "/v2/alerts"), "{text}");
    }
}

/// Opsgenie refuses an alert with an empty priority.
#[test]
fn an_empty_text_of_an_alert_or_a_message_counts_as_absent() {
    let request = |kind: &str, table: Value| body(&sink(kind, table).request(&[record("u", 1)], 1).unwrap());

    let alert = request(
        "opsgenie",
        json!({"apiKey": "k", "message": "m", "priority": "", "alias": "", "description": "{{ .Nothing }}"}),
    );
    assert_eq!(alert, json!({"message": "m", "tags": [], "details": {}}));

    let table = json!({"token": "t", "channel": "c", "message": "m", "color": "", "fields": {"f": ""}});
    let fields = json!([{"title": "f", "value": "", "short": false}]);
    assert_eq!(
        request("slack", table),
        json!({"channel": "c", "text": "m", "attachments": [{"fields": fields}]})
    );
}
