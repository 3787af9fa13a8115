//! `settle` of `[[plugin.on]]`.

use super::plugin_problems;

#[test]
fn a_time_to_be_quiet_is_refused_out_of_its_bounds_and_where_each_change_is_delivered() {
    let problem = |settle: &str, rest: &str| plugin_problems(&format!("settle = \"{settle}\"\n{rest}"));
    let every = "[plugin.queue]\ndelivery = \"every\"\n";

    assert_eq!(
        problem("9ms", ""),
        "10:10: plugin.hello.on[0].settle: \"9ms\" is too small; write at least \"10ms\"\n"
    );
    assert_eq!(
        problem("61s", ""),
        "10:10: plugin.hello.on[0].settle: \"1m1s\" is too large; write at most \"1m\"\n"
    );
    assert_eq!(
        problem("2s", every),
        "10:10: plugin.hello.on[0].settle: it merges changes, and delivery = \"every\" delivers each of them; \
         remove it, or write delivery = \"latest\" under [plugin.queue]\n"
    );
}
