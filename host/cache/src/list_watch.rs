//! LIST and WATCH of one collection, as bytes.

use std::time::Duration;

use crate::{
    decode::{Decoder, ListDecoder, ListPage},
    error::{Problem, RequestError},
    list_extent::ListExtent,
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
    /// Requests a list in one page.
    pub(crate) async fn whole(
        &self,
        options: ListOptions<'_>,
        decoder: &Decoder,
    ) -> Result<ListPage, RequestError> {
        self.page(options, decoder, &mut self.extent(decoder)).await
    }

    /// Requests one page and decodes it while it arrives.
    async fn page(
        &self,
        options: ListOptions<'_>,
        decoder: &Decoder,
        extent: &mut ListExtent,
    ) -> Result<ListPage, RequestError> {
        let call = self.list_call();
        // A page is requested after the previous page has arrived, so the server sets the pace.
        if options.continue_token.is_empty() {
            self.transport.budget.take().await;
        }
        let patience = self.transport.request_timeout;
        let mut body = self.transport.open(&call, self.collection.list(options), patience).await?;
        let mut list = ListDecoder::new(decoder);
        let error = |problem| self.transport.error(&call, problem);
        while let Some(chunk) = self.transport.chunk(&call, &mut body, list.read).await? {
            list.push(&chunk).map_err(error)?;
            extent.check(list.read, list.items()).map_err(error)?;
            decoder.tend().await;
        }
        extent.add(list.read, list.items()).map_err(error)?;
        list.finish().map_err(error)
    }

    /// Lists at `resource_version`, page by page. No part of the list is visible before the last page has arrived. The list has the
    /// resource version of the first page, and the items of all pages in order. The flag is true if the list had more than one
    /// page. A list fails if it becomes too large, repeats a continue token, or has too many pages without a new object (D-14).
    pub(crate) async fn list(
        &self,
        decoder: &Decoder,
        resource_version: &str,
        mut limit: Option<u32>,
    ) -> Result<(ListPage, bool), RequestError> {
        let options = ListOptions { resource_version, limit, ..ListOptions::default() };
        let mut extent = self.extent(decoder);
        let mut list = self.page(options, decoder, &mut extent).await?;
        let mut token = std::mem::take(&mut list.continue_token);
        let paged = !token.is_empty();
        let mut has_expired = false;
        let error = |problem| self.transport.error(&self.list_call(), problem);
        if paged {
            extent.page(&list).map_err(error)?;
        }
        while !token.is_empty() {
            let options = ListOptions { limit, continue_token: &token, ..ListOptions::default() };
            match self.page(options, decoder, &mut extent).await {
                Ok(page) if page.continue_token == token => {
                    return Err(error(Problem::Unexpected("the same continue token twice".to_owned())));
                }
                Ok(page) => {
                    extent.page(&page).map_err(error)?;
                    list.objects.extend(page.objects);
                    list.undecodable.extend(page.undecodable);
                    token = page.continue_token;
                }
                // The continue token has expired, so the pages so far are useless: fetch the list without pages, once.
                // A server that ignores the limit may send pages nevertheless, and they belong to the list.
                Err(expired) if expired.has_reason_expired() && !has_expired => {
                    (has_expired, limit) = (true, None);
                    drop(list);
                    extent = self.extent(decoder);
                    let whole = ListOptions { resource_version, ..ListOptions::default() };
                    list = self.page(whole, decoder, &mut extent).await?;
                    token = std::mem::take(&mut list.continue_token);
                    if !token.is_empty() {
                        extent.page(&list).map_err(error)?;
                    }
                }
                Err(failed) => return Err(failed),
            }
        }
        Ok((list, paged))
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

    /// The extent of a list that begins now.
    pub(crate) fn extent(&self, decoder: &Decoder) -> ListExtent {
        ListExtent::new(self.transport.list_bytes, decoder.list_ceiling())
    }

    /// Makes an error of the open watch.
    pub(crate) fn watch_error(&self, problem: Problem) -> RequestError {
        self.transport.error(&self.watch_call(), problem)
    }

    fn list_call(&self) -> String {
        format!("LIST {}", self.collection.name())
    }

    fn watch_call(&self) -> String {
        format!("WATCH {}", self.collection.name())
    }
}
