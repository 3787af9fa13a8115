//! Dark and light, wide and narrow: screenshots, contrast, overflow.

use std::{fs, path::Path};

use informer_guests::guest;
use informer_tests::toml::{plugin, watch};
use serde_json::{Value, json};

use crate::stage::{Stage, configmap, fussy};

const VIEWS: [&str; 8] = [
    "overview",
    "informers",
    "plugins",
    "plugin?name=secret-copier",
    "letters",
    "explain?gvr=v1/configmaps&key=shop/checkout",
    "log",
    "configuration",
];

/// The texts with a contrast of less than 4.5 to 1, as the accessibility guidelines (WCAG 2.2, 1.4.3) compute it.
const FAINT: &str = "
    const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const behind = (node) => {
        for (let one = node; one; one = one.parentElement) {
            const colour = parts(getComputedStyle(one).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    const own = (node) => [...node.childNodes].some((one) => one.nodeType === Node.TEXT_NODE && one.data.trim());
    return [...document.body.querySelectorAll('*')].filter((node) => own(node) && node.checkVisibility() && !node.disabled).map((node) => {
        const [a, b] = [light(parts(getComputedStyle(node).color)), light(behind(node))];
        return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.textContent.trim().slice(0, 40)];
    }).filter(([contrast]) => contrast < 4.5);";

/// A host with plugins that work, one in quarantine, one without a component, and dead letters.
fn everything() -> String {
    let (echo, trap) = (guest("echo"), guest("trap"));
    let copier = "namespaces = [\"shop\"]\n[plugin.grant]\nread = [\"v1/secrets @shop\"]\nwrite = [\"create,patch v1/secrets @shop,pay\"]\n\
                  secrets = [\"shop/registry\"]\nkeyvalue = \"1MiB\"\n[plugin.config]\ntarget = \"pay\"\ntoken = \"never shown\"\n";
    [
        watch("v1/configmaps"),
        watch("v1/secrets"),
        watch("apps/v1/deployments"),
        plugin("config-reloader", &echo, "v1/configmaps", ""),
        plugin("secret-copier", &echo, "v1/secrets", copier),
        plugin("deployment-labels", &echo, "apps/v1/deployments", ""),
        plugin("pod-budgets", &trap, "v1/configmaps", "[plugin.quarantine]\nafter = 1\n"),
        plugin("ttl-janitor", Path::new("ttl-janitor.wasm"), "v1/configmaps", ""),
        fussy(),
    ]
    .concat()
}

fn objects() -> Vec<Value> {
    let named = ["checkout", "cart", "payments", "catalogue", "search", "recommendations"];
    let secrets = ["registry", "database"].map(
        |name| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shop", "name": name}}),
    );
    named.into_iter().map(configmap).chain(secrets).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium: run by cargo xtask test --all"]
async fn each_view_is_readable_in_dark_and_light_and_fits_a_phone() {
    let stage = Stage::start(objects(), &everything()).await;
    let page = &stage.browser;
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    fs::create_dir_all(&directory).unwrap();
    page.view("letters").await;
    page.shows("#letters-count", "6 letters").await;
    page.view("plugins").await;
    page.shows("#plugins-table", "quarantine").await;
    page.shows("#plugins-table", "refused").await;
    let mut backgrounds = Vec::new();
    for scheme in ["light", "dark"] {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        page.devtools("Emulation.setEmulatedMedia", features).await;
        backgrounds.push(page.run("return getComputedStyle(document.body).backgroundColor", &[]).await);
        for (width, height, device) in [(1280, 800, "wide"), (390, 844, "phone")] {
            let mobile = device == "phone";
            let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile});
            page.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
            for view in VIEWS {
                let name = view.split('?').next().unwrap();
                page.view(view).await;
                page.until(view, &format!("return !document.getElementById('view-{name}').hidden")).await;
                page.until("what was requested", "return performance.now() > 0").await;
                page.screenshot(&directory.join(format!("{name}-{scheme}-{device}.png"))).await;
                assert_eq!(page.run(FAINT, &[]).await, json!([]), "{view} {scheme} {device}");
                let overflow =
                    page.run("return document.documentElement.scrollWidth - innerWidth", &[]).await;
                assert!(overflow.as_i64().unwrap() <= 0, "{view} {scheme} {device}: {overflow} pixels");
            }
        }
    }
    assert_ne!(backgrounds[0], backgrounds[1]);
    assert!(!page.text("body").await.contains("never shown"));
    println!("==> screenshots: {}", directory.display());
    stage.leave().await;
}
