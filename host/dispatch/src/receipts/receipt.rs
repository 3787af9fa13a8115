//! Identity and version of one object in a few bytes.

use std::{borrow::Cow, fmt, sync::Arc};

use informer_types::{Object, Uid};
use uuid::Uuid;

use crate::{dead_letter::last_known, entry::ObjectRef};

/// The first byte of a receipt whose UID is a UUID and whose version is a number: 16 bytes and the digits of the number in base 256
/// follow.
const PACKED: u8 = 0;

/// The first byte of any other receipt: the length of the UID in two bytes, the UID and the version follow.
const PLAIN: u8 = 1;

/// The first byte of a receipt that is not acknowledged: the bytes of the receipt of its state follow.
const BEGUN: u8 = 2;

/// The most bytes of a UID and of a version. Those of Kubernetes have 36 and at most 20.
const MAX_TEXT: usize = 512;

/// The UID and the resource version of one state of an object, as they are kept on disk. Two receipts are equal if they are those of
/// the same state, and both are acknowledged or neither is.
#[derive(Clone, PartialEq, Eq)]
pub struct Receipt(Box<[u8]>);

/// The contents of a receipt.
enum Parts<'a> {
    Packed(Uuid, Option<u64>),
    Plain(&'a str, &'a str),
}

// === impl Receipt ===

impl Receipt {
    /// The receipt of this state. Returns `None` if it has no version, or if the UID or the version has more than 512 bytes: no
    /// Kubernetes API server sends such a state.
    pub fn of(object: &Object) -> Option<Self> {
        let version = object.resource_version();
        Self::new(object.uid(), version).filter(|_| !version.is_empty())
    }

    /// Reads a receipt from disk. Returns `None` if the bytes are those of no receipt, for example of a newer version of the host.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let receipt = Self(bytes.into());
        receipt.parts().is_some().then_some(receipt)
    }

    /// The bytes on disk.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The UID of the object.
    pub fn uid(&self) -> String {
        match self.parts() {
            Some(Parts::Packed(uid, _)) => uid.hyphenated().to_string(),
            Some(Parts::Plain(uid, _)) => uid.to_owned(),
            None => String::new(),
        }
    }

    /// The resource version of the state; empty if the object is to be delivered again whatever its version is.
    pub fn resource_version(&self) -> String {
        match self.parts() {
            Some(Parts::Packed(_, Some(version))) => version.to_string(),
            Some(Parts::Plain(_, version)) => version.to_owned(),
            Some(Parts::Packed(_, None)) | None => String::new(),
        }
    }

    /// Returns true if this is the receipt of any state of this object.
    pub fn is_of(&self, object: &Object) -> bool {
        match self.parts() {
            Some(Parts::Packed(uid, _)) => object.uid() == Uid::Uuid(uid),
            Some(Parts::Plain(uid, _)) => object.uid() == uid,
            None => false,
        }
    }

    /// A receipt of the same object that matches none of its states.
    #[must_use]
    pub fn stale(&self) -> Self {
        match self.parts() {
            Some(Parts::Packed(uid, _)) => Self::packed(uid, None),
            Some(Parts::Plain(uid, _)) => Self::plain(uid, ""),
            None => self.clone(),
        }
    }

    /// A receipt of the same state that the plugin may know and has not acknowledged. It is equal to the receipt of no state.
    #[must_use]
    pub fn begun(&self) -> Self {
        Self(std::iter::once(BEGUN).chain(self.0.iter().copied()).collect())
    }

    /// The object with its key, its UID and its version only. Everything else is absent.
    pub fn last_known(&self, object: &ObjectRef) -> Option<Arc<Object>> {
        last_known(object, &self.uid(), &self.resource_version(), &[])
    }

    fn new(uid: Uid<'_>, version: &str) -> Option<Self> {
        if uid.len() > MAX_TEXT || version.len() > MAX_TEXT {
            return None;
        }
        Some(match (uid, number(version)) {
            (Uid::Uuid(uid), Some(version)) => Self::packed(uid, version),
            (uid, _) => Self::plain(&Cow::from(uid), version),
        })
    }

    fn packed(uid: Uuid, version: Option<u64>) -> Self {
        let version = version.map(u64::to_be_bytes).unwrap_or_default();
        let zeros = version.iter().take_while(|byte| **byte == 0).count();
        let digits = version.iter().skip(zeros).copied();
        Self(std::iter::once(PACKED).chain(*uid.as_bytes()).chain(digits).collect())
    }

    fn plain(uid: &str, version: &str) -> Self {
        // At most `MAX_TEXT`.
        let len = u16::try_from(uid.len()).unwrap_or_default().to_be_bytes();
        Self(std::iter::once(PLAIN).chain(len).chain(uid.bytes()).chain(version.bytes()).collect())
    }

    fn parts(&self) -> Option<Parts<'_>> {
        let (tag, rest) = self.0.strip_prefix(&[BEGUN]).unwrap_or(&self.0).split_first()?;
        match *tag {
            PACKED => {
                let (uid, digits) = rest.split_first_chunk::<16>()?;
                let version = digits.iter().fold(0, |number: u64, digit| number << 8 | u64::from(*digit));
                let fits = digits.len() <= 8 && digits.first() != Some(&0);
                fits.then(|| {
                    Parts::Packed(Uuid::from_bytes(*uid), Some(version).filter(|version| *version > 0))
                })
            }
            PLAIN => {
                let (len, texts) = rest.split_first_chunk::<2>()?;
                let (uid, version) = texts.split_at_checked(u16::from_be_bytes(*len).into())?;
                Some(Parts::Plain(std::str::from_utf8(uid).ok()?, std::str::from_utf8(version).ok()?))
            }
            _ => None,
        }
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receipt(rv={} uid={})", self.resource_version(), self.uid())
    }
}

/// Returns the number if it is above zero and `text` is its canonical form, and `Some(None)` for the empty text.
#[expect(clippy::option_option, reason = "the empty text is a version, too")]
fn number(text: &str) -> Option<Option<u64>> {
    if text.is_empty() {
        return Some(None);
    }
    let exact = !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| exact).map(Some)
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Header, ObjectKey, Source};

    use super::*;

    const UID: &str = "0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d";

    fn receipt(uid: &str, version: &str) -> Receipt {
        Receipt::new(Uid::of(uid), version).unwrap()
    }

    #[test]
    fn a_receipt_of_kubernetes_has_a_few_bytes_and_loses_nothing() {
        let one = receipt(UID, "70123456");

        assert_eq!((one.uid(), one.resource_version()), (UID.to_owned(), "70123456".to_owned()));
        assert_eq!(one.bytes().len(), 1 + 16 + 4);
        assert_eq!(Receipt::read(one.bytes()), Some(one));
    }

    #[test]
    fn texts_of_any_form_are_kept_as_they_are() {
        let (upper, huge) = (UID.to_uppercase(), u64::MAX.to_string() + "0");
        let uids = ["", "u", UID, &upper, "é"];
        for uid in uids {
            for version in ["", "0", "007", "+7", "7", &u64::MAX.to_string(), &huge, "abc"] {
                let one = receipt(uid, version);
                assert_eq!((one.uid(), one.resource_version()), (uid.to_owned(), version.to_owned()));
                assert_eq!(Receipt::read(one.bytes()), Some(one));
            }
        }
    }

    #[test]
    fn a_stale_receipt_is_of_the_same_object_and_of_none_of_its_states() {
        for uid in [UID, "u"] {
            let header = Header { uid: uid.into(), resource_version: "7".into(), ..Header::default() };
            let object = Object::new(&header, Body::Raw("{}".into())).unwrap();
            let one = receipt(uid, "7");

            assert_eq!(Receipt::of(&object), Some(one.clone()));
            assert!(one.is_of(&object) && one.stale().is_of(&object) && receipt(uid, "x").is_of(&object));
            assert_ne!(one.stale(), one);
            assert!(!receipt("other", "7").is_of(&object));
        }
    }

    #[test]
    fn a_receipt_of_a_call_that_began_has_its_state_and_is_equal_to_none() {
        for (uid, version) in [(UID, "7"), ("u", "x")] {
            let (one, begun) = (receipt(uid, version), receipt(uid, version).begun());

            assert_eq!((begun.uid(), begun.resource_version()), (uid.to_owned(), version.to_owned()));
            assert_eq!(Receipt::read(begun.bytes()), Some(begun.clone()));
            assert_ne!(begun, one);
            assert_eq!(begun.stale(), one.stale());
        }
    }

    #[test]
    fn bytes_of_no_receipt_are_refused() {
        let short = &receipt(UID, "7").bytes()[..9].to_vec();
        let zero = [receipt(UID, "").bytes(), &[0, 7]].concat();
        let twice = receipt(UID, "7").begun().begun().bytes().to_vec();
        let odd = [&[][..], &[3, 0], &[BEGUN, 0], &[PLAIN, 0], &[PLAIN, 0, 9, 1], &[PLAIN, 0, 1, 0xff]];
        for bytes in odd.into_iter().chain([&short[..], &zero[..], &twice[..]]) {
            assert_eq!(Receipt::read(bytes), None, "{bytes:?}");
        }
        assert_eq!(Receipt::new(Uid::of(&"u".repeat(MAX_TEXT + 1)), "7"), None);
    }

    #[test]
    fn an_object_that_is_gone_has_only_its_key_its_uid_and_its_version() {
        let source = Source::new("apps/v1/deployments".parse().unwrap());
        let object = ObjectRef { source, key: ObjectKey::new("shop", "web") };

        let known = receipt(UID, "7").last_known(&object).unwrap();

        assert_eq!((known.key(), known.uid(), known.resource_version()), (object.key, Uid::of(UID), "7"));
        let json: serde_json::Value = serde_json::from_str(&known.json().unwrap()).unwrap();
        let metadata = serde_json::json!({
            "namespace": "shop", "name": "web", "uid": UID, "resourceVersion": "7", "labels": {},
        });
        assert_eq!(json, serde_json::json!({"apiVersion": "apps/v1", "metadata": metadata}));
    }
}
