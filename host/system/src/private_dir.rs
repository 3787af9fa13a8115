//! A directory whose files only this user writes.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::OFlags,
    process::{getegid, geteuid, getgroups},
};

/// The permission to write, for the group and for all other users.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// New files belong to the group of the directory. Kubernetes sets this bit on a volume that it gives to a group (`fsGroup`).
const SETGID: u32 = 0o2000;

/// Only the owner of a file may replace it.
const STICKY: u32 = 0o1000;

/// The superuser, who needs no permission.
const ROOT: u32 = 0;

/// A directory that strangers cannot use to make this process read a file of theirs.
///
/// Each file is checked when it is opened, by its descriptor: it is a regular file and no link, it belongs to this user, and no
/// other user may write to it. So it does not matter what was in the directory before.
///
/// The directory belongs to this user, and no other user may write to it; or it belongs to this user or the superuser and is
/// - sticky, as `/tmp`: others may add files, which are refused when they are opened;
/// - the volume of a pod: Kubernetes gives it to a group of this process and sets the setgid bit, usually with mode 2777. In a
///   pod only the containers of the pod reach it. The members of the group are trusted;
/// - writable for a group of this process, and for no other user. The members of the group are trusted.
#[derive(Clone, Debug)]
pub struct PrivateDir {
    path: PathBuf,
    /// The group that shares the directory, and whose members are trusted.
    group: Option<u32>,
}

/// Why a directory or a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum NotPrivate {
    /// The system refuses it.
    #[error("{}: {source}", path.display())]
    Io {
        /// The directory or file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Others may write to it.
    #[error(
        "{} has mode {mode:04o}, so other users may write to it: make it your own (`chmod go-w`), or in a pod set `fsGroup`",
        path.display()
    )]
    Writable {
        /// The directory or file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It belongs to another user.
    #[error(
        "{} belongs to the user {owner}, and this process runs as {user}: name one that belongs to this user",
        path.display()
    )]
    OtherOwner {
        /// The directory, the file or the link.
        path: PathBuf,
        /// The user that it belongs to.
        owner: u32,
        /// The user of this process.
        user: u32,
    },
    /// It is a link, a device or something else.
    #[error("{} is {found}: only a regular file is used here", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
}

/// Who may use a file or a directory.
#[derive(Clone, Copy, Debug)]
struct Access {
    owner: u32,
    group: u32,
    /// The permission bits.
    mode: u32,
}

/// What is wrong with an [`Access`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Objection {
    Owner(u32),
    Mode(u32),
}

// === impl PrivateDir ===

impl PrivateDir {
    /// Checks a directory that exists.
    ///
    /// # Errors
    /// [`NotPrivate`] if others could plant files in it, or if it cannot be read.
    pub fn open(path: &Path) -> Result<Self, NotPrivate> {
        let io = |source| NotPrivate::Io { path: path.to_owned(), source };
        let link = fs::symlink_metadata(path).map_err(io)?;
        let user = user();
        // The owner of a link decides where it leads.
        if link.is_symlink() && ![user, ROOT].contains(&link.uid()) {
            return Err(NotPrivate::OtherOwner { path: path.to_owned(), owner: link.uid(), user });
        }
        let found = fs::metadata(path).map_err(io)?;
        if !found.is_dir() {
            return Err(io(io::Error::from(ErrorKind::NotADirectory)));
        }
        let group =
            Access::of(&found).group_of_directory(user, is_in_group).map_err(|why| why.at(path, user))?;
        Ok(Self { path: path.to_owned(), group })
    }

    /// Like [`PrivateDir::open`]. If there is no directory, creates it and its parents for this user only.
    ///
    /// # Errors
    /// The same as for [`PrivateDir::open`].
    pub fn create(path: &Path) -> Result<Self, NotPrivate> {
        let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
        created.map_err(|source| NotPrivate::Io { path: path.to_owned(), source })?;
        Self::open(path)
    }

    /// The path of a file in the directory.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file to read it. Returns `None` if there is no file.
    ///
    /// # Errors
    /// [`NotPrivate`] if another user could have written it, or if it cannot be opened.
    pub fn read(&self, name: &str) -> Result<Option<File>, NotPrivate> {
        match self.opened(name, OpenOptions::new().read(true)) {
            Err(NotPrivate::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Opens a file to read and write it. If there is none, creates it for this user only.
    ///
    /// # Errors
    /// The same as for [`PrivateDir::read`].
    pub fn write(&self, name: &str) -> Result<File, NotPrivate> {
        self.opened(name, OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600))
    }

    /// Replaces a file atomically, for this user only: readers see the old content or the whole new one.
    ///
    /// # Errors
    /// [`NotPrivate`] if the file cannot be written. The old content stays.
    pub fn replace(
        &self,
        name: &str,
        content: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), NotPrivate> {
        self.place(name, content, |partial, path| fs::rename(partial, path))
    }

    /// Creates a file for this user only, unless there is one of this name: other processes see the whole content or no file, also
    /// after a crash.
    ///
    /// # Errors
    /// [`NotPrivate`] if the file cannot be written, or if the file system has no hard links. There is no file then.
    pub fn create_whole(
        &self,
        name: &str,
        content: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), NotPrivate> {
        if fs::symlink_metadata(self.join(name)).is_ok() {
            return Ok(());
        }
        self.place(name, content, |partial, path| {
            match fs::hard_link(partial, path) {
                // Another process has created the file meanwhile.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                linked => linked?,
            }
            // If the second name stays, no process reads it.
            fs::remove_file(partial).ok();
            // Without the sync, a loss of power may remove the name of a file whose later content is on disk.
            File::open(&self.path).and_then(|directory| directory.sync_all()).ok();
            Ok(())
        })
    }

    /// Writes the content to a partial file, and then gives it its name.
    fn place(
        &self,
        name: &str,
        content: impl FnOnce(&mut File) -> io::Result<()>,
        rename: impl FnOnce(&Path, &Path) -> io::Result<()>,
    ) -> Result<(), NotPrivate> {
        let path = self.join(name);
        // Calls of one process for one name do not overlap, and a process that crashed may have left such a file.
        let partial = path.with_added_extension(format!("{}.partial", std::process::id()));
        let write = || -> io::Result<()> {
            fs::remove_file(&partial).or_else(|error| match error.kind() {
                ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
            // A database reads what it has written.
            let mut file =
                OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&partial)?;
            content(&mut file)?;
            file.sync_data()?;
            rename(&partial, &path)
        };
        write().map_err(|source| {
            // A partial file is never read, and the next attempt removes it.
            drop(fs::remove_file(&partial));
            NotPrivate::Io { path: path.clone(), source }
        })
    }

    /// Removes a file. It stays if another user owns it in a directory that others use too.
    pub fn remove(&self, name: &str) {
        fs::remove_file(self.join(name)).ok();
    }

    fn opened(&self, name: &str, options: &mut OpenOptions) -> Result<File, NotPrivate> {
        let path = self.join(name);
        // A FIFO that others put here must not block this thread.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = options.custom_flags(flags.bits().cast_signed()).open(&path).map_err(|source| {
            if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
                NotPrivate::NotAFile { path: path.clone(), found: "a link" }
            } else {
                NotPrivate::Io { path: path.clone(), source }
            }
        })?;
        self.check(&path, &file)?;
        Ok(file)
    }

    /// Checks an open file. What the path names by now does not matter.
    fn check(&self, path: &Path, file: &File) -> Result<(), NotPrivate> {
        let io = |source| NotPrivate::Io { path: path.to_owned(), source };
        let found = file.metadata().map_err(io)?;
        if !found.is_file() {
            let found = if found.is_dir() { "a directory" } else { "a device, a FIFO or a socket" };
            return Err(NotPrivate::NotAFile { path: path.to_owned(), found });
        }
        let (access, user) = (Access::of(&found), user());
        if access.may_be_of_group(user, self.group).map_err(|why| why.at(path, user))? {
            // Kubernetes gives the group of a volume all files, each time that a pod mounts it.
            file.set_permissions(Permissions::from_mode(0o600)).map_err(io)?;
        }
        Ok(())
    }
}

// === impl Access ===

impl Access {
    fn of(found: &Metadata) -> Self {
        Self { owner: found.uid(), group: found.gid(), mode: found.mode() & 0o7777 }
    }

    fn has(self, bits: u32) -> bool {
        self.mode & bits != 0
    }

    /// Judges a directory. Returns the group that shares it, if there is one.
    fn group_of_directory(
        self,
        user: u32,
        is_in_group: impl FnOnce(u32) -> bool,
    ) -> Result<Option<u32>, Objection> {
        if ![user, ROOT].contains(&self.owner) {
            return Err(Objection::Owner(self.owner));
        }
        if !self.has(GROUP_WRITES | OTHERS_WRITE) {
            return Ok(None);
        }
        let is_given = self.has(SETGID) || (self.owner != user && !self.has(OTHERS_WRITE));
        if self.has(GROUP_WRITES) && is_given && is_in_group(self.group) {
            return Ok(Some(self.group));
        }
        if self.has(STICKY) { Ok(None) } else { Err(Objection::Mode(self.mode)) }
    }

    /// Judges a file in a directory that this group shares. Returns true if the group may write to the file.
    fn may_be_of_group(self, user: u32, group: Option<u32>) -> Result<bool, Objection> {
        if self.owner != user {
            return Err(Objection::Owner(self.owner));
        }
        if !self.has(GROUP_WRITES | OTHERS_WRITE) {
            return Ok(false);
        }
        if self.has(OTHERS_WRITE) || group != Some(self.group) {
            return Err(Objection::Mode(self.mode));
        }
        Ok(true)
    }
}

// === impl Objection ===

impl Objection {
    fn at(self, path: &Path, user: u32) -> NotPrivate {
        let path = path.to_owned();
        match self {
            Self::Owner(owner) => NotPrivate::OtherOwner { path, owner, user },
            Self::Mode(mode) => NotPrivate::Writable { path, mode },
        }
    }
}

fn user() -> u32 {
    geteuid().as_raw()
}

/// Returns true if this process may use the permissions of the group.
fn is_in_group(group: u32) -> bool {
    getegid().as_raw() == group
        || getgroups().is_ok_and(|groups| groups.iter().any(|own| own.as_raw() == group))
}

#[cfg(test)]
mod tests;
