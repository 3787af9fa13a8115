"""The SDK against the fake host: `python3 -m unittest discover -s tests` in the folder above."""

import json
import logging
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from informer_sdk.testing import Err, api_error, host, host_error

from informer_sdk import (
    Again,
    ApiError,
    App,
    HostError,
    ObjectKey,
    PermanentError,
    Requeue,
    RetryAfter,
    client,
    config,
    delivery,
    finalize,
    format_key,
    http,
    is_own_write,
    keyvalue,
    lister,
    metrics,
    owner_reference,
    parse_key,
    set_owner,
    timer,
    workqueue,
)
from informer_sdk._used import exports, used

PODS = "v1/pods"


def pod(name, namespace="shop", **more):
    metadata = {"namespace": namespace, "name": name, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"name": name}, **more}


class Case(unittest.TestCase):
    def setUp(self):
        host.reset()


class Handlers(Case):
    def test_a_handler_reads_metadata_at_once_fields_by_pointer_and_the_body_once(self):
        app, seen = App(), []

        @app.on_add
        def added(obj, cause):
            seen.extend([obj.gvr, obj.key, obj.labels, obj.controller, cause])
            self.assertEqual(host.calls, [])
            seen.extend([obj.get("/spec/x"), obj.get("/spec/none", 7), obj.get_many("/spec/x", "/spec/list/1")])
            self.assertIs(obj.body, obj.body)

        self.assertIsNone(host.add(app.Handler(), PODS, pod("web", spec={"x": 1, "list": ["a", "b"]})))

        self.assertEqual(seen, [PODS, "shop/web", {"app": "web"}, None, "live", 1, 7, [1, "b"]])
        self.assertEqual(host.calls, ["objects.get", "objects.get", "objects.get_many", "objects.json"])

    def test_an_update_has_the_state_before_and_the_host_compares(self):
        app, seen = App(), []

        @app.on_update
        def updated(old, obj, cause):
            seen.extend([old.resource_version, obj.resource_version, obj.differs(old, "/spec"), obj.differs(old, "/kind")])

        old = host.put(PODS, pod("web", spec={"x": 1}))
        self.assertIsNone(host.update(app.Handler(), PODS, old, host.put(PODS, pod("web", spec={"x": 2}))))

        self.assertEqual(seen, ["2", "3", True, False])

    def fail(self, error):
        app = App()

        @app.on_add
        def added(obj, cause):
            raise error from LookupError("far")

        return host.add(app.Handler(), PODS, pod("web"))

    def test_what_is_raised_becomes_a_failure_with_message_stack_and_causes(self):
        failure = self.fail(ValueError("no"))

        self.assertEqual(type(failure).__name__, "Failure_Retry")
        self.assertRegex(failure.value, r'^ValueError: no\n  File "test_sdk.py", line \d+, in added\ncaused by LookupError: far$')
        self.assertEqual(type(self.fail(PermanentError("never"))).__name__, "Failure_Permanent")
        later = self.fail(RetryAfter("soon", 0.0015))
        self.assertEqual((type(later).__name__, later.value[1]), ("Failure_RetryAfter", 2))
        asked = self.fail(ApiError("too-many-requests", "slow down", 429, 0.7))
        self.assertEqual((type(asked).__name__, asked.value[1]), ("Failure_RetryAfter", 700))

    def test_an_error_of_the_host_is_caught_by_its_class(self):
        host.refuse("lister.get", host_error("not-granted", "reading v1/pods is not granted"))
        with self.assertRaises(HostError) as caught:
            lister.get(PODS, "shop/web")

        self.assertEqual((caught.exception.code, str(caught.exception)), ("not-granted", "not-granted: reading v1/pods is not granted"))
        with self.assertRaises(ApiError) as caught:
            client.get(PODS, "shop/web")
        self.assertEqual((caught.exception.code, caught.exception.status), ("not-found", 404))

    def test_variants_of_the_standard_interfaces_are_errors_with_a_code(self):
        class Error_NoSuchStore:
            pass

        class Error_Other:
            value = "quota exceeded"

        host.refuse("wasi_keyvalue_store.open", Err(Error_NoSuchStore()), Err(Error_Other()))
        for text in ("no-such-store: the host refused the call", "other: quota exceeded"):
            with self.assertRaises(HostError) as caught:
                keyvalue.open("a")
            self.assertEqual(str(caught.exception), text)

    def test_an_argument_of_a_wrong_type_is_an_error_and_no_trap(self):
        for wrong in (None, "a/b/c", {"metadata": {}}):
            with self.assertRaises(TypeError):
                lister.get(PODS, wrong)
        with self.assertRaisesRegex(TypeError, "page_size is no whole number"):
            list(lister.list(PODS, page_size=-1))
        with self.assertRaisesRegex(TypeError, "the pointers are a string"):
            lister.get_fields(PODS, "a/b", "/spec")

    def test_half_of_a_character_is_an_error_in_an_argument_and_replaced_in_the_log(self):
        for attempt in (
            lambda: lister.get(PODS, "shop/\ud83d"),
            lambda: workqueue.add("\ud83d"),
            lambda: metrics.counter_add("writes", 1, {1: "a"}),
            lambda: lister.get(PODS, ObjectKey("shop", None)),
            lambda: http.get("https://chat.example.com", headers={"x-\ud83d": "a"}),
        ):
            with self.assertRaises(TypeError):
                attempt()
        self.assertEqual((host.calls, host.requests), ([], []))

        host.start(App().Plugin())
        logging.warning("half \ud83d of one", extra={"a": "\ude00", 2: 3})
        line = host.lines[-1]
        self.assertEqual((line["message"], line["fields"]), ("half \ufffd of one", {"a": "\ufffd", "2": "3"}))

    def test_start_gets_the_configuration_and_what_it_raises_is_text(self):
        app = App("name", "1.0")

        @app.start
        def start(config):
            raise ValueError(f"a is {config['a']}")

        self.assertRegex(host.start(app.Plugin(), {"a": 2}), "^ValueError: a is 2\n")
        info = app.Plugin().describe()
        self.assertEqual((info.name, info.version), ("name", "1.0"))

    def test_a_mistake_in_the_definition_is_an_error_of_the_build(self):
        app = App()
        with self.assertRaisesRegex(TypeError, "no function is registered"):
            app.Handler
        with self.assertRaisesRegex(TypeError, "async"):

            @app.on_add
            async def added(obj, cause):
                pass

        # A call of a generator does nothing.
        with self.assertRaisesRegex(TypeError, "on_add is a generator"):

            @app.on_add
            def generated(obj, cause):
                yield

        with self.assertRaisesRegex(TypeError, "on_add is async"):

            @app.on_add
            async def both(obj, cause):
                yield

        app.on_add(lambda obj, cause: None)
        with self.assertRaisesRegex(TypeError, "twice"):
            app.on_add(lambda obj, cause: None)

    def test_a_function_that_the_host_would_never_call_is_an_error_of_the_build(self):
        app = App()
        app.on_add(print)
        app.reconcile(print)

        app._check_called({"on_batch": ["BatchHandler", "no world"]})
        with self.assertRaisesRegex(TypeError, "^@app.reconcile is registered, and the host would never call it: the world `x`$"):
            app._check_called({"reconcile": ["Reconciler", "the world `x`"]})
        app._check_exports({"Handler", "Reconciler"})
        with self.assertRaisesRegex(TypeError, "^@app.on_add is registered, and src/app.py has no `Handler = app.Handler`$"):
            app._check_exports({"Reconciler"})

    def test_a_coroutine_that_a_handler_returns_is_a_permanent_failure(self):
        async def added(obj):
            self.fail("the host waits for no coroutine")

        app = App()
        app.on_add(lambda obj, cause: added(obj))
        failure = host.add(app.Handler(), PODS, pod("web"))

        self.assertEqual(type(failure).__name__, "Failure_Permanent")
        self.assertIn("on_add is async, so its code does not run", failure.value)

    def test_own_writes_are_left_out_if_the_plugin_wants_so(self):
        app, seen = App(ignore_own_writes=True), []
        app.on_update(lambda old, obj, cause: seen.append(obj.resource_version))

        old = host.put(PODS, pod("web"))
        written = client.update(PODS, old)
        self.assertTrue(is_own_write(written))
        self.assertIsNone(host.update(app.Handler(), PODS, old, written))
        self.assertIsNone(host.update(app.Handler(), PODS, old, written, "relist"))
        foreign = host.put(PODS, pod("web"))
        self.assertIsNone(host.update(app.Handler(), PODS, written, foreign))

        self.assertEqual(seen, [foreign["metadata"]["resourceVersion"]])

    def test_an_attempt_that_wrote_and_failed_is_repeated_although_the_version_is_an_own_write(self):
        app, seen = App(ignore_own_writes=True), []

        @app.on_update
        def updated(old, obj, cause):
            seen.append(cause)
            if len(seen) == 1:
                client.merge_patch(PODS, obj, {"spec": {"x": 1}})
                raise ValueError("after the write")

        old = host.put(PODS, pod("web"))
        failure = host.update(app.Handler(), PODS, old, host.put(PODS, pod("web")))
        self.assertEqual(type(failure).__name__, "Failure_Retry")
        host.attempt = 2
        merged = lister.get(PODS, "shop/web")
        self.assertTrue(is_own_write(merged))
        self.assertIsNone(host.update(app.Handler(), PODS, old, merged))

        self.assertEqual(seen, ["live", "live"])

    def test_an_own_write_is_delivered_as_an_addition_and_by_a_resync_and_a_replay(self):
        app, seen = App(ignore_own_writes=True), []
        app.on_add(lambda obj, cause: seen.append(f"add {cause}"))
        app.on_update(lambda old, obj, cause: seen.append(cause))
        written = client.create(PODS, pod("web"))

        host.add(app.Handler(), PODS, written)
        for cause in ("live", "resync", "replay"):
            host.update(app.Handler(), PODS, written, written, cause)

        self.assertEqual(seen, ["add live", "resync", "replay"])

    def test_a_write_that_changes_nothing_does_not_make_the_version_of_another_client_an_own_one(self):
        foreign = host.put(PODS, pod("web"))
        answer = lambda *args: json.dumps(foreign)  # noqa: E731
        with mock.patch.object(client.host, "update", answer), mock.patch.object(client.host, "patch", answer):
            client.update(PODS, foreign)
            version = foreign["metadata"]["resourceVersion"]
            client.merge_patch(PODS, "shop/web", {"metadata": {"resourceVersion": version}})
            client.json_patch(PODS, "shop/web", [{"op": "test", "path": "/metadata/resourceVersion", "value": version}])
            self.assertFalse(is_own_write(foreign))
            client.json_patch(PODS, "shop/web", [])
            self.assertTrue(is_own_write(foreign), "the version before the write is not known")

    def test_only_an_error_of_the_sdk_says_when_the_next_attempt_is(self):
        class Throttled(Exception):
            retry_after = "Wed, 21 Oct 2015 07:28:00 GMT"

        self.assertEqual(type(self.fail(Throttled("slow down"))).__name__, "Failure_Retry")


    def test_an_exception_without_a_text_is_a_failure_and_half_of_a_character_is_replaced(self):
        class Silent(Exception):
            def __str__(self):
                raise LookupError("no text")

        self.assertIn("Silent: (its text raises LookupError)", self.fail(Silent()).value)
        self.assertIn("ValueError: half \ufffd of one", self.fail(ValueError("half \ud83d of one")).value)


class Reconcilers(Case):
    def reconcile(self, result):
        app = App()

        @app.reconcile
        def reconcile(key):
            self.assertEqual(key, "shop/web")
            if isinstance(result, Exception):
                raise result
            return result

        try:
            outcome = app.Reconciler().reconcile("shop/web")
        except Err as error:
            outcome = error.value
        return type(outcome).__name__, getattr(outcome, "value", None)

    def test_it_returns_what_is_next(self):
        self.assertEqual(self.reconcile(None), ("Outcome_Done", None))
        self.assertEqual(self.reconcile(Requeue()), ("Outcome_Requeue", None))
        self.assertEqual(self.reconcile(Requeue(after=0.0012)), ("Outcome_RequeueAfter", 2))
        self.assertEqual(self.reconcile("soon")[0], "ReconcileError_Terminal")

    def test_it_fails_by_class(self):
        self.assertEqual(self.reconcile(ValueError("no"))[0], "ReconcileError_Retry")
        self.assertEqual(self.reconcile(PermanentError("never"))[0], "ReconcileError_Terminal")
        self.assertEqual(self.reconcile(RetryAfter("soon", 5)), ("Outcome_RequeueAfter", 5000))
        self.assertEqual(host.lines[-1]["level"], "warn")
        self.assertIn("RetryAfter: soon", host.lines[-1]["fields"]["error"])


class Interfaces(Case):
    def test_a_list_is_read_page_by_page_and_only_as_far_as_it_is_used(self):
        for name in "abcde":
            host.put(PODS, pod(name))
        host.put(PODS, pod("x", "other"))

        names = [meta.name for meta in lister.list_meta(PODS, namespace="shop", page_size=2)]
        self.assertEqual((names, len(host.calls)), (list("abcde"), 3))
        next(iter(lister.list(PODS, page_size=2)))
        self.assertEqual(len(host.calls), 4)
        (found,) = lister.list_fields(PODS, ["/spec/name", "/none"], labels="app=c")
        self.assertEqual((str(found.key), found.values), ("shop/c", ["c", None]))
        self.assertEqual([format_key(obj) for obj in client.list(PODS, page_size=4)][:2], ["other/x", "shop/a"])

    def test_a_key_of_the_workqueue_says_what_it_is_of_if_it_names_a_resource(self):
        self.assertEqual(parse_key("v1/pods shop/web"), ("v1/pods", ObjectKey("shop", "web")))
        self.assertEqual(parse_key("apps/v1/ReplicaSet node-1"), ("apps/v1/ReplicaSet", ObjectKey("", "node-1")))
        self.assertEqual(parse_key("shop/web"), (None, ObjectKey("shop", "web")))
        for wrong in ("v1/pods ", "v1/pods shop/", "v1/pods a/b/c", ""):
            with self.assertRaises(TypeError):
                parse_key(wrong)

    def test_modify_reads_again_after_a_conflict_and_sends_nothing_without_a_change(self):
        host.put(PODS, pod("web"))
        host.refuse("client.update", api_error("conflict", status=409), api_error("conflict", status=409))

        changed = client.modify(PODS, "shop/web", lambda obj: obj["spec"].update(replicas=3))

        self.assertEqual(changed["spec"]["replicas"], 3)
        self.assertEqual(host.calls.count("client.update"), 3)
        host.calls.clear()
        client.modify(PODS, "shop/web", lambda obj: dict(obj))
        self.assertEqual(host.calls, ["client.get"])

    def test_modify_refuses_a_result_that_is_no_object_and_sends_nothing(self):
        host.put(PODS, pod("web"))

        async def changed(obj):
            obj["spec"].update(replicas=3)

        for change, error, text in (
            (lambda obj: obj["spec"].setdefault("replicas", 3), TypeError, "has returned 3: return None, or an object with metadata.name"),
            (lambda obj: obj["spec"], TypeError, "has returned {'name': 'web'}: return None"),
            (lambda obj: {}, TypeError, "has returned {}: return None"),
            (changed, PermanentError, "the function of modify is async, so its code does not run"),
            (lambda obj: (key for key in obj), PermanentError, "the function of modify is a generator"),
        ):
            with self.assertRaisesRegex(error, text):
                client.modify(PODS, "shop/web", change)
        self.assertEqual(set(host.calls), {"client.get"})

    def test_modify_sends_a_value_of_another_type_that_is_equal_in_python(self):
        host.put(PODS, pod("web"))
        client.modify(PODS, "shop/web", lambda obj: obj["spec"].update(replicas=1))
        host.calls.clear()

        changed = client.modify(PODS, "shop/web", lambda obj: obj["spec"].update(replicas=True))

        self.assertEqual(host.calls, ["client.get", "client.update"])
        self.assertIs(changed["spec"]["replicas"], True)

    def test_a_conflict_that_stays_is_raised_after_five_attempts_another_error_at_once(self):
        for code, attempts in (("conflict", 5), ("forbidden", 1)):
            made = []

            def attempt():
                made.append(code)
                raise ApiError(code, "no", 409)

            with self.assertRaises(ApiError):
                client.retry_on_conflict(attempt)
            self.assertEqual(len(made), attempts)

    def test_objects_are_applied_patched_and_deleted(self):
        client.apply(PODS, pod("web"), force=True)
        patched = client.merge_patch(PODS, "shop/web", {"spec": {"name": None, "x": 1}})
        self.assertEqual(patched["spec"], {"x": 1})
        client.delete(PODS, "shop/web", propagation="foreground")
        self.assertIsNone(lister.get(PODS, "shop/web"))
        with self.assertRaises(TypeError):
            client.delete(PODS, "shop/web", propagation="fast")

    def test_a_finalizer_is_added_once_and_removed_after_the_cleanup(self):
        cleaned = []

        def reconcile(cleanup=cleaned.append):
            return finalize(PODS, lister.get(PODS, "shop/web"), "example.com/x", cleanup)

        host.put(PODS, pod("web"))
        self.assertTrue(reconcile())
        self.assertTrue(reconcile())
        self.assertEqual(host.calls.count("client.update"), 1)
        client.delete(PODS, "shop/web")

        def failing(obj):
            raise ValueError("not yet")

        with self.assertRaisesRegex(ValueError, "not yet"):
            reconcile(failing)
        self.assertEqual(lister.get(PODS, "shop/web")["metadata"]["finalizers"], ["example.com/x"])
        self.assertFalse(reconcile())
        self.assertEqual(len(cleaned), 1)
        self.assertIsNone(lister.get(PODS, "shop/web"))

    def test_a_cleanup_that_is_async_keeps_the_finalizer(self):
        async def clean_up(obj):
            self.fail("the host waits for no coroutine")

        metadata = {**pod("web")["metadata"], "finalizers": ["example.com/x"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        gone = host.put(PODS, pod("web", metadata=metadata))
        for cleanup in (clean_up, lambda obj: clean_up(obj)):
            with self.assertRaisesRegex(PermanentError, "cleanup is async, so its code does not run"):
                finalize(PODS, gone, "example.com/x", cleanup)
        self.assertEqual(lister.get(PODS, "shop/web")["metadata"]["finalizers"], ["example.com/x"])

    def test_an_object_that_was_deleted_meanwhile_gets_no_finalizer_and_does_not_live(self):
        seen = host.put(PODS, pod("web"))
        client.delete(PODS, "shop/web")
        host.put(PODS, pod("web"))

        self.assertFalse(finalize(PODS, seen, "example.com/x", self.fail))

        self.assertNotIn("finalizers", lister.get(PODS, "shop/web")["metadata"])

    def test_an_object_that_is_gone_after_the_cleanup_is_no_failure(self):
        seen = host.put(PODS, pod("web"))
        seen["metadata"].update(finalizers=["example.com/x"], deletionTimestamp="2026-01-01T00:00:00Z")
        client.delete(PODS, "shop/web")
        cleaned = []

        self.assertFalse(finalize(PODS, seen, "example.com/x", cleaned.append))

        self.assertEqual(len(cleaned), 1)

    def test_an_owner_is_set_once_and_only_one_controller(self):
        owner = host.put(PODS, pod("owner"))
        child = set_owner(set_owner(pod("child"), owner), owner)

        self.assertEqual(child["metadata"]["ownerReferences"], [owner_reference(owner)])
        with self.assertRaisesRegex(ValueError, "shop/child is controlled by Pod owner"):
            set_owner(child, host.put(PODS, pod("other")))
        with self.assertRaisesRegex(ValueError, "another namespace"):
            set_owner(pod("x", "elsewhere"), owner)
        with self.assertRaisesRegex(TypeError, "the owner has no uid"):
            owner_reference(pod("unborn"))

    def test_key_values_hold_json(self):
        with keyvalue.open("state") as bucket:
            bucket.set("a", {"text": "späti 🦀", "list": [1, None]})
            self.assertEqual(bucket.get("a"), {"text": "späti 🦀", "list": [1, None]})
            self.assertEqual((bucket.increment("n", 5), bucket.increment("n"), bucket.get("n")), (5, 6, 6))
            bucket.set("b", 1)
        with keyvalue.open("state") as bucket:
            self.assertEqual(list(bucket.keys()), ["a", "b", "n"])
            bucket.delete("a")
            self.assertEqual(("a" in bucket, bucket.get("a", "none")), (False, "none"))

    def test_a_counter_only_grows(self):
        with keyvalue.open("counters") as bucket:
            self.assertEqual(bucket.increment("n", 2**64 - 1), 2**64 - 1)
            for delta in (-1, 2**64, 1.5, True):
                with self.assertRaisesRegex(TypeError, "delta is no whole number from 0 to 18446744073709551615"):
                    bucket.increment("n", delta)

    def test_a_line_that_cannot_be_written_fails_no_call(self):
        app = App()

        @app.on_add
        def added(obj, cause):
            logging.info("%d pods", "many")
            logging.info("still here")

        with mock.patch.object(logging, "raiseExceptions", False):
            self.assertIsNone(host.add(app.Handler(), PODS, pod("web")))
        self.assertEqual([line["message"] for line in host.lines], ["still here"])

    def test_logging_writes_lines_with_fields(self):
        app = App()
        app.on_add(lambda obj, cause: None)
        host.start(app.Plugin())
        try:
            raise ValueError("x")
        except ValueError:
            logging.getLogger("mine").warning("scaled to %d", 3, extra={"replicas": 3}, exc_info=True)

        line = host.lines[-1]
        self.assertEqual((line["level"], line["message"]), ("warn", "scaled to 3"))
        self.assertEqual((line["fields"]["replicas"], line["fields"]["logger"]), ("3", "mine"))
        self.assertRegex(line["fields"]["error"], "^ValueError: x\n")

    def test_the_small_interfaces_pass_their_values_on(self):
        host.config = {"a.b": "1"}
        self.assertEqual((config.get("a.b"), config.get("c", "none"), config.all()), ("1", "none", {"a.b": "1"}))
        self.assertEqual((delivery.current().attempt, delivery.current().queued), (1, 0.005))
        metrics.counter_add("writes", 2, {"kind": "pod"})
        self.assertEqual(host.metrics, [("counter_add", "writes", [("kind", "pod")], 2.0)])
        workqueue.add(pod("web"))
        workqueue.add_after("shop/web", 0.01)
        self.assertEqual(host.keys, [("shop/web", 0), ("shop/web", 10)])
        client.record_event(PODS, pod("web"), "Scaled", "Scaling", warning=True)
        self.assertEqual((host.events[0].reason, host.events[0].warning, host.events[0].note), ("Scaled", True, ""))


    def test_signals_reach_their_functions_and_fail_as_handlers_do(self):
        app, seen = App(), []

        @app.on_add
        def added(obj, cause):
            delivery.call_again(0.0015)

        @app.on_synced
        def synced(synced):
            seen.append((synced.gvr, synced.count, synced.resource_version))
            timer.after("soon", 0.005)
            timer.after("never", 1)
            timer.cancel("never")

        @app.on_timer
        def fired(name):
            seen.append(name)
            if name == "bad":
                raise PermanentError("no")

        @app.on_config
        def changed(config):
            seen.append(config["greeting"])

        host.put(PODS, pod("web"))
        self.assertIsNone(host.add(app.Handler(), PODS, pod("web")))
        self.assertIsNone(host.synced(app.SyncHandler(), PODS))
        self.assertEqual((host.again, host.timers), ([2], {"soon": 5}))
        self.assertIsNone(host.fire(app.TimerHandler(), "soon"))
        self.assertEqual(type(host.fire(app.TimerHandler(), "bad")).__name__, "Failure_Permanent")
        self.assertIsNone(host.configure(app.ConfigHandler(), {"greeting": "hi"}))
        self.assertEqual((seen, host.timers), ([(PODS, 1, "2"), "soon", "bad", "hi"], {}))

    def test_each_notification_of_a_batch_has_its_outcome(self):
        app = App()

        @app.on_batch
        def batch(notifications):
            print_of = [(one.verb, str(one.obj.key), one.old and one.old.name, one.cause, one.attempt) for one in notifications]
            seen.append(print_of)
            return [outcomes[one.obj.name] for one in notifications]

        seen = []
        outcomes = {"web": None, "db": Again(0.0015), "bad": PermanentError("no"), "slow": RetryAfter("soon", 2), "odd": 3}
        found = host.batch(
            app.BatchHandler(),
            PODS,
            {"obj": pod("web")},
            {"verb": "updated", "obj": pod("db"), "old": pod("db"), "cause": "resync", "attempt": 2},
            {"verb": "deleted", "obj": pod("bad"), "final_state_known": False},
            {"obj": pod("slow")},
            {"obj": pod("odd")},
        )

        self.assertEqual(seen[0][:2], [("added", "shop/web", None, "live", 1), ("updated", "shop/db", "db", "resync", 2)])
        kinds = [type(one).__name__ for one in found]
        self.assertEqual(kinds, ["Outcome_Handled", "Outcome_Again", "Outcome_Failed", "Outcome_Failed", "Outcome_Failed"])
        self.assertEqual(found[1].value, 2)
        failures = [type(one.value).__name__ for one in found[2:]]
        self.assertEqual(failures, ["Failure_Permanent", "Failure_RetryAfter", "Failure_Permanent"])
        self.assertIn("an outcome of on_batch is 3", found[4].value.value)

    def test_a_wrong_time_of_one_notification_is_no_failure_of_the_others(self):
        app = App()
        app.on_batch(lambda notifications: [None, Again("soon"), Again(-1)])

        good, *wrong = host.batch(app.BatchHandler(), PODS, *({"obj": pod(name)} for name in ("a", "b", "c")))

        self.assertEqual(type(good).__name__, "Outcome_Handled")
        for outcome in wrong:
            self.assertEqual(type(outcome.value).__name__, "Failure_Permanent")
            self.assertIn("after is no time in seconds", outcome.value.value)

    def test_a_batch_that_raises_is_delivered_one_by_one(self):
        app = App()

        @app.on_batch
        def batch(notifications):
            raise PermanentError("boom")

        self.assertEqual(host.batch(app.BatchHandler(), PODS, {"obj": pod("web")}, {"obj": pod("db")}), [])
        self.assertEqual(host.lines[-1]["level"], "warn")
        (alone,) = host.batch(app.BatchHandler(), PODS, {"obj": pod("web")})
        self.assertEqual(type(alone.value).__name__, "Failure_Permanent")

    def test_a_function_whose_class_the_module_lacks_is_an_error_of_the_build(self):
        app = App()
        app.on_timer(lambda name: None)

        app._check_exports({"Plugin", "TimerHandler"})
        with self.assertRaisesRegex(TypeError, "src/app.py has no `TimerHandler = app.TimerHandler`"):
            app._check_exports({"Plugin"})
        with self.assertRaisesRegex(TypeError, "use @app.on_synced before this line"):
            app.SyncHandler

    def test_the_cache_has_an_age_and_its_indexes_have_values(self):
        host.put(PODS, pod("web"))
        host.put(PODS, pod("web", "blog"))
        host.put(PODS, pod("db", "blog"))

        self.assertEqual(lister.state(PODS), lister.CacheState(True, "4", 0.0))
        values = [(found.value, found.objects) for found in lister.index_values(PODS, "namespace", page_size=1)]
        self.assertEqual(values, [("blog", 2), ("shop", 1)])
        with self.assertRaises(HostError):
            list(lister.index_values(PODS, "node"))


class Http(Case):
    def test_a_request_is_sent_and_answered(self):
        url = "https://chat.example.com/hooks/a?b=c"
        host.answers[f"POST {url}"] = (201, '{"ok": "späti"}'.encode())

        answer = http.request("POST", f"{url}#part", json={"text": "späti"})

        self.assertEqual((answer.status, answer.ok, answer.json()), (201, True, {"ok": "späti"}))
        self.assertEqual(answer.headers, {"content-length": "16"})
        self.assertEqual(host.requests, [(f"POST {url}", '{"text": "späti"}'.encode())])

    def test_a_request_without_a_grant_is_denied_and_the_error_has_no_path(self):
        with self.assertRaises(HostError) as raised:
            http.get("http://other.example.com/secret")
        self.assertEqual(raised.exception.code, "http-request-denied")
        self.assertIn("GET http://other.example.com: the host denies it", str(raised.exception))
        with self.assertRaises(HostError) as raised:
            http.get("http://me:password@other.example.com/secret")
        self.assertNotIn("password", str(raised.exception))
        for malformed in ("", "chat.example.com", "ftp://a/", "https:///a", "https://[::1/"):
            with self.assertRaises(HostError) as raised:
                http.get(malformed)
            self.assertEqual(raised.exception.code, "invalid")


class Used(unittest.TestCase):
    def used(self, text):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "app.py").write_text(text, encoding="utf-8")
            return used(Path(folder))

    def test_a_component_imports_what_its_sources_use(self):
        always = ["informer:plugin/log@0.2.0", "informer:plugin/objects@0.2.0"]
        self.assertEqual(self.used("from informer_sdk import App"), ([], always))
        modules, interfaces = self.used("from informer_sdk import App, finalize\nfrom informer_sdk.lister import get")
        self.assertEqual(modules, ["client", "lister"])
        self.assertEqual(interfaces, [*always, "informer:plugin/client@0.2.0", "informer:plugin/lister@0.2.0"])
        self.assertEqual(len(self.used("import informer_sdk")[0]), 9)
        self.assertEqual(self.used("import informer_sdk.client\ninformer_sdk.lister.get")[0], ["client", "lister"])

    def test_a_plugin_that_ignores_its_own_writes_reads_the_number_of_the_attempt(self):
        for text in ("app = App(ignore_own_writes=True)", "app.ignore_own_writes = True", 'App(**{"ignore_own_writes": True})'):
            modules, interfaces = self.used(f"from informer_sdk import App\n{text}")
            self.assertEqual((modules, interfaces[-1]), (["delivery"], "informer:plugin/delivery@0.2.0"))
        self.assertEqual(self.used("App(ignore_own_writes=True)"), ([], None))

    def test_a_component_exports_what_its_module_has(self):
        with tempfile.TemporaryDirectory() as folder:
            text = "from other import TimerHandler\nPlugin, Handler = app.Plugin, app.Handler\nclass SyncHandler: pass\n"
            Path(folder, "app.py").write_text(text, encoding="utf-8")
            self.assertEqual(exports(Path(folder)), ["Handler", "Plugin", "SyncHandler", "TimerHandler"])
            self.assertEqual(exports(Path(folder, "none")), [])

    def test_a_plugin_that_uses_the_bindings_imports_its_world(self):
        self.assertEqual(self.used("from wit_world.imports import log\nfrom informer_sdk import lister"), (["lister"], None))
        self.assertEqual(self.used("print(1)"), ([], None))


if __name__ == "__main__":
    unittest.main()
