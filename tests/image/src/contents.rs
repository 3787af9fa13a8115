//! What is in the image.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::{
    debian::{Content, Package},
    platform::Platform,
    tree::{Tree, USER},
};

/// The packages that files are taken from.
pub const PACKAGES: [&str; 4] = ["base-files", "ca-certificates", "libc6", "libgcc-s1"];

/// The libraries that the binary and the name service of glibc load.
const LIBRARIES: [&str; 9] = [
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libnss_dns.so.2",
    "libnss_files.so.2",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
];

/// The path of the binary.
pub const PROGRAM: &str = "usr/bin/informer";

/// The path of the example component. The configuration that `host/deploy` installs names it.
pub const COMPONENT: &str = "usr/share/informer/deployments.wasm";

/// The directory of the ready-made plugins: of each the component and its part of a configuration, which `include` names.
pub const READY_MADE: &str = "usr/share/informer/plugins";

/// The path of the list of crates and packages.
pub const SBOM: &str = "usr/share/doc/informer/sbom.spdx.json";

/// The name of the package with the licence of libgcc, for example `gcc-12-base`.
#[must_use]
pub fn licence_of_libgcc(packages: &[Package]) -> Option<&str> {
    let mut dependencies = packages.iter().flat_map(Package::dependencies);
    dependencies.find(|name| name.starts_with("gcc-") && name.ends_with("-base"))
}

/// The files of the packages: glibc, certificates, a user and the descriptions of the packages, by which scanners know them.
///
/// # Errors
/// A package cannot be read or lacks a file.
pub fn base(packages: &[Package], platform: Platform) -> Result<Tree> {
    let mut tree = Tree::default();
    // As in every Debian since 12.
    for name in ["bin", "lib", "lib64", "sbin"] {
        tree.directory(&format!("usr/{name}"));
        tree.link(name, &format!("usr/{name}"));
    }
    for name in ["dev", "proc", "sys", "run", "etc/informer"] {
        tree.directory(name);
    }
    tree.private_directory("var/lib/informer");
    tree.private_directory("var/cache/informer");
    tree.file("etc/passwd", format!("root:x:0:0:root:/root:/sbin/nologin\ninformer:x:{USER}:{USER}:informer:/var/lib/informer:/sbin/nologin\n"));
    tree.file("etc/group", format!("root:x:0:\ninformer:x:{USER}:\n"));
    tree.file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
    let mut authorities = Vec::new();
    for package in packages {
        tree.file(&format!("var/lib/dpkg/status.d/{}", package.name), package.control.clone());
        for (path, content) in package.files(|path| is_wanted(path, platform))? {
            match content {
                Content::File(bytes) if path.starts_with("usr/share/ca-certificates/") => {
                    authorities.push((path, bytes));
                }
                // The loader is started as a program.
                Content::File(bytes) if path.contains("/ld-linux") => tree.program(&path, bytes),
                Content::File(bytes) => tree.file(&path, bytes),
                Content::Link(target) => tree.link(&path, &merged(&target)),
            }
        }
    }
    tree.file("etc/ssl/certs/ca-certificates.crt", bundle(authorities));
    check(&tree, platform)?;
    Ok(tree)
}

/// A ready-made plugin.
#[derive(Clone, Debug)]
pub struct ReadyMade {
    /// Its name in file names and in the configuration.
    pub name: String,
    /// The component.
    pub component: Vec<u8>,
    /// Its part of a configuration, as it is in the repository.
    pub configuration: String,
}

impl ReadyMade {
    /// The part of the configuration for the image, where the component is beside it.
    ///
    /// # Errors
    /// The configuration does not have one line with `source`.
    pub fn fragment(&self) -> Result<String> {
        let is_source = |line: &&str| line.starts_with("source = ");
        if self.configuration.lines().filter(is_source).count() != 1 {
            bail!("the configuration of {} has no line, or several, with `source = `", self.name);
        }
        let source = format!("source = \"{}.wasm\"", self.name);
        let lines = self.configuration.lines();
        Ok(lines.map(|line| if is_source(&line) { &source } else { line }.to_owned() + "\n").collect())
    }
}

/// The binary, the components and the list of what is inside.
///
/// # Errors
/// The configuration of a ready-made plugin does not name its component.
pub fn program(
    binary: Vec<u8>,
    component: Vec<u8>,
    ready_made: Vec<ReadyMade>,
    sbom: &str,
    licence: &str,
) -> Result<Tree> {
    let mut tree = Tree::default();
    tree.program(PROGRAM, binary);
    tree.file(COMPONENT, component);
    for plugin in ready_made {
        tree.file(&format!("{READY_MADE}/{}.toml", plugin.name), plugin.fragment()?);
        tree.file(&format!("{READY_MADE}/{}.wasm", plugin.name), plugin.component);
    }
    tree.file(SBOM, sbom);
    tree.file("usr/share/doc/informer/LICENSE", licence);
    Ok(tree)
}

/// Options of glibc's allocator. Blocks of a MiB and more are mapped, and unmapped as soon as they are freed; by default glibc maps
/// no block that is as large as one it has unmapped, so that what a dictionary is trained with would stay resident. Few arenas
/// leave less free memory between blocks. With both the host of the ready-made plugins takes 59 MiB instead of 69.
pub const ALLOCATOR: &str =
    "glibc.malloc.arena_max=2:glibc.malloc.mmap_threshold=1048576:glibc.malloc.trim_threshold=524288";

/// How the host starts.
#[must_use]
pub fn process() -> Value {
    json!({
        "User": format!("{USER}:{USER}"),
        "Entrypoint": [format!("/{PROGRAM}")],
        "Cmd": ["run"],
        "WorkingDir": "/",
        "Env": [
            "PATH=/usr/bin",
            "INFORMER_CONFIG=/etc/informer/informer.toml",
            // The directories of state and cache are `informer` in these.
            "XDG_STATE_HOME=/var/lib",
            "XDG_CACHE_HOME=/var/cache",
            "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
            format!("GLIBC_TUNABLES={ALLOCATOR}"),
        ],
        "ExposedPorts": {"8081/tcp": {}},
    })
}

fn is_wanted(path: &str, platform: Platform) -> bool {
    let library = path.strip_prefix("usr/lib/").and_then(|path| path.strip_prefix(platform.libraries));
    let name = path.rsplit('/').next().unwrap_or_default();
    match library {
        Some(rest) => LIBRARIES.contains(&rest.trim_start_matches('/')) || rest.starts_with("/ld-linux"),
        None => {
            name.starts_with("ld-linux")
                || path == "usr/lib/os-release"
                || path == "etc/os-release"
                || path.starts_with("usr/share/ca-certificates/mozilla/")
                || (path.starts_with("usr/share/doc/") && name == "copyright")
                // A link to the package with the licence.
                || path == "usr/share/doc/libgcc-s1"
        }
    }
}

/// Links of Debian 12 lead to `/lib`, which is a link itself.
fn merged(target: &str) -> String {
    match target.strip_prefix("/lib") {
        Some(rest) => format!("/usr/lib{rest}"),
        None => target.to_owned(),
    }
}

/// One file of all authorities in the order of their names.
fn bundle(mut authorities: Vec<(String, Vec<u8>)>) -> Vec<u8> {
    authorities.sort();
    let mut bundle = Vec::new();
    for (_, bytes) in authorities {
        bundle.extend_from_slice(&bytes);
        if !bytes.ends_with(b"\n") {
            bundle.push(b'\n');
        }
    }
    bundle
}

/// A package whose files moved would give an image that does not start.
fn check(tree: &Tree, platform: Platform) -> Result<()> {
    let has = |name: &str| tree.paths().any(|path| path.ends_with(name));
    let needed = ["/libc.so.6", "/libm.so.6", "/libgcc_s.so.1", "usr/lib/os-release"];
    for name in needed {
        if !has(name) {
            bail!("the packages for {} have no {name}", platform.architecture);
        }
    }
    if !tree.paths().any(|path| path.contains("/ld-linux")) {
        bail!("the packages for {} have no loader", platform.architecture);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::PLATFORMS;

    #[test]
    fn only_libraries_certificates_and_licences_are_taken() {
        let amd64 = PLATFORMS[0];
        let wanted = [
            "usr/lib/x86_64-linux-gnu/libc.so.6",
            "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
            "usr/lib64/ld-linux-x86-64.so.2",
            "usr/share/ca-certificates/mozilla/ISRG_Root_X1.crt",
            "usr/share/doc/libc6/copyright",
            "usr/lib/os-release",
        ];
        let unwanted = [
            "usr/lib/x86_64-linux-gnu/gconv/UTF-16.so",
            "usr/lib/x86_64-linux-gnu/libmemusage.so",
            "usr/bin/ldd",
            "usr/sbin/update-ca-certificates",
            "etc/ca-certificates.conf",
            "bin/sh",
            "usr/share/doc/libc6/changelog.gz",
        ];

        assert!(wanted.iter().all(|path| is_wanted(path, amd64)));
        let taken: Vec<_> = unwanted.iter().filter(|path| is_wanted(path, amd64)).collect();
        assert_eq!(taken, Vec::<&&str>::new());
    }

    #[test]
    fn authorities_are_joined_in_the_order_of_their_names_each_on_lines_of_its_own() {
        let files = vec![("b".to_owned(), b"B\n".to_vec()), ("a".to_owned(), b"A".to_vec())];

        assert_eq!(bundle(files), b"A\nB\n");
    }
}
