use std::sync::Arc;

use super::*;
use crate::{Body, Header};

fn object(body: &str) -> Object {
    let header = Header { namespace: Arc::from("shop"), name: "web".into(), ..Header::default() };
    Object::new(&header, Body::Raw(body.into())).unwrap()
}

fn selects(selector: &str, body: &str) -> bool {
    selector.parse::<FieldSelector>().unwrap().selects(&object(body)).unwrap()
}

#[test]
fn a_selector_is_a_list_of_comparisons_joined_by_commas() {
    for text in
        ["", " ", "a=b", "a==b", "a!=b", "a=", "a=b,c!=d", "metadata.name=x\\,y", "a=b\\\\,c=d", "a=b\\=c"]
    {
        assert!(text.parse::<FieldSelector>().is_ok(), "{text}");
    }
    for text in ["a", "=b", "a=b,", ",", "a=b,c", "a!b", "!=b", "a..b=c", ".a=b", "a=b=c", "a=\\x", "a=b\\"] {
        assert!(text.parse::<FieldSelector>().is_err(), "{text}");
    }
}

#[test]
fn the_written_form_reads_back_as_the_same_text() {
    for text in ["", "a=b", "a!=b,c=", "a=x\\,y,b=\\\\,c=\\="] {
        let selector: FieldSelector = text.parse().unwrap();
        assert_eq!(selector.to_string(), text);
    }
}

#[test]
fn every_term_must_hold() {
    let body =
        r#"{"spec":{"nodeName":"node-1","replicas":3,"paused":false,"name":"a\u0062,c"},"list":[{"a":1}]}"#;
    for selector in [
        "",
        "spec.nodeName=node-1",
        "spec.nodeName==node-1,spec.replicas=3,spec.paused=false",
        "spec.nodeName!=node-2",
        "spec.name=ab\\,c",
        "list.0.a=1",
        "metadata.name=web,metadata.namespace=shop",
        "metadata.name=web,spec.replicas!=4",
    ] {
        assert!(selects(selector, body), "{selector}");
    }
    for selector in [
        "spec.nodeName=node-2",
        "spec.nodeName=node-1,spec.replicas=4",
        "spec.replicas!=3",
        "metadata.name=db,spec.nodeName=node-1",
        "metadata.namespace!=shop",
    ] {
        assert!(!selects(selector, body), "{selector}");
    }
}

/// The API server compares the white space too (`k8s.io/apimachinery/pkg/fields`), so such a value would select
/// nothing.
#[test]
fn a_blank_at_the_edge_of_a_value_is_refused_and_one_around_a_term_is_not() {
    for text in ["spec.nodeName = node-1", "a=b ", "a= b,c=d", "a=b ,c=d", "a= "] {
        let error = text.parse::<FieldSelector>().unwrap_err().to_string();
        assert!(error.contains("without blanks around the sign"), "{text}: {error}");
    }
    assert!(selects("metadata.name=web, reason=not now", r#"{"reason":"not now"}"#));
}

#[test]
fn an_absent_or_null_field_is_the_empty_text_and_a_structure_equals_nothing() {
    let body = r#"{"spec":{"nothing":null,"empty":"","structure":{}}}"#;
    assert!(selects("spec.nothing=,spec.empty=,spec.absent=,absent.below=", body));
    assert!(selects("spec.nothing!=x,spec.absent!=x", body));
    assert!(!selects("spec.structure=", body) && selects("spec.structure!=", body));
}

#[test]
fn an_unreadable_body_is_an_error_unless_the_name_decides() {
    let broken = object("{");
    let selector: FieldSelector = "spec.a=b".parse().unwrap();
    assert!(selector.selects(&broken).is_err());
    let selector: FieldSelector = "spec.a=b,metadata.name=db".parse().unwrap();
    assert!(!selector.selects(&broken).unwrap());
}

#[test]
fn the_common_selector_keeps_shared_terms_on_name_and_namespace() {
    let common = |one: &str, other: &str| {
        let (one, other): (FieldSelector, FieldSelector) = (one.parse().unwrap(), other.parse().unwrap());
        one.common(&other).to_string()
    };
    assert_eq!(common("metadata.name=a,spec.b=c", "spec.b=c,metadata.name=a"), "metadata.name=a");
    assert_eq!(common("metadata.name=a", "metadata.name=b"), "");
    assert_eq!(common("metadata.namespace!=a", "metadata.namespace==a"), "");
    assert_eq!(common("", "metadata.name=a"), "");
}
