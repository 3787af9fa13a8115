//! The current troubles of an informer.

use std::{fmt, time::Duration};

use informer_types::{counted, millis};
use serde::{Deserialize, Serialize, Serializer};

use super::{InformerStatus, LastError, Phase, ReflectorStatus, remedy::remedy};
use crate::ErrorClass;

/// An answer that takes longer than this is reported.
const SLOW: Duration = Duration::from_secs(5);

/// If the cache lags behind for longer than this, the controller does not keep up.
const BEHIND: Duration = Duration::from_secs(2);

/// The API server sends a bookmark about once a minute. A watch that sends nothing for longer is reported.
const QUIET: Duration = Duration::from_secs(90);

/// A current trouble of an informer, described for an operator: what is wrong, for how long, how often, when it is
/// tried again, and what would help.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Trouble {
    /// The affected namespace. `None` means all namespaces or the informer itself.
    pub namespace: Option<String>,
    /// The problem in words.
    pub what: String,
    /// The class of the failure. `None` if the trouble is not a failure.
    #[serde(serialize_with = "word", skip_deserializing)]
    pub class: Option<ErrorClass>,
    /// How long it has lasted.
    #[serde(rename = "lasting-ms", with = "millis")]
    pub lasting: Duration,
    /// The number of failures in a row; 0 if the trouble is not a failure.
    pub failures: u32,
    /// The time until the next attempt.
    #[serde(rename = "retry-in-ms", with = "millis")]
    pub retry_in: Option<Duration>,
    /// The remedy.
    pub remedy: Option<String>,
}

/// A duration in words: `3 s`, `4 min 10 s`, `2 h 5 min`, `3 d 1 h`.
struct Lasting(Duration);

// === impl InformerStatus ===

impl InformerStatus {
    /// Returns the current troubles. Empty if all is well or the informer was not started. Even with troubles the cache
    /// may be served from its last state.
    pub fn troubles(&self) -> Vec<Trouble> {
        let mut troubles: Vec<Trouble> =
            self.reflectors.iter().filter_map(|reflector| self.trouble(reflector)).collect();
        // Several namespaces wait for the same resource: report it once.
        troubles.dedup_by(|next, first| {
            next.class == Some(ErrorClass::UnknownResource) && next.what == first.what
        });
        troubles.extend(self.reflectors.iter().filter_map(quarantine));
        troubles.extend(self.behind());
        troubles
    }

    /// Returns the reason why the cache is not complete yet, or `None` once it is (C-12).
    pub fn unsynced_because(&self) -> Option<String> {
        if self.synced {
            return None;
        }
        if self.phase == Phase::NotStarted || self.phase == Phase::Stopped {
            return Some(format!("the informer is {}", self.phase));
        }
        let unlisted = self.reflectors.iter().filter(|reflector| !has_listed(reflector));
        let reasons: Vec<String> = unlisted
            .map(|reflector| match self.trouble(reflector) {
                Some(trouble) => trouble.what,
                None => reflector
                    .unsynced_because
                    .clone()
                    .unwrap_or_else(|| format!("{} is not complete yet", first_list(self, reflector))),
            })
            .collect();
        match &*reasons {
            [] => Some("its first list is being put into the cache".to_owned()),
            [first, rest @ ..] if rest.iter().all(|reason| reason == first) => Some(first.clone()),
            reasons => Some(reasons.join("; ")),
        }
    }

    fn trouble(&self, reflector: &ReflectorStatus) -> Option<Trouble> {
        let trouble = |what: String, lasting| Trouble {
            failures: reflector.consecutive_failures,
            retry_in: reflector.retry_in,
            ..Trouble::new(reflector.namespace.clone(), what, lasting)
        };
        let error = reflector.last_error.as_ref();
        match reflector.phase {
            Phase::WaitingForResource => {
                let error = error?;
                let what = format!("waiting for the resource to be served: {}", error.text);
                let remedy = self.remedy(error);
                Some(Trouble { class: Some(error.class), remedy, ..trouble(what, reflector.phase_age) })
            }
            // The first event ends this trouble, and so does a watch that has been open for a second.
            Phase::Watching if reflector.consecutive_failures > 0 => {
                let error = error?;
                let what = format!("watching again; before that: {}", error.text);
                Some(Trouble {
                    class: Some(error.class),
                    ..trouble(what, reflector.failing_for.unwrap_or(error.age))
                })
            }
            _ if reflector.consecutive_failures > 0 => {
                let error = error?;
                let lasting = reflector.failing_for.unwrap_or(error.age);
                let remedy = self.remedy(error);
                Some(Trouble { class: Some(error.class), remedy, ..trouble(error.text.clone(), lasting) })
            }
            Phase::Discovering | Phase::Listing if reflector.phase_age > SLOW => {
                let what = match reflector.phase {
                    Phase::Discovering => {
                        format!("the API server has not answered the lookup of {} yet", self.key.gvr)
                    }
                    _ => {
                        format!("the API server is slow: {} is not complete yet", first_list(self, reflector))
                    }
                };
                Some(trouble(what, reflector.phase_age))
            }
            _ => None,
        }
    }

    fn remedy(&self, error: &LastError) -> Option<String> {
        error.remedy.clone().or_else(|| remedy(error.class, &self.key))
    }

    /// Returns how old the cached data may be, if no watch keeps it current: `data as of 3 min 5 s ago`. Also returned if
    /// an open watch sends nothing, not even bookmarks; a server without bookmarks does that on a quiet collection.
    pub fn age_in_words(&self) -> Option<String> {
        let oldest =
            self.reflectors.iter().filter(|one| one.data_age.is_some()).max_by_key(|one| one.data_age)?;
        let age = oldest.data_age?;
        let words = match oldest.phase {
            Phase::Watching if age.min(oldest.phase_age) <= QUIET => return None,
            Phase::Watching => {
                let silence = Lasting(age.min(oldest.phase_age));
                format!("the API server accepted the watch and has sent nothing for {silence}")
            }
            Phase::Stopped | Phase::NotStarted => return None,
            _ => format!("data as of {} ago", Lasting(age)),
        };
        Some(words)
    }

    fn behind(&self) -> Option<Trouble> {
        let lag = self.reflectors.iter().map(|reflector| reflector.lag).max().filter(|lag| *lag > BEHIND)?;
        let waiting = match self.queued_deltas {
            1 => "1 change waits".to_owned(),
            changes => format!("{changes} changes wait"),
        };
        let what = format!("the cache is behind: {waiting} to be applied");
        let remedy = Some("give this host more CPU".to_owned());
        Some(Trouble { remedy, ..Trouble::new(None, what, lag) })
    }
}

/// A quarantined object stays a trouble until it is repaired (D-2).
fn quarantine(reflector: &ReflectorStatus) -> Option<Trouble> {
    let count = reflector.quarantined.len();
    let objects = counted(count as u64, "object");
    let what = match (reflector.quarantined.first_key_value(), reflector.more_quarantined) {
        (None, false) => return None,
        (None, true) => "an object could not be decoded, and its name is not listed".to_owned(),
        (Some((key, reason)), true) => {
            format!("at least {objects} cannot be decoded, for example {key}: {reason}")
        }
        (Some((key, reason)), false) if count == 1 => format!("{key} cannot be decoded: {reason}"),
        (Some((key, reason)), false) => {
            format!("{objects} cannot be decoded, for example {key}: {reason}")
        }
    };
    let remedy = match count {
        0 => "read the log of this host, which has the reason",
        _ => "repair the object; the cache keeps its last good state and reads its next event",
    };
    Some(Trouble {
        remedy: Some(remedy.to_owned()),
        ..Trouble::new(reflector.namespace.clone(), what, Duration::ZERO)
    })
}

/// Returns true once there was a list. Some servers send no versions, so the applied version alone does not show it.
fn has_listed(reflector: &ReflectorStatus) -> bool {
    !reflector.applied_version.is_empty() || reflector.data_age.is_some()
}

fn first_list(status: &InformerStatus, reflector: &ReflectorStatus) -> String {
    let which = if has_listed(reflector) { "a list" } else { "the first list" };
    match &reflector.namespace {
        Some(namespace) => format!("{which} of {} in namespace {namespace}", status.key.gvr),
        None => format!("{which} of {}", status.key.gvr),
    }
}

fn word<S: Serializer>(class: &Option<ErrorClass>, to: S) -> Result<S::Ok, S::Error> {
    class.map(ErrorClass::as_str).serialize(to)
}

// === impl Trouble ===

impl Trouble {
    /// A trouble that is not a failure.
    fn new(namespace: Option<String>, what: String, lasting: Duration) -> Self {
        Self { namespace, what, lasting, ..Self::default() }
    }
}

impl fmt::Display for Trouble {
    /// One sentence without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match self.failures {
            0 if self.lasting.is_zero() => {}
            0 => write!(f, "; for {}", Lasting(self.lasting))?,
            1 => write!(f, "; failed once, {} ago", Lasting(self.lasting))?,
            failures => write!(f, "; failed {failures} times in {}", Lasting(self.lasting))?,
        }
        match self.retry_in {
            Some(wait) if wait.is_zero() => f.write_str("; it is tried again now")?,
            Some(wait) => write!(f, "; it is tried again in {}", Lasting(wait))?,
            None => {}
        }
        match &self.remedy {
            Some(remedy) => write!(f, "; what helps: {remedy}"),
            None => Ok(()),
        }
    }
}

// === impl Lasting ===

impl fmt::Display for Lasting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Less than a second is shown as a second: "0 s" would mean no time at all.
        let seconds = (self.0.as_millis().div_ceil(1_000)).max(1);
        let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
        match (days, hours, minutes) {
            (0, 0, 0) => write!(f, "{seconds} s"),
            (0, 0, _) => write!(f, "{minutes} min {} s", seconds % 60),
            (0, ..) => write!(f, "{hours} h {} min", minutes % 60),
            _ => write!(f, "{days} d {} h", hours % 24),
        }
    }
}

#[cfg(test)]
mod tests {
    use informer_types::ObjectKey;

    use super::*;

    #[test]
    fn one_change_that_waits_to_be_applied_is_singular() {
        let what = |queued_deltas| {
            let reflectors = vec![ReflectorStatus { lag: 2 * BEHIND, ..ReflectorStatus::default() }];
            InformerStatus { queued_deltas, reflectors, ..InformerStatus::default() }.behind().unwrap().what
        };

        assert_eq!(what(1), "the cache is behind: 1 change waits to be applied");
        assert_eq!(what(2), "the cache is behind: 2 changes wait to be applied");
    }

    #[test]
    fn the_number_of_quarantined_objects_is_a_minimum_if_not_all_of_them_are_listed() {
        let what = |listed: usize, more_quarantined| {
            let quarantined = (0..listed).map(|number| {
                let key = ObjectKey::new("shop", format!("{number:04}"));
                (key, "bad".to_owned())
            });
            let quarantined = quarantined.collect();
            let status = ReflectorStatus { quarantined, more_quarantined, ..ReflectorStatus::default() };
            quarantine(&status).map(|trouble| trouble.what)
        };

        assert_eq!(what(0, false), None);
        for (listed, more, text) in [
            (0, true, "an object could not be decoded, and its name is not listed"),
            (1, false, "shop/0000 cannot be decoded: bad"),
            (1, true, "at least 1 object cannot be decoded, for example shop/0000: bad"),
            (999, true, "at least 999 objects cannot be decoded, for example shop/0000: bad"),
            (1000, false, "1000 objects cannot be decoded, for example shop/0000: bad"),
        ] {
            assert_eq!(what(listed, more).as_deref(), Some(text));
        }
    }

    #[test]
    fn durations_are_shown_in_the_two_largest_units() {
        for (millis, text) in [
            (0, "1 s"),
            (400, "1 s"),
            (59_900, "1 min 0 s"),
            (250_000, "4 min 10 s"),
            (7_500_000, "2 h 5 min"),
            (262_800_000, "3 d 1 h"),
        ] {
            assert_eq!(Lasting(Duration::from_millis(millis)).to_string(), text);
        }
    }
}
