//! `informer status`: the state of a running host.

use std::fmt::Write;

use informer_cache::CacheMemory;
use informer_dispatch::{FilterStats, NextRetry};
use informer_registry::SCHEME;
use informer_runtime::{GuestMemory, capabilities::ClientStats};
use informer_system::HttpAddress;
use informer_types::counted;

use super::output::show;
use crate::{
    admin::{
        Client,
        types::{
            Configuration, Election, FailingPull, Informer, Plugin, Pull, Receipts, RefusedObject, Status,
            Subscription, Workqueue,
        },
    },
    cli::{AdminArgs, Output},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer status                           the host that runs with ./informer.toml
  informer status --config FILE             the host that runs with this file, and no other
  informer status --admin 127.0.0.1:8080    the host with this admin address
  informer status --output json             all details, for a program

Exit status: 0 there is no problem, 1 there is a problem or no host answers.";

/// Sends the request and prints the answer. Returns true if the host is ready and nothing it does fails.
///
/// # Errors
/// No host answers, or the configuration switches the admin endpoint off.
pub(super) async fn run(args: AdminArgs, output: Output) -> anyhow::Result<bool> {
    let client = Client::new(&args)?;
    let answer = client.get::<Status>("/status").await?;
    show(&answer, output, |status| text(status, client.address()));
    Ok(answer.value.is_well())
}

/// A line for the host, one for each watch and one for each plugin, each with its troubles below it.
fn text(status: &Status, address: &HttpAddress) -> String {
    let repeated = |plugin: &Plugin| {
        let queues = plugin.workqueue.iter().chain(&plugin.signals);
        let keys = queues.filter_map(|keys| keys.stats.next_retry.as_ref()).next();
        plugin.queue.stats.next_retry.as_ref().or(keys).is_some()
    };
    let verdict = match (status.unready.is_empty(), status.degraded.is_empty()) {
        (true, true) if status.plugins.iter().any(repeated) => "ready, and failed calls are made again",
        (true, true) => "all is well",
        (true, false) => "ready, but not everything works",
        (false, _) => "not ready",
    };
    let mut text = format!("informer {} at {address}, {}: {verdict}\n", status.version, status.identity);
    // Writing to a string does not fail.
    if let Some(election) = &status.election {
        let _ = writeln!(text, "  {}", role(election));
    }
    for problem in &status.host_problems {
        let _ = writeln!(text, "  {problem}");
    }
    if let Some(memory) = cache_memory(&status.cache_memory) {
        let _ = writeln!(text, "  {memory}");
    }
    if let Some(memory) = guest_memory(&status.guest_memory) {
        let _ = writeln!(text, "  {memory}");
    }
    if let Some(trouble) = &status.telemetry {
        let _ = writeln!(text, "  {trouble}");
    }
    for line in configuration(&status.configuration) {
        let _ = writeln!(text, "  {line}");
    }
    for informer in &status.informers {
        let _ = writeln!(text, "watch {}", watch(informer));
        for trouble in &informer.troubles {
            let _ = writeln!(text, "  {}", trouble.text);
        }
        if let Some(reason) = informer.unsynced_because.as_ref().filter(|_| informer.troubles.is_empty()) {
            let _ = writeln!(text, "  {reason}");
        }
    }
    if let Some(objects) = &status.objects {
        let _ = writeln!(text, "Plugin objects: {} accepted, {} refused", objects.accepted, objects.refused);
        for RefusedObject { plugin, reason, message } in &objects.newest_refused {
            let _ = writeln!(text, "  {plugin}: {reason}: {message}");
        }
    }
    for one in &status.plugins {
        let _ = writeln!(text, "plugin {}", plugin(one));
        for trouble in troubles(one) {
            let _ = writeln!(text, "  {trouble}");
        }
    }
    text
}

/// The role of the host in its election.
fn role(Election { lease, leads, leader }: &Election) -> String {
    match leader {
        _ if *leads => format!("leads, and holds the lease {lease}"),
        Some(leader) => format!("stands by, and calls no plugin: {leader} holds the lease {lease}"),
        None => format!("stands by, and calls no plugin: no other host is known to hold the lease {lease}"),
    }
}

/// A line for each problem of the configuration file, and one for the keys that wait for a restart.
fn configuration(Configuration { refused, needs_restart }: &Configuration) -> Vec<String> {
    let refused = refused.iter().flatten();
    let mut lines: Vec<String> =
        refused.map(|problem| format!("the configuration in force stays: {problem}")).collect();
    if !needs_restart.is_empty() {
        lines.push(format!("in force after the next start of the host: {}", needs_restart.join(", ")));
    }
    lines
}

/// A line if memory is tight: every watch then compresses what arrives.
fn cache_memory(memory: &CacheMemory) -> Option<String> {
    let CacheMemory { used_bytes: used, ceiling_bytes } = *memory;
    let ceiling = ceiling_bytes.filter(|ceiling| used >= ceiling / 4 * 3)?;
    let what = if used > ceiling { "lists fail until there is room" } else { "lists fail above it" };
    Some(format!(
        "objects take {} of the {} MiB of `cache-memory` under [host]; {what}",
        used >> 20,
        ceiling >> 20
    ))
}

/// A line if the guests came near the ceiling: a plugin that takes much leaves the others a quarter of it.
fn guest_memory(memory: &GuestMemory) -> Option<String> {
    let GuestMemory { used_bytes: used, ceiling_bytes, refusals } = *memory;
    let ceiling = ceiling_bytes?;
    let near = used >= ceiling / 4 * 3 || refusals > 0;
    near.then(|| {
        format!(
            "guests take {} of the {} MiB of `guest-memory` under [host]; refused {}",
            used >> 20,
            ceiling >> 20,
            counted(refusals, "time")
        )
    })
}

/// `v1/pods: watching, synced, 12 objects, resource version 345, last event 7 s ago`
fn watch(informer: &Informer) -> String {
    let mut text = format!(
        "{}: {}, {}, {}",
        informer.watch,
        informer.status.phase,
        if informer.status.synced { "synced" } else { "not synced" },
        counted(informer.status.objects as u64, "object"),
    );
    let restarts = informer.status.counters.restarts;
    if restarts > 0 {
        let _ = write!(text, ", started again {} after a bug of the host", counted(restarts, "time"));
    }
    if informer.superseded {
        text.push_str(", serves until the changed watch has synced");
    }
    if let Some(version) = &informer.status.last_synced_version {
        let _ = write!(text, ", resource version {version}");
    }
    if let Some(age) = informer.status.reflectors.iter().filter_map(|one| one.last_event_age).min() {
        let _ = write!(text, ", last event {} s ago", age.as_secs());
    }
    if let Some(age) = informer.status.age_in_words() {
        let _ = write!(text, ", {age}");
    }
    text
}

/// `ttl: ttl 1.2.0 in service, 12 calls acknowledged, 3 notifications pending, 0 dead letters`
fn plugin(plugin: &Plugin) -> String {
    let version = match &plugin.version {
        Some(version) => format!("{} {} in service", version.guest, version.version),
        None => "no version in service".to_owned(),
    };
    let keys = plugin.workqueue.iter().chain(&plugin.signals);
    let keys: usize = keys.map(|keys| keys.dropped_keys.len()).sum();
    format!(
        "{}: {version}, {} acknowledged, {} pending, {}",
        plugin.name,
        counted(plugin.calls.acknowledged, "call"),
        counted(plugin.queue.stats.pending as u64, "notification"),
        counted((plugin.queue.stats.dead_letters + keys) as u64, "dead letter"),
    )
}

/// The lines below the line of the plugin.
fn troubles(plugin: &Plugin) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(plugin.queue.stats.quarantine.as_ref().map(|quarantine| quarantine.text.clone()));
    let queue = &plugin.queue.stats;
    lines.extend(
        queue.next_retry.as_ref().map(|next| retry(next, queue.delayed.saturating_sub(queue.settling))),
    );
    lines.extend((queue.settling > 0).then(|| settling(queue.settling as u64)));
    if plugin.queue.stats.behind {
        lines
            .push("more changes are pending than its capacity: they merge until it has caught up".to_owned());
    }
    lines.extend(plugin.receipts.as_ref().map(receipts));
    lines.extend(plugin.workqueue.iter().flat_map(workqueue));
    lines.extend(plugin.signals.iter().flat_map(signals));
    let what = if plugin.source.starts_with(SCHEME) { "component" } else { "file" };
    lines.extend(plugin.refused.as_ref().map(|why| format!("its {what} is refused: {why}")));
    lines.extend(plugin.pull.iter().filter_map(pull));
    lines
        .extend(plugin.calls.last_failure.as_ref().map(|failure| format!("its last failed call: {failure}")));
    lines.extend(requests(&plugin.calls.client, plugin.account.as_deref()));
    lines.extend(plugin.subscriptions.iter().flat_map(filtered));
    lines
}

/// A line if pulls fail: `its registry: ghcr.io does not answer: ...; failed 3 times, tried again in 20 s`
fn pull(pull: &Pull) -> Option<String> {
    let FailingPull { why, attempts, next_in } = pull.failing.as_ref()?;
    Some(format!(
        "its registry: {why}; failed {}, tried again in {} s",
        counted((*attempts).into(), "time"),
        next_in.as_secs()
    ))
}

/// `v1/pods shop/web failed 3 times, and is called again in 4.2 s; 2 more wait`
fn retry(next: &NextRetry, delayed: usize) -> String {
    let more = match delayed.saturating_sub(1) {
        0 => String::new(),
        1 => "; 1 more waits".to_owned(),
        more => format!("; {more} more wait"),
    };
    format!(
        "{} failed {}, and is called again in {:.1} s{more}",
        next.key,
        counted(next.attempts.into(), "time"),
        next.retry_in.as_secs_f64()
    )
}

/// `3 objects wait until they are quiet, as `settle` says`
fn settling(objects: u64) -> String {
    match objects {
        1 => "1 object waits until it is quiet, as `settle` says".to_owned(),
        _ => format!("{objects} objects wait until they are quiet, as `settle` says"),
    }
}

/// `keeps what it acknowledged of 812 objects, 51 KiB; 3 objects are not written yet`
fn receipts(Receipts { objects, bytes, unwritten, failing }: &Receipts) -> String {
    let kept = format!(
        "keeps what it acknowledged of {}, {} KiB",
        counted(*objects, "object"),
        bytes.div_ceil(1024)
    );
    let unwritten = *unwritten as u64;
    match failing {
        Some(why) => format!("{kept}; {} cannot be written: {why}", counted(unwritten, "object")),
        None if unwritten > 0 => format!("{kept}; {} not written yet", counted(unwritten, "object")),
        None => kept,
    }
}

fn workqueue(Workqueue { stats: keys, .. }: &Workqueue) -> Vec<String> {
    let mut lines = vec![format!(
        "its workqueue: {} ready, {} delayed, {} in flight, {} reconciled, {} failed, {} given up",
        counted(keys.ready as u64, "key"),
        keys.delayed,
        keys.in_flight,
        keys.succeeded + keys.requeued,
        keys.failed,
        keys.dropped,
    )];
    lines.extend(keys.next_retry.as_ref().map(|next| retry(next, keys.delayed)));
    lines.extend(keys.quarantine.as_ref().map(|quarantine| format!("its reconciler is {}", quarantine.text)));
    lines
}

/// Empty if no signal waits and none failed.
fn signals(Workqueue { stats: signals, .. }: &Workqueue) -> Vec<String> {
    let mut lines = Vec::new();
    if signals.failed > 0 || signals.delayed + signals.ready + signals.in_flight > 0 {
        lines.push(format!(
            "its signals: {} ready, {} delayed, {} in flight, {} delivered, {} failed, {} given up",
            signals.ready,
            signals.delayed,
            signals.in_flight,
            signals.succeeded,
            signals.failed,
            signals.dropped,
        ));
    }
    lines.extend(signals.next_retry.as_ref().map(|next| retry(next, signals.delayed)));
    lines
        .extend(signals.quarantine.as_ref().map(|quarantine| format!("its signals are {}", quarantine.text)));
    lines
}

/// Requests to the API server that did not succeed. Empty if all is well.
fn requests(client: &ClientStats, account: Option<&str>) -> Vec<String> {
    let ClientStats { requests, failed, refused, limited, events_suppressed } = *client;
    let mut lines = Vec::new();
    if (failed, refused, limited) != (0, 0, 0) {
        let account = account.map(|account| format!(" as {account}")).unwrap_or_default();
        lines.push(format!(
            "its requests to the API server{account}: {requests} sent, {failed} failed; not sent: {refused} without a grant, {limited} above its limit",
        ));
    }
    if events_suppressed > 0 {
        lines.push(format!(
            "{} left out: there were too many about one object",
            counted(events_suppressed, "Event")
        ));
    }
    lines
}

/// `on v1/pods: 5 of 12 notifications passed; suppressed 4 by labels, 3 by when`. Empty if nothing was suppressed and
/// nothing failed.
fn filtered(subscription: &Subscription) -> Vec<String> {
    let Subscription { watch, filter: FilterStats { passed, suppressed, when, .. } } = subscription;
    let by: Vec<_> = suppressed.by_condition().into_iter().filter(|(_, count)| *count > 0).collect();
    let mut lines = Vec::new();
    if !by.is_empty() {
        let all = passed + by.iter().map(|(_, count)| count).sum::<u64>();
        let by: Vec<String> = by.iter().map(|(condition, count)| format!("{count} by {condition}")).collect();
        lines.push(format!(
            "on {watch}: {passed} of {} passed; suppressed {}",
            counted(all, "notification"),
            by.join(", ")
        ));
    }
    if let Some(error) = &when.last_error {
        lines.push(format!(
            "on {watch}: `when` failed in {} of {}; those notifications passed: {error}",
            when.errors,
            counted(when.evaluations, "evaluation"),
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_memory_of_objects_is_shown_once_it_is_near_its_ceiling() {
        let shown =
            |used: usize, ceiling_bytes| cache_memory(&CacheMemory { used_bytes: used << 20, ceiling_bytes });

        let ceiling = Some(100 << 20);
        let line =
            |used| format!("objects take {used} of the 100 MiB of `cache-memory` under [host]; lists fail ");
        assert_eq!(shown(74, ceiling), None);
        assert_eq!(shown(75, ceiling).unwrap(), line(75) + "above it");
        assert_eq!(shown(101, ceiling).unwrap(), line(101) + "until there is room");
        assert_eq!(shown(1 << 20, None), None);
    }

    #[test]
    fn the_memory_of_guests_is_shown_once_it_is_near_its_ceiling() {
        let shown = |used: u64, refusals| {
            guest_memory(&GuestMemory { used_bytes: used << 20, ceiling_bytes: Some(100 << 20), refusals })
        };

        assert_eq!(shown(74, 0), None);
        let line = "guests take 75 of the 100 MiB of `guest-memory` under [host]; refused 0 times";
        assert_eq!(shown(75, 0).unwrap(), line);
        assert!(
            shown(10, 1)
                .unwrap()
                .ends_with("guests take 10 of the 100 MiB of `guest-memory` under [host]; refused 1 time")
        );
        assert_eq!(guest_memory(&GuestMemory { used_bytes: 1 << 40, ..GuestMemory::default() }), None);
    }

    #[test]
    fn the_keys_that_wait_beside_the_next_retry_are_counted() {
        let next = json!({"key": "v1/pods shop/web", "attempts": 1, "retry-in-ms": 4200});
        let next: NextRetry = serde_json::from_value(next).unwrap();
        let ended = |delayed| retry(&next, delayed).split_off("v1/pods shop/web failed 1 time, and ".len());

        assert_eq!(ended(1), "is called again in 4.2 s");
        assert_eq!(ended(2), "is called again in 4.2 s; 1 more waits");
        assert_eq!(ended(3), "is called again in 4.2 s; 2 more wait");
    }

    #[test]
    fn the_problems_of_the_whole_host_stand_below_its_line() {
        let status = json!({"version": "0.1.0", "degraded": ["..."], "host-problems": ["the disk with the state is full"]});

        let address = SocketAddr::from(([127, 0, 0, 1], 8080)).into();
        let text = text(&serde_json::from_value(status).unwrap(), &address);

        assert!(
            text.ends_with(": ready, but not everything works\n  the disk with the state is full\n"),
            "{text}"
        );
    }

    #[test]
    fn a_refused_file_and_keys_that_wait_for_a_restart_are_shown() {
        let shown = |refused: Option<&[&str]>, keys: &[&str]| {
            let owned =
                |texts: &[&str]| -> Vec<String> { texts.iter().map(|text| (*text).to_owned()).collect() };
            configuration(&Configuration { refused: refused.map(owned), needs_restart: owned(keys) })
        };

        assert!(shown(None, &[]).is_empty());
        assert_eq!(
            shown(Some(&["f.toml:3:1: qps: ..."]), &["[host] admin", "[cluster]"]),
            [
                "the configuration in force stays: f.toml:3:1: qps: ...",
                "in force after the next start of the host: [host] admin, [cluster]",
            ]
        );
    }

    #[test]
    fn the_troubles_of_each_watch_and_plugin_stand_below_its_line() {
        let status = json!({
            "version": "0.1.0", "process": 4711, "configuration-file": "/etc/informer.toml", "unready": ["v1/pods: ..."], "degraded": [],
            "informers": [
                {"watch": "v1/pods", "phase": "backing-off", "synced": false, "objects": 0,
                 "unsynced-because": "cannot list v1/pods", "troubles": [{"text": "cannot list v1/pods; failed once"}]},
                {"watch": "v1/nodes", "phase": "listing", "synced": false, "objects": 0, "troubles": [],
                 "unsynced-because": "the first list of v1/nodes is not complete yet"},
                {"watch": "v1/secrets", "phase": "watching", "synced": true, "objects": 3, "troubles": [],
                 "last-synced-version": "77", "counters": {"restarts": 2}, "reflectors": [{"last-event-age-ms": 9000}, {"last-event-age-ms": 7900}]},
            ],
            "plugins": [
                {"name": "echo", "version": null, "refused": "not a component", "calls": {"acknowledged": 0},
                 "pull": {"failing": {"why": "ghcr.io does not answer: refused", "attempts": 3, "next-in-ms": 20_500}},
                 "queue": {"pending": 2, "behind": true, "quarantine": {"text": "in quarantine for 7 s"}, "delayed": 4, "settling": 1,
                           "next-retry": {"key": "v1/pods shop/web", "attempts": 2, "retry-in-ms": 4200}}},
                {"name": "ttl", "version": {"guest": "ttl", "version": "1.2.0"},
                 "receipts": {"objects": 812, "bytes": 52_000, "unwritten": 3},
                 "calls": {"acknowledged": 12, "last-failure": "trap: unreachable",
                    "client": {"requests": 9, "failed": 2, "refused": 3, "limited": 0,
                               "events-suppressed": 15}},
                 "subscriptions": [{"watch": "v1/pods", "passed": 5, "suppressed": {"labels": 4, "when": 3, "events": 0},
                    "when": {"evaluations": 8, "errors": 1, "last-error": "there is no `spec`"}},
                    {"watch": "v1/nodes", "passed": 7, "suppressed": {"labels": 0}, "when": {"last-error": null}}], "queue": {"pending": 0, "dead-letters": 1},
                 "workqueue": {"ready": 1, "delayed": 2, "in-flight": 3, "succeeded": 40, "requeued": 2, "failed": 5, "dropped": 6,
                               "dropped-keys": [{"key": "shop/a"}, {"key": "shop/b"}], "quarantine": {"text": "in quarantine for 8 s"}}},
            ],
        });

        let text =
            text(&serde_json::from_value(status).unwrap(), &SocketAddr::from(([127, 0, 0, 1], 8080)).into());

        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "informer 0.1.0 at 127.0.0.1:8080, process 4711 with the configuration /etc/informer.toml: not ready",
                "watch v1/pods: backing-off, not synced, 0 objects",
                "  cannot list v1/pods; failed once",
                "watch v1/nodes: listing, not synced, 0 objects",
                "  the first list of v1/nodes is not complete yet",
                "watch v1/secrets: watching, synced, 3 objects, started again 2 times after a bug of the host, resource version 77, last event 7 s ago",
                "plugin echo: no version in service, 0 calls acknowledged, 2 notifications pending, 0 dead letters",
                "  in quarantine for 7 s",
                "  v1/pods shop/web failed 2 times, and is called again in 4.2 s; 2 more wait",
                "  1 object waits until it is quiet, as `settle` says",
                "  more changes are pending than its capacity: they merge until it has caught up",
                "  its file is refused: not a component",
                "  its registry: ghcr.io does not answer: refused; failed 3 times, tried again in 20 s",
                "plugin ttl: ttl 1.2.0 in service, 12 calls acknowledged, 0 notifications pending, 3 dead letters",
                "  keeps what it acknowledged of 812 objects, 51 KiB; 3 objects not written yet",
                "  its workqueue: 1 key ready, 2 delayed, 3 in flight, 42 reconciled, 5 failed, 6 given up",
                "  its reconciler is in quarantine for 8 s",
                "  its last failed call: trap: unreachable",
                "  its requests to the API server: 9 sent, 2 failed; not sent: 3 without a grant, 0 above its limit",
                "  15 Events left out: there were too many about one object",
                "  on v1/pods: 5 of 12 notifications passed; suppressed 4 by labels, 3 by when",
                "  on v1/pods: `when` failed in 1 of 8 evaluations; those notifications passed: there is no `spec`",
            ]
        );
    }
}
