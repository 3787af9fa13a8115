//! Decides which Plugin objects run: the quotas admit the oldest objects, and then the spec of each admitted object is judged.

use std::{collections::BTreeMap, collections::HashMap, sync::Arc};

use informer_types::{Gvr, Object};
use serde_json::Value;

use super::judged::{Candidate, Judged, Verdict};
use crate::config::{Config, Plugin, PluginObject, Refused, Tenancy, host_name};

/// A larger object is refused before it is read. A spec has 256 KiB at most, and the rest is metadata.
const OBJECT_BYTES: usize = 1 << 20;

/// The specs that were accepted last, by the uid of their object.
pub(super) type Specs = HashMap<Arc<str>, Accepted>;

/// A spec that was accepted.
#[derive(Clone, Debug)]
pub(super) struct Accepted {
    generation: i64,
    spec: Arc<Value>,
}

/// The parameters that decide which objects run.
pub(super) struct Choice<'a> {
    pub(super) config: &'a Config,
    pub(super) cluster_scoped: &'a [Gvr],
}

// === impl Choice ===

impl Choice<'_> {
    pub(super) fn of(&self, present: &[Candidate], specs: &mut Specs) -> (Vec<Plugin>, Vec<Judged>) {
        let Some(tenancy) = &self.config.tenancy else {
            specs.clear();
            return (Vec::new(), Vec::new());
        };
        let mut objects: Vec<&Arc<Object>> = present.iter().map(|candidate| &candidate.0).collect();
        objects.sort_by_key(|one| (one.creation_timestamp(), one.namespace(), one.name()));
        let (mut plugins, mut judged) = (Vec::new(), Vec::with_capacity(objects.len()));
        let mut quota = Quota { tenancy, all: 0, by_namespace: BTreeMap::new() };
        let mut kept = Specs::new();
        for object in objects {
            let verdict = match quota.admit(object) {
                Err(refused) => Verdict::Refused(refused),
                Ok(()) => {
                    let before = specs.remove(&*object.uid().to_string());
                    let (plugin, accepted, verdict) = self.judge(tenancy, object, before);
                    plugins.extend(plugin);
                    kept.extend(accepted.map(|accepted| (object.uid().to_string().into(), accepted)));
                    verdict
                }
            };
            let name = host_name(object.namespace(), object.name());
            judged.push(Judged { object: Arc::clone(object), name, verdict });
        }
        *specs = kept;
        (plugins, judged)
    }

    /// The plugin of an object, the spec that is in force for it, and the verdict about the object.
    fn judge(
        &self,
        tenancy: &Tenancy,
        object: &Object,
        before: Option<Accepted>,
    ) -> (Option<Plugin>, Option<Accepted>, Verdict) {
        let present = spec(object).and_then(|spec| {
            let plugin = self.plugin(tenancy, object, &spec)?;
            Ok((plugin, spec))
        });
        let refused = match present {
            Ok((plugin, spec)) => {
                let generation = object.generation().unwrap_or_default();
                let accepted = Accepted { generation, spec: Arc::new(spec) };
                return (Some(plugin), Some(accepted), Verdict::Accepted);
            }
            Err(refused) => refused,
        };
        let earlier = before.and_then(|before| {
            // A plugin that is no longer allowed ends, even if an earlier spec was accepted.
            let plugin = self.plugin(tenancy, object, &before.spec).ok()?;
            Some((plugin, before))
        });
        match earlier {
            Some((plugin, before)) => {
                let generation = before.generation;
                (Some(plugin), Some(before), Verdict::Outdated(refused, generation))
            }
            None => (None, None, Verdict::Refused(refused)),
        }
    }

    fn plugin(&self, tenancy: &Tenancy, object: &Object, spec: &Value) -> Result<Plugin, Refused> {
        let spec = PluginObject { namespace: object.namespace(), name: object.name(), spec };
        let plugin = spec.plugin(self.config, tenancy, &|gvr| self.cluster_scoped.contains(gvr))?;
        Ok(Plugin { uid: object.uid().to_string(), ..plugin })
    }
}

fn spec(object: &Object) -> Result<Value, Refused> {
    let invalid = |why: &str| Refused::new(Refused::INVALID, why);
    let json = object.json().map_err(|_| invalid("the object cannot be read"))?;
    if json.len() > OBJECT_BYTES {
        return Err(invalid(
            "the object has more than 1 MiB; keep data in a ConfigMap that the plugin reads",
        ));
    }
    let mut object: Value = serde_json::from_str(&json).map_err(|_| invalid("the object cannot be read"))?;
    Ok(object.get_mut("spec").map(Value::take).unwrap_or_default())
}

/// Counts the objects that may run.
struct Quota<'a> {
    tenancy: &'a Tenancy,
    all: usize,
    by_namespace: BTreeMap<String, usize>,
}

// === impl Quota ===

impl Quota<'_> {
    /// Counts an object, or refuses it if it must not run whatever its spec is.
    fn admit(&mut self, object: &Object) -> Result<(), Refused> {
        let namespace = object.namespace();
        if namespace.is_empty() && !self.tenancy.cluster_plugins {
            let message = "the operator's [tenancy] does not accept ClusterPlugins";
            return Err(Refused::new(Refused::NOT_ACCEPTED, message));
        }
        if !namespace.is_empty() && !self.tenancy.admits(namespace) {
            let message = format!("the operator's [tenancy] does not list the namespace `{namespace}`");
            return Err(Refused::new(Refused::NOT_ACCEPTED, message));
        }
        let of_namespace = self.by_namespace.entry(namespace.to_owned()).or_default();
        let most = self.tenancy.plugins_per_namespace;
        if !namespace.is_empty() && *of_namespace >= most {
            let message = format!("{most} older Plugins of this namespace use its quota; delete one of them");
            return Err(Refused::new(Refused::QUOTA, message));
        }
        let most = self.tenancy.plugins;
        if self.all >= most {
            let message =
                format!("{most} older objects use the quota of the host; ask its operator for a larger one");
            return Err(Refused::new(Refused::QUOTA, message));
        }
        *of_namespace += 1;
        self.all += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Header};
    use serde_json::json;

    use super::*;
    use crate::config::{Components, Environment, Place, parse};

    fn config(lines: &str) -> Config {
        let text = format!(
            "[[watch]]\ngvr = \"v1/configmaps\"\n[tenancy]\nnamespaces = [\"shop\", \"flood\"]\nread = [\"v1/configmaps\"]\n\
             registries = [\"ghcr.io/acme/*\"]\n{lines}"
        );
        let place = Place { file: "f".as_ref(), base: "/".as_ref(), environment: &Environment::default() };
        parse(&text, &place, Components::Unseen).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The object `key` of this second, with a label as the only condition of its subscription.
    fn object(key: &str, second: u32, generation: i64, labels: &str) -> Candidate {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let (uid, created) = (format!("uid-{key}"), format!("2026-11-23T10:00:{second:02}Z"));
        let header = Header {
            namespace: namespace.into(),
            name: name.into(),
            uid: uid.as_str().into(),
            creation_timestamp: created.as_str().into(),
            generation: Some(generation),
            ..Header::default()
        };
        let spec = json!({"spec": {
            "source": "oci://ghcr.io/acme/echo:1", "on": [{"watch": "v1/configmaps", "labels": labels}],
        }});
        Candidate(Arc::new(Object::new(&header, Body::Raw(spec.to_string().into())).unwrap()))
    }

    /// The plugins that run, and the verdict about each object.
    fn choose(config: &Config, present: &[Candidate], specs: &mut Specs) -> (Vec<String>, Vec<String>) {
        let (plugins, judged) = Choice { config, cluster_scoped: &[] }.of(present, specs);
        let plugins = plugins
            .into_iter()
            .map(|plugin| format!("{} {}", plugin.name, plugin.subscriptions[0].filter.labels));
        let verdicts = judged.into_iter().map(|one| match one.verdict {
            Verdict::Accepted => format!("{} accepted", one.name),
            Verdict::Outdated(refused, generation) => format!("{} {} {generation}", one.name, refused.reason),
            Verdict::Refused(refused) => format!("{} {}", one.name, refused.reason),
        });
        (plugins.collect(), verdicts.collect())
    }

    #[test]
    fn the_oldest_objects_use_the_quota_and_a_newcomer_takes_no_place() {
        let config = config("plugins = 3\nplugins-per-namespace = 2\n");
        let mut present =
            vec![object("flood/c", 3, 1, "a"), object("flood/b", 2, 1, "a"), object("shop/a", 9, 1, "a")];
        let mut specs = Specs::new();
        let all = ["flood/b a", "flood/c a", "shop/a a"];
        assert_eq!(choose(&config, &present, &mut specs).0, all);

        present.extend([
            object("flood/a", 4, 1, "a"),
            object("shop/0", 10, 1, "a"),
            object("other/x", 1, 1, "a"),
        ]);
        let (plugins, verdicts) = choose(&config, &present, &mut specs);

        assert_eq!(plugins, all);
        assert_eq!(
            verdicts,
            [
                "other/x NotAccepted",
                "flood/b accepted",
                "flood/c accepted",
                "flood/a QuotaExceeded",
                "shop/a accepted",
                "shop/0 QuotaExceeded"
            ]
        );
    }

    #[test]
    fn a_refused_spec_leaves_the_one_before_in_force_until_it_is_not_allowed_either() {
        let (config, mut specs) = (config(""), Specs::new());
        let first = [object("shop/a", 1, 1, "good")];
        assert_eq!(choose(&config, &first, &mut specs).0, ["shop/a good"]);

        let wrong = [object("shop/a", 1, 2, "not a = selector =")];
        for _ in 0..2 {
            let (plugins, verdicts) = choose(&config, &wrong, &mut specs);
            assert_eq!(
                (plugins, verdicts),
                (vec!["shop/a good".to_owned()], vec!["shop/a InvalidSpec 1".to_owned()])
            );
        }
        let mut closed = config.clone();
        closed.tenancy.as_mut().unwrap().registries.clear();
        assert_eq!(choose(&closed, &wrong, &mut specs), (Vec::new(), vec!["shop/a InvalidSpec".to_owned()]));
        assert_eq!(choose(&config, &wrong, &mut specs).0, [""; 0], "what ended does not come back");
        let right = [object("shop/a", 1, 3, "better")];
        assert_eq!(choose(&config, &right, &mut specs).0, ["shop/a better"]);
    }

    #[test]
    fn another_object_of_the_same_name_does_not_inherit_a_spec() {
        let (config, mut specs) = (config(""), Specs::new());
        choose(&config, &[object("shop/a", 1, 1, "good")], &mut specs);
        choose(&config, &[], &mut specs);

        let (plugins, _) = choose(&config, &[object("shop/a", 1, 1, "not a = selector =")], &mut specs);

        assert_eq!(plugins, [""; 0]);
    }

    #[test]
    fn without_tenancy_nothing_runs_and_cluster_plugins_need_their_key() {
        let (config, mut specs) = (config(""), Specs::new());
        let present = [object("shop/a", 1, 1, "a"), object("janitor", 1, 1, "a")];

        let (_, verdicts) = choose(&config, &present, &mut specs);
        assert_eq!(verdicts, ["cluster:janitor NotAccepted", "shop/a accepted"]);
        let none = Config { tenancy: None, ..config };
        assert_eq!(choose(&none, &present, &mut specs), (Vec::new(), Vec::new()));
        assert!(specs.is_empty());
    }
}
