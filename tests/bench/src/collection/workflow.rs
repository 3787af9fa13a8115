//! Generated custom objects: a workflow with many steps, as a workflow engine keeps it.

use std::{fmt::Write, ops::Range};

use super::{
    identity::{Container, ContainerIdentity, Identity},
    render::{Render, metadata},
};

const STEPS: usize = 56;

/// Renders workflows of 50 KiB.
pub(crate) struct Workflows {
    steps: Vec<Container>,
}

// === impl Workflows ===

impl Workflows {
    pub(crate) fn new() -> Self {
        Self { steps: (0..STEPS).map(|step| Container::new(format!("step-{step:02}"))).collect() }
    }

    fn steps<'a>(&'a self, of: &'a Identity) -> impl Iterator<Item = (&'a str, &'a ContainerIdentity)> {
        self.steps.iter().map(|step| step.name.as_str()).zip(&of.containers)
    }

    fn write_spec(&self, identity: &Identity, into: &mut String) -> std::fmt::Result {
        let Identity { app, namespace, .. } = identity;
        write!(into, r#","spec":{{"entrypoint":"{app}","templates":["#)?;
        for (index, (step, ContainerIdentity { image, .. })) in self.steps(identity).enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(
                into,
                r#"{comma}{{"name":"{step}","container":{{"name":"main","image":"{image}","command":["/bin/run"],"args":["--step","{step}","--input","s3://artifacts/{namespace}/{app}/{step}"],"env":[{{"name":"STEP","value":"{step}"}}],"resources":{{"requests":{{"cpu":"500m","memory":"256Mi"}}}}}},"retryStrategy":{{"limit":"3","retryPolicy":"OnError"}}}}"#
            )?;
        }
        into.push_str("]}");
        Ok(())
    }

    fn write_status(&self, identity: &Identity, changed: bool, into: &mut String) -> std::fmt::Result {
        let Identity { name, created, changed: finished, node, .. } = identity;
        let phase = if changed { "Running" } else { "Pending" };
        write!(into, r#"{{"phase":"{phase}","startedAt":"{created}","nodes":{{"#)?;
        for (index, (step, ContainerIdentity { digest, id, .. })) in self.steps(identity).enumerate() {
            // An event moves one step forward.
            let is_done = index < STEPS / 2 || (index == STEPS / 2 && changed);
            let (comma, phase) =
                (if index == 0 { "" } else { "," }, if is_done { "Succeeded" } else { "Pending" });
            let finished = if is_done { finished.as_str() } else { "" };
            write!(
                into,
                r#"{comma}"{name}-{index}":{{"id":"{name}-{index}","displayName":"{step}","type":"Pod","templateName":"{step}","phase":"{phase}","startedAt":"{created}","finishedAt":"{finished}","hostNodeName":"{node}","progress":"1/1","message":"container {id}","outputs":{{"artifacts":[{{"name":"result","digest":"sha256:{digest}"}}]}}}}"#
            )?;
        }
        into.push_str("}}");
        Ok(())
    }
}

impl Render for Workflows {
    fn containers(&self) -> &[Container] {
        &self.steps
    }

    fn head(&self, identity: &Identity, into: &mut String) -> Range<usize> {
        let managed = format!(
            r#"{{"manager":"workflow-controller","operation":"Update","apiVersion":"bench.example.com/v1","time":"{}","fieldsType":"FieldsV1","fieldsV1":{{"f:spec":{{"f:entrypoint":{{}},"f:templates":{{}}}},"f:status":{{"f:phase":{{}},"f:nodes":{{}}}}}}}}"#,
            identity.changed
        );
        let version = metadata(identity, &managed, into);
        // Writing to a string cannot fail.
        let _ = self.write_spec(identity, into);
        into.push_str(r#","status":"#);
        version
    }

    fn state(&self, identity: &Identity, changed: bool, into: &mut String) {
        let _ = self.write_status(identity, changed, into);
    }
}
