//! `client`: requests to the API server, within the grants and limits of the plugin.
//!
//! Every request takes the same steps: the arguments are checked (`target`, `body`), the grant is looked up (`gate`), a
//! token is taken from the plugin's budget (`rate_budget`), and then the request is sent (`source`). The deadline of the call
//! covers all these waits. Every write leaves an audit record (`audit`), even if its answer never arrives. Requests about
//! Secrets also need the grant `secrets`.

mod audit;
mod body;
mod draft;
mod error;
mod events;
mod gate;
mod list_page;
mod source;
mod target;

use http::Method;
use informer_types::WriteVerb;

pub(crate) use source::ClientCounters;
pub use source::{ApiAnswer, ApiClient, ApiFailure, ApiRequest, ClientSource, ClientStats};

use super::interface::{Grant, Interface};
use crate::bindings::informer::plugin::{
    client::{
        self, ApiError, DeleteOptions, Host, ListOptions, ObjectEvent, ObjectPage, PatchKind, WriteOptions,
    },
    types,
};
use audit::Write;
use draft::{Draft, JSON};
use gate::Calls;
use list_page::list_page;
use target::{Target, check_name};

/// The default page size, the one of client-go's pager.
const PAGE: u32 = 500;

/// The longest selector or page token: a hundred times what people write and servers issue.
const TEXT_BYTES: usize = 16 << 10;

pub(super) const INTERFACES: &[Interface] = &[Interface {
    grant: Some(Grant {
        example: "write = [\"patch apps/v1/deployments @default\"]",
        is_given: |grants| grants.write.is_some(),
    }),
    ..Interface::ours("informer:plugin/client", |instance| {
        client::add_to_linker_instance::<_, Calls<'static>>(instance, |guest| Calls(guest.called()))
    })
}];

impl Host for Calls<'_> {
    async fn get(
        &mut self,
        gvr: String,
        key: types::ObjectKey,
        subresource: String,
    ) -> Result<String, ApiError> {
        let target = Target::object(&gvr, key, subresource)?;
        self.may_read(&target)?;
        let answer = self.read(target.request(Method::GET)).await?;
        error::text(answer.body)
    }

    async fn list_objects(&mut self, gvr: String, options: ListOptions) -> Result<ObjectPage, ApiError> {
        let target = Target::collection(&gvr, options.namespace.as_deref().unwrap_or_default())?;
        self.may_list(&target, options.namespace.as_deref())?;
        let answer = self.read(list_request(&target, &options)?).await?;
        list_page(&answer, self.0.config.limits.response_bytes)
    }

    async fn create(
        &mut self,
        gvr: String,
        namespace: String,
        object: String,
        options: WriteOptions,
    ) -> Result<String, ApiError> {
        let head = body::object(&object)?;
        let (name, subresource) = (head.name()?.into_owned(), options.subresource.as_str());
        // A subresource such as `pods/eviction` is posted to its object, an object to its collection.
        let target = if subresource.is_empty() {
            if !name.is_empty() {
                check_name(&name)?;
            }
            Target::collection(&gvr, &namespace)?
        } else {
            let key = types::ObjectKey { namespace, name: name.clone() };
            Target::object(&gvr, key, subresource.to_owned())?
        };
        target.check(&head)?;
        unforced(&options)?;
        let write = Write { name: &name, ..Write::new(WriteVerb::Create, &target, options.dry_run) };
        let request = target.request(Method::POST).write(&self.0.config.name, &options);
        self.write(write, || request.body(JSON, body::compact(&object)?)).await
    }

    async fn update(
        &mut self,
        gvr: String,
        key: types::ObjectKey,
        object: String,
        options: WriteOptions,
    ) -> Result<String, ApiError> {
        let target = Target::object(&gvr, key, options.subresource.clone())?;
        let head = body::object(&object)?;
        target.check(&head)?;
        unforced(&options)?;
        // For some resources a PUT creates a missing object, whatever its `resourceVersion`. A `uid` is a precondition and
        // prevents that (`Store.Update` of k8s.io/apiserver).
        let may_create = target.subresource.is_none() && !head.has_uid()?;
        let write = Write { may_create, ..Write::new(WriteVerb::Update, &target, options.dry_run) };
        let request = target.request(Method::PUT).write(&self.0.config.name, &options);
        self.write(write, || request.body(JSON, body::compact(&object)?)).await
    }

    async fn patch(
        &mut self,
        gvr: String,
        key: types::ObjectKey,
        kind: PatchKind,
        body: String,
        options: WriteOptions,
    ) -> Result<String, ApiError> {
        let target = Target::object(&gvr, key, options.subresource.clone())?;
        let (verb, content_type) = match kind {
            PatchKind::Merge => (WriteVerb::Patch, "application/merge-patch+json"),
            PatchKind::JsonPatch => (WriteVerb::Patch, "application/json-patch+json"),
            PatchKind::StrategicMerge => (WriteVerb::Patch, "application/strategic-merge-patch+json"),
            // JSON is YAML.
            PatchKind::Apply => (WriteVerb::Apply, "application/apply-patch+yaml"),
        };
        match kind {
            PatchKind::JsonPatch => body::operations(&body)?,
            _ => target.check(&body::object(&body)?)?,
        }
        if verb != WriteVerb::Apply {
            unforced(&options)?;
        }
        let request = target.request(Method::PATCH).write(&self.0.config.name, &options);
        let write = Write::new(verb, &target, options.dry_run);
        self.write(write, || request.body(content_type, body::compact(&body)?)).await
    }

    async fn delete_object(
        &mut self,
        gvr: String,
        key: types::ObjectKey,
        options: DeleteOptions,
    ) -> Result<(), ApiError> {
        let target = Target::object(&gvr, key, String::new())?;
        let request = target.request(Method::DELETE);
        let write = Write::new(WriteVerb::Delete, &target, options.dry_run);
        self.write(write, || request.body(JSON, body::delete_options(&options).to_string())).await.map(drop)
    }

    async fn record_event(&mut self, event: ObjectEvent) -> Result<(), ApiError> {
        events::record(self, event).await
    }
}

fn unforced(options: &WriteOptions) -> Result<(), ApiError> {
    if options.force {
        return Err(ApiError::bad_argument("`force` is allowed for server-side apply only"));
    }
    Ok(())
}

fn list_request(target: &Target, options: &ListOptions) -> Result<Draft, ApiError> {
    let limit = if options.limit == 0 { PAGE } else { options.limit };
    let mut draft = target.request(Method::GET).query("limit", limit.to_string());
    for (what, key, text) in [
        ("label selector", "labelSelector", options.labels.as_str()),
        ("field selector", "fieldSelector", options.fields.as_str()),
        ("page token", "continue", options.token.as_deref().unwrap_or_default()),
    ] {
        if text.len() > TEXT_BYTES {
            let message = format!("a {what} has at most 16 KiB, and this one has {} bytes", text.len());
            return Err(ApiError::bad_argument(message));
        }
        if !text.is_empty() {
            draft = draft.query(key, text);
        }
    }
    Ok(draft)
}
