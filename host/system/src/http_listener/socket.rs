//! The listening socket: TCP, or a Unix socket that only this user may use.

use std::{
    fs::{self, File, Metadata, Permissions, TryLockError},
    io::{self, ErrorKind},
    net::SocketAddr,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream, UnixListener, UnixSocket, UnixStream},
    time::{Instant, sleep},
};

use super::HttpAddress;

/// Connections that wait to be accepted, as for TCP.
const BACKLOG: u32 = 1024;

/// How long another process may hold the lock of the directory, while it replaces a socket there.
const LOCKED_WITHIN: Duration = Duration::from_secs(5);

/// Time between two attempts to lock the directory.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// A listening socket.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpListener, SocketAddr),
    Unix(UnixListener, SocketFile),
}

/// One accepted connection.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// The file of a Unix socket. It is removed when this is dropped, unless another one has taken its place.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and number of the file.
    identity: (u64, u64),
}

// === impl Socket ===

impl Socket {
    pub(super) async fn bind(address: HttpAddress) -> io::Result<Self> {
        match address {
            HttpAddress::Tcp(address) => {
                let listener = TcpListener::bind(address).await?;
                let address = listener.local_addr()?;
                Ok(Self::Tcp(listener, address))
            }
            HttpAddress::Unix(path) => {
                // Without the lock, two processes that replace the socket of a process that has ended could remove each other's socket.
                let _lock = lock(path.parent().unwrap_or(Path::new("."))).await?;
                remove_stale(&path).await?;
                let socket = UnixSocket::new_stream()?;
                socket.bind(&path)?;
                let file = SocketFile::of(path.clone())?;
                // Nothing connects before the socket listens.
                fs::set_permissions(&path, Permissions::from_mode(0o600))?;
                Ok(Self::Unix(socket.listen(BACKLOG)?, file))
            }
        }
    }

    pub(super) fn address(&self) -> HttpAddress {
        match self {
            Self::Tcp(_, address) => HttpAddress::Tcp(*address),
            Self::Unix(_, file) => HttpAddress::Unix(file.path.clone()),
        }
    }

    pub(super) async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener, _) => listener.accept().await.map(|(stream, _)| Stream::Tcp(stream)),
            Self::Unix(listener, _) => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

// === impl SocketFile ===

impl SocketFile {
    fn of(path: PathBuf) -> io::Result<Self> {
        let identity = identity(&fs::symlink_metadata(&path)?);
        Ok(Self { path, identity })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A file that stays is replaced by the next process.
        if fs::symlink_metadata(&self.path).is_ok_and(|found| identity(&found) == self.identity) {
            fs::remove_file(&self.path).ok();
        }
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Locks a directory until the file is dropped.
async fn lock(directory: &Path) -> io::Result<File> {
    let file = File::open(directory)?;
    let deadline = Instant::now() + LOCKED_WITHIN;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                let text = format!("another process holds a lock on {}", directory.display());
                return Err(io::Error::new(ErrorKind::WouldBlock, text));
            }
            Err(TryLockError::WouldBlock) => sleep(LOCK_PAUSE).await,
        }
    }
}

/// Removes the socket of a process that has ended.
async fn remove_stale(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.file_type().is_socket() {
        let text = "there is something else than a socket at this path, which is left as it is";
        return Err(io::Error::new(ErrorKind::AlreadyExists, text));
    }
    match UnixStream::connect(path).await {
        // No process listens on it.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(error),
        Ok(_) | Err(_) => Err(ErrorKind::AddrInUse.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener as Server;

    use tempfile::TempDir;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn place() -> (TempDir, PathBuf) {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("admin.sock");
        (directory, path)
    }

    async fn bind(path: &Path) -> io::Result<Socket> {
        Socket::bind(HttpAddress::Unix(path.to_owned())).await
    }

    #[tokio::test]
    async fn a_unix_socket_serves_its_user_only_and_is_removed_with_its_listener() {
        let (_directory, path) = place();
        let socket = bind(&path).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        let mut client = UnixStream::connect(&path).await.unwrap();
        client.write_all(b"hello").await.unwrap();
        let Stream::Unix(mut server) = socket.accept().await.unwrap() else { panic!("not a Unix socket") };
        let mut read = [0; 5];
        server.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"hello");

        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn the_socket_of_a_dead_process_is_replaced_and_that_of_a_living_one_is_not() {
        let (_directory, path) = place();
        let living = Server::bind(&path).unwrap();

        assert_eq!(bind(&path).await.unwrap_err().kind(), ErrorKind::AddrInUse);
        assert!(UnixStream::connect(&path).await.is_ok(), "the living one still listens");

        // What is left of a process that was killed.
        drop(living);
        assert!(path.exists());
        let socket = bind(&path).await.unwrap();
        assert!(UnixStream::connect(&path).await.is_ok());
        assert_eq!(bind(&path).await.unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(socket);
    }

    #[tokio::test]
    async fn a_file_at_the_path_of_a_socket_is_left_as_it_is() {
        let (_directory, path) = place();
        fs::write(&path, "precious").unwrap();

        let refused = bind(&path).await.unwrap_err();

        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert!(refused.to_string().contains("something else than a socket"), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn of_many_that_replace_a_stale_socket_at_once_one_listens() {
        let (_directory, path) = place();
        drop(Server::bind(&path).unwrap());
        let mut binding = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let path = path.clone();
            binding.spawn(async move { bind(&path).await });
        }

        let bound = binding.join_all().await;

        assert_eq!(bound.iter().filter(|bound| bound.is_ok()).count(), 1, "{bound:?}");
        assert!(UnixStream::connect(&path).await.is_ok());
    }

    #[tokio::test]
    async fn the_socket_of_a_successor_stays_when_the_one_before_ends() {
        let (_directory, path) = place();
        let before = bind(&path).await.unwrap();
        // A person removes the file.
        fs::remove_file(&path).unwrap();
        let after = bind(&path).await.unwrap();

        drop(before);

        assert!(UnixStream::connect(&path).await.is_ok());
        drop(after);
    }
}
