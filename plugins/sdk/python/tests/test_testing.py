"""The fake host itself: it refuses what it does not do, and it does what an API server does."""

import unittest

from informer_sdk.testing import host, host_error

from informer_sdk import ApiError, App, HostError, client, is_own_write, keyvalue, lister, timer, workqueue

PODS = "v1/pods"


def pod(name, namespace="shop", **metadata):
    return {"metadata": {"namespace": namespace, "name": name, "labels": {"app": name}, **metadata}, "spec": {}}


def version(obj):
    return obj["metadata"]["resourceVersion"]


class FakeHost(unittest.TestCase):
    def setUp(self):
        host.reset()

    def refused(self, code, call, *args, **options):
        with self.assertRaises(HostError) as caught:
            list(call(*args, **options) or [])
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception

    def test_a_version_that_the_plugin_has_written_in_an_earlier_test_is_no_own_write(self):
        written = client.update(PODS, host.put(PODS, pod("web")))
        self.assertTrue(is_own_write(written))

        host.reset()
        host.put(PODS, pod("web"))
        foreign = host.put(PODS, pod("web"))

        self.assertEqual(version(foreign), version(written))
        self.assertFalse(is_own_write(foreign))

    def test_a_value_that_is_no_number_of_64_bits_is_not_incremented(self):
        with keyvalue.open("counts") as bucket:
            for kept in (b"five", b"18446744073709551615"):
                bucket.set_bytes("n", kept)

                with self.assertRaises(HostError) as caught:
                    bucket.increment("n")

                self.assertEqual((caught.exception.code, bucket.get_bytes("n")), ("other", kept))

    def test_an_index_that_it_does_not_have_is_refused_and_selects_not_everything(self):
        host.put(PODS, pod("web"))
        host.put(PODS, pod("db", "blog"))

        for call in (lister.list, lister.list_meta):
            self.refused("invalid", call, PODS, index=("node", "n1"))
        self.refused("invalid", lister.list_fields, PODS, ["/spec"], index=("node", "n1"))
        found = [meta.key for meta in lister.list_meta(PODS, index=("namespace", "blog"))]
        self.assertEqual(found, ["blog/db"])
        self.assertEqual(list(lister.list(PODS, namespace="shop", index=("namespace", "blog"))), [])

    def test_a_selector_that_it_does_not_know_is_refused(self):
        host.put(PODS, pod("web"))

        for selector in ("app", "!app", "app!=web", "app===web", "=web", "app in (web)", "app=web,tier notin (a)"):
            self.refused("invalid", lister.list, PODS, labels=selector)
            self.assertEqual(self.refused("invalid", client.list, PODS, labels=selector).status, 400)
        self.refused("invalid", lister.list, "v1/nodes", labels="app!=web")
        self.assertEqual(self.refused("invalid", client.list, PODS, fields="spec.nodeName=n1").status, 400)
        for selector in ("app=web", "app==web"):
            self.assertEqual(len(list(client.list(PODS, labels=selector))), 1)
        self.assertEqual(list(client.list(PODS, labels="app==db")), [])
        self.assertEqual(list(lister.list(PODS, labels="app=web,app=db")), [])

    def test_a_list_is_sorted_and_an_unknown_page_is_refused(self):
        for name, namespace in (("b", "shop"), ("a", "shop"), ("z", "blog")):
            host.put(PODS, pod(name, namespace))

        self.assertEqual([meta.key for meta in lister.list_meta(PODS, page_size=1)], ["blog/z", "shop/a", "shop/b"])
        for token in ("none", "4"):
            of, part = lister.host.Selector(None, "", None), lister.host.Page(1, token)
            self.refused("stale-page", lambda: lister.call(lister.host.list_meta, PODS, of, part))
            options = client.host.ListOptions(None, "", "", 1, token)
            self.assertEqual(self.refused("gone", lambda: client.call(client.host.list_objects, PODS, options)).status, 410)

    def test_a_plugin_that_deletes_what_it_lists_sees_each_object_and_each_key_once(self):
        names = ["a", "b", "c", "d", "e"]
        for call in (lister.list, client.list):
            for name in names:
                host.put(PODS, pod(name))
            seen = []
            for found in call(PODS, page_size=2):
                client.delete(PODS, found)
                seen.append(found["metadata"]["name"])
            self.assertEqual(seen, names)

        with keyvalue.open("seen") as bucket:
            for name in names:
                bucket.set(name, 1)
            keys = []
            for key in bucket.keys():
                bucket.delete(key)
                keys.append(key)
        self.assertEqual(keys, names)

    def test_an_empty_namespace_selects_the_objects_of_all_namespaces_as_in_the_host(self):
        host.put(PODS, pod("web"))
        host.put(PODS, pod("db", "blog"))

        for call in (lister.list, lister.list_meta, client.list):
            self.assertEqual(len(list(call(PODS, namespace=""))), 2)
        self.assertEqual(list(lister.list(PODS, index=("namespace", ""))), [])

    def test_a_dry_run_changes_nothing(self):
        before = host.put(PODS, pod("web"))

        client.create(PODS, pod("new"), dry_run=True)
        client.apply(PODS, pod("new"), dry_run=True)
        answers = [
            client.update(PODS, {**before, "spec": {"x": 1}}, dry_run=True),
            client.merge_patch(PODS, "shop/web", {"spec": {"x": 1}}, dry_run=True),
            client.apply(PODS, {**pod("web"), "spec": {"x": 1}}, dry_run=True),
        ]
        client.delete(PODS, "shop/web", dry_run=True)

        self.assertEqual([(answer["spec"], version(answer)) for answer in answers], [({"x": 1}, version(before))] * 3)
        self.assertEqual(list(client.list(PODS)), [before])
        self.assertFalse(is_own_write(before))

    def test_a_dry_run_is_refused_as_the_write_would_be(self):
        host.put(PODS, pod("web"))

        self.refused("already-exists", client.create, PODS, pod("web"), dry_run=True)
        self.refused("not-found", client.update, PODS, pod("new"), dry_run=True)
        self.refused("not-found", client.delete, PODS, "shop/new", dry_run=True)
        self.refused("conflict", client.delete, PODS, "shop/web", uid="other", dry_run=True)

    def test_a_write_for_another_state_or_another_object_is_a_conflict(self):
        before = host.put(PODS, pod("web"))
        now = host.put(PODS, {**before, "spec": {"x": 1}})
        uid = now["metadata"]["uid"]

        # The API server compares the UID of a patch with that of the object as it does for every field that cannot change.
        for stale, *of_a_patch in (({"resourceVersion": version(before)}, "conflict", 409), ({"uid": "other"}, "invalid", 422)):
            body = {"metadata": {"namespace": "shop", "name": "web", **stale}}
            for call, args, (code, status) in (
                (client.update, (PODS, body), ("conflict", 409)),
                (client.merge_patch, (PODS, "shop/web", body), of_a_patch),
                (client.apply, (PODS, body), of_a_patch),
            ):
                self.assertEqual(self.refused(code, call, *args).status, status)
        self.refused("conflict", client.delete, PODS, "shop/web", resource_version=version(before))
        self.refused("conflict", client.delete, PODS, "shop/web", uid="other")
        self.assertEqual(lister.get(PODS, "shop/web"), now)

        client.merge_patch(PODS, "shop/web", {"metadata": {"uid": uid, "resourceVersion": version(now)}})
        client.delete(PODS, "shop/web", uid=uid, resource_version=version(lister.get(PODS, "shop/web")))
        self.assertIsNone(lister.get(PODS, "shop/web"))

    def test_a_write_does_not_change_the_fields_of_the_server(self):
        before = host.put(PODS, pod("web", finalizers=["example.com/x"]))
        client.delete(PODS, "shop/web")
        deleted = lister.get(PODS, "shop/web")["metadata"]["deletionTimestamp"]

        found = client.update(PODS, pod("web", finalizers=["example.com/x", "example.com/y"]))

        metadata = found["metadata"]
        self.assertEqual((metadata["uid"], metadata["deletionTimestamp"]), (before["metadata"]["uid"], deleted))
        client.merge_patch(PODS, "shop/web", {"metadata": {"finalizers": None}}, dry_run=True)
        self.assertIsNotNone(lister.get(PODS, "shop/web"))
        client.merge_patch(PODS, "shop/web", {"metadata": {"finalizers": None}})
        self.assertIsNone(lister.get(PODS, "shop/web"), "the last finalizer is removed")

    def test_a_deleted_object_without_finalizers_stays_after_a_write(self):
        host.put(PODS, pod("web", deletionTimestamp="2026-01-01T00:00:00Z"))

        client.merge_patch(PODS, "shop/web", {"spec": {"x": 2}})

        found = lister.get(PODS, "shop/web")
        self.assertEqual((found["spec"], found["metadata"]["deletionTimestamp"]), ({"x": 2}, "2026-01-01T00:00:00Z"))

    def test_a_new_object_gets_its_uid_and_its_generated_name_from_the_server(self):
        made = {"metadata": {"namespace": "shop", "generateName": "job-", "uid": "of a copied object"}}

        first, second = (client.create(PODS, made)["metadata"] for _ in range(2))

        self.assertRegex(first["name"], "^job-.+")
        self.assertNotEqual(first["name"], second["name"])
        self.assertEqual(len({first["uid"], second["uid"], "of a copied object"}), 3)
        self.assertEqual(lister.get(PODS, f"shop/{first['name']}")["metadata"], first)
        dry = client.create(PODS, made, dry_run=True)["metadata"]
        self.assertNotIn(dry["uid"], (first["uid"], second["uid"], "of a copied object"))
        self.assertIsNone(lister.get(PODS, f"shop/{dry['name']}"))

    def test_a_creation_with_a_version_or_without_a_name_is_refused(self):
        for metadata, status in (({"name": "a", "resourceVersion": "7"}, 400), ({}, 422)):
            self.assertEqual(self.refused("invalid", client.create, PODS, {"metadata": metadata}).status, status)

    def test_the_index_namespace_of_cluster_scoped_objects_has_one_empty_value(self):
        for name in ("n1", "n2"):
            host.put("v1/nodes", {"metadata": {"name": name}})

        self.assertEqual([(found.value, found.objects) for found in lister.index_values("v1/nodes", "namespace")], [("", 2)])

    def test_a_function_of_a_bucket_is_refused_and_one_that_the_host_does_not_have_cannot_be(self):
        with keyvalue.open("counts") as bucket:
            host.refuse("wasi_keyvalue_store.set", host_error("limit-exceeded", "the quota is used up"))
            with self.assertRaisesRegex(HostError, "the quota is used up"):
                bucket.set("n", 1)

            bucket.set("n", 1)
            self.assertEqual((bucket.get("n"), "n" in bucket, list(bucket.keys())), (1, True, ["n"]))
            bucket.delete("n")
            self.assertNotIn("n", bucket)
        with self.assertRaisesRegex(ValueError, "the fake host has no client.udpate; it has "):
            host.refuse("client.udpate", host_error("invalid"))

    def test_a_key_is_in_the_workqueue_once_and_its_backoffs_are_counted(self):
        for key in ("a", "b", "a"):
            workqueue.add(key)
        for seconds in (0.03, 0.01, 0.02):
            workqueue.add_after("a", seconds)
        for _ in range(2):
            workqueue.add_rate_limited("a")

        self.assertEqual(host.keys, [("a", 0), ("b", 0), ("a", 10), ("a", None)])
        self.assertEqual((workqueue.length(), workqueue.num_requeues("a"), workqueue.num_requeues("b")), (2, 2, 0))
        workqueue.forget("a")
        self.assertEqual(workqueue.num_requeues("a"), 0)
        host.keys.pop(0)
        workqueue.add_after("a", 0)
        self.assertEqual(host.keys[-1], ("a", 0))

    def test_a_timer_without_a_name_is_refused(self):
        with self.assertRaisesRegex(HostError, "the name of a timer is empty"):
            timer.after("", 1)
        self.assertEqual(host.timers, {})

    def test_patches_that_it_does_not_know_are_refused_and_apply_creates(self):
        self.assertEqual(version(client.apply(PODS, pod("web"))), "2")
        for call in (client.json_patch, client.strategic_merge_patch):
            with self.assertRaises(ApiError) as caught:
                call(PODS, "shop/web", [])
            self.assertEqual((caught.exception.code, caught.exception.status), ("invalid", 415))

    def test_a_pointer_that_is_malformed_is_refused_and_the_order_of_keys_is_no_difference(self):
        app, seen = App(), []

        @app.on_update
        def updated(old, obj, cause):
            seen.append((obj.differs(old, "/spec"), obj.differs(old, "/metadata/name")))
            self.refused("invalid", lambda: obj.get("spec"))

        old, now = pod("web"), pod("web")
        old["spec"], now["spec"] = {"a": 1, "b": 2}, {"b": 2, "a": 1}
        self.assertIsNone(host.update(app.Handler(), PODS, old, now))
        host.put(PODS, now)
        self.refused("invalid", lambda: lister.get_fields(PODS, "shop/web", ["spec"]))

        self.assertEqual(seen, [(False, False)])


if __name__ == "__main__":
    unittest.main()
