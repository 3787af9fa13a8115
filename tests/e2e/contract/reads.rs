//! Point 9: Reads through the lister are at least as new as the event in hand, and the pages of one list come from one
//! snapshot.

use super::Stage;

const ROUNDS: usize = 40;
const BEHOLDER: &str = "beholder";

#[tokio::test(flavor = "multi_thread")]
async fn the_lister_is_never_behind_the_event_and_shows_one_state() {
    let stage = Stage::new().await;
    let objects = &stage.objects;
    // Always written in this order, so in no state of the collection is the second one ahead.
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
