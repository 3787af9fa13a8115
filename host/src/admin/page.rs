//! The page of the admin endpoint: its files, which are part of the program, and the answers that only the page needs.

mod live;

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode,
        header::{
            CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
            X_FRAME_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
    routing::get,
};
use serde::Deserialize;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::{
    Probe,
    dashboard::{
        ConfigurationInForce, LetterPage, LetterQuery, LinePage, LineQuery, Objects, ObjectsQuery,
        PluginDetail,
    },
    endpoint::{Answer, refusal},
    token::Token,
    types::Failed,
};
use live::Live;

/// The header that a request for the token must have. Another page cannot send it without the consent of this host.
const PAGE: &str = "informer-page";

/// The content security policy of the page. There is no inline script or style, nothing comes from elsewhere, and the browser
/// refuses to read a text as HTML (`require-trusted-types-for`).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

const INDEX: &str = include_str!("page/index.html");

/// A file of the page: name, content type, text.
type Asset = (&'static str, &'static str, &'static str);

const ASSETS: [Asset; 16] = [
    ("icon.svg", SVG, include_str!("page/icon.svg")),
    ("style.css", CSS, include_str!("page/style.css")),
    ("table.css", CSS, include_str!("page/table.css")),
    ("app.js", JAVASCRIPT, include_str!("page/app.js")),
    ("configuration.js", JAVASCRIPT, include_str!("page/configuration.js")),
    ("dom.js", JAVASCRIPT, include_str!("page/dom.js")),
    ("explain.js", JAVASCRIPT, include_str!("page/explain.js")),
    ("informers.js", JAVASCRIPT, include_str!("page/informers.js")),
    ("letters.js", JAVASCRIPT, include_str!("page/letters.js")),
    ("live.js", JAVASCRIPT, include_str!("page/live.js")),
    ("log.js", JAVASCRIPT, include_str!("page/log.js")),
    ("overview.js", JAVASCRIPT, include_str!("page/overview.js")),
    ("plugins.js", JAVASCRIPT, include_str!("page/plugins.js")),
    ("rate.js", JAVASCRIPT, include_str!("page/rate.js")),
    ("request.js", JAVASCRIPT, include_str!("page/request.js")),
    ("table.js", JAVASCRIPT, include_str!("page/table.js")),
];

/// The state that the routes of the page share.
#[derive(Clone)]
struct Page {
    probe: Arc<dyn Probe>,
    token: Option<Token>,
    live: Arc<Live>,
}

/// The plugin that an answer is about.
#[derive(Deserialize)]
struct Named {
    name: String,
}

type Shared = State<Page>;

/// The routes of the page.
///
/// - `GET /`: the page, and `GET /page/files/NAME`: its other files.
/// - `GET /page/token` with the header `informer-page`: the token that the page sends with a request that changes the host.
/// - `GET /page/live`: server-sent events. The first one has every row of the overview, the following ones those that changed
///   since; at most one in a second. 503 if eight clients listen already. The stream ends with `stop`.
/// - `GET /page/plugin?name=hello`, `/page/letters`, `/page/objects`, `/page/lines`, `/page/configuration`: see
///   [`Dashboard`](super::Dashboard).
pub(super) fn routes(probe: Arc<dyn Probe>, token: Option<Token>, stop: CancellationToken) -> Router {
    let live = Arc::new(Live::new(Arc::clone(&probe), stop));
    Router::new()
        .route("/", get(|| async { ([(CONTENT_TYPE, HTML)], INDEX) }))
        .route("/page/files/{name}", get(file))
        .route("/page/token", get(token_of_page))
        .route("/page/live", get(listen))
        .route("/page/plugin", get(plugin))
        .route("/page/letters", get(letters))
        .route("/page/objects", get(objects))
        .route("/page/lines", get(lines))
        .route("/page/configuration", get(configuration))
        .with_state(Page { probe, token, live })
}

/// Adds the headers that keep a browser from misusing an answer.
pub(super) async fn guard(mut answer: Response) -> Response {
    let guards: [(HeaderName, &'static str); 7] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in guards {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

async fn file(Path(name): Path<String>) -> Response {
    match ASSETS.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, text)) => ([(CONTENT_TYPE, *kind)], *text).into_response(),
        None => refusal(StatusCode::NOT_FOUND, "the page has no such file").into_response(),
    }
}

async fn token_of_page(State(page): Shared, headers: HeaderMap) -> Answer<Token> {
    if !headers.contains_key(PAGE) {
        return Err(refusal(
            StatusCode::FORBIDDEN,
            "only the page gets the token: there is no `informer-page`",
        ));
    }
    let none = "the system has no random numbers, so this host has no token and its page can change nothing";
    page.token.map(Json).ok_or_else(|| refusal(StatusCode::SERVICE_UNAVAILABLE, none))
}

async fn listen(State(page): Shared) -> Response {
    match page.live.listen() {
        Some(events) => events.into_response(),
        None => {
            let full = "too many pages are open already; close one, and this one goes on by itself";
            refusal(StatusCode::SERVICE_UNAVAILABLE, full).into_response()
        }
    }
}

async fn plugin(State(page): Shared, Query(Named { name }): Query<Named>) -> Answer<PluginDetail> {
    let none = format!("there is no plugin `{name}`");
    let found = looked(page, move |probe| probe.plugin_detail(&name)).await?;
    found.map(Json).ok_or_else(|| refusal(StatusCode::NOT_FOUND, none))
}

async fn letters(State(page): Shared, Query(query): Query<LetterQuery>) -> Answer<LetterPage> {
    looked(page, move |probe| probe.letters(&query)).await.map(Json)
}

async fn objects(State(page): Shared, Query(query): Query<ObjectsQuery>) -> Answer<Objects> {
    let found = looked(page, move |probe| probe.objects(&query)).await?;
    found.map(Json).map_err(|why| refusal(StatusCode::NOT_FOUND, why))
}

async fn lines(State(page): Shared, Query(query): Query<LineQuery>) -> Answer<LinePage> {
    looked(page, move |probe| probe.lines(&query)).await.map(Json)
}

async fn configuration(State(page): Shared) -> Answer<ConfigurationInForce> {
    looked(page, |probe| probe.configuration()).await.map(Json)
}

/// Reads the state of the host on another thread: with a thousand plugins or a hundred thousand objects it takes milliseconds.
async fn looked<T: Send + 'static>(
    page: Page,
    look: impl FnOnce(&dyn Probe) -> T + Send + 'static,
) -> Result<T, (StatusCode, Json<Failed>)> {
    let looking = spawn_blocking(move || look(&*page.probe));
    looking.await.map_err(|error| refusal(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_only_files_that_exist_and_uses_each() {
        for (name, kind, text) in ASSETS {
            let named = |text: &str| text.contains(&format!("/{name}\""));
            let used = named(INDEX) || ASSETS.iter().any(|(_, _, text)| named(text));
            assert!(used && !text.is_empty(), "{name} of {kind}");
        }
        let texts = ASSETS.iter().map(|(_, _, text)| *text).chain([INDEX]);
        for named in texts.flat_map(|text| text.split('"')).filter(|word| word.starts_with("./")) {
            assert!(ASSETS.iter().any(|(name, ..)| named == format!("./{name}")), "{named}");
        }
    }

    /// The browser would refuse to run them.
    #[test]
    fn no_file_has_a_script_or_style_inside_html_and_none_reads_text_as_html() {
        assert_eq!(INDEX.matches("<script").count(), INDEX.matches("<script type=\"module\" src=").count());
        for wrong in ["<style", " style=", " onclick=", "javascript:"] {
            assert!(!INDEX.contains(wrong), "{wrong}");
        }
        for (name, _, text) in ASSETS {
            for wrong in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "https://"]
            {
                assert!(!text.contains(wrong), "{name}: {wrong}");
            }
        }
    }
}
