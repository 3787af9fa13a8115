//! Invalid watches.

use super::{problems, watch_problems};

#[test]
fn a_malformed_or_dangerous_watch_is_refused() {
    assert_eq!(
        watch_problems(
            "namespaces = []\nlabels = \"app in x\"\nfields = \"x\"\nresync = \"500ms\"\n\
             drop = [\"/metadata\", \"\", \"/a\", \"/a\"]\nindex = { \"A b\" = \"/x\", c = \"/*/a\", d = 3, e = [], f = [\"/a\", \"b\"] }\n"
        ),
        r#"3:14: watch[0].namespaces: the list is empty; leave the key out for all namespaces
4:10: watch[0].labels: `app in x` is not a label selector: `app in x` is not a label key; write for example `app=web`, `tier!=db`, `env in (a, b)`, `app`, `!app`, joined by commas
5:10: watch[0].fields: `x` is not a field selector; write for example `spec.nodeName=node-1` or `status.phase!=Running`, joined by commas, without blanks around the sign
6:10: watch[0].resync: "500ms" is too small; write at least "1s"
7:9: watch[0].drop[0]: "/metadata" removes /metadata/name, which the informer itself needs; drop something else, like "/metadata/managedFields"
7:22: watch[0].drop[1]: "" removes /metadata/name, which the informer itself needs; drop something else, like "/metadata/managedFields"
7:32: watch[0].drop[3]: `/a` is listed twice; remove one
8:11: watch[0].index: `A b` is not a name; write at most 63 lower-case letters, digits and `-`, with no `-` at either end
8:29: watch[0].index.c: the whole object cannot be an index; write the pointer of a field, like "/spec/nodeName"
8:41: watch[0].index.d: expected a JSON pointer or an array of them, found the number 3; write for example "/spec/nodeName"
8:48: watch[0].index.e: an index without a pointer has no values; write for example ["/spec/nodeName"]
8:56: watch[0].index.f: `b` is not a JSON pointer: it must start with `/`, as in `/spec/replicas`
"#
    );
}

#[test]
fn contradictory_keys_about_what_is_kept_are_refused() {
    assert_eq!(
        watch_problems(
            "drop = [\"/status\"]\nkeep = [\"\", \"/spec\", \"/spec\"]\nindex = { a = \"/data\" }\n"
        ),
        r#"4:8: watch[0].keep: `keep` lists all that is kept, and `drop` on line 3 what is removed; remove one of them
4:9: watch[0].keep[0]: "" is the whole object; leave `keep` out to keep everything
4:22: watch[0].keep[2]: `/spec` is listed twice; remove one
"#
    );
    assert_eq!(
        watch_problems("keep = []\nmetadata-only = \"yes\"\n"),
        r#"3:8: watch[0].keep: the list is empty; leave the key out for everything
4:17: watch[0].metadata-only: expected true or false, found the text "yes"; write for example true
"#
    );
    assert_eq!(
        watch_problems("metadata-only = true\nkeep = [\"/spec\"]\n"),
        r#"4:9: watch[0].keep[0]: nothing is at "/spec" with metadata-only = true; remove it, or keep something below "/metadata"
"#
    );
}

#[test]
fn an_index_over_a_field_that_is_not_kept_is_refused() {
    assert_eq!(
        watch_problems(
            "keep = [\"/spec/a\"]\nindex = { b = \"/spec/b\", c = \"/spec/a/x\", d = \"/metadata/labels/x\" }\n"
        ),
        r#"4:15: watch[0].index.b: nothing is at "/spec/b" in what is kept of the objects; add "/spec/b" to `keep`
"#
    );
    assert_eq!(
        watch_problems("keep = [\"/spec/a\"]\nindex = { b = [\"/spec/a/*/name\", \"/spec/b/*\"] }\n"),
        r#"4:15: watch[0].index.b: nothing is at "/spec/b" in what is kept of the objects; add "/spec/b" to `keep`
"#
    );
    assert_eq!(
        watch_problems("drop = [\"/spec\"]\nindex = { b = \"/spec/b\" }\n"),
        r#"4:15: watch[0].index.b: nothing is at "/spec/b" in what is kept of the objects; remove "/spec" from `drop`
"#
    );
    assert_eq!(
        watch_problems(
            "metadata-only = true\nindex = { b = \"/spec/b\", c = \"/metadata/annotations/x\" }\n"
        ),
        r#"4:15: watch[0].index.b: nothing is at "/spec/b" in what is kept of the objects; remove metadata-only, or name something below "/metadata"
"#
    );
}

#[test]
fn a_list_of_malformed_elements_is_not_reported_as_empty() {
    assert_eq!(
        watch_problems("namespaces = [\"A\"]\n"),
        "3:15: watch[0].namespaces[0]: `A` is not a name; write at most 63 lower-case letters, digits and `-`, \
         with no `-` at either end\n"
    );
}

#[test]
fn a_misspelt_watch_of_a_built_in_resource_is_corrected_and_not_the_reference_to_it() {
    let file = |watched: &str, subscribed: &str| {
        format!(
            "[[watch]]\ngvr = \"{watched}\"\n[[plugin]]\nname = \"a\"\nsource = \"a\"\n[[plugin.on]]\nwatch = \"{subscribed}\"\n"
        )
    };
    assert_eq!(
        problems(&file("apps/v1/deploymets", "apps/v1/deployments")),
        r#"7:9: plugin.a.on[0].watch: `apps/v1/deployments` is not watched; correct gvr = "apps/v1/deploymets" under [[watch]], or add [[watch]] with gvr = "apps/v1/deployments"
"#
    );
    // Both exist, so neither is misspelt.
    assert_eq!(
        problems(&file("v1/services", "v1/secrets")),
        r#"7:9: plugin.a.on[0].watch: `v1/secrets` is not watched; add [[watch]] with gvr = "v1/secrets"
"#
    );
}
