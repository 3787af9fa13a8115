//! The container image: `cargo xtask image`.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use crate::{
    command::{Run, Step, cargo, root, target_dir},
    guests,
};

/// A platform that images can be built for.
struct Platform {
    architecture: &'static str,
    target: &'static str,
    /// True if Rust links for this target with LLD.
    lld: bool,
    /// The linker and C compiler on a machine of another architecture.
    cross: Cross,
}

struct Cross {
    compiler: &'static str,
    archiver: &'static str,
    package: &'static str,
}

const PLATFORMS: [Platform; 2] = [
    Platform {
        architecture: "amd64",
        target: "x86_64-unknown-linux-gnu",
        lld: true,
        cross: Cross {
            compiler: "x86_64-linux-gnu-gcc",
            archiver: "x86_64-linux-gnu-ar",
            package: "gcc-x86-64-linux-gnu libc6-dev-amd64-cross",
        },
    },
    Platform {
        architecture: "arm64",
        target: "aarch64-unknown-linux-gnu",
        lld: false,
        cross: Cross {
            compiler: "aarch64-linux-gnu-gcc",
            archiver: "aarch64-linux-gnu-ar",
            package: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        },
    },
];

/// The path of the linker script that names the functions which come first in the binary, from the root of the repository.
pub(crate) const FUNCTION_ORDER: &str = "host/function-order.ld";

/// The name of the image. Clusters that load images by hand, such as kind, find it by this name.
const NAME: &str = "localhost/informer";

/// Builds the image for the platform of this machine, or for those that are named: `[amd64] [arm64]`.
///
/// # Errors
/// A name is wrong, a tool is missing, or a build fails.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let platforms = chosen(arguments)?;
    let component = guests::build_example()?;
    let ready_made = guests::build_ready_made()?.into_iter().map(|(name, component)| {
        let configuration = root().join("plugins").join(name).join("informer.toml");
        format!("--ready-made={name}={component},{}", configuration.display())
    });
    let out = target_dir().join("image");
    fs::create_dir_all(&out).map_err(|error| format!("cannot make {}: {error}", out.display()))?;
    let mut packed = Vec::new();
    for platform in platforms {
        let Built { binary, .. } = platform.build()?;
        let tree = out.join(format!("crates-{}", platform.architecture));
        fs::write(&tree, platform.crates()?)
            .map_err(|error| format!("cannot write {}: {error}", tree.display()))?;
        packed.push(format!("--binary={}={},{}", platform.architecture, binary.display(), tree.display()));
    }
    packed.extend(ready_made);
    pack(&packed, &component, &out)
}

/// A built binary of the image.
pub(crate) struct Built {
    pub(crate) binary: PathBuf,
    /// The path of the map that LLD writes. For arm64 the file does not exist.
    pub(crate) map: PathBuf,
}

/// Builds the binary of the image for this machine.
///
/// # Errors
/// There is no image for the architecture of this machine, or the build fails.
pub(crate) fn build() -> Result<Built, String> {
    let native = PLATFORMS.iter().find(|platform| platform.is_native());
    native.ok_or_else(|| format!("no image for {}", std::env::consts::ARCH))?.build()
}

/// A copy of the order of functions for the linker. The name of the copy depends on the content, because Cargo links again only if an
/// argument changes.
fn function_order(folder: &Path) -> Result<PathBuf, String> {
    let order = fs::read(root().join(FUNCTION_ORDER))
        .map_err(|error| format!("cannot read {FUNCTION_ORDER}: {error}"))?;
    let mut hasher = DefaultHasher::new();
    order.hash(&mut hasher);
    let copy = folder.join(format!("function-order-{:016x}.ld", hasher.finish()));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&copy, order))
        .map_err(|error| format!("cannot write {}: {error}", copy.display()))?;
    Ok(copy)
}

/// Returns true if the glibc of this machine, which is also the glibc of the image, reads packed relocations. An older glibc cannot start
/// a binary with packed relocations.
fn packs_relocations() -> bool {
    let printed = Run::new("getconf", &["GNU_LIBC_VERSION"]).output();
    printed.is_ok_and(|version| reads_packed_relocations(&version))
}

/// Returns true for `glibc 2.36` and newer versions.
fn reads_packed_relocations(version: &str) -> bool {
    let numbers = version.trim().strip_prefix("glibc ").unwrap_or_default().split('.');
    let mut numbers = numbers.map(|number| number.parse::<u32>().ok());
    let (major, minor) = (numbers.next().flatten(), numbers.next().flatten());
    (major, minor) >= (Some(2), Some(36))
}

fn pack(packed: &[String], component: &str, out: &Path) -> Result<(), String> {
    let revision = git(&["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"], "unknown");
    let time = ["log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%cd"];
    let created = git(&time, "1970-01-01T00:00:00Z");
    let mut arguments = vec!["run", "--quiet", "--package", "informer-image", "--"];
    arguments.extend(packed.iter().map(String::as_str));
    let (root, out) = (root().display().to_string(), out.display().to_string());
    arguments.extend(["--component", component, "--root", &root, "--out", &out, "--name", NAME]);
    arguments.extend(["--revision", &revision, "--created", &created]);
    cargo(&arguments).run(&Step::new("pack the image"))
}

/// What git prints, or another text outside a repository.
fn git(arguments: &[&str], otherwise: &str) -> String {
    let printed = Run::new("git", arguments).env("TZ", "UTC").output();
    printed.map_or_else(|_| otherwise.to_owned(), |printed| printed.trim().to_owned())
}

fn chosen(arguments: &[String]) -> Result<Vec<&'static Platform>, String> {
    if arguments.is_empty() {
        return Ok(PLATFORMS.iter().filter(|platform| platform.is_native()).collect());
    }
    let find = |name: &String| {
        let found = PLATFORMS.iter().find(|platform| platform.architecture == name);
        found.ok_or_else(|| format!("image takes `amd64` and `arm64`, not `{name}`"))
    };
    arguments.iter().map(find).collect()
}

// === impl Platform ===

impl Platform {
    fn is_native(&self) -> bool {
        self.target.starts_with(std::env::consts::ARCH)
    }

    /// Builds the binary. It names no directory of this machine, so each clone gives the same binary.
    fn build(&self) -> Result<Built, String> {
        guests::add_target(self.target)?;
        let folder = target_dir().join(self.target).join("dist");
        let built = Built { binary: folder.join("informer"), map: folder.join("informer.map") };
        let arguments =
            ["rustc", "--locked", "--profile", "dist", "--package", "informer", "--bin", "informer"];
        let mut linked = Vec::new();
        if self.lld {
            // Without the order, the executed functions are spread over the whole binary, and half of the binary becomes resident.
            linked.push(format!("-Clink-arg=-T{}", function_order(&folder)?.display()));
            linked.push(format!("-Clink-arg=-Wl,-Map={}", built.map.display()));
            if packs_relocations() {
                // Packed relocations take 20 KB instead of a megabyte.
                linked.push("-Clink-arg=-Wl,-z,pack-relative-relocs".to_owned());
            }
        }
        let mut line = [arguments.as_slice(), &["--target", self.target, "--"]].concat();
        line.extend(linked.iter().map(String::as_str));
        let home = std::env::var("CARGO_HOME")
            .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
            .unwrap_or_default();
        let root = root().canonicalize().map_err(|error| format!("no root: {error}"))?;
        let flags = [
            format!("--remap-path-prefix={home}=/cargo"),
            format!("--remap-path-prefix={}=/informer", root.display()),
            format!("--remap-path-prefix={}=/target", target_dir().display()),
        ];
        let mut run = cargo(&line).env("CARGO_ENCODED_RUSTFLAGS", &flags.join("\u{1f}"));
        let Cross { compiler, archiver, package } = &self.cross;
        if !self.is_native() {
            let name = self.target.replace('-', "_");
            run = run
                .env(&format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()), compiler)
                .env(&format!("CC_{name}"), compiler)
                .env(&format!("AR_{name}"), archiver);
        }
        run.run(&Step::new(format!("build the host for {}", self.architecture))).map_err(|problem| {
            if self.is_native() {
                return problem;
            }
            format!("{problem}\nit needs a C compiler for {}: apt-get install {package}", self.architecture)
        })?;
        Ok(built)
    }

    /// The crates of the binary with their licences, one for each line.
    fn crates(&self) -> Result<String, String> {
        let arguments =
            ["tree", "--locked", "--package", "informer", "--edges", "normal,build", "--prefix", "none"];
        cargo(&[&arguments[..], &["--format", "{p}|{l}", "--target", self.target]].concat()).output()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relocations_are_packed_only_if_the_glibc_of_the_image_reads_them() {
        for version in ["glibc 2.36\n", "glibc 2.41", "glibc 3.0"] {
            assert!(reads_packed_relocations(version), "{version}");
        }
        for version in ["glibc 2.35\n", "glibc 2.9", "glibc 2", "glibc", "", "musl 1.2"] {
            assert!(!reads_packed_relocations(version), "{version}");
        }
    }
}
