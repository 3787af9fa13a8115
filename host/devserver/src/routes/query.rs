//! The query parameters of a request. For lists and watches they choose a state of the collection:
//! `resourceVersion` and its match.

use std::time::Duration;

use axum::extract::Query as QueryParameters;
use http::Uri;

use crate::status::{ApiError, ApiResult, Cause};

/// The query of a request. If a parameter is repeated, the first value wins.
#[derive(Debug, Default)]
pub(crate) struct Query {
    parameters: Vec<(String, String)>,
}

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

// === impl Query ===

impl Query {
    pub(crate) fn parse(uri: &Uri) -> ApiResult<Self> {
        let parameters = QueryParameters::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|error| ApiError::bad_request(format!("invalid query: {error}")))?;
        Ok(Self { parameters: parameters.0 })
    }

    /// The value of a parameter. Returns `None` if the parameter is missing or empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let value = self.parameters.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str());
        value.filter(|value| !value.is_empty())
    }

    fn parsed<T>(
        &self,
        name: &str,
        problem: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> ApiResult<Option<T>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let refuse = || ApiError::bad_request(format!("invalid value {value:?} for {name}: {problem}"));
        parse(value).map(Some).ok_or_else(refuse)
    }

    /// A boolean in one of the forms that Go's `ParseBool` accepts.
    pub(crate) fn flag(&self, name: &str) -> ApiResult<Option<bool>> {
        self.parsed(name, "not a boolean", |value| match value {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
            _ => None,
        })
    }

    /// A non-negative integer.
    pub(crate) fn number(&self, name: &str) -> ApiResult<Option<u64>> {
        self.parsed(name, "not a whole number", |value| value.parse().ok())
    }

    pub(crate) fn timeout(&self) -> ApiResult<Option<Duration>> {
        Ok(self.number("timeoutSeconds")?.filter(|seconds| *seconds > 0).map(Duration::from_secs))
    }

    /// Returns true if the request must change nothing (`dryRun=All`).
    pub(crate) fn dry_run(&self) -> ApiResult<bool> {
        let all = self.parsed("dryRun", "want All", |value| (value == "All").then_some(()))?;
        Ok(all.is_some())
    }
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
                let cause = Cause::not_supported("resourceVersionMatch", other, &allowed);
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
                Err(invalid(Cause::not_supported(field, "Exact", &["NotOlderThan"])))
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
