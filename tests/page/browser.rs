//! Chromium, driven by chromedriver.

use std::{fs, net::SocketAddr, path::Path, process::Stdio, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use informer_tests::host::PATIENCE;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

use crate::webdriver::Session;

/// The time between two looks at the page.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// A browser with one open page.
pub(crate) struct Browser {
    session: Session,
    /// Is killed when dropped, after the session has ended.
    _chromedriver: Child,
}

// === impl Browser ===

impl Browser {
    /// Starts a browser without a window.
    pub(crate) async fn start() -> Self {
        let mut chromedriver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("chromedriver, of the Debian package chromium-driver: {error}"));
        let mut lines = BufReader::new(chromedriver.stdout.take().unwrap()).lines();
        let listening = async {
            loop {
                let line = lines.next_line().await.unwrap().unwrap();
                if let Some((_, port)) = line.split_once("successfully on port ") {
                    return port.trim_end_matches('.').parse::<u16>().unwrap();
                }
            }
        };
        let port = timeout(PATIENCE, listening).await.unwrap();
        let session = Session::start(SocketAddr::from(([127, 0, 0, 1], port)), capabilities()).await;
        Self { session, _chromedriver: chromedriver }
    }

    pub(crate) async fn open(&self, url: &str) {
        self.session.post("/url", json!({"url": url})).await;
    }

    /// Opens a view of the page that is open.
    pub(crate) async fn view(&self, hash: &str) {
        self.run("location.hash = arguments[0]", &[json!(hash)]).await;
    }

    /// Runs a script in the page and returns its result.
    pub(crate) async fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.session.post("/execute/sync", json!({"script": script, "args": arguments})).await
    }

    /// Runs a script that calls its last argument with its result.
    pub(crate) async fn run_async(&self, script: &str, arguments: &[Value]) -> Value {
        self.session.post("/execute/async", json!({"script": script, "args": arguments})).await
    }

    /// The visible text of the first element.
    pub(crate) async fn text(&self, css: &str) -> String {
        let script = "return document.querySelector(arguments[0])?.innerText ?? ''";
        self.run(script, &[json!(css)]).await.as_str().unwrap().to_owned()
    }

    /// Waits until the script returns true.
    pub(crate) async fn until(&self, what: &str, script: &str) {
        let from = Instant::now();
        while self.run(script, &[]).await != true {
            assert!(from.elapsed() < PATIENCE, "{what} did not come about: {}", self.text("body").await);
            sleep(LOOK).await;
        }
    }

    /// Waits until the visible text of the first element contains this text.
    pub(crate) async fn shows(&self, css: &str, text: &str) {
        let (element, wanted) = (json!(css), json!(text));
        let script =
            format!("return (document.querySelector({element})?.innerText ?? '').includes({wanted})");
        self.until(&format!("`{text}` in {css}"), &script).await;
    }

    pub(crate) async fn click(&self, css: &str) {
        self.session.click(&self.session.find(css).await).await;
    }

    /// Types into the field that is found.
    pub(crate) async fn type_into(&self, css: &str, text: &str) {
        self.session.type_into(&self.session.find(css).await, text).await;
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub(crate) async fn press(&self, keys: &str) {
        let presses = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|action| json!({"type": action, "value": key.to_string()}))
        });
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": presses.collect::<Vec<_>>()});
        self.session.post("/actions", json!({"actions": [keyboard]})).await;
    }

    /// Sends a command of the DevTools protocol.
    pub(crate) async fn devtools(&self, command: &str, parameters: Value) {
        self.session.post("/goog/cdp/execute", json!({"cmd": command, "params": parameters})).await;
    }

    pub(crate) async fn screenshot(&self, file: &Path) {
        let picture = self.session.get("/screenshot").await;
        fs::write(file, STANDARD.decode(picture.as_str().unwrap()).unwrap()).unwrap();
    }

    /// What the browser reports about the page since the last look: errors of scripts, and what the policy of the page refuses.
    pub(crate) async fn complaints(&self) -> Vec<Value> {
        let entries = self.session.post("/se/log", json!({"type": "browser"})).await;
        entries.as_array().unwrap().clone()
    }
}

fn capabilities() -> Value {
    let arguments = [
        "--headless=new",
        // The sandbox of Chromium does not start as root. It loads only pages of these tests.
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--window-size=1280,900",
    ];
    json!({
        "goog:chromeOptions": {"args": arguments},
        "goog:loggingPrefs": {"browser": "ALL"},
        // The default for a script that calls its last argument is 30 s.
        "timeouts": {"script": PATIENCE.as_secs() * 1_000},
    })
}
