//! The programs of the node.

use informer_guests::{configmaps_keyvalue, guest};
use informer_tests::{binary::informer, node::build_programs};

/// Tests in a network namespace of their own can download nothing.
#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --node"]
async fn the_programs_of_a_node_and_the_components_are_built() {
    build_programs().unwrap();

    // The command that pushes to a registry.
    assert!(informer().await.is_file());
    assert!(configmaps_keyvalue().is_file());
    assert!(guest("echo").is_file());
}
