//! The mistakes of beginners, in each language: what they see, and whether it says what to do.
//!
//! | mistake | who notices it |
//! |---|---|
//! | a missing tool, a syntax error, a misnamed handler | `informer build` |
//! | a component of another version of the interface, a missing grant | `informer check` |
//! | an exception, an infinite loop, too much memory | the host, which plays a story |

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::projects::{command, in_engine, informer, new_project};

/// The beginner of one language.
struct Beginner {
    language: &'static str,
    /// The engine, if the language has several and it is not the usual one.
    engine: Option<&'static str>,
    source: &'static str,
    /// A plugin that makes the mistakes at run time.
    careless: &'static str,
    /// The memory that it may have.
    memory: &'static str,
    /// The failures of the exception, the loop and the allocations. `*` stands for anything.
    boom: &'static str,
    spin: &'static str,
    eat: &'static str,
    /// What is seen without the compiler.
    tool: &'static str,
    /// A replacement in the source, and what is seen then.
    syntax: Mistake,
    misnamed: Mistake,
}

type Mistake = (&'static str, &'static str, &'static [&'static str]);

/// What is said about memory in each language.
const MEMORY: &str =
    "the guest wanted more memory than its limit of * bytes (`memory` under [plugin.limits])";

const RUST: Beginner = Beginner {
    language: "rust",
    engine: None,
    source: "src/lib.rs",
    careless: include_str!("mistakes/careless.rs"),
    memory: "16MiB",
    boom: "trap: *panicked at src/lib.rs:28:27: called `Option::unwrap()` on a `None` value; in *boom (src/lib.rs:28) < *on_add (src/lib.rs:17)",
    spin: "; in *spin (src/lib.rs:3*) < *on_add (src/lib.rs:18)",
    eat: "memory: *MEMORY*; in *eat (src/lib.rs:4*) < *on_add (src/lib.rs:19)",
    tool: "`cargo` is missing: install Rust 1.95 or newer with rustup: https://rustup.rs",
    syntax: (
        "Ok(Self)",
        "Ok(Self",
        &["error: ", "src/lib.rs:1", "`cargo build` failed; its output is above"],
    ),
    misnamed: (
        "fn on_add",
        "fn on_added",
        &["method `on_added` is not a member of trait `Handler`", "on_add"],
    ),
};

const JAVASCRIPT: Beginner = Beginner {
    language: "js",
    engine: None,
    source: "src/index.js",
    careless: include_str!("mistakes/careless.js"),
    memory: "16MiB",
    boom: "retry: TypeError: cannot read property 'length' of undefined*at boom (*",
    spin: "",
    eat: "retry: InternalError: out of memory (MEMORY)*at eat (*",
    tool: "`node` is missing: install Node.js 18 or newer: https://nodejs.org",
    syntax: (
        "name: \"careless\",",
        "name: \"careless\"",
        &[
            "[ERROR] Expected \"}\" but found \"onAdd\"",
            "src/index.js:6:2:",
            "esbuild of src/index.js failed; its output is above",
        ],
    ),
    misnamed: (
        "onAdd(object)",
        "onAdded(object)",
        &[
            "src/index.js throws when it is loaded:\nError: definePlugin: there is no `onAdded`; there are start, stop, onAdd,",
        ],
    ),
};

/// esbuild removes the types, so the code at run time is that of JavaScript.
const TYPESCRIPT: Beginner = Beginner {
    language: "ts",
    source: "src/index.ts",
    syntax: (
        "name: \"careless\",",
        "name: \"careless\"",
        &[
            "[ERROR] Expected \"}\" but found \"onAdd\"",
            "src/index.ts:6:2:",
            "esbuild of src/index.ts failed; its output is above",
        ],
    ),
    misnamed: (
        "onAdd(object)",
        "onAdded(object)",
        &[
            "src/index.ts throws when it is loaded:\nError: definePlugin: there is no `onAdded`; there are start, stop, onAdd,",
        ],
    ),
    ..JAVASCRIPT
};

/// TypeScript in the other engine, which makes other errors and stacks.
const STARLINGMONKEY: Beginner = Beginner {
    engine: Some("starlingmonkey"),
    memory: "32MiB",
    boom: "retry: TypeError: *boom@*",
    eat: "*MEMORY*",
    misnamed: (
        "onAdd(object)",
        "onAdded(object)",
        &[
            "src/index.ts throws when it is loaded:\n",
            "TypeError: definePlugin: there is no `onAdded`; there are start, stop, onAdd,",
        ],
    ),
    ..TYPESCRIPT
};

const PYTHON: Beginner = Beginner {
    language: "python",
    engine: None,
    source: "src/app.py",
    careless: include_str!("mistakes/careless.py"),
    memory: "64MiB",
    boom: "retry: TypeError: object of type 'NoneType' has no len()*File \"app.py\", line 21, in boom*",
    spin: "",
    eat: "retry: MemoryError: * (MEMORY)*File \"app.py\", line 32, in eat*",
    tool: "`python3` is missing: install Python 3.9 or newer, with pip: https://www.python.org",
    syntax: (
        "def spin():",
        "def spin()",
        &["app.py\", line 24", "SyntaxError: expected ':'", "componentize-py failed; its output is above"],
    ),
    misnamed: ("@app.on_add", "@app.on_added", &["an App has no `on_added`; it has start, stop, on_add,"]),
};

const GO: Beginner = Beginner {
    language: "go",
    engine: None,
    source: "main.go",
    careless: include_str!("mistakes/careless.go"),
    memory: "32MiB",
    boom: "retry: panic: runtime error: index out of range [0] with length 0*main.boom (*main.go:*",
    spin: "; in main.spin < main.added*",
    eat: "memory: *MEMORY*; in main.*",
    tool: "`go` is missing: install Go 1.24 or newer: https://go.dev/dl",
    syntax: (
        "switch object.Name {",
        "switch object.Name",
        &["main.go:19:2: syntax error", "`go build` failed; its output is above"],
    ),
    misnamed: (
        "Add: added",
        "Added: added",
        &["unknown field Added in struct literal of type handler.Funcs"],
    ),
};

const C: Beginner = Beginner {
    language: "c",
    engine: None,
    source: "src/plugin.c",
    careless: include_str!("mistakes/careless.c"),
    memory: "16MiB",
    boom: "trap: *: wasm trap: wasm `unreachable` instruction executed; in boom (src/plugin.c:14) < informer_on_add (src/plugin.c:33)",
    spin: "; in *spin (src/plugin.c:1*) < informer_on_add (src/plugin.c:36)",
    eat: "memory: *MEMORY; in eat (src/plugin.c:25) < informer_on_add (src/plugin.c:39)",
    tool: "`zig` is missing: install zig (https://ziglang.org/download), or a WASI SDK and set WASI_SDK_PATH, or Python 3.9 with pip",
    syntax: (
        "turns++;",
        "turns++",
        &[
            "src/plugin.c:19:16: error: expected ';' after expression",
            "the C compiler failed; its output is above",
        ],
    ),
    misnamed: (
        "informer_on_add(",
        "informer_on_added(",
        &[
            "src/plugin.c defines `informer_on_added`, which the host does not call: it calls informer_on_add,",
        ],
    ),
};

// === impl Beginner ===

impl Beginner {
    /// Makes all mistakes in one project, which is built once without a mistake of the source.
    async fn learns(&self) {
        let scratch = tempfile::tempdir().unwrap();
        let project = self.project(&scratch).await;
        self.builds_without_tools(&scratch, &project).await;
        self.builds_nothing(&project, self.syntax).await;
        self.learns_at_run_time(&project).await;
        self.is_of_another_version(&project).await;
    }

    /// Makes the mistakes that depend on the engine of the language.
    async fn learns_about_the_engine(&self) {
        let scratch = tempfile::tempdir().unwrap();
        let project = self.project(&scratch).await;
        self.learns_at_run_time(&project).await;
    }

    async fn learns_at_run_time(&self, project: &Path) {
        self.builds_nothing(project, self.misnamed).await;
        fs::write(project.join(self.source), self.careless).unwrap();
        informer(project, &["build"]).await;
        self.fails(project).await;
        self.lacks_a_grant(project).await;
    }

    async fn builds_without_tools(&self, scratch: &TempDir, project: &Path) {
        let empty = scratch.path().join("empty");
        fs::create_dir(&empty).unwrap();
        let mut without_tools = command(project, &["build"]).await;
        without_tools.env("PATH", &empty).env_remove("WASI_SDK_PATH");
        let output = without_tools.output().await.unwrap();
        self.sees(output.status.success(), &output.stderr, &[self.tool]);
    }

    /// `informer build` notices a mistake of the source.
    async fn builds_nothing(&self, project: &Path, (right, wrong, seen): Mistake) {
        assert!(self.careless.contains(right), "{right}");
        fs::write(project.join(self.source), self.careless.replacen(right, wrong, 1)).unwrap();
        let output = command(project, &["build"]).await.output().await.unwrap();
        self.sees(output.status.success(), &output.stderr, seen);
    }

    async fn project(&self, scratch: &TempDir) -> PathBuf {
        let project = new_project(scratch.path(), "careless", self.language, &in_engine(self.engine)).await;
        let configuration = project.join("informer.toml");
        let text =
            fs::read_to_string(&configuration).unwrap().replace("apps/v1/deployments", "v1/configmaps");
        fs::write(configuration, text).unwrap();
        project
    }

    /// The host sees the mistakes at run time, and names the function that made them, if the language has a stack.
    async fn fails(&self, project: &Path) {
        // A text in quotes has its own quotes and backslashes escaped.
        let written = |text: &str| text.replace("MEMORY", MEMORY).replace('\\', "\\\\").replace('"', "\\\"");
        let story = include_str!("mistakes/careless.test.yaml").replace("__LIMIT__", self.memory);
        let story = [("__BOOM__", self.boom), ("__SPIN__", self.spin), ("__EAT__", self.eat)]
            .into_iter()
            .fold(story, |story, (word, text)| story.replace(word, &written(text)));
        fs::write(project.join("careless.test.yaml"), story).unwrap();

        let output = command(project, &["test"]).await.output().await.unwrap();

        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {printed}{errors}", self.language);
    }

    /// `informer check` notices a grant that is missing.
    async fn lacks_a_grant(&self, project: &Path) {
        let configuration = project.join("informer.toml");
        let text = fs::read_to_string(&configuration).unwrap();
        let without: Vec<&str> =
            text.lines().filter(|line| !line.trim_start().starts_with("read = ")).collect();
        fs::write(&configuration, without.join("\n")).unwrap();
        let not_granted = "which is not granted: add `read = [\"v1/configmaps\"]` under [plugin.grant]";
        self.check(project, &[not_granted]).await;
        fs::write(&configuration, text).unwrap();
    }

    /// `informer check` notices another version of the interface.
    async fn is_of_another_version(&self, project: &Path) {
        let component = project.join("careless.wasm");
        let bytes = fs::read(&component).unwrap();
        fs::write(&component, of_version(b"@0.9.0", &bytes)).unwrap();
        let seen = [
            "the component was built against informer:plugin/",
            "@0.9.0; this host serves informer:plugin@0.1.0 and informer:plugin@0.2.0: build it against one of them",
            "`informer wit`",
        ];
        self.check(project, &seen).await;
    }

    async fn check(&self, project: &Path, seen: &[&str]) {
        let output = command(project, &["check"]).await.output().await.unwrap();
        self.sees(output.status.success(), &output.stdout, seen);
    }

    /// The command has failed, and has printed these texts, and nothing of its own machinery.
    fn sees(&self, succeeded: bool, printed: &[u8], seen: &[&str]) {
        let printed = String::from_utf8_lossy(printed);
        assert!(!succeeded, "{}: {seen:?} is no mistake: {printed}", self.language);
        for text in seen {
            assert!(printed.contains(text), "{}: no `{text}` in: {printed}", self.language);
        }
        for noise in ["panicked at", "node:internal"] {
            assert!(!printed.contains(noise), "{}: {printed}", self.language);
        }
    }
}

/// A component with another version of the interface.
fn of_version(other: &[u8], component: &[u8]) -> Vec<u8> {
    const INTERFACE: &[u8] = b"informer:plugin/";
    /// The longest name of an interface.
    const NAME: usize = 40;
    let mut bytes = component.to_vec();
    for at in 0..bytes.len() {
        if !bytes[at..].starts_with(INTERFACE) {
            continue;
        }
        let end = (at + NAME).min(bytes.len());
        let version =
            (at..end).find(|at| bytes[*at..].starts_with(b"@0.1.0") || bytes[*at..].starts_with(b"@0.2.0"));
        if let Some(version) = version {
            bytes[version..version + other.len()].copy_from_slice(other);
        }
    }
    bytes
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds projects: run by cargo xtask test --all"]
async fn the_mistakes_of_a_beginner_in_rust_say_what_to_do() {
    RUST.learns().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn the_mistakes_of_a_beginner_in_javascript_say_what_to_do() {
    JAVASCRIPT.learns().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn the_mistakes_of_a_beginner_in_typescript_say_what_to_do() {
    TYPESCRIPT.learns().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn the_mistakes_of_a_beginner_with_starling_monkey_say_what_to_do() {
    STARLINGMONKEY.learns_about_the_engine().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Python: run by cargo xtask test --all"]
async fn the_mistakes_of_a_beginner_in_python_say_what_to_do() {
    PYTHON.learns().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_mistakes_of_a_beginner_in_go_say_what_to_do() {
    GO.learns().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zig, a WASI SDK or Python: run by cargo xtask test --all"]
async fn the_mistakes_of_a_beginner_in_c_say_what_to_do() {
    C.learns().await;
}
