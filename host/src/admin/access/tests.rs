use std::future::pending;

use axum::{body::to_bytes, http::HeaderValue};
use tokio::time::advance;

use super::*;

/// Accepts `good` and tokens that start with `good-`, forbids `poor`, never answers `slow` and fails for `down`.
#[derive(Default)]
struct Script(Mutex<Vec<String>>);

impl Reviewer for Script {
    fn review<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Verdict, Unreviewed>> {
        self.0.lock().push(token.to_owned());
        Box::pin(async move {
            match token {
                "good" => Ok(Verdict::Allowed),
                "poor" => Ok(Verdict::Forbidden),
                "slow" => pending().await,
                "down" => Err(Unreviewed::Unreachable(kube::Error::LinesCodecMaxLineLengthExceeded)),
                _ if token.starts_with("good-") => Ok(Verdict::Allowed),
                _ => Ok(Verdict::Unknown),
            }
        })
    }
}

fn access() -> (Access, Arc<Script>) {
    let script = Arc::new(Script::default());
    (Access::new(Arc::clone(&script) as _), script)
}

async fn ask(access: &Access, header: Option<&str>) -> (u16, String) {
    let mut headers = HeaderMap::new();
    if let Some(header) = header {
        headers.insert(AUTHORIZATION, HeaderValue::from_str(header).unwrap());
    }
    let Some(refusal) = access.refusal(&headers).await else { return (200, String::new()) };
    let code = refusal.status().as_u16();
    assert_eq!(refusal.headers().contains_key(WWW_AUTHENTICATE), code == 401);
    let text = to_bytes(refusal.into_body(), 1 << 20).await.unwrap();
    (code, String::from_utf8(text.to_vec()).unwrap())
}

async fn code(access: &Access, token: &str) -> u16 {
    ask(access, Some(&format!("Bearer {token}"))).await.0
}

#[tokio::test(start_paused = true)]
async fn only_an_accepted_token_of_an_identity_with_the_right_is_let_in() {
    let (access, script) = access();

    assert_eq!(code(&access, "good").await, 200);
    let (forbidden, text) = ask(&access, Some("Bearer poor")).await;
    assert_eq!(forbidden, 403);
    assert!(text.contains("{nonResourceURLs: [\"/metrics\"], verbs: [\"get\"]}"), "{text}");
    assert_eq!(code(&access, "stolen").await, 401);
    let reviewed = script.0.lock().len();
    let long = format!("Bearer {}", "x".repeat(TOKEN_BYTES + 1));
    for header in [None, Some("good"), Some("Basic Z29vZA=="), Some("Bearer "), Some("Bearer"), Some(&*long)]
    {
        assert_eq!(ask(&access, header).await.0, 401, "{header:?}");
    }
    assert_eq!(script.0.lock().len(), reviewed, "what is no token is not reviewed");
    assert_eq!(ask(&access, Some("bearer good")).await.0, 200);

    let mut twice = HeaderMap::new();
    twice.append(AUTHORIZATION, HeaderValue::from_static("Bearer good"));
    twice.append(AUTHORIZATION, HeaderValue::from_static("Bearer poor"));
    assert!(access.refusal(&twice).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_remembered_for_a_minute_and_a_refusal_for_ten_seconds() {
    let (access, script) = access();
    for (token, expected, kept) in
        [("good", 200, ALLOWED_FOR), ("poor", 403, REFUSED_FOR), ("x", 401, REFUSED_FOR)]
    {
        let reviews = || script.0.lock().iter().filter(|reviewed| *reviewed == token).count();

        for _ in 0..100 {
            assert_eq!(code(&access, token).await, expected);
        }
        assert_eq!(reviews(), 1, "{token}");
        advance(kept - Duration::from_millis(1)).await;
        assert_eq!((code(&access, token).await, reviews()), (expected, 1), "{token}");
        advance(Duration::from_millis(1)).await;
        assert_eq!((code(&access, token).await, reviews()), (expected, 2), "{token}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_review_that_fails_is_not_remembered_and_gives_the_reason() {
    let (access, script) = access();

    let (code, text) = ask(&access, Some("Bearer down")).await;
    assert_eq!(
        (code, text.as_str()),
        (503, "the API server does not review the token: it cannot be reached\n")
    );
    assert_eq!(ask(&access, Some("Bearer down")).await.0, 503);
    assert_eq!(script.0.lock().len(), 2);

    let before = tokio::time::Instant::now();
    let (code, text) = ask(&access, Some("Bearer slow")).await;
    assert_eq!((code, before.elapsed()), (503, PATIENCE));
    assert!(text.contains("it did not answer within 5 s"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_unknown_tokens_is_limited_and_keeps_no_accepted_one_out() {
    let (access, script) = access();
    assert_eq!(code(&access, "good").await, 200);
    let mut codes = Vec::new();
    for number in 0..1000 {
        codes.push(code(&access, &format!("guess-{number}")).await);
    }

    assert_eq!(codes.iter().filter(|code| **code == 401).count(), 19, "the burst is 20");
    assert_eq!(codes.last(), Some(&429));
    assert!(script.0.lock().len() <= 20);
    assert_eq!(code(&access, "good").await, 200);
    // Its next review does not wait for the flood.
    advance(ALLOWED_FOR).await;
    for number in 0..100 {
        code(&access, &format!("more-{number}")).await;
    }
    assert_eq!(code(&access, "good").await, 200);
    // Without more guesses, others are reviewed again.
    advance(Duration::from_secs(1)).await;
    assert_eq!(code(&access, "good-2").await, 200);
}

#[tokio::test(start_paused = true)]
async fn a_limited_number_of_tokens_is_remembered() {
    let (access, _) = access();
    for number in 0..200 {
        assert_eq!(code(&access, &format!("good-{number}")).await, 200);
        assert_eq!(code(&access, &format!("bad-{number}")).await, 401);
        advance(Duration::from_secs(1)).await;
    }

    let known = access.known.lock();
    assert_eq!(known.allowed.len(), TOKENS);
    assert!(known.refused.len() <= TOKENS);
}
