use super::*;

fn answer(status: u16, retry_after: Option<&str>) -> Answer {
    Answer { status, retry_after: retry_after.map(str::to_owned), body: " why\n".to_owned() }
}

fn now() -> Timestamp {
    "2026-05-01T12:00:00Z".parse().unwrap()
}

#[test]
fn the_status_decides_whether_an_event_is_sent_again() {
    for status in [200, 201, 204, 299] {
        assert_eq!(answer(status, None).verdict(now()), Verdict::Sent);
    }
    for status in [408, 425, 500, 502, 503, 504] {
        let later = Verdict::Later(format!("it answered {status}: why"), None);
        assert_eq!(answer(status, None).verdict(now()), later);
    }
    let busy = Verdict::Busy("it answered 429: why".to_owned(), None);
    assert_eq!(answer(429, None).verdict(now()), busy);
    for status in [304, 400, 401, 403, 404, 410, 413, 422] {
        let never = Verdict::Never(format!("it answered {status}: why"));
        assert_eq!(answer(status, None).verdict(now()), never);
    }
    let hint = "the exporter follows no redirect: configure the address that the receiver redirects to";
    for status in [301, 302, 303, 307, 308] {
        let never = Verdict::Never(format!("it answered {status} ({hint}): why"));
        assert_eq!(answer(status, None).verdict(now()), never);
    }
}

#[test]
fn a_receiver_may_name_the_time_of_the_next_request() {
    for (text, expected) in [
        ("7", Some(7)),
        ("0", Some(0)),
        ("Fri, 01 May 2026 12:00:30 GMT", Some(30)),
        ("Fri, 01 May 2026 11:00:00 GMT", Some(0)),
        ("99999999", Some(900)),
        ("soon", None),
    ] {
        let pause = answer(503, Some(text)).pause(now());
        assert_eq!(pause, expected.map(Duration::from_secs), "{text}");
    }
}

#[test]
fn an_address_has_a_host_and_may_have_a_port_credentials_and_a_query() {
    let url = |text: &str| Url::try_from(text.to_owned());
    let parts = |text: &str| {
        let url = url(text).unwrap();
        (url.https, url.authority, url.path, url.authorization)
    };

    assert_eq!(parts("https://a.example"), (true, "a.example".into(), "/".into(), None));
    assert_eq!(parts("http://a:80/b?c=d#e"), (false, "a:80".into(), "/b?c=d".into(), None));
    assert_eq!(parts("http://a?c=d"), (false, "a".into(), "/?c=d".into(), None));
    let basic = Some("Basic dTpw".to_owned());
    assert_eq!(parts("https://u:p@a/b"), (true, "a".into(), "/b".into(), basic));
    assert_eq!(url("http://es:9200/").unwrap().join("/_bulk").path, "/_bulk");
    assert_eq!(url("https://hooks.example/secret").unwrap().to_string(), "https://hooks.example");
    for text in ["", "example.com", "ftp://a", "http://", "http:// a/"] {
        assert!(url(text).is_err(), "{text}");
    }
}

#[test]
fn the_credentials_of_an_address_are_percent_decoded() {
    let authorization =
        |text: &str| Url::try_from(text.to_owned()).map(|url| url.authorization.unwrap_or_default());

    for (text, name, password) in [
        ("https://user:p%40ss@a", "user", "p@ss"),
        ("https://us%3Aer:%2f%25@a/b", "us:er", "/%"),
        ("https://%C3%A4:a+b@a", "ä", "a+b"),
        ("https://user@a", "user", ""),
    ] {
        assert_eq!(authorization(text), Ok(basic(name.as_bytes(), password.as_bytes())), "{text}");
    }
    assert_eq!(authorization("https://%ff:@a"), Ok(basic(b"\xff", b"")));
    assert_eq!(authorization("https://@a"), Ok(String::new()), "no name is no header");
    for text in ["https://u:100%@a", "https://u:%4@a", "https://u:%zz@a", "https://u:%+4@a", "https://u:%ä@a"]
    {
        let refused = authorization(text).unwrap_err();
        assert!(refused.contains("`%25` for `%`") && !refused.contains("u:"), "{text}: {refused}");
    }
}
