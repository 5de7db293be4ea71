#!/usr/bin/env python3
"""The API of the real server. Each answer is held against openapi.json, which the server gives.

python3-jsonschema judges the answers.
"""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest

import jsonschema

from port import PERENNIAL, PERENNIALD, Port, WithUsers, free_port


class Described(Port):
    """Asks, and judges each answer by the description."""

    def setUp(self):
        super().setUp()
        self.document = self.api("/openapi.json")[1]
        self.used = set()

    def call(self, path, method="GET", value=None, **fields):
        status, answer = self.api(path, method, value, **fields)
        route, operation = self.operation_of("/api/v1" + path.partition("?")[0], method)
        self.used.add((route, method))
        told = operation["responses"].get(str(status)) or operation["responses"]["default"]
        if str(status) not in operation["responses"]:
            self.assertGreaterEqual(status, 400)
        if "$ref" in told:
            told = self.document["components"]["responses"][told["$ref"].rpartition("/")[2]]
        kind = "application/json" if status < 400 else "application/problem+json"
        self.judge(answer, told["content"][kind]["schema"])
        if status >= 400:
            self.assertEqual((answer["type"], answer["status"]), ("about:blank", status))
        return status, answer

    def judge(self, value, schema):
        jsonschema.Draft202012Validator({**schema, "components": self.document["components"]}).validate(value)

    def operation_of(self, path, method):
        for route, operations in self.document["paths"].items():
            if re.fullmatch(re.sub(r"\\{[a-z]+\\}", "[^/]+", re.escape(route)), path) and method.lower() in operations:
                return route, operations[method.lower()]
        self.fail(f"{method} {path} is not described")


class Api(Described):
    def test_the_description_is_well_formed_and_its_examples_fit(self):
        def schemas(value, path=""):
            for name, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
                if name == "schema":
                    yield path, inner
                elif name not in ("example", "examples"):
                    yield from schemas(inner, f"{path}/{name}")
            if isinstance(value, dict) and "$ref" in value:  # What is referred to is there.
                found = self.document
                for step in value["$ref"].removeprefix("#/").split("/"):
                    found = found[step]
        for path, schema in [*schemas(self.document), *self.document["components"]["schemas"].items()]:
            with self.subTest(path):
                jsonschema.Draft202012Validator.check_schema(schema)
        for path, operations in self.document["paths"].items():
            for method, operation in operations.items():
                told = [operation.get("requestBody", {}), *operation["responses"].values()]
                for content in (content for one in told for kind, content in one.get("content", {}).items() if "json" in kind):
                    with self.subTest(f"{method} {path}"):
                        if "example" in content:
                            self.judge(content["example"], content["schema"])

    def lease(self):
        reserved = self.call("/tubes/work/reservations?wait_seconds=5&count=10&tube=more", "POST")
        self.assertEqual((reserved[0], [each["job"]["state"] for each in reserved[1]["reservations"]]), (200, ["reserved"]))
        return "/reservations/" + reserved[1]["reservations"][0]["lease"]

    def work(self):
        self.assertEqual(self.call("/tubes/work/reservations", "POST")[1], {"reservations": []})
        self.assertEqual(self.call("/jobs", "POST", {"tube": "work", "body_base64": "/w=="})[0], 201)
        lease = self.lease()
        self.assertEqual(self.call(lease + "/note", "POST", {"text": "why"})[1], {"noted": True})
        self.assertEqual(self.call(lease + "/touch", "POST", {"seconds": 30})[1]["touched"], True)
        self.assertEqual(self.call(lease + "/release", "POST", {"count": False})[1], {"released": True, "dead": False})
        late = self.call(lease, "DELETE")
        self.assertEqual((late[0], late[1]["error"]), (409, "conflict"))
        lease = self.lease()
        self.assertEqual(self.call(lease + "/bury", "POST", {"priority": 1})[1], {"buried": True})
        self.assertEqual(self.call("/tubes/work/kick", "POST", {"count": 1})[1], {"kicked": 1})
        lease = self.lease()
        held = self.call("/leases?tube=work&limit=1")[1]["leases"][0]
        job = self.call(f"/jobs/{held['job']}")[1]
        self.assertEqual(job["leased_by"], {"lease": held["id"], "address": held["address"], "user": None})
        self.assertEqual(self.call(f"/leases/{held['id']}", "DELETE")[1], {"ended": True, "dead": False, "state": "ready"})
        self.assertEqual(self.call(f"/leases/{held['id']}", "DELETE")[0], 404)
        self.assertEqual(self.call(lease, "DELETE")[0], 409)
        self.assertEqual(self.call(self.lease(), "DELETE")[1], {"deleted": True})
        self.assertEqual(self.call("/reservations/none", "DELETE")[0], 404)

    def selection(self):
        ids = [self.call("/jobs", "POST", {"tube": "chosen", "body": "x"})[1]["id"] for _ in range(2)]
        batch = {"action": "move", "ids": ids + ["999999"], "to": "elsewhere"}
        self.assertEqual(self.call("/jobs/batch", "POST", batch)[1], {"done": ids, "left": ["999999"], "problem": None})
        self.assertEqual(self.call("/jobs/batch", "POST", {"action": "bury", "ids": ids})[1]["done"], ids)
        self.assertEqual(self.call("/failures?tube=elsewhere")[1]["groups"][0]["jobs"], 2)
        self.assertEqual(self.call("/jobs/batch", "POST", {"action": "delete", "ids": ids})[1]["done"], ids)
        self.assertEqual(self.call("/jobs/batch", "POST", {"action": "eat", "ids": ids})[0], 400)

    def schedules(self):
        wanted = {"tube": "planned", "body": "\u00fcber", "cron": "30 2 * * 1-5", "zone": "Europe/Berlin", "overlap": "skip", "tries": 3}
        self.assertEqual(self.call("/schedules/nightly", "PUT", wanted)[0], 201)
        again = self.call("/schedules/nightly", "PUT", wanted)
        self.assertEqual((again[0], again[1]["fired"]), (200, 0))
        seen = self.call("/schedules/nightly")[1]
        self.assertEqual({name: seen[name] for name in wanted}, wanted)
        self.assertRegex(seen["next"], r"T0[01]:30:00\.000Z$")
        self.assertEqual(self.call("/schedules/bytes", "PUT", {"body_base64": "/w==", "every_seconds": 3600})[0], 201)
        self.assertEqual(self.call("/schedules/bytes")[1]["body_base64"], "/w==")
        self.assertEqual([each["name"] for each in self.call("/schedules")[1]["schedules"]], ["bytes", "nightly"])
        self.assertEqual(self.call("/schedules?tube=planned&limit=1")[1]["schedules"][0]["name"], "nightly")
        ran = self.call("/schedules/nightly/run", "POST", {})
        self.assertEqual((ran[0], ran[1]["duplicate"]), (201, False))
        self.assertEqual(self.call("/schedules/nightly/run", "POST", {}), (200, {"id": ran[1]["id"], "duplicate": True}))
        self.assertEqual(self.call(f"/jobs/{ran[1]['id']}", "DELETE")[0], 200)
        for paused in (True, False):
            self.assertEqual(self.call("/schedules/nightly/pause", "POST", {"paused": paused})[1], {"paused": paused})
        for name in ("nightly", "bytes"):
            self.assertEqual(self.call(f"/schedules/{name}", "DELETE")[1], {"deleted": True})
        self.assertEqual(self.call("/schedules/nightly")[0], 404)
        self.assertEqual(self.call("/schedules/x", "PUT", {"body": "x", "cron": "@daily", "zone": "Mars/Phobos"})[0], 400)
        times = self.call("/schedule-times?cron=0+9+*+*+mon&zone=America/New_York&count=3")[1]["times"]
        self.assertEqual([time["local"][10:19] for time in times], ["T09:00:00"] * 3)

    def test_every_answer_is_as_described(self):
        put = self.call("/jobs", "POST", {"tube": "mail", "body": "hello", "priority": 5, "ttr_seconds": 10})
        self.assertEqual(put, (201, {"id": "1", "duplicate": False}))
        self.assertEqual(self.call("/jobs", "POST", {"tube": "mail", "body": "b", "delay_seconds": 100})[0], 201)
        for status, duplicate in (201, False), (200, True):
            several = self.call("/jobs", "POST", [{"tube": "many", "body": "a"}, {"tube": "many", "body": "b"}], **{"Idempotency-Key": "x"})
            self.assertEqual(several[0], status)
            self.assertEqual([job["duplicate"] for job in several[1]["jobs"]], [duplicate, duplicate])
        for job in several[1]["jobs"]:
            self.assertEqual(self.call(f"/jobs/{job['id']}", "DELETE")[0], 200)
        self.assertEqual(self.call("/server")[1]["jobs"]["ready"], 1)
        self.assertEqual(self.call("/tubes?sort=ready&order=desc")[1]["tubes"][0]["name"], "mail")
        self.assertEqual(self.call("/tubes/mail")[1]["delayed"], 1)
        self.assertEqual([job["id"] for job in self.call("/tubes/mail/jobs?state=ready,delayed")[1]["jobs"]], ["1", "2"])
        self.assertEqual(len(self.call("/jobs")[1]["jobs"]), 2)
        self.assertEqual([job["id"] for job in self.call("/jobs?priority_max=5&age_seconds_max=60")[1]["jobs"]], ["1"])
        self.assertEqual(self.call("/jobs?reserves_min=x")[0], 400)
        self.assertEqual(self.call("/jobs/1")[1]["body_bytes"], 5)
        self.assertEqual(self.call("/jobs/3")[0], 404)
        self.assertEqual([job["id"] for job in self.call("/search?q=ell")[1]["jobs"]], ["1"])
        self.assertEqual([job["id"] for job in self.call("/search?path=$&equals=7")[1]["jobs"]], [])
        self.assertEqual(self.call("/search?path=x&equals=7")[0], 400)
        self.assertEqual(self.call("/jobs/1/bury", "POST", {})[0], 200)
        self.assertEqual(self.call("/jobs/1/kick", "POST", {})[0], 200)
        self.assertEqual(self.call("/jobs/1/change", "POST", {"priority": 9})[0], 200)
        self.assertEqual(self.call("/jobs/1/notes")[1], {"notes": []})
        self.assertEqual(self.call("/jobs/1/notes", "POST", {"text": "asked \u00fcber them"})[1], {"noted": True})
        note = self.call("/jobs/1/notes")[1]["notes"][0]
        self.assertEqual((note["number"], note["attempt"], note["text"]), (1, 1, "asked \u00fcber them"))
        self.assertEqual(self.call("/jobs/1")[1]["notes"], 1)
        self.assertEqual(self.call("/jobs/3/notes")[0], 404)
        # The longest text and one past it, however it is escaped.
        for byte in ("x", "\n", "\0", "\N{LATIN SMALL LETTER E WITH ACUTE}"):
            most = 4096 // len(byte.encode())
            self.assertEqual(self.call("/jobs/1/notes", "POST", {"text": byte * most})[1], {"noted": True})
            self.assertEqual(self.call("/jobs/1/notes")[1]["notes"][-1]["text"], byte * most)
            self.assertEqual(self.call("/jobs/1/notes", "POST", {"text": byte * most + "x"})[0], 400)
        self.assertEqual(self.call("/jobs/1/notes", "POST", {"text": "x" * 32768})[0], 413)
        self.assertEqual(self.call("/jobs/1/notes", "POST", {"text": ""})[0], 400)
        self.assertEqual(self.call("/tubes/mail/settings")[1]["set"], {})
        settings = {"tries": 9, "backoff": "5:600", "keep_max": 3}
        for mine in (settings, {}):
            self.assertEqual(self.call("/tubes/mail/settings", "PUT", mine)[1]["set"], mine)
        self.assertEqual(self.call("/tubes/mail/pause", "POST", {"seconds": 0.5})[0], 200)
        self.assertEqual(self.call("/tubes/mail/kick", "POST", {"count": 1})[1], {"kicked": 1})
        with socket.create_connection(("127.0.0.1", self.queue), 10) as worker:
            worker.sendall(b"watch mail\r\nreserve\r\n")
            worker.recv(100)
            time.sleep(0.7)  # The pause ends.
            one = self.call("/connections")[1]["connections"][0]
            self.assertEqual((one["watched"], one["held"]), (["default", "mail"], 1))
            self.assertRegex(one["address"], r"^127\.0\.0\.1:\d+$")
            held = {"id": one["id"], "address": one["address"], "user": None}
            self.assertEqual([job.get("held_by") for job in self.call("/tubes/mail/jobs")[1]["jobs"] if job["state"] == "reserved"], [held])
            self.assertEqual(self.call(f"/connections/{one['id']}", "DELETE")[0], 200)
            while worker.recv(100):
                pass
        times = self.call("/work-times")[1]
        self.assertEqual((sum(times["run"]["buried"]["counts"]), sum(times["run"]["closed"]["counts"])), (1, 1))
        started = self.call("/operations", "POST", {"action": "move", "tube": "mail", "states": ["ready"], "to": "b", "confirmed": 2})
        self.assertEqual(started[0], 202)
        end = time.monotonic() + 10
        while self.call("/operations/1")[1]["state"] == "running":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertEqual(self.call("/operations")[1]["operations"][0]["done"], 2)
        self.assertEqual(self.call("/tubes/b/jobs/count?priority_max=9")[1], {"count": 1})
        fitting = {"action": "move", "tube": "b", "states": ["ready"], "match": {"priority_max": 9, "timeouts_max": 0},
                   "to": "mail", "confirmed": 1}
        self.assertEqual(self.call("/operations", "POST", fitting)[1]["match"], fitting["match"])
        while self.call("/operations/2")[1]["state"] == "running":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertEqual(self.call("/operations/2")[1]["done"], 1)
        self.assertEqual(self.call("/operations/1", "DELETE")[1]["state"], "done")
        self.assertEqual(self.call("/jobs/1", "DELETE")[1], {"deleted": True})
        self.assertIn("data_dir: ", self.call("/configuration")[1]["yaml"])
        details = self.call("/server/details")[1]
        self.assertGreater(details["disk_free_bytes"], 0)
        self.assertGreater(details["store"]["batches"], 0)
        self.assertEqual(self.call("/reload", "POST", {})[1], {"read": []})
        self.assertEqual(self.call("/cluster/handover", "POST", {})[0], 409)
        lines = self.call("/audit")[1]["lines"]
        self.assertTrue(lines)
        for line in lines:
            self.assertEqual((line["user"], line["via"], line["from"], line["refused"]), (None, "http", "127.0.0.1", False), line)
        self.put_back(3)
        self.assertEqual(self.call("/drain", "POST", {})[1], {"draining": True})
        self.assertEqual(self.call("/jobs", "POST", {"body": "x"})[0], 503)
        self.assertEqual(self.call("/undrain", "POST", {})[1], {"draining": False})
        made = self.call("/checkpoint", "POST", {})[1]
        self.assertTrue(os.path.isdir(made["path"]))
        self.assertEqual(made["jobs"], 1)
        self.work()
        self.selection()
        self.schedules()
        self.assertEqual(self.call("/session")[1]["users"], False)
        self.assertEqual(self.call("/session?with=server")[1]["server"]["jobs"]["ready"], 1)
        self.assertEqual(self.call("/session?with=all")[0], 400)
        self.assertEqual(self.call("/node")[1], {"state": "serving", "cluster": None})
        end = time.monotonic() + 10
        while not self.call("/history?span=600")[1]["series"]["puts"]:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertEqual(self.call("/history?series=tube:none&span=3600")[0], 404)
        told_apart = {("/api/v1/session", "POST"), ("/api/v1/session", "DELETE"), ("/api/v1/events", "GET"),
                      ("/api/v1/jobs/{id}/body", "GET"), ("/api/v1/openapi.json", "GET")}
        described = {(path, method.upper()) for path, operations in self.document["paths"].items() for method in operations}
        for path, method in sorted(described - self.used - told_apart):  # Those that need nothing else are asked, too.
            parameters = self.document["paths"][path][method.lower()].get("parameters", [])
            if method == "GET" and not any(each.get("required") for each in parameters):
                self.assertEqual(self.call(path.removeprefix("/api/v1"))[0], 200)
        self.assertEqual(described - self.used, told_apart)

    def put_back(self, operation):
        """Jobs that have ended are shown and put back; afterwards they are gone. `operation`: the id of the next one."""
        self.speak(b"set-tube kept keep:600\r\nuse kept\r\nput 9 0 60 4 idp:k\r\nkept\r\nput 0 0 60 1\r\nb\r\nput 0 0 60 1\r\nc\r\n")
        first, second, third = (job["id"] for job in self.call("/tubes/kept/jobs")[1]["jobs"])
        self.assertEqual(self.call("/tubes/kept")[1]["settings"]["keep_seconds"], 600)
        self.assertEqual(self.call(f"/jobs/{first}/notes", "POST", {"text": "seen"})[0], 200)
        self.speak(b"delete %d\r\n" % int(third))
        self.speak(b"flush-tube kept\r\n")
        page = self.call("/tubes/kept/ended?limit=2")[1]
        self.assertEqual([(job["id"], job["ended"]) for job in page["jobs"]], [(second, "flushed"), (first, "flushed")])
        rest = self.call(f"/tubes/kept/ended?limit=2&after={page['next']}")[1]
        self.assertEqual([(job["id"], job["ended"]) for job in rest["jobs"]], [(third, "deleted")])
        self.assertIsNone(rest["next"])
        groups = self.call("/ended?tube=kept")[1]["groups"]
        self.assertEqual([(group["ended"], group["jobs"], group["newest"]["id"]) for group in groups], [("flushed", 2, second), ("deleted", 1, third)])
        self.assertEqual(self.call("/ended")[1]["groups"][:2], groups)
        one = self.call(f"/ended/{first}")[1]
        self.assertEqual((one["tube"], one["key"], one["priority"], one["body_bytes"], one["notes"]), ("kept", "k", 9, 4, 1))
        self.assertEqual(self.exchange(f"/api/v1/ended/{first}/body?offset=1")[2], b"ept")
        self.used.add(("/api/v1/ended/{id}/body", "GET"))
        self.assertEqual(self.call(f"/jobs/{first}/notes")[1]["notes"][0]["text"], "seen")
        life = self.call(f"/jobs/{first}/life")[1]["life"]
        self.assertEqual([(row["what"], row["detail"]) for row in life], [("put", None), ("note", "seen"), ("ended", "flushed")])
        self.assertEqual(self.call(f"/jobs/{first}")[0], 404)
        back = self.call(f"/ended/{first}/restore", "POST", {})[1]["id"]
        self.assertEqual(self.call(f"/jobs/{back}")[1]["restored"], first)
        self.assertEqual(self.call(f"/ended/{first}")[0], 404)
        begun = self.call("/operations", "POST", {"action": "restore", "tube": "kept", "since_seconds": 60})
        self.assertEqual((begun[0], begun[1]["id"], begun[1]["how"]), (202, str(operation), ["flushed"]))
        end = time.monotonic() + 10
        while self.call(f"/operations/{operation}")[1]["state"] == "running":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertEqual(self.call(f"/operations/{operation}")[1]["done"], 1)
        self.assertEqual(self.call("/tubes/kept")[1]["ready"], 2)
        self.speak(b"set-tube kept keep:-\r\nflush-tube kept\r\n")
        self.assertEqual(self.call("/tubes/kept/ended")[1], {"jobs": [], "next": None})

    def test_it_says_what_the_queue_says(self):
        for number in range(300):
            self.speak(b"use t%d\r\nput %d %d 60 1\r\na\r\n" % (number % 7, number, 100 * (number % 3)))
        listed = self.speak(b"list-jobs t3 count:1000\r\n").decode()
        ids = re.findall(r"id: (\d+)", listed)
        self.assertGreater(len(ids), 40)
        self.assertEqual([job["id"] for job in self.api("/tubes/t3/jobs?limit=1000")[1]["jobs"]], ids)
        document = self.speak(b"stats-tube t3\r\n").decode()
        tube = self.api("/tubes/t3")[1]
        for state in ("ready", "delayed"):
            self.assertIn(f"current-jobs-{state}: {tube[state]}\n", document)
        found = self.api("/search?q=a&tube=t3&limit=1000")[1]
        self.assertEqual([job["id"] for job in found["jobs"]], ids)
        raw = bytes(range(256)) * 200
        self.speak(b"put 0 0 60 %d\r\n%s\r\n" % (len(raw), raw))
        path = "/api/v1/jobs/301/body"
        self.assertEqual(self.exchange(path)[2], raw)
        status, fields, part = self.exchange(path + "?offset=51000&length=1000")
        self.assertEqual((status, part, fields["perennial-body-bytes"]), (200, raw[51000:], "51200"))

    def test_what_was_answered_survives_kills(self):
        for _ in range(3):
            status, answer = self.call("/jobs", "POST", {"tube": "mail", "body": "kept"})
            self.assertEqual(status, 201)
            self.assertEqual(self.call(f"/jobs/{answer['id']}/bury", "POST", {})[0], 200)
            self.kill()
            self.start()
            self.assertEqual(self.call(f"/jobs/{answer['id']}")[1]["state"], "buried")
        self.assertEqual(self.call("/tubes/mail")[1]["buried"], 3)

    def load(self, tube, ended):
        """Puts, reserves, deletes, buries and releases, until the server or the test ends."""
        lines = [b"use %s\r\nwatch %s\r\nignore default\r\n" % (tube, tube)]
        lines += [b"put %d %d 60 1\r\na\r\n" % (n % 5, 50 * (n % 7 == 0)) for n in range(8)]
        lines += [b"reserve-with-timeout 0\r\n"] * 4
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.queue), 10) as raw:
            answers = raw.makefile("rb")
            while not ended.is_set():
                raw.sendall(b"".join(lines))
                reserved = []
                for _ in range(8 + 4 + (3 if lines[0].startswith(b"use") else 0)):
                    words = answers.readline().split()
                    if not words:
                        return
                    if words[0] == b"RESERVED":
                        reserved.append(int(words[1]))
                        answers.readline()
                actions = [b"delete %d\r\n", b"bury %d 3\r\n", b"release %d 2 0\r\n", b"delete %d\r\n"]
                for action, job in zip(actions, reserved):
                    raw.sendall(action % job)
                    if not answers.readline():
                        return
                lines[0] = b""

    def compare_with_the_queue(self, tubes):
        """Every number of jobs, and every job with its state."""
        for tube in tubes:
            document = self.speak(b"stats-tube %s\r\n" % tube).decode()
            shown = self.call(f"/tubes/{tube.decode()}")[1]
            for state in ("ready", "reserved", "delayed", "buried"):
                self.assertIn(f"current-jobs-{state}: {shown[state]}\n", document)
            listed = re.findall(r"\{id: (\d+), tube: [^,]*, state: (\w+),", self.speak(b"list-jobs %s count:1000\r\n" % tube).decode())
            paged, after = [], ""
            while True:
                page = self.call(f"/tubes/{tube.decode()}/jobs?limit=1000{after}")[1]
                paged += [(job["id"], job["state"]) for job in page["jobs"]]
                if not page["next"]:
                    break
                after = f"&after={page['next']}"
            self.assertGreater(len(listed), 10)
            self.assertEqual(paged[: len(listed)], listed)
            self.assertEqual(len(paged), sum(shown[state] for state in ("ready", "reserved", "delayed", "buried")))

    def test_it_says_what_the_queue_says_under_load_and_after_kills(self):
        tubes = [b"a", b"b"]
        for _ in range(3):
            ended = threading.Event()
            clients = [threading.Thread(target=self.load, args=(tube, ended)) for tube in tubes]
            for client in clients:
                client.start()
            accounts = set()
            for _ in range(10):  # The numbers of one answer are of one moment.
                time.sleep(0.05)
                server = self.call("/server")[1]
                present = sum(server["jobs"][state] for state in ("ready", "reserved", "delayed", "buried"))
                accounts.add(present - server["totals"]["puts"] + server["totals"]["deletes"])
            self.assertEqual(len(accounts), 1, accounts)
            self.assertGreater(server["totals"]["deletes"], 0)
            self.kill()
            for client in clients:
                client.join(20)
            self.start()
            self.compare_with_the_queue(tubes)

    def test_operations_show_progress_and_end_where_they_are_cancelled(self):
        count = 60_000
        batch = b"".join(b"put 0 0 60 1\r\na\r\n" for _ in range(count))
        self.assertEqual(self.speak(b"use bulk\r\n" + batch).count(b"INSERTED"), count)
        # Nothing that came later is deleted, and a worker is served meanwhile.
        operation = {"action": "delete", "tube": "bulk", "states": ["ready"], "confirmed": count}
        number = self.call("/operations", "POST", operation)[1]["id"]
        later = self.call("/jobs", "POST", {"tube": "bulk", "body": "later"})[1]["id"]
        ended = self.call(f"/operations/{number}", "DELETE")[1]
        while ended["state"] == "running":  # It was at its end, and waits for the disk.
            time.sleep(0.05)
            ended = self.call(f"/operations/{number}")[1]
        left = self.call("/tubes/bulk")[1]["ready"]
        self.assertEqual(left, count + 1 - ended["done"])
        self.assertEqual(self.call("/operations", "POST", {**operation, "confirmed": 0})[0], 409 if left > 10 else 202)
        self.call("/operations", "POST", operation)
        end = time.monotonic() + 60
        while self.call("/operations")[1]["operations"][0]["state"] == "running":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertEqual(self.call(f"/jobs/{later}")[0], 404)
        self.assertEqual(self.speak(b"stats-tube bulk\r\n"), b"NOT_FOUND\r\n")

    def test_events_come_each_second_and_wait_for_nobody(self):
        readers = [socket.create_connection(("127.0.0.1", self.port), 20) for _ in range(5)]
        for reader in readers:
            reader.sendall(b"GET /api/v1/events?topics=server,tube:mail HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with readers[0].makefile("rb") as stream:
            lines = iter(stream.readline, b"")
            self.assertEqual(next(lines), b"HTTP/1.1 200 OK\r\n")
            frames = []
            while len(frames) < 3:
                line = next(lines)
                if line == b"event: tube:mail\n":
                    frames.append(json.loads(next(lines).removeprefix(b"data: ")))
                    self.speak(b"use mail\r\nput 0 0 60 1\r\na\r\n")
        self.assertEqual([frame and frame["ready"] for frame in frames], [None, 1, 2])
        for reader in readers:
            reader.close()
        self.assertEqual(self.call("/server")[0], 200)


class Users(WithUsers, Described):
    grants = {"operator": '[{tubes: ["*"], verbs: [produce, consume, inspect, manage]}, {verbs: [monitor, admin]}]',
              "mailer": '[{tubes: ["mail"], verbs: [inspect]}]'}

    def test_each_sees_and_does_what_is_granted(self):
        self.assertEqual(self.call("/server")[0], 401)
        self.assertEqual(self.ask("/metrics")[0], 401)
        self.assertEqual(self.ask("/readyz")[0], 200)
        operator, mailer = self.shown("operator"), self.shown("mailer")
        self.assertEqual(self.call("/jobs", "POST", {"tube": "mail", "body": "a"}, **operator)[0], 201)
        self.assertEqual(self.call("/jobs", "POST", {"tube": "mail", "body": "a"}, **mailer)[0], 403)
        self.assertEqual(self.call("/tubes/mail", **mailer)[1]["ready"], 1)
        self.assertEqual(self.call("/tubes/mail/settings", **mailer)[0], 200)
        self.assertEqual(self.call("/tubes/mail/settings", "PUT", {"tries": 3}, **mailer)[0], 403)
        self.assertEqual(self.call("/tubes/other/settings", **mailer)[0], 403)
        self.assertEqual(self.call("/operations", "POST", {"action": "delete", "tube": "mail", "states": ["ready"], "confirmed": 1},
                                   **operator)[0], 202)
        self.assertEqual(self.ask("/metrics", **operator)[0], 200)
        # An operation is answered when it has begun.
        deadline = time.monotonic() + 20
        while "action=flush-tube" not in (log := self.text_of_log()) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertRegex(log, r"at=audit user=mailer action=put subject=mail result=refused via=http conn=\d+ from=127\.0\.0\.1")
        self.assertRegex(log, r"at=audit user=operator action=flush-tube subject=mail result=allowed via=http")
        line = r'at=audit user=operator action=sign-in subject="token \w+" result=allowed via=http conn=0 from=127\.0\.0\.1'
        self.assertEqual(len(re.findall(line, log)), 1)
        metrics = self.ask("/metrics", **operator)[1]
        self.assertRegex(metrics, r'perennial_auth_total\{method="bearer",result="ok"\} [6-9]\n')
        for path in ("/metrics", "/metrics/tubes"):
            self.assertEqual(self.ask(path, **mailer)[0], 403)
            lines = self.call("/audit", **operator)[1]["lines"]
            self.assertIn((f"GET {path}", "mailer"), [(line["action"], line["user"]) for line in lines])
        self.assertIn('perennial_forbidden_total{verb="produce"} 1\n', metrics)

    def test_a_reload_says_what_came_of_it(self):
        operator, mailer = self.shown("operator"), self.shown("mailer")
        path = os.path.join(self.folder, "users.yaml")
        https = [f"127.0.0.1:{self.https}"] if self.https else []
        read = lambda: {each["name"]: each["error"] for each in self.call("/reload", "POST", {}, **operator)[1]["read"]}
        self.assertEqual(read(), {path: None, **{name: None for name in https}})
        with open(path) as file:
            good = file.read()
        with open(path, "w") as file:
            file.write(good.replace("produce", "produse"))
        self.assertIn("produse", read()[path])
        self.assertFalse(self.call("/server/details", **operator)[1]["files_in_use"])
        self.assertEqual(self.call("/tubes", **mailer)[0], 200)
        # A user who is gone is out at once, and so are the connections.
        with socket.create_connection(("127.0.0.1", self.queue), 10) as worker:
            worker.sendall(f"auth {self.tokens['mailer']}\r\n".encode())
            self.assertEqual(worker.recv(100), b"AUTHENTICATED\r\n")
            with open(path, "w") as file:
                file.write(good.replace("- name: mailer", "- name: other").replace(self.tokens["mailer"].split("_")[1] + ":", "gone:"))
            self.assertEqual(read()[path], None)
            self.assertEqual(worker.recv(100), b"")
        self.assertEqual(self.call("/tubes", **mailer)[0], 401)
        lines = self.call("/audit", **operator)[1]["lines"]
        self.assertEqual([(line["action"], line["user"], line["via"]) for line in lines[:3]],
                         [("sign-in", None, "http"), ("reload", "operator", "http"), ("sign-in", "mailer", "queue")])
        if https:
            self.assertGreater(self.call("/server/details", **operator)[1]["certificates"][0]["left_seconds"], 86400)

    def test_a_browser_signs_in_with_a_cookie(self):
        value = json.dumps({"token": self.tokens["operator"]})
        page = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
        status, fields, body = self.exchange("/api/v1/session", "POST", value, **page)
        self.assertEqual((status, json.loads(body)), (200, {"user": "operator"}))
        cookie = {"Cookie": fields["set-cookie"].partition(";")[0]}
        self.assertEqual(self.call("/session", **cookie)[1]["user"], "operator")
        self.assertEqual(self.call("/drain", "POST", {}, **cookie)[0], 403)  # It may be another site's.
        self.assertEqual(self.call("/drain", "POST", {}, **cookie, **page)[0], 200)
        self.assertEqual(self.exchange("/api/v1/session", "DELETE", **cookie, **page)[0], 204)
        self.assertEqual(self.call("/session", **cookie)[1]["user"], None)
        # T25: the log names the user and never the secret.
        self.assertNotIn(self.tokens["operator"], self.text_of_log())
        self.assertNotIn(cookie["Cookie"].partition("=")[2], self.text_of_log())

    def test_a_cookie_does_not_come_back_with_its_user(self):
        value = json.dumps({"token": self.tokens["mailer"]})
        page = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
        cookie = {"Cookie": self.exchange("/api/v1/session", "POST", value, **page)[1]["set-cookie"].partition(";")[0]}
        self.assertEqual(self.call("/session", **cookie)[1]["user"], "mailer")
        path = os.path.join(self.folder, "users.yaml")
        with open(path) as file:
            good = file.read()
        without = good[:good.index("- name: mailer")]
        for text in (without, good):
            with open(path, "w") as file:
                file.write(text)
            self.assertEqual(self.call("/reload", "POST", {}, **self.shown("operator"))[0], 200)
        self.assertEqual(self.call("/tubes", **self.shown("mailer"))[0], 200)
        self.assertEqual(self.call("/session", **cookie)[1]["user"], None)

    def test_T25_no_token_stays_in_memory(self):
        secret = self.tokens["operator"]
        for _ in range(3):
            self.assertEqual(self.call("/server", **self.shown("operator"))[0], 200)
            self.assertEqual(self.call("/jobs", "POST", {"body": "a"}, **self.shown("operator"))[0], 201)
            for text in (f'{{"token": "{secret}"}}', f'{{"token": "{secret}", "more": 1}}'):
                self.exchange("/api/v1/session", "POST", text, **{"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"})
        # A connection that stays open, and one whose request comes in pieces.
        with socket.create_connection(("127.0.0.1", self.port), 10) as raw:
            head = f"GET /api/v1/server HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n\r\n".encode()
            for piece in (head[:70], head[70:] + head[:60], head[60:]):
                raw.sendall(piece)
                time.sleep(0.1)
            got = b""
            while got.count(b"HTTP/1.1 200") < 2:
                more = raw.recv(1 << 16)
                self.assertTrue(more, got)
                got += more
            try:
                self.assertEqual(self.found_in_memory(secret.split("_", 2)[2]), [])
            except PermissionError as error:
                self.skipTest(f"another process's memory may not be read here: {error}")

    def test_T25_no_token_of_the_queue_stays_in_memory(self):
        secret = self.tokens["operator"]
        line = f"auth {secret}\r\n".encode()
        use = b"use mail\r\n"
        cases = {"whole": [line], "in pieces": [line[:25], line[25:40], line[40:]], "not the last": [line + 200 * use],
                 "not the first": [line, use + line], "behind much": [line + 2000 * use + line], "not whole": [line[:-2]],
                 "badly written": [line.replace(b" ", b"  ")]}
        for name, pieces in cases.items():
            with self.subTest(name), socket.create_connection(("127.0.0.1", self.queue), 10) as raw:
                for piece in pieces:
                    raw.sendall(piece)
                    time.sleep(0.1)
                raw.settimeout(0.5)
                with contextlib.suppress(TimeoutError):  # All that it answers.
                    while raw.recv(1 << 16):
                        pass
                if name == "not whole":
                    raw.close()
                    time.sleep(0.2)
                try:
                    self.assertEqual(self.found_in_memory(secret.split("_", 2)[2]), [])
                except PermissionError as error:
                    self.skipTest(f"another process's memory may not be read here: {error}")

    def found_in_memory(self, text):
        """Where the server has this text in memory that it may write to."""
        found = []
        with open(f"/proc/{self.process.pid}/maps") as maps, open(f"/proc/{self.process.pid}/mem", "rb", 0) as memory:
            for line in maps:
                area, rights = line.split()[:2]
                if not rights.startswith("rw") or "[v" in line:
                    continue
                begin, end = (int(each, 16) for each in area.split("-"))
                memory.seek(begin)
                try:
                    content = memory.read(end - begin)
                except OSError:
                    continue
                if text.encode() in content:
                    found.append(line.strip())
        return found

    def test_T27_other_machines_need_users_and_tls(self):
        cases = (("{address: '0.0.0.0:0', protocol: http}", "", "there are no users"),
                 ("{address: '0.0.0.0:0', protocol: http}", "users_file: {folder}/users.yaml", "set tls"),
                 ("{address: '127.0.0.1:0', protocol: ftp}", "", "is not one of beanstalk, http"))
        for listener, users, problem in cases:
            with open(os.path.join(self.folder, "bad.yaml"), "w") as file:
                file.write(f"listeners: [{listener}]\n" + users.format(folder=self.folder))
            got = subprocess.run([PERENNIALD, "--config", file.name, "--check-config"], capture_output=True, text=True)
            self.assertNotEqual(got.returncode, 0)
            self.assertIn(problem, got.stderr)


class Tls(Users):
    """HTTPS, for other machines: a listener with protocol http."""
    settings = Users.settings + """http_hosts: queue.test, other.test
listeners:
  - {{address: "127.0.0.1:{https}", protocol: http, tls: {{certificate: {folder}/cert.pem, key: {folder}/key.pem}}}}
"""

    def setUp(self):
        self.https = free_port()
        super().setUp()

    def start(self):
        self.make_certificate()
        super().start()

    def exchange(self, path, method="GET", body=None, **fields):
        context = ssl.create_default_context(cafile=os.path.join(self.folder, "cert.pem"))
        context.set_alpn_protocols(["h2", "http/1.1"])
        with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", self.https, timeout=30, context=context)) as client:
            client.request(method, path, body=body, headers=fields)
            self.assertEqual(client.sock.selected_alpn_protocol(), "http/1.1")
            got = client.getresponse()
            return got.status, {name.lower(): value for name, value in got.getheaders()}, got.read()

    def metric(self, name):
        text = self.ask("/metrics", **self.shown("operator"))[1]
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])

    def reload_until(self, success):
        self.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 20
        while self.metric("perennial_config_reload_success") != success:
            self.assertLess(time.monotonic(), end, self.text_of_log())
            time.sleep(0.05)
        return self.metric("perennial_config_reload_time_seconds")

    def test_metrics_tell_what_became_of_a_reload(self):
        started = self.metric("perennial_process_start_time_seconds")
        self.assertEqual(self.metric("perennial_config_reload_time_seconds"), started)
        users = os.path.join(self.folder, "users.yaml")
        with open(users, "a") as file:
            file.write("nonsense\n")
        self.assertLess(self.reload_until(0), started + 20)
        with open(users, "w") as file:
            file.write(self.lines)
        self.assertGreater(self.reload_until(1), started)
        expires = self.metric(f'perennial_tls_certificate_expiry_seconds{{listener="127.0.0.1:{self.https}"}}')
        self.assertAlmostEqual(expires - started, 2 * 86400, delta=3600)
        # Each request of this class is a handshake.
        self.assertGreater(self.metric('perennial_tls_handshakes_total{result="full"}'), 3)
        self.assertEqual(self.metric('perennial_bytes_total{direction="in"}'), 0)  # Of the queue only.

    def test_the_cookie_is_for_this_host_and_tls(self):
        page = {"Content-Type": "application/json", "Host": "queue.test:1", "Origin": "https://queue.test:1"}
        value = json.dumps({"token": self.tokens["operator"]})
        status, fields, _ = self.exchange("/api/v1/session", "POST", value, **page)
        self.assertEqual(status, 200)
        self.assertRegex(fields["set-cookie"], r"^__Host-perennial-1=[^;]+; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$")
        self.assertEqual(fields["strict-transport-security"], "max-age=2592000")
        cookie = {"Cookie": fields["set-cookie"].partition(";")[0]}
        self.assertEqual(self.call("/drain", "POST", {}, **{**page, **cookie})[0], 200)
        self.assertEqual(self.call("/drain", "POST", {}, **{**page, **cookie, "Origin": "http://queue.test:1"})[0], 403)
        self.assertEqual(self.exchange("/api/v1/session", Host="evil.test")[0], 421)

    def test_the_queue_is_not_spoken_there(self):
        context = ssl.create_default_context(cafile=os.path.join(self.folder, "cert.pem"))
        context.set_alpn_protocols(["beanstalk"])
        with socket.create_connection(("127.0.0.1", self.https), 10) as raw:
            with self.assertRaises(ssl.SSLError):
                context.wrap_socket(raw, server_hostname="localhost")
        self.assertIn("HTTPS", subprocess.run([PERENNIALD, "--config", os.path.join(self.folder, "perennial.yaml"), "--print-access"],
                                              capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    unittest.main()
