//! The report, in Markdown.

use std::fmt::Write;

const MIB: f64 = 1_048_576.0;

/// A host with a number of plugins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The number of plugins.
    pub plugins: usize,
    /// The time from the start until every plugin is in service, with compiled code in the cache.
    pub start_seconds: f64,
    /// The most threads during the start.
    pub peak_threads: u64,
    /// The threads of the idle host.
    pub threads: u64,
    /// The peak of the resident memory, in bytes.
    pub peak_bytes: u64,
    /// The resident memory of the idle host, in bytes.
    pub settled_bytes: u64,
    /// The part of the resident memory of the idle host that belongs to no file, in bytes.
    pub anonymous_bytes: u64,
    /// The processors that the idle host uses: 0.01 is 1 % of one.
    pub idle_cores: f64,
}

/// The table. The first row is the host without plugins.
pub(super) fn render(rows: &[Row], components: usize) -> String {
    let host = rows.first().map_or(0.0, |row| row.settled_bytes as f64);
    let mut text = format!("Components: {components}.\n\n");
    text.push_str(
        "| plugins | start, s | threads at the start | threads | peak, MiB | settled, MiB | without files, MiB | over the host, MiB | \
         KiB per plugin | CPU of an idle core, % |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let over = row.settled_bytes as f64 - host;
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {} | {:.1} | {} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} |",
            row.plugins,
            row.start_seconds,
            row.peak_threads,
            row.threads,
            row.peak_bytes as f64 / MIB,
            row.settled_bytes as f64 / MIB,
            row.anonymous_bytes as f64 / MIB,
            over / MIB,
            over / 1024.0 / (row.plugins.max(1) as f64),
            row.idle_cores * 100.0
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_host_is_subtracted() {
        let row = |plugins, settled_bytes| Row {
            plugins,
            start_seconds: 1.25,
            peak_threads: 12,
            threads: 8,
            peak_bytes: 50 << 20,
            settled_bytes,
            anonymous_bytes: 4 << 20,
            idle_cores: 0.0012,
        };

        let table = render(&[row(0, 20 << 20), row(100, 30 << 20)], 3);

        assert!(table.starts_with("Components: 3."), "{table}");
        assert!(table.ends_with("| 100 | 1.2 | 12 | 8 | 50 | 30 | 4 | 10 | 102 | 0.12 |\n"), "{table}");
    }
}
