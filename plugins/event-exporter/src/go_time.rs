//! Times in the layouts of Go, which show the reference time `Mon Jan 2 15:04:05 2006`.

use jiff::{Timestamp, civil::DateTime, tz::Offset};

/// Shows a part of a time.
type Show = fn(&DateTime) -> String;

/// A part of a layout, and how a time shows it. A name that is short for another one, such as `Jan`, is no part if a lower-case letter
/// follows.
type Part = (&'static str, Show);

/// The parts of a layout. A part comes before each shorter part that it begins with.
const PARTS: &[Part] = &[
    ("2006", |at| format!("{:04}", at.year())),
    ("January", |at| month(at).to_owned()),
    ("Monday", |at| weekday(at).to_owned()),
    ("Jan", |at| month(at).chars().take(3).collect()),
    ("Mon", |at| weekday(at).chars().take(3).collect()),
    ("MST", |_| "UTC".to_owned()),
    ("Z07:00", |_| "Z".to_owned()),
    ("Z0700", |_| "Z".to_owned()),
    ("Z07", |_| "Z".to_owned()),
    ("-07:00", |_| "+00:00".to_owned()),
    ("-0700", |_| "+0000".to_owned()),
    ("-07", |_| "+00".to_owned()),
    ("002", |at| format!("{:03}", at.day_of_year())),
    ("01", |at| format!("{:02}", at.month())),
    ("02", |at| format!("{:02}", at.day())),
    ("03", |at| format!("{:02}", hour12(at))),
    ("04", |at| format!("{:02}", at.minute())),
    ("05", |at| format!("{:02}", at.second())),
    ("06", |at| format!("{:02}", at.year().rem_euclid(100))),
    ("15", |at| format!("{:02}", at.hour())),
    ("PM", |at| if at.hour() < 12 { "AM" } else { "PM" }.to_owned()),
    ("pm", |at| if at.hour() < 12 { "am" } else { "pm" }.to_owned()),
    ("_2006", |at| format!("_{:04}", at.year())),
    ("_2", |at| format!("{:>2}", at.day())),
    ("1", |at| at.month().to_string()),
    ("2", |at| at.day().to_string()),
    ("3", |at| hour12(at).to_string()),
    ("4", |at| at.minute().to_string()),
    ("5", |at| at.second().to_string()),
];

/// The time in UTC.
pub(crate) fn format(layout: &str, at: Timestamp) -> String {
    let at = Offset::UTC.to_datetime(at);
    let mut written = String::new();
    let mut rest = layout;
    while let Some(next) = rest.chars().next() {
        if let Some((shown, after)) = fraction(rest, &written, &at) {
            written.push_str(&shown);
            rest = after;
        } else if let Some((after, show)) = PARTS.iter().find_map(|part| next_part(rest, part)) {
            written.push_str(&show(&at));
            rest = after;
        } else {
            written.push(next);
            rest = rest.strip_prefix(next).unwrap_or_default();
        }
    }
    written
}

/// What follows a part, and how the time shows the part, if the rest of the layout begins with the part.
fn next_part<'a>(rest: &'a str, (part, show): &Part) -> Option<(&'a str, Show)> {
    let after = rest.strip_prefix(part)?;
    let is_word = ["Jan", "Mon"].contains(part) && after.starts_with(|next: char| next.is_ascii_lowercase());
    (!is_word).then_some((after, *show))
}

/// The fraction for `.000` or `.999` after seconds, also with a comma, and what follows. Nines show no zeros at the end.
fn fraction<'a>(rest: &'a str, written: &str, at: &DateTime) -> Option<(String, &'a str)> {
    let separator = rest.chars().next().filter(|first| matches!(first, '.' | ','))?;
    let digits = rest.strip_prefix(separator)?;
    let digit = digits.chars().next().filter(|first| matches!(first, '0' | '9'))?;
    let after = digits.trim_start_matches(digit);
    let count = digits.len() - after.len();
    let follows_a_number = written.ends_with(|last: char| last.is_ascii_digit());
    if !follows_a_number || count > 9 || after.starts_with(|next: char| next.is_ascii_digit()) {
        return None;
    }
    let shown: String = format!("{separator}{:09}", at.subsec_nanosecond()).chars().take(1 + count).collect();
    let is_short = digit == '9';
    let shown =
        if is_short { shown.trim_end_matches('0').trim_end_matches(separator) } else { shown.as_str() };
    Some((shown.to_owned(), after))
}

fn hour12(at: &DateTime) -> i8 {
    match at.hour() % 12 {
        0 => 12,
        hour => hour,
    }
}

fn month(at: &DateTime) -> &'static str {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    usize::try_from(at.month() - 1).ok().and_then(|month| MONTHS.get(month)).copied().unwrap_or_default()
}

fn weekday(at: &DateTime) -> &'static str {
    const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    let day = at.weekday().to_monday_zero_offset();
    usize::try_from(day).ok().and_then(|day| DAYS.get(day)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_shows_each_part_of_the_time_in_utc() {
        let at: Timestamp = "2026-05-09T01:02:03.456789Z".parse().unwrap();
        for (layout, expected) in [
            ("2006-01-02", "2026-05-09"),
            ("2006.01.02", "2026.05.09"),
            ("20060102T150405Z", "20260509T010203Z"),
            ("2006-01-02T15:04:05.000Z07:00", "2026-05-09T01:02:03.456Z"),
            ("Mon, 02 Jan 2006 03:04:05 PM MST", "Sat, 09 May 2026 01:02:03 AM UTC"),
            ("Monday January _2 06 -0700", "Saturday May  9 26 +0000"),
            ("1/2/2006 3:4:5 pm", "5/9/2026 1:2:3 am"),
            ("15:04:05.999999999Z0700", "01:02:03.456789Z"),
            ("05.99 -07", "03.45 +00"),
            ("15:04:05,000", "01:02:03,456"),
            ("events_2006_01_02", "events_2026_05_09"),
            ("01_2006", "05_2026"),
            ("Monitor Janitor Mon Jan", "Monitor Janitor Sat May"),
            ("week", "week"),
            ("äöü", "äöü"),
        ] {
            assert_eq!(format(layout, at), expected, "{layout}");
        }
    }
}
