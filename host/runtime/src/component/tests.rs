use futures::future::join_all;
use tokio::runtime::Builder;

use super::*;
use crate::{CodeCache, CodeKey, EngineConfig};

#[test]
fn a_load_that_waits_uses_the_code_that_an_earlier_load_compiled() {
    let directory = tempfile::tempdir().unwrap();
    let cache = CodeCache { directory: directory.path().to_owned(), key: CodeKey::generate().unwrap() };
    let engine = Engine::new(&EngineConfig { cache: Some(cache), ..EngineConfig::default() }).unwrap();
    // One thread for blocking work, so that the first load looks into the cache first, and compiles first.
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    // These bytes do not compile, so a second compilation would fail.
    let garbage = wat::parse_str("(component (core module (func (result i32))))").unwrap();
    let bytes = [COMPONENT.to_vec(), garbage.clone(), garbage.clone(), garbage];
    let loads = bytes.map(|bytes| Component::from_digested(&engine, bytes, "of one component".to_owned()));

    let loaded = runtime.block_on(join_all(loads));

    for load in loaded {
        load.unwrap();
    }
}
