//! Decides who may read `/metrics` of the health endpoint, if that needs a token: an identity that the API server accepts and
//! that may get this path, as with the filters of controller-runtime.
//!
//! Each review costs two requests to the API server, and any machine may send any token. So the answers are remembered for a
//! short time, and tokens that were not accepted before are reviewed at a limited rate.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    http::{
        HeaderMap, StatusCode,
        header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use futures::future::BoxFuture;
use informer_types::TokenBucket;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

/// A token that was accepted is used for this long without another review, as in controller-runtime.
const ALLOWED_FOR: Duration = Duration::from_secs(60);

/// A token that was refused is refused for this long: an operator who adds a rule expects it to work soon.
const REFUSED_FOR: Duration = Duration::from_secs(10);

/// The most tokens remembered of each kind.
const TOKENS: usize = 64;

/// The reviews of unknown tokens in a second, and at once.
const REVIEWS: (f64, f64) = (5.0, 20.0);

/// The time for a review. Prometheus waits ten seconds for the whole scrape.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most bytes of a token.
const TOKEN_BYTES: usize = 16 << 10;

/// The time between two log lines about reviews that failed.
const LOG_SPACING: Duration = Duration::from_secs(60);

/// Reviews tokens.
pub trait Reviewer: Send + Sync + 'static {
    /// Reviews a token: is it one of an identity, and may that identity get `/metrics`?
    ///
    /// # Errors
    /// The API server did not review it.
    fn review<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Verdict, Unreviewed>>;
}

/// The result of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The identity may get `/metrics`.
    Allowed,
    /// The token is that of an identity that may not get `/metrics`.
    Forbidden,
    /// The API server does not accept the token.
    Unknown,
}

/// Why the API server did not review a token.
#[derive(Debug, thiserror::Error)]
pub enum Unreviewed {
    /// It does not allow the host to create reviews.
    #[error("it does not allow this host to create reviews; apply the roles of `informer rbac`")]
    Denied(#[source] kube::Error),
    /// It answered with an error.
    #[error("it answered with an error")]
    Failed(#[source] kube::Error),
    /// It cannot be reached.
    #[error("it cannot be reached")]
    Unreachable(#[source] kube::Error),
    /// It did not answer in time.
    #[error("it did not answer within {} s", PATIENCE.as_secs())]
    Late,
}

/// Decides who may read the metrics.
pub(super) struct Access {
    reviewer: Arc<dyn Reviewer>,
    known: Mutex<Known>,
    logged: Mutex<Option<Instant>>,
}

type Hash = [u8; 32];

/// The answers by the hash of the token.
struct Known {
    /// The time until which each accepted token needs no review. An expired entry stays, so that the next review of its token is
    /// not limited.
    allowed: HashMap<Hash, Instant>,
    refused: HashMap<Hash, (Verdict, Instant)>,
    budget: TokenBucket,
}

/// Why a request is refused.
#[derive(Debug)]
enum Refusal {
    Unauthenticated,
    Forbidden,
    TooMany,
    Unreviewed(Unreviewed),
}

// === impl Access ===

impl Access {
    pub(super) fn new(reviewer: Arc<dyn Reviewer>) -> Self {
        let budget = TokenBucket::new(REVIEWS.0, REVIEWS.1);
        let known = Known { allowed: HashMap::new(), refused: HashMap::new(), budget };
        Self { reviewer, known: Mutex::new(known), logged: Mutex::default() }
    }

    /// Returns the refusal of a request with these headers, or `None` if it may read the metrics.
    pub(super) async fn refusal(&self, headers: &HeaderMap) -> Option<Response> {
        let token = bearer(headers).ok_or(Refusal::Unauthenticated);
        let judged = match token {
            Ok(token) => self.judge(token).await,
            Err(refusal) => Err(refusal),
        };
        judged.err().map(Refusal::into_response)
    }

    async fn judge(&self, token: &str) -> Result<(), Refusal> {
        let hash: Hash = Sha256::digest(token).into();
        if let Some(verdict) = self.known.lock().verdict(&hash, now())? {
            return verdict.admit();
        }
        let reviewed = timeout(PATIENCE, self.reviewer.review(token)).await;
        match reviewed.unwrap_or(Err(Unreviewed::Late)) {
            Ok(verdict) => {
                self.known.lock().learn(hash, verdict, now());
                verdict.admit()
            }
            Err(error) => {
                self.log(&error);
                Err(Refusal::Unreviewed(error))
            }
        }
    }

    fn log(&self, error: &Unreviewed) {
        let mut logged = self.logged.lock();
        if logged.is_none_or(|at| now().saturating_duration_since(at) >= LOG_SPACING) {
            *logged = Some(now());
            let causes: Vec<String> = anyhow::Chain::new(error).skip(1).map(ToString::to_string).collect();
            let cause = causes.join(": ");
            tracing::warn!(%error, cause, "the API server does not review the tokens of those who read the metrics");
        }
    }
}

// === impl Known ===

impl Known {
    /// Returns the remembered verdict, or `None` if the token is to be reviewed now.
    fn verdict(&mut self, hash: &Hash, now: Instant) -> Result<Option<Verdict>, Refusal> {
        match (self.allowed.get(hash), self.refused.get(hash)) {
            (Some(until), _) => Ok((now < *until).then_some(Verdict::Allowed)),
            (None, Some((verdict, until))) if now < *until => Ok(Some(*verdict)),
            _ if self.budget.take(now) => Ok(None),
            _ => Err(Refusal::TooMany),
        }
    }

    fn learn(&mut self, hash: Hash, verdict: Verdict, now: Instant) {
        self.allowed.remove(&hash);
        self.refused.remove(&hash);
        if verdict == Verdict::Allowed {
            make_room(&mut self.allowed, |until| *until);
            self.allowed.insert(hash, now + ALLOWED_FOR);
        } else {
            make_room(&mut self.refused, |(_, until)| *until);
            self.refused.insert(hash, (verdict, now + REFUSED_FOR));
        }
    }
}

// === impl Verdict ===

impl Verdict {
    fn admit(self) -> Result<(), Refusal> {
        match self {
            Self::Allowed => Ok(()),
            Self::Forbidden => Err(Refusal::Forbidden),
            Self::Unknown => Err(Refusal::Unauthenticated),
        }
    }
}

// === impl Refusal ===

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Unauthenticated => {
                let text = "send `Authorization: Bearer TOKEN` with a token that the API server accepts\n";
                (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], text).into_response()
            }
            Self::Forbidden => {
                let text = "this identity may not read the metrics: bind it to a ClusterRole with the rule \
                            {nonResourceURLs: [\"/metrics\"], verbs: [\"get\"]}\n";
                (StatusCode::FORBIDDEN, text).into_response()
            }
            Self::TooMany => {
                let text = "too many unknown tokens: try again\n";
                (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "1")], text).into_response()
            }
            Self::Unreviewed(why) => {
                let text = format!("the API server does not review the token: {why}\n");
                (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
            }
        }
    }
}

/// The time of tokio's clock, which tests may pause.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The token of `Authorization: Bearer TOKEN`. There must be one such header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim_start();
    let fits = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= TOKEN_BYTES;
    fits.then_some(token)
}

/// Removes the entry that expires first if there is no room for another one.
fn make_room<V>(entries: &mut HashMap<Hash, V>, until: impl Fn(&V) -> Instant) {
    if entries.len() >= TOKENS
        && let Some(first) = entries.iter().min_by_key(|(_, entry)| until(entry)).map(|(hash, _)| *hash)
    {
        entries.remove(&first);
    }
}

#[cfg(test)]
mod tests;
