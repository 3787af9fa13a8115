//! What a watch keeps of its objects: all of them, or the parts that its plugins declare to read.

use std::fmt;

use informer_types::{Condition, Gvr, IndexPaths, Part, Pointer, identity};

use crate::config::{CLUSTER_PLUGINS, Config, PLUGINS, Subscription, Tenancy, Watch};

/// What a watch keeps of its objects, if its own keys leave that to its plugins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Keeping {
    /// Whole objects, for this reason.
    Whole(Reader),
    /// These parts, besides what identifies an object.
    Parts {
        /// The fewest parts that answer every query of the plugins.
        parts: Vec<Part>,
        /// An object that meets one of these conditions is kept whole.
        whole_if: Vec<Condition>,
    },
}

/// What a plugin sees of the objects of one subscription: the parts that it declares to read, and those that its conditions read.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// `None` means the whole object.
    parts: Option<Vec<Part>>,
    /// An object that meets this condition is seen as a whole.
    whole_if: Option<Condition>,
}

/// Why a watch keeps whole objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// No plugin uses the watch.
    Nobody,
    /// This plugin does not declare what it reads.
    Undeclared(String),
    /// The `when` of this plugin.
    When(String),
    /// `read` of `[tenancy]` names the resource: any Plugin object may read it.
    Tenancy,
    /// The host itself reads the objects: they are Plugin objects that `[tenancy]` accepts.
    Host,
}

// === impl Keeping ===

impl Keeping {
    /// Returns `None` if the watch itself defines what it keeps.
    pub(crate) fn of(watch: &Watch, config: &Config) -> Option<Self> {
        watch.keeps_by_default().then(|| Self::by_plugins(watch, config).unwrap_or_else(Self::Whole))
    }

    fn by_plugins(watch: &Watch, config: &Config) -> Result<Self, Reader> {
        let tenancy = config.tenancy.as_ref();
        if tenancy.is_some_and(|tenancy| tenancy.read.namespaces(&watch.gvr).is_some()) {
            return Err(Reader::Tenancy);
        }
        // If the watch has no selectors, the host follows the objects through the same informer.
        if tenancy.is_some_and(|tenancy| are_followed(&watch.gvr, tenancy)) {
            return Err(Reader::Host);
        }
        let (mut parts, mut whole_if, mut readers) = (Vec::new(), Vec::new(), 0);
        for plugin in &config.plugins {
            let on = plugin.subscriptions.iter().find(|on| on.watch == watch.gvr);
            if on.is_none() && !plugin.may_read(&watch.gvr) {
                continue;
            }
            let undeclared = || Reader::Undeclared(plugin.name.clone());
            let reads = on.and_then(|on| Some((on, on.reads.parts()?)));
            let (on, reads) = reads.ok_or_else(undeclared)?;
            parts.extend(reads.iter().cloned());
            parts.extend(conditions(on).ok_or_else(|| Reader::When(plugin.name.clone()))?);
            whole_if.extend(on.whole_if.clone().map(Condition::new));
            readers += 1;
        }
        if readers == 0 {
            return Err(Reader::Nobody);
        }
        let indexes = watch.indexes.values().flat_map(IndexPaths::iter);
        parts.extend(indexes.map(|path| Part::from(path.first().clone())));
        whole_if.dedup();
        Ok(Self::Parts { parts: Part::union(parts), whole_if })
    }

    /// What the informer keeps of every object and which objects it keeps whole, for `keep` and `whole_if` of its configuration.
    pub(crate) fn into_config(self) -> (Vec<Part>, Vec<Condition>) {
        match self {
            Self::Whole(_) => (Vec::new(), Vec::new()),
            // An empty list would mean everything.
            Self::Parts { parts, whole_if } => (Part::union(identity().chain(parts)), whole_if),
        }
    }
}

// === impl View ===

impl View {
    pub(crate) fn of(on: &Subscription) -> Self {
        let declared = on.reads.parts().zip(conditions(on));
        let parts = declared.map(|(reads, conditions)| reads.iter().cloned().chain(conditions).collect());
        Self { parts, whole_if: on.whole_if.clone().map(Condition::new) }
    }

    /// Returns true if the plugin sees no difference between two texts of the same version of an object, of which two caches may
    /// have kept different parts. A text that cannot be read differs from every other text. A condition for whole objects that reads
    /// what is not kept may hold for more objects, so a difference may be seen that the plugin does not read.
    pub(crate) fn is_same(&self, before: &str, after: &str) -> bool {
        let is_whole = || self.whole_if.as_ref().is_some_and(|condition| condition.holds(after));
        match &self.parts {
            _ if before == after => true,
            Some(parts) if !is_whole() => Part::differ(parts, before, after).is_ok_and(|differs| !differs),
            _ => false,
        }
    }
}

/// Returns true if the objects of this resource are Plugin objects that `[tenancy]` accepts.
fn are_followed(gvr: &Gvr, tenancy: &Tenancy) -> bool {
    let resource = gvr.to_string();
    (resource == PLUGINS && !tenancy.namespaces.is_empty())
        || (resource == CLUSTER_PLUGINS && tenancy.cluster_plugins)
}

/// What the host itself reads for the conditions of a subscription. Returns `None` if that is the whole object.
fn conditions(on: &Subscription) -> Option<Vec<Part>> {
    let filter = &on.filter;
    let when = filter.when.as_ref().map_or_else(|| Some(Vec::new()), |when| when.reads())?;
    let digests = on.reads.parts().into_iter().flatten().filter(|part| part.digest().is_some());
    let digests: Vec<&Pointer> = digests.map(Part::pointer).collect();
    // A digest is enough to see a change.
    let changed = filter.changed.pointers.iter().filter(|pointer| !digests.contains(pointer)).cloned();
    let annotations = filter.annotations.pointers().iter().cloned();
    Some(
        when.into_iter()
            .chain(changed)
            .chain(annotations)
            .chain(filter.fields.pointers())
            .map(Part::from)
            .collect(),
    )
}

impl fmt::Display for Keeping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(reader) => write!(f, "keeps whole objects: {reader}"),
            Self::Parts { parts, whole_if } => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                let what =
                    if parts.is_empty() { "what identifies an object".to_owned() } else { parts.join(", ") };
                write!(f, "keeps {what}, which is all that its plugins read")?;
                let mut conditions = whole_if.iter().map(Condition::text);
                conditions.try_for_each(|condition| write!(f, "; keeps an object whole if {condition}"))
            }
        }
    }
}

// === impl Reader ===

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str("no plugin uses the watch"),
            Self::Undeclared(plugin) => {
                write!(
                    f,
                    "`{plugin}` does not declare what it reads, neither in `reads` of [[plugin.on]] nor in its component"
                )
            }
            Self::When(plugin) => write!(f, "`when` of `{plugin}` reads the whole object"),
            Self::Tenancy => f.write_str("`read` of [tenancy] names the resource"),
            Self::Host => f.write_str("the host reads the Plugin objects that [tenancy] accepts"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{self, Components, Environment, Place};

    fn parsed(text: &str) -> Config {
        let environment = Environment { home: None, cache_dir: None, state_dir: None };
        let place = Place { file: Path::new("f"), base: Path::new("/"), environment: &environment };
        config::parse(text, &place, Components::Unseen).unwrap()
    }

    /// What the watch of pods keeps, with these lines of its own, if these are the subscriptions, one plugin each. A line that
    /// begins with `+` is a plugin that may list pods and does not subscribe to them.
    fn keeping(own: &str, subscriptions: &[&str]) -> Option<String> {
        let mut text = format!("[[watch]]\ngvr = \"v1/pods\"\n{own}\n[[watch]]\ngvr = \"v1/nodes\"\n");
        for (index, on) in subscriptions.iter().enumerate() {
            let on = match on.strip_prefix('+') {
                Some(_) => "[plugin.grant]\nread = [\"v1/pods\"]".to_owned(),
                None => format!("[[plugin.on]]\nwatch = \"v1/pods\"\n{on}"),
            };
            text.push_str(&format!(
                "[[plugin]]\nname = \"p{index}\"\nsource = \"p\"\n[[plugin.on]]\nwatch = \"v1/nodes\"\n{on}\n"
            ));
        }
        let config = parsed(&text);
        Keeping::of(&config.watches[0], &config).map(|keeping| keeping.to_string())
    }

    fn parts(own: &str, subscriptions: &[&str]) -> String {
        let text = keeping(own, subscriptions).unwrap();
        let parts = text.strip_prefix("keeps ").and_then(|text| text.split_once(", which is all"));
        parts.unwrap_or_else(|| panic!("{text}")).0.to_owned()
    }

    #[test]
    fn a_watch_keeps_what_its_plugins_and_their_conditions_read() {
        assert_eq!(
            parts("", &["reads = [\"/spec/a\"]", "reads = [\"/spec/b\", \"sha256:/data\"]"]),
            "/spec/a, /spec/b, sha256:/data"
        );
        assert_eq!(parts("", &["reads = []"]), "what identifies an object");
        let conditions = "reads = []\nwhen = \"object.spec.x > 1\"\nfields = \"spec.y=1\"\nchanged = [\"/spec/z\"]\n\
                          annotations = \"a\"";
        assert_eq!(parts("", &[conditions]), "/metadata/annotations/a, /spec/x, /spec/y, /spec/z");
        assert_eq!(parts("index = { by = \"/spec/l/*/n\" }", &["reads = []"]), "/spec/l");
        assert_eq!(parts("", &["reads = [\"sha256:/data\"]\nchanged = [\"/data\"]"]), "sha256:/data");
        assert_eq!(parts("", &["reads = [\"sha256:/data\"]", "reads = []\nchanged = [\"/data\"]"]), "/data");
    }

    #[test]
    fn a_plugin_sees_only_the_parts_that_it_or_its_conditions_read() {
        let on = |lines: &str| {
            let text = format!(
                "[[watch]]\ngvr = \"v1/pods\"\n[[plugin]]\nname = \"p\"\nsource = \"p\"\n[[plugin.on]]\n\
                 watch = \"v1/pods\"\n{lines}"
            );
            View::of(&parsed(&text).plugins[0].subscriptions[0])
        };
        let (less, more) = (r#"{"spec":{"a":1}}"#, r#"{"spec":{"a":1},"status":{"b":2}}"#);
        let is_same = |lines: &str| on(lines).is_same(less, more);

        assert!(is_same("reads = [\"/spec/a\"]"));
        assert!(is_same("reads = []"));
        assert!(is_same("reads = [\"sha256:/spec\"]\nwhole-if = \"object.spec.a > 1\""));
        assert!(on("").is_same(less, less));
        for lines in [
            "",
            "reads = [\"/spec/a\", \"/status/b\"]",
            "reads = []\nchanged = [\"/status\"]",
            "reads = []\nwhen = \"object.status.b == 2\"",
            "reads = []\nwhole-if = \"object.spec.a > 0\"",
        ] {
            assert!(!is_same(lines), "{lines}");
        }
        assert!(!on("reads = [\"/spec/a\"]").is_same("{", less), "a text that is no JSON");
        let digest = informer_types::stand_in(informer_types::DigestForm::Sha256, r#"{"a":1}"#);
        assert!(
            on("reads = [\"sha256:/spec\"]").is_same(less, &format!(r#"{{"spec":{digest}}}"#)),
            "another plugin reads the value of the digest"
        );
    }

    #[test]
    fn a_watch_is_kept_whole_if_one_plugin_does_not_say_what_it_reads() {
        let reads = "reads = [\"/spec/a\"]";

        assert_eq!(
            keeping("", &[reads, ""]).unwrap(),
            "keeps whole objects: `p1` does not declare what it reads, neither in `reads` of [[plugin.on]] nor in its component"
        );
        assert!(keeping("", &[reads, "reads = \"all\""]).unwrap().contains("`p1` does not declare"));
        assert!(keeping("", &[reads, "+"]).unwrap().contains("`p1` does not declare"));
        assert_eq!(
            keeping("", &["reads = []\nwhen = \"object == null || size(object) > 2\""]).unwrap(),
            "keeps whole objects: `when` of `p0` reads the whole object"
        );
        assert_eq!(keeping("", &[]).unwrap(), "keeps whole objects: no plugin uses the watch");
    }

    #[test]
    fn a_watch_that_says_itself_what_it_keeps_is_left_as_it_is() {
        for own in ["keep = [\"/spec\"]", "drop = [\"/status\"]", "drop = []", "metadata-only = true"] {
            assert_eq!(keeping(own, &["reads = [\"/metadata/labels\"]"]), None, "{own}");
        }
    }

    #[test]
    fn plugin_objects_that_the_host_follows_are_kept_whole() {
        let keeping = |tenancy: &str| {
            let config = parsed(&format!(
                "[[watch]]\ngvr = \"{CLUSTER_PLUGINS}\"\n[[watch]]\ngvr = \"v1/configmaps\"\n\
                 [[plugin]]\nname = \"p\"\nsource = \"p\"\n[[plugin.on]]\nwatch = \"{CLUSTER_PLUGINS}\"\n\
                 reads = []\n{tenancy}"
            ));
            Keeping::of(&config.watches[0], &config).unwrap()
        };
        let accepting = |objects: &str| {
            format!("[tenancy]\n{objects}\nread = [\"v1/configmaps\"]\nregistries = [\"ghcr.io/acme/*\"]\n")
        };

        assert!(matches!(keeping(""), Keeping::Parts { .. }));
        assert!(matches!(keeping(&accepting("namespaces = [\"shop\"]")), Keeping::Parts { .. }));
        let both = accepting("namespaces = [\"shop\"]\ncluster-plugins = true");
        assert_eq!(
            keeping(&both).to_string(),
            "keeps whole objects: the host reads the Plugin objects that [tenancy] accepts"
        );
    }

    #[test]
    fn objects_that_meet_a_condition_are_kept_whole() {
        let text = keeping("", &["reads = []\nwhole-if = \"has(object.metadata.annotations)\""]).unwrap();

        assert!(text.ends_with("; keeps an object whole if has(object.metadata.annotations)"), "{text}");
    }
}
