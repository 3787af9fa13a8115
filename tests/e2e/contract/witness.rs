//! Parses the lines of the fixture `witness`.

use informer_tests::host::TestHost;

/// The name of the plugin.
pub(super) const WITNESS: &str = "witness";

/// One call, as the component logged it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) verb: String,
    pub(super) name: String,
    pub(super) uid: String,
    /// The old version of an update, `-` for other calls.
    pub(super) old: String,
    pub(super) version: u64,
    /// The cause of the call. For a deletion: whether its final state is `known`.
    pub(super) why: String,
    pub(super) attempt: u32,
    /// The value of `/data/round` in the object.
    pub(super) round: String,
}

/// One line of the fixture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Begin(Call),
    /// The name of the object.
    End(String),
}

pub(super) fn said(lines: &[String]) -> Vec<Said> {
    lines.iter().map(|line| understood(line)).collect()
}

pub(super) fn calls(lines: &[String]) -> Vec<Call> {
    let begins = said(lines).into_iter();
    begins.filter_map(|said| if let Said::Begin(call) = said { Some(call) } else { None }).collect()
}

/// The text `verb name why` of each call, without the calls for the object `but`.
pub(super) fn story(host: &TestHost, but: &str) -> Vec<String> {
    let calls = calls(&host.lines.of(WITNESS)).into_iter().filter(|call| call.name != but);
    calls.map(|Call { verb, name, why, .. }| format!("{verb} {name} {why}")).collect()
}

/// Waits until `calls` calls have ended.
pub(super) async fn wait_for_calls(host: &TestHost, calls: usize) {
    let ends = |lines: &[String]| lines.iter().filter(|line| line.starts_with("end ")).count();
    host.lines.until(WITNESS, &format!("{calls} calls"), |lines| ends(lines) >= calls).await;
}

fn understood(line: &str) -> Said {
    let words: Vec<&str> = line.split(' ').collect();
    let name = |key: &str| key.strip_prefix("default/").unwrap().to_owned();
    match words[..] {
        ["end", key] => Said::End(name(key)),
        [verb, key, uid, old, version, why, attempt, round] => Said::Begin(Call {
            verb: verb.to_owned(),
            name: name(key),
            uid: uid.to_owned(),
            old: old.to_owned(),
            version: version.parse().unwrap(),
            why: why.to_owned(),
            attempt: attempt.parse().unwrap(),
            round: round.to_owned(),
        }),
        _ => panic!("{line}"),
    }
}
