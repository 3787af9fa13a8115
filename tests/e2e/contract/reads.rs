//! Point 9: reads through the lister are at least as new as the notification of the current call. All pages of one
//! list come from one snapshot.

use super::Stage;

const ROUNDS: usize = 40;
const BEHOLDER: &str = "beholder";

#[tokio::test(flavor = "multi_thread")]
async fn the_lister_is_never_older_than_the_event_and_all_pages_show_one_state() {
    let stage = Stage::new().await;
    let objects = &stage.objects;
    // The objects are always written in this order, so the second one is never ahead of the first in any state of the
    // collection.
    for name in ["pair-1", "pair-2"] {
        objects.create_labelled(name, "pair").await;
        objects.update(name, 0).await;
    }
    let host = stage.host(BEHOLDER, "", "").await;
    host.synced().await;

    let moved_on = || host.lines.of(BEHOLDER).iter().any(|line| line.contains(" newer "));
    let mut rounds = 0;
    while rounds < ROUNDS || !moved_on() {
        rounds += 1;
        let round = rounds;
        assert!(rounds < 50 * ROUNDS, "the cache never moves on during a call: the test shows nothing");
        objects.update("pair-1", round).await;
        objects.update("pair-2", round).await;
        let name = format!("passing-{round}");
        objects.create(&name).await;
        objects.delete(&name).await;
    }
    let done = format!(" {rounds} {rounds}");
    objects.create("end").await;
    host.lines.said(BEHOLDER, "default/end ", &done).await;

    for line in host.lines.of(BEHOLDER) {
        assert!(!line.contains("OLDER"), "the lister was behind: {line}");
        let mut rounds = line.rsplit(' ').map(|round| round.parse::<usize>().unwrap());
        let (second, first) = (rounds.next().unwrap(), rounds.next().unwrap());
        assert!(first == second || first == second + 1, "two states in one list: {line}");
    }
    host.stop().await;
}
