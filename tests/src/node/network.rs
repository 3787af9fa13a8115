//! The network of the node: an address, a route, and the way from pods to the API server.

use anyhow::{Result, ensure};
use tokio::fs;

use super::run::run;

/// The address of the node, on a bridge of its own.
pub(super) const NODE: &str = "10.99.0.1";

/// The addresses of pods.
pub(super) const PODS: &str = "10.98.0.0/24";

/// The address of the Service `kubernetes`: the first of the range that the API server is given.
const SERVICE: &str = "10.0.0.1";

/// Gives this network namespace the interfaces of a node.
pub(super) async fn prepare() -> Result<()> {
    let interfaces = run("ip", &["-oneline", "link", "show"]).await?;
    ensure!(
        !interfaces.contains("eth0"),
        "this is the network of the machine; run `cargo xtask test --node`, which starts the tests by `unshare --net`"
    );
    // A test before this one used the namespace, too.
    if !interfaces.contains("node0") {
        run("ip", &["link", "set", "lo", "up"]).await?;
        run("ip", &["link", "add", "node0", "type", "bridge"]).await?;
        run("ip", &["address", "add", &format!("{NODE}/24"), "dev", "node0"]).await?;
        run("ip", &["address", "add", &format!("{SERVICE}/32"), "dev", "node0"]).await?;
        run("ip", &["link", "set", "node0", "up"]).await?;
        run("ip", &["route", "add", "default", "dev", "node0"]).await?;
        fs::write("/proc/sys/net/ipv4/ip_forward", "1").await?;
        fs::write("/proc/sys/net/ipv4/conf/all/route_localnet", "1").await?;
    }
    Ok(())
}

/// Leads the Service `kubernetes` to the API server, which listens on loopback. The rule stands in for kube-proxy.
pub(super) async fn lead_to(port: u16) -> Result<()> {
    let target = format!("127.0.0.1:{port}");
    for chain in ["PREROUTING", "OUTPUT"] {
        run("iptables", &["-t", "nat", "-F", chain]).await?;
        let rule = ["-t", "nat", "-A", chain, "-d", SERVICE, "-p", "tcp", "--dport", "443", "-j", "DNAT"];
        run("iptables", &[rule.as_slice(), &["--to-destination", &target]].concat()).await?;
    }
    Ok(())
}
