//! The decision when an object expires.

use std::{collections::BTreeMap, time::Duration};

use informer_sdk::{Error, Field};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::{
    settings::Settings,
    ttl::{self, Ttl},
};

const TTL: &str = "janitor/ttl";
const EXPIRES: &str = "janitor/expires";

/// The annotation of an object whose deletion was announced.
pub(crate) const NOTIFIED: &str = "janitor/notified";

/// The parts of an object that decide without a rule.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    annotations: Option<BTreeMap<String, String>>,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
}

/// When and why an object expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expiry {
    pub(crate) at: Timestamp,
    pub(crate) cause: Cause,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The time to live of the annotation or of a rule is over.
    Ttl { ttl: Ttl, rule: Option<String> },
    /// The time of `janitor/expires` has come.
    Expires,
}

/// The result for one object.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Judged {
    /// `None` if the object never expires.
    pub(crate) expiry: Option<Expiry>,
    /// What is wrong with annotations and rules, for the log.
    pub(crate) problems: Vec<String>,
}

// === impl Facts ===

impl Facts {
    /// The pointers of [`of`](Self::of).
    pub(crate) const POINTERS: [&'static str; 3] =
        ["/metadata/annotations", "/metadata/creationTimestamp", "/metadata/deletionTimestamp"];

    /// The facts in the values at [`POINTERS`](Self::POINTERS).
    pub(crate) fn of([annotations, created, deleted]: &[Field; 3]) -> Result<Self, Error> {
        Ok(Self {
            annotations: annotations.parse::<Option<_>>()?.flatten(),
            creation_timestamp: created.parse::<Option<_>>()?.flatten(),
            deletion_timestamp: deleted.parse::<Option<_>>()?.flatten(),
        })
    }

    /// The value of an annotation. An empty one has no effect, as in kube-janitor.
    pub(crate) fn annotation(&self, name: &str) -> Option<&String> {
        self.annotations.as_ref()?.get(name).filter(|value| !value.is_empty())
    }

    /// Returns true if the object is being deleted already.
    pub(crate) fn is_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// The time from which the time to live counts: the creation, or the deployment if that is later.
    fn since(&self, settings: &Settings, problems: &mut Vec<String>) -> Option<Timestamp> {
        let created: Option<Timestamp> = self.creation_timestamp.as_ref().and_then(|text| text.parse().ok());
        let named = settings
            .deployment_time_annotation
            .as_ref()
            .and_then(|name| Some((name, self.annotation(name)?)));
        let deployed = named.and_then(|(name, text)| {
            ttl::time(text).map_err(|error| problems.push(format!("{name}: {error}"))).ok()
        });
        // `None` is less than each time.
        created.max(deployed)
    }
}

/// Decides when an object of this resource expires. The time to live is that of `janitor/ttl`, or that of the first rule that
/// matches if the object does not have this annotation. If `janitor/expires` is earlier, that time wins. `json` returns the whole
/// object; it is called only if a rule could apply.
pub(crate) fn judge(
    settings: &Settings,
    resource: &str,
    facts: &Facts,
    json: impl FnOnce() -> Result<Option<String>, Error>,
) -> Result<Judged, Error> {
    let mut problems = Vec::new();
    let mut expiries = Vec::new();
    let by_ttl = match facts.annotation(TTL).map(|text| text.parse::<Ttl>()) {
        Some(Ok(ttl)) => Some((ttl, None)),
        Some(Err(error)) => {
            problems.push(format!("{TTL}: {error}"));
            None
        }
        None if settings.has_rule_for(resource) => {
            let (rule, errors) =
                json()?.map_or_else(|| (None, Vec::new()), |json| settings.rule_for(resource, &json));
            problems.extend(errors);
            rule.map(|rule| (rule.ttl, Some(rule.id.to_string())))
        }
        None => None,
    };
    if let Some((ttl @ Ttl::After(time), rule)) = by_ttl
        && let Some(at) = facts.since(settings, &mut problems).and_then(|since| after(since, time))
    {
        expiries.push(Expiry { at, cause: Cause::Ttl { ttl, rule } });
    }
    match facts.annotation(EXPIRES).map(|text| ttl::time(text)) {
        Some(Ok(at)) => expiries.push(Expiry { at, cause: Cause::Expires }),
        Some(Err(error)) => problems.push(format!("{EXPIRES}: {error}")),
        None => {}
    }
    Ok(Judged { expiry: expiries.into_iter().min_by_key(|expiry| expiry.at), problems })
}

/// The time that is `time` later. Returns `None` beyond the year 9999.
pub(crate) fn after(since: Timestamp, time: Duration) -> Option<Timestamp> {
    since.checked_add(SignedDuration::try_from(time).ok()?).ok()
}

// === impl Cause ===

impl Cause {
    /// The reason of the Event of a deletion, as kube-janitor writes it.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Ttl { .. } => "TimeToLiveExpired",
            Self::Expires => "ExpiryTimeReached",
        }
    }

    /// The cause in a sentence about a time that is still to come.
    pub(crate) fn announced(&self) -> String {
        match self {
            Self::Ttl { ttl, rule: None } => format!("annotation {TTL} sets a time to live of {ttl}"),
            Self::Ttl { ttl, rule: Some(rule) } => format!("rule {rule} sets a time to live of {ttl}"),
            Self::Expires => format!("annotation {EXPIRES} is set"),
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ttl { ttl, rule: None } => {
                write!(f, "annotation {TTL} is set, and its time to live of {ttl} is over")
            }
            Self::Ttl { ttl, rule: Some(rule) } => {
                write!(f, "rule {rule} matches, and its time to live of {ttl} is over")
            }
            Self::Expires => write!(f, "annotation {EXPIRES} is set, and its time has come"),
        }
    }
}
