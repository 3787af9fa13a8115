//! Fetches one list, page by page.

use crate::{
    decode::{Decoder, ListPage},
    error::{Problem, RequestError},
    list_watch::ListWatch,
    request::ListOptions,
};

/// A whole list.
pub(crate) struct FullList {
    /// The resource version of the first page, and the items of all pages in order.
    pub(crate) list: ListPage,
    /// True if the list had more than one page.
    pub(crate) paged: bool,
}

/// Lists at `resource_version`. No part of the list is visible before the last page has arrived.
pub(crate) async fn list(
    list_watch: &ListWatch,
    decoder: &Decoder,
    resource_version: &str,
    limit: Option<u32>,
) -> Result<FullList, RequestError> {
    let options = ListOptions { resource_version, limit, ..ListOptions::default() };
    let mut list = list_watch.page(options, decoder).await?;
    let mut token = std::mem::take(&mut list.continue_token);
    let paged = !token.is_empty();
    while !token.is_empty() {
        let options = ListOptions { limit, continue_token: &token, ..ListOptions::default() };
        match list_watch.page(options, decoder).await {
            Ok(page) if page.continue_token == token => {
                return Err(
                    list_watch.list_error(Problem::Unexpected("the same continue token twice".to_owned()))
                );
            }
            Ok(page) => {
                list.objects.extend(page.objects);
                list.undecodable.extend(page.undecodable);
                token = page.continue_token;
            }
            // The continue token has expired, so the pages so far are useless: fetch the list without pages.
            Err(error) if error.has_reason_expired() => {
                drop(list);
                let whole = ListOptions { resource_version, ..ListOptions::default() };
                return Ok(FullList { list: list_watch.page(whole, decoder).await?, paged: true });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(FullList { list, paged })
}
