//! Layers and layouts, read back by other code than the one that wrote them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends by panicking")]

use std::{collections::BTreeMap, io::Read};

use flate2::read::GzDecoder;
use informer_image::{
    contents,
    layout::{About, Image, Layout},
    platform::PLATFORMS,
    tree::{Tree, digest},
};
use serde_json::Value;
use tar::Archive;

fn tree(paths: [&str; 2]) -> Tree {
    let mut tree = Tree::default();
    for path in paths {
        tree.file(path, path.as_bytes());
    }
    tree.private_directory("var/lib/informer");
    tree.program("usr/bin/informer", b"program");
    tree.link("lib", "usr/lib");
    tree
}

fn about() -> About {
    let text = |text: &str| text.to_owned();
    About {
        version: text("1.2.3"),
        revision: text("abc"),
        created: text("2026-01-01T00:00:00Z"),
        source: text("https://example.com/informer"),
    }
}

/// All files of a tar archive.
fn files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = Archive::new(archive);
    let mut found = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        found.insert(entry.path().unwrap().to_string_lossy().into_owned(), bytes);
    }
    found
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut archive = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut archive).unwrap();
    archive
}

#[test]
fn equal_files_give_equal_bytes_in_whatever_order_they_were_added() {
    let one = tree(["etc/passwd", "usr/share/a/b"]).layer().unwrap();
    let other = tree(["usr/share/a/b", "etc/passwd"]).layer().unwrap();

    assert_eq!(one, other);
    assert_ne!(one, tree(["etc/passwd", "usr/share/a/c"]).layer().unwrap());
    assert_eq!(one.diff_id, digest(&unpacked(&one.bytes)));
}

#[test]
fn a_layer_has_parents_owners_and_modes_and_no_times() {
    let layer = tree(["etc/passwd", "usr/share/a/b"]).layer().unwrap();
    let archive = unpacked(&layer.bytes);
    let mut archive = Archive::new(archive.as_slice());
    let mut seen = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().trim_end_matches('/').to_owned();
        let header = entry.header();
        assert_eq!(header.mtime().unwrap(), 0);
        if let Some((parent, _)) = path.rsplit_once('/') {
            assert!(seen.contains_key(parent), "{path} stands before {parent}");
        }
        seen.insert(path, (header.uid().unwrap(), header.mode().unwrap()));
    }

    assert_eq!(seen["usr/bin/informer"], (0, 0o755));
    assert_eq!(seen["etc/passwd"], (0, 0o644));
    assert_eq!(seen["usr/share/a"], (0, 0o755));
    assert_eq!(seen["var/lib/informer"], (65_532, 0o700));
}

#[test]
fn every_descriptor_of_a_layout_leads_to_a_blob_of_its_digest_and_size() {
    let mut layout = Layout::default();
    for platform in PLATFORMS {
        let layers = vec![tree(["a", "b"]).layer().unwrap(), tree(["c", "d"]).layer().unwrap()];
        layout.add(&Image { platform, layers, process: contents::process() }, &about()).unwrap();
    }

    let (archive, digest) = layout.finish("localhost/informer", &about()).unwrap();

    let files = files(&archive);
    assert_eq!(files["oci-layout"], br#"{"imageLayoutVersion":"1.0.0"}"#);
    let blob = |descriptor: &Value| {
        let name = descriptor["digest"].as_str().unwrap();
        let bytes = &files[&format!("blobs/{}", name.replace(':', "/"))];
        assert_eq!(descriptor["size"], bytes.len());
        assert_eq!(informer_image::tree::digest(bytes), name);
        bytes.clone()
    };
    let json = |descriptor: &Value| serde_json::from_slice::<Value>(&blob(descriptor)).unwrap();
    let top: Value = serde_json::from_slice(&files["index.json"]).unwrap();
    let descriptor = &top["manifests"][0];
    assert_eq!(descriptor["digest"], digest);
    assert_eq!(descriptor["annotations"]["io.containerd.image.name"], "localhost/informer:1.2.3");
    let index = json(descriptor);
    let platforms: Vec<&str> = index["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["platform"]["architecture"].as_str().unwrap())
        .collect();
    assert_eq!(platforms, ["amd64", "arm64"]);
    let manifest = json(&index["manifests"][0]);
    let config = json(&manifest["config"]);
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Labels"]["org.opencontainers.image.revision"], "abc");
    for (layer, diff_id) in
        manifest["layers"].as_array().unwrap().iter().zip(config["rootfs"]["diff_ids"].as_array().unwrap())
    {
        assert_eq!(*diff_id, informer_image::tree::digest(&unpacked(&blob(layer))));
    }
}
