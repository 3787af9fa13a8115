//! Log levels of plugins, changed while the host runs.

use informer::admin::Probe;
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::TestHost;

use crate::configmaps::ConfigMaps;

/// The number of lines of the plugin that start with `words`. The plugin logs one line of level info and one of level
/// debug for each object, through `wasi:logging`.
fn said(host: &TestHost, words: &str) -> usize {
    host.lines.of("settings").iter().filter(|line| line.contains(words)).count()
}

#[tokio::test]
async fn each_plugin_has_its_own_log_level_which_changes_while_it_runs() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("one").await;
    let configuration = format!(
        "[[watch]]\ngvr = \"v1/configmaps\"\n[[plugin]]\nname = \"settings\"\nlog-level = \"info\"\nsource = {:?}\n\
         [[plugin.on]]\nwatch = \"v1/configmaps\"\n",
        guest("settings"),
    );
    let host = TestHost::start(&server.url(), &configuration).await.unwrap();
    let acknowledged = async |calls: usize| {
        host.until("all calls", |status| status["plugins"][0]["calls"]["acknowledged"] == calls).await;
    };
    acknowledged(1).await;
    assert_eq!((said(&host, "one is "), said(&host, "Ok([")), (1, 0));
    assert_eq!(host.plugin("settings")["log-level"], "info");
    let set = |level| host.app().probe().set_log_level(Some("settings"), level);

    set("debug").unwrap();
    objects.create("two").await;
    acknowledged(2).await;
    assert_eq!((said(&host, "two is "), said(&host, "Ok([")), (1, 1));

    set("error").unwrap();
    objects.create("three").await;
    objects.create("four").await;
    acknowledged(4).await;
    assert_eq!((said(&host, " is "), said(&host, "Ok([")), (2, 1));
    assert_eq!(host.plugin("settings")["log-level"], "error");

    // The log of a test host keeps all levels.
    set("default").unwrap();
    objects.create("five").await;
    acknowledged(5).await;
    assert_eq!((said(&host, "five is "), said(&host, "Ok([")), (1, 2));
    assert!(set("loud").unwrap_err().starts_with("`loud` is no log level of a plugin; write trace, "));
    assert_eq!(
        host.app().probe().set_log_level(Some("setings"), "debug").unwrap_err(),
        "there is no plugin `setings`"
    );
    host.stop().await;
}
