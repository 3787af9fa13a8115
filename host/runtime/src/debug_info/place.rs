//! A place in the sources of a guest.

use std::fmt::{self, Display, Write};

use cpp_demangle::{BorrowedSymbol, DemangleOptions};
use serde::{Deserialize, Serialize};

/// The longest name of a function that is demangled, in bytes. The author of the component chooses the mangled name, and it may stand for a
/// text that is far longer.
const MANGLED_BYTES: usize = 4096;

/// The longest name and the longest path that are shown, in bytes.
const SHOWN_BYTES: usize = 512;

/// Parts of paths of code that is not the author's: the standard library, packages, the SDKs and generated bindings.
const FOREIGN: [&str; 9] = [
    "/rustc/",
    "/rustlib/",
    "/registry/src/",
    "/git/checkouts/",
    "/plugins/sdk/",
    "/ziglang/",
    "/zig/",
    "/wasi-libc/",
    "/wasi-sysroot/",
];

/// Folders of a project whose code is not the author's.
const FOREIGN_FOLDERS: [&str; 4] = ["sdk/", "bindings/", "target/", ".."];

/// A place in the sources. Its texts have at most 512 bytes each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The name of the function, demangled.
    pub(crate) function: String,
    /// The file with the line. `None` if the compiler gives no lines.
    line: Option<(String, u32)>,
}

/// A text that ends at its bound: a write beyond it fails, so the writer stops.
struct Bounded(String);

// === impl Place ===

impl Place {
    /// A function with the line in its file.
    pub(super) fn new(function: &str, line: Option<(&str, u32)>) -> Self {
        let shown = |(file, line): (&str, u32)| (cut(file, SHOWN_BYTES).to_owned(), line);
        Self { function: demangled(function), line: line.map(shown) }
    }

    /// A function whose source is not known. Its name is demangled.
    pub(crate) fn unlocated(name: &str) -> Self {
        Self::new(name, None)
    }

    /// Returns true if its file and line are known.
    pub(crate) fn has_line(&self) -> bool {
        self.line.is_some()
    }

    /// The bytes of its texts.
    pub(crate) fn bytes(&self) -> usize {
        self.function.len() + self.line.as_ref().map_or(0, |(file, _)| file.len())
    }

    /// Returns true for code that the author of the plugin wrote, as far as its path shows.
    pub(crate) fn is_of_the_author(&self) -> bool {
        self.line.as_ref().is_some_and(|(file, _)| {
            !FOREIGN.iter().any(|part| file.contains(part))
                && !FOREIGN_FOLDERS.iter().any(|folder| file.starts_with(folder))
        })
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.line {
            Some((file, line)) => write!(f, "{} ({file}:{line})", self.function),
            None => f.write_str(&self.function),
        }
    }
}

// === impl Bounded ===

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = SHOWN_BYTES - self.0.len();
        self.0.push_str(cut(text, room));
        if text.len() > room { Err(fmt::Error) } else { Ok(()) }
    }
}

/// The name as a component has it, cut at the longest name that is demangled.
pub(super) fn bounded_name(name: &str) -> String {
    cut(name, MANGLED_BYTES).to_owned()
}

/// The name as its author wrote it, as far as it is shown. A name of no known scheme stays as it is.
fn demangled(name: &str) -> String {
    let mut text = Bounded(String::new());
    let name = cut(name, MANGLED_BYTES);
    // The rest of a name that is too long is missing, which is no reason to show nothing.
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        // The alternate form has no hash.
        write!(text, "{rust:#}").ok();
    } else if name.starts_with("_Z")
        && let Ok(cpp) = BorrowedSymbol::new(name.as_bytes())
    {
        cpp.structured_demangle(&mut text, &DemangleOptions::new()).ok();
    }
    if text.0.is_empty() {
        text.write_str(name).ok();
    }
    text.0
}

fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: &str) -> Place {
        Place::new("f", Some((file, 7)))
    }

    #[test]
    fn a_path_shows_whether_the_author_wrote_the_code() {
        for file in ["src/lib.rs", "/home/ann/hello/src/lib.rs", "main.c", "lib/util.rs"] {
            assert!(place(file).is_of_the_author(), "{file}");
        }
        for file in [
            "/rustc/0123/library/core/src/panicking.rs",
            "/home/ann/.cargo/registry/src/index.crates.io-1/serde-1.0/src/lib.rs",
            "/home/ann/.cargo/git/checkouts/informer-1/2/plugins/sdk/rust/src/lib.rs",
            "/work/informer/plugins/sdk/rust/src/lib.rs",
            "sdk/calls.c",
            "bindings/plugin.c",
            "/home/ann/.cache/informer/zig/01/ziglang/lib/libc/wasi/x.c",
        ] {
            assert!(!place(file).is_of_the_author(), "{file}");
        }
        assert!(!Place::unlocated("f").is_of_the_author());
    }

    #[test]
    fn names_of_rust_and_of_cpp_are_demangled_and_others_stay() {
        for (mangled, shown) in [
            ("_ZN4core9panicking5panic17h0123456789abcdefE", "core::panicking::panic"),
            ("_RNvNtCs1234_5hello4main3run", "hello::main::run"),
            ("_Z3runi", "run(int)"),
            ("main.eat", "main.eat"),
            // The parser of C++ takes this for the type `float`.
            ("f", "f"),
            ("", ""),
        ] {
            assert_eq!(demangled(mangled), shown, "{mangled}");
        }
    }

    /// A type of C++ may name an earlier one twice, so each one here is twice as long as the one before: 7 MB in the end.
    #[test]
    fn a_name_that_expands_or_is_long_is_cut() {
        let earlier = |index: u32| char::from_digit(index, 36).unwrap().to_ascii_uppercase();
        let twice = |level: u32| format!("PFiS{0}_S{0}_E", earlier(level * 2));
        let expands = format!("_Z1fPFiiiE{}", (0..17).map(twice).collect::<String>());
        for (name, start) in [
            (expands, "f(int (*)(int, int), int ("),
            ("x".repeat(60 << 20), "xxx"),
            ("\u{20ac}".repeat(4000), "\u{20ac}"),
        ] {
            let shown = demangled(&name);

            assert!(shown.starts_with(start), "{shown}");
            assert!((SHOWN_BYTES - 3..=SHOWN_BYTES).contains(&shown.len()), "{} bytes: {shown}", shown.len());
        }
    }

    #[test]
    fn a_long_path_is_cut() {
        assert!(place(&"a".repeat(10_000)).bytes() <= SHOWN_BYTES + 1);
    }
}
