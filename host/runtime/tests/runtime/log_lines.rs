//! The lines that a plugin prints and logs.

use std::num::NonZeroU32;

use informer_runtime::{InstancePolicy, LogLevel, LogStream};
use informer_types::{Cause, Change, Outcome};

use crate::host::{Line, Setup, delivery, pod};

fn line(stream: LogStream, level: LogLevel, message: &str) -> Line {
    Line { stream, level, message: message.to_owned(), fields: Vec::new() }
}

#[tokio::test]
async fn stdout_has_the_level_info_and_logged_lines_keep_their_level_and_fields() {
    let running = Setup::new(r#"{"lines": 1, "bytes": 3}"#).load("chatty").await;

    running.add("web").await;

    let fields = vec![("line".to_owned(), "0".to_owned()), ("object".to_owned(), "default/web".to_owned())];
    let logged = Line { fields, ..line(LogStream::Log, LogLevel::Error, "logged") };
    assert_eq!(running.log.lines(), [line(LogStream::Stdout, LogLevel::Info, "xxx"), logged]);
}

#[tokio::test]
async fn stderr_has_the_level_warn_and_an_unfinished_line_is_logged_at_the_end_of_the_call() {
    let running = Setup::new(r#"{"lines": 0, "bytes": 0}"#).load("chatty").await;
    let update = Change::Updated { old: pod("web", "1"), new: pod("web", "2") };

    assert_eq!(running.deliver(delivery(update, Cause::Live)).await, Outcome::Acknowledged);

    let careful = line(LogStream::Stderr, LogLevel::Warn, "careful with default/web");
    let replaced = line(LogStream::Stdout, LogLevel::Info, "not \u{fffd} text");
    assert_eq!(running.log.lines(), [careful, replaced]);
}

#[tokio::test]
async fn output_beyond_the_limit_of_a_call_is_dropped_counted_and_reported_once() {
    let flood = r#"{"lines": 1000, "bytes": 100}"#;
    let running = Setup::new(flood).limits(|limits| limits.log_bytes = 1_000).load("chatty").await;

    assert_eq!(running.add("web").await, Outcome::Acknowledged, "the guest does not notice");

    let lines = running.log.lines();
    assert!(lines.len() < 20, "{}", lines.len());
    let dropped = running.plugin.stats().log_bytes_dropped;
    let said = format!("{dropped} bytes of log dropped: the call exceeded its limit of 1000 bytes");
    assert_eq!(lines.last(), Some(&line(LogStream::Host, LogLevel::Warn, &said)));
    assert!(dropped > 90_000, "{dropped}");

    running.log.clear();
    running.add("web").await;
    assert_eq!(running.log.lines().len(), lines.len(), "the next call has the whole limit again");
}

#[tokio::test]
async fn a_panic_message_is_logged() {
    let running = Setup::new("{}").load("trap").await;

    running.add("web").await;

    let said = running.log.lines();
    assert!(said.iter().all(|line| line.stream == LogStream::Stderr), "{said:?}");
    assert!(said.iter().any(|line| line.message.contains("no way: default/web")), "{said:?}");
}

#[tokio::test]
async fn a_failure_of_stop_is_logged_briefly_and_within_the_limit_on_lines() {
    let setup = |log_lines: Option<NonZeroU32>| {
        Setup::new(r#"{"what": "trap-stop"}"#)
            .policy(InstancePolicy::Fresh)
            .limits(|limits| limits.log_lines = log_lines)
    };
    let begins = "the plugin did not stop cleanly: trap: ";
    let running = setup(None).load("vandal").await;
    running.add("web").await;

    let said = running.log.lines();
    let last = said.last().unwrap();
    assert_eq!((last.stream, last.level), (LogStream::Host, LogLevel::Warn));
    assert!(last.message.starts_with(begins) && last.message.contains("it will not stop"), "{last:?}");
    assert!(last.message.len() < 300, "{last:?}");

    let running = setup(NonZeroU32::new(1)).load("vandal").await;
    // This takes less than 100 s on any machine.
    for _ in 0..100 {
        running.add("web").await;
    }
    let said = running.log.messages().iter().filter(|line| line.starts_with(begins)).count();
    assert!(said < 100 && running.plugin.stats().log_lines_left_out > 0, "{said}");
}
