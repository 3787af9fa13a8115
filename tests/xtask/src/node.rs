//! The image on a real node: `cargo xtask test --node`.

use crate::{
    command::{Run, Step, cargo, target_dir},
    guests, image,
    tool::{GO, Tool},
};

const PACKAGES: &str =
    "run `apt-get install containerd runc containernetworking-plugins iptables iproute2 busybox-static`";

/// The programs of the Debian packages.
const TOOLS: [Tool; 6] = [
    GO,
    Tool { program: "containerd", version: "--version", install: PACKAGES },
    Tool { program: "runc", version: "--version", install: PACKAGES },
    Tool { program: "iptables", version: "--version", install: PACKAGES },
    Tool { program: "ip", version: "-Version", install: PACKAGES },
    Tool { program: "/bin/busybox", version: "true", install: PACKAGES },
];

/// Builds the image, and runs the suite in a network namespace of its own.
///
/// # Errors
/// This is not root, a build or a test fails, or `CI` is set and a tool is missing.
pub(crate) fn run() -> Result<(), String> {
    if !Tool::all_run(&TOOLS, "node")? {
        return Ok(());
    }
    if Run::new("id", &["-u"]).output()?.trim() != "0" {
        return Err("the suite `node` runs containers: run it as root".to_owned());
    }
    guests::build_all()?;
    image::run(&[])?;
    let suite = ["test", "--workspace", "--exclude", "informer-bench", "--test", "node", "--"];
    cargo(&[suite.as_slice(), &["--ignored", "programs::"]].concat())
        .run(&Step::new("build the programs of the node"))?;
    let runner = format!("CARGO_TARGET_{}_UNKNOWN_LINUX_GNU_RUNNER", std::env::consts::ARCH.to_uppercase());
    let image = target_dir().join("image/informer.tar");
    let alone = ["--ignored", "--skip", "programs::", "--test-threads=1", "--nocapture"];
    cargo(&[suite.as_slice(), &alone].concat())
        .env(&runner, "unshare --net")
        .env("INFORMER_IMAGE", &image.to_string_lossy())
        .run(&Step::new("test the image on a real node"))
}
