//! The filters of `[[plugin.on]]`.

use super::{plugin_problems, problems};

#[test]
fn a_malformed_filter_is_refused_with_a_remedy() {
    assert_eq!(
        plugin_problems(
            "labels = \"app in x\"\nfields = \"spec\"\nwhen = 3\nannotations = \"a b=c\"\nchanged = [\"spec\", \"\", \"/a\", \"/a\"]\nevents = [\"add\"]\n"
        ),
        r#"10:10: plugin.hello.on[0].labels: `app in x` is not a label selector: `app in x` is not a label key; write for example `app=web`, `tier!=db`, `env in (a, b)`, `app`, `!app`, joined by commas
11:10: plugin.hello.on[0].fields: `spec` is not a field selector; write for example `spec.nodeName=node-1` or `status.phase!=Running`, joined by commas, without blanks around the sign
12:8: plugin.hello.on[0].when: expected an expression, found the number 3; write for example "object.spec.replicas > 2"
13:15: plugin.hello.on[0].annotations: `a b=c` is not an annotation selector: `a b` is not a label key; write for example `reloader.stakater.com/auto=true`, `owner in (a, b)`, `owner`, `!owner`, joined by commas; for values that no label may have, write `when`
14:11: plugin.hello.on[0].changed: it is about updates, which `events` leaves out; add "update" to `events`, or remove it
14:12: plugin.hello.on[0].changed[0]: `spec` is neither "generation" nor a JSON pointer; write "generation", or a JSON pointer like "/spec"
14:20: plugin.hello.on[0].changed[1]: "" is the whole object; leave `changed` out, for each update has its own resourceVersion
14:30: plugin.hello.on[0].changed[3]: `/a` is listed twice; remove one
"#
    );
    assert_eq!(
        plugin_problems("initial = \"changed\"\nevents = [\"delete\"]\n"),
        "10:11: plugin.hello.on[0].initial: what changed before a restart is an addition, which `events` leaves out; add \"add\" to `events`, or write \"deliver\"\n"
    );
    assert_eq!(
        plugin_problems("changed = []\n"),
        "10:11: plugin.hello.on[0].changed: the list is empty; leave the key out for every update\n"
    );
}

#[test]
fn an_expression_that_cannot_work_is_refused_before_anything_runs() {
    let of = |when: &str| plugin_problems(&format!("when = '{when}'\n"));
    assert_eq!(
        of("object.spec.replicas > 2 && objekt.x"),
        "10:8: plugin.hello.on[0].when: unknown variable `objekt`, at 1:29 of the expression; known are `object`, `old`, `event` and `cause`\n"
    );
    assert_eq!(
        of("object.spec.replicas + 1"),
        "10:8: plugin.hello.on[0].when: the expression gives a number or a text, not true or false; compare it, as in `object.spec.replicas > 2`\n"
    );
    assert_eq!(
        of("object.metadata.name.matches(object.spec.pattern)"),
        "10:8: plugin.hello.on[0].when: the pattern of `matches`, at 1:29 of the expression, is not written there; write it as a text, like `matches(\"^web-\")`\n"
    );
}

#[test]
fn an_expression_that_is_not_supported_is_refused_with_the_reason() {
    let long = format!("object.metadata.name == '{}'", "x".repeat(2030));
    let deep = format!("{} == 0", ["1"; 40].join(" + "));
    for (when, problem) in [
        (" ", "the expression is empty; write for example `object.spec.replicas > 2`, or leave the key out"),
        (&long, "the expression has 2056 bytes; write at most 2048, and decide the rest in the plugin"),
        (&deep, "the operations of the expression are nested too deep; shorten it, or decide in the plugin"),
        (
            "object.metadata.name.lowerAscii() == 'web'",
            "unknown function `lowerAscii`, at 1:32 of the expression; known are `all`, `bool`, `bytes`, `contains`, `double`, `dyn`, `endsWith`, `exists`, `exists_one`, `filter`, `has`, `hasValue`, `int`, `map`, `matches`, `or`, `orValue`, `size`, `startsWith`, `string`, `type`, `uint`, `value`",
        ),
        (
            "object.a.all(x, object.a.all(y, object.a.all(z, true)))",
            "there are more than two nested loops, or calls that cost as much as a loop, at 1:45 of the expression; decide it in the plugin",
        ),
        (
            "object.metadata.name.matches('(web')",
            "the pattern of `matches`, at 1:29 of the expression, is no regular expression: unclosed group; write for example `matches(\"^web-\")`",
        ),
        (
            "object.metadata.name.matches('((x{50}){50}){50}')",
            "the pattern of `matches`, at 1:29 of the expression, is too large once it is compiled; repeat less in it, or decide it in the plugin",
        ),
        (
            "object.metadata.name.matches()",
            "the pattern of `matches`, at 1:29 of the expression, is missing; write for example `matches(\"^web-\")`",
        ),
    ] {
        let told = plugin_problems(&format!("when = \"{when}\"\n"));
        assert_eq!(told, format!("10:8: plugin.hello.on[0].when: {problem}\n"));
    }
}

#[test]
fn a_filter_on_a_field_that_is_not_kept_is_refused() {
    let text = "[[watch]]\ngvr = \"v1/pods\"\nmetadata-only = true\n[[watch]]\ngvr = \"v1/nodes\"\nkeep = [\"/status\"]\n\
                [[plugin]]\nname = \"a\"\nsource = \"a\"\n[[plugin.on]]\nwatch = \"v1/pods\"\nfields = \"spec.nodeName=a,metadata.name=b\"\n\
                annotations = \"a,!b\"\n[[plugin.on]]\nwatch = \"v1/nodes\"\nannotations = \"auto=true\"\nchanged = [\"/status/phase\", \"/spec\", \"/metadata/labels\", \"/metadata/deletionTimestamp\"]\n";
    assert_eq!(
        problems(text),
        r#"12:10: plugin.a.on[0].fields: nothing is at "/spec/nodeName" in what is kept of the objects; remove metadata-only, or name something below "/metadata"
16:15: plugin.a.on[1].annotations: nothing is at "/metadata/annotations/auto" in what is kept of the objects; add "/metadata/annotations/auto" to `keep`
17:29: plugin.a.on[1].changed[1]: nothing is at "/spec" in what is kept of the objects; add "/spec" to `keep`
"#
    );
}

#[test]
fn a_namespace_that_the_watch_does_not_cover_is_refused() {
    let text = "[[watch]]\ngvr = \"v1/pods\"\nnamespaces = [\"shop\", \"default\"]\n[[watch]]\ngvr = \"v1/services\"\n\
                [[plugin]]\nname = \"a\"\nsource = \"a\"\n[[plugin.on]]\nwatch = \"v1/pods\"\nnamespaces = [\"shop\", \"stop\", \"Bad\"]\n\
                [[plugin.on]]\nwatch = \"v1/services\"\nnamespaces = [\"any\", \"any\"]\n";
    assert_eq!(
        problems(text),
        r#"11:23: plugin.a.on[0].namespaces[1]: `v1/pods` is not watched in namespace `stop`; add "stop" to `namespaces` of its [[watch]], or remove it here
11:31: plugin.a.on[0].namespaces[2]: `Bad` is not a name; write at most 63 lower-case letters, digits and `-`, with no `-` at either end
14:22: plugin.a.on[1].namespaces[1]: `any` is listed twice; remove one
"#
    );
    assert_eq!(
        plugin_problems("namespaces = []\n"),
        "10:14: plugin.hello.on[0].namespaces: the list is empty; leave the key out for all that the watch covers\n"
    );
}

#[test]
fn labels_of_namespaces_need_all_namespaces_and_objects_in_them() {
    let text = r#"[[watch]]
gvr = "v1/pods"
[[watch]]
gvr = "v1/namespaces"
labels = "team"
[[plugin]]
name = "a"
source = "a"
[[plugin.on]]
watch = "v1/pods"
namespaces-labels = "team=shop"
[[plugin.on]]
watch = "v1/namespaces"
namespaces-labels = "team=shop"
[[plugin]]
name = "b"
source = "a"
[[plugin.on]]
watch = "v1/pods"
namespaces-labels = "team=shop,"
"#;
    assert_eq!(
        problems(text),
        r#"11:21: plugin.a.on[0].namespaces-labels: the [[watch]] of `v1/namespaces` leaves out namespaces by `labels`, and all have to be known; remove `labels` there, and write it under [[plugin.on]] instead
14:21: plugin.a.on[1].namespaces-labels: `namespaces-labels` never selects a namespace; write `labels`
20:21: plugin.b.on[0].namespaces-labels: `team=shop,` is not a label selector: there is nothing between two commas; write for example `app=web`, `tier!=db`, `env in (a, b)`, `app`, `!app`, joined by commas
"#
    );
}
