//! Dead letters: notifications, keys and signals that the host gave up.

use serde::{Deserialize, Serialize};

/// The body of `POST /dead-letters/list`, `replay` and `drop`: the dead letters that are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Chosen {
    /// Name of the plugin; `None` means every plugin.
    pub plugin: Option<String>,
    /// The full name of the resource, such as `v1/pods`. A request may have another name that kubectl accepts. `None` means every letter.
    /// The empty text means the letters that belong to no resource: letters of keys of the plugin's own and of signals.
    pub gvr: Option<String>,
    /// `namespace/name`, `name`, or a key of the plugin's own; `None` means every key.
    pub key: Option<String>,
    /// Must be true if `key` is `None` and the letters are replayed or dropped.
    pub all: bool,
}

/// The answer to `POST /dead-letters/list`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct DeadLetters {
    /// The letters, the oldest first.
    pub dead_letters: Vec<DeadLetter>,
    /// Why letters are in memory only, one sentence for each plugin.
    pub problems: Vec<String>,
}

/// The answer to `POST /dead-letters/replay`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Replays {
    /// The letters that are replayed.
    pub replayed: Vec<Replayed>,
    /// The letters that are not.
    pub refused: Vec<Refused>,
}

/// The answer to `POST /dead-letters/drop`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Dropped {
    /// The letters that were dropped.
    pub dropped: Vec<DroppedLetter>,
}

/// One dead letter.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct DeadLetter {
    /// Name of the plugin; left out in an answer about one plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The resource and the key of the object, `key` and the plugin's own key, or the key of a signal.
    pub object: String,
    /// `add`, `update`, `delete`, `reconcile` for a key, or the call for a signal, such as `on-timer`.
    pub verb: String,
    /// The data of the notification; `None` for a key and for a signal.
    #[serde(flatten)]
    pub notification: Option<LostNotification>,
    /// Calls made.
    pub attempts: u32,
    /// The last failure.
    pub failure: String,
    /// When the host gave up, as RFC 3339 writes it.
    pub at: Option<String>,
}

/// The data of a notification that a dead letter keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LostNotification {
    /// The cause of the notification.
    pub cause: String,
    /// The UID of the object.
    pub uid: String,
    /// The resource version of the object.
    pub resource_version: String,
}

/// A letter that is replayed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Replayed {
    /// Name of the plugin.
    pub plugin: String,
    /// The same text as [`DeadLetter::object`].
    pub object: String,
    /// The verb of the replay.
    #[serde(rename = "as")]
    pub verb: String,
}

/// A letter that is not replayed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Refused {
    /// Name of the plugin.
    pub plugin: String,
    /// The same text as [`DeadLetter::object`].
    pub object: String,
    /// Why it is not replayed.
    pub why: String,
}

/// A letter that was dropped.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DroppedLetter {
    /// Name of the plugin.
    pub plugin: String,
    /// The same text as [`DeadLetter::object`].
    pub object: String,
}

// === impl Chosen ===

impl Chosen {
    /// Returns true if the letter of this plugin about this object is chosen.
    pub fn has(&self, plugin: &str, resource: &str, object: &str) -> bool {
        matches(self.plugin.as_deref(), plugin)
            && matches(self.gvr.as_deref(), resource)
            && matches(self.key.as_deref(), object)
    }

    /// Returns true if this key of the plugin's own is chosen. Such a key belongs to no resource.
    pub fn has_key(&self, plugin: &str, key: &str) -> bool {
        let of_keys = self.gvr.as_deref().is_none_or(str::is_empty);
        of_keys && matches(self.plugin.as_deref(), plugin) && matches(self.key.as_deref(), key)
    }

    /// Why the chosen letters may be neither replayed nor dropped; `None` if they may.
    pub fn undecided(&self) -> Option<&'static str> {
        (self.key.is_none() && !self.all).then_some("name a key, or write `\"all\": true` for every letter")
    }
}

fn matches(wanted: Option<&str>, found: &str) -> bool {
    wanted.is_none_or(|wanted| wanted == found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_condition_chooses_every_letter() {
        assert!(Chosen::default().has("ttl", "v1/pods", "shop/web"));
        for (plugin, gvr, key, expected) in [
            (Some("ttl"), Some("v1/pods"), Some("shop/web"), true),
            (Some("tt"), None, None, false),
            (None, Some("v1/services"), None, false),
            (None, None, Some("web"), false),
        ] {
            let text = |text: Option<&str>| text.map(str::to_owned);
            let chosen = Chosen { plugin: text(plugin), gvr: text(gvr), key: text(key), all: false };
            assert_eq!(chosen.has("ttl", "v1/pods", "shop/web"), expected, "{chosen:?}");
        }
    }

    #[test]
    fn a_key_of_the_plugins_own_belongs_to_no_resource() {
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

    /// The page sends it for the letter of a key: an object may have the same key.
    #[test]
    fn an_empty_resource_chooses_letters_of_keys_and_none_of_objects() {
        let key = Some("shop/web".to_owned());
        let chosen = Chosen { gvr: Some(String::new()), key, ..Chosen::default() };

        assert!(chosen.has_key("ttl", "shop/web") && !chosen.has_key("ttl", "shop/api"));
        assert!(!chosen.has("ttl", "v1/pods", "shop/web"));
    }

    #[test]
    fn all_letters_are_chosen_only_by_an_explicit_word() {
        let all = Chosen { all: true, ..Chosen::default() };
        let one = Chosen { key: Some("shop/web".to_owned()), ..Chosen::default() };
        assert!(Chosen::default().undecided().is_some());
        assert_eq!((all.undecided(), one.undecided()), (None, None));
    }
}
