use std::{sync::mpsc, time::Duration};

use futures::poll;
use tokio::{runtime::Builder, task::spawn_blocking, time::timeout};

use super::*;
use crate::EngineConfig;

/// Longer than any step of these tests takes.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_load_that_waits_uses_the_code_that_an_earlier_load_compiled() {
    let directory = tempfile::tempdir().unwrap();
    let cache_dir = Some(directory.path().to_owned());
    let engine = Engine::new(&EngineConfig { cache_dir, ..EngineConfig::default() }).unwrap();
    // One thread for blocking work, so that it runs in order.
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    let digest = || "of one component".to_owned();
    runtime.block_on(async {
        let (go, compiling) = mpsc::channel::<()>();
        let compiler = engine.clone();
        let mut first = Box::pin(engine.compiling.run(move || {
            compiling.recv().unwrap_or_default();
            Component::compile(&compiler, &COMPONENT, Amount::default(), digest())
        }));
        assert!(poll!(&mut first).is_pending());

        // These bytes do not compile, so a second compilation would fail.
        let garbage = wat::parse_str("(component (core module (func (result i32))))").unwrap();
        let mut others: Vec<_> =
            (0..3).map(|_| Box::pin(Component::from_digested(&engine, garbage.clone(), digest()))).collect();
        for other in &mut others {
            assert!(poll!(other).is_pending());
        }
        spawn_blocking(|| {}).await.unwrap();
        for other in &mut others {
            assert!(poll!(other).is_pending(), "the cache is empty");
        }

        drop(go);
        first.await.unwrap().unwrap();
        for other in others {
            timeout(PATIENCE, other).await.unwrap().unwrap();
        }
    });
}
