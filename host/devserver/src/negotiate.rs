//! Content negotiation: the form of an answer by the `Accept` header.

use http::{HeaderMap, header};

use crate::status::{ApiError, ApiResult};

/// The forms of an object or a list in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Complete objects.
    Object,
    /// `PartialObjectMetadata`, alone or in a list.
    Metadata,
    /// A `Table` of `meta.k8s.io/v1`.
    Table,
}

/// One media range of an `Accept` header.
struct MediaRange<'a> {
    media_type: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

/// The first form that the client accepts and the server supports.
///
/// # Errors
/// 406 if the client accepts only formats that the server cannot write (protobuf, CBOR, YAML).
pub(crate) fn view(headers: &HeaderMap) -> ApiResult<View> {
    let ranges = accepted(headers);
    if ranges.is_empty() {
        return Ok(View::Object);
    }
    ranges.iter().find_map(MediaRange::view).ok_or_else(ApiError::not_acceptable)
}

/// Returns true if the client accepts JSON with these parameters, such as `as=APIGroupDiscoveryList`.
pub(crate) fn accepts(headers: &HeaderMap, parameters: &[(&str, &str)]) -> bool {
    let is_json = |range: &MediaRange<'_>| range.media_type == "application/json";
    accepted(headers).iter().any(|range| is_json(range) && range.has(parameters))
}

/// The media ranges of all `Accept` headers, in order.
fn accepted(headers: &HeaderMap) -> Vec<MediaRange<'_>> {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(',')).map(str::trim).filter(|text| !text.is_empty());
    let ranges = ranges.map(|text| {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        MediaRange { media_type, parameters: parts.filter_map(|part| part.split_once('=')).collect() }
    });
    ranges.collect()
}

// === impl MediaRange ===

impl MediaRange<'_> {
    fn has(&self, parameters: &[(&str, &str)]) -> bool {
        parameters.iter().all(|parameter| self.parameters.contains(parameter))
    }

    fn view(&self) -> Option<View> {
        if !matches!(self.media_type, "application/json" | "application/*" | "*/*") {
            return None;
        }
        let of_meta_v1 = self.has(&[("g", "meta.k8s.io"), ("v", "v1")]);
        match self.parameters.iter().find(|(name, _)| *name == "as") {
            None => Some(View::Object),
            Some((_, "Table")) if of_meta_v1 => Some(View::Table),
            Some((_, "PartialObjectMetadata" | "PartialObjectMetadataList")) if of_meta_v1 => {
                Some(View::Metadata)
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view_of(accept: &str) -> Option<View> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        view(&headers).ok()
    }

    #[test]
    fn the_first_supported_form_wins() {
        assert_eq!(view_of("application/json"), Some(View::Object));
        assert_eq!(
            view_of("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"),
            Some(View::Table)
        );
        assert_eq!(view_of("application/json;as=Table;v=v9;g=meta.k8s.io, */*"), Some(View::Object));
        assert_eq!(
            view_of("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
            Some(View::Metadata)
        );
        assert_eq!(view_of("application/vnd.kubernetes.protobuf,application/json"), Some(View::Object));
        assert_eq!(view_of("application/json;stream=watch"), Some(View::Object));
        assert_eq!(view(&HeaderMap::new()).ok(), Some(View::Object));
    }

    #[test]
    fn a_client_that_accepts_only_protobuf_is_refused() {
        assert_eq!(view_of("application/vnd.kubernetes.protobuf"), None);
    }
}
