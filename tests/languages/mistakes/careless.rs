//! Mistakes at run time.

use informer_sdk::lister::{self, Selector};
use informer_sdk::{Cause, Config, Event, Handler, Result};

struct Careless;

informer_sdk::export!(Careless);

impl Handler for Careless {
    fn start(_config: Config) -> std::result::Result<Self, String> {
        Ok(Self)
    }

    fn on_add(&mut self, object: Event, _cause: Cause) -> Result {
        match object.name() {
            "boom" => boom(&object),
            "spin" => spin(),
            "eat" => eat(),
            _ => lister::list_meta(object.gvr(), &Selector::all()).try_for_each(|meta| meta.map(drop)).map_err(Into::into),
        }
    }
}

#[inline(never)]
fn boom(object: &Event) -> Result {
    let colour: Option<String> = object.get("/data/colour")?;
    println!("{}", colour.unwrap());
    Ok(())
}

#[inline(never)]
fn spin() -> Result {
    let mut turns = 0_u64;
    loop {
        turns = std::hint::black_box(turns + 1);
    }
}

#[inline(never)]
fn eat() -> Result {
    let mut eaten = Vec::new();
    loop {
        eaten.push(vec![1_u8; 1 << 20]);
        std::hint::black_box(&eaten);
    }
}
