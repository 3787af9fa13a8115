use serde_json::json;

use super::*;

#[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
fn read(config: Value) -> Result<Settings, String> {
    Settings::read(&config.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
#[track_caller]
fn refused(config: Value, why: &str) {
    let Err(error) = read(config.clone()) else { panic!("{config} is accepted") };
    assert!(error.contains(why), "{error}");
}

/// A configuration as the documentation of the original shows it.
const YAML: &str = r#"
logLevel: error
logFormat: json
maxEventAgeSeconds: 60
clusterName: ${CLUSTER}
kubeQPS: 100
kubeBurst: 500
route:
  routes:
    - match:
        - receiver: "dump"
    - drop:
        - namespace: ".*test.*"
        - type: "Normal"
      match:
        - receiver: "alerts"
receivers:
  - name: "dump"
    stdout:
  - name: "alerts"
    webhook:
      endpoint: "https://alerts.example.com/${API_KEY}"
      headers:
        X-API-KEY: "${API_KEY}"
        User-Agent: kube-event-exporter 1.0
      layout:
        message: "{{ .Message }}"
        details:
          - kind: "{{ .InvolvedObject.Kind }}"
            fixed: 1
      tls:
        insecureSkipVerify: false
"#;

#[test]
fn a_mounted_file_of_the_original_is_read_as_it_is() {
    let settings =
        read(json!({"config.yaml": YAML, "API_KEY": "s3cret\n", "CLUSTER": "prod", "other": "x"})).unwrap();

    assert_eq!((settings.max_age, settings.cluster_name.as_str()), (Duration::from_secs(60), "prod"));
    assert_eq!(settings.receivers.keys().collect::<Vec<_>>(), ["alerts", "dump"]);
    assert_eq!(settings.route.named(), ["dump", "alerts"]);
    let remarks = settings.remarks.join("\n");
    for key in ["logLevel", "logFormat", "kubeQPS", "kubeBurst"] {
        assert!(remarks.contains(&format!("`{key}` has no effect here")), "{remarks}");
    }
    assert!(remarks.ends_with("`other` is neither a key nor used as `${other}`"), "{remarks}");
}

#[test]
fn the_defaults_are_those_of_the_original() {
    let settings = read(json!({})).unwrap();

    assert_eq!((settings.max_age, settings.omit_lookup), (Duration::from_secs(5), false));
    assert_eq!((settings.cluster_name.as_str(), settings.namespace.as_str()), ("", ""));
    assert_eq!(settings.metrics_prefix, "event_exporter_");
    assert_eq!(read(json!({"throttlePeriod": 9})).unwrap().max_age, Duration::from_secs(9));
}

#[test]
fn a_mounted_file_may_have_anchors_and_texts_of_several_lines() {
    let file = "
x: &hook {endpoint: 'http://a'}
receivers:
  - {name: a, webhook: {<<: *hook, headers: {X: y}}}
  - name: b
    webhook:
      endpoint: http://b
      layout:
        text: |
          two
          lines
        number: 1.5
        empty: ~
";
    let read = yaml::parse(file).unwrap();

    let layout = json!({"text": "two\nlines\n", "number": 1.5, "empty": null});
    assert_eq!(read["receivers"][0]["webhook"], json!({"endpoint": "http://a", "headers": {"X": "y"}}));
    assert_eq!(read["receivers"][1]["webhook"]["layout"], layout);
    assert_eq!(yaml::parse("").unwrap(), Map::new());
}

/// The documentation of the original has keys without values, such as `username`. Its example has `streamName` of a webhook.
#[test]
fn an_empty_key_counts_as_absent_and_a_key_that_the_original_ignores_is_accepted() {
    let file = "
route:
  match:
    - kind:
      minCount:
      receiver: dump
receivers:
  - name: dump
    elasticsearch:
      hosts: ['http://a:9200']
      index: events
      username:
      cloudID:
      useEventID:
      deDot:
      layout:
      tls:
        serverName:
  - name: out
    stdout:
      deDot:
  - name: pipe
    webhook:
      endpoint: http://b
      streamName: applicationMetric
";
    let settings = read(json!({"config.yaml": file})).unwrap();

    assert_eq!(settings.receivers.keys().collect::<Vec<_>>(), ["dump", "out", "pipe"]);
}

#[test]
fn a_name_without_small_letters_needs_no_braces_if_there_is_such_a_file() {
    let name = "$API_KEY/$API_KEYS/${API_KEY}s $key $ $$API_KEY";
    let settings = read(json!({"API_KEY": "s3cret", "key": "x", "clusterName": name})).unwrap();

    assert_eq!(settings.cluster_name, "s3cret/$API_KEYS/s3crets $key $ $s3cret");
    assert_eq!(settings.remarks, ["`key` is neither a key nor used as `${key}`"]);
}

#[test]
fn a_configuration_with_a_mistake_is_refused_with_the_reason() {
    let receiver = |receiver: Value| json!({"receivers": [receiver]});
    let webhook = |webhook: Value| receiver(json!({"name": "w", "webhook": webhook}));

    refused(json!({"receivrs": []}), "unknown key `receivrs`; the keys are");
    refused(json!({"config.yaml": "rout: {}"}), "unknown key `rout` in the mounted file");
    refused(json!({"config.yaml": "a: ["}), "config.yaml: ");
    refused(json!({"config.yaml": "- a"}), "config.yaml: it is not a mapping");
    refused(json!({"config.yaml": "route: {}\nroute: {}"}), "config.yaml: ");
    refused(json!({"config.yaml": "route: {}", "route": {}}), "`route` is both in");
    refused(json!({"throttlePeriod": 1, "maxEventAgeSeconds": 1}), "old name");
    refused(json!({"clusterName": "${NAME}"}), "`${NAME}` is not defined");
    refused(json!({"route": {"match": [{"receiver": "a"}]}}), "the receiver `a`, which is not in");
    refused(receiver(json!({"name": "a/b", "stdout": {}})), "no `/`");
    refused(receiver(json!({"name": "a"})), "exactly one kind");
    refused(receiver(json!({"name": "a", "stdout": {}, "webhook": {}})), "exactly one kind");
    refused(receiver(json!({"name": "a", "kafka": {}})), "kafka: a plugin sends HTTP requests only");
    refused(receiver(json!({"name": "a", "carrier-pigeon": {}})), "there is no such kind");
    refused(receiver(json!({"name": "a", "stdout": {"deDott": true}})), "unknown field `deDott`");
    refused(
        json!({"receivers": [{"name": "a", "stdout": {}}, {"name": "a", "stdout": {}}]}),
        "another receiver has this name",
    );
    refused(webhook(json!({})), "receiver `w`: webhook: missing field `endpoint`");
    refused(webhook(json!({"endpoint": "alerts"})), "an address begins with");
    refused(webhook(json!({"endpoint": "http://a", "layout": {"a": ["{{ .B"]}})), "the template `{{ .B`");
    refused(
        webhook(json!({"endpoint": "http://a", "tls": {"insecureSkipVerify": true}})),
        "tls.insecureSkipVerify is not supported",
    );
    let elastic = |table: Value| receiver(json!({"name": "e", "elasticsearch": table}));
    refused(elastic(json!({"index": "a"})), "`hosts` lists at least one address");
    refused(elastic(json!({"hosts": ["http://a"]})), "`index` or `indexFormat`");
    refused(elastic(json!({"cloudID": "x", "index": "a"})), "cloudID is not");
}

/// The error is in the log and in the status of the host.
#[test]
fn an_error_shows_no_text_of_a_mounted_file_and_no_value_of_a_wrong_type() {
    let config = |webhook: Value| json!({"KEY": "hunter2", "receivers": [{"name": "w", "webhook": webhook}]});
    let error = |webhook: Value| read(config(webhook)).err().unwrap();

    let headers = json!({"Authorization": "Bearer ${KEY} {{ .A"});
    let refused = error(json!({"endpoint": "http://a", "headers": headers}));
    assert!(refused.contains("the template `Bearer ${KEY} {{ .A`"), "{refused}");
    for webhook in [json!("${KEY}"), json!({"endpoint": "http://a", "headers": "${KEY}"})] {
        let refused = error(webhook);
        assert!(refused.contains("invalid type: string, expected "), "{refused}");
    }
    let loki = json!({"receivers": [{"name": "l", "loki": {"url": "http://a", "password": 4711}}]});
    let why = "receiver `l`: loki: invalid type: integer, expected a string; write it in quotes";
    assert_eq!(read(loki).err().unwrap(), why);
}

#[test]
fn an_error_shows_no_rest_of_a_text_that_begins_with_another_one() {
    let webhook = json!({"endpoint": "http://a", "headers": {"Authorization": "${LONG} {{ .A"}});
    let receivers = json!([{"name": "w", "webhook": webhook}]);
    let config = json!({"LONG": "hunter-secret", "A": "hunter", "receivers": receivers});

    let refused = read(config).err().unwrap();

    assert!(refused.contains("the template `${LONG} {{ .A`"), "{refused}");
}
