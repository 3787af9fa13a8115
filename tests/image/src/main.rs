//! The program that `cargo xtask image` runs after it has built the binaries.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a command-line tool")]

use std::{
    fs,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context, Error, Result, bail};
use clap::Parser;
use informer_image::{
    contents::{self, ReadyMade},
    debian::{Distribution, download},
    layout::{About, Image, Layout},
    platform::Platform,
    sbom,
};

/// The largest image of a platform: what nodes pull.
const BYTES_AT_MOST: usize = 35_000_000;

/// Packs binaries as a container image.
#[derive(Debug, Parser)]
struct Arguments {
    /// A platform with its binary and the output of `cargo tree` for it.
    #[arg(long = "binary", required = true, value_name = "ARCHITECTURE=BINARY,TREE")]
    binaries: Vec<Built>,
    /// The example component.
    #[arg(long)]
    component: PathBuf,
    /// A ready-made plugin: its component and its part of a configuration.
    #[arg(long = "ready-made", value_name = "NAME=COMPONENT,CONFIGURATION")]
    ready_made: Vec<Named>,
    /// The root of the repository.
    #[arg(long)]
    root: PathBuf,
    /// The directory for the image and the packages.
    #[arg(long)]
    out: PathBuf,
    /// The name of the image without its tag.
    #[arg(long)]
    name: String,
    /// The commit.
    #[arg(long)]
    revision: String,
    /// The time of the commit.
    #[arg(long)]
    created: String,
}

#[derive(Clone, Debug)]
struct Built {
    platform: Platform,
    binary: PathBuf,
    tree: PathBuf,
}

/// A ready-made plugin as it is in the repository.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    component: PathBuf,
    configuration: PathBuf,
}

impl Named {
    fn read(&self) -> Result<ReadyMade> {
        Ok(ReadyMade {
            name: self.name.clone(),
            component: read(&self.component)?,
            configuration: String::from_utf8(read(&self.configuration)?)?,
        })
    }
}

/// A name and two files.
fn parts(text: &str) -> Option<(&str, (&str, &str))> {
    text.split_once('=').and_then(|(name, files)| Some((name, files.split_once(',')?)))
}

impl FromStr for Named {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, (component, configuration)) = parts(text).context("write NAME=COMPONENT,CONFIGURATION")?;
        Ok(Self { name: name.into(), component: component.into(), configuration: configuration.into() })
    }
}

impl FromStr for Built {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (platform, (binary, tree)) = parts(text).context("write ARCHITECTURE=BINARY,TREE")?;
        Ok(Self { platform: Platform::named(platform)?, binary: binary.into(), tree: tree.into() })
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let about = About {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: arguments.revision.clone(),
        created: arguments.created.clone(),
        source: env!("CARGO_PKG_REPOSITORY").to_owned(),
    };
    let mut layout = Layout::default();
    for built in &arguments.binaries {
        let image = pack(built, &arguments, &about)?;
        let digest = layout.add(&image, &about)?;
        let architecture = built.platform.architecture;
        println!("    linux/{architecture}: {:.1} MB, manifest {digest}", image.bytes() as f64 / 1e6);
        if image.bytes() > BYTES_AT_MOST {
            bail!("the image for {architecture} has {} bytes, more than {BYTES_AT_MOST}", image.bytes());
        }
    }
    let (archive, digest) = layout.finish(&arguments.name, &about)?;
    let path = arguments.out.join("informer.tar");
    write(&path, &archive)?;
    println!("    {}: {}:{}, {digest}", path.display(), arguments.name, about.version);
    Ok(())
}

/// Makes the two layers of a platform: packages below, which seldom change, and the program.
fn pack(built: &Built, arguments: &Arguments, about: &About) -> Result<Image> {
    let platform = built.platform;
    let directory = arguments.out.join("debian").join(platform.architecture);
    let mut packages = download(&contents::PACKAGES, platform, &directory)?;
    if let Some(name) = contents::licence_of_libgcc(&packages).map(str::to_owned) {
        packages.extend(download(&[&name], platform, &directory)?);
    }
    let crates = sbom::crates(&String::from_utf8(read(&built.tree)?)?)?;
    let lock = String::from_utf8(read(&arguments.root.join("Cargo.lock"))?)?;
    let distribution = Distribution::of(&packages)?;
    let list = sbom::spdx(&crates, &lock, (&distribution, &packages), platform, about)?;
    write(&arguments.out.join(format!("sbom-{}.spdx.json", platform.architecture)), list.as_bytes())?;
    let licence = String::from_utf8(read(&arguments.root.join("LICENSE"))?)?;
    let ready_made = arguments.ready_made.iter().map(Named::read).collect::<Result<_>>()?;
    let component = read(&arguments.component)?;
    let program = contents::program(read(&built.binary)?, component, ready_made, &list, &licence)?;
    let layers = vec![contents::base(&packages, platform)?.layer()?, program.layer()?];
    Ok(Image { platform, layers, process: contents::process() })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("read {}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("write {}", path.display()))
}
