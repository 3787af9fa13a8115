//! Serves the script over HTTP/1.1, written byte by byte so that it can break anywhere.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{Answer, Script, Step};

impl Script {
    /// Serves on a loopback port until the set is dropped.
    pub(crate) async fn serve(&self) -> (SocketAddr, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script = self.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                let script = script.clone();
                connections.spawn(async move {
                    // A client that disconnects is a normal end.
                    let _ = serve(connection, &script).await;
                });
            }
        });
        (address, tasks)
    }
}

async fn serve(connection: TcpStream, script: &Script) -> io::Result<()> {
    let mut connection = BufReader::new(connection);
    while let Some(target) = read_request(&mut connection).await? {
        let Answer::Http { status, headers, mut body } = script.answer(&target, "") else {
            return Ok(());
        };
        let mut head = format!("HTTP/1.1 {status} Scripted\r\nTransfer-Encoding: chunked\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        connection.write_all(format!("{head}\r\n").as_bytes()).await?;
        loop {
            match body.recv().await {
                Some(Step::Bytes(bytes)) => {
                    connection.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
                    connection.write_all(&bytes).await?;
                    connection.write_all(b"\r\n").await?;
                    connection.flush().await?;
                }
                Some(Step::End) => break connection.write_all(b"0\r\n\r\n").await?,
                Some(Step::Reset | Step::Panic) => {
                    connection.get_ref().set_zero_linger()?;
                    return Ok(());
                }
                None => return std::future::pending().await,
            }
        }
        connection.flush().await?;
    }
    Ok(())
}

/// The target of the next request. Returns `None` once the client has closed the connection.
async fn read_request(connection: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut first = String::new();
    if connection.read_line(&mut first).await? == 0 {
        return Ok(None);
    }
    let mut header = String::new();
    while connection.read_line(&mut header).await? > 2 {
        header.clear();
    }
    Ok(first.split(' ').nth(1).map(str::to_owned))
}
