//! Settings of the kernel that the kubelet changes for the whole machine.

use std::fs;

/// The settings that the kubelet writes when it starts.
const SETTINGS: [&str; 6] = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
];

/// The settings before the kubelet started. Dropping this restores them.
#[derive(Debug)]
pub(super) struct Kernel(Vec<(&'static str, String)>);

// === impl Kernel ===

impl Kernel {
    pub(super) fn remember() -> Self {
        let read = |name| Some((name, fs::read_to_string(format!("/proc/sys/{name}")).ok()?));
        Self(SETTINGS.into_iter().filter_map(read).collect())
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        for (name, value) in &self.0 {
            let path = format!("/proc/sys/{name}");
            // A setting that the kubelet could not write needs no restoring.
            if fs::read_to_string(&path).is_ok_and(|now| now != *value) {
                let _ = fs::write(&path, value);
            }
        }
    }
}
