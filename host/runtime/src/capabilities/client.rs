//! `client`: requests to the API server, within the grants, the limits and the arguments' own sense.
//!
//! Every request goes through the same gate: the arguments are read (`target`, `body`), the grant is looked up, a
//! token is taken from the plugin's budget (`budget`), and only then is it sent, over what the composition root
//! lends (`transport`). The deadline of the call covers the wait for all of it. Every write leaves an audit record
//! (`audit`), also one whose answer never came. Secrets need `secrets` besides.

mod audit;
mod body;
mod budget;
mod error;
mod events;
mod gate;
mod list;
mod source;
mod target;
mod transport;

use http::Method;
use informer_types::WriteVerb;

pub(crate) use source::ClientCounters;
pub use source::{ClientSource, ClientStats};
pub use transport::{ApiAnswer, ApiClient, ApiFailure, ApiRequest};

use crate::{
    bindings::informer::plugin::{
        client::{
            ApiError, DeleteOptions, Host, ListOptions, ObjectEvent, ObjectPage, PatchKind, Propagation,
            WriteOptions,
        },
        types,
    },
    guest::Guest,
};
use body::Identity;
use gate::Write;
use target::{Target, check_name};

const JSON: &str = "application/json";

impl Host for Guest {
    async fn get(
        &mut self,
        gvr: String,
        key: types::ObjectKey,
        subresource: String,
    ) -> Result<String, ApiError> {
        let target = Target::object(&gvr, key, subresource)?;
        self.may_read(&target)?;
        let answer = self.ask(target.request(Method::GET)).await?;
        error::text(answer.body)
    }

    async fn list_objects(&mut self, gvr: String, options: ListOptions) -> Result<ObjectPage, ApiError> {
        let target = Target::collection(&gvr, options.namespace.as_deref().unwrap_or_default())?;
        self.may_list(&target, options.namespace.as_deref())?;
        let answer = self.ask(list::request(&target, &options)?).await?;
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
        // `pods/eviction` is posted to the pod, an ordinary object to its collection.
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
        let request = target.request(Method::POST).write(&self.config.name, &options);
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
        // Some resources are created by a PUT, whatever `resourceVersion` it has; a `uid` is a precondition (`Store.Update`
        // of k8s.io/apiserver).
        let may_create = target.subresource.is_none() && !head.has_uid()?;
        let write =
            Write { verb: WriteVerb::Update, dry_run: options.dry_run, name: target.name(), may_create };
        let request = target.request(Method::PUT).write(&self.config.name, &options);
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
        let request = target.request(Method::PATCH).write(&self.config.name, &options);
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
        self.record(event).await
    }
}

fn unforced(options: &WriteOptions) -> Result<(), ApiError> {
    if options.force {
        return Err(ApiError::bad_argument("`force` has a meaning for server-side apply alone"));
    }
    Ok(())
}
