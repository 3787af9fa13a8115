//! LIST and WATCH of one collection, as bytes.

use std::time::Duration;

use crate::{
    decode::{Decoder, ListDecoder, ListError, ListPage},
    error::{Problem, RequestError},
    request::{Collection, ListOptions, WatchOptions},
    transport::Transport,
    watch_stream::WatchStream,
};

/// Lists and watches one collection.
pub(crate) struct ListWatch {
    pub(crate) transport: Transport,
    pub(crate) collection: Collection,
}

// === impl ListWatch ===

impl ListWatch {
    /// Requests one page and decodes it while it arrives.
    pub(crate) async fn page(
        &self,
        options: ListOptions<'_>,
        decoder: &Decoder,
    ) -> Result<ListPage, RequestError> {
        let call = self.list_call();
        // A later page is requested after the one before has arrived, so the server sets the pace.
        if options.continue_token.is_empty() {
            self.transport.budget.take().await;
        }
        let patience = self.transport.request_timeout;
        let mut body = self.transport.open(&call, self.collection.list(options), patience).await?;
        let mut list = ListDecoder::new(decoder);
        let mut read = 0;
        let problem = |error, read| self.transport.error(&call, list_problem(error, read));
        while let Some(chunk) = self.transport.chunk(&call, &mut body, read).await? {
            read += chunk.len() as u64;
            list.push(&chunk).map_err(|error| problem(error, read))?;
            decoder.train().await;
        }
        list.finish().map_err(|error| problem(error, read))
    }

    /// Opens a watch. The server must answer within `patience`, and within the timeout of any request.
    pub(crate) async fn watch(
        &self,
        options: WatchOptions<'_>,
        patience: Duration,
    ) -> Result<WatchStream, RequestError> {
        self.transport.budget.take().await;
        let request = self.collection.watch(options);
        let patience = patience.min(self.transport.request_timeout);
        let body = self.transport.open(&self.watch_call(), request, patience).await?;
        Ok(WatchStream::new(body, self.transport.max_object_bytes))
    }

    /// Makes an error of the open watch.
    pub(crate) fn watch_error(&self, problem: Problem) -> RequestError {
        self.transport.error(&self.watch_call(), problem)
    }

    /// Makes an error of a list.
    pub(crate) fn list_error(&self, problem: Problem) -> RequestError {
        self.transport.error(&self.list_call(), problem)
    }

    fn list_call(&self) -> String {
        format!("LIST {}", self.collection.name())
    }

    fn watch_call(&self) -> String {
        format!("WATCH {}", self.collection.name())
    }
}

fn list_problem(error: ListError, read: u64) -> Problem {
    match error {
        ListError::Html => Problem::Html,
        ListError::Truncated => Problem::Truncated(read),
        ListError::NotJson(error) => Problem::NotJson(error),
        ListError::Table => Problem::Table("a Table"),
        ListError::NotAList(what) => Problem::Unexpected(what),
        ListError::TooLong(bytes) => Problem::TooLong(bytes),
        ListError::Status(status) => Problem::of_status(status),
    }
}
