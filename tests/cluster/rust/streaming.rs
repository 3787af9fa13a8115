//! Streaming lists of the real server: what they bring is what a plain list brings.

use informer_cache::{FactoryConfig, InformerFactory, ListQuery, WatchConfig, WatchListMode};
use informer_tests::cluster::{Options, RealCluster, User, require};
use informer_types::{Gvr, LabelSelector};
use tokio::time::{Instant, sleep};

use crate::support::{SOON, config_maps, create};

#[tokio::test(flavor = "multi_thread")]
async fn the_real_server_marks_the_end_and_a_plain_list_agrees_whatever_it_is_asked_for_r43_r50() {
    let Ok(()) = require() else { return };
    for (watch_cache, metadata_only) in [(true, false), (false, false), (true, true)] {
        let cluster = RealCluster::start(Options { watch_cache, ..Options::default() }).await.unwrap();
        let api = config_maps(cluster.client(User::Admin).await.unwrap());
        for number in 0..20 {
            create(&api, &format!("one-of-{number}")).await;
        }
        let config = FactoryConfig {
            watch_list: WatchListMode::On,
            check_consistency: true,
            ..FactoryConfig::default()
        };
        let factory = InformerFactory::new(cluster.client(User::Admin).await.unwrap(), config);
        let configmaps = WatchConfig::new(Gvr::new("", "v1", "configmaps"));
        let informer = factory.informer(WatchConfig { metadata_only, ..configmaps });
        factory.start();

        let deadline = Instant::now() + SOON;
        while informer.status().counters.consistent_lists == 0 {
            assert!(
                Instant::now() < deadline,
                "watch cache: {watch_cache}, metadata only: {metadata_only}; {:?}",
                informer.status()
            );
            sleep(std::time::Duration::from_millis(20)).await;
        }
        create(&api, "and-one-more").await;
        let query = ListQuery { namespace: Some("default"), labels: &LabelSelector::default(), index: None };
        while informer.lister().list(&query).unwrap().len() < 21 {
            assert!(
                Instant::now() < deadline,
                "watch cache: {watch_cache}, metadata only: {metadata_only}; {:?}",
                informer.status()
            );
            sleep(std::time::Duration::from_millis(20)).await;
        }

        let counters = informer.status().counters;
        assert_eq!((counters.lists, counters.streaming_lists, counters.watches), (1, 1, 1));
        assert_eq!((counters.failures, counters.quarantined, counters.skipped), (0, 0, 0));
        factory.shutdown().await;
        cluster.shutdown().await.unwrap();
    }
}
