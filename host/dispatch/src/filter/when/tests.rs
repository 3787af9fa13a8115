use std::sync::Arc;

use informer_types::{Body, Header};

use super::*;

fn object(body: &str) -> Object {
    Object::new(&Header::default(), Body::Raw(body.into())).unwrap()
}

fn when(text: &str) -> When {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> String {
    text.parse::<When>().expect_err(text).to_string()
}

fn holds(text: &str, body: &str) -> Result<bool, WhenError> {
    when(text).holds(&Occasion::state(&Arc::new(object(body))))
}

fn failed(text: &str, body: &str) -> String {
    holds(text, body).expect_err(text).to_string()
}

const DEPLOYMENT: &str = r#"{"metadata":{"name":"web","labels":{"app":"w\u0065b"},"generation":3},
    "spec":{"replicas":3,"weight":0.5,"paused":false,"big":18446744073709551615,"nothing":null,
    "containers":[{"name":"a","ports":[80,443]},{"name":"b","ports":[]}]}}"#;

#[test]
fn it_sees_the_object_as_kubernetes_own_expressions_do() {
    for text in [
        "object.spec.replicas > 2 && !object.spec.paused",
        "object.spec.replicas + 1 == 4",
        "object.spec.weight < 1.0",
        "object.spec.big > 5",
        "object.spec.nothing == null",
        "object.metadata.labels['app'] == 'web'",
        "object.metadata.name.startsWith('w') && object.metadata.name.matches('^w.b$')",
        "has(object.spec.replicas) && !has(object.spec.absent)",
        "object.?spec.?absent.orValue(7) == 7",
        "size(object.spec.containers) == 2 && object.spec.containers.size() == 2",
        "object.spec.containers.exists(c, c.ports.exists(p, p == 443))",
        "object.spec.containers.all(c, c.name in ['a', 'b'])",
        "object.spec.containers.map(c, c.name) == ['a', 'b']",
        "object.spec.containers.filter(c, c.name == 'a')[0].ports[1] == 443",
        "type(object.spec.replicas) == int",
        "true",
    ] {
        assert_eq!(holds(text, DEPLOYMENT), Ok(true), "{text}");
    }
    assert_eq!(holds("object.spec.replicas > 3", DEPLOYMENT), Ok(false));
}

/// Only the parts that an expression reads are parsed.
#[test]
fn an_expression_gives_for_the_parts_that_it_reads_what_it_gives_for_the_whole_object() {
    let texts = [
        "object.spec.replicas > 2",
        "has(object.spec.replicas)",
        "has(object.spec.replicas.more)",
        "object.spec.replicas > 2 && object.spec == {'replicas': 3}",
        "object.?spec.?replicas.orValue(7) == 7",
        "object.spec[?'replicas'].orValue(7) == 3",
        "object.spec['replicas'] == null",
        "object.spec[0] == 1",
        "size(object.spec) == 1",
        "'replicas' in object.spec",
        "object.spec.all(key, key == 'replicas')",
        "object.metadata.labels['a\"b'] == 'x' || object.spec.replicas == 3",
        "object.spec.replicas == 3 || object.spec",
        "object == {}",
        "type(object.spec) == map",
    ];
    for body in [
        "{}",
        r#" { "spec" : { "replicas" : 3 } } "#,
        r#"{"a":[{"spec":1}],"spec":{"other":{"replicas":9},"replicas":3,"more":[1]},"metadata":{"labels":{"a\"b":"x"}}}"#,
        r#"{"sp\u0065c":{"replicas":{"more":null}}}"#,
        r#"{"spec":{"replicas":3},"spec":{}}"#,
        r#"{"spec":null}"#,
        r#"{"spec":[1,2]}"#,
        r#"{"spec":"text"}"#,
        r#"{"spec":{"replicas":3"#,
        r#"{"spec":{"replicas":3}} {}"#,
        r#"{"spec":{"replicas":3x}}"#,
        "[]",
        "",
    ] {
        for text in texts {
            let parts = Compiled::parse(text).unwrap();
            let whole = Compiled { wanted: PartTree::Part(None), ..Compiled::parse(text).unwrap() };
            let answer = |compiled: Compiled| {
                When(Arc::new(compiled)).evaluate_texts(Some(body), None, ("", Cause::Live))
            };
            assert_eq!(answer(parts), answer(whole), "{text}: {body}");
        }
    }
}

#[test]
fn the_variables_of_an_expression_define_its_subject() {
    for (text, subject) in [
        ("object.a", Subject::Object),
        ("true", Subject::Object),
        ("object.l.exists(old, old == 1)", Subject::Object),
        ("old == null", Subject::Change { deletions: false }),
        ("cause == 'live'", Subject::Change { deletions: false }),
        ("event != 'update' || old.a != object.a", Subject::Change { deletions: true }),
        ("object.l.exists(x, x == event)", Subject::Change { deletions: true }),
    ] {
        assert_eq!(when(text).subject(), subject, "{text}");
    }
}

#[test]
fn a_text_that_is_no_condition_is_refused_with_its_place_and_a_remedy() {
    assert_eq!(
        refused(" "),
        "the expression is empty; write for example `object.spec.replicas > 2`, or leave the key out"
    );
    assert_eq!(
        refused(&"a".repeat(2049)),
        "the expression has 2049 bytes; write at most 2048, and decide the rest in the plugin"
    );
    let syntax = refused("object.spec.replicas >");
    assert!(
        syntax.starts_with("not CEL, at 1:23 of the expression: Syntax error: mismatched input '<EOF>'"),
        "{syntax}"
    );
    assert!(syntax.ends_with("; write for example `object.spec.replicas > 2`"), "{syntax}");
    assert_eq!(
        refused("object.a == 1 &&\n  objekt.b == 2"),
        "unknown variable `objekt`, at 2:3 of the expression; known are `object`, `old`, `event` and `cause`"
    );
    assert_eq!(
        refused("'\u{e9}' == absent"),
        "unknown variable `absent`, at 1:8 of the expression; known are `object`, `old`, `event` and `cause`"
    );
    assert!(refused("object.l.exists(x, y == 1)").starts_with("unknown variable `y`, at 1:20"));
    assert!(refused("object.l.exists(x, x == 1) && x").starts_with("unknown variable `x`, at 1:31"));
    assert!(refused("Pod{}").starts_with("unknown variable `Pod`"));
    let function = refused("object.a.lowerAscii() == 'x'");
    assert!(
        function
            .starts_with("unknown function `lowerAscii`, at 1:20 of the expression; known are `all`, `bool`"),
        "{function}"
    );
}

#[test]
fn an_expression_that_is_certainly_not_boolean_is_refused() {
    for (text, found) in [
        ("1", "a constant"),
        ("'true'", "a constant"),
        ("[object]", "a list"),
        ("{'a': 1}", "a map"),
        ("object", "an object"),
        ("event", "a text"),
        ("object.a + 1", "a number or a text"),
        ("size(object.a)", "a number"),
    ] {
        assert_eq!(
            refused(text),
            format!(
                "the expression gives {found}, not true or false; compare it, as in `object.spec.replicas > 2`"
            )
        );
    }
}

#[test]
fn the_cost_of_an_evaluation_is_bounded() {
    assert!(
        refused(&format!("{} == 0", ["1"; 100].join("+")))
            .starts_with("the operations of the expression are nested too deep")
    );
    let three = "object.a.all(x, object.a.all(y, object.a.all(z, true)))";
    assert!(
        refused(three)
            .starts_with("there are more than two nested loops, or calls that cost as much as a loop, at 1:"),
        "{}",
        refused(three)
    );
    when("object.a.all(x, object.a.all(y, true)) && object.a.all(z, true)");
    let pattern = refused("object.a.matches(object.b)");
    assert!(
        pattern.starts_with("the pattern of `matches`, at 1:17 of the expression, is not written there; "),
        "{pattern}"
    );
    let pattern = refused("object.a.matches('(foo')");
    assert!(pattern.contains("is no regular expression: unclosed group; write for example"), "{pattern}");
    assert!(refused("matches(object.a)").contains("is not written there"));
    when("matches(object.a, '^x')");
    when("matches(object.a, '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$') || object.a.matches('\\\\w+@\\\\w+')");
    let pattern = refused("object.a.matches('((x{50}){50}){50}')");
    assert!(pattern.contains("is too large once it is compiled"), "{pattern}");
}

#[test]
fn an_operation_on_a_value_that_the_loop_does_not_change_counts_as_a_loop() {
    let body = |entries: usize| {
        let list = vec!["\"x\""; entries].join(",");
        format!(r#"{{"a":[{list}],"b":[{list}],"t":"{}"}}"#, "t".repeat(9))
    };
    for text in [
        "object.a.all(x, x in object.b)",
        "object.a.all(x, object.a == object.b)",
        "object.a.all(x, object.t.contains(x) || true)",
        "object.a.all(x, size(object.t + x) > 0)",
        "object.a.all(x, x.matches('^x'))",
        "object.a.map(x, object.b + [x]) != []",
        "object.a.map(x, string(object.t)) != []",
    ] {
        assert_eq!(holds(text, &body(1000)), Ok(true), "{text}");
        assert_eq!(holds(text, &body(1001)), Err(WhenError::TooManyEntries(1001)), "{text}");
        let within = format!("object.a.all(w, {text})");
        assert!(refused(&within).starts_with("there are more than two nested loops"), "{within}");
    }
    // Another part of the object in each round, or something short.
    for text in [
        "object.a.all(x, x == object.a[0])",
        "object.a.all(x, x in ['x', event])",
        "object.a.all(x, x.contains('x') && x.startsWith(object.a[0]))",
        "object.a.all(x, size(x + 'y') == 2)",
        "object.a.map(x, x + 'y') != []",
        "object.a.filter(x, x == 'x') == object.b",
    ] {
        assert_eq!(holds(text, &body(1001)), Ok(true), "{text}");
    }
    when("object.a.all(x, object.b.exists(y, x.name == y.name))");
}

/// Informers run on threads of 2 MiB, the default of Rust; a test does too.
#[test]
fn the_deepest_expressions_are_answered() {
    for (text, body) in [
        (format!("object.a == {}", ["1"; 14].join("+")), r#"{"a":14}"#),
        (
            format!("{}1{} == object.a", "[".repeat(14), "]".repeat(14)),
            r#"{"a":[[[[[[[[[[[[[[1]]]]]]]]]]]]]]}"#,
        ),
        (vec!["object.a"; 180].join("&&"), r#"{"a":true}"#),
    ] {
        assert_eq!(holds(&text, body), Ok(true), "{text}");
    }
    let deep = refused(&format!("object.a == {}", ["1"; 17].join("+")));
    assert_eq!(
        deep,
        "the operations of the expression are nested too deep; shorten it, or decide in the plugin"
    );
}

/// The parser is recursive; a text of the longest kind that it refuses must not take the process along.
#[test]
fn no_text_is_too_much_for_the_parser() {
    for text in [
        "(".repeat(2048),
        "[".repeat(2048),
        "{1:".repeat(682),
        format!("{}true{}", "(".repeat(1000), ")".repeat(1000)),
        format!("{}1{}", "[".repeat(1000), "]".repeat(1000)),
        "true?".repeat(409),
        ["1"; 1000].join("+"),
        format!("object{}", ".a".repeat(1000)),
        "'".to_owned(),
        "\u{0}".to_owned(),
    ] {
        assert!(refused(&text).contains("; "), "{text}");
    }
    assert_eq!(holds(&format!("{}object.a", "!".repeat(2000)), r#"{"a":true}"#), Ok(true));
}

#[test]
fn nested_loops_read_lists_of_at_most_a_thousand_entries() {
    let list = |entries: usize| format!(r#"{{"a":[{}]}}"#, vec!["1"; entries].join(","));
    let nested = "object.a.exists(x, object.a.exists(y, y == 2))";

    assert_eq!(holds("object.a.all(x, x == 1)", &list(5000)), Ok(true));
    assert_eq!(holds(nested, &list(20)), Ok(false));
    assert_eq!(holds(nested, &list(1001)), Err(WhenError::TooManyEntries(1001)));
    let other = "object.b.exists(x, object.b.exists(y, y == 2))";
    assert_eq!(
        holds(other, &list(1001).replace("{", r#"{"b":[2],"#)),
        Ok(true),
        "it does not read the long list"
    );
}

/// The error is logged (D-9), so it holds no value of the object, which may be a Secret.
#[test]
fn an_error_names_keys_of_the_expression_and_no_value_of_the_object() {
    let body = r#"{"data":{"secret":"hunter2","list":["hunter2"]}}"#;
    for (text, words) in [
        ("object.data.absent == 1", "there is no `absent`; ask with `has(...)` first"),
        ("object.data[object.data.secret] == 1", "a computed key that is not there"),
        ("object.data.secret > 1", "found no matching overload for '_>_' applied to '(string, int)'"),
        ("object.data.secret", "the expression gives string, not true or false"),
        ("object.data.list[7] == 1", "an index beyond the end of a list"),
        ("1 / 0 == size(object.data)", "a division by zero"),
        ("int(object.data.secret) == 1", "`int` failed on its arguments"),
        ("object.data.secret[0] == 'h'", "found no matching overload for '_[_]' applied to '(string, int)'"),
        ("object.data.secret && true", "found no matching overload for '_&&_' applied to '(string, bool)'"),
        ("9223372036854775807 + size(object.data) > 0", "an overflow of `add`"),
    ] {
        assert_eq!(failed(text, body), words, "{text}");
        assert!(!failed(text, body).contains("hunter2"));
    }
    assert_eq!(failed("object.a == 1", "{"), "the object cannot be read");
    let deep = format!("{}{}", r#"{"a":"#.repeat(200), "1".to_owned() + &"}".repeat(200));
    assert_eq!(failed("object.a == 1", &deep), "the object cannot be read");
}

#[test]
fn an_expression_sees_a_change_as_the_handler_would_receive_it() {
    let (old, new) = (Arc::new(object(r#"{"a":1}"#)), Arc::new(object(r#"{"a":2}"#)));
    let notify = |change| Notification {
        source: informer_types::Source::new("v1/pods".parse().unwrap()),
        change,
        cause: Cause::Relist,
        initial: None,
        observed: std::time::Instant::now().into(),
    };
    let update = notify(Change::Updated { old, new: Arc::clone(&new) });
    let delete = notify(Change::Deleted { object: new, final_state_known: true });
    let holds = |text: &str, notification| when(text).holds(&Occasion::change(notification)).unwrap();

    assert!(holds("event == 'update' && old.a == 1 && object.a == 2 && cause == 'relist'", &update));
    assert!(holds("event == 'delete' && old == null && object.a == 2", &delete));
}
