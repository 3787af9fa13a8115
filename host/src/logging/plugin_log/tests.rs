use super::*;
use crate::logging::testing;

fn written(stream: LogStream, message: &str, fields: &[(String, String)]) -> String {
    let line = LogLine { plugin: "scaler", stream, level: LogLevel::Info, message, fields };
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
