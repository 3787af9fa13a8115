//! Generated pods, with a recorded pod as their template.
//!
//! The template consists of pieces of the text, not of the parsed object, so that the fields keep the API server's order.

mod status;

use std::ops::Range;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    identity::{Container, Identity},
    render::{Render, managed_fields},
};
use status::Status;

/// The recorded pods, one JSON text on each line. Like items of a list, they have no `kind` and `apiVersion`.
static RECORDED: &[u8] = include_bytes!("../../data/pods.jsonl.zst");

/// The text before which the node is inserted, as in the API server. Recorded pods have no node.
const BEFORE_NODE: &str = r#""schedulerName":"#;

/// The pieces of the recorded text up to the value of `status`.
pub(crate) struct Template {
    pieces: Vec<Piece>,
    containers: Vec<Container>,
}

#[derive(Clone)]
enum Piece {
    Text(String),
    Slot(Slot),
}

#[derive(Clone, Copy)]
enum Slot {
    Namespace,
    Name,
    Owner,
    App,
    Team,
    Zone,
    Hash,
    Uid,
    OwnerUid,
    ResourceVersion,
    Created,
    Changed,
    Node,
    PodIp,
    Image(usize),
}

/// The recorded pods as templates, with or without `managedFields`.
pub(crate) fn recorded(with_managed_fields: bool) -> Result<Vec<Template>> {
    let text = zstd::decode_all(RECORDED).context("cannot unpack the recorded pods")?;
    let text = String::from_utf8(text).context("the recorded pods are not UTF-8")?;
    let template = |line: &str| {
        if with_managed_fields {
            return Template::parse(line);
        }
        let range = managed_fields(line).context("a recorded pod has no managedFields")?;
        let field = range.start - r#","managedFields":"#.len()..range.end;
        let mut without = line.to_owned();
        without.replace_range(field, "");
        Template::parse(&without)
    };
    text.lines().map(template).collect()
}

// === impl Template ===

impl Template {
    /// Splits one recorded pod into pieces.
    ///
    /// # Errors
    /// The line is not a pod with a controller and a status.
    fn parse(line: &str) -> Result<Self> {
        let pod: Value = serde_json::from_str(line).context("a recorded pod is not JSON")?;
        let status = line.rfind(r#""status":{"#).context("a recorded pod has no status")?;
        let head = line.get(..status + r#""status":"#.len()).context("a recorded pod breaks off")?;
        let mut template =
            Self { pieces: vec![Piece::Text(head.to_owned())], containers: containers(&pod).collect() };
        template.cut_identity(&pod)?;
        template.cut_labels(&pod);
        for (index, container) in container_values(&pod).enumerate() {
            if let Some(image) = container.1.get("image").and_then(Value::as_str) {
                template.cut_value("image", image, Slot::Image(index));
            }
        }
        Ok(template)
    }

    fn cut_identity(&mut self, pod: &Value) -> Result<()> {
        let text = |pointer: &str| -> Result<String> {
            let value = pod.pointer(pointer).and_then(Value::as_str);
            Ok(value.with_context(|| format!("a recorded pod has no {pointer}"))?.to_owned())
        };
        // Cut the name before the owner's name, which it contains.
        self.cut(&text("/metadata/name")?, &[Piece::Slot(Slot::Name)]);
        let owner = text("/metadata/ownerReferences/0/name")?;
        self.cut_between(r#""generateName":""#, &owner, r#"-""#, Slot::Owner);
        self.cut_between(r#""name":""#, &owner, r#"","uid""#, Slot::Owner);
        self.cut(&text("/metadata/uid")?, &[Piece::Slot(Slot::Uid)]);
        self.cut(&text("/metadata/ownerReferences/0/uid")?, &[Piece::Slot(Slot::OwnerUid)]);
        self.cut_value("namespace", &text("/metadata/namespace")?, Slot::Namespace);
        self.cut_value("resourceVersion", &text("/metadata/resourceVersion")?, Slot::ResourceVersion);
        self.cut(&text("/metadata/creationTimestamp")?, &[Piece::Slot(Slot::Created)]);
        let managed = pod.pointer("/metadata/managedFields").and_then(Value::as_array);
        let times = managed.into_iter().flatten().filter_map(|entry| entry.get("time")?.as_str());
        times.for_each(|time| self.cut_value("time", time, Slot::Changed));
        if let Some(ip) = pod.pointer("/status/podIP").and_then(Value::as_str) {
            self.cut(ip, &[Piece::Slot(Slot::PodIp)]);
        }
        let node = [Piece::text(r#""nodeName":""#), Piece::Slot(Slot::Node), Piece::text(r#"","#)];
        self.cut(BEFORE_NODE, &[&node[..], &[Piece::text(BEFORE_NODE)]].concat());
        Ok(())
    }

    fn cut_labels(&mut self, pod: &Value) {
        let labels = pod.pointer("/metadata/labels").and_then(Value::as_object);
        for (label, value) in labels.into_iter().flatten() {
            let slot = match label.as_str() {
                "app" | "app.kubernetes.io/name" | "job-name" | "batch.kubernetes.io/job-name" => Slot::App,
                "pod-template-hash" | "controller-revision-hash" => Slot::Hash,
                _ => continue,
            };
            if let Some(value) = value.as_str() {
                self.cut_value(label, value, slot);
            }
        }
        self.cut(
            r#""labels":{"#,
            &[
                Piece::text(r#""labels":{"example.com/team":""#),
                Piece::Slot(Slot::Team),
                Piece::text(r#"","topology.kubernetes.io/zone":""#),
                Piece::Slot(Slot::Zone),
                Piece::text(r#"","#),
            ],
        );
    }

    /// Replaces the string value of a field at each occurrence of the field.
    fn cut_value(&mut self, field: &str, value: &str, slot: Slot) {
        self.cut_between(&format!(r#""{field}":""#), value, "\"", slot);
    }

    /// Replaces each occurrence of a text between `before` and `after`.
    fn cut_between(&mut self, before: &str, value: &str, after: &str, slot: Slot) {
        let by = [Piece::text(before), Piece::Slot(slot), Piece::text(after)];
        self.cut(&format!("{before}{value}{after}"), &by);
    }

    /// Replaces each occurrence of a text in the pieces that are still text.
    fn cut(&mut self, needle: &str, by: &[Piece]) {
        let mut pieces = Vec::with_capacity(self.pieces.len() + 2 * by.len());
        for piece in std::mem::take(&mut self.pieces) {
            let Piece::Text(text) = piece else {
                pieces.push(piece);
                continue;
            };
            for (index, part) in text.split(needle).enumerate() {
                if index > 0 {
                    pieces.extend_from_slice(by);
                }
                if !part.is_empty() {
                    pieces.push(Piece::text(part));
                }
            }
        }
        self.pieces = pieces;
    }
}

impl Render for Template {
    fn containers(&self) -> &[Container] {
        &self.containers
    }

    fn head(&self, identity: &Identity, into: &mut String) -> Range<usize> {
        let mut resource_version = 0..0;
        for piece in &self.pieces {
            let start = into.len();
            match piece {
                Piece::Text(text) => into.push_str(text),
                Piece::Slot(slot) => into.push_str(slot.value(identity)),
            }
            if let Piece::Slot(Slot::ResourceVersion) = piece {
                resource_version = start..into.len();
            }
        }
        resource_version
    }

    fn state(&self, identity: &Identity, changed: bool, into: &mut String) {
        let status = if changed { Status::changed(identity) } else { Status::listed(identity) };
        status.render(identity, &self.containers, into);
    }
}

// === impl Piece ===

impl Piece {
    fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

// === impl Slot ===

impl Slot {
    fn value(self, of: &Identity) -> &str {
        match self {
            Self::Namespace => &of.namespace,
            Self::Name => &of.name,
            Self::Owner => &of.owner,
            Self::App => &of.app,
            Self::Team => of.team,
            Self::Zone => of.zone,
            Self::Hash => &of.hash,
            Self::Uid => &of.uid,
            Self::OwnerUid => &of.owner_uid,
            Self::ResourceVersion => &of.resource_version,
            Self::Created => &of.created,
            Self::Changed => &of.changed,
            Self::Node => &of.node,
            Self::PodIp => &of.pod_ip,
            Self::Image(index) => of.containers.get(index).map_or("", |container| &container.image),
        }
    }
}

fn containers(pod: &Value) -> impl Iterator<Item = Container> {
    container_values(pod).map(|(initial, container)| Container {
        name: container.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        initial,
    })
}

fn container_values(pod: &Value) -> impl Iterator<Item = (bool, &Value)> {
    let fields = [(true, "/spec/initContainers"), (false, "/spec/containers")];
    fields.into_iter().flat_map(|(initial, pointer)| {
        let containers = pod.pointer(pointer).and_then(Value::as_array);
        containers.into_iter().flatten().map(move |container| (initial, container))
    })
}
