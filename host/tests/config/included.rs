//! `include`: files with further watches and plugins.

use std::{fs, path::PathBuf};

use informer::config::{self, Components, Config, LoadError, Watch};
use tempfile::TempDir;

const MAIN: &str = "include = [\"plugins.d\"]\n";

/// A directory with `informer.toml` and the files that it includes.
struct Files(TempDir);

// === impl Files ===

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let own = Self(TempDir::new().unwrap());
        files.iter().for_each(|(name, text)| own.write(name, text));
        own
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn load(&self) -> Config {
        config::load(&self.path("informer.toml"), Components::Unseen)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// The problems, one for each line, with the directory left out.
    fn problems(&self) -> String {
        let Err(LoadError::Invalid(error)) = config::load(&self.path("informer.toml"), Components::Unseen)
        else {
            panic!("the files are good")
        };
        let directory = format!("{}/", self.0.path().display());
        let lines: Vec<String> = error.problems.iter().map(|problem| format!("{problem}\n")).collect();
        lines.concat().replace(&directory, "")
    }
}

fn watch(gvr: &str, lines: &str) -> String {
    format!("[[watch]]\ngvr = \"{gvr}\"\n{lines}\n")
}

fn plugin(name: &str, gvr: &str) -> String {
    format!("[[plugin]]\nname = \"{name}\"\nsource = \"{name}.wasm\"\n[[plugin.on]]\nwatch = \"{gvr}\"\n")
}

/// A file with a watch of ConfigMaps and a plugin of this name.
fn fragment(name: &str, lines: &str) -> String {
    watch("v1/configmaps", lines) + &plugin(name, "v1/configmaps")
}

/// The one watch of ConfigMaps for two files with these keys.
fn joined(one: &str, other: &str) -> Watch {
    let (a, b) = (fragment("a", one), fragment("b", other));
    let files = Files::new(&[("informer.toml", MAIN), ("plugins.d/a.toml", &a), ("plugins.d/b.toml", &b)]);
    let mut watches = files.load().watches;
    assert_eq!(watches.len(), 1);
    watches.remove(0)
}

fn pointers(pointers: &[informer_types::Pointer]) -> Vec<String> {
    pointers.iter().map(ToString::to_string).collect()
}

#[test]
fn the_watches_and_plugins_of_included_files_are_those_of_the_file() {
    let files = Files::new(&[
        (
            "informer.toml",
            &("include = [\"plugins.d\", \"other/c.toml\"]\n[defaults]\nlimits = { deadline = \"7s\" }\n"
                .to_owned()
                + &fragment("main", "")),
        ),
        ("plugins.d/b.toml", &fragment("b", "")),
        ("plugins.d/a.toml", &(watch("v1/secrets", "") + &plugin("a", "v1/secrets"))),
        ("plugins.d/notes.txt", "no TOML"),
        ("plugins.d/.hidden.toml", "no TOML"),
        ("other/c.toml", &plugin("c", "v1/secrets")),
    ]);

    let config = files.load();

    let names: Vec<&str> = config.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
    assert_eq!(names, ["main", "a", "b", "c"], "directories are read in the order of their names");
    let watches: Vec<String> = config.watches.iter().map(|watch| watch.gvr.to_string()).collect();
    assert_eq!(watches, ["v1/configmaps", "v1/secrets"]);
    for (name, source) in [("main", "main.wasm"), ("a", "plugins.d/a.wasm"), ("c", "other/c.wasm")] {
        let plugin = config.plugins.iter().find(|plugin| plugin.name == name).unwrap();
        assert_eq!(plugin.source.file(), Some(&*files.path(source)), "a path is relative to its own file");
        assert_eq!(plugin.limits.calls.deadline.as_secs(), 7, "[defaults] applies");
    }
    assert_eq!(config.included, [files.path("plugins.d"), files.path("other/c.toml")]);
    let shown: Vec<&str> = config.written.keys().iter().map(|key| key.section.as_str()).collect();
    for section in ["plugin main", "plugin a in plugins.d/a.toml", "watch v1/configmaps in plugins.d/b.toml"]
    {
        assert!(shown.contains(&section), "{section} in {shown:?}");
    }
}

#[test]
fn the_file_alone_may_have_no_watch_if_included_files_have_some() {
    let files = Files::new(&[("informer.toml", MAIN), ("plugins.d/a.toml", &fragment("a", ""))]);
    assert_eq!(files.load().plugins.len(), 1);

    files.write("informer.toml", "include = []\n");
    assert!(files.problems().contains("nothing is watched"));
}

#[test]
fn one_watch_keeps_what_each_file_keeps() {
    let whole = joined("metadata-only = true", "");
    assert!(!whole.metadata_only);
    assert_eq!(
        (pointers(&whole.keep), pointers(&whole.drop)),
        (vec![], vec!["/metadata/managedFields".to_owned()])
    );

    assert!(joined("metadata-only = true", "metadata-only = true").metadata_only);

    let parts = joined("metadata-only = true", "keep = [\"/data\", \"/metadata/annotations\"]");
    assert_eq!(pointers(&parts.keep), ["/metadata", "/data"]);

    let parts = joined("keep = [\"/data/a\"]", "keep = [\"/data\", \"/immutable\"]");
    assert_eq!(pointers(&parts.keep), ["/data", "/immutable"]);

    let all =
        joined("keep = [\"/data/a\"]", "drop = [\"/data\", \"/binaryData\", \"/metadata/managedFields\"]");
    assert_eq!(pointers(&all.keep), [""; 0]);
    assert_eq!(
        pointers(&all.drop),
        ["/metadata/managedFields", "/binaryData"],
        "one file needs a part of /data"
    );

    let all = joined("drop = [\"/data/a\"]", "drop = [\"/data\", \"/binaryData\"]");
    assert_eq!(pointers(&all.drop), ["/data/a"], "both leave it out");
}

#[test]
fn one_watch_has_the_indexes_of_each_file() {
    let watch =
        joined("index = { by-a = \"/data/a\" }", "index = { by-b = \"/data/b\", by-a = \"/data/a\" }");

    let names: Vec<&str> = watch.indexes.keys().map(String::as_str).collect();
    assert_eq!(names, ["by-a", "by-b"]);
}

#[test]
fn a_choice_that_one_file_leaves_open_is_made_by_the_other() {
    assert_eq!(joined("compression = \"off\"", "").compression, informer_cache::Compression::Off);
    assert_eq!(joined("", "compression = \"off\"").compression, informer_cache::Compression::Off);
}

#[test]
fn watches_that_select_other_objects_are_refused_with_both_places() {
    let a = fragment(
        "a",
        "labels = \"app=web\"\nresync = \"1m\"\nindex = { x = \"/data/a\" }\ncompression = \"off\"",
    );
    let b = fragment("b", "labels = \"app=db\"\nindex = { x = \"/data/b\" }\ncompression = \"zstd\"");
    let files = Files::new(&[("informer.toml", MAIN), ("plugins.d/a.toml", &a), ("plugins.d/b.toml", &b)]);

    assert_eq!(
        files.problems(),
        "plugins.d/b.toml:2:7: watch[0].gvr: `v1/configmaps` is watched on line 2 of plugins.d/a.toml too, with another `resync`, and \
         both share one watch; write the same in both, or leave it out in both and write `resync` under [[plugin.on]]\n\
         plugins.d/b.toml:3:10: watch[0].labels: `v1/configmaps` is watched on line 2 of plugins.d/a.toml too, with another `labels`, \
         and both share one watch; write the same in both, or leave it out in both and write `labels` under [[plugin.on]]\n\
         plugins.d/b.toml:4:15: watch[0].index.x: the index `x` has other pointers in the [[watch]] on line 2 of plugins.d/a.toml; \
         give one of the two another name\n\
         plugins.d/b.toml:5:15: watch[0].compression: `v1/configmaps` has another `compression` on line 6 of plugins.d/a.toml, and both \
         share one watch; remove one of them\n"
    );
}

#[test]
fn a_choice_of_the_second_file_is_compared_with_that_of_the_third() {
    let files = Files::new(&[
        ("informer.toml", MAIN),
        ("plugins.d/a.toml", &fragment("a", "")),
        ("plugins.d/b.toml", &fragment("b", "compression = \"off\"")),
        ("plugins.d/c.toml", &fragment("c", "compression = \"zstd\"")),
    ]);

    assert_eq!(
        files.problems(),
        "plugins.d/c.toml:3:15: watch[0].compression: `v1/configmaps` has another `compression` on line 3 of plugins.d/b.toml, and both \
         share one watch; remove one of them\n"
    );
}

#[test]
fn a_file_that_includes_itself_is_named_as_such() {
    let text = format!("include = [\"informer.toml\", \"plugins.d/a.toml\"]\n{}", fragment("b", ""));
    let files = Files::new(&[("informer.toml", &text), ("plugins.d/a.toml", &fragment("a", ""))]);

    let problem = |what: &str| {
        format!("informer.toml:1:12: include[0]: informer.toml is the file that includes it; {what}\n")
    };
    assert_eq!(files.problems(), problem("remove it, or name a directory with the other files only"));
}

#[test]
fn problems_name_the_file_they_are_in() {
    let files = Files::new(&[
        (
            "informer.toml",
            &("include = [\"plugins.d\", \"gone.toml\", \"plugins.d/a.toml\"]\n".to_owned()
                + &fragment("a", "drap = []")),
        ),
        ("plugins.d/a.toml", &fragment("a", "keep = [\"x\"]")),
        ("plugins.d/b.toml", "[host]\nlog = \"info\"\n[[wotch]]\n"),
        ("plugins.d/c.toml", "[[plugin]\n"),
        ("plugins.d/d.toml", "include = [\"e.toml\"]\n"),
    ]);
    fs::write(files.path("plugins.d/e.toml"), b"caf\xe9").unwrap();
    fs::create_dir(files.path("plugins.d/f.toml")).unwrap();

    assert_eq!(
        files.problems(),
        "informer.toml:1:12: include[0]: plugins.d/e.toml cannot be read: it is not UTF-8: incomplete utf-8 byte sequence from index 3; \
         correct the path, or the file\n\
         informer.toml:1:12: include[0]: plugins.d/f.toml cannot be read: it is a directory, not a regular file; correct the path, or the \
         file\n\
         informer.toml:1:25: include[1]: there is nothing at gone.toml; make the file or the directory, or correct the path\n\
         informer.toml:1:38: include[2]: plugins.d/a.toml is included twice; remove one\n\
         informer.toml:4:1: watch[0].drap: unknown key; did you mean `drop`?\n\
         plugins.d/a.toml:3:9: watch[0].keep[0]: `x` is not a JSON pointer: it must start with `/`, as in `/spec/replicas`\n\
         plugins.d/a.toml:5:8: plugin.a.name: a plugin on line 6 of informer.toml is named `a` already; give each its own name\n\
         plugins.d/b.toml:1:2: host: an included file has [[watch]] and [[plugin]] only; move it to the file that includes this one\n\
         plugins.d/b.toml:3:3: wotch: unknown key; did you mean `watch`?\n\
         plugins.d/c.toml:1:10: not TOML: unclosed array table, expected `]`\n\
         plugins.d/d.toml:1:1: include: an included file has [[watch]] and [[plugin]] only; move it to the file that includes this one\n"
    );
}
