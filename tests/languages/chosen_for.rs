//! The examples that show what each language is chosen for play their stories.

use crate::example::Scripted;

#[tokio::test]
#[ignore = "needs Python: run by cargo xtask test --all"]
async fn a_report_in_python_reads_the_cache_each_hour() {
    Scripted::Report.plays_its_story().await;
}

#[tokio::test]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn a_webhook_in_javascript_gets_a_message_for_each_new_image() {
    Scripted::Webhook.plays_its_story().await;
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_handler_in_go_compares_versions_with_an_existing_package() {
    Scripted::Downgrades.plays_its_story().await;
}

#[tokio::test]
#[ignore = "needs Python: run by cargo xtask test --all"]
async fn the_smallest_component_in_c_logs_each_scaling() {
    Scripted::Scaled.plays_its_story().await;
}
