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
use serde_json::json;

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
    let platform = PLATFORMS.into_iter().find(|platform| platform.target.starts_with(std::env::consts::ARCH));
    let image = Image {
        platform: platform.unwrap(),
        layers: vec![tree.layer().unwrap()],
        process: json!({"Entrypoint": ["/bin/sleep", "infinity"], "Env": ["PATH=/bin"]}),
    };
    let about = About {
        version: "1".to_owned(),
        revision: String::new(),
        created: "1970-01-01T00:00:00Z".to_owned(),
        source: String::new(),
    };
    let mut layout = Layout::default();
    layout.add(&image, &about).unwrap();
    let (archive, _) = layout.finish("localhost/busybox", &about).unwrap();
    let path = directory.join("busybox.tar");
    fs::write(&path, archive).unwrap();
    path
}
