//! `informer dead-letters`: what plugins gave up, listed, told again or dropped in a running host.

mod text;

use informer_dispatch::ObjectRef;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    admin::Client,
    cli::{DeadLettersArgs, DeadLettersCommand, Output},
    commands::output::show,
};

/// Which letters are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Chosen {
    /// None: of every plugin.
    #[serde(default)]
    pub plugin: Option<String>,
    /// As in the configuration: `v1/pods`; none: of every resource.
    #[serde(default)]
    pub gvr: Option<String>,
    /// `namespace/name`, or `name`; or a key of the plugin's own, as it is; none: every one.
    #[serde(default)]
    pub key: Option<String>,
    /// That every object is meant has to be said, where something is done about it.
    #[serde(default)]
    pub all: bool,
}

/// Why a letter is not told again; it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The configuration changed since.
    #[error("the plugin does not subscribe to its resource any more; drop the letter")]
    NotSubscribed,
    /// Whether the object is there is not known yet.
    #[error("a list of its resource is not complete yet; try again when it is")]
    NotSynced,
    /// A reload made another plugin of it.
    #[error("the version in service reconciles nothing; drop the letter")]
    NotReconciling,
    /// Its own queue is.
    #[error("the plugin's workqueue is full; try again later")]
    Full,
    /// The informer is.
    #[error("the informer of its resource has stopped")]
    Stopping,
}

// === impl Chosen ===

impl Chosen {
    /// True for this letter.
    pub fn has(&self, plugin: &str, object: &ObjectRef) -> bool {
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        is(&self.plugin, plugin)
            && is(&self.gvr, &object.source.to_string())
            && is(&self.key, &object.key.to_string())
    }

    /// True for this key of the plugin's own. It is of no resource.
    pub fn has_key(&self, plugin: &str, key: &str) -> bool {
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        self.gvr.is_none() && is(&self.plugin, plugin) && is(&self.key, key)
    }

    /// Why nothing is done, if so.
    pub fn refused(&self) -> Option<&'static str> {
        (self.key.is_none() && !self.all).then_some("say which: a key, or all of them")
    }
}

/// Asks the running host, and prints the answer. True where it did what was asked for.
///
/// # Errors
/// No host answers, it knows no such plugin, or the configuration says that it has no admin endpoint.
pub async fn run(args: DeadLettersArgs, output: Output) -> anyhow::Result<bool> {
    let DeadLettersArgs { command, host } = args;
    let host = Client::new(&host)?;
    let (answer, well) = match command {
        DeadLettersCommand::List(filter) => {
            let chosen = Chosen { plugin: filter.plugin, gvr: filter.gvr, ..Chosen::default() };
            (host.post("/dead-letters/list", &chosen).await?, true)
        }
        DeadLettersCommand::Replay(which) => done(host.post("/dead-letters/replay", &which.chosen()).await?),
        DeadLettersCommand::Drop(which) => done(host.post("/dead-letters/drop", &which.chosen()).await?),
    };
    show(&answer, output, text::text);
    Ok(well)
}

/// With whether something was done and nothing was refused.
fn done(answer: Value) -> (Value, bool) {
    let count = |list: &str| answer.get(list).and_then(Value::as_array).map_or(0, Vec::len);
    let well = count("refused") == 0 && count("replayed") + count("dropped") > 0;
    (answer, well)
}

#[cfg(test)]
mod tests {
    use informer_types::Source;

    use super::*;

    fn object(gvr: &str, key: &str) -> ObjectRef {
        ObjectRef { source: Source::new(gvr.parse().unwrap()), key: key.parse().unwrap() }
    }

    #[test]
    fn what_is_not_said_is_every_one_of_it() {
        let pod = object("v1/pods", "shop/web");
        assert!(Chosen::default().has("ttl", &pod));
        for (plugin, gvr, key, expected) in [
            (Some("ttl"), Some("v1/pods"), Some("shop/web"), true),
            (Some("tt"), None, None, false),
            (None, Some("v1/services"), None, false),
            (None, None, Some("web"), false),
        ] {
            let text = |text: Option<&str>| text.map(str::to_owned);
            let chosen = Chosen { plugin: text(plugin), gvr: text(gvr), key: text(key), all: false };
            assert_eq!(chosen.has("ttl", &pod), expected, "{chosen:?}");
        }
    }

    #[test]
    fn a_key_of_a_plugins_own_is_of_no_resource() {
        let chosen = |gvr: Option<&str>, key: Option<&str>| Chosen {
            gvr: gvr.map(str::to_owned),
            key: key.map(str::to_owned),
            ..Chosen::default()
        };

        assert!(chosen(None, None).has_key("ttl", "any key"));
        assert!(chosen(None, Some("any key")).has_key("ttl", "any key"));
        assert!(!chosen(None, Some("another")).has_key("ttl", "any key"));
        assert!(!chosen(Some("v1/pods"), None).has_key("ttl", "any key"));
    }

    #[test]
    fn nothing_is_done_to_all_of_them_unless_it_is_said() {
        let all = Chosen { all: true, ..Chosen::default() };
        let one = Chosen { key: Some("shop/web".to_owned()), ..Chosen::default() };
        assert!(Chosen::default().refused().is_some());
        assert_eq!((all.refused(), one.refused()), (None, None));
    }
}
