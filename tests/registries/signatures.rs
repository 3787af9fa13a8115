//! Each policy, on what the real cosign uploaded to both kinds of registries.

use informer_tests::registry::{Kind, Registry};
use tempfile::TempDir;

use crate::{
    named, pull, puller,
    recording::Recording,
    signing::{FILES, PREDICATE, REPOSITORIES, sign_all},
    without_tls,
};

/// A policy on one repository, and what a refusal says; `None` if the component is accepted.
struct Case {
    repository: &'static str,
    policy: &'static str,
    refused: Option<&'static [&'static str]>,
}

const fn accepted(repository: &'static str, policy: &'static str) -> Case {
    Case { repository, policy, refused: None }
}

const fn refused(repository: &'static str, policy: &'static str, words: &'static [&'static str]) -> Case {
    Case { repository, policy, refused: Some(words) }
}

const ANOTHER_KEY: &str = "(not by `acme`: the signature is by another key, or of other bytes)";

const CASES: [Case; 16] = [
    accepted("acme/bundle", "all-of = [\"acme\"]"),
    accepted("acme/tag", "all-of = [\"acme\"]"),
    accepted("acme/both", "all-of = [\"acme\", \"stranger\"]"),
    accepted("acme/stranger-tag", "any-of = [\"acme\", \"stranger\"]"),
    refused("acme/bundle", "refuse = true", &["is refused: the [[verify]] of `*/acme/*` refuses everything"]),
    refused(
        "acme/bundle",
        "pinned = true",
        &["is not pinned, which the [[verify]] of `*/acme/*` requires: run"],
    ),
    refused(
        "acme/bundle",
        "all-of = [\"acme\", \"stranger\"]",
        &["no signature by `stranger` (public key ", "found: bundle sha256:", "(not by `stranger`: "],
    ),
    refused(
        "acme/bundle",
        "any-of = [\"stranger\"]",
        &[
            "is not signed as the [[verify]] of `*/acme/*` requires: no signature by any of `stranger` (public key ",
        ],
    ),
    refused(
        "acme/bundle",
        "all-of = [\"logged\"]",
        &["with a statement by a key (not by `logged`: ", "the transparency log"],
    ),
    refused(
        "acme/tag",
        "all-of = [\"logged\"]",
        &["by a key (not by `logged`: it is not in the transparency log)"],
    ),
    refused(
        "acme/stranger-bundle",
        "all-of = [\"acme\"]",
        &["found: bundle sha256:", "with a statement by a key ", ANOTHER_KEY],
    ),
    refused(
        "acme/stranger-tag",
        "all-of = [\"acme\"]",
        &["found: signature under the .sig tag by a key ", ANOTHER_KEY],
    ),
    refused("acme/attested", "all-of = [\"acme\"]", &["it states \"", PREDICATE, "\" is required"]),
    refused(
        "acme/copied-bundle",
        "all-of = [\"acme\"]",
        &["found: bundle sha256:", "(not by `acme`: it is about another artifact)"],
    ),
    refused(
        "acme/copied-tag",
        "all-of = [\"acme\"]",
        &["(not by `acme`: it is about another artifact, sha256:"],
    ),
    refused(
        "acme/tag",
        "all-of = [\"ann\"]",
        &[
            "no signature by `ann` (subject ann@example.com, issuer https://example.com)",
            "it is by a key, not by an identity",
        ],
    ),
];

/// Compares the verdicts on each repository with the expected ones.
async fn judge(host: &str, directory: &TempDir) {
    let signers = format!(
        "[[signer]]\nname = \"acme\"\npublic-key = {0:?}\n[[signer]]\nname = \"stranger\"\npublic-key = {1:?}\n\
         [[signer]]\nname = \"logged\"\npublic-key = {0:?}\ntransparency-log = true\n\
         [[signer]]\nname = \"ann\"\nsubject = \"ann@example.com\"\nissuer = \"https://example.com\"\n",
        directory.path().join("acme.pub"),
        directory.path().join("stranger.pub"),
    );
    for Case { repository, policy, refused } in CASES {
        let verify = format!("[[verify]]\nrepository = \"*/acme/*\"\n{policy}\n");
        let puller = puller(&[&without_tls(host), signers.as_str(), &verify].concat());
        let pulled = pull(&puller, &named(host, &format!("{repository}:1"))).await;
        let verdict = pulled.map(drop).map_err(|error| error.to_string());
        match (verdict, refused) {
            (Ok(()), None) => {}
            (Err(error), Some(words)) => {
                for word in words {
                    assert!(
                        error.contains(word),
                        "{repository} with {policy}: {word} is missing in: {error}"
                    );
                }
            }
            (verdict, _) => panic!("{repository} with {policy}: {verdict:?}"),
        }
    }
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn recorded_signatures_are_judged_with_lists_of_referrers() {
    let (registry, directory) = (Registry::start(Kind::WithLists).await.unwrap(), TempDir::new().unwrap());
    Recording::load().replay(registry.host(), true, directory.path()).await;
    judge(registry.host(), &directory).await;
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn recorded_signatures_are_judged_with_the_tag_that_replaces_the_list() {
    let (registry, directory) = (Registry::start(Kind::Plain).await.unwrap(), TempDir::new().unwrap());
    Recording::load().replay(registry.host(), false, directory.path()).await;
    judge(registry.host(), &directory).await;
}

#[tokio::test]
#[ignore = "builds cosign, which takes minutes: run by cargo xtask test --cosign"]
async fn cosign_signs_in_a_registry_with_lists_of_referrers() {
    let (registry, directory) = (Registry::start(Kind::WithLists).await.unwrap(), TempDir::new().unwrap());
    sign_all(registry.host(), &directory).await;
    judge(registry.host(), &directory).await;
}

/// With `INFORMER_RECORD=1` the recording is replaced by what cosign uploads here.
#[tokio::test]
#[ignore = "builds cosign, which takes minutes: run by cargo xtask test --cosign"]
async fn cosign_signs_in_a_registry_without_lists_of_referrers() {
    let (registry, directory) = (Registry::start(Kind::Plain).await.unwrap(), TempDir::new().unwrap());
    sign_all(registry.host(), &directory).await;
    judge(registry.host(), &directory).await;
    if std::env::var_os("INFORMER_RECORD").is_some() {
        let host = registry.host();
        Recording::of(host, &REPOSITORIES, directory.path(), &FILES).await.save();
    }
}
