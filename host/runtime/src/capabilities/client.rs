//! `client`: requests to the API server, within the grants and limits of the plugin.
//!
//! Every request takes the same steps: the arguments are checked (`target`, `body`), the grant is looked up (`gate`), a
//! token is taken from the plugin's budget (`budget`), and then the request is sent (`transport`). The deadline of the call
//! covers all these waits. Every write leaves an audit record (`audit`), even if its answer never arrives. Requests about
//! Secrets also need the grant `secrets`.

mod audit;
mod body;
mod budget;
mod counters;
mod draft;
mod error;
mod events;
mod gate;
mod identity;
mod list;
mod source;
mod target;
mod transport;
mod write;

use http::Method;
use informer_types::WriteVerb;

pub(crate) use counters::ClientCounters;
pub use counters::ClientStats;
pub use source::ClientSource;
pub use transport::{ApiAnswer, ApiClient, ApiFailure, ApiRequest};

use super::interface::{Grant, Interface};
use crate::bindings::informer::plugin::{
    client::{
        self, ApiError, DeleteOptions, Host, ListOptions, ObjectEvent, ObjectPage, PatchKind, Propagation,
        WriteOptions,
    },
    types,
};
use draft::JSON;
use gate::Calls;
use identity::Identity;
use target::{Target, check_name};
use write::Write;

pub(super) const INTERFACES: &[Interface] = &[Interface {
    grant: Some(Grant {
        example: "write = [\"patch apps/v1/deployments @default\"]",
        is_given: |grants| grants.write.is_some(),
    }),
    ..Interface::ours("informer:plugin/client", |linker| {
        client::add_to_linker::<_, Calls<'static>>(linker, |guest| Calls(guest.called()))
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
        let answer = self.read(list::request(&target, &options)?).await?;
        list::page(&answer.body)
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
        Identity::of_new(&target).check(&head)?;
        unforced(&options)?;
        let write =
            Write { verb: WriteVerb::Create, dry_run: options.dry_run, name: &name, may_create: false };
        let request = target.request(Method::POST).write(&self.0.config.name, &options);
        self.write(write, &target, || request.body(JSON, body::compact(&object)?)).await
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
        Identity::of(&target).check(&head)?;
        unforced(&options)?;
        // For some resources a PUT creates a missing object, whatever its `resourceVersion`. A `uid` is a precondition and
        // prevents that (`Store.Update` of k8s.io/apiserver).
        let may_create = target.subresource.is_none() && !head.has_uid()?;
        let write =
            Write { verb: WriteVerb::Update, dry_run: options.dry_run, name: target.name(), may_create };
        let request = target.request(Method::PUT).write(&self.0.config.name, &options);
        self.write(write, &target, || request.body(JSON, body::compact(&object)?)).await
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
            _ => Identity::of(&target).check(&body::object(&body)?)?,
        }
        if verb != WriteVerb::Apply {
            unforced(&options)?;
        }
        let request = target.request(Method::PATCH).write(&self.0.config.name, &options);
        let write = Write { verb, dry_run: options.dry_run, name: target.name(), may_create: false };
        self.write(write, &target, || request.body(content_type, body::compact(&body)?)).await
    }

    async fn delete_object(
        &mut self,
        gvr: String,
        key: types::ObjectKey,
        options: DeleteOptions,
    ) -> Result<(), ApiError> {
        let target = Target::object(&gvr, key, String::new())?;
        let body = body::delete_options(
            options.dry_run,
            options.uid.as_deref(),
            options.resource_version.as_deref(),
            options.propagation.map(|propagation| match propagation {
                Propagation::Background => "Background",
                Propagation::Foreground => "Foreground",
                Propagation::Orphan => "Orphan",
            }),
        );
        let request = target.request(Method::DELETE);
        let write = Write {
            verb: WriteVerb::Delete,
            dry_run: options.dry_run,
            name: target.name(),
            may_create: false,
        };
        self.write(write, &target, || request.body(JSON, body.to_string())).await.map(drop)
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
