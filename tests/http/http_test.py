#!/usr/bin/env python3
"""The HTTP port of the real server, by Python's http.client and by raw sockets.

Each name with a number is about that threat: etc/docs/http.md.
"""

import gzip
import json
import os
import re
import signal
import socket
import time
import unittest

from port import Port


class Samples(Port):
    def samples(self, path="/metrics"):
        """The samples by name and labels. Every line must have the form, and a family must be in one piece."""
        found, families = {}, []
        for line in self.ask(path)[1].splitlines():
            if line.startswith("#"):
                if line.startswith("# TYPE "):
                    self.assertNotIn(line.split()[2], families)
                    families.append(line.split()[2])
                continue
            name, labels, value = re.fullmatch(r'([a-z_0-9]+)(\{(?:[a-z_]+="[^"]*",?)*\})? (\S+)', line).groups()
            # The samples of a histogram have its name and a suffix.
            self.assertIn(name, [families[-1] + suffix for suffix in ("", "_bucket", "_sum", "_count")])
            self.assertNotIn((name, labels), found)
            found[name, labels] = float(value)
        return found


class Http(Samples):
    def test_it_lives_and_is_ready(self):
        self.assertEqual(self.ask("/livez"), (200, "ok\n"))
        self.assertEqual(self.ask("/readyz"), (200, "ok\n"))
        self.assertEqual(self.ask("/readyz", "HEAD"), (200, ""))
        self.process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + 10
        while self.ask("/readyz")[0] == 200 and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(self.ask("/readyz")[0], 503)
        self.assertIn("[-]drain puts are refused: drain\n", self.ask("/readyz")[1])
        self.assertEqual(self.ask("/livez"), (200, "ok\n"))

    def test_metrics_say_what_stats_says(self):
        self.speak(b"use mail\r\nput 0 0 60 1\r\na\r\nput 9999 100 60 1\r\nb\r\nuse a.b\r\nput 0 0 60 1\r\nc\r\n"
                   b"watch a.b\r\nreserve\r\nbury 3 0\r\n")
        stats = self.stats()
        got = self.samples()
        for key, sample in (("current-jobs-ready", ("perennial_jobs", '{state="ready"}')),
                            ("current-jobs-delayed", ("perennial_jobs", '{state="delayed"}')),
                            ("current-jobs-buried", ("perennial_jobs", '{state="buried"}')),
                            ("total-jobs", ("perennial_jobs_put_total", None)),
                            ("cmd-bury", ("perennial_commands_total", '{command="bury"}')),
                            ("current-tubes", ("perennial_tubes", None))):
            self.assertEqual(got[sample], float(stats[key]), key)
        self.assertEqual(got["perennial_tube_jobs", '{tube="mail",state="delayed"}'], 1)
        self.assertEqual(got["perennial_tube_puts_total", '{tube="a.b"}'], 1)
        old = self.samples("/metrics?names=beanstalkd")
        self.assertEqual(old["current_jobs_buried", None], 1)
        self.assertEqual(old["tube_current_jobs_ready", '{tube="mail"}'], 1)
        # To be looked at is no command.
        self.assertEqual(self.samples()["perennial_commands_total", '{command="stats"}'],
                         got["perennial_commands_total", '{command="stats"}'])

    def test_histograms_are_cumulative(self):
        self.speak(b"put 0 0 60 1\r\na\r\nput 0 0 60 1\r\nb\r\nreserve\r\nreserve\r\ndelete 1\r\n"
                   b"release 2 0 0\r\nlist-tubes\r\n")
        self.ask("/livez")
        got = self.samples()
        buckets = {}
        for (name, labels), count in got.items():
            if not name.endswith("_bucket"):
                continue
            rest, bound = re.fullmatch(r'\{(.*?),?le="([^"]+)"\}', labels).groups()
            buckets.setdefault((name.removesuffix("_bucket"), rest), []).append((bound, count))
        for (name, rest), bounds in buckets.items():
            self.assertEqual([float(bound) for bound, _ in bounds], sorted(float(bound) for bound, _ in bounds), name)
            self.assertEqual([count for _, count in bounds], sorted(count for _, count in bounds), name)
            self.assertEqual(bounds[-1][0], "+Inf")
            labels = "{" + rest + "}" if rest else None
            self.assertEqual(bounds[-1][1], got[name + "_count", labels], name)
            self.assertGreaterEqual(got[name + "_sum", labels], 0)
        counts = {key: bounds[-1][1] for key, bounds in buckets.items()}
        for command, count in (("put", 2), ("reserve", 2), ("delete", 1), ("release", 1), ("bury", 0), ("other", 1)):
            self.assertEqual(counts["perennial_command_seconds", f'command="{command}"'], count, command)
        self.assertEqual(counts["perennial_job_wait_seconds", ""], 2)
        for outcome, count in (("deleted", 1), ("released", 1), ("buried", 0), ("timeout", 0), ("closed", 0)):
            self.assertEqual(counts["perennial_job_run_seconds", f'outcome="{outcome}"'], count, outcome)
        for name in ("sync_seconds", "batch_jobs", "batch_bytes", "loop_turn_seconds", "http_request_seconds"):
            self.assertGreaterEqual(counts["perennial_" + name, ""], 1, name)
        # The files of the process, the disk.
        self.assertGreater(got["perennial_process_open_fds", None], 5)
        self.assertGreater(got["perennial_process_resident_memory_bytes", None], 1 << 20)
        self.assertGreater(got["perennial_disk_free_bytes", None], 1 << 20)
        self.assertLess(abs(got["perennial_process_start_time_seconds", None] - time.time()), 60)
        in_open_metrics = self.ask("/metrics", Accept="application/openmetrics-text")[1]
        for line in self.ask("/metrics")[1].splitlines():
            if "_bucket{" in line:
                self.assertIn(line.rsplit(" ", 1)[0] + " ", in_open_metrics)

    def test_the_rest_of_the_tubes_is_given(self):
        self.speak(b"".join(b"use %s\r\nput 0 0 60 1\r\na\r\n" % name for name in (b"a-1", b"a-2", b"b-1")))
        got = self.samples("/metrics/tubes?match=a-*&limit=1")
        self.assertEqual(got["perennial_tubes_unlisted", None], 1)
        self.assertEqual(got["perennial_tube_puts_total", '{tube="a-1"}'], 1)
        self.assertEqual(got["perennial_tube_puts_total", '{tube="{other}"}'], 1)
        self.assertNotIn(("perennial_tube_puts_total", '{tube="b-1"}'), got)
        self.assertEqual(self.ask("/metrics/tubes?limit=none")[0], 400)

    def test_many_tubes_do_not_stop_the_queue(self):
        self.speak(b"".join(b"use t%d\r\nput 0 0 60 1\r\na\r\n" % number for number in range(5000)))
        got = self.samples()
        self.assertEqual(got["perennial_tubes_unlisted", None], 4001)
        self.assertEqual(got["perennial_tube_jobs", '{tube="{other}",state="ready"}'], 4001)

    def test_T4_other_protocols_are_refused(self):
        self.assertTrue(self.send(b"put 0 0 10 1\r\na\r\n").startswith(b"HTTP/1.1 400 "))
        self.assertTrue(self.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").startswith(b"HTTP/1.1 400 "))
        self.assertEqual(self.speak(b"peek-ready\r\n"), b"NOT_FOUND\r\n")

    def test_T5_nothing_can_be_changed(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            self.assertEqual(self.ask("/metrics", method)[0], 405)
        self.assertEqual(self.ask("/", "POST")[0], 405)

    def test_T6_other_names_are_refused(self):
        for host in ("evil.test", "evil.test:80", "[::1].evil", "127.0.0.1.evil.test"):
            self.assertEqual(self.ask("/metrics", Host=host)[0], 421)
        self.assertEqual(self.ask("/metrics", Host=f"localhost:{self.port}")[0], 200)

    def test_T10_slow_and_idle_clients_take_no_place_for_long(self):
        idle = [socket.create_connection(("127.0.0.1", self.port), 20) for _ in range(64)]
        for each in idle:
            each.sendall(b"GET / HTTP/1.1\r\n")
        self.assertEqual(self.speak(b"use a\r\n"), b"USING a\r\n")
        # The next one waits to be accepted until the others are given up.
        self.assertEqual(self.ask("/livez")[0], 200)
        for each in idle:
            self.assertTrue(each.recv(100).startswith(b"HTTP/1.1 408 "))
            each.close()

    def test_T29_a_path_is_not_repeated(self):
        status, text = self.ask("/a%0d%0aSet-Cookie:%20b")
        self.assertEqual((status, json.loads(text)["detail"]), (404, "There is nothing here."))


class Measured(Samples):
    """Tubes whose waits and runs are measured one by one."""
    settings = """metrics_tube_histograms: [orders, "mail-*"]
metrics_tube_groups: {{"mail-*": mail}}
"""

    def test_long_texts_come_in_gzip_to_those_who_take_it(self):
        for path in ("/metrics", "/api/v1/openapi.json"):
            plain = self.exchange(path)
            self.assertNotIn("content-encoding", plain[1])
            packed = self.exchange(path, **{"Accept-Encoding": "br, gzip;q=0.8"})
            self.assertEqual(packed[1]["content-encoding"], "gzip")
            self.assertLess(len(packed[2]) * 4, len(plain[2]))
            text = gzip.decompress(packed[2])
            self.assertEqual(text.splitlines()[0], plain[2].splitlines()[0])
            if path != "/metrics":
                self.assertEqual(text, plain[2])
            # A HEAD is about the plain text, whose length it says.
            self.assertEqual(self.exchange(path, "HEAD", **{"Accept-Encoding": "gzip"})[2], b"")
        self.assertNotIn("content-encoding", self.exchange("/livez", **{"Accept-Encoding": "gzip"})[1])

    def test_the_history_survives_a_stop_and_is_no_matter_when_it_is_damaged(self):
        file = os.path.join(self.folder, "data", "db", "history.json")

        def ready():
            history = json.loads(self.ask("/api/v1/history?span=7200")[1])
            return history["series"]["ready"]
        self.speak(b"put 0 0 60 1\r\na\r\n")
        end = time.monotonic() + 40
        while not ready() and time.monotonic() < end:
            time.sleep(0.2)
        before = ready()
        self.assertEqual(set(before), {1})
        self.stop()
        self.start()
        end = time.monotonic() + 10
        while not ready() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(ready()[:len(before)], before)
        # A kill leaves what the last stop wrote.
        self.kill()
        with open(file, "r+b") as damaged:
            damaged.truncate(os.path.getsize(file) // 2)
        self.start()
        end = time.monotonic() + 10
        while "at=history.unreadable" not in self.text_of_log() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertIn("at=history.unreadable", self.text_of_log())
        self.assertEqual(self.speak(b"peek-ready\r\n"), b"FOUND 1 1\r\na\r\n")
        # It cannot be written: there is a folder in its place.
        os.remove(file)
        os.makedirs(os.path.join(file, "in the way"))
        self.stop()
        self.assertIn("at=history.save ", self.text_of_log())
        self.start()

    def test_a_tube_and_a_group_have_histograms(self):
        self.speak(b"".join(b"use %s\r\nput 0 0 60 1\r\na\r\n" % name
                            for name in (b"orders", b"mail-1", b"mail-2", b"other")))
        time.sleep(0.01)
        with socket.create_connection(("127.0.0.1", self.queue), 10) as worker:
            worker.sendall(b"".join(b"watch %s\r\nreserve\r\n" % name
                                    for name in (b"orders", b"mail-1", b"mail-2", b"other")) + b"delete 1\r\ndelete 2\r\n")
            received = b""
            while received.count(b"DELETED") < 2:
                received += worker.recv(1000)
            got = self.samples()
            self.assertEqual({labels: got[name, labels] for name, labels in got if name == "perennial_tube_wait_seconds_count"},
                             {'{tube="orders"}': 1, '{tube="mail"}': 2})
            self.assertEqual({labels: got[name, labels] for name, labels in got if name == "perennial_tube_run_seconds_count"},
                             {'{tube="orders"}': 1, '{tube="mail"}': 1})
            self.assertGreater(got["perennial_tube_wait_seconds_sum", '{tube="orders"}'], 0.01)
            self.assertEqual(got["perennial_tube_wait_seconds_bucket", '{tube="orders",le="+Inf"}'], 1)
            self.assertEqual(got["perennial_jobs_bytes", None], 2)
        # Tubes end with their last client, and what a group has counted stays.
        self.speak(b"delete 3\r\ndelete 4\r\n")
        end = time.monotonic() + 10
        while ("perennial_tube_wait_seconds_count", '{tube="orders"}') in (got := self.samples()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        self.assertEqual(got["perennial_tube_wait_seconds_count", '{tube="mail"}'], 2)


if __name__ == "__main__":
    unittest.main()
