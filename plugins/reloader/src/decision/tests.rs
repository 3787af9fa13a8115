use super::*;

const CONFIG_MAP: SourceKind = SourceKind::ConfigMap;

fn annotations(pairs: &[(&str, &str)]) -> Annotations {
    pairs
        .iter()
        .map(|(key, value)| (key.replace('@', "reloader.stakater.com"), (*value).to_owned()))
        .collect()
}

fn choice(own: &[(&str, &str)], template: &[(&str, &str)]) -> Choice {
    let mut problems = Vec::new();
    let choice =
        Choice::of(&Names::default(), CONFIG_MAP, &annotations(own), &annotations(template), &mut problems);
    assert_eq!(problems, [""; 0]);
    choice
}

/// The decision about a ConfigMap `app` that the workload refers to.
fn judge(own: &[(&str, &str)], source: &[(&str, &str)], auto_reload_all: bool) -> Verdict {
    choice(own, &[]).judge(&Names::default(), auto_reload_all, "app", &annotations(source), true)
}

#[test]
fn each_row_of_the_table_has_precedence_over_the_rows_below_it() {
    let ignore = [("@/ignore", "true"), ("@/match", "true")];
    let matched = [("@/match", "true")];
    let exclude = ("configmaps.exclude.@/reload", "other, app");
    let named = ("configmap.@/reload", "app");
    let search = ("@/search", "true");
    let auto = ("@/auto", "true");
    for (own, source, all, expected) in [
        (&[named, exclude, search, auto][..], &ignore[..], true, Verdict::Ignored),
        (&[named, exclude, search, auto], &matched, true, Verdict::Excluded),
        (&[named, search, auto], &matched, true, Verdict::Named),
        (&[search, auto], &matched, true, Verdict::Matched),
        (&[search, auto], &[], true, Verdict::Auto),
        (&[search], &[], false, Verdict::NotChosen),
        (&[search], &[], true, Verdict::AutoReloadAll),
        (&[], &[], true, Verdict::AutoReloadAll),
        (&[], &matched, false, Verdict::NotChosen),
    ] {
        assert_eq!(judge(own, source, all), expected, "{own:?} {source:?} {all}");
    }
}

#[test]
fn auto_and_typed_auto_decide_together_and_a_value_turns_auto_reload_all_off() {
    let (auto, typed, secret) = ("@/auto", "configmap.@/auto", "secret.@/auto");
    for (own, all, expected) in [
        (&[(auto, "1")][..], false, Verdict::Auto),
        (&[(auto, "false")], true, Verdict::NotChosen),
        (&[(typed, "true")], false, Verdict::Auto),
        (&[(typed, "false")], true, Verdict::NotChosen),
        (&[(auto, "false"), (typed, "true")], false, Verdict::Auto),
        (&[(secret, "true")], false, Verdict::NotChosen),
        (&[(auto, "")], true, Verdict::AutoReloadAll),
        (&[(auto, ""), (typed, "false")], true, Verdict::NotChosen),
        (&[(auto, "")], false, Verdict::NotChosen),
        (&[(auto, "false"), ("configmap.@/reload", "app")], false, Verdict::Named),
    ] {
        assert_eq!(judge(own, &[], all), expected, "{own:?} {all}");
    }
}

#[test]
fn a_list_names_sources_by_expressions_for_the_whole_name() {
    for (list, expected) in [
        ("app", true),
        (" other , app ", true),
        ("ap", false),
        ("a.*", true),
        (".p", false),
        ("x|app", true),
        ("ap[a-z]{1}", true),
        ("", false),
    ] {
        let chosen = choice(&[("configmap.@/reload", list)], &[]).names("app");
        assert_eq!(chosen, expected, "{list}");
    }
}

#[test]
fn a_name_needs_no_reference_and_everything_else_does() {
    let judged = |own: &[(&str, &str)], source: &[(&str, &str)]| {
        choice(own, &[]).judge(&Names::default(), true, "app", &annotations(source), false)
    };
    assert_eq!(judged(&[("configmap.@/reload", "app")], &[]), Verdict::Named);
    for own in [&[("@/auto", "true")][..], &[("@/search", "true")], &[]] {
        assert_eq!(judged(own, &[("@/match", "true")]), Verdict::NotReferenced, "{own:?}");
    }
}

#[test]
fn search_and_match_take_exactly_the_word_true() {
    for (search, matched) in [("True", "true"), ("true", "1"), ("yes", "true"), ("true", "")] {
        let verdict = judge(&[("@/search", search)], &[("@/match", matched)], false);
        assert_eq!(verdict, Verdict::NotChosen, "{search} {matched}");
    }
}

#[test]
fn the_pod_template_counts_only_if_the_workload_chooses_nothing_and_never_excludes() {
    let template = [("@/auto", "true"), ("configmaps.exclude.@/reload", "app")];
    let judged = |own: &[(&str, &str)]| {
        choice(own, &template).judge(&Names::default(), false, "app", &Annotations::new(), true)
    };
    assert_eq!(judged(&[]), Verdict::Auto, "an exclusion on the pod template is not read");
    assert_eq!(judged(&[("other", "true")]), Verdict::Auto);
    assert_eq!(judged(&[("secret.@/auto", "true")]), Verdict::Auto, "each kind of source decides for itself");
    assert_eq!(judged(&[("configmaps.exclude.@/reload", "app")]), Verdict::Excluded);
    for own in [("@/auto", "false"), ("@/search", "false"), ("configmap.@/reload", "x")] {
        assert_eq!(judged(&[own]), Verdict::NotChosen, "{own:?}");
    }
}

#[test]
fn a_value_without_a_meaning_is_a_problem_and_the_rest_counts() {
    let mut problems = Vec::new();
    let own = annotations(&[("@/auto", "yes"), ("configmap.@/reload", "a(, x)|(y, app")]);
    let choice = Choice::of(&Names::default(), CONFIG_MAP, &own, &Annotations::new(), &mut problems);

    assert!(choice.names("app"));
    assert!(!choice.names("x-other"), "an expression matches the whole name or nothing");
    assert!(!choice.is_auto());
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert_eq!(problems[0], "reloader.stakater.com/auto: `yes` is neither `true` nor `false`");
    assert!(problems[1].starts_with(
        "configmap.reloader.stakater.com/reload: `a(` is neither a name nor a regular expression"
    ));
}

#[test]
fn the_keys_of_annotations_can_be_renamed() {
    let names: Names = serde_json::from_str(r#"{"auto": "example.com/roll"}"#).unwrap();
    let own = Annotations::from([("example.com/roll".to_owned(), "true".to_owned())]);
    let choice = Choice::of(&names, CONFIG_MAP, &own, &Annotations::new(), &mut Vec::new());
    assert!(choice.is_auto());
}

#[test]
fn a_list_that_asks_for_too_much_is_reported_and_its_names_count() {
    let judged = |list: &str| {
        let (own, mut problems) = (annotations(&[("configmap.@/reload", list)]), Vec::new());
        let choice = Choice::of(&Names::default(), CONFIG_MAP, &own, &Annotations::new(), &mut problems);
        (choice.names("app"), choice.names(&"x".repeat(250)), problems)
    };
    for item in ["(x{1000}){1000}", "((((((a*)*)*)*)*)*)*b{1000}", &"a?".repeat(50_000)] {
        let (name, other, problems) = judged(&format!("app,{item}"));
        assert!(name && !other && problems.len() == 1 && problems[0].len() < 400, "{problems:?}");
    }
    let (name, _, problems) = judged(&format!("app,{}", "team-.,".repeat(30_000)));
    assert!(name);
    assert_eq!(
        problems,
        [
            "configmap.reloader.stakater.com/reload: it has more than 100 regular expressions: join some of them with `|`"
        ]
    );
    assert!(judged(&format!("{}app", "team-a,".repeat(30_000))).0, "names have no limit");
}
