//! New projects: the sources, the configuration and the build of a plugin that works as it is.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::{Engine, Existing, Language, MANIFEST, SDK, TextFile, WitVersion, WriteError, sdk, write};

/// The repository of this program, which has the SDK for Rust.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Names are at most this long: they are parts of file names and of names in a cluster.
const NAME_BYTES: usize = 40;

/// A project that does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The name of the plugin and of its component.
    pub name: String,
    /// The language of the sources.
    pub language: Language,
    /// The engine of a plugin in JavaScript or TypeScript. `None` means the usual one.
    pub engine: Option<Engine>,
    /// True for a reconciler, false for handlers.
    pub reconciler: bool,
    /// The folder of the SDK for Rust. `None` means that cargo gets it from the repository.
    pub sdk: Option<PathBuf>,
}

/// A name that a plugin cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no name for a plugin: write up to 40 lower-case letters, digits and `-`, a letter first, like `my-plugin`, \
     but not `informer-sdk` or a device of Windows such as `aux`"
)]
pub struct InvalidName(String);

/// The templates of a language.
struct Template {
    /// The path of the source, and its text for handlers and for a reconciler.
    source: &'static str,
    handler: &'static str,
    reconciler: &'static str,
    /// The path of its tests, and their text for handlers and for a reconciler, unless they are in the source.
    tests: Option<(&'static str, &'static str, &'static str)>,
    /// The other files that only this language has.
    others: &'static [(&'static str, &'static str)],
    /// The requirements of `informer build`, for the README.
    compiler: &'static str,
    /// A row of the README for each folder that the language has.
    folders: &'static str,
    /// The lines of `.gitignore`.
    ignored: &'static str,
}

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("../templates/", $path))
    };
}

const C_FILES: &str = "| `sdk/`, `wit/` | the SDK and the interface, written anew by `informer wit wit --replace`; `sdk/informer.h` is the manual |\n\
    | `bindings/` | what `informer build` generates from the interface |\n";

const GO_FILES: &str = "| `main_test.go` | its tests, for `go test` |\n\
    | `sdk/`, `wit/` | the SDK and the interface, written anew by `informer wit wit --replace`; `sdk/README.md` has recipes |\n";

/// Ends an instance before it reaches the usual limit of memory.
const ENDS: &str = "\n# An instance in StarlingMonkey keeps some memory of each call, so it ends after this many.\nmax-calls = 1000";

// === impl Project ===

impl Project {
    /// Checks the name of a plugin.
    ///
    /// # Errors
    /// [`InvalidName`] if it is no name for a plugin.
    pub fn check_name(name: &str) -> Result<(), InvalidName> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let fits = name.len() <= NAME_BYTES
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && !name.ends_with('-')
            && name.chars().all(allowed);
        if fits { Ok(()) } else { Err(InvalidName(name.to_owned())) }
    }

    /// Checks the name of a new project. An older project may have a name that is refused here, if its language accepts the name.
    ///
    /// # Errors
    /// [`InvalidName`] if it is no name for a plugin, or if the packages of a project cannot have it.
    pub fn check_new_name(name: &str) -> Result<(), InvalidName> {
        Self::check_name(name)?;
        if is_taken(name) { Err(InvalidName(name.to_owned())) } else { Ok(()) }
    }

    /// Writes the project into a folder, which is made if it is missing. Returns the files that were written.
    ///
    /// # Errors
    /// One of the files exists with other contents, and nothing was written; or the system refuses.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, WriteError> {
        let files = self.files();
        let files: Vec<TextFile<'_>> = files.iter().map(|(path, text)| TextFile { path, text }).collect();
        write(folder, &files, Existing::Refuse)
    }

    /// The world that the component is built for. The SDK for Rust chooses the interfaces itself.
    fn world(&self) -> Option<&'static str> {
        match (self.language, self.reconciler) {
            (Language::Rust, _) => None,
            (_, false) => Some("event-handler-with-standard"),
            (_, true) => Some("controller"),
        }
    }

    /// The files with their paths.
    fn files(&self) -> Vec<(String, String)> {
        let template = Template::of(self.language);
        let source = if self.reconciler { template.reconciler } else { template.handler };
        let mut files = vec![
            (template.source.to_owned(), self.filled(source, &template)),
            ("README.md".to_owned(), self.filled(template!("common/README.md"), &template)),
            ("informer.toml".to_owned(), self.filled(template!("common/informer.toml"), &template)),
            (format!("{}.test.yaml", self.name), self.story().to_owned()),
            (MANIFEST.to_owned(), self.manifest()),
            (
                ".gitignore".to_owned(),
                format!("*.wasm\n*.wasm.debug\n*.partial\n*.built\n{}", template.ignored),
            ),
        ];
        if let Some((path, handler, reconciler)) = template.tests {
            let tests = if self.reconciler { reconciler } else { handler };
            files.push((path.to_owned(), self.filled(tests, &template)));
        }
        for (path, text) in template.others {
            files.push(((*path).to_owned(), self.filled(text, &template)));
        }
        if self.world().is_some() {
            let wit = WitVersion::NEWEST.files().into_iter();
            files.extend(wit.map(|file| (format!("wit/{}", file.path), file.text.to_owned())));
        }
        let sdk = sdk(self.language).iter();
        files.extend(sdk.map(|file| (format!("{SDK}/{}", file.path), file.text.to_owned())));
        files
    }

    /// The story that `informer test` plays.
    fn story(&self) -> &'static str {
        if self.reconciler {
            template!("common/reconciler.test.yaml")
        } else {
            template!("common/handler.test.yaml")
        }
    }

    fn manifest(&self) -> String {
        let world = self.world().map(|world| {
            format!("# The world of wit/worlds.wit: what the plugin exports, and what it may import. Functions for timers, complete caches and\n# changes of configuration files are exported if the sources have them.\nworld = \"{world}\"\n")
        });
        let engine = self.engine.map(|engine| format!("engine = \"{}\"\n", engine.word()));
        format!(
            "# How `informer build` builds the component {name}.wasm.\nname = \"{name}\"\nlanguage = \"{language}\"\n{engine}{world}",
            name = self.name,
            language = self.language.word(),
            engine = engine.unwrap_or_default(),
            world = world.unwrap_or_default(),
        )
    }

    /// The text of a template, with the values of this project in place of the words between `__`.
    fn filled(&self, text: &str, template: &Template) -> String {
        let sdk = match &self.sdk {
            // TOML understands the escapes of JSON.
            Some(path) => format!("{{ path = {} }}", json!(path.display().to_string())),
            None => format!("{{ git = \"{REPOSITORY}\" }}"),
        };
        let grant = if self.reconciler {
            "  # write = [\"patch apps/v1/deployments @default\"]"
        } else {
            "  keyvalue = \"64KiB\""
        };
        [
            ("__GRANT__", grant),
            ("__ENDS__", if self.engine == Some(Engine::StarlingMonkey) { ENDS } else { "" }),
            ("__SDK__", &sdk),
            ("__REPOSITORY__", REPOSITORY),
            ("__LANGUAGE__", &self.language.to_string()),
            ("__COMPILER__", template.compiler),
            ("__SOURCE__", template.source),
            ("__FILES__", template.folders),
            ("__NAME__", &self.name),
        ]
        .into_iter()
        .fold(text.to_owned(), |text, (word, with)| text.replace(word, with))
    }
}

// === impl Template ===

impl Template {
    fn of(language: Language) -> Self {
        match language {
            Language::Rust => Self {
                source: "src/lib.rs",
                handler: template!("rust/handler.rs"),
                reconciler: template!("rust/reconciler.rs"),
                tests: None,
                others: &[("Cargo.toml", template!("rust/Cargo.toml.template"))],
                compiler: "Rust with the target wasm32-wasip2",
                folders: "| `Cargo.toml` | the package; `cargo test` runs its tests |\n",
                ignored: "target/\n",
            },
            Language::Js => Self {
                source: "src/index.js",
                handler: template!("js/handler.js"),
                reconciler: template!("js/reconciler.js"),
                others: &[("package.json", template!("js/package.json"))],
                ..Self::of_node()
            },
            Language::Ts => Self {
                source: "src/index.ts",
                handler: template!("ts/handler.ts"),
                reconciler: template!("ts/reconciler.ts"),
                others: &[
                    ("package.json", template!("js/package.json")),
                    ("tsconfig.json", template!("ts/tsconfig.json")),
                ],
                ..Self::of_node()
            },
            Language::Python => Self {
                source: "src/app.py",
                handler: template!("python/handler.py"),
                reconciler: template!("python/reconciler.py"),
                tests: None,
                others: &[],
                compiler: "Python 3.9 or newer with pip",
                folders: "| `sdk/`, `wit/` | the SDK, with its manual in `sdk/README.md`, and the interface; `informer wit wit --replace` renews both |\n",
                ignored: "__pycache__/\n",
            },
            Language::Go => Self::of_go(),
            Language::C => Self {
                source: "src/plugin.c",
                handler: template!("c/handler.c"),
                reconciler: template!("c/reconciler.c"),
                tests: None,
                others: &[],
                compiler: "zig, a WASI SDK in `WASI_SDK_PATH`, or Python 3.9 with pip, which brings zig",
                folders: C_FILES,
                ignored: "bindings/\n",
            },
        }
    }

    fn of_go() -> Self {
        Self {
            source: "main.go",
            handler: template!("go/handler.go"),
            reconciler: template!("go/reconciler.go"),
            tests: Some((
                "main_test.go",
                template!("go/handler_test.go"),
                template!("go/reconciler_test.go"),
            )),
            others: &[("go.mod", template!("go/go.mod.template"))],
            compiler: "Go 1.24 or newer",
            folders: GO_FILES,
            ignored: "bindings/\n",
        }
    }

    /// The parts that JavaScript and TypeScript share.
    fn of_node() -> Self {
        Self {
            source: "",
            handler: "",
            reconciler: "",
            tests: None,
            others: &[],
            compiler: "Node.js 18 or newer with npm",
            folders: "| `sdk/`, `wit/` | the SDK, with its manual in `sdk/README.md`, and the interface; `informer wit wit --replace` renews both |\n\
                      | `package.json` | packages from npm that the plugin uses: `npm install NAME`, then `import` |\n",
            ignored: "bindings/\nnode_modules/\n",
        }
    }
}

/// Returns true for the package that projects need, and for a device of Windows, whose name Go accepts in no path of a module.
fn is_taken(name: &str) -> bool {
    let is_numbered =
        matches!(name.as_bytes(), [b'c', b'o', b'm', b'1'..=b'9'] | [b'l', b'p', b't', b'1'..=b'9']);
    is_numbered || ["informer-sdk", "aux", "con", "nul", "prn"].contains(&name)
}

#[cfg(test)]
mod tests;
