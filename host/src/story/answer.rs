//! Answers of a story to the requests of the plugin.

use informer_types::Pattern;

/// The answer to the requests that match a pattern.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) request: Pattern,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
    /// How often it is given; `None` means without end.
    pub(super) times: Option<u32>,
}

/// Takes the first answer for a request.
pub(super) fn next_answer(answers: &mut [Answer], request: &str) -> Option<Answer> {
    let fits = |answer: &&mut Answer| answer.times != Some(0) && answer.request.fits(request);
    let answer = answers.iter_mut().find(fits)?;
    answer.times = answer.times.map(|times| times - 1);
    Some(answer.clone())
}
