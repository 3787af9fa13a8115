//! The command `informer reload`.

use std::{fs, path::PathBuf};

use http::{Request, StatusCode, header::CONTENT_TYPE};
use informer::{config::Access, connect::connect};
use informer_devserver::DevServer;
use informer_guests::guest;
use kube::client::Body;
use tempfile::TempDir;

use super::binary::{Finished, Running, informer};

/// A running host with one plugin, and the files of both.
struct Host {
    _server: DevServer,
    directory: TempDir,
    running: Running,
    admin: String,
}

impl Host {
    async fn start() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("informer.toml");
        let configuration = format!(
            "[cluster]\nserver = \"{}\"\n[host]\nadmin = \"127.0.0.1:0\"\nstate-dir = \"off\"\n\
             [[watch]]\ngvr = \"v1/configmaps\"\n\
             [[plugin]]\nname = \"echo\"\nsource = {:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
            server.url(),
            guest("echo"),
        );
        fs::write(&path, configuration).unwrap();
        let mut running = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
        let admin = running.admin().await;
        running.logged("plugin loaded").await;
        Self { _server: server, directory, running, admin }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("informer.toml")
    }

    async fn reload(&self, arguments: &[&str]) -> Finished {
        informer(&[&["reload"], arguments, &["--admin", &self.admin]].concat()).await
    }

    async fn stop(self) {
        self.running.stop().await;
    }
}

#[tokio::test]
async fn reload_prints_its_result_and_returns_it_as_exit_status() {
    let host = Host::start().await;

    let done = host.reload(&[]).await;
    assert_eq!((done.status, &*done.stdout), (Some(0), "nothing has changed\n"), "{}", done.stderr);

    let refused = host.reload(&["--plugin", "ecco"]).await;
    assert_eq!(refused.status, Some(1), "{}", refused.stderr);
    assert_eq!(refused.stdout, "plugin ecco: refused: there is no plugin of this name; there are echo\n");

    let whole = fs::read_to_string(host.file()).unwrap();
    fs::write(host.file(), whole.replace("[[plugin.on]]", "[[plugin.onn]]")).unwrap();
    let refused = host.reload(&[]).await;
    assert_eq!(refused.status, Some(1), "{}", refused.stderr);
    let place = format!("{}:11:", host.file().display());
    assert!(
        refused.stdout.lines().any(|line| line.starts_with(&place) && line.contains("onn")),
        "{}",
        refused.stdout
    );
    assert!(refused.stdout.ends_with("nothing was changed: the configuration in force stays\n"));
    host.stop().await;
}

#[tokio::test]
async fn a_web_page_cannot_request_a_reload() {
    let host = Host::start().await;
    let client =
        connect(&Access::Server(format!("http://{}", host.admin).parse().unwrap())).await.unwrap().client;

    // An HTML form can send this request without a preflight request.
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let request =
            Request::post("/reload").header(CONTENT_TYPE, kind).body(Body::from(b"{}".to_vec())).unwrap();
        assert_eq!(client.send(request).await.unwrap().status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    host.stop().await;
}
