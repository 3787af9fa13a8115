use std::sync::Arc;

use informer_runtime::Subject;
use informer_types::{Body, Header, KeyedVersion, Object, Source};

use super::*;
use crate::logging::testing;

fn written(stream: LogStream, message: &str, fields: &[(String, String)]) -> String {
    let line = LogLine { plugin: "scaler", stream, level: LogLevel::Info, message, fields, subject: None };
    testing::written(false, || PluginLog.line(&line))
}

#[test]
fn a_line_of_a_plugin_is_one_line_of_the_log() {
    let fields = [("key".to_owned(), "v".repeat(100))];
    let forged = "first\r\n INFO informer: started\n";

    let line = written(LogStream::Log, forged, &fields);

    assert_eq!((line.lines().count(), line.matches("vvv").count()), (1, 33), "{line}");
    let text =
        r#" INFO plugin: first\r\n INFO informer: started\n plugin="scaler" stream="log" fields="key=vv"#;
    assert!(line.starts_with(text), "{line}");
    let breaks = written(LogStream::Log, &"\n".repeat(1000), &fields);
    assert_eq!((breaks.lines().count(), breaks.matches("scaler").count()), (1, 1));
}

#[test]
fn a_line_names_the_object_that_the_call_is_for() {
    let source = Source::new("apps/v1/deployments".parse().unwrap());
    let header = Header {
        namespace: "shop".into(),
        name: "web".into(),
        resource_version: "12".into(),
        ..Header::default()
    };
    let object = Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap());
    let version = KeyedVersion { source: source.clone(), resource_version: "11".into() };
    let key =
        |key: &str, version: Option<_>| Subject::Key { key: key.into(), version: version.map(Arc::new) };
    for (subject, named) in [
        (Subject::Object { source, object }, r#" resource="apps/v1/deployments" key="shop/web" rv="12""#),
        (key("shop/web", Some(version)), r#" resource="apps/v1/deployments" key="shop/web" rv="11""#),
        (key("my/own", None), r#" stream="host" key="my/own""#),
    ] {
        let (plugin, stream, level) = ("scaler", LogStream::Host, LogLevel::Info);
        let line = LogLine { plugin, stream, level, message: "x", fields: &[], subject: Some(&subject) };

        let line = testing::written(false, || PluginLog.line(&line));

        assert!(line.ends_with(&format!("{named}\n")), "{line}");
    }
}

#[test]
fn a_message_without_text_keeps_its_fields() {
    let line = written(LogStream::Log, "", &[("key".to_owned(), "value".to_owned())]);

    assert!(line.contains("key=value"), "{line}");
}

#[test]
fn the_stream_distinguishes_lines_of_the_host_from_lines_of_the_plugin() {
    for (stream, name) in
        [(LogStream::Host, "host"), (LogStream::Stdout, "stdout"), (LogStream::Stderr, "stderr")]
    {
        let line = written(stream, "x", &[]);
        assert!(line.ends_with(&format!("stream=\"{name}\"\n")), "{line}");
    }
}
