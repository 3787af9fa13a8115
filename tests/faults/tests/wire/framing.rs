//! The boundaries of chunks do not matter: the decoder finds frames and objects.

use std::time::{Duration, Instant};

use informer_cache::{ErrorClass, FactoryConfig};
use informer_faults::{Cut, Fault, HttpVersion, On};
use serde_json::json;

use crate::world::{PATIENCE, World, at_once, config, server, server_with};

#[tokio::test]
async fn lists_and_frames_may_be_split_anywhere() {
    for http in HttpVersion::ALL {
        for bytes in [1, 2, 3, 7, 64, 149, 150, 151] {
            let server = server_with(On::list(), Fault::good().chunks(bytes));
            server.plan(On::watch(), Fault::good().chunks(bytes));
            server.collection().put_with("shop/ä", "text", json!("æøå 🦀 \"\\\n"));
            let world = World::start(server, http);
            world.watches().await;
            world.server.collection().put_with("shop/ö", "text", json!("{}\n[]\u{2028}"));
            world.server.collection().delete("shop/ä");

            world.settles().await;

            assert_eq!(world.requested(), ["list 0", "watch 13"], "{http:?} {bytes}");
        }
    }
}

#[tokio::test]
async fn a_chunk_may_contain_many_frames() {
    for http in HttpVersion::ALL {
        let world = World::start(server_with(On::watch(), Fault::good().joined(7)), http);
        world.watches().await;
        for _ in 0..10 {
            for key in ["shop/a", "shop/b"] {
                world.server.collection().put(key);
            }
        }

        // With the pod that `settles` adds there are 21 frames in three chunks.
        world.settles().await;

        assert_eq!(world.history.received().len(), 23);
        assert_eq!(world.requested(), ["list 0", "watch 12"]);
    }
}

#[tokio::test]
async fn a_slow_answer_is_read_to_its_end_if_bytes_keep_arriving() {
    at_once(HttpVersion::ALL, async |http| {
        let slowly = Fault::good().chunks(8).pause(Duration::from_millis(25));
        let server = server_with(On::list(), slowly.clone());
        server.plan(On::watch(), slowly);
        let started = Instant::now();
        let world = World::start_with(server, http, FactoryConfig { request_timeout: PATIENCE, ..config() });

        world.watches().await;
        assert!(started.elapsed() > PATIENCE, "the list took {:?}", started.elapsed());
        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "watch 12"], "{http:?}: {:?}", world.informer.status());
        assert_eq!(world.informer.status().counters.failures, 0);
    })
    .await;
}

/// A stream that ends within a frame is a normal end of the watch.
#[tokio::test]
async fn a_stream_that_ends_within_a_frame_is_no_error_and_loses_nothing() {
    for http in HttpVersion::ALL {
        for cut in [Cut::End, Cut::Close, Cut::Reset] {
            // Cut within the second of two events.
            let server = server_with(On::watch(), Fault::good().joined(2).cut_after_bytes(200, cut));
            let world = World::start(server, http);
            world.watches().await;
            world.server.collection().put("shop/a");
            world.server.collection().put("shop/b");

            world.settles().await;

            assert_eq!(world.requested(), ["list 0", "watch 12", "watch 13"], "{http:?} {cut:?}");
            assert_eq!(world.informer.status().counters.failures, 0);
        }
    }
}

#[tokio::test]
async fn huge_objects_arrive_in_lists_and_on_watches() {
    for http in HttpVersion::ALL {
        let server = server();
        // Larger than the windows of HTTP/2 and the buffers of the kernel.
        let huge = json!("x".repeat(3 << 20));
        server.collection().put_with("shop/listed", "text", huge.clone());
        let world = World::start(server, http);
        world.watches().await;
        world.server.collection().put_with("shop/watched", "text", huge);

        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "watch 13"]);
    }
}

#[tokio::test]
async fn an_object_beyond_the_limit_is_an_error_and_keeps_the_cache() {
    for http in HttpVersion::ALL {
        let config = FactoryConfig { max_object_bytes: 10_000, ..config() };
        let world = World::start_with(server(), http, config);
        world.watches().await;
        world.server.collection().put_with("shop/a", "text", json!("x".repeat(20_000)));

        let text = world.fails(ErrorClass::Malformed).await;
        assert!(text.contains("more than 10000 bytes"), "{text}");
        assert_eq!(world.cached(), ["shop/a@11", "shop/b@12"]);

        world.server.collection().put("shop/a");
        world.settles().await;
    }
}
