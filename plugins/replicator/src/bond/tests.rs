use super::*;

const NOW: &str = "2026-05-01T13:00:00Z";

fn kind(name: &str) -> &'static Kind {
    crate::kind::KINDS.iter().find(|kind| kind.name == name).unwrap()
}

fn shop_web() -> ObjectKey {
    ObjectKey::new("shop", "web")
}

fn bond<'a>(kind: &'static Kind, key: &'a ObjectKey, source: &'a Value) -> Bond<'a> {
    Bond { kind, key, source, role: Role::Copy, style: Style::Replicator }
}

/// A source with these annotations and this content.
#[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
fn source(metadata: Value, content: Value) -> Value {
    let mut object = json!({"metadata": {"namespace": "shop", "name": "web", "resourceVersion": "7"}});
    object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    object.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
    object
}

/// The object on the API server after the plan.
fn after(bond: &Bond<'_>, target: &Value) -> Value {
    let mut target = target.clone();
    match bond.plan(&target, NOW) {
        Plan::Nothing => {}
        Plan::Change(patch) => merge(&mut target, &patch),
        other => panic!("{other:?}"),
    }
    assert_eq!(bond.plan(&target, "later"), Plan::Nothing, "what was made right is right: {target}");
    target
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key.as_str()], value);
        }
    }
}

#[test]
fn a_new_copy_has_the_content_the_type_the_labels_and_the_bookkeeping_but_no_other_annotations() {
    let source = source(
        json!({"labels": {"app": "web"}, "annotations": {"a": "b"}, "ownerReferences": [{"uid": "o"}]}),
        json!({"type": "kubernetes.io/tls", "data": {"b": "Yg==", "a": "YQ=="}, "immutable": true}),
    );

    let fresh = bond(kind("Secret"), &shop_web(), &source).fresh("web", NOW);

    let expected = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": {"a": "YQ==", "b": "Yg=="},
        "metadata": {"name": "web", "labels": {"app": "web"}, "annotations": {
            "replicator.v1.mittwald.de/replicated-at": NOW,
            "replicator.v1.mittwald.de/replicated-from": "shop/web",
            "replicator.v1.mittwald.de/replicated-from-version": "7",
            "replicator.v1.mittwald.de/replicated-keys": "a,b",
            "replicator.v1.mittwald.de/replicated-labels": "app",
        }},
    });
    assert_eq!(fresh, expected);
    assert_eq!(bond(kind("Secret"), &shop_web(), &source).plan(&fresh, "later"), Plan::Nothing);
}

#[test]
fn labels_are_not_copied_with_strip_labels_and_owners_only_if_they_are_kept() {
    let metadata = |annotations: Value| json!({"labels": {"app": "web"}, "ownerReferences": [{"uid": "o"}], "annotations": annotations});
    for (annotations, labels, owners) in [
        (json!({STRIP_LABELS: "true"}), Value::Null, Value::Null),
        (json!({STRIP_LABELS: ""}), Value::Null, Value::Null),
        (json!({STRIP_LABELS: "false"}), json!({"app": "web"}), Value::Null),
        (json!({KEEP_OWNER_REFERENCES: "true"}), json!({"app": "web"}), json!([{"uid": "o"}])),
        (json!({KEEP_OWNER_REFERENCES: "false"}), json!({"app": "web"}), Value::Null),
    ] {
        let source = source(metadata(annotations.clone()), json!({"data": {}}));
        let fresh = bond(kind("ConfigMap"), &shop_web(), &source).fresh("web", NOW);
        assert_eq!(fresh["metadata"]["labels"], labels, "{annotations}");
        assert_eq!(fresh["metadata"]["ownerReferences"], owners, "{annotations}");
    }
}

#[test]
fn labels_that_the_source_lost_are_removed_and_those_of_others_stay() {
    let (key, kind) = (shop_web(), kind("ConfigMap"));
    let before = source(json!({"labels": {"a": "1", "b": "1"}}), json!({}));
    let mut target = bond(kind, &key, &before).fresh("web", NOW);
    target["metadata"]["labels"]["other"] = json!("1");

    let changed = source(json!({"labels": {"b": "2"}}), json!({}));
    let target = after(&bond(kind, &key, &changed), &target);
    assert_eq!(target["metadata"]["labels"], json!({"b": "2", "other": "1"}));

    let stripped = source(json!({"labels": {"b": "2"}, "annotations": {STRIP_LABELS: "true"}}), json!({}));
    let target = after(&bond(kind, &key, &stripped), &target);
    assert_eq!(target["metadata"]["labels"], json!({"other": "1"}));
}

#[test]
fn other_keys_of_a_target_stay_and_keys_that_the_source_lost_are_removed() {
    let (key, kind) = (shop_web(), kind("ConfigMap"));
    let source = source(json!({}), json!({"data": {"a": "1", "b": "2"}, "binaryData": {"moved": "AA=="}}));
    let target = json!({
        "metadata": {"annotations": {REPLICATED_KEYS: "a,gone,moved"}},
        "data": {"a": "0", "gone": "x", "own": "y", "moved": "z"},
    });
    let mut pull = bond(kind, &key, &source);
    pull.role = Role::Pulls;

    let after = after(&pull, &target);

    assert_eq!(after["data"], json!({"a": "1", "b": "2", "own": "y"}));
    assert_eq!(after["binaryData"], json!({"moved": "AA=="}));
    assert_eq!(after["metadata"]["annotations"][REPLICATED_KEYS], "a,b,moved");
    assert_eq!(after["metadata"]["annotations"].get(REPLICATED_FROM), None);
}

#[test]
fn a_mirror_has_exactly_the_keys_of_its_source_and_none_of_its_labels() {
    let (key, kind) = (shop_web(), kind("ConfigMap"));
    let source = source(json!({"labels": {"app": "web"}}), json!({"data": {"a": "1"}}));
    let mut mirror = bond(kind, &key, &source);
    mirror.style = Style::Reflector;
    let target = json!({"metadata": {"annotations": {REFLECTS: "shop/web"}}, "data": {"own": "y"}});

    let made = after(&mirror, &target);
    assert_eq!(made["data"], json!({"a": "1"}));
    assert_eq!(made["metadata"].get("labels"), None);
    let marks =
        json!({REFLECTS: "shop/web", AUTO_REFLECTS: "True", REFLECTED_VERSION: "7", REFLECTED_AT: NOW});
    assert_eq!(made["metadata"]["annotations"], marks);

    mirror.role = Role::Pulls;
    let pulled = after(&mirror, &target);
    let marks = json!({REFLECTS: "shop/web", REFLECTED_VERSION: "7", REFLECTED_AT: NOW});
    assert_eq!(pulled["metadata"]["annotations"], marks);
}

#[test]
fn a_copy_that_an_original_made_is_right_as_it_is_unless_its_version_was_blanked() {
    let (key, kind) = (shop_web(), kind("ConfigMap"));
    let source = source(json!({}), json!({"data": {"a": "1"}}));
    let mut mirror = bond(kind, &key, &source);
    mirror.style = Style::Reflector;
    let mut target = json!({"data": {"a": "1"}, "metadata": {"annotations":
        {REFLECTS: "shop/web", AUTO_REFLECTS: "true", REFLECTED_VERSION: "6", REFLECTED_AT: "\"2025\""}}});

    assert_eq!(mirror.plan(&target, NOW), Plan::Nothing);
    target["metadata"]["annotations"][REFLECTED_VERSION] = json!("");
    assert_eq!(after(&mirror, &target)["metadata"]["annotations"][REFLECTED_VERSION], "7");
}

#[test]
fn a_copy_changes_its_style_with_its_source() {
    let (key, kind) = (shop_web(), kind("ConfigMap"));
    let source = source(json!({"labels": {"app": "web"}}), json!({"data": {"a": "1"}}));
    let mut either = bond(kind, &key, &source);
    let mut first = either.fresh("web", NOW);
    first["metadata"]["labels"]["own"] = json!("x");

    either.style = Style::Reflector;
    let mirror = after(&either, &first);
    assert_eq!(mirror["metadata"]["annotations"].get(REPLICATED_FROM), None);
    assert_eq!(mirror["metadata"]["labels"], json!({"own": "x"}), "a mirror has no labels of its source");
    either.style = Style::Replicator;
    assert_eq!(after(&either, &mirror), first);
}

#[test]
fn the_fields_of_the_kinds_without_keys_are_copied_as_a_whole() {
    let key = shop_web();
    for (name, content, others, expected) in [
        (
            "Role",
            json!({"rules": [{"verbs": ["get"]}]}),
            json!({"rules": [1, 2]}),
            json!({"rules": [{"verbs": ["get"]}]}),
        ),
        ("Role", json!({"rules": null}), json!({"rules": [1]}), json!({})),
        (
            "RoleBinding",
            json!({"subjects": [{"name": "s"}], "roleRef": {"name": "r"}}),
            json!({"roleRef": {"name": "r"}}),
            json!({"subjects": [{"name": "s"}], "roleRef": {"name": "r"}}),
        ),
    ] {
        let source = source(json!({}), content);
        let mut made = after(&bond(kind(name), &key, &source), &others);
        assert_eq!(made["metadata"]["annotations"].get(REPLICATED_KEYS), None);
        made.as_object_mut().unwrap().remove("metadata");
        assert_eq!(made, expected, "{name}");
    }
}

/// On OpenShift a controller adds one name to `secrets` and one to `imagePullSecrets` of each ServiceAccount, and adds each name again
/// when it is removed.
#[test]
fn a_service_account_gets_the_names_that_its_source_declares_and_keeps_those_of_the_platform() {
    let (key, kind) = (shop_web(), kind("ServiceAccount"));
    let names = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Value>();
    let declares = |own: &[&str]| {
        let all = [own, ["web-dockercfg-shop"].as_slice()].concat();
        let tokens = names(&["web-dockercfg-shop"]);
        source(
            json!({}),
            json!({"imagePullSecrets": names(&all), "secrets": tokens, "automountServiceAccountToken": false}),
        )
    };
    let before = declares(&["a", "b"]);
    let mut target = bond(kind, &key, &before).fresh("web", NOW);
    assert_eq!(target["imagePullSecrets"], names(&["a", "b"]));
    assert_eq!(target["metadata"]["annotations"][REPLICATED_KEYS], "a,b");
    assert_eq!((&target["automountServiceAccountToken"], target.get("secrets")), (&json!(false), None));

    target["secrets"] = names(&["web-dockercfg-blog"]);
    target["imagePullSecrets"] = names(&["a", "b", "web-dockercfg-blog"]);
    assert_eq!(bond(kind, &key, &before).plan(&target, "later"), Plan::Nothing);
    let mut mirror = bond(kind, &key, &before);
    mirror.style = Style::Reflector;
    assert_eq!(after(&mirror, &target)["imagePullSecrets"], names(&["a", "b", "web-dockercfg-blog"]));

    let changed = declares(&["b", "c"]);
    let target = after(&bond(kind, &key, &changed), &target);
    assert_eq!(target["imagePullSecrets"], names(&["b", "web-dockercfg-blog", "c"]));
    assert_eq!(target["secrets"], names(&["web-dockercfg-blog"]));

    let Release::Change(patch) = Release::of(kind, Role::Pulls, Style::Replicator, &target) else {
        panic!("the target has a name of its own");
    };
    assert_eq!(patch["imagePullSecrets"], names(&["web-dockercfg-blog"]));
    assert_eq!(Release::of(kind, Role::Copy, Style::Replicator, &target), Release::Delete);
}

/// kubernetes-replicator copies the whole list and records no names. After the first comparison, this plugin changes the list name by name.
#[test]
fn a_service_account_that_was_copied_as_a_whole_loses_the_names_that_its_source_does_not_have() {
    let (key, kind) = (shop_web(), kind("ServiceAccount"));
    let names = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Value>();
    let source = source(json!({}), json!({"imagePullSecrets": names(&["a", "web-dockercfg-shop"])}));
    let whole = json!({
        "metadata": {"name": "web", "annotations": {REPLICATED_AT: "x", REPLICATED_FROM_VERSION: "1"}},
        "imagePullSecrets": names(&["a", "gone", "web-dockercfg-shop", "web-dockercfg-blog"]),
    });
    let own = json!({"metadata": {"name": "web"}, "imagePullSecrets": names(&["own"])});
    let mut bond = bond(kind, &key, &source);

    for role in [Role::Copy, Role::Pulls] {
        bond.role = role;
        let mut target = after(&bond, &whole);
        assert_eq!(target["imagePullSecrets"], names(&["a", "web-dockercfg-blog"]));
        target["imagePullSecrets"] = names(&["a", "web-dockercfg-blog", "own"]);
        assert_eq!(bond.plan(&target, "later"), Plan::Nothing);
    }
    assert_eq!(after(&bond, &own)["imagePullSecrets"], names(&["own", "a"]), "it was no copy before");

    let Release::Change(patch) = Release::of(kind, Role::Pulls, Style::Replicator, &whole) else {
        panic!("the target has names of its own");
    };
    assert_eq!(patch["imagePullSecrets"], names(&["web-dockercfg-shop", "web-dockercfg-blog"]));
}

#[test]
fn a_flag_that_a_person_set_on_a_target_stays_if_the_source_has_none() {
    let (key, source) = (shop_web(), source(json!({}), json!({"imagePullSecrets": [{"name": "s"}]})));
    let mut pull = bond(kind("ServiceAccount"), &key, &source);
    pull.role = Role::Pulls;

    let made = after(&pull, &json!({"automountServiceAccountToken": false, "metadata": {}}));

    assert_eq!(made["automountServiceAccountToken"], false);
}

#[test]
fn a_field_that_never_changes_replaces_a_copy_and_protects_a_binding_of_a_person() {
    let key = shop_web();
    let binding = source(json!({}), json!({"roleRef": {"name": "new"}, "subjects": [{"name": "s"}]}));
    let secret = source(json!({}), json!({"type": "b", "data": {}}));
    let (old_binding, old_secret) =
        (json!({"roleRef": {"name": "old"}}), json!({"type": "a", "metadata": {}}));
    let mut of_binding = bond(kind("RoleBinding"), &key, &binding);
    let mut of_secret = bond(kind("Secret"), &key, &secret);

    assert_eq!(of_binding.plan(&old_binding, NOW), Plan::Replace("roleRef"));
    assert_eq!(of_secret.plan(&old_secret, NOW), Plan::Replace("type"));
    of_binding.role = Role::Pulls;
    of_secret.role = Role::Pulls;
    assert_eq!(of_binding.plan(&old_binding, NOW), Plan::Refuse("roleRef"));
    assert_eq!(after(&of_secret, &old_secret)["type"], "a");
}

#[test]
fn the_content_of_an_immutable_target_stays_and_its_bookkeeping_is_written() {
    let (key, kind) = (shop_web(), kind("ConfigMap"));
    let source = source(json!({}), json!({"data": {"a": "2"}}));
    let bond = bond(kind, &key, &source);
    let marks = json!({"annotations": {REPLICATED_KEYS: "a"}});
    let target = |value: &str| json!({"immutable": true, "data": {"a": value}, "metadata": marks});

    assert_eq!(bond.plan(&target("1"), NOW), Plan::Locked);
    assert_eq!(after(&bond, &target("2"))["metadata"]["annotations"][REPLICATED_FROM], "shop/web");
    let release = |role| Release::of(kind, role, Style::Replicator, &target("1"));
    assert_eq!(release(Role::Pulls), Release::Nothing);
    assert_eq!(release(Role::Copy), Release::Delete);
}

#[test]
fn a_copy_is_deleted_or_loses_only_the_keys_and_labels_of_its_source() {
    let release = |role, style, target: &Value| Release::of(kind("Secret"), role, style, target);
    let marks =
        json!({REPLICATED_FROM: "shop/web", REPLICATED_KEYS: "a,b", REPLICATED_LABELS: "l", "own": "x"});
    let only = json!({"metadata": {"annotations": marks}, "data": {"a": "1"}});
    let mut more = only.clone();
    more["data"]["own"] = json!("2");

    assert_eq!(release(Role::Copy, Style::Replicator, &only), Release::Delete);
    assert_eq!(release(Role::Copy, Style::Reflector, &more), Release::Delete);
    assert_eq!(release(Role::Pulls, Style::Reflector, &more), Release::Nothing);
    let gone = json!({REPLICATED_FROM: null, REPLICATED_KEYS: null, REPLICATED_LABELS: null});
    let patch = json!({"data": {"a": null}, "metadata": {"annotations": gone, "labels": {"l": null}}});
    assert_eq!(release(Role::Copy, Style::Replicator, &more), Release::Change(patch.clone()));
    assert_eq!(release(Role::Pulls, Style::Replicator, &only), Release::Change(patch));
    let never = json!({"metadata": {"annotations": {"own": "x"}}, "data": {"a": "1"}});
    assert_eq!(release(Role::Pulls, Style::Replicator, &never), Release::Nothing);
}

/// The API server refuses a Secret without the keys of its type.
#[test]
fn a_secret_loses_the_values_of_its_source_and_keeps_the_keys_that_its_type_requires() {
    for (of_type, keys, expected) in [
        ("Opaque", "tls.crt,a", json!({"tls.crt": null, "a": null})),
        ("kubernetes.io/tls", "tls.crt,tls.key,a", json!({"tls.crt": "", "tls.key": "", "a": null})),
        ("kubernetes.io/basic-auth", "username,password", json!({"username": "", "password": ""})),
        ("kubernetes.io/dockerconfigjson", ".dockerconfigjson", json!({".dockerconfigjson": "e30="})),
        ("kubernetes.io/dockercfg", ".dockercfg", json!({".dockercfg": "e30="})),
        ("kubernetes.io/ssh-auth", "ssh-privatekey", json!({"ssh-privatekey": "Cg=="})),
    ] {
        let data: Map<String, Value> = keys.split(',').map(|key| (key.to_owned(), json!("eA=="))).collect();
        let mut target =
            json!({"type": of_type, "data": data, "metadata": {"annotations": {REPLICATED_KEYS: keys}}});
        let Release::Change(patch) = Release::of(kind("Secret"), Role::Pulls, Style::Replicator, &target)
        else {
            panic!("{of_type}: the target has values of the source");
        };
        assert_eq!(patch["data"], expected, "{of_type}");

        merge(&mut target, &patch);
        let again = Release::of(kind("Secret"), Role::Pulls, Style::Replicator, &target);
        assert_eq!(again, Release::Nothing, "{of_type}");
    }
}

#[test]
fn an_object_without_keys_that_a_person_made_loses_its_lists() {
    let role = json!({"metadata": {"annotations": {REPLICATED_AT: "x"}}, "rules": [1]});
    let patch = json!({"rules": null, "metadata": {"annotations": {REPLICATED_AT: null}}});

    assert_eq!(Release::of(kind("Role"), Role::Pulls, Style::Replicator, &role), Release::Change(patch));
    assert_eq!(Release::of(kind("Role"), Role::Copy, Style::Replicator, &role), Release::Delete);
}
