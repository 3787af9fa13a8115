//! The served collection: pods generated from recorded pods and rendered once.

mod identity;
mod status;
mod template;

use std::ops::Range;

use anyhow::{Context, Result, ensure};
use bytes::{Bytes, BytesMut};

pub use identity::LISTED_AT;

use identity::Identity;
use status::Status;
use template::Template;

/// The recorded pods, one JSON text on each line. Like items of a list, they have no `kind` and `apiVersion`.
static RECORDED: &[u8] = include_bytes!("../data/pods.jsonl.zst");

const FRAME_START: &[u8] = br#"{"type":""#;
const OBJECT_START: &[u8] = br#"","object":{"kind":"Pod","apiVersion":"v1","#;
const FRAME_END: &[u8] = b"}}\n";

/// The parameters of the generated pods.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// The number of pods.
    pub pods: usize,
    /// The number of pods on each page of a list.
    pub page_size: usize,
    /// The seed; the same seed generates the same pods.
    pub seed: u64,
    /// A fifth of the pods are deleted and created instead of updated.
    pub churn: bool,
}

/// Generated pods with all rendered answers.
///
/// Each pod has its own name, namespace, UID, owner, labels, images and digests, node, addresses, times, phase, readiness
/// and container ids. It shares containers, arguments, environment, volumes, affinities, tolerations and `managedFields`
/// with its recorded pod.
pub struct Pods {
    pages: Vec<Bytes>,
    pods: Vec<Pod>,
    managed_fields_bytes: usize,
    churn: bool,
}

/// A pod in the text of a page.
struct Rendered {
    head: Range<usize>,
    name_end: usize,
    resource_version: Range<usize>,
    status: Range<usize>,
    other_status: Bytes,
}

struct Pod {
    /// The text after the opening brace and up to the status; a part of the page.
    head: Bytes,
    /// The end of the name in `head`.
    name_end: usize,
    /// The position of the resource version in `head`, behind the name.
    resource_version: Range<usize>,
    /// The listed status, which is a part of the page, and another status.
    statuses: [Bytes; 2],
}

// === impl Pods ===

impl Pods {
    /// Generates the pods.
    ///
    /// # Errors
    /// The number or the page size is 0, or the recorded pods have an unexpected form.
    pub fn generate(recipe: Recipe) -> Result<Self> {
        ensure!(recipe.pods > 0, "no pods to make: --pods must be 1 or more");
        ensure!(recipe.page_size > 0, "a page of no pods: --page-size must be 1 or more");
        let templates = templates()?;
        let mut made = Self {
            pages: Vec::with_capacity(recipe.pods.div_ceil(recipe.page_size)),
            pods: Vec::with_capacity(recipe.pods),
            managed_fields_bytes: 0,
            churn: recipe.churn,
        };
        for first in (0..recipe.pods).step_by(recipe.page_size) {
            let last = recipe.pods.min(first + recipe.page_size);
            made.render_page(&templates, recipe.seed, first..last)?;
        }
        Ok(made)
    }

    /// The number of pods.
    pub fn len(&self) -> usize {
        self.pods.len()
    }

    /// Always returns false: there is at least one pod.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// The items of the pages, in order: JSON texts separated by commas.
    pub fn pages(&self) -> &[Bytes] {
        &self.pages
    }

    /// The mean size of a listed pod as JSON, in bytes.
    pub fn mean_bytes(&self) -> usize {
        let items: usize = self.pages.iter().map(Bytes::len).sum();
        items / self.pods.len().max(1)
    }

    /// The mean size of `metadata.managedFields` in a listed pod, in bytes.
    pub fn mean_managed_fields_bytes(&self) -> usize {
        self.managed_fields_bytes / self.pods.len().max(1)
    }

    /// The frame of the n-th event after the list, counted from 0. The events go round the pods, and the status of a pod
    /// flips each time. The resource version is [`LISTED_AT`] + n + 1. With churn, every fifth pod is deleted instead of updated, and
    /// created in the next round under another name.
    pub fn frame(&self, event: u64) -> Option<Bytes> {
        let pods = self.pods.len() as u64;
        let (lap, index) = (event / pods, event.checked_rem(pods)?);
        let pod = self.pods.get(usize::try_from(index).ok()?)?;
        let (step, generation) = self.step(index, lap);
        let status = if lap.is_multiple_of(2) { &pod.statuses[1] } else { &pod.statuses[0] };
        let name_suffix = if generation == 0 { String::new() } else { format!("-{generation}") };
        let length =
            FRAME_START.len() + OBJECT_START.len() + pod.head.len() + status.len() + FRAME_END.len() + 32;
        let mut frame = BytesMut::with_capacity(length);
        frame.extend_from_slice(FRAME_START);
        frame.extend_from_slice(step);
        frame.extend_from_slice(OBJECT_START);
        frame.extend_from_slice(pod.head.get(..pod.name_end)?);
        frame.extend_from_slice(name_suffix.as_bytes());
        frame.extend_from_slice(pod.head.get(pod.name_end..pod.resource_version.start)?);
        frame.extend_from_slice((LISTED_AT + event + 1).to_string().as_bytes());
        frame.extend_from_slice(pod.head.get(pod.resource_version.end..)?);
        frame.extend_from_slice(status);
        frame.extend_from_slice(FRAME_END);
        Some(frame.freeze())
    }

    /// The type of the event for a pod in this round, and how often the pod was created anew.
    fn step(&self, index: u64, lap: u64) -> (&'static [u8], u64) {
        match (self.churn && index.is_multiple_of(5), lap.is_multiple_of(2)) {
            (false, _) => (b"MODIFIED", 0),
            (true, true) => (b"DELETED", lap / 2),
            (true, false) => (b"ADDED", lap / 2 + 1),
        }
    }

    fn render_page(&mut self, templates: &[Template], seed: u64, indexes: Range<usize>) -> Result<()> {
        let mut page = String::new();
        let mut parts = Vec::with_capacity(indexes.len());
        for index in indexes {
            if !parts.is_empty() {
                page.push(',');
            }
            let template = templates.get(index % templates.len().max(1)).context("no recorded pods")?;
            let identity = Identity::new(index, seed, template.containers());
            let start = page.len();
            let resource_version = template.render_head(&identity, &mut page);
            // The frame adds the opening brace.
            let head = start + 1..page.len();
            let text = page.get(head.clone()).unwrap_or_default();
            self.managed_fields_bytes += managed_fields_bytes(text);
            let name = format!("\"name\":\"{}\"", identity.name);
            let name_end = text.find(&name).context("a pod has no name")? + name.len() - 1;
            Status::listed(&identity).render(&identity, template.containers(), &mut page);
            let status = head.end..page.len();
            page.push('}');
            let mut other_status = String::new();
            Status::changed(&identity).render(&identity, template.containers(), &mut other_status);
            let resource_version = resource_version.start - head.start..resource_version.end - head.start;
            parts.push(Rendered {
                head,
                name_end,
                resource_version,
                status,
                other_status: other_status.into(),
            });
        }
        let page = Bytes::from(page);
        self.pods.extend(parts.into_iter().map(|part| Pod {
            head: page.slice(part.head),
            name_end: part.name_end,
            resource_version: part.resource_version,
            statuses: [page.slice(part.status), part.other_status],
        }));
        self.pages.push(page);
        Ok(())
    }
}

/// The recorded pods as templates.
fn templates() -> Result<Vec<Template>> {
    let text = zstd::decode_all(RECORDED).context("cannot unpack the recorded pods")?;
    let text = String::from_utf8(text).context("the recorded pods are not UTF-8")?;
    text.lines().map(Template::parse).collect()
}

/// `managedFields` is the last field of an object's metadata.
fn managed_fields_bytes(head: &str) -> usize {
    let value = head.split_once(r#""managedFields":"#).map(|(_, rest)| rest);
    value.and_then(|rest| rest.split_once(r#"},"spec":{"#)).map_or(0, |(value, _)| value.len())
}

#[cfg(test)]
mod tests;
