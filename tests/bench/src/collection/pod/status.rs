//! The status of a generated pod in the form of a kubelet.
//!
//! The recorded pods ran without a kubelet, so their status only has a phase, an address and two conditions. A real
//! status has a state, two digests and a restart count for each container. Most of that is random digits, which are hard
//! to compress.

use std::fmt::Write;

use super::super::identity::{Container, ContainerIdentity, Identity};

/// A status of a pod.
pub(crate) struct Status<'a> {
    phase: &'static str,
    ready: bool,
    restarts: u8,
    since: &'a str,
}

// === impl Status ===

impl<'a> Status<'a> {
    /// The listed status: nine of ten pods run and are ready.
    pub(crate) fn listed(identity: &'a Identity) -> Self {
        let ready = identity.dice >= 26;
        let phase = if ready { "Running" } else { "Pending" };
        Self { phase, ready, restarts: identity.dice % 3, since: &identity.created }
    }

    /// The status after an event: a container was restarted and is not ready, or has become ready.
    pub(crate) fn changed(identity: &'a Identity) -> Self {
        let listed = Self::listed(identity);
        Self {
            phase: "Running",
            ready: !listed.ready,
            restarts: listed.restarts + u8::from(listed.ready),
            since: &identity.changed,
        }
    }

    pub(crate) fn render(&self, identity: &Identity, containers: &[Container], into: &mut String) {
        // Writing to a string cannot fail.
        let _ = self.write(identity, containers, into);
    }

    fn write(&self, identity: &Identity, containers: &[Container], into: &mut String) -> std::fmt::Result {
        let Identity { created, host_ip, pod_ip, .. } = identity;
        let ready = if self.ready { "True" } else { "False" };
        write!(into, r#"{{"observedGeneration":1,"phase":"{}","conditions":["#, self.phase)?;
        let conditions = [
            ("PodReadyToStartContainers", "True", created.as_str()),
            ("Initialized", "True", created.as_str()),
            ("Ready", ready, self.since),
            ("ContainersReady", ready, self.since),
            ("PodScheduled", "True", created.as_str()),
        ];
        for (index, (kind, status, since)) in conditions.into_iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(
                into,
                r#"{comma}{{"type":"{kind}","observedGeneration":1,"status":"{status}","lastProbeTime":null,"lastTransitionTime":"{since}"}}"#
            )?;
        }
        write!(
            into,
            r#"],"hostIP":"{host_ip}","hostIPs":[{{"ip":"{host_ip}"}}],"podIP":"{pod_ip}","podIPs":[{{"ip":"{pod_ip}"}}],"startTime":"{created}""#
        )?;
        for (field, initial) in [("initContainerStatuses", true), ("containerStatuses", false)] {
            let of_kind =
                containers.iter().zip(&identity.containers).filter(|(kind, _)| kind.initial == initial);
            let mut open = false;
            for (container, identity) in of_kind {
                if open {
                    into.push(',');
                } else {
                    write!(into, r#","{field}":["#)?;
                    open = true;
                }
                self.write_container(container, identity, into)?;
            }
            if open {
                into.push(']');
            }
        }
        into.push_str(r#","qosClass":"BestEffort"}"#);
        Ok(())
    }

    fn write_container(
        &self,
        container: &Container,
        identity: &ContainerIdentity,
        into: &mut String,
    ) -> std::fmt::Result {
        let ContainerIdentity { image, digest, id } = identity;
        let (name, since) = (&container.name, self.since);
        write!(into, r#"{{"name":"{name}","state":"#)?;
        if container.initial {
            write!(
                into,
                r#"{{"terminated":{{"exitCode":0,"reason":"Completed","startedAt":"{since}","finishedAt":"{since}","containerID":"containerd://{id}"}}}}"#
            )?;
        } else {
            write!(into, r#"{{"running":{{"startedAt":"{since}"}}}}"#)?;
        }
        let repository = image.rsplit_once(':').map_or(image.as_str(), |(repository, _)| repository);
        let (restarts, ready) = (self.restarts, self.ready || container.initial);
        write!(
            into,
            r#","lastState":{{}},"ready":{ready},"restartCount":{restarts},"image":"{image}","imageID":"{repository}@sha256:{digest}","containerID":"containerd://{id}","started":{ready}}}"#
        )
    }
}
