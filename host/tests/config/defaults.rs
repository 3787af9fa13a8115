//! `[defaults]`: values for all plugins.

use std::time::Duration;

use informer::config::{Config, SMALLEST};
use informer_dispatch::{DeliveryMode, Fate};

use crate::parse;

/// A file with two plugins, these defaults, and these tables of the first plugin.
fn two_plugins(defaults: &str, own: &str) -> String {
    let second = SMALLEST.split_once("\n[[plugin]]").unwrap().1.replace("hello", "second");
    format!("{defaults}\n{SMALLEST}{own}\n[[plugin]]{second}")
}

fn good(defaults: &str, own: &str) -> Config {
    parse(&two_plugins(defaults, own)).unwrap_or_else(|error| panic!("{error}"))
}

fn problems(defaults: &str, own: &str) -> String {
    parse(&two_plugins(defaults, own)).expect_err("the file is good").to_string()
}

#[test]
fn a_key_of_the_plugin_wins_over_defaults_which_win_over_the_built_in_value() {
    let config = good(
        "[defaults.limits]\nmemory = \"128MiB\"\ndeadline = \"10s\"\n[defaults.retry]\non-exhausted = \"drop\"\n",
        "[plugin.limits]\nmemory = \"32MiB\"\n",
    );
    let [first, second] = config.plugins.as_slice() else { panic!("{config:?}") };

    assert_eq!((first.limits.calls.memory_bytes, second.limits.calls.memory_bytes), (32 << 20, 128 << 20));
    for plugin in [first, second] {
        assert_eq!(plugin.limits.calls.deadline, Duration::from_secs(10));
        assert_eq!(plugin.limits.calls.response_bytes, 4 << 20);
        assert_eq!(plugin.retry.calls.on_exhausted, Fate::Drop);
    }
}

#[test]
fn every_table_of_defaults_reaches_a_plugin() {
    let config = good(
        "[defaults]\nqueue = { workers = 3, delivery = \"every\", capacity = 7 }\nworkqueue = { workers = 2 }\n\
         retry = { budget = 0 }\nquarantine = { after = 9 }\nreload = { trial = 0 }\nlimits = { instances = 4 }\n",
        "",
    );

    for plugin in &config.plugins {
        let capacity = 7.try_into().unwrap();
        assert_eq!(
            (plugin.queue.workers.get(), plugin.queue.delivery),
            (3, DeliveryMode::Every { capacity })
        );
        assert_eq!((plugin.workqueue.workers.get(), plugin.retry.budget), (2, None));
        assert_eq!((plugin.quarantine.after, plugin.reload.calls), (9.try_into().ok(), 0));
        assert_eq!(plugin.limits.instances, 4.try_into().ok());
    }
}

#[test]
fn a_changed_default_changes_the_plugins_that_do_not_override_it() {
    let own = "[plugin.limits]\nmemory = \"32MiB\"\n";
    let before = good("[defaults.limits]\nmemory = \"64MiB\"\n", own);
    let after = good("[defaults.limits]\nmemory = \"128MiB\"\n", own);

    assert_eq!(before.plugins[0], after.plugins[0]);
    assert_ne!(before.plugins[1], after.plugins[1]);
}

#[test]
fn a_key_that_is_useless_to_one_plugin_may_be_a_default() {
    let defaults = "[defaults.queue]\ncapacity = 5\nburst = 6\n";
    let config = good(defaults, "[plugin.queue]\ndelivery = \"every\"\nrate = 2\n");
    let [first, second] = config.plugins.as_slice() else { panic!("{config:?}") };

    assert_eq!(first.queue.delivery, DeliveryMode::Every { capacity: 5.try_into().unwrap() });
    assert_eq!(first.queue.rate.map(|rate| rate.burst.get()), Some(6));
    assert_eq!((second.queue.delivery, second.queue.rate), (DeliveryMode::Latest, None));
}

#[test]
fn a_problem_of_defaults_is_reported_once_at_its_place() {
    assert_eq!(
        problems(
            "[defaults.retry]\nmin = \"5s\"\nmax = \"1s\"\n[defaults.limits]\nmemory = 1\nnam = 1\n",
            ""
        ),
        "informer.toml:3:7: defaults.retry.max: `max` is shorter than `min`; lower `min` or raise `max`\n\
         informer.toml:5:10: defaults.limits.memory: \"1B\" is too small; write at least \"64KiB\"\n\
         informer.toml:6:1: defaults.limits.nam: unknown key; known are `memory`, `deadline`, `cpu`, `host-calls`, \
         `instances`, `log`, `log-lines`, `response`, `requests`, `keyvalue-writes`, `http-requests`, `http-body`, `metric-series`\n\
         3 problems in informer.toml"
    );
}

#[test]
fn a_plugin_that_contradicts_a_default_is_refused_at_its_own_key() {
    assert_eq!(
        problems("[defaults.retry]\nmax = \"1s\"\n", "[plugin.retry]\nmin = \"2s\"\n"),
        "informer.toml:14:7: plugin.hello.retry.min: `min` is longer than `max` of [defaults]; lower `min`, or write `max` too\n\
         1 problem in informer.toml"
    );
}

#[test]
fn only_tables_that_plugins_share_are_accepted() {
    assert_eq!(
        problems("[defaults]\ngrant = {}\nlimits = 1\n", ""),
        "informer.toml:2:1: defaults.grant: unknown key; known are `queue`, `workqueue`, `retry`, `quarantine`, `reload`, `limits`\n\
         informer.toml:3:10: defaults.limits: expected a table, found the number 1; write [defaults.limits]\n\
         2 problems in informer.toml"
    );
}
