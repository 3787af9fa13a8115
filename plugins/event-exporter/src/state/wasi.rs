//! `wasi:keyvalue`: the state of the component.

use informer_sdk::wasi::keyvalue::{
    batch,
    store::{self, Bucket, Error},
};

use super::{StateError, Store};

const BUCKET: &str = "events";

/// The host's `wasi:keyvalue`. The bucket is opened for each call.
#[derive(Debug)]
pub(crate) struct Wasi;

impl Store for Wasi {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StateError> {
        bucket()?.get(key).map_err(failed)
    }

    fn set(&self, entries: &[(String, Vec<u8>)]) -> Result<(), StateError> {
        batch::set_many(&bucket()?, entries).map_err(failed)
    }

    fn delete(&self, keys: &[String]) -> Result<(), StateError> {
        batch::delete_many(&bucket()?, keys).map_err(failed)
    }

    fn keys(&self, cursor: Option<u64>) -> Result<(Vec<String>, Option<u64>), StateError> {
        let page = bucket()?.list_keys(cursor).map_err(failed)?;
        Ok((page.keys, page.cursor))
    }
}

fn bucket() -> Result<Bucket, StateError> {
    store::open(BUCKET).map_err(failed)
}

fn failed(error: Error) -> StateError {
    match error {
        Error::Other(why) => StateError(why),
        other => StateError(format!("{other:?}")),
    }
}
