//! Lists that are fetched page by page.

use crate::Error;

/// One page: its objects, and the token of the next page.
type Fetched<T> = Result<(Vec<T>, Option<String>), Error>;

/// Fetches the page of a token, or the first page.
type Fetch<'a, T> = Box<dyn FnMut(Option<&str>) -> Fetched<T> + 'a>;

/// The objects of a list. The list fetches a page when the previous page is used up. It ends after an error.
pub struct List<'a, T> {
    fetch: Fetch<'a, T>,
    items: std::vec::IntoIter<T>,
    rest: Rest,
}

/// The position of the next page.
enum Rest {
    First,
    After(String),
    None,
}

// === impl List ===

impl<'a, T> List<'a, T> {
    pub(crate) fn new(fetch: impl FnMut(Option<&str>) -> Fetched<T> + 'a) -> Self {
        Self { fetch: Box::new(fetch), items: Vec::new().into_iter(), rest: Rest::First }
    }
}

impl<T> Iterator for List<'_, T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.items.next() {
                return Some(Ok(item));
            }
            let fetched = match std::mem::replace(&mut self.rest, Rest::None) {
                Rest::First => (self.fetch)(None),
                Rest::After(token) => (self.fetch)(Some(&token)),
                Rest::None => return None,
            };
            match fetched {
                Ok((items, next)) => {
                    self.items = items.into_iter();
                    self.rest = next.map_or(Rest::None, Rest::After);
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl<T> std::iter::FusedIterator for List<'_, T> {}

impl<T> std::fmt::Debug for List<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("List").field("fetched", &self.items.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    fn refused() -> Error {
        Error::Host { code: ErrorCode::StalePage, message: "gone".to_owned() }
    }

    #[test]
    fn pages_are_joined_and_an_empty_page_does_not_end_the_list() {
        let mut tokens = Vec::new();
        let list = List::new(|token| {
            tokens.push(token.map(str::to_owned));
            Ok(match token {
                None => (vec![1, 2], Some("a".to_owned())),
                Some("a") => (vec![], Some("b".to_owned())),
                _ => (vec![3], None),
            })
        });

        let all: Result<Vec<i32>, Error> = list.collect();

        assert_eq!(all.unwrap(), [1, 2, 3]);
        assert_eq!(tokens, [None, Some("a".to_owned()), Some("b".to_owned())]);
    }

    #[test]
    fn a_page_is_fetched_only_when_it_is_needed() {
        let mut calls = 0;
        let mut list = List::new(|_| {
            calls += 1;
            Ok((vec![1, 2], Some("more".to_owned())))
        });

        let first: Vec<_> = list.by_ref().take(2).map(Result::unwrap).collect();
        drop(list);

        assert_eq!((first, calls), (vec![1, 2], 1));
    }

    #[test]
    fn a_list_ends_after_an_error() {
        let mut list =
            List::new(
                |token| if token.is_none() { Ok((vec![1], Some("x".to_owned()))) } else { Err(refused()) },
            );

        assert!(matches!(list.next(), Some(Ok(1))));
        assert!(matches!(list.next(), Some(Err(Error::Host { code: ErrorCode::StalePage, .. }))));
        assert!(list.next().is_none());
        assert!(list.next().is_none());
    }
}
