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

/// The traces of a toolchain in a file. They take the same memory for each file, because the file may be hostile.
#[derive(Default)]
pub(super) struct Signs {
    /// The first language that the outermost component names: what the build of the component wrote there.
    declared: Option<Language>,
    /// What the module that is being read shows.
    module: Shown,
    /// The size of the largest module so far, and what it shows.
    largest: (usize, Shown),
}

/// What the custom sections of a module show.
#[derive(Default)]
struct Shown {
    /// The first compiler that names itself.
    certain: Option<Toolchain>,
    /// A guess, if no compiler names itself.
    likely: Option<Toolchain>,
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

impl Signs {
    pub(super) fn section(&mut self, name: &str) {
        if name == "go:buildid" {
            self.module.likely.get_or_insert(Toolchain { language: Language::Go, compiler: None });
        }
    }

    /// An entry of a section `producers`.
    pub(super) fn producer(&mut self, outermost: bool, field: &str, name: &str, version: &str) {
        if outermost && field == "language" && self.declared.is_none() {
            self.declared = Language::ALL.into_iter().find(|language| language.to_string() == name);
        }
        self.module.producer(field, name, version);
    }

    /// The module that was being read ends. The largest module has the program; the others are adapters and shims.
    pub(super) fn module_ends(&mut self, bytes: usize) {
        let shown = std::mem::take(&mut self.module);
        if bytes >= self.largest.0 {
            self.largest = (bytes, shown);
        }
    }

    pub(super) fn toolchain(self, file: &[u8]) -> Option<Toolchain> {
        let (_, Shown { certain, likely }) = self.largest;
        let seen = runtime_in(file).or(certain).or(likely);
        let Some(language) = self.declared else { return seen };
        let engine = |language| if language == Language::Ts { Language::Js } else { language };
        let compiler = seen.filter(|seen| engine(seen.language) == engine(language));
        Some(Toolchain { language, compiler: compiler.and_then(|seen| seen.compiler) })
    }
}

// === impl Shown ===

impl Shown {
    fn producer(&mut self, field: &str, name: &str, version: &str) {
        match (field, name) {
            ("language", "Go") => {
                let version = version.trim_start_matches("go");
                self.certain.get_or_insert_with(|| made_by(Language::Go, "Go", version));
            }
            ("processed-by", "rustc") => {
                self.certain.get_or_insert_with(|| made_by(Language::Rust, "rustc", version));
            }
            ("language", "Rust") | (_, "wit-bindgen-rust") => {
                self.likely = Some(Toolchain { language: Language::Rust, compiler: None });
            }
            (_, name) if name.contains("clang") => {
                self.likely.get_or_insert_with(|| made_by(Language::C, "clang", version));
            }
            _ => {}
        }
    }
}

/// The runtime whose text stands in the file.
fn runtime_in(file: &[u8]) -> Option<Toolchain> {
    let file = file.get(..SEARCHED).unwrap_or(file);
    let (_, language, compiler) =
        TEXTS.into_iter().find(|(text, ..)| memchr::memmem::find(file, text).is_some())?;
    Some(Toolchain { language, compiler: Some(compiler.to_owned()) })
}

/// The toolchain whose compiler has this name, and this version unless it is empty.
fn made_by(language: Language, name: &str, version: &str) -> Toolchain {
    Toolchain { language, compiler: Some(format!("{name} {version}").trim().to_owned()) }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.compiler {
            Some(compiler) => write!(f, "{}, {compiler}", self.language),
            None => write!(f, "{}", self.language),
        }
    }
}
