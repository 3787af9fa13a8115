//! Generated ConfigMaps: the settings of an application.

use std::ops::Range;

use super::{
    identity::{Container, Identity},
    render::{Render, metadata},
};

/// Renders ConfigMaps of 1 KiB.
pub(crate) struct ConfigMaps;

// === impl ConfigMaps ===

impl Render for ConfigMaps {
    fn containers(&self) -> &[Container] {
        &[]
    }

    fn head(&self, identity: &Identity, into: &mut String) -> Range<usize> {
        let managed = format!(
            r#"{{"manager":"helm","operation":"Update","apiVersion":"v1","time":"{}","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{".":{{}},"f:mode":{{}},"f:release":{{}},"f:settings.properties":{{}}}}}}}}"#,
            identity.changed
        );
        let version = metadata(identity, &managed, into);
        into.push_str(r#","data":"#);
        version
    }

    fn state(&self, identity: &Identity, changed: bool, into: &mut String) {
        let Identity { app, hash, zone, host_ip, pod_ip, namespace, .. } = identity;
        let mode = if changed { "standby" } else { "active" };
        into.push_str(&format!(
            r#"{{"mode":"{mode}","release":"{app}-{hash}","settings.properties":"server.address={host_ip}\nserver.peer={pod_ip}\ndatabase.url=jdbc:postgresql://{app}.{namespace}.svc:5432/{app}\ncache.zone={zone}\ncache.size=512\n"}}"#
        ));
    }
}
