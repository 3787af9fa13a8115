//! The newest lines of each plugin, for the page of the admin endpoint.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::SystemTime,
};

use informer_runtime::{LogLevel, LogLine, LogSink, LogStream};
use parking_lot::Mutex;

/// The most lines of a plugin.
const LINES: usize = 500;

/// The most bytes of a plugin's lines.
const BYTES: usize = 128 << 10;

/// The most bytes of all lines. Beyond it the plugin with the most bytes loses its older half.
const ALL_BYTES: usize = 8 << 20;

/// The most bytes of the text of one line; the rest is cut off.
const LINE_BYTES: usize = 4 << 10;

/// The bytes that a line takes besides its text.
const OVERHEAD: usize = 96;

/// Passes every line on, and keeps the newest ones in memory: at most 500 lines and 128 KiB of a plugin, and 8 MiB together.
pub(crate) struct RecentLines {
    sink: Arc<dyn LogSink>,
    keeps: bool,
    kept: Mutex<Kept>,
}

/// One kept line.
#[derive(Clone, Debug)]
pub(crate) struct RecentLine {
    /// Lines of all plugins are numbered from 1.
    pub(crate) number: u64,
    pub(crate) at: SystemTime,
    pub(crate) level: LogLevel,
    pub(crate) stream: LogStream,
    pub(crate) message: Box<str>,
}

#[derive(Default)]
struct Kept {
    plugins: HashMap<Arc<str>, Ring>,
    bytes: usize,
    newest: u64,
}

#[derive(Default)]
struct Ring {
    lines: VecDeque<RecentLine>,
    bytes: usize,
    /// The number of the newest line that was dropped.
    dropped: u64,
}

// === impl RecentLines ===

impl RecentLines {
    /// `keeps` is false if no page can show the lines: then they are only passed on.
    pub(crate) fn new(sink: Arc<dyn LogSink>, keeps: bool) -> Self {
        Self { sink, keeps, kept: Mutex::default() }
    }

    /// The number of the newest line.
    pub(crate) fn newest(&self) -> u64 {
        self.kept.lock().newest
    }

    /// The newest lines after the one with this number, at most `limit`, of one plugin or of all, the oldest first. The flag is true if
    /// lines in between are missing, because they were dropped or there are more than `limit`.
    pub(crate) fn after(
        &self,
        plugin: Option<&str>,
        after: u64,
        limit: usize,
    ) -> (Vec<(Arc<str>, RecentLine)>, bool) {
        let kept = self.kept.lock();
        let rings = kept.plugins.iter().filter(|(name, _)| plugin.is_none_or(|plugin| plugin == &***name));
        let mut gap = false;
        let mut found: Vec<(&Arc<str>, &RecentLine)> = Vec::new();
        for (name, ring) in rings {
            gap |= ring.dropped > after;
            let newer = ring.lines.iter().rev().take_while(|line| line.number > after);
            found.extend(newer.take(limit + 1).map(|line| (name, line)));
        }
        found.sort_unstable_by_key(|(_, line)| line.number);
        let left_out = found.len().saturating_sub(limit);
        let lines = found.into_iter().skip(left_out).map(|(name, line)| (Arc::clone(name), line.clone()));
        (lines.collect(), gap || left_out > 0)
    }
}

impl LogSink for RecentLines {
    fn enabled(&self, plugin: &str, level: LogLevel) -> bool {
        self.sink.enabled(plugin, level)
    }

    fn line(&self, line: &LogLine<'_>) {
        self.sink.line(line);
        if self.keeps {
            self.kept.lock().push(line);
        }
    }
}

// === impl Kept ===

impl Kept {
    fn push(&mut self, line: &LogLine<'_>) {
        self.newest += 1;
        let mut message = cut(line.message, LINE_BYTES).to_owned();
        for (key, value) in line.fields {
            let left = LINE_BYTES.saturating_sub(message.len());
            message.push_str(cut(&format!(" {key}={value}"), left));
        }
        let kept = RecentLine {
            number: self.newest,
            at: SystemTime::now(),
            level: line.level,
            stream: line.stream,
            message: message.into(),
        };
        if !self.plugins.contains_key(line.plugin) {
            self.plugins.insert(line.plugin.into(), Ring::default());
        }
        if let Some(ring) = self.plugins.get_mut(line.plugin) {
            let before = ring.bytes;
            ring.push(kept);
            self.bytes = (self.bytes + ring.bytes).saturating_sub(before);
        }
        if self.bytes > ALL_BYTES {
            self.shorten();
        }
    }

    /// Drops the older half of the longest ring: a plugin that logs much loses its own lines, not those of others.
    fn shorten(&mut self) {
        let longest = self.plugins.iter_mut().max_by_key(|(_, ring)| ring.bytes);
        let Some((name, ring)) = longest else { return };
        let (name, before) = (Arc::clone(name), ring.bytes);
        while ring.bytes > before / 2 {
            ring.drop_oldest();
        }
        self.bytes = (self.bytes + ring.bytes).saturating_sub(before);
        if ring.lines.is_empty() {
            self.plugins.remove(&name);
        }
    }
}

// === impl Ring ===

impl Ring {
    fn push(&mut self, line: RecentLine) {
        self.bytes += line.bytes();
        self.lines.push_back(line);
        while self.lines.len() > LINES || self.bytes > BYTES {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        match self.lines.pop_front() {
            Some(line) => {
                self.bytes = self.bytes.saturating_sub(line.bytes());
                self.dropped = line.number;
            }
            None => self.bytes = 0,
        }
    }
}

// === impl RecentLine ===

impl RecentLine {
    fn bytes(&self) -> usize {
        OVERHEAD + self.message.len()
    }
}

/// At most this number of bytes of a text, cut between two characters.
fn cut(text: &str, most_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(most_bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nowhere;

    impl LogSink for Nowhere {
        fn enabled(&self, _: &str, _: LogLevel) -> bool {
            true
        }

        fn line(&self, _: &LogLine<'_>) {}
    }

    fn lines() -> RecentLines {
        RecentLines::new(Arc::new(Nowhere), true)
    }

    fn log(lines: &RecentLines, plugin: &str, message: &str) {
        let (stream, level) = (LogStream::Log, LogLevel::Info);
        lines.line(&LogLine { plugin, stream, level, message, fields: &[], subject: None });
    }

    fn texts(lines: &RecentLines, plugin: Option<&str>, after: u64, limit: usize) -> (Vec<String>, bool) {
        let (found, gap) = lines.after(plugin, after, limit);
        (found.into_iter().map(|(_, line)| line.message.into()).collect(), gap)
    }

    #[test]
    fn the_lines_of_one_plugin_or_of_all_are_in_order_after_a_number() {
        let kept = lines();
        for (plugin, message) in [("a", "1"), ("b", "2"), ("a", "3"), ("b", "4")] {
            log(&kept, plugin, message);
        }

        assert_eq!(texts(&kept, None, 0, 9), (["1", "2", "3", "4"].map(str::to_owned).to_vec(), false));
        assert_eq!(texts(&kept, Some("a"), 0, 9).0, ["1", "3"]);
        assert_eq!(texts(&kept, Some("a"), 1, 9), (vec!["3".to_owned()], false));
        assert_eq!(texts(&kept, None, 0, 2), (vec!["3".to_owned(), "4".to_owned()], true), "there were more");
        assert_eq!((texts(&kept, Some("c"), 0, 9).0.len(), kept.newest()), (0, 4));
    }

    #[test]
    fn nothing_is_kept_if_no_page_can_show_it() {
        let passed_on = RecentLines::new(Arc::new(Nowhere), false);
        log(&passed_on, "a", "1");
        assert_eq!((texts(&passed_on, None, 0, 9), passed_on.newest()), ((Vec::new(), false), 0));
    }

    #[test]
    fn a_plugin_that_logs_much_replaces_its_own_lines_and_those_of_no_other() {
        let kept = lines();
        log(&kept, "quiet", "here");
        for _ in 0..2 * LINES {
            log(&kept, "loud", "again");
        }
        let (found, gap) = texts(&kept, Some("loud"), 0, usize::MAX - 1);
        assert_eq!((found.len(), gap), (LINES, true));

        log(&kept, "long", &"ä".repeat(LINE_BYTES));
        let (found, _) = texts(&kept, Some("long"), 0, 9);
        assert_eq!(found[0].len(), LINE_BYTES);

        // 100 plugins with 128 KiB each would be 12.5 MiB.
        for plugin in 0..100 {
            for _ in 0..40 {
                log(&kept, &format!("p{plugin}"), &"x".repeat(LINE_BYTES));
            }
        }
        let bytes: usize = kept.kept.lock().plugins.values().map(|ring| ring.bytes).sum();
        assert_eq!(bytes, kept.kept.lock().bytes);
        assert!((ALL_BYTES / 2..=ALL_BYTES).contains(&bytes), "{bytes}");
        assert_eq!(texts(&kept, Some("quiet"), 0, 9), (vec!["here".to_owned()], false));
    }
}
