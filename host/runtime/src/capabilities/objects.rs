//! `objects`: fields of the objects that the call is about, by token.

mod held;

use std::sync::Arc;

use informer_types::Part;
use wasmtime::component::HasSelf;

pub(crate) use held::Objects;

use super::{
    answer::{Budget, Undeclared, meta, meta_bytes, values},
    interface::Interface,
};
use crate::{
    PluginConfig,
    bindings::informer::plugin::{
        objects,
        types::{self, Error, ObjectMeta},
    },
    guest::Guest,
};
use held::Held;

pub(super) const INTERFACES: &[Interface] = &[
    Interface::ours("informer:plugin/objects", |instance| {
        objects::add_to_linker_instance::<_, HasSelf<Guest>>(instance, Guest::called)
    }),
    // The values that the interfaces share. It has no functions.
    Interface::ours("informer:plugin/types", |instance| {
        types::add_to_linker_instance::<_, HasSelf<Guest>>(instance, Guest::called)
    }),
];

impl types::Host for Guest {}

impl objects::Host for Guest {
    fn meta(&mut self, id: u32) -> Result<ObjectMeta, Error> {
        let meta = meta(&self.call.objects.get(id)?.object);
        self.receives(meta_bytes(&meta));
        Ok(meta)
    }

    fn json(&mut self, id: u32) -> Result<String, Error> {
        self.call.objects.unpack(&[id])?;
        let json = self.call.objects.get(id)?.seen()?.text();
        Budget::new(self.config.limits.response_bytes).spend(json.len())?;
        let json = json.to_owned();
        self.receives(json.len());
        Ok(json)
    }

    fn get(&mut self, id: u32, pointer: String) -> Result<Option<String>, Error> {
        let values = self.get_many(id, vec![pointer])?;
        Ok(values.into_iter().next().flatten())
    }

    fn get_many(&mut self, id: u32, wanted: Vec<String>) -> Result<Vec<Option<String>>, Error> {
        let parts = self.query.parts(wanted)?;
        check_declared(&self.config, self.call.objects.get(id)?, &parts)?;
        self.call.objects.unpack(&[id])?;
        let mut budget = Budget::new(self.config.limits.response_bytes);
        let values = values(self.call.objects.get(id)?.seen()?, &parts, &mut budget)?;
        self.receives(budget.used());
        Ok(values)
    }

    fn differs(&mut self, old: u32, new: u32, wanted: Vec<String>) -> Result<bool, Error> {
        let parts = self.query.parts(wanted)?;
        let objects = &mut self.call.objects;
        let (before, now) = (objects.get(old)?, objects.get(new)?);
        // The objects of a batch may be of different resources, each with its own declaration.
        check_declared(&self.config, before, &parts)
            .and_then(|()| check_declared(&self.config, now, &parts))?;
        if Arc::ptr_eq(&before.object, &now.object) {
            return Ok(false);
        }
        objects.unpack(&[old, new])?;
        objects.get(new)?.seen()?.differs(objects.get(old)?.seen()?, &parts)
    }
}

/// Refuses parts that the plugin does not declare to read of this object.
fn check_declared(config: &PluginConfig, held: &Held, parts: &[Part]) -> Result<(), Error> {
    match Undeclared::of(config, held.source.gvr(), parts) {
        Some(undeclared) => undeclared.check(&held.object),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Gvr, Header, Object, Reads, Source};

    use super::*;
    use crate::{
        bindings::informer::plugin::types::ErrorCode, capabilities::secret::Sight, guest::tests::idle,
    };

    #[tokio::test]
    async fn a_comparison_reads_of_each_object_only_what_the_plugin_declares_for_its_resource() {
        let [pods, config_maps] = ["v1/pods", "v1/configmaps"].map(|gvr| gvr.parse::<Gvr>().unwrap());
        let reads = Reads::new(&["/data".parse::<Part>().unwrap()], false);
        let reads = [(config_maps.clone(), reads)].into();
        let mut guest = idle(|config| config.reads = reads);
        let mut hold = |gvr: &Gvr| {
            let object = Object::new(&Header::default(), Body::Raw(r#"{"spec":1}"#.into())).unwrap();
            guest.call.objects.hold(Source::new(gvr.clone()), Arc::new(object), Sight::Whole)
        };
        let (pod, other, config_map) = (hold(&pods), hold(&pods), hold(&config_maps));

        let mut differs = |old: u32, new: u32, pointer: &str| {
            let answer = objects::Host::differs(&mut guest, old, new, vec![pointer.to_owned()]);
            answer.map_err(|error| error.code)
        };

        assert_eq!(differs(pod, other, "/spec"), Ok(false), "of pods the plugin declares nothing");
        for (old, new) in [(config_map, pod), (pod, config_map), (config_map, config_map)] {
            assert_eq!(differs(old, new, "/spec"), Err(ErrorCode::Invalid), "{old} {new}");
            assert_eq!(differs(old, new, "/data"), Ok(false), "{old} {new}");
        }
    }
}
