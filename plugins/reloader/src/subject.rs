//! A workload as the cache or the API server has it, and the sources that it chooses.

use std::collections::BTreeSet;

use informer_sdk::{Error, lister, log};
use serde_json::Value;

use crate::{
    decision::{Annotations, Choice, Choices},
    kind::{SourceId, SourceKind, Workload, WorkloadKind},
    marker::{Markers, digest},
    memory::Memory,
    plan::{Chosen, Counts, Plan, Sources},
    references::{References, references},
    settings::{Names, Settings},
    source::{self, Lookup, Masked},
};

const NAMESPACES: &str = "v1/namespaces";

/// A workload.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) workload: Workload,
    pub(crate) object: Value,
    pub(crate) annotations: Annotations,
    template_annotations: Annotations,
    choices: Choices,
    /// True if the state comes from the API server. The state of a cache may be older.
    is_live: bool,
    /// The invalid values in its annotations, for the log.
    pub(crate) problems: Vec<String>,
}

// === impl Subject ===

impl Subject {
    fn new(workload: Workload, object: Value, settings: &Settings) -> Self {
        let annotations = annotations(&object, "/metadata/annotations");
        let template_annotations = annotations_of_template(&object, workload.kind);
        let mut problems = Vec::new();
        let choices = Choices::of(settings, &annotations, &template_annotations, &mut problems);
        Self { workload, object, annotations, template_annotations, choices, is_live: false, problems }
    }

    /// A workload as the API server has it.
    pub(crate) fn live(workload: Workload, object: Value, settings: &Settings) -> Self {
        Self { is_live: true, ..Self::new(workload, object, settings) }
    }

    /// Treats the state of the cache as the state of the API server. The write that follows names the version of this state, so
    /// it fails if the API server has another one.
    pub(crate) fn taken_as_live(self) -> Self {
        Self { is_live: true, problems: Vec::new(), ..self }
    }

    /// Reads a workload from the cache. Returns `None` if it is gone, or if the plugin does not roll it. A workload that the plugin
    /// has paused is returned in any case, because no other client ends its pause.
    pub(crate) fn cached(workload: &Workload, settings: &Settings) -> Result<Option<Self>, Error> {
        // Most workloads have no annotation for this plugin: the rest of the object is not read then.
        let pointers = ["/metadata/annotations", workload.kind.template_annotations()];
        let Some([own, template]) = lister::get_fields(workload.gvr(), &workload.key(), pointers)? else {
            return Ok(None);
        };
        let own: Annotations = own.parse::<Option<_>>()?.flatten().unwrap_or_default();
        let template: Annotations = template.parse::<Option<_>>()?.flatten().unwrap_or_default();
        let choices = Choices::of(settings, &own, &template, &mut Vec::new());
        let is_covered = settings.rolls(workload.kind) && settings.covers(&workload.namespace);
        let is_open = is_covered
            && choices.is_open(settings.auto_reload_all)
            && is_in_selected_namespace(workload, settings)?;
        if !is_open && !own.contains_key(&settings.annotations.paused_at) {
            return Ok(None);
        }
        let Some(object) = lister::get(workload.gvr(), &workload.key())? else { return Ok(None) };
        let subject = Self::new(workload.clone(), object, settings);
        Ok(Some(if is_open { subject } else { Self { choices: Choices::default(), ..subject } }))
    }

    /// Returns true if some source may roll this workload.
    pub(crate) fn is_open(&self, settings: &Settings) -> bool {
        !self.is_of_cron_job()
            && self.text("/metadata/deletionTimestamp").is_none()
            && self.choices.is_open(settings.auto_reload_all)
    }

    /// Returns true for a Job of a CronJob. The next Job of the CronJob replaces such a Job, and the CronJob itself is rolled.
    fn is_of_cron_job(&self) -> bool {
        let is_cron_job = |owner: &Value| {
            owner.get("controller") == Some(&Value::Bool(true))
                && owner.get("kind").and_then(Value::as_str) == Some("CronJob")
        };
        self.workload.kind == WorkloadKind::Job && self.objects("/metadata/ownerReferences").any(is_cron_job)
    }

    /// Returns true if the workload is an Argo Rollout whose roll is a restart.
    pub(crate) fn is_restarted(&self, settings: &Settings) -> bool {
        let strategy = self.annotations.get(&settings.annotations.rollout_strategy);
        self.workload.kind == WorkloadKind::Rollout && strategy.is_some_and(|strategy| strategy == "restart")
    }

    /// Returns true if a `reload` list has more regular expressions than are allowed, so that some of them name nothing.
    pub(crate) fn is_cut(&self) -> bool {
        self.choices.iter().any(|(_, choice)| choice.named().is_cut())
    }

    pub(crate) fn uid(&self) -> &str {
        self.text("/metadata/uid").unwrap_or_default()
    }

    pub(crate) fn text(&self, pointer: &str) -> Option<&str> {
        self.object.pointer(pointer)?.as_str()
    }

    pub(crate) fn template(&self) -> Value {
        self.object.pointer(self.workload.kind.template()).cloned().unwrap_or_default()
    }

    /// The markers of the workload with this template. A marker that does not parse is added to the problems.
    pub(crate) fn markers(&mut self, template: &Value, settings: &Settings) -> Markers {
        Markers::read(template, &self.annotations, settings.reload_strategy, &mut self.problems)
            .of_restarts(self.is_restarted(settings))
    }

    /// Compares the sources that the workload chooses with what it was rolled for.
    pub(crate) fn plan(&mut self, settings: &Settings, before: Option<&Memory>) -> Result<Plan, Error> {
        let template = self.template();
        let referenced = references(template.get("spec").unwrap_or(&Value::Null));
        let (mut sources, seen) = self.present(settings, &referenced)?;
        let markers = self.markers(&template, settings);
        let remembered = before.into_iter().flat_map(|before| before.hashes.keys());
        let unseen = remembered.chain(markers.sources()).filter(|id| !seen.contains(*id));
        sources.missing = unseen.filter(|id| self.could_choose(id, settings, &referenced)).cloned().collect();
        let counts = Counts {
            creations: settings.reload_on_create,
            deletions: settings.reload_on_delete,
            markers: self.is_live,
        };
        let namespace = &self.workload.namespace;
        let identity = (self.uid().to_owned(), self.scope(settings, &referenced));
        Plan::new(identity, &sources, &markers, before, counts, |source| {
            match source::look_up(source, namespace, &settings.annotations)? {
                // A cache that lacks the source may have been narrowed, or may lack a new object. A request decides.
                Lookup::Absent => source::is_deleted(source, namespace),
                Lookup::Found(_) | Lookup::NotServed => Ok(false),
            }
        })
    }

    /// A digest of the annotations, references and settings by which the workload chooses sources.
    fn scope(&self, settings: &Settings, referenced: &References) -> String {
        let names = &settings.annotations;
        let choosing = [
            &names.auto,
            &names.configmap_auto,
            &names.secret_auto,
            &names.configmap_reload,
            &names.secret_reload,
            &names.configmaps_exclude,
            &names.secrets_exclude,
            &names.search,
        ];
        let values = choosing.into_iter().flat_map(|name| {
            [&self.annotations, &self.template_annotations]
                .map(|all| all.get(name).map_or_else(|| "-".to_owned(), |value| format!("={value}")))
        });
        // Without the settings in the digest, a source that earlier settings excluded would count as created. The default settings add
        // nothing to the digest.
        let (selector, default) = (&settings.resource_label_selector, Names::default());
        let rules = [
            settings.auto_reload_all.then(|| "auto-reload-all".to_owned()),
            (!settings.reads(SourceKind::ConfigMap)).then(|| "no ConfigMaps".to_owned()),
            (!settings.reads(SourceKind::Secret)).then(|| "no Secrets".to_owned()),
            (!selector.is_empty()).then(|| format!("{selector:?}")),
            (names.ignore != default.ignore).then(|| format!("ignore {}", names.ignore)),
            (names.matched != default.matched).then(|| format!("match {}", names.matched)),
        ];
        let references = referenced.keys().map(SourceId::to_string);
        digest(values.chain(references).chain(rules.into_iter().flatten()))
    }

    /// Judges the sources that the cache has. Returns the chosen sources and the other ones with their hashes, and the names of all
    /// sources.
    fn present(
        &mut self,
        settings: &Settings,
        referenced: &References,
    ) -> Result<(Sources, BTreeSet<SourceId>), Error> {
        let (mut sources, mut seen) = (Sources::default(), BTreeSet::new());
        for (kind, choice) in self.choices.iter() {
            for name in candidates(*kind, choice, settings, referenced, &self.workload.namespace)? {
                let id = SourceId::new(*kind, name);
                let found = source::look_up(&id, &self.workload.namespace, &settings.annotations)?;
                let Lookup::Found(source) = found else { continue };
                seen.insert(id.clone());
                if !settings.resource_label_selector.matches(&source.labels) {
                    continue;
                }
                if source.has_masked_annotation() {
                    self.problems.push(format!("{id}: {Masked}"));
                    continue;
                }
                let container = referenced.get(&id).copied();
                let (names, all) = (&settings.annotations, settings.auto_reload_all);
                let verdict = choice.judge(names, all, &id.name, &source.annotations, container.is_some());
                log::debug!(source = id, rolls = verdict.is_chosen(); "{}: {verdict}", self.workload);
                let hash = source.hash(&id, &self.workload.namespace)?;
                if !verdict.is_chosen() {
                    sources.unchosen.extend(hash.ok().map(|hash| (id, hash)));
                    continue;
                }
                if let Err(masked) = hash {
                    self.problems.push(format!("{id}: {masked}"));
                }
                let hash = hash.ok();
                sources.chosen.push(Chosen { source: id, hash, container: container.unwrap_or(0) });
            }
        }
        Ok((sources, seen))
    }

    /// Returns true if the workload may choose a source whose annotations are not known.
    fn could_choose(&self, id: &SourceId, settings: &Settings, referenced: &References) -> bool {
        let of_kind = self.choices.iter().find(|(kind, _)| *kind == id.kind);
        of_kind.is_some_and(|(_, choice)| {
            choice.could_choose(&id.name, referenced.contains_key(id), settings.auto_reload_all)
        })
    }

    fn objects(&self, pointer: &str) -> impl Iterator<Item = &Value> {
        self.object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
    }
}

/// The names of the sources of a kind that the workload may choose: those of its references and of its `reload` list.
fn candidates(
    kind: SourceKind,
    choice: &Choice,
    settings: &Settings,
    referenced: &References,
    namespace: &str,
) -> Result<BTreeSet<String>, Error> {
    let mut names = BTreeSet::new();
    if choice.by_reference(settings.auto_reload_all) {
        names.extend(referenced.keys().filter(|id| id.kind == kind).map(|id| id.name.clone()));
    }
    names.extend(choice.named().names().map(str::to_owned));
    if choice.named().has_expressions() {
        names.extend(source::names(kind, namespace)?.into_iter().filter(|name| choice.names(name)));
    }
    Ok(names)
}

fn is_in_selected_namespace(workload: &Workload, settings: &Settings) -> Result<bool, Error> {
    if settings.namespace_selector.is_empty() {
        return Ok(true);
    }
    let key = informer_sdk::ObjectKey::new("", &workload.namespace);
    let Some([labels]) = lister::get_fields(NAMESPACES, &key, ["/metadata/labels"])? else {
        return Ok(false);
    };
    let labels = labels.parse::<Option<_>>()?.flatten().unwrap_or_default();
    Ok(settings.namespace_selector.matches(&labels))
}

fn annotations_of_template(object: &Value, kind: WorkloadKind) -> Annotations {
    annotations(object, kind.template_annotations())
}

fn annotations(object: &Value, pointer: &str) -> Annotations {
    let found = object.pointer(pointer).and_then(Value::as_object).into_iter().flatten();
    found.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}
