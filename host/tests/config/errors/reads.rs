//! `reads` and `whole-if` of `[[plugin.on]]`.

use super::plugin_problems;

#[test]
fn what_is_no_part_of_an_object_is_refused() {
    assert_eq!(
        plugin_problems("reads = [\"spec\", \"\", \"sha256:\", \"sha1:/data\", \"/a\", \"/a\"]\n"),
        r#"10:10: plugin.hello.on[0].reads[0]: `spec` is neither "all" nor a JSON pointer nor the digest of one; write "all", or a list of JSON pointers like "/spec" and digests like "sha256:/data"
10:18: plugin.hello.on[0].reads[1]: "" is the whole object; write "all"
10:22: plugin.hello.on[0].reads[2]: "" is the whole object; write "all"
10:33: plugin.hello.on[0].reads[3]: `sha1:/data` is neither "all" nor a JSON pointer nor the digest of one; write "all", or a list of JSON pointers like "/spec" and digests like "sha256:/data"
10:53: plugin.hello.on[0].reads[5]: `/a` is listed twice; remove one
"#
    );
}

#[test]
fn a_condition_for_whole_objects_needs_the_other_reads_and_no_change() {
    assert_eq!(
        plugin_problems("whole-if = \"object.a == 1\"\n"),
        "10:12: plugin.hello.on[0].whole-if: every object is read as a whole without `reads`; add `reads` with what the plugin reads \
         of other objects, or remove it\n"
    );
    assert_eq!(
        plugin_problems("reads = []\nwhole-if = \"event == 'add'\"\n"),
        "11:12: plugin.hello.on[0].whole-if: it decides what is kept of an object, so it can name `object` only; remove `old`, \
         `event` and `cause` from it\n"
    );
}
