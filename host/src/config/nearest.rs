//! Suggestions for misspelt words.

/// Below this similarity a suggestion confuses more often than it helps: `resinc` is 0.83 of
/// `resync`, `context` 0.43 of `config`.
const ALIKE: f64 = 0.6;

/// The candidate most similar to the word. Returns `None` if none is similar enough.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_finds_the_nearest_candidate() {
        let keys = ["resync", "relist", "initial", "events"];

        assert_eq!(nearest("resinc", keys), Some("resync"));
        assert_eq!(nearest("event", keys), Some("events"));
        assert_eq!(nearest("intial", keys), Some("initial"));
    }

    #[test]
    fn a_word_without_a_similar_candidate_finds_none() {
        assert_eq!(nearest("colour", ["resync", "relist"]), None);
        assert_eq!(nearest("", ["resync"]), None);
    }
}
