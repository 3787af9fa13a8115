//! The modules of a crate use one another in one direction.

use informer_tidy::modules::Modules;

use crate::{CRATES, none_of, rust_files};

#[test]
fn modules_of_a_crate_form_no_circle() {
    let mut problems = Vec::new();
    for directory in CRATES {
        let circles = Modules::new(directory, &rust_files(directory)).circles();
        for circle in &circles {
            let edges = circle.edges.join("\n    ");
            problems.push(format!(
                "{directory}: {} files use one another in a circle\n    {edges}",
                circle.modules.len()
            ));
        }
    }
    none_of(&problems, "Move what both sides need into a module of its own, or pass a value up.");
}

#[test]
fn the_modules_of_each_crate_are_found() {
    for directory in CRATES {
        assert!(!rust_files(directory).is_empty());
    }
}
