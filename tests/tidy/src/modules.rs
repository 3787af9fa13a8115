//! The modules of a crate as a graph: which file uses what another one defines.
//!
//! Edges come from `use` lines and from paths in the code. `pub use` makes a name available under another path and is no edge. A name is
//! followed through re-exports to the file that defines it. The root of the crate (`lib.rs`, or `main.rs` without one) has no
//! edges: it puts the modules together. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    rust::{Rust, Token},
    tree::SourceFile,
};

/// Segments of a path, as `["app", "units"]`.
pub type Path = Vec<String>;

/// The names that tie one module to another.
type Edges = BTreeMap<Path, BTreeMap<Path, BTreeSet<String>>>;

/// Re-exports and aliases are followed for this many steps.
const STEPS_AT_MOST: usize = 12;

#[derive(Debug, Default)]
struct Module {
    definitions: BTreeSet<String>,
    /// What `use` brings into scope: the alias, and the path behind it.
    uses: BTreeMap<String, Path>,
    /// The same for `pub use`.
    reexports: BTreeMap<String, Path>,
    /// All paths of at least two segments outside `use` lines.
    paths: BTreeSet<Path>,
}

/// The modules of one crate.
#[derive(Debug, Default)]
pub struct Modules(BTreeMap<Path, Module>);

/// Modules that use one another in a circle.
#[derive(Debug, PartialEq, Eq)]
pub struct Circle {
    /// The paths of the modules.
    pub modules: BTreeSet<Path>,
    /// One line for each edge inside the circle, with the names that make it.
    pub edges: Vec<String>,
}

impl Modules {
    /// Reads the modules of the crate whose sources are below `directory`, as `host/cache/src`.
    #[must_use]
    pub fn new(directory: &str, files: &[SourceFile]) -> Self {
        let has_library = files.iter().any(|file| file.path == format!("{directory}/lib.rs"));
        let mut modules = BTreeMap::new();
        for file in files.iter().filter(|file| !file.is_test() || directory.starts_with("tests")) {
            let relative = file.path.strip_prefix(directory).and_then(|path| path.strip_prefix('/'));
            let Some(relative) = relative.and_then(|path| path.strip_suffix(".rs")) else { continue };
            let path: Path = match relative {
                "lib" => Vec::new(),
                "main" if !has_library => Vec::new(),
                other if other.split('/').any(|part| part == "tests") => continue,
                other => other.split('/').map(str::to_owned).collect(),
            };
            modules.insert(path, Module::parse(&Rust::parse(&file.text).tokens_without_tests()));
        }
        Self(modules)
    }

    /// The circles among the modules, with the edges that make them.
    #[must_use]
    pub fn circles(&self) -> Vec<Circle> {
        let edges = self.edges();
        let mut circles: Vec<Circle> = Vec::new();
        for module in edges.keys() {
            if circles.iter().any(|circle| circle.modules.contains(module)) {
                continue;
            }
            let reached = reachable(&edges, module);
            let modules: BTreeSet<Path> =
                reached.into_iter().filter(|other| reachable(&edges, other).contains(module)).collect();
            if modules.contains(module) {
                circles.push(Circle { edges: lines(&edges, &modules), modules });
            }
        }
        circles
    }

    /// The module that defines the item which `path` names in `module`.
    #[must_use]
    pub fn home(&self, module: &[String], path: &[String]) -> Option<Path> {
        if let [name] = path
            && self.0.get(module)?.definitions.contains(name)
        {
            return Some(module.to_vec());
        }
        self.resolve(&self.absolute(module, path, 0)?, 0)
    }

    fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (path, module) in self.0.iter().filter(|(path, _)| !path.is_empty()) {
            for used in module.uses.values().chain(&module.paths) {
                let home = self.absolute(path, used, 0).and_then(|absolute| self.resolve(&absolute, 0));
                if let Some(home) = home.filter(|home| home != path) {
                    edges.entry(path.clone()).or_default().entry(home).or_default().insert(used.join("::"));
                }
            }
        }
        edges
    }

    /// The path from the root of the crate, or `None` if `path` leads out of the crate.
    fn absolute(&self, module: &[String], path: &[String], steps: usize) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        let joined = |base: &[String]| Some(base.iter().chain(rest).cloned().collect::<Path>());
        match first.as_str() {
            "crate" => return joined(&[]),
            "self" => return joined(module),
            "super" => return self.absolute_or_parent(module.split_last()?.1, rest),
            _ => {}
        }
        let child: Path = module.iter().chain([first]).cloned().collect();
        if self.0.contains_key(&child) {
            return joined(&child);
        }
        let known = self.0.get(module)?;
        let alias = known.uses.get(first).or_else(|| known.reexports.get(first))?;
        if alias.first() == Some(first) || steps > STEPS_AT_MOST {
            return None;
        }
        joined(&self.absolute(module, alias, steps + 1)?)
    }

    /// What follows `super`: another `super`, or a path in the parent.
    fn absolute_or_parent(&self, parent: &[String], rest: &[String]) -> Option<Path> {
        if rest.first().is_some_and(|next| next == "super") {
            return self.absolute(parent, rest, 0);
        }
        Some(parent.iter().chain(rest).cloned().collect())
    }

    /// The module that defines the item behind an absolute path.
    fn resolve(&self, path: &[String], steps: usize) -> Option<Path> {
        let length = (0..=path.len())
            .rev()
            .find(|length| path.get(..*length).is_some_and(|prefix| self.0.contains_key(prefix)))?;
        let (home, rest) = path.split_at_checked(length)?;
        let module = self.0.get(home)?;
        let (name, after) = rest.split_first()?;
        if module.definitions.contains(name) {
            return Some(home.to_vec());
        }
        if steps > STEPS_AT_MOST {
            return None;
        }
        if let Some(target) = module.reexports.get(name).or_else(|| module.uses.get(name)) {
            let absolute = self.absolute(home, target, 0)?;
            return self.resolve(&[absolute.as_slice(), after].concat(), steps + 1);
        }
        let glob = self.absolute(home, module.reexports.get("*")?, 0)?;
        let (_, base) = glob.split_last()?;
        self.resolve(&[base, rest].concat(), steps + 1)
    }
}

impl Module {
    fn parse(tokens: &[Token<'_>]) -> Self {
        let mut module = Self::default();
        let mut rest = tokens;
        let mut public = false;
        while let Some((token, after)) = rest.split_first() {
            rest = after;
            match token.text {
                "use" if after.first().is_none_or(|next| next.text != "<") => {
                    let end = after.iter().position(|token| token.text == ";").unwrap_or(after.len());
                    let (tree, following) = after.split_at_checked(end).unwrap_or((after, &[]));
                    let into = if public { &mut module.reexports } else { &mut module.uses };
                    expand(tree, &[], into);
                    rest = following;
                }
                "struct" | "enum" | "trait" | "fn" | "const" | "static" | "type" | "union" | "mod" => {
                    module.definitions.extend(after.first().map(|name| name.text.to_owned()));
                }
                "macro_rules" => module.definitions.extend(after.get(1).map(|name| name.text.to_owned())),
                _ => {
                    let path = path_at(rest, token);
                    rest = after.get((path.len() - 1) * 2..).unwrap_or_default();
                    if path.len() > 1 {
                        module.paths.insert(path);
                    }
                }
            }
            public = match token.text {
                "pub" => true,
                "(" | ")" | "crate" | "super" | "in" => public,
                _ => false,
            };
        }
        module
    }
}

/// The path that begins with `first`; `after` follows it.
fn path_at(after: &[Token<'_>], first: &Token<'_>) -> Path {
    let mut path = vec![first.text.to_owned()];
    if !is_word(first.text) {
        return path;
    }
    for pair in after.chunks(2) {
        match pair {
            [separator, segment] if separator.text == "::" && is_word(segment.text) => {
                path.push(segment.text.to_owned());
            }
            _ => break,
        }
    }
    path
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Adds each leaf of a `use` tree below `prefix`, under its alias.
fn expand(tree: &[Token<'_>], prefix: &[String], into: &mut BTreeMap<String, Path>) {
    let mut path = prefix.to_vec();
    let mut rest = tree;
    while let Some((token, after)) = rest.split_first() {
        match token.text {
            "::" => {}
            "{" => {
                let inner = after.get(..after.len().saturating_sub(1)).unwrap_or_default();
                branches(inner).into_iter().for_each(|branch| expand(branch, &path, into));
                return;
            }
            "as" => {
                into.extend(after.first().map(|alias| (alias.text.to_owned(), path)));
                return;
            }
            "self" if !path.is_empty() && path.last().is_some_and(|last| last != "super") => {}
            segment => path.push(segment.to_owned()),
        }
        rest = after;
    }
    if let Some(last) = path.last() {
        into.insert(last.clone(), path);
    }
}

/// Splits the inside of braces at its outer commas.
fn branches<'a, 'b>(tokens: &'b [Token<'a>]) -> Vec<&'b [Token<'a>]> {
    let mut depth = 0_usize;
    let split = tokens.split(|token| {
        match token.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.text == ","
    });
    split.filter(|branch| !branch.is_empty()).collect()
}

/// All modules that can be reached from `start` over at least one edge.
fn reachable(edges: &Edges, start: &Path) -> BTreeSet<Path> {
    let mut found = BTreeSet::new();
    let mut open = vec![start];
    while let Some(module) = open.pop() {
        for next in edges.get(module).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    found
}

fn lines(edges: &Edges, modules: &BTreeSet<Path>) -> Vec<String> {
    let mut lines = Vec::new();
    for (from, targets) in edges.iter().filter(|(from, _)| modules.contains(*from)) {
        for (to, names) in targets.iter().filter(|(to, _)| modules.contains(*to)) {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            lines.push(format!("{} -> {} by {}", from.join("::"), to.join("::"), names.join(", ")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Circle> {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| SourceFile { path: format!("c/src/{path}"), text: (*text).to_owned() })
            .collect();
        Modules::new("c/src", &files).circles()
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle() {
        let found = circles(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::{self, B as Other};\npub struct A(Other);"),
            ("b.rs", "pub struct B;\nfn f(_: crate::a::A) {}"),
        ]);

        assert_eq!(found.len(), 1);
        assert_eq!(found[0].edges, ["a -> b by crate::b::B", "b -> a by crate::a::A"]);
    }

    #[test]
    fn a_child_that_uses_its_parent_is_a_circle_if_the_parent_uses_it() {
        let found = circles(&[
            ("lib.rs", "mod p;"),
            ("p.rs", "mod c;\nstruct P;\nfn f() { c::g(); }"),
            ("p/c.rs", "use super::P;\npub fn g() {}"),
        ]);

        assert_eq!(found.len(), 1);
        assert_eq!(found[0].modules.len(), 2);
    }

    #[test]
    fn a_name_is_followed_through_a_reexport() {
        let found = circles(&[
            ("lib.rs", "mod p;"),
            ("p.rs", "mod a;\nmod b;\npub use self::a::A;"),
            ("p/a.rs", "use super::b::B;\npub struct A(B);"),
            ("p/b.rs", "use crate::p::A;\npub struct B(Box<A>);"),
        ]);

        assert_eq!(found.len(), 1);
        assert_eq!(found[0].edges, ["p::a -> p::b by super::b::B", "p::b -> p::a by crate::p::A"]);
    }

    #[test]
    fn reexports_tests_comments_and_other_crates_are_no_edges() {
        let found = circles(&[
            ("lib.rs", "mod a; mod b; mod tests;"),
            ("a.rs", "pub use crate::b::B;\npub struct A;\n#[cfg(test)]\nmod tests {\n use crate::b::B;\n}"),
            ("b.rs", "// crate::a::A\nuse other::a::A;\npub struct B; fn f() { \"crate::a::A\"; }"),
            ("tests.rs", "use crate::a::A; use crate::b::B;"),
        ]);

        assert_eq!(found, []);
    }

    #[test]
    fn a_chain_is_no_circle() {
        assert_eq!(
            circles(&[("lib.rs", ""), ("a.rs", "use crate::b::B; pub struct A;"), ("b.rs", "pub struct B;")]),
            []
        );
    }

    #[test]
    fn the_home_of_a_name_is_the_file_that_defines_it() {
        let files = [("c/src/a.rs", "pub use super::b::B;"), ("c/src/b.rs", "pub struct B;")]
            .map(|(path, text)| SourceFile { path: path.to_owned(), text: text.to_owned() });
        let modules = Modules::new("c/src", &files);

        assert_eq!(modules.home(&["a".to_owned()], &["B".to_owned()]), Some(vec!["b".to_owned()]));
    }
}
