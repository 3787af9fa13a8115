//! What a plugin in Rust does with the SDK. story.js does the same.

use std::time::Duration;

use informer_sdk::client::{self, ObjectEvent, Patch, WriteOptions};
use informer_sdk::lister::{self, Selector};
use informer_sdk::{
    Cause, Config, ConfigHandler, Error, Event, Failure, Handler, ObjectKey, Result, SyncHandler, Synced, TimerHandler, Update,
    delivery, keyvalue, log, timer,
};
use serde_json::{Value, json};
use wasip2::http::{
    outgoing_handler,
    types::{ErrorCode, Fields, Method, OutgoingBody, OutgoingRequest, Scheme},
};
use wasip2::io::streams::StreamError;

const DEPLOYMENTS: &str = "apps/v1/deployments";
const APPLIED: &str = "/metadata/annotations/example.com~1applied";

#[derive(serde::Deserialize)]
struct Settings {
    greeting: String,
    url: String,
    mood: Option<String>,
}

struct Story {
    url: String,
}

informer_sdk::export!(Story);
informer_sdk::export_synced!(Story);
informer_sdk::export_timers!(Story);
informer_sdk::export_config!(Story);

impl Handler for Story {
    fn start(config: Config) -> std::result::Result<Self, String> {
        let Settings { greeting, url, .. } = config.parse()?;
        log::info!(greeting = greeting; "started");
        Ok(Self { url })
    }

    fn on_add(&mut self, object: Event, _cause: Cause) -> Result {
        let attempt = delivery::current().attempt;
        match object.name() {
            "go" => self.tell(&object)?,
            "later" if attempt == 1 => return Err(Failure::retry_after("soon", Duration::from_millis(5))),
            "later" => log::info!("later: attempt {attempt}"),
            "bad" => {
                let labels = object.labels().len();
                return Err(Failure::permanent(format!("boom: {} has {labels} labels", object.name())));
            }
            "uncaught" => drop(lister::get_json("v1/secrets", &ObjectKey::new("default", "x"))?),
            "again" => delivery::call_again(Duration::from_millis(5))?,
            _ => {}
        }
        Ok(())
    }

    fn on_update(&mut self, update: Update, cause: Cause) -> Result {
        if update.new.name() == "again" {
            log::info!("again: {cause}");
        }
        if update.new.get::<String>(APPLIED)?.as_deref() == Some("yes") {
            let own = client::is_own_write(update.new.resource_version());
            log::info!("own write: {own}, differs: {}", update.changed(&["/metadata/annotations"])?);
        }
        Ok(())
    }
}

impl SyncHandler for Story {
    fn on_synced(&mut self, Synced { gvr, count, resource_version, .. }: Synced) -> Result {
        // The plugin with the signals has one object.
        if count != 1 {
            return Ok(());
        }
        let cache = lister::state(&gvr)?;
        let fresh = !cache.resource_version.is_empty() && cache.age.is_some_and(|age| age < Duration::from_secs(60));
        log::info!("synced: {gvr}, version: {}, cache: {} {fresh}", !resource_version.is_empty(), cache.synced);
        let values = lister::index_values(&gvr, "app", None);
        let values: std::result::Result<Vec<_>, Error> =
            values.map(|value| value.map(|(value, objects)| format!("{value} {objects}"))).collect();
        log::info!("values: {}", values?.join(", "));
        timer::after("never", Duration::from_millis(50))?;
        timer::cancel("never");
        timer::after("soon", Duration::from_millis(5))?;
        timer::after("bad", Duration::from_millis(5))?;
        log::info!("taken: {}", refused(timer::after("tick", Duration::from_millis(5))));
        Ok(())
    }
}

impl TimerHandler for Story {
    fn on_timer(&mut self, name: &str) -> Result {
        match name {
            "bad" => return Err(Failure::permanent("boom: bad has 1 labels")),
            "soon" if delivery::current().attempt == 1 => return Err(Failure::retry("not yet")),
            _ => log::info!("timer: {name}, again: {}", refused(delivery::call_again(Duration::from_millis(5)))),
        }
        Ok(())
    }
}

impl ConfigHandler for Story {
    fn on_config(&mut self, config: Config) -> Result {
        let Settings { greeting, mood, .. } = config.parse().map_err(Failure::permanent)?;
        log::info!("config: {greeting} {}", mood.unwrap_or_default());
        Ok(())
    }
}

/// Why the host refused a call.
fn refused<T>(call: std::result::Result<T, Error>) -> String {
    match call {
        Err(Error::Host { code, .. }) => code.to_string(),
        _ => "no".to_owned(),
    }
}

impl Story {
    fn tell(&self, object: &Event) -> Result {
        let paged = Selector::all().namespace("default").page_size(2);
        let metas = lister::list_meta(DEPLOYMENTS, &paged);
        let names: std::result::Result<Vec<_>, _> = metas.map(|meta| meta.map(|meta| meta.name)).collect();
        log::info!("pages: {}", names?.join(","));
        if let Err(Error::Host { code, .. }) = lister::get_json("v1/secrets", &ObjectKey::new("default", "x")) {
            log::info!("refused: {code}");
        }
        let missing = client::get::<Value>(DEPLOYMENTS, &ObjectKey::new("default", "none"));
        if let Err(Error::Api { code, status, .. }) = missing {
            log::info!("missing: {code} {status}");
        }
        call(&self.url).map_err(Failure::retry)?;
        let web = ObjectKey::new("default", "web");
        change(&web)?;
        keep()?;
        client::record(&ObjectEvent::new(DEPLOYMENTS, &object.key(), "Told", "Telling").note("the story"))?;
        let applied = client::patch(DEPLOYMENTS, &web, &Patch::apply(json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"namespace": "default", "name": "web", "annotations": {"example.com/applied": "yes"}},
        })), &WriteOptions::new())?;
        let answer: Value = applied.parse()?;
        log::info!("applied: {}", answer.pointer(APPLIED).and_then(Value::as_str).unwrap_or("no"));
        Ok(())
    }
}

/// Sends HTTP requests. The SDK leaves them to the crate `wasip2`.
fn call(url: &str) -> std::result::Result<(), String> {
    let (status, heard, body) = post(url, "/hook", "späti".as_bytes()).map_err(|error| error.to_string())?;
    log::info!("http: {status} {heard}, {}", String::from_utf8_lossy(&body));
    let (_, _, body) = post(url, "/hook", &[b'x'; 10_000]).map_err(|error| error.to_string())?;
    log::info!("http: {} bytes", body.len() - "POST ".len());
    if let Err(ErrorCode::HttpRequestDenied) = post(url, "/other", b"") {
        log::info!("denied: http-request-denied");
    }
    Ok(())
}

/// The status, the header `x-heard` and the body of the answer.
fn post(url: &str, path: &str, body: &[u8]) -> std::result::Result<(u16, String, Vec<u8>), ErrorCode> {
    let malformed = |()| ErrorCode::HttpRequestUriInvalid;
    let fields = Fields::from_list(&[("x-mood".to_owned(), b"calm".to_vec())]).map_err(|_| malformed(()))?;
    let request = OutgoingRequest::new(fields);
    request.set_method(&Method::Post).map_err(malformed)?;
    request.set_scheme(Some(&Scheme::Http)).map_err(malformed)?;
    request.set_authority(url.strip_prefix("http://")).map_err(malformed)?;
    request.set_path_with_query(Some(path)).map_err(malformed)?;
    let outgoing = request.body().map_err(malformed)?;
    let answer = outgoing_handler::handle(request, None)?;
    let stream = outgoing.write().map_err(malformed)?;
    for piece in body.chunks(4096) {
        stream.blocking_write_and_flush(piece).map_err(|_| ErrorCode::ConnectionTerminated)?;
    }
    drop(stream);
    OutgoingBody::finish(outgoing, None)?;
    answer.subscribe().block();
    let response = answer.get().ok_or(ErrorCode::ConnectionTerminated)?.map_err(malformed)??;
    let heard = response.headers().get("x-heard").concat();
    let (incoming, mut read) = (response.consume().map_err(malformed)?, Vec::new());
    let stream = incoming.stream().map_err(malformed)?;
    loop {
        match stream.blocking_read(1 << 16) {
            Ok(bytes) => read.extend(bytes),
            Err(StreamError::Closed) => return Ok((response.status(), String::from_utf8_lossy(&heard).into_owned(), read)),
            Err(StreamError::LastOperationFailed(_)) => return Err(ErrorCode::HttpResponseIncomplete),
        }
    }
}

/// Changes an object that another write changes meanwhile.
fn change(web: &ObjectKey) -> Result {
    let mut attempt = 0;
    let changed = client::retry_on_conflict(|| {
        attempt += 1;
        let mut object: Value = client::get(DEPLOYMENTS, web)?;
        if attempt == 1 {
            let meanwhile = Patch::merge(json!({"metadata": {"labels": {"tier": "meanwhile"}}}));
            client::patch(DEPLOYMENTS, web, &meanwhile, &WriteOptions::new())?;
        }
        object["metadata"]["labels"]["tier"] = json!("changed");
        client::update(DEPLOYMENTS, web, &object, &WriteOptions::new())?.parse::<Value>()
    })?;
    let tier = changed["metadata"]["labels"]["tier"].as_str().unwrap_or_default();
    log::info!("changed at attempt {attempt}: {tier}");
    Ok(())
}

fn keep() -> Result {
    let bucket = keyvalue::open("story")?;
    bucket.set("ключ", &json!({"text": "späti 🦀"}))?;
    let kept: Value = bucket.get("ключ")?.unwrap_or_default();
    let sum = bucket.increment("n", 2)?;
    log::info!("kept: {}, {sum}, {} keys", kept["text"].as_str().unwrap_or_default(), bucket.keys().count());
    Ok(())
}
