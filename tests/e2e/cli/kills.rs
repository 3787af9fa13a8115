//! Hosts that are killed at random moments. No final state is missed, and only what was in flight is delivered again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::Duration,
};

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::PATIENCE;
use serde_json::json;
use tempfile::TempDir;

use super::binary::{Running, informer};
use crate::configmaps::ConfigMaps;

/// Each run has this number of hosts.
const HOSTS: usize = 6;

/// The names of the objects.
const NAMES: usize = 12;

/// A cluster, a host after the other, and what the plugin believes.
struct Run {
    server: DevServer,
    objects: ConfigMaps,
    directory: TempDir,
    dice: fastrand::Rng,
    /// The objects that exist.
    existing: BTreeSet<String>,
    round: usize,
    /// The version of each object that the plugin received last.
    believed: BTreeMap<String, u64>,
}

// === impl Run ===

impl Run {
    async fn new(seed: u64) -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let objects = ConfigMaps::at(&server.url()).await;
        let directory = TempDir::new().unwrap();
        let dice = fastrand::Rng::with_seed(seed);
        let (existing, believed) = (BTreeSet::new(), BTreeMap::new());
        Self { server, objects, directory, dice, existing, round: 0, believed }
    }

    async fn start(&self) -> (Running, String) {
        let witness = tokio::task::spawn_blocking(|| guest("witness")).await.unwrap();
        let configuration = format!(
            "[cluster]\nserver = \"{}\"\n[host]\nadmin = \"127.0.0.1:0\"\nstate-dir = {:?}\n\
             [[watch]]\ngvr = \"v1/configmaps\"\n\
             [[plugin]]\nname = \"witness\"\nsource = {witness:?}\n\
             [[plugin.on]]\nwatch = \"v1/configmaps\"\ninitial = \"changed\"\n\
             [plugin.grant]\nread = [\"v1/configmaps\"]\n",
            self.server.url(),
            self.directory.path().join("state"),
        );
        let path = self.directory.path().join("informer.toml");
        fs::write(&path, configuration).unwrap();
        let mut running = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
        let admin = running.admin().await;
        (running, admin)
    }

    /// Changes one object at random. `spared` are not deleted. Returns its name, and whether it was created.
    async fn change(&mut self, spared: &BTreeSet<String>) -> (String, bool) {
        let name = format!("o{}", self.dice.usize(..NAMES));
        self.round += 1;
        let is_new = self.existing.insert(name.clone());
        if is_new {
            self.objects.create(&name).await;
        } else if self.dice.u8(..4) == 0 && !spared.contains(&name) {
            self.objects.delete(&name).await;
            self.existing.remove(&name);
        } else {
            self.objects.update(&name, self.round).await;
        }
        (name, is_new)
    }

    /// Notes what the plugin received. Returns the names.
    fn receive(&mut self, lines: &[String]) -> Vec<String> {
        let calls = lines.iter().filter_map(|line| line.split_once("default/"));
        let mut received = Vec::new();
        for (before, rest) in calls {
            let words: Vec<&str> = rest.split_whitespace().collect();
            match (before.split_whitespace().next_back(), &words[..]) {
                (Some("delete"), [name, ..]) => {
                    self.believed.remove(*name);
                    received.push((*name).to_owned());
                }
                (Some("add" | "update"), [name, _uid, _old, version, ..]) => {
                    self.believed.insert((*name).to_owned(), version.parse().unwrap());
                    received.push((*name).to_owned());
                }
                _ => {}
            }
        }
        received
    }

    /// Waits until the plugin believes what is true, and all of that is written. Returns the names that it received.
    async fn settle(&mut self, running: &mut Running, admin: &str) -> BTreeSet<String> {
        let mut received = BTreeSet::new();
        loop {
            // The log has a line for each marker, and what came before it.
            self.round += 1;
            let marker = format!("marker-{}", self.round);
            self.objects.create(&marker).await;
            let mut lines = running.log_up_to(&format!("end default/{marker}")).await;
            self.objects.delete(&marker).await;
            lines.extend(running.log_up_to(&format!("end default/{marker}")).await);
            received.extend(self.receive(&lines).into_iter().filter(|name| !name.starts_with("marker")));
            let idle = self.idle(admin).await;
            if idle && self.believed == self.there().await {
                return received;
            }
        }
    }

    /// Returns true if nothing is pending and everything is written.
    async fn idle(&self, admin: &str) -> bool {
        let status = informer(&["status", "--output", "json", "--admin", admin]).await.json();
        let plugin = &status["plugins"][0];
        status["unready"] == json!([])
            && plugin["receipts"]["unwritten"] == 0
            && plugin["queue"]["objects"] == 0
    }

    /// The version of each object.
    async fn there(&self) -> BTreeMap<String, u64> {
        let versions = self.objects.versions().await.into_iter();
        versions.map(|(key, version)| (key.trim_start_matches("default/").to_owned(), version)).collect()
    }
}

/// Starts and kills one host after the other.
async fn kill_hosts(run: &mut Run, seed: u64) {
    // Objects that changed since everything was written the last time.
    let mut in_flight = BTreeSet::new();
    for _ in 0..HOSTS {
        let (mut running, admin) = run.start().await;
        let received = run.settle(&mut running, &admin).await;
        let again: Vec<_> = received.iter().filter(|name| !in_flight.contains(*name)).collect();
        assert!(again.is_empty(), "seed {seed}: {again:?} did not change since it was written");

        in_flight.clear();
        let mut created = BTreeSet::new();
        for _ in 0..run.dice.usize(..15) {
            let (name, is_new) = run.change(&BTreeSet::new()).await;
            created.extend(is_new.then(|| name.clone()));
            in_flight.insert(name);
        }
        // The moment of the kill is random.
        tokio::time::sleep(Duration::from_millis(run.dice.u64(..150))).await;
        running.signal("KILL").await;
        // What it said until then was received.
        let lines = running.rest().await;
        run.receive(&lines);
        // The deletion of an object whose first acknowledgement was not written is not noticed. The acknowledgements of all
        // objects from before this round were written, so their deletions are.
        for gone in created.difference(&run.existing) {
            run.believed.remove(gone);
        }
        for _ in 0..run.dice.usize(..6) {
            in_flight.insert(run.change(&created).await.0);
        }
    }
    let (mut running, admin) = run.start().await;
    run.settle(&mut running, &admin).await;
    running.stop().await;
}

#[tokio::test]
async fn a_host_that_is_killed_at_any_moment_misses_no_final_state() {
    for seed in [1, 2, 3] {
        let mut run = Run::new(seed).await;
        let done = tokio::time::timeout(PATIENCE, kill_hosts(&mut run, seed)).await;
        assert!(
            done.is_ok(),
            "seed {seed}: the plugin believes {:?}, true is {:?}",
            run.believed,
            run.there().await
        );
    }
}
