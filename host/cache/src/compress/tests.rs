use informer_types::{Header, Object};
use proptest::prelude::*;

use super::*;

fn text(number: usize) -> String {
    let image = format!("registry.example.com/team/app-{}:v1.{number}", number % 7);
    format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"web-{number}","namespace":"shop","uid":"{}"}},"spec":{{"containers":[{{"name":"web","image":"{image}","ports":[{{"containerPort":8080,"protocol":"TCP"}}],"resources":{{"limits":{{"cpu":"500m","memory":"128Mi"}}}},"terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent"}}],"restartPolicy":"Always"}}}}"#,
        number * 7_919
    )
}

fn trained() -> Packer {
    let packer = Packer::default();
    for number in 0..SAMPLES {
        assert!(packer.take_samples().is_none());
        assert!(matches!(packer.pack(text(number).into()), Body::Raw(_)));
    }
    let samples = packer.take_samples().unwrap();
    assert!(packer.take_samples().is_none());
    packer.train(&samples);
    packer
}

fn object(packer: &Packer, text: &str) -> Object {
    Object::new(&Header::default(), packer.pack(text.into())).unwrap()
}

#[test]
fn after_the_first_objects_the_others_are_packed_and_read_back_the_same() {
    let packer = trained();

    for number in 1_000..1_100 {
        let text = text(number);
        let packed = object(&packer, &text);

        assert_eq!(packed.json().unwrap(), text);
        assert!(packed.memory_bytes() < size_of::<Object>() + text.len() / 3, "{}", packed.memory_bytes());
    }
}

#[test]
fn what_is_short_or_does_not_shrink_stays_as_it_came() {
    let packer = trained();
    let noise: String = (0..2_000).map(|_| fastrand::char('\0'..='\u{7f}')).collect();

    assert!(matches!(packer.pack("{}".into()), Body::Raw(_)));
    assert!(matches!(packer.pack(noise.into()), Body::Raw(_)));
}

#[test]
fn samples_that_teach_nothing_leave_everything_as_it_came() {
    let packer = Packer::default();
    (0..SAMPLES).for_each(|_| drop(packer.pack("".into())));

    packer.train(&packer.take_samples().unwrap());

    assert!(matches!(packer.pack(text(1).into()), Body::Raw(_)));
}

#[test]
fn bytes_that_are_not_the_codecs_own_are_an_error() {
    let packer = trained();
    let Body::Packed { codec, bytes, text_len } = packer.pack(text(1).into()) else {
        panic!("not packed");
    };

    assert!(codec.unpack(b"nonsense", 100).is_err());
    assert!(codec.unpack(&bytes, 10).is_err());
    assert!(codec.unpack(&bytes, text_len as usize).is_ok());
}

proptest! {
    #[test]
    fn any_text_is_read_back_the_same(words in prop::collection::vec("[a-zä\"{}]{0,12}", 0..200)) {
        static PACKER: std::sync::LazyLock<Packer> = std::sync::LazyLock::new(trained);
        let text = words.concat();

        let object = object(&PACKER, &text);

        prop_assert_eq!(object.json().unwrap(), text);
    }
}
