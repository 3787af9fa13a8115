//! The served collection: generated objects of one kind, rendered once.

mod config_map;
mod identity;
mod kind;
mod pod;
mod render;
mod workflow;

use std::ops::Range;

use anyhow::{Context, Result, ensure};
use bytes::{Bytes, BytesMut};

pub use identity::LISTED_AT;
pub use kind::Kind;

use config_map::ConfigMaps;
use identity::Identity;
use render::{Render, managed_fields};
use workflow::Workflows;

const FRAME_START: &[u8] = br#"{"type":""#;
const FRAME_END: &[u8] = b"}}\n";

/// The parameters of the generated objects.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// The kind.
    pub kind: Kind,
    /// The number of objects.
    pub objects: usize,
    /// The number of objects on each page of a list.
    pub page_size: usize,
    /// The seed; the same seed generates the same objects.
    pub seed: u64,
    /// If true, a fifth of the objects are deleted and created instead of updated.
    pub churn: bool,
}

/// Generated objects with all rendered answers.
///
/// Each object has its own name, namespace, UID, owner, labels and times. A pod also has its own images and digests, node,
/// addresses, phase, readiness and container ids; it shares containers, arguments, environment, volumes, affinities,
/// tolerations and `managedFields` with its recorded pod.
pub struct Collection {
    kind: Kind,
    pages: Vec<Bytes>,
    items: Vec<Item>,
    /// The text of a frame between the type of the event and the first field of the object.
    object_start: String,
    managed_fields_bytes: usize,
    churn: bool,
}

/// An object in the text of a page.
struct Rendered {
    head: Range<usize>,
    name_end: usize,
    resource_version: Range<usize>,
    state: Range<usize>,
    other_state: Bytes,
}

struct Item {
    /// The text after the opening brace and up to the state; a part of the page.
    head: Bytes,
    /// The end of the name in `head`.
    name_end: usize,
    /// The position of the resource version in `head`, behind the name.
    resource_version: Range<usize>,
    /// The value of the last field as it is listed, which is a part of the page, and another value.
    states: [Bytes; 2],
}

// === impl Collection ===

impl Collection {
    /// Generates the objects.
    ///
    /// # Errors
    /// The number or the page size is 0, or the recorded pods have an unexpected form.
    pub fn generate(recipe: Recipe) -> Result<Self> {
        ensure!(recipe.objects > 0, "no objects to make: --objects must be 1 or more");
        ensure!(recipe.page_size > 0, "a page of no objects: --page-size must be 1 or more");
        let templates = templates(recipe.kind)?;
        let (kind, api_version) = (recipe.kind.name(), recipe.kind.gvr().api_version());
        let mut made = Self {
            kind: recipe.kind,
            pages: Vec::with_capacity(recipe.objects.div_ceil(recipe.page_size)),
            items: Vec::with_capacity(recipe.objects),
            object_start: format!(r#"","object":{{"kind":"{kind}","apiVersion":"{api_version}","#),
            managed_fields_bytes: 0,
            churn: recipe.churn,
        };
        for first in (0..recipe.objects).step_by(recipe.page_size) {
            let last = recipe.objects.min(first + recipe.page_size);
            made.render_page(&templates, recipe.seed, first..last)?;
        }
        Ok(made)
    }

    /// The kind of the objects.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Always returns false: there is at least one object.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The items of the pages, in order: JSON texts separated by commas.
    pub fn pages(&self) -> &[Bytes] {
        &self.pages
    }

    /// The mean size of a listed object as JSON, in bytes.
    pub fn mean_bytes(&self) -> usize {
        let bytes: usize = self.pages.iter().map(Bytes::len).sum();
        bytes / self.items.len().max(1)
    }

    /// The mean size of `metadata.managedFields` in a listed object, in bytes.
    pub fn mean_managed_fields_bytes(&self) -> usize {
        self.managed_fields_bytes / self.items.len().max(1)
    }

    /// The frame of the n-th event after the list, counted from 0. The events go round the objects, and the last field of an
    /// object flips each time. The resource version is [`LISTED_AT`] + n + 1. With churn, every fifth object is deleted instead
    /// of updated, and created in the next round under another name.
    pub fn frame(&self, event: u64) -> Option<Bytes> {
        let items = self.items.len() as u64;
        let (lap, index) = (event / items, event.checked_rem(items)?);
        let item = self.items.get(usize::try_from(index).ok()?)?;
        let (step, generation) = self.step(index, lap);
        let state = if lap.is_multiple_of(2) { &item.states[1] } else { &item.states[0] };
        let name_suffix = if generation == 0 { String::new() } else { format!("-{generation}") };
        let length = FRAME_START.len()
            + self.object_start.len()
            + item.head.len()
            + state.len()
            + FRAME_END.len()
            + 32;
        let mut frame = BytesMut::with_capacity(length);
        frame.extend_from_slice(FRAME_START);
        frame.extend_from_slice(step);
        frame.extend_from_slice(self.object_start.as_bytes());
        frame.extend_from_slice(item.head.get(..item.name_end)?);
        frame.extend_from_slice(name_suffix.as_bytes());
        frame.extend_from_slice(item.head.get(item.name_end..item.resource_version.start)?);
        frame.extend_from_slice((LISTED_AT + event + 1).to_string().as_bytes());
        frame.extend_from_slice(item.head.get(item.resource_version.end..)?);
        frame.extend_from_slice(state);
        frame.extend_from_slice(FRAME_END);
        Some(frame.freeze())
    }

    /// The type of the event for an object in this round, and how often the object was created anew.
    fn step(&self, index: u64, lap: u64) -> (&'static [u8], u64) {
        match (self.churn && index.is_multiple_of(5), lap.is_multiple_of(2)) {
            (false, _) => (b"MODIFIED", 0),
            (true, true) => (b"DELETED", lap / 2),
            (true, false) => (b"ADDED", lap / 2 + 1),
        }
    }

    fn render_page(&mut self, templates: &[Box<dyn Render>], seed: u64, indexes: Range<usize>) -> Result<()> {
        let mut page = String::new();
        let mut parts = Vec::with_capacity(indexes.len());
        for index in indexes {
            if !parts.is_empty() {
                page.push(',');
            }
            let template = templates.get(index % templates.len().max(1)).context("no recorded pods")?;
            let identity = Identity::new(index, seed, template.containers());
            let start = page.len();
            let resource_version = template.head(&identity, &mut page);
            // The frame adds the opening brace.
            let head = start + 1..page.len();
            let text = page.get(head.clone()).unwrap_or_default();
            self.managed_fields_bytes += managed_fields(text).map_or(0, |range| range.len());
            let name = format!("\"name\":\"{}\"", identity.name);
            let name_end = text.find(&name).context("an object has no name")? + name.len() - 1;
            template.state(&identity, false, &mut page);
            let state = head.end..page.len();
            page.push('}');
            let mut other_state = String::new();
            template.state(&identity, true, &mut other_state);
            let resource_version = resource_version.start - head.start..resource_version.end - head.start;
            parts.push(Rendered { head, name_end, resource_version, state, other_state: other_state.into() });
        }
        let page = Bytes::from(page);
        self.items.extend(parts.into_iter().map(|part| Item {
            head: page.slice(part.head),
            name_end: part.name_end,
            resource_version: part.resource_version,
            states: [page.slice(part.state), part.other_state],
        }));
        self.pages.push(page);
        Ok(())
    }
}

/// The templates of a kind. The objects use them in turn.
fn templates(kind: Kind) -> Result<Vec<Box<dyn Render>>> {
    Ok(match kind {
        Kind::Pods => boxed(pod::recorded(true)?),
        Kind::SmallPods => boxed(pod::recorded(false)?),
        Kind::ConfigMaps => boxed([ConfigMaps]),
        Kind::Workflows => boxed([Workflows::new()]),
    })
}

fn boxed(templates: impl IntoIterator<Item = impl Render + 'static>) -> Vec<Box<dyn Render>> {
    templates.into_iter().map(|template| Box::new(template) as Box<dyn Render>).collect()
}

#[cfg(test)]
mod tests;
