//! A reconciler that is called 10,000 times. calls.c does the same.

use informer_sdk::lister::{self, Selector};
use informer_sdk::{Config, ObjectKey, ReconcileError, ReconcileResult, Reconciled, Reconciler, keyvalue, workqueue};

const CALLS: u32 = 10_000;
const DEPLOYMENTS: &str = "apps/v1/deployments";
const BIG: &str = "/spec/template/spec/containers/0/env/0/value";

struct Calls {
    made: u32,
}

informer_sdk::export_reconciler!(Calls);

impl Reconciler for Calls {
    fn start(_config: Config) -> Result<Self, String> {
        Ok(Self { made: 0 })
    }

    fn reconcile(&mut self, text: &str) -> ReconcileResult {
        let key = text.parse::<ObjectKey>()?;
        if text == "default/big" {
            return big(&key);
        }
        let json = lister::get_json(DEPLOYMENTS, &key)?.unwrap_or_default();
        let bucket = keyvalue::open("calls")?;
        if self.made % 10 == 0 {
            bucket.set_bytes(text, json.as_bytes())?;
        }
        if bucket.get_bytes(text)?.as_deref() != Some(json.as_bytes()) {
            return Err(ReconcileError::terminal("another value was kept"));
        }
        for meta in lister::list_meta(DEPLOYMENTS, &Selector::all().labels("app=web")) {
            meta?;
        }
        if lister::get_json("v1/secrets", &key).is_ok() {
            return Err(ReconcileError::terminal("secrets are readable"));
        }
        self.made += 1;
        if self.made % 1000 == 0 {
            println!("{} calls", self.made);
        }
        if self.made < CALLS {
            workqueue::add(text)?;
        }
        if self.made % 2 == 1 { Err(ReconcileError::retry(format!("call {}", self.made))) } else { Ok(Reconciled::Done) }
    }
}

fn big(key: &ObjectKey) -> ReconcileResult {
    let [text] = lister::get_fields(DEPLOYMENTS, key, [BIG])?.ok_or_else(|| ReconcileError::retry("big is gone"))?;
    let text = text.parse::<String>()?.ok_or_else(|| ReconcileError::retry("big has no text yet"))?;
    let text: Vec<char> = text.chars().collect();
    println!("big: {} characters, {}", text.len(), text[text.len() - 4..].iter().collect::<String>());
    Ok(Reconciled::Done)
}
