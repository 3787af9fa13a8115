//! The difference of two lists, as lines for a person.

use super::{
    expected::Expected,
    report::Finding,
    seen::{Kind, Seen},
};

/// Lists beyond this length are not aligned: the comparison takes the product of both lengths.
const ALIGNED: usize = 1_000;

/// One line of the difference.
enum Line<'a> {
    Same(&'a Seen),
    /// Expected and not seen; the text says why an entry with the same text differs.
    Missing(&'a Expected, String),
    Surplus(&'a Seen),
}

/// Returns what differs; `None` if each entry was seen, in this order, and nothing else.
pub(super) fn lists(kind: Kind, expected: &[Expected], seen: &[Seen], line: usize) -> Option<Finding> {
    let same = expected.len() == seen.len()
        && expected.iter().zip(seen).all(|(expected, seen)| expected.differs(seen).is_none());
    if same {
        return None;
    }
    let lines = aligned(expected, seen);
    let first = lines.iter().find_map(|line| match line {
        Line::Missing(expected, _) => Some(expected.line),
        _ => None,
    });
    let mut text = format!("{}: - is expected, + happened", kind.word());
    for line in &lines {
        text += &match line {
            Line::Same(seen) => format!("\n    {}", seen.text),
            Line::Missing(expected, why) if why.is_empty() => format!("\n  - {expected}"),
            Line::Missing(expected, why) => format!("\n  - {expected}: {why}"),
            Line::Surplus(seen) => format!("\n  + {}", seen.text),
        };
    }
    let line = first.or(expected.last().map(|expected| expected.line)).unwrap_or(line);
    Some(Finding { line, text })
}

/// Puts both lists beside each other, with as many equal entries as possible.
fn aligned<'a>(expected: &'a [Expected], seen: &'a [Seen]) -> Vec<Line<'a>> {
    if expected.len() > ALIGNED || seen.len() > ALIGNED {
        let missing = expected.iter().map(|expected| Line::Missing(expected, String::new()));
        return missing.chain(seen.iter().map(Line::Surplus)).collect();
    }
    let common = common(expected, seen);
    let at = |i: usize, j: usize| common.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0);
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    loop {
        match (expected.get(i), seen.get(j)) {
            (Some(wanted), Some(found)) if wanted.differs(found).is_none() => {
                lines.push(Line::Same(found));
                (i, j) = (i + 1, j + 1);
            }
            (Some(wanted), Some(found)) if at(i + 1, j) >= at(i, j + 1) => {
                lines.push(Line::Missing(wanted, wanted.differs(found).unwrap_or_default()));
                i += 1;
            }
            (_, Some(found)) => {
                lines.push(Line::Surplus(found));
                j += 1;
            }
            (Some(wanted), None) => {
                lines.push(Line::Missing(wanted, String::new()));
                i += 1;
            }
            (None, None) => return lines,
        }
    }
}

/// The length of the longest common subsequence of the rests from each pair of places.
fn common(expected: &[Expected], seen: &[Seen]) -> Vec<Vec<usize>> {
    let mut rows = vec![vec![0; seen.len() + 1]];
    for wanted in expected.iter().rev() {
        let below = rows.last().cloned().unwrap_or_default();
        let mut row = vec![0; seen.len() + 1];
        for (j, found) in seen.iter().enumerate().rev() {
            let of = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(0);
            let length = match wanted.differs(found) {
                None => of(&below, j + 1) + 1,
                Some(_) => of(&below, j).max(of(&row, j + 1)),
            };
            if let Some(cell) = row.get_mut(j) {
                *cell = length;
            }
        }
        rows.push(row);
    }
    rows.reverse();
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::story::file::Located;

    fn shown(expected: &[&str], seen: &[&str]) -> Option<String> {
        let expected: Vec<_> = expected
            .iter()
            .enumerate()
            .map(|(at, text)| {
                Expected::read(Kind::Log, Located { line: at + 1, value: json!(text) }).unwrap()
            })
            .collect();
        let seen: Vec<_> = seen.iter().map(|text| Seen::text(*text)).collect();
        lists(Kind::Log, &expected, &seen, 9).map(|finding| format!("{}: {}", finding.line, finding.text))
    }

    #[test]
    fn equal_lists_have_no_difference() {
        assert_eq!(shown(&["a", "b*"], &["a", "bc"]), None);
        assert_eq!(shown(&[], &[]), None);
    }

    #[test]
    fn equal_entries_stay_between_different_ones() {
        assert_eq!(
            shown(&["a", "b", "d"], &["a", "c", "d", "e"]).unwrap(),
            "2: log: - is expected, + happened\n    a\n  - b\n  + c\n    d\n  + e"
        );
        assert_eq!(shown(&[], &["a"]).unwrap(), "9: log: - is expected, + happened\n  + a");
    }

    #[test]
    fn an_entry_with_another_level_says_so() {
        let entry = json!({"line": "a", "level": "error"});
        let expected = [Expected::read(Kind::Log, Located { line: 1, value: entry }).unwrap()];
        let seen = [Seen { level: Some("info".to_owned()), ..Seen::text("a") }];

        let finding = lists(Kind::Log, &expected, &seen, 9).unwrap();

        assert!(finding.text.contains("- a: its level is info, not error"), "{}", finding.text);
    }
}
