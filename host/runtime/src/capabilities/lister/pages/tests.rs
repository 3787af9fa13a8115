use informer_types::{Body, Header};

use super::*;

fn pods() -> Gvr {
    Gvr::new("", "v1", "pods")
}

fn everything() -> Selector {
    Selector { namespace: None, labels: String::new(), index: None }
}

fn part(limit: u32, token: Option<&str>) -> Page {
    Page { limit, token: token.map(str::to_owned) }
}

fn objects(count: usize) -> Vec<Arc<Object>> {
    let object = |index: usize| {
        let header = Header { name: format!("pod-{index}").into(), ..Header::default() };
        Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap())
    };
    (0..count).map(object).collect()
}

fn first(lists: &mut OpenLists, limit: u32, count: usize) -> Cursor {
    lists.open(pods(), everything(), &part(limit, None), objects(count))
}

fn next(lists: &mut OpenLists, limit: u32, token: &str) -> Result<Cursor, Error> {
    lists.resume(token, &pods(), &everything(), &part(limit, Some(token)))
}

#[test]
fn pages_follow_one_another_to_the_end_of_the_snapshot() {
    let mut lists = OpenLists::default();

    let cursor = first(&mut lists, 2, 5);
    assert_eq!(cursor.objects().len(), 2);
    let token = lists.advance(cursor, 2).unwrap();
    let cursor = next(&mut lists, 2, &token).unwrap();
    assert_eq!(cursor.objects()[0].name(), "pod-2");
    let token = lists.advance(cursor, 2).unwrap();
    let cursor = next(&mut lists, 2, &token).unwrap();
    assert_eq!(cursor.objects().len(), 1);

    assert_eq!(lists.advance(cursor, 1), None);
    assert!(lists.open.is_empty());
}

#[test]
fn a_page_that_ended_early_is_continued_where_it_ended() {
    let mut lists = OpenLists::default();
    let cursor = first(&mut lists, 4, 5);

    let token = lists.advance(cursor, 1).unwrap();

    assert_eq!(next(&mut lists, 4, &token).unwrap().objects()[0].name(), "pod-1");
}

#[test]
fn a_limit_of_zero_and_one_beyond_the_hosts_give_the_hosts() {
    let mut lists = OpenLists::default();

    assert_eq!(first(&mut lists, 0, PAGE + 1).objects().len(), PAGE);
    assert_eq!(first(&mut lists, u32::MAX, PAGE + 1).objects().len(), PAGE);
}

#[test]
fn a_token_is_stale_after_its_call_and_is_never_given_out_again() {
    let mut lists = OpenLists::default();
    let cursor = first(&mut lists, 1, 3);
    let token = lists.advance(cursor, 1).unwrap();

    lists.renew();
    assert_eq!(next(&mut lists, 1, &token).err().unwrap().code, ErrorCode::StalePage);

    let cursor = first(&mut lists, 1, 3);
    assert_ne!(lists.advance(cursor, 1).unwrap(), token);
    assert_eq!(next(&mut lists, 1, &token).err().unwrap().code, ErrorCode::StalePage);
}

#[test]
fn a_token_that_was_never_given_out_is_stale() {
    let mut lists = OpenLists::default();
    let cursor = first(&mut lists, 1, 3);
    lists.advance(cursor, 1).unwrap();

    for token in ["", ".", "x", "1.1", "-1.0", "99999999999999999999.0"] {
        assert_eq!(next(&mut lists, 1, token).err().unwrap().code, ErrorCode::StalePage, "{token}");
    }
}

#[test]
fn a_token_beyond_the_end_of_its_list_gives_an_empty_last_page() {
    let mut lists = OpenLists::default();
    let cursor = first(&mut lists, 1, 3);
    lists.advance(cursor, 1).unwrap();

    let cursor = next(&mut lists, 1, &format!("0.{}", usize::MAX)).unwrap();

    assert!(cursor.objects().is_empty());
    assert_eq!(lists.advance(cursor, 0), None);
}

#[test]
fn a_token_does_not_serve_another_selector() {
    let mut lists = OpenLists::default();
    let cursor = first(&mut lists, 1, 3);
    let token = lists.advance(cursor, 1).unwrap();
    let other = Selector { labels: "app=web".to_owned(), ..everything() };

    let refused = lists.resume(&token, &pods(), &other, &part(1, Some(&token)));

    assert_eq!(refused.err().unwrap().code, ErrorCode::Invalid);
}

#[test]
fn of_too_many_open_lists_the_one_used_longest_ago_is_closed() {
    let mut lists = OpenLists::default();
    let mut begin = || {
        let cursor = first(&mut lists, 1, 3);
        lists.advance(cursor, 1).unwrap()
    };
    let tokens: Vec<String> = (0..=OPEN_AT_MOST).map(|_| begin()).collect();

    assert!(next(&mut lists, 1, &tokens[0]).is_err());
    assert!(tokens[1..].iter().all(|token| next(&mut lists, 1, token).is_ok()));
}
