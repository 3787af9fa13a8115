//! The toolchain that made a file, by the signs that it left.

use std::fmt;

use crate::Language;

/// The toolchain that made a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// The language of the source.
    pub language: Language,
    /// The compiler or engine with its version, if the file names it.
    pub compiler: Option<String>,
}

const STARLING_MONKEY: &str = "StarlingMonkey";

/// A text that the runtime of a language leaves in every file with it.
const TEXTS: [(&[u8], Language, &str); 3] = [
    (b"componentize-py", Language::Python, "CPython (componentize-py)"),
    (b"StarlingMonkey", Language::Js, STARLING_MONKEY),
    (b"quickjs", Language::Js, "QuickJS"),
];

/// The bytes of a file in which such a text is searched for; it stands in the data of the runtime.
const SEARCHED: usize = 64 << 20;

/// The traces of a toolchain in a file.
#[derive(Default)]
pub(super) struct Signs<'a> {
    /// The languages that the outermost component names: what the build of the component wrote there.
    declared: Vec<&'a str>,
    /// The signs of the module that is being read, and the signs and the size of the largest module so far.
    module: Vec<Sign<'a>>,
    largest: (usize, Vec<Sign<'a>>),
}

#[derive(Clone, Copy)]
enum Sign<'a> {
    Section(&'a str),
    Producer { field: &'a str, name: &'a str, version: &'a str },
}

// === impl Toolchain ===

impl Toolchain {
    /// Returns true if an instance grows with each call until it is replaced. componentize-js frees only a part of what a call passes
    /// (<https://github.com/bytecodealliance/ComponentizeJS/issues/350>).
    pub fn grows(&self) -> bool {
        self.compiler.as_deref() == Some(STARLING_MONKEY)
    }
}

// === impl Signs ===

impl<'a> Signs<'a> {
    pub(super) fn section(&mut self, name: &'a str) {
        self.module.push(Sign::Section(name));
    }

    /// An entry of a section `producers`.
    pub(super) fn producer(&mut self, outermost: bool, field: &'a str, name: &'a str, version: &'a str) {
        if outermost && field == "language" {
            self.declared.push(name);
        }
        self.module.push(Sign::Producer { field, name, version });
    }

    /// The module that was being read ends. The largest module has the program; the others are adapters and shims.
    pub(super) fn module_ends(&mut self, bytes: usize) {
        let signs = std::mem::take(&mut self.module);
        if bytes >= self.largest.0 {
            self.largest = (bytes, signs);
        }
    }

    pub(super) fn toolchain(&self, file: &[u8]) -> Option<Toolchain> {
        let seen = runtime_in(file).or_else(|| self.by_producers());
        let declared = self
            .declared
            .iter()
            .find_map(|name| Language::ALL.into_iter().find(|language| language.to_string() == *name));
        let Some(language) = declared else { return seen };
        let engine = |language| if language == Language::Ts { Language::Js } else { language };
        let compiler = seen.filter(|seen| engine(seen.language) == engine(language));
        Some(Toolchain { language, compiler: compiler.and_then(|seen| seen.compiler) })
    }

    fn by_producers(&self) -> Option<Toolchain> {
        let found = |language, compiler| Some(Toolchain { language, compiler });
        let mut likely = None;
        for sign in &self.largest.1 {
            match *sign {
                Sign::Section("go:buildid") => likely = likely.or_else(|| found(Language::Go, None)),
                Sign::Producer { field: "language", name: "Go", version } => {
                    return found(Language::Go, named("Go", version.trim_start_matches("go")));
                }
                Sign::Producer { field: "processed-by", name: "rustc", version } => {
                    return found(Language::Rust, named("rustc", version));
                }
                Sign::Producer { field: "language", name: "Rust", .. }
                | Sign::Producer { name: "wit-bindgen-rust", .. } => {
                    likely = found(Language::Rust, None);
                }
                Sign::Producer { name, version, .. } if name.contains("clang") => {
                    likely = likely.or_else(|| found(Language::C, named("clang", version)));
                }
                Sign::Section(_) | Sign::Producer { .. } => {}
            }
        }
        likely
    }
}

/// The runtime whose text stands in the file.
fn runtime_in(file: &[u8]) -> Option<Toolchain> {
    let file = file.get(..SEARCHED).unwrap_or(file);
    let (_, language, compiler) =
        TEXTS.into_iter().find(|(text, ..)| memchr::memmem::find(file, text).is_some())?;
    Some(Toolchain { language, compiler: Some(compiler.to_owned()) })
}

/// The name with the version, as far as there are any.
fn named(name: &str, version: &str) -> Option<String> {
    let both = format!("{name} {version}");
    Some(both.trim().to_owned()).filter(|both| !both.is_empty())
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.compiler {
            Some(compiler) => write!(f, "{}, {compiler}", self.language),
            None => write!(f, "{}", self.language),
        }
    }
}
