//! Many requests to reload, few reloads.

use std::time::{Duration, Instant};

use futures::future::join_all;
use informer::admin::Dashboard;

use super::stage::{Mood, Stage};

/// How long a file must be unchanged before the host reads it.
const QUIET: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_written_repeatedly_is_read_after_the_last_write() {
    let mut stage = Stage::new(Mood::Well).await;

    // If this thread is kept from writing for longer than that, the host may treat the file as complete.
    let (mut pauses, mut last) = (0, Instant::now());
    for _ in 0..200 {
        stage.write(Mood::Well, 1);
        pauses += usize::from(last.elapsed() >= QUIET / 2);
        last = Instant::now();
    }

    let newest = stage.version();
    stage.host().lines.said("subject", &format!("started {newest}"), "").await;
    let started = stage.started();
    assert!(started.len() <= 2 + pauses, "{pauses} pauses: {started:?}");
    stage.end().await;
}

/// On a single thread, all requests are made before the host handles the first one.
#[tokio::test]
async fn concurrent_reload_requests_share_one_reload_and_its_answer() {
    let mut stage = Stage::new(Mood::Well).await;
    stage.reload(Mood::Refuses, 1).await;
    let before = stage.host().app().probe().configuration().reloads.len();

    let app = stage.host().app();
    let reports = join_all((0..50).map(|_| app.reload(None))).await;

    assert_eq!(stage.host().app().probe().configuration().reloads.len(), before + 1);
    for report in reports {
        let report = report.unwrap();
        assert!(!report.is_ok() && report.changes.len() == 1, "{report:?}");
    }
    stage.end().await;
}
