//! Tests with bodies in the form of client-go.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A field of length-delimited bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
    out.extend_from_slice(bytes);
    out
}

fn body(api_version: &str, kind: &str, object: &[u8]) -> Bytes {
    let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), field(1, &type_meta), field(2, object), field(3, b""), field(4, b"")].concat().into()
}

#[test]
fn an_object_decodes_to_the_equivalent_json() {
    let metadata =
        [field(1, b"s"), field(2, b""), field(8, b""), field(11, &[field(1, b"k"), field(2, b"v")].concat())];
    let data = [field(1, b"key"), field(2, b"foo")].concat();
    let secret = [field(1, &metadata.concat()), field(2, &data), field(3, b"Opaque")].concat();

    let decoded = decode(&body("v1", "Secret", &secret)).unwrap();

    let expected = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"key": "Zm9v"},
        "metadata": {"name": "s", "labels": {"k": "v"}},
    });
    assert_eq!(decoded, expected);
}

#[test]
fn times_quantities_and_mixed_types_decode_to_their_json_form() {
    let read = |kind, bytes: &[u8]| decode_value(Schema::get(), &kind, Wire::Bytes(bytes), 0).unwrap();

    assert_eq!(read(Type::Time, &[8, 60]), json!("1970-01-01T00:01:00Z"));
    assert_eq!(read(Type::Time, &[]), Value::Null);
    assert_eq!(read(Type::MicroTime, &[8, 60]), json!("1970-01-01T00:01:00.000000Z"));
    assert_eq!(read(Type::Quantity, &field(1, b"10Mi")), json!("10Mi"));
    assert_eq!(read(Type::IntOrString, &[8, 0, 16, 80]), json!(80));
    assert_eq!(read(Type::IntOrString, &[vec![8, 1], field(3, b"25%")].concat()), json!("25%"));
    assert_eq!(read(Type::RawJson, &field(1, b"{\"a\":1}")), json!({"a": 1}));
}

#[test]
fn delete_options_exist_in_every_group() {
    assert!(decode(&body("apps/v1", "DeleteOptions", b"")).is_ok());
}

#[test]
fn invalid_bodies_are_refused() {
    let unknown = decode(&body("v1", "Teapot", b""));
    assert!(matches!(unknown, Err(ProtobufError::UnknownKind { .. })));
    for bytes in [&b""[..], b"k8s", b"k8s\0\x0a\xff", b"k8s\0\x0b", b"{}"] {
        assert!(decode(&Bytes::from_static(bytes)).is_err(), "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(object in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = decode(&body("v1", "Pod", &object));
        let _ = decode(&[MAGIC, &object].concat().into());
    }
}
