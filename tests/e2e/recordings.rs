//! What a real API server sent, through the whole path: every recorded object's final state reaches the component.

use informer_guests::guest;
use informer_tests::host::TestHost;

use crate::player::{Recording, play, recordings};

/// Primes, so that chunks end everywhere: inside escapes, inside emoji, between frames.
const ODD_CHUNKS: [usize; 3] = [61, 4_099, 1_000_003];

/// One watch and one plugin a recording; the plugin is named after the resource.
fn configuration(recordings: &[Recording]) -> String {
    let echo = guest("echo");
    recordings.iter().map(|Recording { gvr, .. }| {
        let name = plugin(gvr);
        format!(
            "[[watch]]\ngvr = \"{gvr}\"\n[[plugin]]\nname = \"{name}\"\nsource = {echo:?}\n[[plugin.on]]\nwatch = \"{gvr}\"\n"
        )
    }).collect()
}

fn plugin(gvr: &str) -> &str {
    gvr.rsplit('/').next().unwrap()
}

/// True where the last thing said of the object is this verb; the plugin's lines are `verb key version ...`.
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
async fn every_recorded_object_reaches_the_component_in_its_final_state_however_the_stream_is_cut() {
    for chunk in ODD_CHUNKS {
        plays_through(chunk).await;
    }
}
