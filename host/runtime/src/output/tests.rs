use super::*;

/// Keeps all lines.
#[derive(Default)]
struct Kept(Mutex<Vec<(LogStream, String, usize)>>);

impl LogSink for Kept {
    fn enabled(&self, _: &str, _: LogLevel) -> bool {
        true
    }

    fn line(&self, line: &LogLine<'_>) {
        self.0.lock().push((line.stream, line.message.to_owned(), line.fields.len()));
    }
}

fn output(limit: usize) -> (Output, Arc<Kept>) {
    let kept = Arc::new(Kept::default());
    (output_to(Arc::clone(&kept) as _, limit, None, &Arc::default()), kept)
}

fn output_to(
    sink: Arc<dyn LogSink>,
    log_bytes: usize,
    log_lines: Option<NonZeroU32>,
    lines: &Arc<OutputCounters>,
) -> Output {
    let limits = Limits { log_bytes, log_lines, ..Limits::default() };
    Output::new("p".into(), sink, &limits, Arc::clone(lines))
}

/// Ends the call and returns the bytes that it dropped.
fn dropped(output: &Output) -> u64 {
    let counters = Arc::clone(&output.0.lock().shared);
    let before = counters.bytes_dropped.get();
    output.end();
    counters.bytes_dropped.get() - before
}

fn messages(kept: &Kept) -> Vec<String> {
    kept.0.lock().iter().map(|(_, message, _)| message.clone()).collect()
}

/// Keeps warnings only.
struct Warnings(Arc<Kept>);

impl LogSink for Warnings {
    fn enabled(&self, _: &str, level: LogLevel) -> bool {
        level >= LogLevel::Warn
    }

    fn line(&self, line: &LogLine<'_>) {
        self.0.line(line);
    }
}

#[test]
fn a_line_whose_level_is_off_does_not_count_against_the_limit() {
    let kept = Arc::new(Kept::default());
    let output = output_to(Arc::new(Warnings(Arc::clone(&kept))), 10, None, &Arc::default());

    for _ in 0..1_000 {
        output.line(LogLevel::Info, "logged", &[("key".to_owned(), "value".to_owned())]);
        output.write(LogStream::Stdout, b"printed\n");
        output.about(LogLevel::Info, "requested");
    }
    output.line(LogLevel::Warn, "careful", &[]);

    assert_eq!(dropped(&output), 0, "nothing was dropped");
    assert_eq!(messages(&kept), ["careful"]);
}

#[test]
fn printed_text_becomes_lines_however_the_writes_split_it() {
    let (output, kept) = output(1000);

    for part in ["a", "b\nc\r\n", "", "\n", "d"] {
        output.write(LogStream::Stdout, part.as_bytes());
    }
    assert_eq!(messages(&kept), ["ab", "c", ""]);
    output.end();

    assert_eq!(messages(&kept), ["ab", "c", "", "d"]);
}

#[test]
fn the_two_streams_do_not_mix() {
    let (output, kept) = output(1000);

    output.write(LogStream::Stdout, b"out");
    output.write(LogStream::Stderr, b"err\n");
    output.end();

    let streams: Vec<_> =
        kept.0.lock().iter().map(|(stream, message, _)| (*stream, message.clone())).collect();
    assert_eq!(streams, [(LogStream::Stderr, "err".to_owned()), (LogStream::Stdout, "out".to_owned())]);
    assert_eq!(output.last_words(), "err");
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced() {
    let (output, kept) = output(1000);

    output.write(LogStream::Stdout, b"a\xffb\n");

    assert_eq!(messages(&kept), ["a\u{fffd}b"]);
}

#[test]
fn a_long_line_is_cut_between_characters() {
    let (output, kept) = output(1 << 20);
    let endless = format!("x{}", "ä".repeat(LINE_BYTES));

    output.write(LogStream::Stdout, endless.as_bytes());
    output.end();

    assert!(kept.0.lock().len() > 1);
    assert_eq!(messages(&kept).concat(), endless);
}

#[test]
fn the_line_that_reaches_the_limit_is_cut_and_the_rest_is_counted_as_dropped() {
    let (output, kept) = output(10);

    output.write(LogStream::Stdout, b"12345\n678901234\n5\n");
    output.line(LogLevel::Info, "67", &[("k".to_owned(), "v".to_owned())]);
    assert_eq!(dropped(&output), 6 + 2 + 3 + 4, "with a byte for each line break and two for the field");
    let report = "15 bytes of log dropped: the call exceeded its limit of 10 bytes";
    assert_eq!(messages(&kept), ["12345", "678", report]);
}

#[test]
fn fields_that_do_not_fit_are_left_out() {
    let (output, kept) = output(10);

    output.line(LogLevel::Info, "hello", &[("key".to_owned(), "longer value".to_owned())]);

    assert_eq!(*kept.0.lock(), [(LogStream::Log, "hello".to_owned(), 0)]);
    assert_eq!(dropped(&output), 17);
}

#[test]
fn each_call_has_the_whole_limit() {
    let (output, kept) = output(5);

    for _ in 0..2 {
        output.begin(None);
        output.write(LogStream::Stdout, b"1234\n");
        assert_eq!(dropped(&output), 0);
    }

    assert_eq!(messages(&kept), ["1234", "1234"]);
}

#[test]
fn only_the_end_of_stderr_is_kept() {
    let (output, _) = output(10);
    let words = format!("{}end", "x".repeat(2 * LAST_WORDS_BYTES));

    output.write(LogStream::Stderr, words.as_bytes());

    assert_eq!(output.last_words().len(), LAST_WORDS_BYTES);
    assert!(output.last_words().ends_with("end"));
    output.begin(None);
    assert_eq!(output.last_words(), "");
}

#[test]
fn empty_lines_have_a_limit_too() {
    let (output, kept) = output(3);

    output.write(LogStream::Stdout, &[b'\n'; 10]);
    output.line(LogLevel::Info, "", &[]);

    assert_eq!(dropped(&output), 8);
    assert_eq!(kept.0.lock().len(), 3 + 1);
}

#[test]
fn all_instances_share_the_limit_on_lines_and_left_out_lines_are_reported() {
    let (kept, lines) = (Arc::new(Kept::default()), Arc::<OutputCounters>::default());
    let most = NonZeroU32::new(1);
    let outputs = [(); 2].map(|()| output_to(Arc::clone(&kept) as _, 100, most, &lines));

    // This takes less than 100 s on any machine.
    for _ in 0..100 {
        for output in &outputs {
            output.begin(None);
            output.line(LogLevel::Info, "again", &[]);
            output.end();
        }
    }

    let written = messages(&kept);
    assert!(written.len() < 100, "{written:?}");
    assert_eq!(written.first().unwrap(), "again");
    let left_out = "1 lines of log left out: the plugin writes more than 1 a second, its limit (`log-lines` under [plugin.limits])";
    assert_eq!(written.get(1).unwrap(), left_out);
    let count = written.iter().filter(|line| *line == "again").count();
    assert_eq!(lines.lines_left_out(), 200 - u64::try_from(count).unwrap());
}

#[test]
fn the_report_of_dropped_bytes_counts_as_a_line() {
    let (kept, lines) = (Arc::new(Kept::default()), Arc::<OutputCounters>::default());
    let output = output_to(Arc::clone(&kept) as _, 1, NonZeroU32::new(2), &lines);

    for _ in 0..100 {
        output.begin(None);
        output.line(LogLevel::Info, "longer", &[]);
        assert_eq!(dropped(&output), 6, "the bytes are counted although the report is left out");
    }

    assert!(messages(&kept).len() < 100, "{:?}", messages(&kept));
}
