//! The answers to scrapes, in a bounded amount of memory.
//!
//! Any machine may request the metrics at the health endpoint, and the text is long: hundreds of kilobytes with twenty plugins. Clients
//! that request the text on many connections and read nothing would each keep one text in memory. The endpoint closes no connection
//! whose request it is answering, so requests that wait for their texts could also leave no connection for a probe.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Weak},
};

use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CONTENT_LENGTH, CONTENT_TYPE, VARY},
    },
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream::unfold;
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedMutexGuard, Semaphore},
    task::spawn_blocking,
};

use super::format::Format;

/// The most texts of one endpoint in memory at once.
const TEXTS: usize = 8;

/// The most requests of one endpoint that wait for their texts at once.
const WAITING: usize = 8;

/// The bytes of a text that a connection takes at once.
const PART: usize = 16 << 10;

/// Answers scrapes of one endpoint. The text is made on a thread for blocking work, one text at a time: with a thousand plugins this
/// takes long. At most eight texts are in memory. If there is a ninth, the oldest one is freed, and its client loses its connection.
#[derive(Debug)]
pub(crate) struct Scrapes {
    waiting: Semaphore,
    sending: Arc<tokio::sync::Mutex<Sending>>,
}

/// The texts that clients have not taken yet, the oldest first.
type Sending = VecDeque<Weak<Text>>;

/// A text that a client has not taken yet. `None` if eight newer ones are in memory.
type Text = Mutex<Option<String>>;

// === impl Scrapes ===

impl Scrapes {
    /// Answers with the metrics that `make` returns as OpenMetrics text, in the format that the request accepts, or with 503 if eight
    /// requests wait already.
    ///
    /// # Cancel safety
    /// If the future is dropped, a text that is being made is finished before the next one begins, and then freed.
    pub(crate) async fn answer(
        &self,
        request: &HeaderMap,
        make: impl FnOnce() -> String + Send + 'static,
    ) -> Response {
        let Ok(_place) = self.waiting.try_acquire() else {
            return (StatusCode::SERVICE_UNAVAILABLE, "too many scrapes wait\n").into_response();
        };
        let format = Format::accepted(request);
        let sending = Arc::clone(&self.sending).lock_owned().await;
        let making = spawn_blocking(move || {
            let text = format.write(make());
            (HeaderValue::from(text.len()), keep(sending, text))
        });
        match making.await {
            Ok((length, text)) => {
                let headers = [
                    (CONTENT_TYPE, HeaderValue::from_static(format.content_type())),
                    (VARY, HeaderValue::from_static("accept")),
                    // A client of HTTP/1.0 notices only by the length that an answer is cut off.
                    (CONTENT_LENGTH, length),
                ];
                (headers, body(text)).into_response()
            }
            Err(error) => {
                // The text of a panic may contain names of objects, and any machine may read the answer.
                tracing::error!(%error, "the metrics cannot be written");
                (StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written\n").into_response()
            }
        }
    }
}

impl Default for Scrapes {
    fn default() -> Self {
        Self { waiting: Semaphore::new(WAITING), sending: Arc::default() }
    }
}

/// Adds a text, and frees the oldest one if there are too many.
fn keep(mut sending: OwnedMutexGuard<Sending>, text: String) -> Arc<Text> {
    sending.retain(|text| text.strong_count() > 0);
    if sending.len() >= TEXTS
        && let Some(oldest) = sending.pop_front().and_then(|oldest| oldest.upgrade())
    {
        oldest.lock().take();
    }
    let text = Arc::new(Text::new(Some(text)));
    sending.push_back(Arc::downgrade(&text));
    text
}

/// The body of an answer. It is copied part by part, so that the text can be freed before the client has taken it.
fn body(text: Arc<Text>) -> Body {
    Body::from_stream(unfold(Some((text, 0)), |left| async move {
        let (text, from) = left?;
        match part(&text, from) {
            Ok(part) if part.is_empty() => None,
            Ok(part) => {
                let next = from + part.len();
                Some((Ok(part), Some((text, next))))
            }
            Err(error) => Some((Err(error), None)),
        }
    }))
}

/// The next part of a text, which is empty at its end.
fn part(text: &Text, from: usize) -> io::Result<Bytes> {
    let text = text.lock();
    let text = text.as_ref().ok_or_else(|| io::Error::other("newer scrapes took the place of this one"))?;
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    Ok(Bytes::copy_from_slice(rest.get(..PART).unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use axum::{body::to_bytes, http::header::ACCEPT};
    use futures::FutureExt as _;

    use super::*;

    /// A text of several parts.
    fn long() -> String {
        "x".repeat(2 * PART + 1)
    }

    async fn scrape(scrapes: &Scrapes) -> Response {
        let request = HeaderMap::from_iter([(ACCEPT, "application/openmetrics-text".parse().unwrap())]);
        scrapes.answer(&request, long).await
    }

    async fn taken(answer: Response) -> Result<Bytes, axum::Error> {
        to_bytes(answer.into_body(), 1 << 20).await
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_loses_its_answer_once_there_are_too_many_newer_ones() {
        let scrapes = Scrapes::default();
        let mut answers = VecDeque::new();
        for _ in 0..=TEXTS {
            answers.push_back(scrape(&scrapes).await);
        }

        let oldest = taken(answers.pop_front().unwrap()).await;

        assert!(oldest.is_err(), "{oldest:?}");
        for answer in answers {
            assert_eq!(taken(answer).await.unwrap(), long());
        }
    }

    #[tokio::test]
    async fn an_answer_that_was_taken_keeps_no_place() {
        let scrapes = Scrapes::default();
        let slow = scrape(&scrapes).await;
        for _ in 0..2 * TEXTS {
            assert_eq!(taken(scrape(&scrapes).await).await.unwrap(), long());
        }

        assert_eq!(taken(slow).await.unwrap(), long());
    }

    #[tokio::test]
    async fn a_request_is_refused_at_once_if_too_many_wait_for_their_answers() {
        let scrapes = Scrapes::default();
        let making = Arc::clone(&scrapes.sending).lock_owned().await;
        let mut waiting: Vec<_> = (0..WAITING).map(|_| Box::pin(scrape(&scrapes))).collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none());
        }

        let refused = scrape(&scrapes).now_or_never().unwrap();

        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(making);
        for one in waiting {
            assert_eq!(taken(one.await).await.unwrap(), long());
        }
        assert_eq!(scrape(&scrapes).await.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn a_panic_is_answered_without_its_text() {
        let request = HeaderMap::new();
        let answer = Scrapes::default().answer(&request, || panic!("shop/web")).await;

        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(taken(answer).await.unwrap(), "the metrics cannot be written\n");
    }

    #[tokio::test]
    async fn the_answer_has_the_format_that_the_request_accepts() {
        let scrapes = Scrapes::default();
        let metrics = || "# HELP x Of x.\n# TYPE x gauge\nx 1\n# EOF\n".to_owned();

        let answer = scrapes.answer(&HeaderMap::new(), metrics).await;

        let text = "# HELP x Of x.\n# TYPE x gauge\nx 1\n";
        assert_eq!(answer.headers()[CONTENT_TYPE], "text/plain; version=0.0.4; charset=utf-8");
        assert_eq!(answer.headers()[CONTENT_LENGTH], text.len().to_string());
        assert_eq!(taken(answer).await.unwrap(), text);
    }
}
