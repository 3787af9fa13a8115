//! How much memory this process may use: the memory of the machine, or less if a control group limits it.

use std::{
    fs::read_to_string,
    path::{Path, PathBuf},
};

/// Bytes of memory. Returns `None` if the system does not report them.
pub fn memory_bytes() -> Option<u64> {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).into_iter().filter_map(|file| limit(&read_to_string(file).ok()?));
    limits.chain(machine).min()
}

/// A share of [`memory_bytes`], as a number of eighths. By default, two eighths are for cached objects, two are for guests, and three are
/// for a process that compiles. The last eighth is for the host itself.
pub fn memory_eighths(eighths: u64) -> Option<u64> {
    memory_bytes().map(|bytes| (bytes / 8).saturating_mul(eighths))
}

/// `MemTotal:       16384000 kB`
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The files with the limit of each group that this process is in, by the lines of `/proc/self/cgroup`: `0::/a/b` of version
/// 2, and `4:memory:/a/b` of version 1. In a container the path may be that of the host, so the limit at the root counts too.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (root, file) = match parts.next() {
            Some("") => ("/sys/fs/cgroup", "memory.max"),
            Some(controllers) if controllers.split(',').any(|one| one == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = Path::new(parts.next().unwrap_or_default());
        let group = group.strip_prefix("/").unwrap_or(group);
        files.extend(group.ancestors().map(|group| Path::new(root).join(group).join(file)));
    }
    files
}

/// `max` means no limit.
fn limit(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_machine_is_read_in_kibibytes() {
        let meminfo = "MemTotal:       16384256 kB\nMemFree:         1024000 kB\n";

        assert_eq!(total(meminfo), Some(16_384_256 * 1024));
        assert_eq!(total("MemFree: 1 kB"), None);
    }

    #[test]
    fn the_limit_of_every_group_above_the_process_counts() {
        let files = |groups| -> Vec<String> {
            limit_files(groups).iter().map(|file| file.display().to_string()).collect()
        };

        let expected = [
            "/sys/fs/cgroup/kube/pod/memory.max",
            "/sys/fs/cgroup/kube/memory.max",
            "/sys/fs/cgroup/memory.max",
        ];
        assert_eq!(files("0::/kube/pod\n"), expected);
        assert_eq!(files("0::/\n"), ["/sys/fs/cgroup/memory.max"]);
        let expected = [
            "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        ];
        assert_eq!(files("5:cpu,cpuacct:/docker\n4:memory:/docker\n"), expected);
    }

    #[test]
    fn a_group_without_a_limit_says_max() {
        assert_eq!((limit("268435456\n"), limit("max\n")), (Some(256 << 20), None));
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(memory_bytes().is_some_and(|bytes| bytes > 64 << 20));
    }
}
