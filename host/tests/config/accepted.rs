use std::{
    num::{NonZeroU32, NonZeroUsize},
    path::Path,
    time::Duration,
};

use informer::{
    config::{
        self, Access, Cluster, Components, Config, Enqueue, Environment, Limits, MetricsAuth, Place, Queue,
        Relist, Retry, SMALLEST, StateDir, Workqueue,
    },
    logging::LogFormat,
};

use informer_cache::WatchListMode;
use informer_dispatch::{
    Changed, DeliveryMode, Events, Fate, Initial, QuarantineConfig, Rate, RetryConfig, When,
};
use informer_runtime::InstancePolicy;
use informer_system::HttpAddress;
use informer_types::{ReadGrant, SecretGrants};

use crate::{parse, with};

fn good(text: &str) -> Config {
    parse(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_smallest_file_is_enough_and_everything_else_has_a_default() {
    let config = good(SMALLEST);

    assert_eq!(config.cluster, Cluster::default());
    assert_eq!(config.host.admin, Some(HttpAddress::Tcp("127.0.0.1:8080".parse().unwrap())));
    assert_eq!(config.host.health, None);
    assert_eq!((config.host.log.as_str(), config.host.log_format), ("info", LogFormat::Text));
    assert_eq!(config.host.shutdown_timeout, Duration::from_secs(25));
    assert_eq!(config.host.trace, 16_384);
    assert_eq!(config.host.cache_dir.as_deref(), Some(Path::new("/home/me/.cache/informer")));
    assert_eq!(config.host.state_dir, StateDir::At("/home/me/.local/state/informer".into()));

    let [watch] = config.watches.as_slice() else { panic!("{config:?}") };
    assert!(watch.namespaces.is_empty() && watch.labels.is_empty() && watch.fields.is_empty());
    assert!(watch.indexes.is_empty());
    assert_eq!(watch.resync, None);
    assert_eq!(watch.drop, ["/metadata/managedFields".parse().unwrap()]);
    assert!(watch.keep.is_empty() && !watch.metadata_only);

    let [plugin] = config.plugins.as_slice() else { panic!("{config:?}") };
    assert_eq!(plugin.source.file(), Some(Path::new("/etc/informer/hello.wasm")));
    assert_eq!(plugin.instance, InstancePolicy::default());
    assert_eq!(plugin.queue, Queue::default());
    assert_eq!(plugin.retry, Retry::default());
    assert_eq!(plugin.quarantine, QuarantineConfig::default());
    assert_eq!(plugin.limits, Limits::default());
    assert_eq!((&plugin.grants.read, &plugin.grants.write), (&None, &None));
    assert_eq!(plugin.grants.secrets, SecretGrants::default());
    assert_eq!(plugin.config_json, "{}");

    let [on] = plugin.subscriptions.as_slice() else { panic!("{plugin:?}") };
    assert_eq!(on.filter.events, Events::ALL);
    assert_eq!((on.resync, on.relist, on.filter.initial), (None, Relist::Changed, Initial::Deliver));
    assert_eq!(on.settle, Duration::ZERO);
}

/// Each key has another value than its default.
const EVERY_KEY: &str = r#"
        [cluster]
        context = "dev"
        kubeconfig = "~/dev.yaml"
        page-size = 100
        qps = 5
        burst = 10
        watch-list = "off"
        idle-watch-timeout = "90s"
        list-size = "20MiB"

        [host]
        admin = "[::1]:0"
        health = "[::]:8081"
        metrics-auth = "kubernetes"
        log = "warn,informer_cache=debug"
        log-format = "json"
        shutdown-timeout = "1m"
        trace = 500
        cache-dir = "../cache"
        state-dir = "~/state"
        guest-memory = "3GiB"

        [[watch]]
        gvr = "v1/pods"
        namespaces = ["a", "b"]
        labels = "app in (x, y)"
        fields = "spec.nodeName=node-1"
        resync = "10m"
        drop = []
        index = { by-node = "/spec/nodeName", by-volume = ["/spec/volumes/*/configMap/name", "/spec/volumes/*/name"] }

        [[plugin]]
        name = "p"
        source = "/opt/p.wasm"
        instance = "warm"
        max-calls = 1000
        idle-timeout = "0s"
        on = [{ watch = "v1/pods", events = ["update"], namespaces-labels = "team=shop", labels = "app=x", annotations = "auto=true", fields = "status.phase!=Failed", when = "object.spec.nodeName != \"\"", changed = ["generation", "/metadata/labels"], resync = "30s", settle = "0s", relist = "all", initial = "skip", enqueue = "controller" }]
        workqueue = { workers = 2, capacity = 9, attempts = 6, min = "1s", max = "2s", qps = 3, burst = 4 }
        queue = { workers = 4, batch = 9, delivery = "every", capacity = 500, rate = 2.5, burst = 7 }
        retry = { min = "1s", max = "2s", factor = 1.5, jitter = 0, attempts = 0, budget = 0, on-exhausted = "drop" }
        quarantine = { after = 0, min = "2s", max = "3s" }
        limits = { memory = "1GiB", deadline = "250ms", cpu = "200ms/s", host-calls = 0, instances = 2, log = 0, log-lines = 0, response = 4096, requests = 7, keyvalue-writes = 9, http-requests = 2, http-body = 8192, metric-series = 3 }
        grant = { read = ["v1/pods"], write = ["patch v1/pods @shop", "create v1/configmaps"], secrets = ["shop/*"], http = ["GET https://a.example.com"] }
        "#;

#[test]
fn every_key_of_the_cluster_and_the_host_has_an_effect() {
    let config = good(EVERY_KEY);
    let path = Some("/home/me/dev.yaml".into());
    assert_eq!(config.cluster.access, Access::Kubeconfig { path, context: Some("dev".to_owned()) });
    assert_eq!(config.cluster.page_size.map(u32::from), Some(100));
    assert_eq!((config.cluster.qps.get(), config.cluster.burst.get()), (5, 10));
    assert_eq!(config.cluster.watch_list, WatchListMode::Off);
    assert_eq!(config.cluster.idle_watch_timeout, Duration::from_secs(90));
    assert_eq!(config.cluster.list_bytes, 20 << 20);
    assert_eq!(config.host.admin, Some(HttpAddress::Tcp("[::1]:0".parse().unwrap())));
    assert_eq!(config.host.health, Some("[::]:8081".parse().unwrap()));
    assert_eq!(config.host.metrics_auth, MetricsAuth::Kubernetes);
    assert_eq!(
        (config.host.log.as_str(), config.host.log_format),
        ("warn,informer_cache=debug", LogFormat::Json)
    );
    assert_eq!(config.host.shutdown_timeout, Duration::from_secs(60));
    assert_eq!(config.host.trace, 500);
    assert_eq!(config.host.guest_memory, Some(3 << 30));
    assert_eq!(config.host.cache_dir.as_deref(), Some(Path::new("/etc/informer/../cache")));
    assert_eq!(config.host.state_dir, StateDir::At("/home/me/state".into()));
}

#[test]
fn every_key_of_a_watch_has_an_effect() {
    let watch = &good(EVERY_KEY).watches[0];
    assert_eq!(watch.namespaces, ["a", "b"]);
    assert_eq!(watch.labels, "app in (x,y)".parse().unwrap());
    assert_eq!(watch.fields, "spec.nodeName=node-1".parse().unwrap());
    assert_eq!(watch.resync, Some(Duration::from_secs(600)));
    assert!(watch.drop.is_empty());
    assert_eq!(watch.indexes["by-node"], "/spec/nodeName".parse().unwrap());
}

#[test]
fn every_key_of_the_queues_of_a_plugin_has_an_effect() {
    let plugin = &good(EVERY_KEY).plugins[0];
    assert_eq!(plugin.source.file(), Some(Path::new("/opt/p.wasm")));
    assert_eq!(
        plugin.instance,
        InstancePolicy::Warm { max_calls: 1000.try_into().ok(), idle_timeout: Duration::MAX }
    );
    let queue = Queue {
        workers: 4.try_into().unwrap(),
        batch: 9.try_into().unwrap(),
        delivery: DeliveryMode::Every { capacity: 500.try_into().unwrap() },
        rate: Some(Rate { per_second: 2.5, burst: 7.try_into().unwrap() }),
    };
    assert_eq!(plugin.queue, queue);
    let workqueue = Workqueue {
        workers: 2.try_into().unwrap(),
        capacity: 9.try_into().unwrap(),
        attempts: 6.try_into().ok(),
        min: Duration::from_secs(1),
        max: Duration::from_secs(2),
        qps: 3.try_into().unwrap(),
        burst: 4.try_into().unwrap(),
    };
    assert_eq!(plugin.workqueue, workqueue);
    let (min, max) = (Duration::from_secs(2), Duration::from_secs(3));
    let quarantine = &plugin.quarantine;
    assert_eq!((quarantine.after, quarantine.backoff.min, quarantine.backoff.max), (None, min, max));
    let Retry { calls: RetryConfig { backoff, attempts, on_exhausted }, budget } = &plugin.retry;
    assert_eq!((backoff.min, backoff.max), (Duration::from_secs(1), Duration::from_secs(2)));
    assert_eq!((backoff.factor.to_string(), backoff.jitter.to_string()), ("1.5".into(), "0".into()));
    assert_eq!((*attempts, *budget, *on_exhausted), (None, None, Fate::Drop));
}

#[test]
fn every_limit_of_a_plugin_has_an_effect() {
    let plugin = &good(EVERY_KEY).plugins[0];
    let calls = informer_runtime::Limits {
        memory_bytes: 1 << 30,
        deadline: Duration::from_millis(250),
        cpu: Some(Duration::from_millis(200)),
        host_calls: None,
        log_bytes: 0,
        log_lines: None,
        response_bytes: 4096,
        requests: NonZeroU32::new(7).unwrap(),
        keyvalue_writes: NonZeroU32::new(9).unwrap(),
        http_requests: 2,
        http_body_bytes: 8192,
        metric_series: 3,
    };
    let limits = Limits { calls, instances: NonZeroUsize::new(2) };
    assert_eq!(plugin.limits, limits);
}

#[test]
fn every_grant_of_a_plugin_has_an_effect() {
    let plugin = &good(EVERY_KEY).plugins[0];
    assert_eq!(
        plugin.grants.read,
        Some(["v1/pods @a,b".parse::<ReadGrant>().unwrap()].into_iter().collect()),
        "of what is watched"
    );
    let write = plugin.grants.write.as_ref().unwrap();
    let lines: Vec<String> = write.iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["patch v1/pods @shop", "create v1/configmaps"]);
    assert!(plugin.grants.secrets.contain_all(Some("shop")) && !plugin.grants.secrets.contain_all(None));
    let http: Vec<String> = plugin.grants.http.iter().flatten().map(ToString::to_string).collect();
    assert_eq!(http, ["GET https://a.example.com:443/"]);
}

#[test]
fn every_key_of_a_subscription_has_an_effect() {
    let on = &good(EVERY_KEY).plugins[0].subscriptions[0];
    assert_eq!(on.filter.events, Events { add: false, update: true, delete: false });
    assert_eq!(on.filter.namespaces_labels.to_string(), "team in (shop)");
    assert_eq!(
        (on.filter.labels.to_string(), on.filter.fields.to_string()),
        ("app in (x)".into(), "status.phase!=Failed".into())
    );
    assert_eq!(on.filter.when.as_ref().map(When::text), Some("object.spec.nodeName != \"\""));
    assert_eq!(on.filter.annotations.to_string(), "auto in (true)");
    let pointers = vec!["/metadata/labels".parse().unwrap()];
    assert_eq!(on.filter.changed, Changed { generation: true, partial: false, pointers });
    assert_eq!((on.relist, on.filter.initial, on.enqueue), (Relist::All, Initial::Skip, Enqueue::Controller));
    assert_eq!(on.resync, Some(Duration::from_secs(30)));
}

/// What is not kept cannot be compared.
#[test]
fn generation_alone_needs_no_brackets_and_knows_what_the_watch_keeps() {
    let changed = |watch: &str| {
        let text = format!(
            "[[watch]]\ngvr = \"v1/pods\"\n{watch}\n[[plugin]]\nname = \"p\"\nsource = \"p\"\n\
             [[plugin.on]]\nwatch = \"v1/pods\"\nchanged = \"generation\""
        );
        let changed = good(&text).plugins[0].subscriptions[0].filter.changed.clone();
        assert!(changed.generation && changed.pointers.is_empty());
        changed.partial
    };

    assert!(!changed(""));
    assert!(!changed("drop = [\"/metadata/managedFields\", \"/metadata/annotations\"]"));
    assert!(changed("drop = [\"/spec\"]"));
    assert!(changed("keep = [\"/spec\"]"));
    assert!(changed("metadata-only = true"));
}

#[test]
fn a_subscription_inherits_the_resync_period_of_its_watch() {
    let text = |resync: &str| {
        format!(
            "[[watch]]\ngvr = \"v1/pods\"\nresync = \"10m\"\n\
             [[plugin]]\nname = \"p\"\nsource = \"p\"\n[[plugin.on]]\nwatch = \"v1/pods\"\n{resync}"
        )
    };
    let resync = |line| good(&text(line)).plugins[0].subscriptions[0].resync;

    assert_eq!(resync(""), Some(Duration::from_secs(600)));
    assert_eq!(resync("resync = \"5m\""), Some(Duration::from_secs(300)));
    assert_eq!(resync("resync = \"0s\""), None);
}

#[test]
fn a_longer_first_wait_extends_the_default_of_the_longest_one() {
    let retry = good(&with("[plugin.retry]\nmin = \"5m\"\n")).plugins[0].retry.clone();

    assert_eq!(
        (retry.calls.backoff.min, retry.calls.backoff.max),
        (Duration::from_secs(300), Duration::from_secs(300))
    );
}

#[test]
fn the_path_of_an_admin_socket_is_relative_to_the_file_or_to_the_home_directory() {
    for (written, path) in [
        ("unix:/run/informer/admin.sock", "/run/informer/admin.sock"),
        ("unix:admin.sock", "/etc/informer/admin.sock"),
        ("unix:~/admin.sock", "/home/me/admin.sock"),
    ] {
        let config = good(&format!("[host]\nadmin = \"{written}\"\n{SMALLEST}"));
        assert_eq!(config.host.admin, Some(HttpAddress::Unix(path.into())), "{written}");
    }
}

#[test]
fn the_admin_endpoint_the_cache_and_the_state_can_be_switched_off() {
    let config =
        good(&format!("[host]\nadmin = \"off\"\ncache-dir = \"off\"\nstate-dir = \"off\"\n{SMALLEST}"));

    assert_eq!((config.host.admin, config.host.cache_dir), (None, None));
    assert_eq!(config.host.state_dir, StateDir::Off);
}

#[test]
fn without_a_home_directory_state_is_kept_only_in_a_configured_directory() {
    let environment = Environment::default();
    let place = Place { file: Path::new("f.toml"), base: Path::new("/etc"), environment: &environment };
    let read = |text: &str| config::parse(text, &place, Components::Unseen).unwrap().host.state_dir;

    assert_eq!(read(SMALLEST), StateDir::Nowhere);
    assert_eq!(read(&format!("[host]\nstate-dir = \"off\"\n{SMALLEST}")), StateDir::Off);
    assert_eq!(
        read(&format!("[host]\nstate-dir = \"state\"\n{SMALLEST}")),
        StateDir::At("/etc/state".into())
    );
}

#[test]
fn a_server_is_reached_without_a_kubeconfig() {
    let config = good(&format!("[cluster]\nserver = \"http://127.0.0.1:8001\"\n{SMALLEST}"));

    assert_eq!(config.cluster.access, Access::Server("http://127.0.0.1:8001".parse().unwrap()));
}

#[test]
fn a_plugins_own_table_becomes_json_with_dates_as_texts() {
    let config = good(&with(
        "[plugin.config]\nb = 0x10\na = [1, 2.5, true]\nwhen = 2026-01-02T03:04:05Z\n[plugin.config.deep]\nc = \"d\"\n",
    ));

    assert_eq!(
        config.plugins[0].config_json,
        r#"{"a":[1,2.5,true],"b":16,"deep":{"c":"d"},"when":"2026-01-02T03:04:05Z"}"#
    );
}

#[test]
fn files_with_the_same_meaning_are_equal() {
    let (before, same) = (good(SMALLEST), good(&format!("# a comment\n{SMALLEST}")));
    let after = good(&with("[plugin.limits]\nmemory = \"65MiB\"\n"));

    assert_eq!(before, same);
    assert_eq!(before.watches, after.watches);
    assert_ne!(before.plugins, after.plugins);
}

#[test]
fn a_watch_keeps_parts_of_its_objects_or_only_their_metadata() {
    let config = good(
        r#"
        [[watch]]
        gvr = "v1/pods"
        keep = ["/spec/nodeName", "/status/phase"]
        index = { by-node = "/spec/nodeName", by-app = "/metadata/labels/app" }
        [[watch]]
        gvr = "v1/secrets"
        metadata-only = true
        keep = ["/metadata/annotations"]
        [[plugin]]
        name = "p"
        source = "/opt/p.wasm"
        on = [{ watch = "v1/pods" }]
        "#,
    );

    let [pods, secrets] = &config.watches[..] else { panic!("{:?}", config.watches) };
    assert_eq!(pods.keep, ["/spec/nodeName".parse().unwrap(), "/status/phase".parse().unwrap()]);
    assert_eq!(pods.indexes.len(), 2);
    assert!(!pods.metadata_only && secrets.metadata_only);
    assert_eq!(secrets.keep, ["/metadata/annotations".parse().unwrap()]);
}

#[test]
fn the_default_burst_is_the_rate_of_a_second() {
    for (rate, burst) in [("0.5", 1), ("1", 1), ("2.5", 3), ("100", 100)] {
        let queue = good(&with(&format!("[plugin.queue]\nrate = {rate}\n"))).plugins[0].queue.clone();

        assert_eq!(queue.rate.unwrap().burst.get(), burst, "{rate}");
    }
}

#[test]
fn a_resource_that_a_plugin_writes_need_not_be_watched() {
    let config = good(&with("[plugin.grant]\nwrite = [\"patch v1/services @shop\"]\n"));

    let [watch] = config.watches.as_slice() else { panic!("{config:?}") };
    assert_ne!(watch.gvr.to_string(), "v1/services");
    assert!(config.plugins[0].grants.write.is_some());
}
