//! The programs of the node.

use informer_guests::{configmaps_keyvalue, guest};
use informer_tests::node::build_programs;

/// Tests in a network namespace of their own can download nothing.
#[test]
#[ignore = "needs Go: run by cargo xtask test --node"]
fn the_programs_of_a_node_and_the_components_are_built() {
    build_programs().unwrap();

    assert!(configmaps_keyvalue().is_file());
    assert!(guest("echo").is_file());
}
