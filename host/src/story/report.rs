//! The result of stories, for a person, as TAP and as JUnit XML.

use std::{fmt::Write, path::PathBuf, time::Duration};

use clap::ValueEnum;

/// The form of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person.
    #[default]
    Text,
    /// The Test Anything Protocol, version 14.
    Tap,
    /// XML as JUnit writes it.
    Junit,
}

/// The result of one story.
#[derive(Clone, Debug)]
pub struct StoryReport {
    /// The file of the story.
    pub file: PathBuf,
    /// The start of the host, and each step.
    pub steps: Vec<StepReport>,
}

/// The result of one step.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// The name of the step.
    pub name: String,
    /// Real time.
    pub took: Duration,
    /// The result.
    pub verdict: Verdict,
    /// What the plugin printed to stderr and what the host logged about it. It is shown if the step failed.
    pub asides: Vec<String>,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was as expected.
    Passed,
    /// Something was not as expected.
    Failed(Vec<Finding>),
    /// The step was not played, for this reason.
    Skipped(String),
}

/// Something that was not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line of the expectation, or of the step.
    pub line: usize,
    /// What was expected and what happened, in one or more lines.
    pub text: String,
}

/// The most lines of stderr that are shown of a step.
const ASIDES: usize = 20;

// === impl StoryReport ===

impl StoryReport {
    /// Returns true if every step passed.
    pub fn passed(&self) -> bool {
        self.steps.iter().all(|step| step.verdict == Verdict::Passed)
    }
}

// === impl StepReport ===

impl StepReport {
    /// What was not as expected, for a person.
    fn text(&self, file: &str) -> String {
        let Verdict::Failed(findings) = &self.verdict else { return String::new() };
        let mut text = String::new();
        for finding in findings {
            let place = if finding.line > 0 { format!("{file}:{}", finding.line) } else { file.to_owned() };
            text += &format!("{place}: {}\n", finding.text);
        }
        let left_out = self.asides.len().saturating_sub(ASIDES);
        if left_out > 0 {
            text += &format!("the plugin also printed {left_out} lines, and then:\n");
        } else if !self.asides.is_empty() {
            text += "the plugin also printed:\n";
        }
        for aside in self.asides.iter().skip(left_out) {
            text += &format!("  {aside}\n");
        }
        text
    }
}

/// The results in this form.
pub fn print(reports: &[StoryReport], format: Format) -> String {
    match format {
        Format::Text => for_a_person(reports),
        Format::Tap => tap(reports),
        Format::Junit => junit(reports),
    }
}

fn for_a_person(reports: &[StoryReport]) -> String {
    let (mut text, mut failed, mut skipped, mut all) = (String::new(), 0, 0, 0);
    for StoryReport { file, steps } in reports {
        let file = file.display().to_string();
        text += &format!("{file}\n");
        for step in steps {
            all += 1;
            let (word, more) = match &step.verdict {
                Verdict::Passed => ("ok     ", format!(" ({} ms)", step.took.as_millis())),
                Verdict::Failed(_) => ("FAILED ", String::new()),
                Verdict::Skipped(why) => ("skipped", format!(": {why}")),
            };
            failed += usize::from(matches!(step.verdict, Verdict::Failed(_)));
            skipped += usize::from(matches!(step.verdict, Verdict::Skipped(_)));
            text += &format!("  {word} {}{more}\n", step.name);
            text += &indented(&step.text(&file), 10);
        }
    }
    let files = reports.len();
    text + &match (failed, skipped) {
        (0, 0) if all == 1 => format!("1 step passed (stories: {files})\n"),
        (0, 0) => format!("{all} steps passed (stories: {files})\n"),
        // The plugin does not start, as the story expects, so its steps show nothing.
        (0, skipped) => format!("{skipped} of {all} steps were not played (stories: {files})\n"),
        (failed, _) => format!("{failed} of {all} steps failed (stories: {files})\n"),
    }
}

fn tap(reports: &[StoryReport]) -> String {
    let all: usize = reports.iter().map(|report| report.steps.len()).sum();
    let (mut text, mut number) = (format!("TAP version 14\n1..{all}\n"), 0);
    for StoryReport { file, steps } in reports {
        let file = file.display().to_string();
        for step in steps {
            number += 1;
            // `#` begins a directive.
            let name = format!("{file}: {}", step.name).replace('\\', "\\\\").replace('#', "\\#");
            text += &match &step.verdict {
                Verdict::Passed => format!("ok {number} - {name}\n"),
                Verdict::Skipped(why) => format!("ok {number} - {name} # SKIP {why}\n"),
                Verdict::Failed(_) => {
                    let lines = indented(&step.text(&file), 4);
                    format!("not ok {number} - {name}\n  ---\n  message: |\n{lines}  ...\n")
                }
            };
        }
    }
    text
}

fn junit(reports: &[StoryReport]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for StoryReport { file, steps } in reports {
        let file = file.display().to_string();
        let count = |which: fn(&Verdict) -> bool| steps.iter().filter(|step| which(&step.verdict)).count();
        let (failed, skipped) = (
            count(|verdict| matches!(verdict, Verdict::Failed(_))),
            count(|verdict| matches!(verdict, Verdict::Skipped(_))),
        );
        let time: f64 = steps.iter().map(|step| step.took.as_secs_f64()).sum();
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\" time=\"{time:.3}\">",
            escaped(&file),
            steps.len()
        );
        for step in steps {
            let (name, time) = (escaped(&step.name), step.took.as_secs_f64());
            let inner = match &step.verdict {
                Verdict::Passed => String::new(),
                Verdict::Skipped(why) => format!("<skipped message=\"{}\"/>", escaped(why)),
                Verdict::Failed(findings) => {
                    let first = findings.first().and_then(|finding| finding.text.lines().next());
                    let (message, all) = (escaped(first.unwrap_or_default()), escaped(&step.text(&file)));
                    format!("<failure message=\"{message}\">{all}</failure>")
                }
            };
            let _ = writeln!(
                text,
                "    <testcase classname=\"{}\" name=\"{name}\" time=\"{time:.3}\">{inner}</testcase>",
                escaped(&file)
            );
        }
        text += "  </testsuite>\n";
    }
    text + "</testsuites>\n"
}

fn indented(text: &str, by: usize) -> String {
    text.lines().map(|line| format!("{:by$}{line}\n", "")).collect()
}

/// The text for XML, which cannot contain most control characters.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' | '\t' => escaped.push(character),
            character if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}');
            }
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
