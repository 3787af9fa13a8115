//! The requested state of a collection: `resourceVersion` and its match for lists and watches.

use serde_json::Value;

use super::query::Query;
use crate::status::{ApiError, ApiResult, Cause};

/// How the server matches `resourceVersion`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// The version parameters of a list or watch. They form a valid combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VersionOptions {
    /// `None` if unset; 0 accepts any state.
    pub(crate) rv: Option<u64>,
    pub(crate) version_match: Option<VersionMatch>,
    pub(crate) send_initial_events: Option<bool>,
}

// === impl VersionOptions ===

impl VersionOptions {
    /// # Errors
    /// 400 for a version that is not a number, 422 for parameters that exclude one another.
    pub(crate) fn parse(query: &Query, is_watch: bool) -> ApiResult<Self> {
        let rv = query.get("resourceVersion").map(parse_version).transpose()?;
        let version_match = match query.get("resourceVersionMatch") {
            None => None,
            Some("Exact") => Some(VersionMatch::Exact),
            Some("NotOlderThan") => Some(VersionMatch::NotOlderThan),
            Some(other) => {
                let allowed = ["Exact", "NotOlderThan", ""];
                let cause = Cause::not_supported("resourceVersionMatch", &Value::from(other), &allowed);
                return Err(invalid(cause));
            }
        };
        let send_initial_events = query.flag("sendInitialEvents")?;
        let options = Self { rv, version_match, send_initial_events };
        let checked = if is_watch { options.check_watch() } else { options.check_list(query) };
        checked.map(|()| options)
    }

    fn check_list(self, query: &Query) -> ApiResult<()> {
        if self.send_initial_events.is_some() {
            return Err(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        if self.version_match.is_none() {
            return Ok(());
        }
        let field = "resourceVersionMatch";
        if query.get("continue").is_some() {
            return Err(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"));
        }
        match (self.rv, self.version_match) {
            (None, _) => {
                Err(forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
            }
            (Some(0), Some(VersionMatch::Exact)) => {
                Err(forbidden(field, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""))
            }
            _ => Ok(()),
        }
    }

    fn check_watch(self) -> ApiResult<()> {
        let field = "resourceVersionMatch";
        match (self.send_initial_events, self.version_match) {
            (None, Some(_)) => Err(forbidden(
                field,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )),
            (Some(_), None) => Err(forbidden(
                field,
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )),
            (Some(_), Some(VersionMatch::Exact)) => {
                let exact = Value::from("Exact");
                Err(invalid(Cause::not_supported(field, &exact, &["NotOlderThan"])))
            }
            _ => Ok(()),
        }
    }
}

fn parse_version(text: &str) -> ApiResult<u64> {
    let problem =
        |_| ApiError::bad_request(format!("invalid resource version: {text:?} is not a decimal number"));
    text.parse().map_err(problem)
}

fn forbidden(field: &str, why: &str) -> ApiError {
    invalid(Cause::forbidden(field, why))
}

fn invalid(cause: Cause) -> ApiError {
    ApiError::invalid("meta.k8s.io", "ListOptions", "", &[cause])
}
