use super::problems;

const ALL: &str = "[[watch]]\ngvr = \"*/*/*\"\nmetadata-only = true\n";

fn with_plugin(lines: &str) -> String {
    format!("{ALL}[[plugin]]\nname = \"p\"\nsource = \"p\"\n[[plugin.on]]\nwatch = \"*/*/*\"\n{lines}")
}

#[test]
fn a_pattern_that_is_half_written_is_refused() {
    let remedy = "write `*/*/*` for all resources, `apps/*/*` for those of a group, or `core/*/*` for those of the core group";
    for half in ["*", "*/*", "apps/*", "apps/v1/*", "*/*/deployments"] {
        assert_eq!(
            problems(&format!("[[watch]]\ngvr = \"{half}\"\n")),
            format!(
                "2:7: watch[0].gvr: `{half}` is not a resource: `*` must stand for both the version and the resource; {remedy}\n"
            )
        );
    }
    assert_eq!(
        problems(&with_plugin("[plugin.grant]\nwrite = [\"delete */*\", \"delete */*/*/status\"]\n")),
        "10:10: plugin.p.grant.write[0]: `delete */*` is not a grant: `*/*` is neither a resource nor a pattern; write `*/*/*` for all \
         resources, `apps/*/*` for those of a group, or `core/*/*` for those of the core group\n\
         10:24: plugin.p.grant.write[1]: `delete */*/*/status` is not a grant: `*/*/*/status` is neither a resource nor a pattern; \
         write `*/*/*` for all resources, `apps/*/*` for those of a group, or `core/*/*` for those of the core group\n"
    );
}

#[test]
fn a_pattern_says_whether_it_caches_whole_objects() {
    assert_eq!(
        problems("[[watch]]\ngvr = \"apps/*/*\"\n"),
        "2:7: watch[0].gvr: `apps/*/*` does not say whether whole objects of every kind are cached; add metadata-only = true, or \
         metadata-only = false if the memory is enough for whole objects\n"
    );
}

#[test]
fn fields_and_indexes_belong_to_one_resource() {
    let lines = "fields = \"metadata.name=a\"\nindex = { by-app = \"/metadata/labels/app\" }\n";
    assert_eq!(
        problems(&format!("{ALL}{lines}")),
        "4:10: watch[0].fields: `*/*/*` stands for resources with other fields each; write `fields` in a [[watch]] of one resource\n\
         5:9: watch[0].index: `*/*/*` stands for resources with other fields each; write `index` in a [[watch]] of one resource\n"
    );
}

#[test]
fn an_exclusion_that_excludes_nothing_or_everything_is_refused() {
    let apps = "[[watch]]\ngvr = \"apps/*/*\"\nmetadata-only = true\nexclude = [\"v1/events\", \"apps/*/*\", \"*/*/*\", \"deploy\"]\n";
    assert_eq!(
        problems(apps),
        "4:12: watch[0].exclude[0]: `apps/*/*` does not stand for `v1/events`, so there is nothing to exclude; remove it\n\
         4:25: watch[0].exclude[1]: it excludes all of `apps/*/*`; remove it, or the [[watch]]\n\
         4:37: watch[0].exclude[2]: it excludes all of `apps/*/*`; remove it, or the [[watch]]\n"
    );
    assert_eq!(
        problems("[[watch]]\ngvr = \"v1/pods\"\nexclude = [\"v1/events\"]\n"),
        "3:11: watch[0].exclude: `v1/pods` is one resource; remove it, or write a pattern as `gvr`\n"
    );
    assert_eq!(
        problems("[[watch]]\ngvr = \"core/*/*\"\nmetadata-only = true\nexclude = [\"ev\"]\n"),
        "4:12: watch[0].exclude[0]: `ev` names several resources; write `v1/events` or `events.k8s.io/v1/events`\n"
    );
}

#[test]
fn a_pattern_is_used_only_if_it_is_watched() {
    assert_eq!(
        problems(&with_plugin(
            "[[plugin.on]]\nwatch = \"apps/*/*\"\n[plugin.grant]\nread = [\"core/*/*\"]\nwrite = [\"delete batch/*/*\"]\n"
        )),
        "10:9: plugin.p.on[1].watch: `apps/*/*` is not watched; add [[watch]] with gvr = \"apps/*/*\"\n\
         12:9: plugin.p.grant.read[0]: `core/*/*` is not watched; add [[watch]] with gvr = \"core/*/*\"\n\
         13:10: plugin.p.grant.write[0]: `batch/*/*` is not watched; add [[watch]] with gvr = \"batch/*/*\"\n"
    );
    assert_eq!(
        problems(&with_plugin("[[plugin.on]]\nwatch = \"*/*/*\"\n")),
        "10:9: plugin.p.on[1].watch: it is subscribed to `*/*/*` already on line 8; remove one: each event would be delivered twice\n"
    );
}

#[test]
fn a_condition_about_what_one_of_its_watches_does_not_keep_is_refused() {
    assert_eq!(
        problems(&with_plugin("when = \"object.spec.replicas > 1\"\nfields = \"spec.replicas=1\"\n")),
        "10:10: plugin.p.on[0].fields: nothing is at \"/spec/replicas\" in what is kept of the objects; remove metadata-only, or name \
         something below \"/metadata\"\n"
    );
    let own = "[[watch]]\ngvr = \"v1/pods\"\nkeep = [\"/spec\"]\n";
    assert_eq!(
        problems(&with_plugin(&format!("annotations = \"a\"\n{own}"))),
        "9:15: plugin.p.on[0].annotations: nothing is at \"/metadata/annotations/a\" in what is kept of the objects; add \
         \"/metadata/annotations/a\" to `keep`\n"
    );
}

#[test]
fn objects_of_the_cluster_use_no_patterns() {
    let tenancy = "[tenancy]\nnamespaces = [\"shop\"]\nread = [\"*/*/*\"]\nwrite = [\"delete */*/*\"]\n";
    assert_eq!(
        problems(&format!("{ALL}{tenancy}")),
        "6:9: tenancy.read[0]: objects of the cluster cannot use the pattern `*/*/*`; list each resource\n\
         7:10: tenancy.write[0]: objects of the cluster cannot use the pattern `*/*/*`; list each resource\n"
    );
}
