//! Lists.

use std::fmt::Write;

use tokio::sync::mpsc;

use super::{Reply, State, request::Request};
use crate::{
    body::Piece,
    collection::{Change, TYPE},
    ledger::{Mark, is_in},
    script::{Ending, Failure},
};

/// A part of the state of one version.
struct Page {
    version: u64,
    offset: usize,
}

// === impl Page ===

impl Page {
    fn token(&self) -> String {
        format!("at={}&from={}", self.version, self.offset)
    }

    fn of(token: &str) -> Self {
        let (version, offset) = token.strip_prefix("at=").unwrap().split_once("&from=").unwrap();
        Self { version: version.parse().unwrap(), offset: offset.parse().unwrap() }
    }
}

// === impl State ===

impl State {
    pub(super) fn list(&mut self, request: &Request) -> Reply {
        let first = request.token.is_empty();
        let wrong = if first {
            let (paged, vanished) = (self.paged, self.vanished());
            self.ledger(&request.scope).check_list(&request.version, paged, vanished)
        } else {
            (!request.version.is_empty()).then(|| "a page that names a version".to_owned())
        };
        self.violations.extend(wrong);
        let faults = if first { &mut self.faults.list } else { &mut self.faults.page };
        let fault = faults.pop_front();
        let cut = match self.fail(fault, |state, failure| state.refuse_list(request, failure)) {
            Ok(cut) => cut,
            Err(reply) => return reply,
        };
        match self.page(request) {
            Ok(page) => self.answer_list(request, &page, cut),
            Err(failure) => self.refuse_list(request, failure),
        }
    }

    /// The state that the request selects (A-2).
    fn page(&self, request: &Request) -> Result<Page, Failure> {
        if !request.token.is_empty() {
            let page = Page::of(&request.token);
            return if page.version < self.compacted { Err(Failure::Expired) } else { Ok(page) };
        }
        let version = match request.version.as_str() {
            "" => self.collection.version(),
            "0" => self.horizon(),
            version if version.parse::<u64>().unwrap() > self.horizon() => return Err(Failure::TooLarge),
            _ => self.horizon(),
        };
        Ok(Page { version, offset: 0 })
    }

    pub(super) fn refuse_list(&mut self, request: &Request, failure: Failure) -> Reply {
        // An expired page is not about the version of the list (R-13).
        if failure.is_about_the_version() && (request.token.is_empty() || failure != Failure::Expired) {
            self.ledger(&request.scope).version_unavailable();
        }
        self.refusal(failure)
    }

    fn answer_list(&mut self, request: &Request, page: &Page, cut: Option<(usize, Ending)>) -> Reply {
        let objects = self.collection.at(page.version);
        let in_scope = objects.into_values().filter(|change| is_in(&request.scope, change.key));
        let rest: Vec<&Change> = in_scope.skip(page.offset).collect();
        let (items, more) = rest.split_at(request.limit.unwrap_or(usize::MAX).min(rest.len()));
        let next = Page { version: page.version, offset: page.offset + items.len() };
        let next = Some(next).filter(|_| !more.is_empty());
        let mut text = format!(
            r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":["#,
            page.version,
            next.as_ref().map(Page::token).unwrap_or_default(),
        );
        for (at, item) in items.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(text, "{comma}{}", item.text.replacen(TYPE, "", 1)).unwrap();
        }
        text.push_str("]}\n");
        let mark = next.is_none().then_some(Mark::Listed { from: page.version, version: page.version });
        self.list_body(request, &text, mark, cut)
    }

    fn list_body(
        &mut self,
        request: &Request,
        text: &str,
        mark: Option<Mark>,
        cut: Option<(usize, Ending)>,
    ) -> Reply {
        let (sender, pieces) = mpsc::unbounded_channel();
        let (length, ending) = cut.unwrap_or((text.len(), Ending::Clean));
        for chunk in self.chunks(text.get(..length).unwrap_or(text)) {
            let _ = sender.send(chunk);
        }
        // A list without its newline is complete too.
        let whole = length + 1 >= text.len() && ending == Ending::Clean;
        if let Some(mark) = mark.filter(|_| whole) {
            self.ledger(&request.scope).sent(mark);
            let _ = sender.send(Piece::Mark(mark));
        }
        self.finish(sender, ending);
        Reply::Http { status: 200, retry_after: None, pieces, deadline: None }
    }
}
