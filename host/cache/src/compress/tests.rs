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

fn object(text: &str) -> Arc<Object> {
    Arc::new(Object::new(&Header::default(), Body::Raw(text.into())).unwrap())
}

/// A packer with a dictionary that was trained on objects that are gone.
fn trained() -> Packer {
    let packer = Packer::default();
    let mut first = Vec::new();
    for number in 0..SAMPLES {
        assert!(packer.take_samples().is_none());
        first.push(object(&text(number)));
        packer.admit(first.last().unwrap(), false);
    }
    let samples = packer.take_samples().unwrap();
    assert!(packer.take_samples().is_none());
    packer.train(&samples);
    packer
}

/// Registers an object and then enough others to compress it.
fn overtaken(packer: &Packer, text: &str) -> Arc<Object> {
    let object = object(text);
    packer.admit(&object, false);
    overtake(packer);
    object
}

fn overtake(packer: &Packer) {
    for number in 0..4 {
        packer.admit(&object(&format!("{number}{}", "x".repeat(RECENT_BYTES / 4))), false);
    }
    packer.pack();
}

#[test]
fn an_object_is_compressed_once_it_is_not_recent_and_reads_the_same() {
    let packer = trained();

    for number in 1_000..1_010 {
        let text = text(number);
        let object = object(&text);
        packer.admit(&object, false);
        assert_eq!(object.raw().as_deref(), Some(&*text));

        overtake(&packer);

        assert!(object.raw().is_none());
        assert_eq!(&*object.json().unwrap(), text);
        assert!(object.memory_bytes() < size_of::<Object>() + text.len() / 3, "{}", object.memory_bytes());
    }
}

fn raw_bytes(objects: &[Arc<Object>]) -> usize {
    objects.iter().filter(|object| object.raw().is_some()).map(|object| object.memory_bytes()).sum()
}

#[test]
fn a_batch_is_compressed_by_one_thread_at_a_time() {
    let packer = Arc::new(trained());
    assert!(packer.begin().is_none(), "nothing is overdue");
    let objects: Vec<_> = (0..3_000).map(|number| object(&text(number))).collect();
    objects.iter().for_each(|object| packer.admit(object, false));
    assert!(raw_bytes(&objects) > RECENT_BYTES + BATCH_BYTES);

    let packing = packer.begin().unwrap();
    assert!(packer.begin().is_none());
    packing.run();

    assert!(raw_bytes(&objects) <= RECENT_BYTES);
    assert!(packer.begin().is_none(), "nothing is overdue");
    objects.iter().for_each(|object| packer.admit(object, false));
    // A thread that never began, or that panicked, is not waited for.
    drop(packer.begin().unwrap());
    assert!(packer.begin().is_some());
}

#[test]
fn the_overdue_bytes_are_bounded_and_none_are_overdue_while_memory_is_tight() {
    let packer = trained();
    let objects: Vec<_> = (0..8_000).map(|number| object(&text(number))).collect();

    objects.iter().for_each(|object| packer.admit(object, false));
    assert!(raw_bytes(&objects) > OVERDUE_BYTES);
    assert!(raw_bytes(&objects) <= RECENT_BYTES + OVERDUE_BYTES);

    packer.admit(&object(&text(1)), true);
    assert!(raw_bytes(&objects) <= RECENT_BYTES);
}

/// Secrets have random bytes as base64: three quarters of the text.
#[test]
fn base64_of_random_bytes_takes_hardly_more_than_the_bytes() {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut random = fastrand::Rng::with_seed(7);
    let mut secret = |number: usize| {
        let value: String = (0..4_000).map(|_| char::from(ALPHABET[random.usize(..64)])).collect();
        format!(r#"{{"kind":"Secret","metadata":{{"name":"s-{number}"}},"data":{{"key":"{value}"}}}}"#)
    };
    let packer = Packer::default();
    let objects: Vec<_> = (0..1_000).map(|number| object(&secret(number))).collect();
    objects.iter().for_each(|object| packer.admit(object, false));
    packer.train(&packer.take_samples().unwrap());

    let first = objects.first().unwrap();

    assert!(first.raw().is_none());
    let bytes = first.memory_bytes() - size_of::<Object>();
    assert!(bytes < 3_000 + 100, "{bytes} bytes for a value of 3,000");
}

#[test]
fn objects_from_before_the_dictionary_are_compressed_too() {
    let packer = Packer::default();
    let objects: Vec<_> = (0..2_000).map(|number| object(&text(number))).collect();
    objects.iter().for_each(|object| packer.admit(object, false));

    packer.train(&packer.take_samples().unwrap());

    assert!(raw_bytes(&objects) <= RECENT_BYTES);
    assert!(objects.first().unwrap().raw().is_none());
}

/// When memory becomes tight, the whole cache is registered at once. Training copies its samples.
#[test]
fn the_samples_of_a_large_cache_are_bounded() {
    let packer = Packer::default();
    let each = 64 << 10;
    let objects: Vec<_> = (0..200).map(|_| object(&"x".repeat(each))).collect();
    objects.iter().for_each(|object| packer.admit(object, true));
    assert!(objects.len() * each > 3 * MAX_SAMPLE_BYTES);

    let samples = packer.take_samples().unwrap();

    let bytes: usize = samples.iter().map(|object| object.memory_bytes()).sum();
    assert!((MAX_SAMPLE_BYTES..MAX_SAMPLE_BYTES + 2 * each).contains(&bytes), "{bytes}");
    assert!(Arc::ptr_eq(&samples[0], &objects[0]));
}

/// The first objects of a watch may be larger than all samples together.
#[test]
fn a_dictionary_is_trained_although_the_first_objects_are_large() {
    let packer = Packer::default();
    let large = (0..3).map(|number| object(&format!("{number}{}", "x".repeat(MAX_SAMPLE_BYTES / 2))));
    let objects: Vec<_> = large.chain((0..20).map(|number| object(&text(number)))).collect();
    for object in &objects[..FEWEST_SAMPLES - 1] {
        packer.admit(object, false);
        assert!(packer.take_samples().is_none());
    }
    objects[FEWEST_SAMPLES - 1..].iter().for_each(|object| packer.admit(object, false));

    let samples = packer.take_samples().unwrap();
    packer.train(&samples);

    assert_eq!(samples.len(), FEWEST_SAMPLES);
    assert!(matches!(*packer.state.lock(), State::Ready(..)));
}

#[test]
fn many_states_of_a_few_objects_are_not_enough_samples() {
    let packer = Packer::default();
    let mut few: Vec<_> = (0..100).map(|number| object(&text(number))).collect();
    for round in 0..50 {
        for (number, held) in few.iter_mut().enumerate() {
            *held = object(&text(number + round));
            packer.admit(held, false);
            assert!(packer.take_samples().is_none());
        }
    }
    assert!(packer.recent.lock().objects.len() <= SAMPLES);

    let many: Vec<_> = (0..SAMPLES).map(|number| object(&text(number))).collect();
    many.iter().for_each(|object| packer.admit(object, false));
    assert!(packer.take_samples().is_some());
}

#[test]
fn short_texts_and_texts_that_do_not_shrink_stay_uncompressed() {
    let packer = trained();
    let mut random = fastrand::Rng::with_seed(7);
    let noise: String = (0..2_000).map(|_| random.char('\0'..='\u{7f}')).collect();

    assert!(overtaken(&packer, "{}").raw().is_some());
    assert!(overtaken(&packer, &noise).raw().is_some());
}

#[test]
fn without_a_dictionary_all_objects_stay_uncompressed() {
    let packer = Packer::default();
    let empty: Vec<_> = (0..SAMPLES).map(|_| object("")).collect();
    empty.iter().for_each(|object| packer.admit(object, false));

    packer.train(&packer.take_samples().unwrap());

    assert!(overtaken(&packer, &text(1)).raw().is_some());
    assert_eq!(packer.recent.lock().objects.len(), 0);
}

#[tokio::test]
async fn a_training_that_panics_leaves_objects_uncompressed_and_tracks_none_of_them() {
    let packer = Arc::new(Packer::default());
    let objects: Vec<_> = (0..SAMPLES).map(|number| object(&text(number))).collect();
    objects.iter().for_each(|object| packer.admit(object, false));

    packer.learn_with(|_, _| panic!("a bug")).await;

    assert!(overtaken(&packer, &text(1)).raw().is_some());
    assert_eq!(packer.recent.lock().objects.len(), 0);
}

#[test]
fn unpacking_foreign_bytes_is_an_error() {
    let samples: Vec<String> = (0..SAMPLES).map(text).collect();
    let dictionary = Dictionary::train(&samples).unwrap();
    let text = text(1);
    let Some(Body::Packed { codec, bytes }) = packed(&text, text.len(), &dictionary) else {
        panic!("not packed");
    };
    let half = &bytes[..bytes.len() / 2];
    let mut read = Vec::new();

    for foreign in [b"nonsense", &[][..], half] {
        assert!(codec.unpack(foreign, &mut |text| read.push(text.to_owned())).is_err());
    }
    assert_eq!(read.len(), 0);
    codec.unpack(&bytes, &mut |text| read.push(text.to_owned())).unwrap();
    assert_eq!(read, [text]);
}

proptest! {
    #[test]
    fn any_text_is_read_back_the_same(words in prop::collection::vec("[a-zä\"{}]{0,12}", 0..200)) {
        static PACKER: std::sync::LazyLock<Packer> = std::sync::LazyLock::new(trained);
        let text = words.concat();

        prop_assert_eq!(&*overtaken(&PACKER, &text).json().unwrap(), text);
    }
}

#[test]
fn the_oldest_object_is_returned_first_and_dead_ones_are_skipped() {
    let object = || object(&"x".repeat(1_000));
    let (first, dead, second, third) = (object(), object(), object(), object());
    let mut recent = Recent::default();
    for object in [&first, &dead, &second, &third] {
        recent.push(object);
    }
    let each = first.memory_bytes();

    drop(dead);

    assert!(recent.pop_beyond(4 * each).is_none());
    assert!(Arc::ptr_eq(&recent.pop_beyond(each).unwrap(), &first));
    assert_eq!(recent.alive().count(), 2);
    assert!(Arc::ptr_eq(&recent.pop_beyond(each).unwrap(), &second));
    assert!(recent.pop_beyond(each).is_none());
    assert_eq!((recent.objects.len(), recent.bytes), (1, each));
    drop(third);
    recent.forget_dead();
    assert_eq!((recent.objects.len(), recent.bytes), (0, 0));
}

#[test]
#[ignore = "needs valgrind"]
fn a_body_is_packed_and_read_within_its_instructions() {
    let packer = trained();
    let dictionary = packer.dictionary().unwrap();
    let text = text(1_000);
    const TEST: &str = "compress::tests::a_body_is_packed_and_read_within_its_instructions";

    for _ in 0..informer_instructions::rounds(TEST, 1_000, 62_500) {
        let object = object(&text);
        object.pack(MIN_BODY, |text, len| packed(text, len, &dictionary));
        assert_eq!(object.json().unwrap().len(), text.len());
    }
}
