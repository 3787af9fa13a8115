//! The query parameters of a request.

use std::time::Duration;

use axum::extract::Query as QueryParameters;
use http::Uri;

use crate::{
    registry::Resource,
    selector::{FieldSelector, Filter, LabelSelector},
    status::{ApiError, ApiResult},
};

/// The query of a request. If a parameter is repeated, the first value wins.
#[derive(Debug, Default)]
pub(crate) struct Query {
    parameters: Vec<(String, String)>,
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

    /// A boolean in one of the forms that Go's `ParseBool` accepts.
    pub(crate) fn flag(&self, name: &str) -> ApiResult<Option<bool>> {
        match self.get(name) {
            None => Ok(None),
            Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(Some(true)),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(Some(false)),
            Some(value) => {
                Err(ApiError::bad_request(format!("invalid value {value:?} for {name}: not a boolean")))
            }
        }
    }

    /// A non-negative integer.
    pub(crate) fn number(&self, name: &str) -> ApiResult<Option<u64>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let problem =
            |_| ApiError::bad_request(format!("invalid value {value:?} for {name}: not a whole number"));
        value.parse().map(Some).map_err(problem)
    }

    pub(crate) fn timeout(&self) -> ApiResult<Option<Duration>> {
        Ok(self.number("timeoutSeconds")?.filter(|seconds| *seconds > 0).map(Duration::from_secs))
    }

    /// Returns true if the request must change nothing (`dryRun=All`).
    pub(crate) fn dry_run(&self) -> ApiResult<bool> {
        match self.get("dryRun") {
            None => Ok(false),
            Some("All") => Ok(true),
            Some(value) => {
                Err(ApiError::bad_request(format!("invalid value {value:?} for dryRun: want All")))
            }
        }
    }

    /// The selectors of a list, a watch or a deletion of a collection.
    pub(crate) fn filter(&self, resource: &Resource, namespace: Option<&str>) -> ApiResult<Filter> {
        let refuse = |error: crate::selector::InvalidSelector| ApiError::bad_request(error.to_string());
        let labels = self.get("labelSelector").unwrap_or_default();
        let fields = self.get("fieldSelector").unwrap_or_default();
        Ok(Filter {
            namespace: namespace.map(str::to_owned),
            labels: LabelSelector::parse(labels).map_err(refuse)?,
            fields: FieldSelector::parse(fields, &resource.selectable)
                .map_err(refuse)?
                .renamed(|path| resource.stored_field(path)),
        })
    }
}
