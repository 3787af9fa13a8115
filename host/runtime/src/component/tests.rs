use std::future::pending;

use futures::{future::join_all, poll};
use informer_types::DebugOf;
use tokio::runtime::Builder;

use super::*;
use crate::{CodeCache, CodeKey, EngineConfig};

const EMPTY: &str = "(component)";

async fn loaded(engine: &Engine, wat: &str) -> Component {
    Component::from_bytes(engine, wat::parse_str(wat).unwrap()).await.unwrap()
}

#[tokio::test]
async fn the_same_component_is_held_once_while_it_is_in_use() {
    let engine = Engine::new(&EngineConfig::default()).unwrap();
    let first = loaded(&engine, EMPTY).await;
    let (second, other) = (loaded(&engine, EMPTY).await, loaded(&engine, "(component (component))").await);

    assert!(Arc::ptr_eq(&first.prepared, &second.prepared));
    assert!(!Arc::ptr_eq(&first.prepared, &other.prepared));

    let held = Arc::downgrade(&first.prepared);
    drop((first, second));
    assert!(held.upgrade().is_none());
    assert_eq!(loaded(&engine, EMPTY).await.bytes(), 8);
}

#[tokio::test]
async fn the_same_component_in_two_files_is_held_once_and_each_plugin_has_the_symbols_of_its_own_file() {
    let (engine, folder) = (Engine::new(&EngineConfig::default()).unwrap(), tempfile::tempdir().unwrap());
    let paths = ["plain.wasm", "named.wasm", "also-named.wasm"].map(|name| folder.path().join(name));
    let bytes = wat::parse_str("(component (core module (func)))").unwrap();
    let of = serde_json::json!({ "component": sha256_hex(&bytes), "folder": "" });
    let debug = format!(
        "(component (core module (func $f)) (@custom \"{}\" {:?}))",
        DebugOf::SECTION,
        of.to_string()
    );
    let debug = wat::parse_str(debug).unwrap();
    for path in &paths {
        std::fs::write(path, &bytes).unwrap();
    }
    for named in &paths[1..] {
        std::fs::write(DebugOf::file(named), &debug).unwrap();
    }

    let loads = join_all(paths.iter().map(|path| Component::from_file(&engine, path))).await;
    let [plain, named, also] = loads.try_into().map(|loads: [_; 3]| loads.map(Result::unwrap)).unwrap();

    assert!(Arc::ptr_eq(&plain.prepared, &named.prepared) && Arc::ptr_eq(&plain.prepared, &also.prepared));
    assert!(plain.symbols().is_none());
    assert!(Arc::ptr_eq(&named.symbols().unwrap(), &also.symbols().unwrap()));
}

#[tokio::test]
async fn loads_at_the_same_time_prepare_a_component_once() {
    let engine = Engine::new(&EngineConfig::default()).unwrap();

    let loads = join_all((0..20).map(|_| loaded(&engine, EMPTY))).await;

    let first = loads.first().unwrap();
    assert!(loads.iter().all(|load| Arc::ptr_eq(&load.prepared, &first.prepared)));
}

#[tokio::test]
async fn a_preparation_that_is_dropped_is_left_to_the_next_caller_with_its_bytes() {
    let engine = Engine::new(&EngineConfig::default()).unwrap();
    let (component, digest) = (loaded(&engine, EMPTY).await, Arc::from("of one component"));
    let prepare = |bytes: Bytes| {
        let (code, structures) = (component.code().clone(), component.structures());
        async move {
            Ok::<_, ()>(Prepared {
                code,
                structures,
                reads: DeclaredReads::default(),
                bytes: bytes.len() as u64,
                took: Duration::ZERO,
            })
        }
    };
    let mut stuck =
        Box::pin(engine.prepared.get_or(&digest, vec![0; 7].into(), |_| pending::<Result<_, ()>>()));
    let mut next = Box::pin(engine.prepared.get_or(&digest, vec![0; 7].into(), prepare));
    assert!(poll!(&mut stuck).is_pending());
    assert!(poll!(&mut next).is_pending());

    drop(stuck);

    assert_eq!(next.await.unwrap().bytes, 7);
}

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
    let loads =
        bytes.map(|bytes| Component::from_digested(&engine, bytes.into(), "of one component".to_owned()));

    let loaded = runtime.block_on(join_all(loads));

    for load in loaded {
        load.unwrap();
    }
}
