//! The images that are imported into the node.

use std::{
    fs,
    path::{Path, PathBuf},
};

use informer_image::{
    layout::{About, Image, Layout},
    platform::PLATFORMS,
    tree::Tree,
};
use informer_programs::{Builder, Program};
use serde_json::{Value, json};

/// The variable with the path of the image of the host, which `cargo xtask test --node` sets.
const IMAGE: &str = "INFORMER_IMAGE";

/// The image that `cargo xtask image` built.
pub(crate) fn host() -> PathBuf {
    let path = std::env::var_os(IMAGE).map(PathBuf::from);
    path.unwrap_or_else(|| panic!("{IMAGE} is not set; run `cargo xtask test --node`"))
}

/// Writes an image of busybox, which sleeps. It holds the namespaces of pods, and has a client for HTTP.
pub(crate) fn busybox(directory: &Path) -> PathBuf {
    let mut tree = Tree::default();
    let program = fs::read("/bin/busybox").unwrap_or_else(|error| panic!("/bin/busybox: {error}"));
    tree.program("bin/busybox", program);
    for name in ["sh", "sleep", "wget"] {
        tree.link(&format!("bin/{name}"), "busybox");
    }
    write(
        directory,
        "busybox",
        &tree,
        &json!({"Entrypoint": ["/bin/sleep", "infinity"], "Env": ["PATH=/bin"]}),
    )
}

/// Writes an image of a registry that listens on port 5000 of its pod, and keeps its data in `/data`.
pub(crate) fn registry(directory: &Path) -> PathBuf {
    let program = Builder::from_env().and_then(|builder| builder.obtain(Program::PlainRegistry)).unwrap();
    let mut tree = Tree::default();
    tree.program("bin/registry", fs::read(program).unwrap());
    let configuration =
        "version: 0.1\nstorage:\n  filesystem: {rootdirectory: /data}\nhttp:\n  addr: 0.0.0.0:5000\n";
    tree.file("config.yml", configuration);
    write(directory, "registry", &tree, &json!({"Entrypoint": ["/bin/registry", "serve", "/config.yml"]}))
}

/// Writes the image `localhost/NAME:1` with one layer, and returns its archive.
fn write(directory: &Path, name: &str, tree: &Tree, process: &Value) -> PathBuf {
    let platform = PLATFORMS.into_iter().find(|platform| platform.target.starts_with(std::env::consts::ARCH));
    let image =
        Image { platform: platform.unwrap(), layers: vec![tree.layer().unwrap()], process: process.clone() };
    let about = About {
        version: "1".to_owned(),
        revision: String::new(),
        created: "1970-01-01T00:00:00Z".to_owned(),
        source: String::new(),
    };
    let mut layout = Layout::default();
    layout.add(&image, &about).unwrap();
    let (archive, _) = layout.finish(&format!("localhost/{name}"), &about).unwrap();
    let path = directory.join(format!("{name}.tar"));
    fs::write(&path, archive).unwrap();
    path
}
