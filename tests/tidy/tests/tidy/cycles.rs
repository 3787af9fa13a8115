//! The modules of a crate use one another in one direction.

use std::collections::BTreeSet;

use informer_tidy::modules::{Circle, Modules};

use crate::{CRATES, none_of, rust_files};

/// Circles that may stay, by crate and modules: deleting an object collects its dependents, and deleting a definition deletes its
/// objects, which are deletions again.
const ALLOWED: &[(&str, &[&str])] = &[("host/devserver/src", &["rest", "gc", "crd"])];

/// Only recursion that is in the nature of things is allowed (`ALLOWED`).
#[test]
#[ignore = "the clean-up is under way"]
fn modules_of_a_crate_form_no_circle() {
    let mut problems = Vec::new();
    for directory in CRATES {
        let circles = Modules::new(directory, &rust_files(directory)).circles();
        for circle in circles.iter().filter(|circle| !allowed(directory, circle)) {
            let edges = circle.edges.join("\n    ");
            problems.push(format!(
                "{directory}: {} files use one another in a circle\n    {edges}",
                circle.modules.len()
            ));
        }
    }
    none_of(&problems, "Move what both sides need into a module of its own, or pass a value up.");
}

fn allowed(directory: &str, circle: &Circle) -> bool {
    let roots: BTreeSet<&str> =
        circle.modules.iter().filter_map(|module| module.first()).map(String::as_str).collect();
    ALLOWED.iter().any(|(of, modules)| *of == directory && roots.iter().all(|root| modules.contains(root)))
}

#[test]
fn the_modules_of_each_crate_are_found() {
    for directory in CRATES {
        assert!(!rust_files(directory).is_empty());
    }
}
