//! References to the header, in the text of a body that is packed.
//!
//! The objects of a collection differ most in the strings of their headers: names, UIDs, times, values of labels. References
//! replace these strings in the body. The `metadata` of all objects then has almost the same text, which compresses well.
//!
//! A reference has two characters: [`REFERENCE`], and the code of the string. A reference to the beginning of the name has a third
//! character.

use std::{borrow::Cow, ops::RangeInclusive};

use crate::{NotJson, Scanner};

/// The first character of a reference. JSON never has this character: a string escapes it, and elsewhere it is an error.
const REFERENCE: char = '\u{1}';

const NAME: char = '0';
const NAMESPACE: char = '1';
const UID: char = '2';
const RESOURCE_VERSION: char = '3';
const CREATED: char = '4';
const DELETED: char = '5';

/// The code of the beginning of the name. The next character gives the number of bytes that the beginning lacks: [`NONE_BEHIND`]
/// stands for 0.
const BEGINNING: char = '6';
const NONE_BEHIND: u8 = b' ';

/// The most bytes that a beginning of the name may lack. The API server adds five bytes to `generateName`.
const MOST_BEHIND: usize = 63;

/// The codes of the owners' names. The code of an owner's UID is the same letter in lower case.
const OWNERS: RangeInclusive<char> = 'A'..='Z';

/// The codes of the labels' values.
const LABELS: RangeInclusive<char> = '\u{20}'..='\u{2f}';

/// The strings of a header that a body can refer to, with their codes.
pub(super) struct References<'a> {
    strings: Vec<(char, Cow<'a, str>)>,
    /// The codes of further labels and owners.
    labels: RangeInclusive<char>,
    owners: RangeInclusive<char>,
}

/// The strings that each header has once; empty if the object has none.
pub(super) struct Strings<'a> {
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
    pub(super) uid: Cow<'a, str>,
    pub(super) resource_version: Cow<'a, str>,
    pub(super) created: Cow<'a, str>,
    pub(super) deleted: Cow<'a, str>,
}

/// A text that is being shortened.
struct Shortening<'a> {
    references: &'a References<'a>,
    from: &'a str,
    /// The text with references, up to `copied` in `from`.
    to: String,
    copied: usize,
}

/// Ends the walk: the `metadata` was read, or the text is no JSON.
struct Stop;

// === impl References ===

impl<'a> References<'a> {
    /// The references to these strings.
    pub(super) fn new(
        Strings { name, namespace, uid, resource_version, created, deleted }: Strings<'a>,
    ) -> Self {
        // Most headers have fewer strings.
        let mut strings = Vec::with_capacity(24);
        strings.extend([
            (NAME, Cow::from(name)),
            (NAMESPACE, namespace.into()),
            (UID, uid),
            (RESOURCE_VERSION, resource_version),
            (CREATED, created),
            (DELETED, deleted),
        ]);
        Self { strings, labels: LABELS, owners: OWNERS }
    }

    /// Adds the value of the next label, if a code is left.
    pub(super) fn add_label(&mut self, value: Cow<'a, str>) {
        self.strings.extend(self.labels.next().map(|code| (code, value)));
    }

    /// Adds the name and the UID of the next owner, if a code is left.
    pub(super) fn add_owner(&mut self, name: Cow<'a, str>, uid: Cow<'a, str>) {
        if let Some(code) = self.owners.next() {
            self.strings.extend([(code, name), (code.to_ascii_lowercase(), uid)]);
        }
    }

    /// Replaces each string of the body's `metadata` that is also in the header. Returns `None` if the text is no JSON because it
    /// has the first character of a reference.
    pub(super) fn shorten(&self, text: &str) -> Option<String> {
        if text.contains(REFERENCE) {
            return None;
        }
        let to = String::with_capacity(text.len());
        let mut shortening = Shortening { references: self, from: text, to, copied: 0 };
        // A text that is no JSON has references only before the error, and is read back the same.
        let _: Result<(), Stop> = Scanner::new(text).object(|scanner, key| match key.text {
            "metadata" => {
                shortening.metadata(scanner)?;
                Err(Stop)
            }
            _ => Ok(scanner.skip().map(drop)?),
        });
        Some(shortening.finish())
    }

    /// Replaces the references by their strings. Returns `None` if there is no string for one of them.
    pub(super) fn expand(&self, text: &str) -> Option<String> {
        let strings: usize = self.strings.iter().map(|(_, string)| string.len()).sum();
        let mut whole = String::with_capacity(text.len() + strings);
        let mut parts = text.split(REFERENCE);
        whole.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let mut rest = part.chars();
            whole.push_str(match rest.next()? {
                BEGINNING => self.beginning(rest.next()?)?,
                code => self.get(code)?,
            });
            whole.push_str(rest.as_str());
        }
        Some(whole)
    }

    /// The name without its last bytes.
    fn beginning(&self, behind: char) -> Option<&str> {
        let behind = u8::try_from(behind).ok()?.checked_sub(NONE_BEHIND)?;
        let name = self.get(NAME)?;
        name.get(..name.len().checked_sub(behind.into())?)
    }

    fn get(&self, code: char) -> Option<&str> {
        self.strings.iter().find(|(known, _)| *known == code).map(|(_, string)| &**string)
    }
}

// === impl Shortening ===

impl Shortening<'_> {
    fn metadata(&mut self, scanner: &mut Scanner<'_>) -> Result<(), NotJson> {
        self.members(scanner, |this, scanner, key| match key {
            "name" => this.string(scanner, NAME),
            "generateName" => this.beginning(scanner),
            "namespace" => this.string(scanner, NAMESPACE),
            "uid" => this.string(scanner, UID),
            "resourceVersion" => this.string(scanner, RESOURCE_VERSION),
            "creationTimestamp" => this.string(scanner, CREATED),
            "deletionTimestamp" => this.string(scanner, DELETED),
            "labels" => this.labels(scanner),
            "ownerReferences" => this.owners(scanner),
            _ => scanner.skip().map(drop),
        })
    }

    fn labels(&mut self, scanner: &mut Scanner<'_>) -> Result<(), NotJson> {
        let mut codes = LABELS;
        self.members(scanner, |this, scanner, _| match codes.next() {
            Some(code) => this.string(scanner, code),
            None => scanner.skip().map(drop),
        })
    }

    fn owners(&mut self, scanner: &mut Scanner<'_>) -> Result<(), NotJson> {
        if scanner.peek() != Some(b'[') {
            return scanner.skip().map(drop);
        }
        let mut codes = OWNERS;
        scanner.array(|scanner| {
            let Some(code) = codes.next() else { return scanner.skip().map(drop) };
            self.members(scanner, |this, scanner, key| match key {
                "name" => this.string(scanner, code),
                "uid" => this.string(scanner, code.to_ascii_lowercase()),
                _ => scanner.skip().map(drop),
            })
        })
    }

    /// Reads the members of an object. A value of another type is skipped.
    fn members(
        &mut self,
        scanner: &mut Scanner<'_>,
        mut member: impl FnMut(&mut Self, &mut Scanner<'_>, &str) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        if scanner.peek() != Some(b'{') {
            return scanner.skip().map(drop);
        }
        scanner.object(|scanner, key| member(self, scanner, key.text))
    }

    /// Reads a value, and refers to the string of this code if the value is the same text.
    fn string(&mut self, scanner: &mut Scanner<'_>, code: char) -> Result<(), NotJson> {
        let known = self.references.get(code);
        self.replace(scanner, code, |value| (known == Some(value)).then_some(None))
    }

    /// Reads a value, and refers to the name if the name begins with the value.
    fn beginning(&mut self, scanner: &mut Scanner<'_>) -> Result<(), NotJson> {
        let name = self.references.get(NAME).unwrap_or_default();
        self.replace(scanner, BEGINNING, |value| {
            let behind = name.strip_prefix(value)?.len();
            let behind = u8::try_from(behind).ok().filter(|_| behind <= MOST_BEHIND)?;
            Some(Some(char::from(NONE_BEHIND + behind)))
        })
    }

    /// Reads a value. If `more` returns `Some`, a reference replaces the value. The inner value is the character behind the code.
    fn replace(
        &mut self,
        scanner: &mut Scanner<'_>,
        code: char,
        more: impl FnOnce(&str) -> Option<Option<char>>,
    ) -> Result<(), NotJson> {
        if scanner.peek() != Some(b'"') {
            return scanner.skip().map(drop);
        }
        let value = scanner.string()?.text;
        let end = scanner.offset() - 1;
        if let Some(more) = Some(value).filter(|value| !value.is_empty()).and_then(more) {
            self.to.push_str(self.from.get(self.copied..end - value.len()).unwrap_or_default());
            self.to.extend([Some(REFERENCE), Some(code), more].into_iter().flatten());
            self.copied = end;
        }
        Ok(())
    }

    /// The text with references, to its end.
    fn finish(mut self) -> String {
        self.to.push_str(self.from.get(self.copied..).unwrap_or_default());
        self.to
    }
}

impl From<NotJson> for Stop {
    fn from(NotJson: NotJson) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{Body, Header, Object, Owner, object::tests};

    const OWNER: &str = "0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d";

    fn header() -> Header<'static> {
        let owner = |name: &'static str, uid: &'static str| Owner {
            kind: "ReplicaSet".into(),
            name: name.into(),
            uid: uid.into(),
            ..Owner::default()
        };
        Header {
            labels: vec![("app".into(), "web".into()), ("tier".into(), "größe".into())],
            owners: vec![owner("web", OWNER), owner("w", "")],
            ..tests::header()
        }
    }

    fn object(header: &Header<'_>) -> Object {
        Object::new(header, Body::Raw("{}".into())).unwrap()
    }

    #[test]
    fn the_metadata_refers_to_the_header_and_the_rest_of_the_text_stays() {
        let object = object(&header());
        let references = object.references();
        let text = json!({"kind": "Pod", "metadata": {
            "annotations": {"name": "web-1", "labels": ["\"web\""]},
            "creationTimestamp": "2026-11-21T02:19:18Z", "deletionTimestamp": null, "generateName": "web-",
            "generation": 42, "labels": {"app": "web", "tier": "größe"}, "name": "web-1", "namespace": "shop",
            "ownerReferences": [
                {"kind": "ReplicaSet", "name": "web", "uid": OWNER},
                {"kind": "ReplicaSet", "name": "w", "uid": ""}
            ],
            "resourceVersion": "42", "uid": "7d0e"
        }, "spec": {"metadata": {"name": "web-1"}}})
        .to_string();

        let short = references.shorten(&text).unwrap();

        assert_eq!(
            short.replace(REFERENCE, "$"),
            json!({"kind": "Pod", "metadata": {
                "annotations": {"name": "web-1", "labels": ["\"web\""]},
                "creationTimestamp": "$4", "deletionTimestamp": null, "generateName": "$6!",
                "generation": 42, "labels": {"app": "$ ", "tier": "$!"}, "name": "$0", "namespace": "$1",
                "ownerReferences": [
                    {"kind": "ReplicaSet", "name": "$A", "uid": "$a"},
                    {"kind": "ReplicaSet", "name": "$B", "uid": ""}
                ],
                "resourceVersion": "$3", "uid": "$2"
            }, "spec": {"metadata": {"name": "web-1"}}})
            .to_string()
        );
        assert_eq!(references.expand(&short).unwrap(), text);
    }

    #[test]
    fn a_string_that_differs_from_the_header_stays() {
        let object = object(&header());
        let references = object.references();
        for text in [
            r#"{"metadata":{"name":"web-2","generateName":"eb-","uid":7,"labels":["web"],"ownerReferences":{"name":"web"}}}"#,
            r#"{"metadata":{"name":"web-\u0031","labels":{"tier":"w"},"ownerReferences":[{"name":"w"},7]}}"#,
            r#"{"metadata":"web-1"}"#,
            r#"{"metadata":null}"#,
            r#"[{"metadata":{"name":"web-1"}}]"#,
            "",
        ] {
            assert_eq!(references.shorten(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn more_labels_and_owners_than_codes_are_left_in_the_text() {
        let labels: Vec<(String, String)> = (0..40).map(|at| (format!("k{at}"), format!("v{at}"))).collect();
        let owners: Vec<Owner<'_>> =
            (0..40).map(|at| Owner { name: format!("o{at}").into(), ..Owner::default() }).collect();
        let members: serde_json::Map<_, _> =
            labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        let names: Vec<_> = owners.iter().map(|owner| json!({"name": owner.name})).collect();
        let text = json!({"metadata": {"labels": members, "ownerReferences": names}}).to_string();
        // The members of a JSON value are sorted.
        let labels = members
            .iter()
            .map(|(key, value)| (key.as_str().into(), value.as_str().unwrap().into()))
            .collect();
        let object = object(&Header { labels, owners, ..header() });
        let references = object.references();

        let short = references.shorten(&text).unwrap();

        assert_eq!(short.matches(REFERENCE).count(), LABELS.count() + OWNERS.count());
        assert_eq!(references.expand(&short).unwrap(), text);
    }

    #[test]
    fn a_text_with_the_character_of_a_reference_is_not_shortened_and_an_unknown_reference_is_an_error() {
        let object = object(&header());
        let references = object.references();

        assert_eq!(references.shorten("{\"metadata\":{\"name\":\"\u{1}0\"}}"), None);
        for text in ["\u{1}", "\u{1}z", "\u{1}\"", "a\u{1}C", "\u{1}6", "\u{1}6~", "\u{1}6\u{1}"] {
            assert!(references.expand(text).is_none(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_back_the_same(
            values in prop::collection::vec("web|web-|web-1|shop|7d0e|42|größe|[a-z\"\\\\{}\\[\\],:]{0,4}", 12),
            end in 0..400_usize,
        ) {
            let object = object(&header());
            let references = object.references();
            let [name, namespace, uid, version, app, tier, owner, second, other, last, key, more] = &values[..] else {
                return Ok(());
            };
            let text = json!({"a": other, "metadata": {
                "name": name, "generateName": more, "namespace": namespace, "uid": uid, "resourceVersion": version,
                "labels": {"app": app, key: tier}, "x": {key: more},
                "ownerReferences": [{"name": owner, "uid": last}, {"name": second}]
            }, "z": {"metadata": {"name": name}}})
            .to_string();
            for text in [text.as_str(), text.get(..end).unwrap_or_default()] {
                prop_assert_eq!(references.expand(&references.shorten(text).unwrap()).unwrap(), text);
            }
        }
    }
}
