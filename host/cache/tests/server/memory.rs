//! Serves the script through a `kube::Client` without a network.

use std::{
    convert::Infallible,
    future::pending,
    io,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture, stream};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::client::Body;
use tokio::sync::mpsc;
use tower_service::Service;

use super::{Answer, Script, Step};

type Chunk = Result<Frame<Bytes>, io::Error>;
type Chunks = std::pin::Pin<Box<dyn futures::Stream<Item = Chunk> + Send>>;

impl Script {
    /// A client of this server.
    pub(crate) fn client(&self) -> kube::Client {
        kube::Client::new(Memory(self.clone()), "default")
    }
}

#[derive(Clone)]
struct Memory(Script);

impl Service<http::Request<Body>> for Memory {
    type Response = http::Response<StreamBody<Chunks>>;
    type Error = io::Error;
    type Future = BoxFuture<'static, Result<Self::Response, io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let target = request.uri().path_and_query().unwrap().as_str().to_owned();
        let accept =
            request.headers().get("accept").and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        let answer = match self.0.answer(&target, accept) {
            Answer::Refused => Err(io::ErrorKind::ConnectionRefused.into()),
            Answer::Silent => return pending().boxed(),
            Answer::Http { status, headers, body } => {
                let mut response = http::Response::builder().status(status);
                for (name, value) in headers {
                    response = response.header(name, value);
                }
                Ok(response.body(StreamBody::new(chunks(body))).unwrap())
            }
        };
        async { answer }.boxed()
    }
}

fn chunks(body: mpsc::UnboundedReceiver<Step>) -> Chunks {
    Box::pin(stream::unfold(Some(body), async |body| {
        let mut body = body?;
        match body.recv().await {
            Some(Step::Bytes(bytes)) => Some((Ok(Frame::data(Bytes::from(bytes))), Some(body))),
            Some(Step::End) => None,
            Some(Step::Reset) => Some((Err(io::ErrorKind::ConnectionReset.into()), None)),
            Some(Step::Panic) => panic!("a bug of ours"),
            // The test writes nothing more: the answer stays open.
            None => match pending::<Infallible>().await {},
        }
    }))
}
