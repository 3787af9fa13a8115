//! `[[registry]]`, `[[signer]]`, `[[verify]]`, and the keys of a plugin that comes from a registry.

use std::{path::Path, time::Duration};

use informer::config::Source;
use informer_registry::{Digest, SignerKind};

use crate::{parse, with};

/// The smallest file, whose plugin comes from a registry, with further lines of the plugin.
fn from_registry(lines: &str) -> String {
    with("").replace("source = \"hello.wasm\"", &format!("source = \"oci://ghcr.io/acme/hello:1\"\n{lines}"))
}

fn problems(text: &str) -> Vec<String> {
    let error = parse(text).unwrap_err();
    error.problems.iter().map(|problem| problem.to_string().split_once(": ").unwrap().1.to_owned()).collect()
}

#[test]
fn a_source_may_be_an_artifact_with_a_pin_and_a_poll() {
    let plugin = parse(&from_registry("")).unwrap().plugins.remove(0);
    assert_eq!(plugin.source, Source::Registry("oci://ghcr.io/acme/hello:1".parse().unwrap()));
    assert_eq!((plugin.digest, plugin.poll), (None, Some(Duration::from_secs(300))));

    let digest = Digest::of(b"x");
    let lines = format!("digest = \"{digest}\"\npoll = \"0s\"");
    let plugin = parse(&from_registry(&lines)).unwrap().plugins.remove(0);
    assert_eq!((plugin.digest, plugin.poll), (Some(digest), None));
}

#[test]
fn contradictions_of_a_source_are_refused() {
    let (one, other) = (Digest::of(b"1"), Digest::of(b"2"));
    let exact = |lines: &str| from_registry(lines).replace("hello:1", &format!("hello@{one}"));

    assert_eq!(
        problems(&exact(&format!("digest = \"{other}\""))),
        ["plugin.hello.digest: it differs from the digest in `source`; remove one of them"]
    );
    let lines = "digest = \"latest\"\npoll = \"1s\"";
    assert_eq!(
        problems(&from_registry(lines)),
        [
            "plugin.hello.digest: `latest` is not a digest; write sha256: and 64 hexadecimal digits in lower case",
            "plugin.hello.poll: \"1s\" is too small; write at least \"10s\"",
        ]
    );
    let untagged = from_registry("").replace("hello:1", "hello");
    assert_eq!(
        problems(&untagged),
        [
            "plugin.hello.source: `oci://ghcr.io/acme/hello` names neither a tag nor a digest; write for example \
          oci://ghcr.io/acme/plugin:1.2, or @sha256:... behind the name"
        ]
    );
}

#[test]
fn registries_signers_and_policies_are_read_in_order() {
    let settings = parse(&with(
        r#"
[[registry]]
host = "registry.local:5000"
credentials = "~/pull.json"
ca = "ca.pem"
[[signer]]
name = "acme"
public-key = "acme.pub"
[[signer]]
name = "release"
issuer = "https://token.actions.githubusercontent.com"
subject = "https://github.com/acme/*"
[[verify]]
repository = "ghcr.io/acme/*"
all-of = ["acme"]
any-of = ["release"]
pinned = true
[[verify]]
repository = "*"
refuse = true
"#,
    ))
    .unwrap()
    .registries;

    let registry = &settings.registries[0];
    assert_eq!(registry.host, "registry.local:5000");
    assert_eq!(registry.credentials.as_deref(), Some(Path::new("/home/me/pull.json")));
    assert_eq!(registry.ca.as_deref(), Some(Path::new("/etc/informer/ca.pem")));
    let policy = settings.policy("ghcr.io/acme/hello").unwrap();
    assert!(policy.pinned && !policy.refuse);
    let file = "/etc/informer/acme.pub".into();
    assert_eq!(
        policy.all_of[0].kind,
        SignerKind::PublicKey { file, transparency_log: false, trust_root: None }
    );
    assert!(
        policy.any_of[0]
            .describe()
            .starts_with("`release` (subject https://github.com/acme/*, issuer https://token.")
    );
    assert!(settings.policy("docker.io/library/x").unwrap().refuse);
}

#[test]
fn registries_signers_and_policies_that_say_nothing_or_too_much_are_refused() {
    let text = with(
        r#"
[[registry]]
host = "https://ghcr.io/"
[[registry]]
host = "a.example"
insecure = true
ca = "ca.pem"
[[registry]]
host = "a.example"
[[signer]]
name = "nothing"
[[signer]]
name = "both"
public-key = "a"
issuer = "b"
[[signer]]
name = "acme"
public-key = "a"
[[verify]]
repository = "*"
[[verify]]
repository = "*"
all-of = ["acmee", "stranger"]
[[verify]]
repository = "*"
refuse = true
pinned = true
"#,
    );

    let neither = "it is recognised neither by a key alone nor by an identity alone; write `public-key`, or `issuer` and `subject`";
    assert_eq!(
        problems(&text),
        [
            "registry[0].host: `https://ghcr.io/` is not a host; write a host like \"ghcr.io\" or \"registry.local:5000\", without https:// and without a path".to_owned(),
            "registry[1].ca: it has no meaning without TLS; remove it, or remove `insecure`".to_owned(),
            "registry[2].host: a registry on line 14 is named `a.example` already; remove one".to_owned(),
            format!("signer.nothing.name: {neither}"),
            format!("signer.both.name: {neither}"),
            "verify[0].repository: it requires nothing; write `all-of`, `any-of`, `pinned` or `refuse`".to_owned(),
            "verify[1].all-of[0]: there is no valid signer `acmee`; did you mean `acme`?".to_owned(),
            "verify[1].all-of[1]: there is no valid signer `stranger`; add [[signer]] with name = \"stranger\"".to_owned(),
            "verify[2].repository: `refuse` accepts nothing, whatever the other keys require; remove it, or the other keys".to_owned(),
        ]
    );
}

#[test]
fn a_pattern_that_fits_no_repository_because_of_its_case_is_refused() {
    let text = with("\n[[verify]]\nrepository = \"GHCR.io/acme/*\"\nrefuse = true\n");

    assert_eq!(
        problems(&text),
        [
            "verify[0].repository: `GHCR.io/acme/*` has upper-case letters, and the names of repositories have none; \
             write it in lower case"
        ]
    );
}

#[test]
fn two_spellings_of_one_registry_are_refused() {
    for second in ["GHCR.io", "ghcr.io:443", "ghcr.io:0443"] {
        let text = with(&format!("\n[[registry]]\nhost = \"ghcr.io\"\n[[registry]]\nhost = \"{second}\"\n"));

        let problems = problems(&text);
        let [problem] = problems.as_slice() else { panic!("{second}: {problems:?}") };
        assert!(problem.starts_with("registry[1].host: a registry on line "), "{problem}");
        assert!(problem.ends_with(" is named `ghcr.io` already; remove one"), "{problem}");
    }
    let both = |one: &str, other: &str| with(&format!("\n[[registry]]\n{one}\n[[registry]]\n{other}\n"));
    let usual = "host = \"ghcr.io\"";
    for other in ["host = \"ghcr.io:5000\"", "host = \"ghcr.io:80\"\ninsecure = true"] {
        for text in [both(usual, other), both(other, usual)] {
            assert_eq!(parse(&text).unwrap().registries.registries.len(), 2, "{text}");
        }
    }
    // Both tables apply to `ghcr.io:443`, in either order.
    let port = "host = \"ghcr.io:443\"\ninsecure = true";
    for text in [both(usual, port), both(port, usual)] {
        assert_eq!(problems(&text).len(), 1, "{text}");
    }
}
