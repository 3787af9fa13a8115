//! The formats of `/metrics`: OpenMetrics for scrapers that accept it, and otherwise the text format of Prometheus, which most
//! other tools read.

use std::fmt::Write;

use axum::http::{HeaderMap, header::ACCEPT};

/// A format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    OpenMetrics,
    /// The text format of Prometheus, version 0.0.4.
    Text,
}

// === impl Format ===

impl Format {
    /// OpenMetrics if the request accepts that by its name, and the text format of Prometheus otherwise. A quality of 0 is not
    /// considered.
    pub(super) fn accepted(request: &HeaderMap) -> Self {
        let mut accepted = request.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let named = accepted.any(|types| types.contains("application/openmetrics-text"));
        if named { Self::OpenMetrics } else { Self::Text }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Writes OpenMetrics text of this host in this format.
    pub(super) fn write(self, metrics: String) -> String {
        match self {
            Self::OpenMetrics => metrics,
            Self::Text => text(&metrics),
        }
    }
}

/// Writes OpenMetrics text of this host in the text format of Prometheus, in which a counter is described by the name of its
/// samples, a kind that is not known is `untyped`, and nothing marks the end.
fn text(metrics: &str) -> String {
    let mut text = String::with_capacity(metrics.len());
    let mut help = "";
    for line in metrics.lines().filter(|line| *line != "# EOF") {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ').map_or("", |(_, help)| help);
        } else if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|typed| typed.split_once(' '))
        {
            let (ending, kind) = match kind {
                "counter" => ("_total", kind),
                "unknown" => ("", "untyped"),
                _ => ("", kind),
            };
            // Writing to a string does not fail.
            let _ = writeln!(text, "# HELP {name}{ending} {help}\n# TYPE {name}{ending} {kind}");
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepting(types: &str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT, types.parse().unwrap())])
    }

    #[test]
    fn a_scraper_that_accepts_openmetrics_by_its_name_gets_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5";
        assert_eq!(Format::accepted(&accepting(prometheus)), Format::OpenMetrics);
        for types in ["*/*", "text/plain", ""] {
            assert_eq!(Format::accepted(&accepting(types)), Format::Text, "{types}");
        }
        assert_eq!(Format::accepted(&HeaderMap::new()), Format::Text);
    }

    #[test]
    fn the_text_format_describes_a_counter_by_the_name_of_its_samples() {
        let metrics = "# HELP x Of x.\n# TYPE x counter\nx_total{a=\"b c\"} 1.0\n\
                       # HELP y Of y.\n# TYPE y unknown\ny 2.0\n# HELP z Of z.\n# TYPE z gauge\nz 3\n# EOF\n";

        assert_eq!(
            text(metrics),
            "# HELP x_total Of x.\n# TYPE x_total counter\nx_total{a=\"b c\"} 1.0\n\
             # HELP y Of y.\n# TYPE y untyped\ny 2.0\n# HELP z Of z.\n# TYPE z gauge\nz 3\n"
        );
    }
}
