use std::fs;

use super::*;

fn project(language: Language, reconciler: bool) -> Project {
    Project { name: "my-plugin".to_owned(), language, engine: None, reconciler, sdk: None }
}

#[test]
fn every_project_is_complete_and_no_word_in_it_stays_open() {
    for language in Language::ALL {
        for reconciler in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let project = project(language, reconciler);

            project.write(folder.path()).unwrap();

            for name in ["README.md", ".gitignore", "informer.toml", MANIFEST] {
                assert!(folder.path().join(name).is_file(), "{language} has no {name}");
            }
            assert_eq!(folder.path().join("wit/worlds.wit").exists(), language != Language::Rust);
            for (path, text) in project.files() {
                assert_eq!(fs::read_to_string(folder.path().join(&path)).unwrap(), text, "{path}");
                // Python has names like __name__, in lower case.
                let open = text
                    .split("__")
                    .skip(1)
                    .step_by(2)
                    .find(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase()));
                assert_eq!(open, None, "{language}: {path}");
            }
        }
    }
}

#[test]
fn the_readme_is_one_screen() {
    for language in Language::ALL {
        let files = project(language, false).files();
        let (_, readme) = files.iter().find(|(path, _)| path == "README.md").unwrap();

        assert!(readme.lines().count() <= 40, "{language}: {readme}");
    }
}

#[test]
fn the_world_of_each_project_exists() {
    let files = WitVersion::NEWEST.files();
    let worlds = files.iter().find(|file| file.path == "worlds.wit").unwrap().text;
    for language in Language::ALL {
        for reconciler in [false, true] {
            let world = project(language, reconciler).world();

            assert!(world.is_none_or(|world| worlds.contains(&format!("world {world} {{"))), "{world:?}");
        }
    }
}

#[test]
fn nothing_is_written_over_files_of_the_author() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("go.mod"), "module mine\n").unwrap();

    project(Language::Go, false).write(folder.path()).unwrap_err();

    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_project_in_rust_gets_the_sdk_from_the_repository_or_from_a_folder() {
    let cargo_toml = |sdk: Option<&str>| {
        let project = Project { sdk: sdk.map(PathBuf::from), ..project(Language::Rust, false) };
        project.files().into_iter().find(|(path, _)| path == "Cargo.toml").unwrap().1
    };

    assert!(cargo_toml(None).contains("informer-sdk = { git = \"https://"), "{}", cargo_toml(None));
    // The last letter is followed by an accent, as macOS writes it.
    for (sdk, written) in [("/src/sdk", "/src/sdk"), ("/a \"b\"/cafe\u{301}", "/a \\\"b\\\"/cafe\u{301}")] {
        let path = cargo_toml(Some(sdk));
        assert!(path.contains(&format!("informer-sdk = {{ path = \"{written}\" }}")), "{path}");
    }
}

#[test]
fn a_name_is_one_that_all_languages_and_clusters_accept() {
    for name in ["a", "hello", "my-plugin-2"] {
        Project::check_name(name).unwrap();
    }
    for name in ["", "Hello", "2a", "-a", "a-", "a_b", "a/b", "..", &"a".repeat(41)] {
        let error = Project::check_new_name(name).unwrap_err();

        assert!(error.to_string().contains("like `my-plugin`"), "{error}");
        assert_eq!(Project::check_name(name), Err(error));
    }
}

#[test]
fn a_name_that_the_packages_of_a_project_cannot_have_is_refused() {
    for name in ["informer-sdk", "aux", "com1", "lpt9"] {
        let error = Project::check_new_name(name).unwrap_err();

        assert!(error.to_string().ends_with("or a device of Windows such as `aux`"), "{error}");
        // A project that has the name already is still built.
        Project::check_name(name).unwrap();
    }
    for name in ["auxiliary", "com", "com0", "com10"] {
        Project::check_new_name(name).unwrap();
    }
}

#[test]
fn the_engine_of_a_project_is_in_its_manifest_and_its_instances_end() {
    let starling_monkey = Some(Engine::StarlingMonkey);
    for engine in [None, Some(Engine::QuickJs), starling_monkey] {
        let files = Project { engine, ..project(Language::Ts, false) }.files();
        let text = |name: &str| files.iter().find(|(path, _)| path == name).unwrap().1.as_str();

        let line = engine.map(|engine| format!("engine = \"{}\"", engine.word()));

        assert_eq!(text(MANIFEST).lines().find(|line| line.starts_with("engine")), line.as_deref());
        assert_eq!(text("informer.toml").contains("\nmax-calls = 1000\n"), engine == starling_monkey);
    }
}
