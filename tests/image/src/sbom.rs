//! The software bill of materials: every crate in the binary and every Debian package in the image, as SPDX 2.3 in JSON.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    debian::{Distribution, Package},
    layout::About,
    platform::Platform,
    tree::digest,
};

/// A crate of the binary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crate {
    name: String,
    version: String,
    licence: String,
}

/// The part of `Cargo.lock` that is read.
#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// The format of `cargo tree` that [`crates`] reads.
pub const FORMAT: &str = "{p}|{l}";

/// Reads what `cargo tree --prefix none --format FORMAT` printed.
///
/// # Errors
/// A line has another form.
pub fn crates(printed: &str) -> Result<BTreeSet<Crate>> {
    let lines = printed.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| parsed(line).with_context(|| format!("cargo tree printed `{line}`"))).collect()
}

/// `serde v1.0.229|MIT OR Apache-2.0`; a crate of a path or a macro has more words behind its version.
fn parsed(line: &str) -> Option<Crate> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    // A line that repeats a crate ends with `(*)`.
    let licence = licence.trim_end_matches("(*)").trim();
    // `/` is an old way to write OR.
    let words: Vec<&str> = licence.split('/').map(str::trim).filter(|word| !word.is_empty()).collect();
    let licence = if words.is_empty() { "NOASSERTION".to_owned() } else { words.join(" OR ") };
    Some(Crate { name: name.to_owned(), version: version.to_owned(), licence })
}

/// Lists the crates, and the packages of a distribution. `lock` is the text of Cargo.lock, which has the checksums of the crates.
///
/// # Errors
/// The lock cannot be read.
pub fn spdx(
    crates: &BTreeSet<Crate>,
    lock: &str,
    (distribution, packages): (&Distribution, &[Package]),
    platform: Platform,
    about: &About,
) -> Result<String> {
    let lock: Lock = toml::from_str(lock).context("read Cargo.lock")?;
    let checksums: BTreeMap<(&str, &str), &str> = lock
        .package
        .iter()
        .filter_map(|it| Some(((it.name.as_str(), it.version.as_str()), it.checksum.as_deref()?)))
        .collect();
    let mut listed = vec![image(platform, about)];
    listed.extend(crates.iter().map(|it| {
        let checksum = checksums.get(&(it.name.as_str(), it.version.as_str()));
        it.entry(checksum.copied())
    }));
    listed.extend(packages.iter().map(|package| package_entry(package, distribution, platform)));
    let contained = listed.iter().skip(1).map(|entry| {
        json!({"spdxElementId": "SPDXRef-image", "relationshipType": "CONTAINS", "relatedSpdxElement": entry["SPDXID"]})
    });
    let described = json!({
        "spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-image",
    });
    let relationships: Vec<Value> = std::iter::once(described).chain(contained).collect();
    // Equal contents have an equal name.
    let own = digest(serde_json::to_string(&listed)?.as_bytes()).replace("sha256:", "");
    let document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("informer-{}-{}", about.version, platform.architecture),
        "documentNamespace": format!("{}/spdx/{own}", about.source),
        "creationInfo": {"created": about.created, "creators": ["Tool: cargo xtask image"]},
        "packages": listed,
        "relationships": relationships,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn image(platform: Platform, about: &About) -> Value {
    json!({
        "SPDXID": "SPDXRef-image",
        "name": "informer",
        "versionInfo": about.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseDeclared": "Apache-2.0",
        "primaryPackagePurpose": "CONTAINER",
        "comment": format!("linux/{}, built from {}", platform.architecture, about.revision),
    })
}

fn package_entry(package: &Package, distribution: &Distribution, platform: Platform) -> Value {
    let Package { name, version, .. } = package;
    let purl = deb_purl((name, version), distribution, platform);
    entry(&format!("deb-{name}-{version}"), name, version, "NOASSERTION", &purl)
}

/// The URL by which scanners find the vulnerabilities of a package: those of its distribution.
fn deb_purl((name, version): (&str, &str), distribution: &Distribution, platform: Platform) -> String {
    let Distribution { id, version: release } = distribution;
    let release = release.as_ref().map(|release| format!("&distro={id}-{release}")).unwrap_or_default();
    format!("pkg:deb/{id}/{}@{}?arch={}{release}", escaped(name), escaped(version), platform.architecture)
}

/// An entry without a checksum.
fn entry(id: &str, name: &str, version: &str, licence: &str, purl: &str) -> Value {
    // An identifier has letters, digits, `.` and `-`.
    let id: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    json!({
        "SPDXID": format!("SPDXRef-{id}"),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseDeclared": licence,
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl},
        ],
    })
}

/// Percent-encodes what a package URL reserves.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('+', "%2B").replace(':', "%3A").replace('~', "%7E")
}

// === impl Crate ===

impl Crate {
    fn entry(&self, checksum: Option<&str>) -> Value {
        let Self { name, version, licence } = self;
        let purl = format!("pkg:cargo/{name}@{}", escaped(version));
        let mut entry = entry(&format!("crate-{name}-{version}"), name, version, licence, &purl);
        if let (Some(checksum), Some(fields)) = (checksum, entry.as_object_mut()) {
            let checksums = json!([{"algorithm": "SHA256", "checksumValue": checksum}]);
            fields.insert("checksums".to_owned(), checksums);
            let address = format!("https://static.crates.io/crates/{name}/{name}-{version}.crate");
            fields.insert("downloadLocation".to_owned(), address.into());
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::PLATFORMS;

    fn about() -> About {
        let text = |text: &str| text.to_owned();
        About {
            version: text("1.2.3"),
            revision: text("abc"),
            created: text("2026-01-01T00:00:00Z"),
            source: text("https://example.com/informer"),
        }
    }

    fn distribution(id: &str, version: Option<&str>) -> Distribution {
        Distribution { id: id.to_owned(), version: version.map(str::to_owned) }
    }

    #[test]
    fn the_url_of_a_package_names_the_distribution_that_it_comes_from() {
        let purl = |of: &Distribution| deb_purl(("libc6", "2.39-0ubuntu8"), of, PLATFORMS[1]);

        assert_eq!(
            purl(&distribution("ubuntu", Some("24.04"))),
            "pkg:deb/ubuntu/libc6@2.39-0ubuntu8?arch=arm64&distro=ubuntu-24.04"
        );
        assert_eq!(purl(&distribution("debian", None)), "pkg:deb/debian/libc6@2.39-0ubuntu8?arch=arm64");
    }

    #[test]
    fn crates_are_listed_once_with_licence_checksum_and_package_url() {
        let printed = "informer v0.1.0 (/src/host)|Apache-2.0\nserde v1.0.9|MIT / Apache-2.0\nserde v1.0.9|MIT / Apache-2.0 (*)\nodd v2.0.0+wasi|\n";
        let lock = "[[package]]\nname = \"serde\"\nversion = \"1.0.9\"\nchecksum = \"00ff\"\n";
        let crates = crates(printed).unwrap();

        let debian = distribution("debian", Some("12"));
        let text = spdx(&crates, lock, (&debian, &[]), PLATFORMS[0], &about()).unwrap();

        let document: Value = serde_json::from_str(&text).unwrap();
        let packages = document["packages"].as_array().unwrap();
        assert_eq!(packages.len(), 4);
        let serde = packages.iter().find(|package| package["name"] == "serde").unwrap();
        assert_eq!(serde["licenseDeclared"], "MIT OR Apache-2.0");
        assert_eq!(serde["checksums"][0]["checksumValue"], "00ff");
        assert_eq!(serde["externalRefs"][0]["referenceLocator"], "pkg:cargo/serde@1.0.9");
        let odd = packages.iter().find(|package| package["name"] == "odd").unwrap();
        assert_eq!(odd["SPDXID"], "SPDXRef-crate-odd-2.0.0-wasi");
        assert_eq!(odd["licenseDeclared"], "NOASSERTION");
        assert_eq!(document["relationships"].as_array().unwrap().len(), 4);
    }

    #[test]
    fn a_line_of_another_form_is_an_error_that_shows_it() {
        let error = crates("serde 1.0|MIT").unwrap_err();

        assert_eq!(error.to_string(), "cargo tree printed `serde 1.0|MIT`");
    }
}
