//! Which addresses a request may connect to. No test makes a connection.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use tokio::sync::Notify;

use super::{super::traffic::Traffic, *};

/// Resolves to public addresses at first and to this machine from then on.
#[derive(Default)]
struct Rebinding(AtomicUsize);

impl Resolver for Rebinding {
    fn resolve(&self, _: String, _: Ticket) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let answers = [["198.51.100.7", "2001:db8::7"], ["127.0.0.1", "::1"]];
        let lookups = self.0.fetch_add(1, Ordering::Relaxed);
        let answer = answers[lookups.min(1)].iter().map(|text| text.parse().unwrap()).collect();
        Box::pin(ready(Ok(answer)))
    }
}

#[tokio::test]
async fn the_connection_goes_to_an_address_that_was_checked() {
    let client =
        HttpClient::new(HttpConfig { resolver: Arc::new(Rebinding::default()), ..HttpConfig::default() })
            .unwrap();
    let grant: HttpGrant = "http://a.example.com:8080/".parse().unwrap();
    let target = Target::of(&"http://a.example.com:8080/".parse().unwrap()).unwrap();

    let first = client.addresses(&target, &grant, Ticket::default()).await;
    let second = client.addresses(&target, &grant, Ticket::default()).await;

    let checked: Vec<SocketAddr> =
        ["198.51.100.7:8080", "[2001:db8::7]:8080"].iter().map(|text| text.parse().unwrap()).collect();
    assert_eq!(first.ok(), Some(checked));
    let denied = second.unwrap_err().to_string();
    assert_eq!(denied, "no plugin may reach 127.0.0.1, the address of the name: it is this machine");
}

/// Resolves no name and keeps the ticket of each lookup.
#[derive(Default)]
struct Ignorant(parking_lot::Mutex<Vec<Ticket>>);

impl Resolver for Ignorant {
    fn resolve(&self, _: String, ticket: Ticket) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.0.lock().push(ticket);
        Box::pin(ready(Err(io::Error::other("no such name"))))
    }
}

#[tokio::test]
async fn a_protected_name_without_addresses_denies_every_request_and_is_not_looked_up_each_time() {
    let resolver = Arc::new(Ignorant::default());
    let protected = vec![Protected { what: "the API server", host: "api.example.com".to_owned(), port: 443 }];
    let config = HttpConfig { protected, resolver: Arc::clone(&resolver) as _, ..HttpConfig::default() };
    let client = HttpClient::new(config).unwrap();
    let grant: HttpGrant = "http://198.51.100.7/".parse().unwrap();
    let target = Target::of(&"http://198.51.100.7/".parse().unwrap()).unwrap();
    let request = Arc::new(Arc::<Traffic>::default().begin(1).unwrap());

    for _ in 0..3 {
        let denied = client.addresses(&target, &grant, Ticket::of(&request)).await.unwrap_err();
        assert_eq!(denied.to_string(), Denied::Unprotected("the API server").to_string());
    }

    assert_eq!(resolver.0.lock().len(), 1);
    assert_eq!(Arc::strong_count(&request), 2, "the lookup counts as a request of the plugin");
}

#[test]
fn a_place_that_cannot_be_protected_and_an_unreadable_authority_are_errors() {
    let protected = vec![Protected { what: "the API server", host: "a b".to_owned(), port: 1 }];
    let unprotected = HttpClient::new(HttpConfig { protected, ..HttpConfig::default() }).unwrap_err();
    let extra_authorities = b"no certificate".to_vec();
    let untrusted = HttpClient::new(HttpConfig { extra_authorities, ..HttpConfig::default() }).unwrap_err();

    assert_eq!(
        unprotected.to_string(),
        "the API server at \"a b\" cannot be protected: this is neither a name nor an address"
    );
    assert!(untrusted.to_string().contains("the text holds no certificate"), "{untrusted}");
}

/// Resolves every name to one address, which is the only one of this machine besides loopback.
#[derive(Clone, Copy)]
struct Own(&'static str);

impl Resolver for Own {
    fn resolve(&self, _: String, _: Ticket) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(ready(Ok(vec![self.0.parse().unwrap()])))
    }
}

impl Interfaces for Own {
    fn addresses(&self) -> io::Result<Vec<IpAddr>> {
        Ok(vec!["127.0.0.1".parse().unwrap(), "10.1.2.3".parse().unwrap(), "fd12::3".parse().unwrap()])
    }
}

/// Logs and tools print IPv4 addresses in IPv6 form.
#[tokio::test]
async fn a_denied_network_in_ipv6_form_denies_the_ipv4_addresses_inside_it() {
    for (denied, expected) in [
        ("::ffff:10.9.0.0/112", true),
        ("::ffff:10.9.1.1/128", true),
        ("::ffff:10.9.1.2/128", false),
        ("::ffff:10.8.0.0/112", false),
        ("::/0", false),
    ] {
        let (interfaces, deny) = (Arc::new(Own("10.9.1.1")), vec![denied.parse().unwrap()]);
        let client = HttpClient::new(HttpConfig { interfaces, deny, ..HttpConfig::default() }).unwrap();
        for url in ["http://10.9.1.1/", "http://[::ffff:10.9.1.1]/"] {
            let (grant, target): (HttpGrant, _) = (url.parse().unwrap(), url.parse().unwrap());

            let found = client.addresses(&Target::of(&target).unwrap(), &grant, Ticket::default()).await;

            assert_eq!(found.is_err(), expected, "{denied} {url}");
        }
    }
}

/// Lists these places as the API server's, or fails if there are none.
struct Endpoints(&'static [&'static str], AtomicUsize);

impl Directory for Endpoints {
    fn places(&self) -> BoxFuture<'_, io::Result<Vec<SocketAddr>>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        let places: Vec<SocketAddr> = self.0.iter().map(|text| text.parse().unwrap()).collect();
        Box::pin(ready(if places.is_empty() { Err(io::Error::other("forbidden")) } else { Ok(places) }))
    }
}

/// The verdict on a request to this URL under a grant for the same URL.
async fn verdict(config: HttpConfig, url: &str) -> Result<Vec<SocketAddr>, String> {
    let client = HttpClient::new(config).unwrap();
    let target = Target::of(&url.parse().unwrap()).unwrap();
    let addresses = client.addresses(&target, &url.parse().unwrap(), Ticket::default()).await;
    addresses.map_err(|problem| problem.to_string())
}

fn named(address: &'static str) -> HttpConfig {
    HttpConfig {
        resolver: Arc::new(Own(address)),
        interfaces: Arc::new(Own(address)),
        ..HttpConfig::default()
    }
}

#[tokio::test]
async fn no_name_leads_to_an_address_of_this_machine_in_any_form() {
    for own in [
        "10.1.2.3",
        "::ffff:10.1.2.3",
        "::ffff:0:a01:203",
        "64:ff9b::a01:203",
        "2002:a01:203::",
        "fd12::3",
        "127.0.0.1",
    ] {
        let denied = verdict(named(own), "http://a.example.com:8080/").await.unwrap_err();
        assert!(denied.ends_with("the address of the name: it is this machine"), "{own}: {denied}");
    }
    for other in ["10.1.2.4", "fd12::4"] {
        assert!(verdict(named(other), "http://a.example.com:8080/").await.is_ok(), "{other}");
    }
    for url in ["http://10.1.2.3:8080/", "http://[fd12::3]:8080/", "http://127.0.0.1:8080/"] {
        assert!(verdict(named("10.1.2.3"), url).await.is_ok(), "the grant names the address: {url}");
    }
}

/// The real interfaces of the machine that runs the test.
#[tokio::test]
async fn no_name_leads_to_an_interface_that_this_machine_has_now() {
    struct Fixed(IpAddr);
    impl Resolver for Fixed {
        fn resolve(&self, _: String, _: Ticket) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            Box::pin(ready(Ok(vec![self.0])))
        }
    }
    for address in SystemInterfaces.addresses().unwrap() {
        let config = HttpConfig { resolver: Arc::new(Fixed(address)), ..HttpConfig::default() };
        let denied = verdict(config, "http://a.example.com:8080/").await.unwrap_err();
        assert!(denied.starts_with(&format!("no plugin may reach {address}")), "{denied}");
    }
}

#[tokio::test]
async fn without_a_list_of_interfaces_every_request_is_denied() {
    struct Unknown;
    impl Interfaces for Unknown {
        fn addresses(&self) -> io::Result<Vec<IpAddr>> {
            Err(io::Error::other("too many open files"))
        }
    }
    let config = HttpConfig { interfaces: Arc::new(Unknown), ..named("198.51.100.7") };

    let denied = verdict(config, "http://a.example.com/").await.unwrap_err();

    assert_eq!(denied, "the addresses of this machine, which no plugin may reach, cannot be listed");
}

#[tokio::test]
async fn the_port_of_a_place_on_this_machine_is_closed_on_every_address_of_it() {
    for host in ["127.0.0.1", "localhost.example.com", "10.1.2.3", "0.0.0.0", "::"] {
        for url in [
            "http://10.1.2.3:6443/",
            "http://[fd12::3]:6443/",
            "http://127.0.0.1:6443/",
            "http://127.8.9.1:6443/",
            "http://[::1]:6443/",
            "http://[::ffff:10.1.2.3]:6443/",
        ] {
            let protected = vec![Protected { what: "the API server", host: host.to_owned(), port: 6443 }];
            let config = HttpConfig { protected, ..named("127.0.0.1") };
            let denied = verdict(config, url).await.unwrap_err();
            assert!(denied.ends_with("is the API server"), "{host} {url}: {denied}");
        }
    }
    let at = |host: &str| {
        let protected = vec![Protected { what: "the API server", host: host.to_owned(), port: 6443 }];
        HttpConfig { protected, ..named("127.0.0.1") }
    };
    assert!(verdict(at("127.0.0.1"), "http://10.1.2.3:8080/").await.is_ok(), "another port of this machine");
    assert!(verdict(at("10.1.2.3"), "http://127.0.0.1:8080/").await.is_ok(), "another port of this machine");
    let denied = verdict(at("10.1.2.3"), "http://10.1.2.3:8080/").await.unwrap_err();
    assert!(denied.ends_with("is the API server"), "beyond loopback the whole address is closed: {denied}");
    assert!(
        verdict(at("10.9.9.9"), "http://10.1.2.3:6443/").await.is_ok(),
        "the place is on another machine"
    );
}

#[tokio::test]
async fn a_port_that_is_closed_later_is_closed_on_every_address_of_this_machine() {
    let client = HttpClient::new(named("127.0.0.1")).unwrap();
    let denied = async |url: &str| {
        let (grant, target) = (url.parse().unwrap(), Target::of(&url.parse().unwrap()).unwrap());
        client.addresses(&target, &grant, Ticket::default()).await.err().map(|problem| problem.to_string())
    };
    let urls = ["http://127.0.0.1:8081/", "http://10.1.2.3:8081/", "http://[::ffff:10.1.2.3]:8081/"];
    for url in urls {
        assert_eq!(denied(url).await, None);
    }

    client.close_port("the host's admin endpoint", 8081);

    for url in urls {
        let denied = denied(url).await.unwrap();
        assert!(denied.ends_with("is the host's admin endpoint"), "{url}: {denied}");
    }
    for url in ["http://127.0.0.1:8082/", "http://198.51.100.7:8081/"] {
        assert_eq!(denied(url).await, None, "{url}");
    }
}

#[tokio::test]
async fn the_places_that_the_api_server_lists_are_closed() {
    let listed = || Arc::new(Endpoints(&["10.96.0.1:443", "10.1.2.3:6443"], AtomicUsize::new(0)));
    for (url, closed) in [
        ("http://10.96.0.1:8080/", true),
        ("http://[::ffff:10.96.0.1]:443/", true),
        ("http://127.0.0.1:6443/", true),
        ("http://127.0.0.1:8080/", false),
        ("http://10.96.0.2:443/", false),
    ] {
        let config = HttpConfig { api_server: Some(listed() as _), ..named("127.0.0.1") };
        let verdict = verdict(config, url).await;
        assert_eq!(verdict.is_err_and(|why| why.ends_with("is the API server")), closed, "{url}");
    }
}

#[tokio::test]
async fn the_list_of_the_api_server_is_read_once_in_a_while_and_its_failure_denies_nothing() {
    let target = Target::of(&"http://198.51.100.7/".parse().unwrap()).unwrap();
    for places in [&["10.96.0.1:443"][..], &[]] {
        let directory = Arc::new(Endpoints(places, AtomicUsize::new(0)));
        let config = HttpConfig { api_server: Some(Arc::clone(&directory) as _), ..named("127.0.0.1") };
        let client = HttpClient::new(config).unwrap();
        for _ in 0..3 {
            let grant = "http://198.51.100.7/".parse().unwrap();
            client.addresses(&target, &grant, Ticket::default()).await.unwrap();
        }
        assert_eq!(directory.1.load(Ordering::Relaxed), 1, "{places:?}");
    }
}

/// Lists one place once it is opened, and counts its lookups.
#[derive(Default)]
struct Slow {
    lookups: AtomicUsize,
    opened: Notify,
}

impl Directory for Slow {
    fn places(&self) -> BoxFuture<'_, io::Result<Vec<SocketAddr>>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        Box::pin(async {
            self.opened.notified().await;
            let place: SocketAddr = "198.51.100.7:80".parse().unwrap();
            Ok(vec![place])
        })
    }
}

/// A guest may drop each request while the API server lists its addresses. No limit of the plugin counts the requests of such a lookup to
/// the API server.
#[tokio::test]
async fn requests_that_are_dropped_share_one_lookup_and_the_next_one_ends_it() {
    let directory = Arc::new(Slow::default());
    let config = HttpConfig { api_server: Some(Arc::clone(&directory) as _), ..named("127.0.0.1") };
    let client = HttpClient::new(config).unwrap();
    let target = Target::of(&"http://198.51.100.7/".parse().unwrap()).unwrap();
    let grant: HttpGrant = "http://198.51.100.7/".parse().unwrap();
    let begun = Instant::now();
    for _ in 0..100 {
        let dropped = client.addresses(&target, &grant, Ticket::default()).now_or_never();
        assert!(dropped.is_none(), "the lookup has not ended");
    }

    directory.opened.notify_one();
    let denied = client.addresses(&target, &grant, Ticket::default()).await.unwrap_err();

    assert!(denied.to_string().ends_with("is the API server"), "{denied}");
    let lookups = u32::try_from(directory.lookups.load(Ordering::Relaxed)).unwrap();
    let least = Duration::from_millis(100) * (lookups - 1);
    assert!(begun.elapsed() >= least, "a lookup is shared for 100 ms, but there were {lookups}");
}

/// A guest may drop each request while the host reads the authorities of the machine.
#[tokio::test]
async fn a_request_that_is_dropped_leaves_the_authorities_whose_reading_it_began() {
    let extra_authorities =
        include_bytes!("../../../../tests/runtime/http/certificates/authority.pem").to_vec();
    let client = HttpClient::new(HttpConfig { extra_authorities, ..HttpConfig::default() }).unwrap();
    let request = Arc::new(Arc::<Traffic>::default().begin(1).unwrap());

    for _ in 0..10 {
        drop(client.tls(Ticket::of(&request)).now_or_never());
        assert!(Arc::strong_count(&request) <= 2, "there is at most one reading");
    }

    let begun = Instant::now();
    while client.0.tls.get().is_none() || Arc::strong_count(&request) > 1 {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is kept");
        tokio::task::yield_now().await;
    }
}
