use proptest::prelude::*;

use crate::{parse, with};

/// Pieces of TOML, so that random files get past the TOML parser.
const PIECES: [&str; 41] = [
    "\n",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    " = ",
    ",",
    ".",
    "\"",
    "'",
    "\"\"\"",
    "#",
    "cluster",
    "host",
    "defaults",
    "watch",
    "plugin",
    "on",
    "queue",
    "retry",
    "limits",
    "grant",
    "config",
    "gvr",
    "name",
    "source",
    "index",
    "events",
    "read",
    "\"apps/v1/deployments\"",
    "\"v1/pods\"",
    "\"0s\"",
    "\"64MiB\"",
    "0",
    "-1",
    "1e400",
    "nan",
    "1979-05-27",
    "\u{e9}",
];

/// Values that few keys or none accept.
const VALUES: [&str; 12] = [
    "\"\"",
    "0",
    "-9223372036854775808",
    "9223372036854775807",
    "inf",
    "-nan",
    "true",
    "[]",
    "{}",
    "[[1], {}]",
    "1979-05-27T07:32:00Z",
    "\"\\u0000\\n\"",
];

const KEYS: [&str; 31] = [
    "source",
    "instance",
    "max-calls",
    "idle-timeout",
    "on",
    "queue",
    "retry",
    "limits",
    "grant",
    "config",
    "queue.workers",
    "queue.delivery",
    "queue.capacity",
    "queue.rate",
    "queue.burst",
    "retry.budget",
    "quarantine.after",
    "quarantine.max",
    "retry.min",
    "retry.max",
    "retry.factor",
    "retry.attempts",
    "limits.memory",
    "limits.deadline",
    "limits.log",
    "limits.requests",
    "limits.keyvalue-writes",
    "grant.read",
    "grant.write",
    "grant.secrets",
    "config.x",
];

fn is_sound(text: &str) {
    if let Err(error) = parse(text) {
        let lines = text.split('\n').count();
        assert!(!error.problems.is_empty());
        assert!(error.problems.is_sorted());
        for problem in &error.problems {
            assert!((1..=lines).contains(&problem.line) && problem.column >= 1, "{problem:?}");
        }
        assert_eq!(error.to_string().lines().count(), error.problems.len() + 1, "{error}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        is_sound(&text);
    }

    #[test]
    fn no_sequence_of_toml_pieces_makes_it_panic(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)) {
        is_sound(&pieces.concat());
    }

    #[test]
    fn no_value_makes_it_panic(key in prop::sample::select(&KEYS[..]), value in prop::sample::select(&VALUES[..])) {
        let text = format!(
            "[[watch]]\ngvr = \"v1/pods\"\nresync = {value}\nindex = {{ a = {value} }}\n[[plugin]]\nname = {value}\n{key} = {value}\n"
        );
        is_sound(&text);
        is_sound(&with(&format!("resync = {value}\n[plugin.config]\na = [{value}]\n")));
    }
}

#[test]
fn depth_is_bounded() {
    let keys = "a.".repeat(70);
    for (name, deep) in [
        ("arrays", format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000))),
        ("tables", format!("x = {}1{}", "{a=".repeat(100_000), "}".repeat(100_000))),
        ("key", format!("{}x = 1", "a.".repeat(100_000))),
        ("header", format!("[{}x]", "a.".repeat(100_000))),
        (
            "mixed",
            with(&format!(
                "[plugin.config]\n{keys}x = {}1{}",
                format!("{{{keys}a=").repeat(70),
                "}".repeat(70)
            )),
        ),
    ] {
        is_sound(&deep);
        assert!(parse(&deep).is_err(), "{name}");
    }
}
