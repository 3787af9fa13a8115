use super::*;

pub(super) fn header() -> Header<'static> {
    Header {
        namespace: Arc::from("shop"),
        name: "web-1".into(),
        uid: "7d0e".into(),
        resource_version: "42".into(),
        creation_timestamp: "2026-11-21T02:19:18Z".into(),
        deletion_timestamp: "".into(),
        generation: Some(3),
        labels: vec![("app".into(), "web".into()), ("größe".into(), "".into())],
        owners: vec![
            Owner { kind: "Node".into(), ..Owner::default() },
            Owner {
                api_version: "apps/v1".into(),
                kind: "ReplicaSet".into(),
                name: "web".into(),
                uid: "11".into(),
                controller: true,
            },
        ],
        partial: true,
    }
}

fn raw(text: &str) -> Body {
    Body::Raw(text.into())
}

#[test]
fn the_header_is_read_back_as_it_was_given() {
    let object = Object::new(&header(), raw("{}")).unwrap();

    assert_eq!(object.key(), ObjectKey::new("shop", "web-1"));
    assert_eq!((object.uid(), object.resource_version()), (Uid::of("7d0e"), "42"));
    assert_eq!(object.creation_timestamp(), "2026-11-21T02:19:18Z");
    assert_eq!((object.deletion_timestamp(), object.generation()), (None, Some(3)));
    assert_eq!(object.labels().collect::<Vec<_>>(), [("app", "web"), ("größe", "")]);
    assert_eq!(object.label("app"), Some("web"));
    assert_eq!(object.label("none"), None);
    assert_eq!(object.owners().count(), 2);
    assert_eq!(object.controller().unwrap().name, "web");
    assert_eq!(&*object.json().unwrap(), "{}");
}

#[test]
fn a_key_keeps_a_small_header_in_memory_and_no_large_one() {
    let bytes = |labels: usize| {
        let labels = (0..labels).map(|at| (format!("label-{at}").into(), "x".into())).collect();
        let object = Object::new(&Header { labels, ..header() }, raw("{}")).unwrap();
        let key = object.key();
        assert_eq!(key, ObjectKey::new("shop", "web-1"));
        (key.name.memory_bytes(), object.memory_bytes() - size_of::<Object>())
    };

    let (small, all) = bytes(1);
    assert_eq!(small + "{}".len(), all);
    let (large, all) = bytes(10_000);
    assert!(large < 10 && all > 100_000, "{large} of {all}");
}

#[test]
fn a_header_that_refers_to_common_strings_reads_the_same_and_is_smaller() {
    let header = header();
    let plain = Object::new(&header, raw("{}")).unwrap();
    let vocabulary = Vocabulary::of(std::iter::repeat_n(&plain, 4).flat_map(Object::header_texts));

    let object = Object::with_vocabulary(&header, raw("{}"), Some(Arc::new(vocabulary))).unwrap();

    assert_eq!(object.labels().collect::<Vec<_>>(), plain.labels().collect::<Vec<_>>());
    assert_eq!(object.owners().collect::<Vec<_>>(), plain.owners().collect::<Vec<_>>());
    assert_eq!(object.owners().count(), 2);
    assert_eq!((object.uid(), object.resource_version()), (Uid::of("7d0e"), "42"));
    assert_eq!(object.generation(), Some(3));
    assert_eq!(object.creation_timestamp(), plain.creation_timestamp());
    assert!(object.memory_bytes() + 20 < plain.memory_bytes());
}

#[test]
fn an_iterator_of_labels_does_not_go_on_with_the_owners() {
    let object = Object::new(&header(), raw("{}")).unwrap();
    let mut labels = object.labels();

    assert_eq!(labels.by_ref().count(), 2);
    assert_eq!(labels.next(), None);
    assert_eq!(object.header_texts().filter(|text| ["app", "ReplicaSet"].contains(&&**text)).count(), 2);
}

#[test]
fn an_object_without_labels_and_owners_has_none() {
    let header = Header { deletion_timestamp: "2026-01-01T00:00:00Z".into(), ..Header::default() };
    let object = Object::new(&header, raw("{}")).unwrap();

    assert_eq!((object.labels().count(), object.owners().count()), (0, 0));
    assert!(object.controller().is_none());
    assert_eq!(object.deletion_timestamp().as_deref(), Some("2026-01-01T00:00:00Z"));
}

#[test]
fn a_string_of_any_length_below_two_mebibytes_fits_and_a_longer_one_is_refused() {
    for len in [0, 1, 127, 128, 16_383, 16_384, (1 << 21) - 1] {
        let header = Header { uid: "u".repeat(len).into(), ..header() };

        assert_eq!(Object::new(&header, raw("{}")).unwrap().uid().len(), len);
    }
    let header = Header { uid: "u".repeat(1 << 21).into(), ..header() };
    assert_eq!(Object::new(&header, raw("{}")).unwrap_err(), ObjectTooLarge);
}

#[test]
fn the_debug_form_never_shows_the_body() {
    let object = Object::new(&header(), raw(r#"{"data":{"password":"hunter2"}}"#)).unwrap();

    assert_eq!(format!("{object:?}"), "Object(shop/web-1 rv=42 uid=7d0e)");
}

/// A codec that reverses the text.
struct Reversed;

impl BodyCodec for Reversed {
    fn unpack(&self, bytes: &[u8], read: &mut dyn FnMut(&str)) -> Result<(), CodecError> {
        let text: String = bytes.iter().rev().map(|byte| char::from(*byte)).collect();
        read(&text);
        Ok(())
    }
}

fn packed(bytes: Box<[u8]>, codec: impl BodyCodec + 'static) -> Option<Body> {
    Some(Body::Packed { bytes, codec: Arc::new(Box::new(codec)) })
}

#[test]
fn a_packed_body_reads_as_before_and_is_packed_once() {
    const TEXT: &str = r#"{"metadata":{"name":"web-1"}}"#;
    let object = Object::new(&header(), raw(TEXT)).unwrap();
    let held = object.json().unwrap();
    object.pack(0, |_, _| None);
    assert!(object.raw().is_some());
    assert_eq!(object.packable().unwrap().len(), TEXT.len() - 3);

    object.pack(0, |text, len| {
        assert_eq!((text.len(), len), (TEXT.len() - 3, TEXT.len()));
        packed(text.bytes().rev().collect(), Reversed)
    });
    object.pack(0, |_, _| panic!("packed already"));

    assert!(object.raw().is_none() && object.packable().is_none());
    assert_eq!((&*held, &*object.json().unwrap()), (TEXT, TEXT));
}

#[test]
fn a_body_whose_codec_fails_is_an_error() {
    struct Failing;
    impl BodyCodec for Failing {
        fn unpack(&self, bytes: &[u8], read: &mut dyn FnMut(&str)) -> Result<(), CodecError> {
            match bytes {
                [] => Ok(()),
                [0] => Err(CodecError("damaged".to_owned())),
                _ => {
                    read("\u{1}?");
                    Ok(())
                }
            }
        }
    }
    for bytes in [vec![], vec![0], vec![1]] {
        let object = Object::new(&header(), raw("{}")).unwrap();
        object.pack(0, |_, _| packed(bytes.into(), Failing));

        assert!(object.json().is_err());
    }
}

/// The memory of an object whose parts are projected is little more than this structure.
#[test]
fn the_structure_of_an_object_has_nine_words() {
    assert_eq!(size_of::<Object>(), 9 * size_of::<usize>());
}

#[test]
fn the_memory_of_all_objects_follows_making_packing_and_dropping() {
    // Other tests of this process make small objects meanwhile.
    const MIB: usize = 1 << 20;
    struct Zeros;
    impl BodyCodec for Zeros {
        fn unpack(&self, _: &[u8], read: &mut dyn FnMut(&str)) -> Result<(), CodecError> {
            read("0");
            Ok(())
        }
    }
    let before = Object::all_bytes() / MIB;

    let object = Object::new(&header(), raw(&"0".repeat(64 * MIB))).unwrap();
    assert_eq!(Object::all_bytes() / MIB, before + 64);

    object.pack(0, |_, _| packed(vec![0; 16 * MIB].into(), Zeros));
    assert_eq!(Object::all_bytes() / MIB, before + 16);

    drop(object);
    assert_eq!(Object::all_bytes() / MIB, before);
}
