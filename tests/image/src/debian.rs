//! Packages of Debian.

use std::{
    ffi::OsStr,
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use tar::{Archive, EntryType};

use crate::platform::Platform;

/// A package as a `.deb` file.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name, as `libc6`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its description of itself: the file `control`.
    pub control: String,
    path: PathBuf,
}

/// The distribution that packages belong to, as `os-release` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// `debian` or `ubuntu`.
    pub id: String,
    /// The version, as `12`. Debian has none before a release.
    pub version: Option<String>,
}

/// A file or symbolic link of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A regular file.
    File(Vec<u8>),
    /// The target of a link.
    Link(String),
}

/// Downloads the newest versions of the packages that the sources of this machine have, and returns them in the same order. Files
/// of an earlier run are used again. The packages of this machine stay as they are.
///
/// # Errors
/// apt or dpkg is missing, or a package cannot be found or downloaded.
pub fn download(names: &[&str], platform: Platform, directory: &Path) -> Result<Vec<Package>> {
    let packages = directory.join("packages");
    for path in ["lists/partial", "cache/archives/partial", "packages"] {
        fs::create_dir_all(directory.join(path))?;
    }
    let status = directory.join("status");
    fs::write(&status, "")?;
    apt(platform, directory, &packages, &["update", "--quiet=2"])?;
    let mut arguments = vec!["download", "--quiet=2"];
    arguments.extend(names);
    apt(platform, directory, &packages, &arguments)?;
    names.iter().map(|name| newest(name, &packages)).collect()
}

/// Runs apt-get with lists and architecture of its own.
fn apt(platform: Platform, directory: &Path, packages: &Path, arguments: &[&str]) -> Result<()> {
    let option = |key: &str, value: &str| format!("-o{key}={value}");
    let place = |key: &str, name: &str| option(key, &directory.join(name).display().to_string());
    let mut command = Command::new("apt-get");
    command
        .args([
            place("Dir::State::lists", "lists"),
            place("Dir::State::status", "status"),
            place("Dir::Cache", "cache"),
            option("APT::Architecture", platform.architecture),
            option("APT::Architectures", platform.architecture),
            // The user `_apt` may not write to this directory.
            option("APT::Sandbox::User", "root"),
        ])
        .args(arguments)
        .current_dir(packages);
    run(&mut command).context("the image is made of Debian packages: run this on Debian or Ubuntu")?;
    Ok(())
}

/// The newest downloaded file of a package. Older ones are of earlier runs.
fn newest(name: &str, directory: &Path) -> Result<Package> {
    let mut found: Option<Package> = None;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let file = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if !file.starts_with(&format!("{name}_")) {
            continue;
        }
        let package = Package::open(&path)?;
        let newer = match &found {
            Some(other) => is_newer(&package.version, &other.version)?,
            None => true,
        };
        if newer {
            found = Some(package);
        }
    }
    found.with_context(|| format!("apt-get downloaded no {name}"))
}

fn is_newer(version: &str, other: &str) -> Result<bool> {
    let status = Command::new("dpkg").args(["--compare-versions", version, "gt", other]).status()?;
    Ok(status.success())
}

// === impl Distribution ===

impl Distribution {
    /// Reads the distribution from the package that holds `os-release`.
    ///
    /// # Errors
    /// No package has this file, or it names no distribution.
    pub fn of(packages: &[Package]) -> Result<Self> {
        for package in packages.iter().filter(|package| package.name == "base-files") {
            for (path, content) in package.files(|path| path == "usr/lib/os-release")? {
                if let Content::File(bytes) = content {
                    let text = String::from_utf8_lossy(&bytes);
                    return Self::parse(&text).with_context(|| format!("{path} names no distribution"));
                }
            }
        }
        bail!("no package has usr/lib/os-release")
    }

    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
            Some(value.trim_matches('"').to_owned())
        };
        Some(Self { id: field("ID")?, version: field("VERSION_ID") })
    }
}

// === impl Package ===

impl Package {
    /// The names of the packages that this one depends on.
    pub fn dependencies(&self) -> impl Iterator<Item = &str> {
        let field = self.control.lines().find_map(|line| line.strip_prefix("Depends: ")).unwrap_or_default();
        field.split([',', '|']).filter_map(|dependency| dependency.split_whitespace().next())
    }

    /// Reads the description of a `.deb` file.
    ///
    /// # Errors
    /// It is no package.
    pub fn open(path: &Path) -> Result<Self> {
        let control = String::from_utf8(run(Command::new("dpkg-deb").arg("--field").arg(path))?)?;
        let field = |name: &str| {
            let found = control.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            found.map(str::to_owned).with_context(|| format!("{} has no field {name}", path.display()))
        };
        let (name, version) = (field("Package")?, field("Version")?);
        Ok(Self { name, version, path: path.to_owned(), control })
    }

    /// The files for which `wanted` returns true, by their path without a leading slash. In Debian 12 libraries are in `lib`, later in
    /// `usr/lib`; here they are always in `usr/lib`.
    ///
    /// # Errors
    /// The package cannot be read.
    pub fn files(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<(String, Content)>> {
        let bytes = run(Command::new("dpkg-deb").arg("--fsys-tarfile").arg(&self.path))?;
        let mut archive = Archive::new(bytes.as_slice());
        let mut found = Vec::new();
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = entry.path()?.to_string_lossy().trim_start_matches("./").to_owned();
            let path = if path.starts_with("lib") { format!("usr/{path}") } else { path };
            if !wanted(&path) {
                continue;
            }
            match entry.header().entry_type() {
                EntryType::Regular => {
                    let mut bytes = Vec::new();
                    entry.read_to_end(&mut bytes)?;
                    found.push((path, Content::File(bytes)));
                }
                EntryType::Symlink => {
                    let target = entry.link_name()?.unwrap_or_default().to_string_lossy().into_owned();
                    found.push((path, Content::Link(target)));
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Runs a program to its end and returns what it printed.
fn run(command: &mut Command) -> Result<Vec<u8>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start `{program}`"))?;
    if !output.status.success() {
        bail!("`{program}` failed: {}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_read_from_os_release_with_and_without_a_version() {
        let parsed = |text: &str| Distribution::parse(text).map(|found| (found.id, found.version));
        let text = |text: &str| text.to_owned();

        let ubuntu = "VERSION_ID=\"24.04\"\nVERSION=\"24.04\"\nID=ubuntu\nID_LIKE=debian\n";
        assert_eq!(parsed(ubuntu), Some((text("ubuntu"), Some(text("24.04")))));
        assert_eq!(parsed("ID=debian\n"), Some((text("debian"), None)));
        assert_eq!(parsed("ID_LIKE=debian\n"), None);
    }
}
