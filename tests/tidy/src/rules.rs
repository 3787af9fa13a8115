//! Codes of rules, as `R-18`: where they are cited, and how.

use std::collections::BTreeSet;

/// The stages that rules are named after. See `host/docs/rules.md`.
const STAGES: &str = "RQICPFLWADE";

/// The codes that a text cites. "Q-10 to Q-12" cites three.
#[must_use]
pub fn cited(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut last: Option<(char, u32, usize)> = None;
    for (at, code) in codes(text) {
        let Some((stage, number)) = split(code) else { continue };
        if let Some((of, from, end)) = last
            && of == stage
            && text.get(end..at) == Some(" to ")
        {
            found.extend((from..number).map(|number| format!("{stage}-{number}")));
        }
        found.insert(code.to_owned());
        last = Some((stage, number, at + code.len()));
    }
    found
}

/// The codes that `host/docs/rules.md` has rows for, each with the heading that the row stands under.
#[must_use]
pub fn defined(document: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut heading = "";
    for line in document.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            heading = title;
        }
        let cell = line.strip_prefix("| ").and_then(|row| row.split(" |").next());
        if let Some(code) = cell.filter(|cell| codes(cell).next().is_some_and(|(_, code)| code == *cell)) {
            found.push((code.to_owned(), heading.to_owned()));
        }
    }
    found
}

/// Returns true if a comment has a code and less than three words besides codes.
#[must_use]
pub fn is_code_alone(comment: &str) -> bool {
    let mut words = 0;
    let mut cites = false;
    for word in
        comment.split(|c: char| c.is_whitespace() || ",;:.()".contains(c)).filter(|word| !word.is_empty())
    {
        let code = codes(word).next().is_some_and(|(_, code)| code == word);
        cites |= code;
        words += usize::from(!code);
    }
    cites && words < 3
}

/// Returns true if a comment begins with a code instead of a sentence.
#[must_use]
pub fn begins_with_code(comment: &str) -> bool {
    codes(comment).next().is_some_and(|(at, _)| at == 0)
}

/// Returns true if a name has a code among its words, as `..._r18` or `..._r_18`. Types such as `u32` are no codes.
#[must_use]
pub fn in_name(name: &str) -> bool {
    let stage = |word: &str| word.len() == 1 && STAGES.to_lowercase().contains(word);
    let number = |word: &str| (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    let types = ["i8", "i16", "i32", "i64", "f32", "f64"];
    let words: Vec<&str> = name.split('_').collect();
    let joined = |word: &&str| {
        !types.contains(word)
            && word.split_at_checked(1).is_some_and(|(first, rest)| stage(first) && number(rest))
    };
    let split =
        |pair: &[&str]| matches!(pair, [first, rest] if *first != "a" && stage(first) && number(rest));
    words.iter().any(joined) || words.windows(2).any(split)
}

/// All codes of a text with their places.
fn codes(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('-').filter_map(|(dash, _)| {
        let start = dash.checked_sub(1)?;
        let digits =
            text.get(dash + 1..)?.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - dash - 1);
        let end = dash + 1 + digits;
        let stage = text.get(start..dash)?.chars().next()?;
        let joins = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let before = text.get(..start)?.chars().next_back().is_some_and(joins);
        let after = text.get(end..)?.chars().next().is_some_and(joins);
        (STAGES.contains(stage) && (1..=2).contains(&digits) && !before && !after)
            .then(|| text.get(start..end))?
            .map(|code| (start, code))
    })
}

fn split(code: &str) -> Option<(char, u32)> {
    let (stage, number) = code.split_once('-')?;
    Some((stage.chars().next()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_ranges_are_found_and_false_friends_are_not() {
        let found = cited("KEP-3157, UTF-8 and P-256 are none; R-18 and Q-10 to Q-12 (D-5).");

        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["D-5", "Q-10", "Q-11", "Q-12", "R-18"]);
    }

    #[test]
    fn a_comment_is_never_a_code_alone() {
        assert!(is_code_alone("R-22."));
        assert!(is_code_alone("R-7, R-10."));
        assert!(!is_code_alone("The deletion is delivered (D-11)."));
        assert!(!is_code_alone("Nothing to cite."));
        assert!(begins_with_code("D-5: only what changed."));
        assert!(!begins_with_code("Only what changed (D-5)."));
    }

    #[test]
    fn names_with_codes_are_found_and_numbers_are_not() {
        assert!(in_name("a_watch_is_resumed_r18"));
        assert!(in_name("a_list_q27_is_not_initial"));
        assert!(in_name("closing_names_what_it_discards_d_10"));
        assert!(!in_name("a_10_second_wait_ends"));
        assert!(!in_name("an_i32_is_read"));
        assert!(!in_name("http_429_backs_off"));
    }

    #[test]
    fn rows_of_a_table_define_codes() {
        let found =
            defined("## R: reflector\n| rule | says |\n|---|---|\n| R-1 | It runs. |\nR-2 is not defined.\n");

        assert_eq!(found, [("R-1".to_owned(), "R: reflector".to_owned())]);
    }
}
