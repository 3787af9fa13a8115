//! Changes of objects while the script runs.

use std::sync::Arc;

use tokio::{sync::mpsc, task::JoinHandle};

use crate::configmaps::ConfigMaps;

pub(super) const OBJECTS: usize = 8;

/// The first object of a burst of changes, and the number of objects.
type Burst = (usize, usize);

/// Writes the changes of the script to the API server, in the order of the script.
pub(super) struct Events {
    bursts: mpsc::Sender<Burst>,
    writing: JoinHandle<()>,
}

impl Events {
    pub(super) fn new(objects: Arc<ConfigMaps>) -> Self {
        // The script is at most a few bursts ahead.
        let (bursts, requests) = mpsc::channel(4);
        Self { bursts, writing: tokio::spawn(write(objects, requests)) }
    }

    pub(super) async fn add(&self, burst: Burst) {
        self.bursts.send(burst).await.unwrap();
    }

    /// Waits until all requested changes are written.
    pub(super) async fn written(self) {
        drop(self.bursts);
        self.writing.await.unwrap();
    }
}

async fn write(objects: Arc<ConfigMaps>, mut requests: mpsc::Receiver<Burst>) {
    let mut there = [false; OBJECTS];
    let mut round = 0_usize;
    while let Some((first, count)) = requests.recv().await {
        for index in (first..first + count).map(|index| index % OBJECTS) {
            round += 1;
            let name = format!("object-{index}");
            // Every fifth change deletes its object.
            let is_there = match (there[index], round.is_multiple_of(5)) {
                (false, _) => {
                    objects.create(&name).await;
                    true
                }
                (true, true) => {
                    objects.delete(&name).await;
                    false
                }
                (true, false) => {
                    objects.update(&name, round).await;
                    true
                }
            };
            there[index] = is_there;
        }
    }
}
