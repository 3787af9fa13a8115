//! Recorded answers of a real API server, through the whole host: the final state of every recorded object reaches
//! the component.

use informer_guests::guest;
use informer_tests::{host::TestHost, toml};

use crate::player::{Recording, play, recordings};

/// Prime chunk sizes, so that chunks end everywhere: inside escapes, inside emoji, between frames.
const ODD_CHUNKS: [usize; 3] = [61, 4_099, 1_000_003];

/// A configuration with one watch and one plugin for each recording. The plugin has the name of the resource.
fn configuration(recordings: &[Recording]) -> String {
    let echo = guest("echo");
    let parts =
        |Recording { gvr, .. }: &Recording| toml::watch(gvr) + &toml::plugin(plugin(gvr), &echo, gvr, "");
    recordings.iter().map(parts).collect()
}

fn plugin(gvr: &str) -> &str {
    gvr.rsplit('/').next().unwrap()
}

/// Returns true if the plugin's last line for the object has this verb and version. A line is `verb key version ...`.
fn ends_with(lines: &[String], key: &str, verb: &str, version: Option<&str>) -> bool {
    let about = |line: &&String| line.split(' ').nth(1) == Some(key);
    let Some(last) = lines.iter().rev().find(about) else { return verb == "delete" };
    let mut words = last.split(' ');
    let said = words.next().unwrap();
    let said_version = words.nth(1).unwrap();
    (said == "delete") == (verb == "delete") && version.is_none_or(|version| version == said_version)
}

async fn plays_through(chunk: usize) {
    let recordings = recordings();
    let player = play(chunk).await;
    let url = format!("http://{}", player.address);
    let host = TestHost::start(&url, &configuration(&recordings)).await.unwrap();
    host.synced().await;

    for recording in &recordings {
        let (objects, gone) = recording.final_state();
        assert!(!objects.is_empty() || !gone.is_empty(), "{} recorded nothing", recording.gvr);
        let arrived = |lines: &[String]| {
            let last = |(key, object): (&String, &serde_json::Value)| {
                ends_with(lines, key, "state", object["metadata"]["resourceVersion"].as_str())
            };
            objects.iter().all(last) && gone.iter().all(|key| ends_with(lines, key, "delete", None))
        };
        host.lines.until(plugin(&recording.gvr), "the final state of every object", arrived).await;
    }
    let report = host.stop().await;
    assert!(report.undelivered.is_empty(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_final_state_of_every_recorded_object_reaches_the_component_for_any_chunk_size() {
    for chunk in ODD_CHUNKS {
        plays_through(chunk).await;
    }
}
