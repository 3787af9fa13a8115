//! The plugin author's guide: each block of code on its pages is built, run or checked.
//!
//! What follows the language of a block, its note, says what it is:
//!
//! | block | is |
//! |---|---|
//! | ```` ```js src/index.js ```` | that file, in the folder that the commands before it went to. A story that no command follows is played |
//! | ```` ```sh ```` | commands that succeed |
//! | ```` ```sh fails ```` | commands of which the last one fails |
//! | ```` ```sh cluster ```` | commands for a cluster or a running host, which no test runs |
//! | ```` ```text ```` | what the commands before it print; `*` stands for anything |
//!
//! `recipes.md` has blocks without a note: those of a language form one plugin, which plays `plugins/guide/recipes.test.yaml`.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use informer_tests::host::PATIENT;
use informer_types::Pattern;
use tempfile::TempDir;
use tokio::process::Command;

use crate::projects::{command, depends_on_serde, in_engine, informer, lock_versions, new_project, sdk};

/// The note of a block that needs a cluster or a running host.
const CLUSTER: &str = "cluster";

/// The note of commands of which the last one fails.
const FAILS: &str = "fails";

/// The pages whose blocks are followed from the first to the last one.
const FOLLOWED: [&str; 6] =
    ["batches.md", "debugging.md", "limits.md", "signals.md", "testing.md", "tutorial.md"];

/// The page with one plugin in each language.
const RECIPES: &str = "recipes.md";

const CONFIGURATION: &str = "informer.toml";

/// The page without blocks.
const CONCEPTS: &str = "README.md";

/// The world of the recipes.
const WORLD: &str = "controller-with-handlers-and-standard";

/// One block of code.
#[derive(Debug)]
struct Block {
    language: String,
    note: String,
    text: String,
}

/// A reader who follows a page from an empty folder.
struct Reader {
    page: &'static str,
    scratch: TempDir,
    /// The folder in which the next command runs.
    folder: PathBuf,
    /// What the last commands have printed.
    printed: String,
    /// A story that no command has played yet.
    story: Option<String>,
}

// === impl Reader ===

impl Reader {
    /// Follows all blocks of a page.
    async fn follows(page: &'static str) {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().to_owned();
        let mut reader = Self { page, scratch, folder, printed: String::new(), story: None };
        for block in blocks(page) {
            reader.reads(&block).await;
        }
        reader.plays().await;
    }

    async fn reads(&mut self, Block { language, note, text }: &Block) {
        match (language.as_str(), note.as_str()) {
            (_, CLUSTER) => {}
            ("sh", "" | FAILS) => {
                self.story = None;
                self.runs(text, note == FAILS).await;
            }
            ("text", "") => self.compares(text),
            (_, "") => panic!("{}: a block of {language} names no file: {text}", self.page),
            (_, file) => {
                self.plays().await;
                let path = self.folder.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                let text = if file == CONFIGURATION { patient(text) } else { text.clone() };
                fs::write(path, text).unwrap();
                self.story = file.ends_with(".test.yaml").then(|| file.to_owned());
            }
        }
    }

    /// Plays the story of the block before, unless commands did.
    async fn plays(&mut self) {
        if let Some(story) = self.story.take() {
            informer(&self.folder, &["test", &story]).await;
        }
    }

    /// Runs lines of a shell, which may change the folder.
    async fn runs(&mut self, text: &str, fails: bool) {
        let informer = command(&self.folder, &[]).await;
        let program = Path::new(informer.as_std().get_program());
        let path = format!("{}:{}", program.parent().unwrap().display(), env::var("PATH").unwrap());
        let script = text.replace("--lang rust", &format!("--lang rust --sdk {}", sdk().display()));
        lock_versions(&self.folder);
        let here = self.scratch.path().join("here");
        let script = format!("set -eu\ntrap 'pwd > \"{}\"' EXIT\n{script}", here.display());
        let mut bash = Command::new("bash");
        bash.args(["-c", &script])
            .current_dir(&self.folder)
            .env("PATH", path)
            .env("CARGO_NET_OFFLINE", "true");
        for (name, value) in informer.as_std().get_envs() {
            match value {
                Some(value) => bash.env(name, value),
                None => bash.env_remove(name),
            };
        }
        let output = bash.output().await.unwrap();
        self.printed = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), !fails, "{}: {text}:\n{}{errors}", self.page, self.printed);
        self.folder = PathBuf::from(fs::read_to_string(here).unwrap().trim());
    }

    /// Compares what was printed, line by line.
    fn compares(&self, expected: &str) {
        let (mut printed, mut wanted) = (self.printed.lines(), expected.lines());
        loop {
            let (line, pattern) = (printed.next(), wanted.next());
            let fits = match (line, pattern) {
                (None, None) => return,
                (Some(line), Some(pattern)) => Pattern::new(pattern).fits(line),
                _ => false,
            };
            assert!(fits, "{}: expected\n{expected}\nprinted\n{}", self.page, self.printed);
        }
    }
}

fn guide() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/guide")
}

/// The blocks of a page, in their order.
fn blocks(page: &str) -> Vec<Block> {
    let text = fs::read_to_string(guide().join(page)).unwrap();
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let (language, note) = info.split_once(' ').unwrap_or((info, ""));
        let text: String =
            lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        blocks.push(Block { language: language.to_owned(), note: note.to_owned(), text });
    }
    blocks
}

/// A configuration with time to compile beside other suites. The limit of a person's machine is too short for that.
fn patient(configuration: &str) -> String {
    if configuration.contains("[host]") {
        return configuration.to_owned();
    }
    format!("{configuration}\n[host]\n{PATIENT}")
}

/// The source of the recipes in a language.
pub(crate) fn recipes(language: &str) -> String {
    let of_language = |block: &Block| block.language == language && block.note.is_empty();
    let texts: Vec<String> =
        blocks(RECIPES).into_iter().filter(of_language).map(|block| block.text).collect();
    assert!(!texts.is_empty(), "no recipe is in {language}");
    texts.join("\n")
}

/// Builds recipes, the blocks in `fence`, in a project of a language, and plays their story. `engine` is that of JavaScript, if it is not
/// the one that `informer new` chooses.
async fn cook(language: &str, engine: Option<&str>, source: &str, fence: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let project = new_project(scratch.path(), "recipes", language, &in_engine(engine)).await;
    fs::write(project.join(source), recipes(fence)).unwrap();
    if language == "rust" {
        depends_on_serde(&project);
    }
    let manifest = project.join("informer-plugin.toml");
    let text = fs::read_to_string(&manifest).unwrap().replace("event-handler-with-standard", WORLD);
    assert!(language == "rust" || text.contains(WORLD), "{text}");
    fs::write(manifest, text).unwrap();
    let configuration = fs::read_to_string(guide().join(CONFIGURATION)).unwrap();
    fs::write(project.join(CONFIGURATION), patient(&configuration)).unwrap();
    fs::copy(guide().join("recipes.test.yaml"), project.join("recipes.test.yaml")).unwrap();
    informer(&project, &["build"]).await;

    let played = command(&project, &["test"]).await.output().await.unwrap();

    let (stdout, stderr) = (String::from_utf8_lossy(&played.stdout), String::from_utf8_lossy(&played.stderr));
    assert!(played.status.success(), "{language}: {stdout}{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn the_tutorial_leads_to_a_controller_that_does_what_its_story_says() {
    Reader::follows("tutorial.md").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zig, a WASI SDK or Python: run by cargo xtask test --all"]
async fn a_failure_looks_as_the_page_on_debugging_shows() {
    Reader::follows("debugging.md").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zig, a WASI SDK or Python: run by cargo xtask test --all"]
async fn stories_are_played_as_the_page_on_testing_shows() {
    Reader::follows("testing.md").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js, Python, Go and zig or a WASI SDK: run by cargo xtask test --all"]
async fn a_plugin_that_takes_many_notifications_does_what_its_story_says() {
    Reader::follows("batches.md").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js, Python, Go and zig or a WASI SDK: run by cargo xtask test --all"]
async fn a_plugin_with_timers_and_http_requests_does_what_its_story_says() {
    Reader::follows("signals.md").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds a project: run by cargo xtask test --all"]
async fn the_recipes_in_rust_do_what_their_story_says() {
    cook("rust", None, "src/lib.rs", "rust").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn the_recipes_in_javascript_do_what_their_story_says() {
    cook("js", None, "src/index.js", "js").await;
}

/// The block of TypeScript itself is checked with the types of the SDK in `sdk.rs`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn the_recipes_in_javascript_do_the_same_in_a_project_of_typescript() {
    cook("ts", None, "src/index.ts", "js").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn the_recipes_in_javascript_do_the_same_in_starling_monkey() {
    cook("ts", Some("starlingmonkey"), "src/index.ts", "js").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Python: run by cargo xtask test --all"]
async fn the_recipes_in_python_do_what_their_story_says() {
    cook("python", None, "src/app.py", "python").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_recipes_in_go_do_what_their_story_says() {
    cook("go", None, "main.go", "go").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zig, a WASI SDK or Python: run by cargo xtask test --all"]
async fn the_recipes_in_c_do_what_their_story_says() {
    cook("c", None, "src/plugin.c", "c").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs the binary: run by cargo xtask test --all"]
async fn the_configuration_on_the_page_of_recipes_has_no_problems() {
    let scratch = tempfile::tempdir().unwrap();
    let files: Vec<Block> = blocks(RECIPES).into_iter().filter(|block| !block.note.is_empty()).collect();
    assert!(files.iter().all(|block| block.language == "toml"), "{files:?}");

    for block in files {
        fs::write(scratch.path().join(CONFIGURATION), &block.text).unwrap();
        informer(scratch.path(), &["check", "--file-only"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs the binary: run by cargo xtask test --all"]
async fn the_page_on_limits_has_each_limit_with_its_default() {
    Reader::follows("limits.md").await;
    let example = informer(&guide(), &["config", "example"]).await;
    let limits = example.split("  [plugin.limits]\n").nth(1).unwrap();
    let limits = limits.split("\n  [plugin.").next().unwrap();
    let known = limits.lines().filter_map(|line| {
        let line = line.trim_start();
        let set = line.strip_prefix("#").filter(|line| !line.starts_with(' '));
        let (key, value) = set.or_else(|| line.strip_prefix("# e.g. "))?.split_once(" = ")?;
        Some((key.to_owned(), if set.is_some() { value.replace('"', "") } else { "-".to_owned() }))
    });
    let known: Vec<(String, String)> = known.collect();

    let page = fs::read_to_string(guide().join("limits.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let shown = rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        (cells[1].replace('`', ""), cells[2].to_owned())
    });
    assert_eq!(shown.collect::<Vec<_>>(), known);
}

#[test]
fn every_block_of_the_guide_is_known_to_a_test() {
    let names = fs::read_dir(guide()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut pages: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    pages.sort();
    let mut known = [&FOLLOWED[..], &[RECIPES, CONCEPTS]].concat();
    known.sort_unstable();
    assert_eq!(pages, known, "a page is followed by a test of this file");
    assert!(blocks(CONCEPTS).is_empty());

    // Each recipe is in each language, and what stands alone is a configuration.
    let recipes = blocks(RECIPES);
    let count = |language: &str| {
        recipes.iter().filter(|block| block.language == language && block.note.is_empty()).count()
    };
    let counts = ["rust", "js", "python", "go", "c"].map(count);
    assert!(counts.iter().all(|found| *found == counts[0]), "{counts:?}");
    let configurations = recipes.iter().filter(|block| !block.note.is_empty()).count();
    assert_eq!(counts.iter().sum::<usize>() + count("ts") + configurations, recipes.len());

    let not_run: Vec<Block> =
        FOLLOWED.into_iter().flat_map(blocks).filter(|block| block.note == CLUSTER).collect();
    println!("blocks of the guide that need a cluster or a running host: {}", not_run.len());
    assert!(not_run.len() <= 3, "{not_run:?}");
}
