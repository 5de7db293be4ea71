"""One failure after the other, and what clients and a person who reads the log get to know.

PERENNIALD names the server, and ETCD names etcd, as for cluster_test.py. ETCDCTL names its tool. CLUSTER_AWAY_SECONDS is how long the majority of
etcd is away.
"""

import base64
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster_case import ETCD, PERENNIALD, ClusterCase  # noqa: E402
from ledger import Client, Closed, Load, all_jobs  # noqa: E402

ETCDCTL = os.environ.get("ETCDCTL", os.path.join(os.path.dirname(PERENNIALD), "etcd-client/usr/bin/etcdctl"))
DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../etc/docs/cluster.md")
AWAY_SECONDS = float(os.environ.get("CLUSTER_AWAY_SECONDS", "15"))  # Three leases.
LOOP_STOP = os.environ["LOOP_STOP"]
FAILING_CALLS = os.environ.get(
    "FAILING_CALLS", os.path.join(os.path.dirname(PERENNIALD), "tests/support/libperennial_failing_calls.so")
)
EXIT_IO = 74
EXIT_NOT_LEADER = 76
EXIT_USAGE = 5
EXIT_DAMAGED = 65
SHIFTED_CLOCK = os.environ["SHIFTED_CLOCK"]
SMALL_LOG = "  log_keep_bytes: 1MiB\n  log_bytes_max: 8MiB\n"


class Failures(ClusterCase):
    def etcd(self, jobs, path, request, timeout=10):
        url = f"{jobs.endpoints[0]}/v3/{path}"
        with urllib.request.urlopen(url, json.dumps(request).encode(), timeout=timeout) as answer:
            return json.load(answer)

    def test_a_leader_that_was_stopped_for_three_leases_says_nothing(self):
        jobs = self.begin(members=1, nodes=2)
        jobs.start()
        leader = jobs.wait_for_leader()
        worker = Client([jobs.ports[leader]], timeout=60)
        self.assertEqual(worker.ask(b"put 0 0 300 1\r\nx\r\n"), [b"INSERTED", b"1"])
        node = jobs.nodes[leader]
        node.signal(signal.SIGSTOP)
        # It lies in the queue of the stopped leader, who would answer it when it wakes.
        worker.socket.sendall(b"reserve\r\n")
        time.sleep(15)
        self.assertEqual(jobs.wait_for_leader(), 1 - leader)
        other = Client([jobs.ports[1 - leader]])
        self.assertEqual(other.ask(b"reserve\r\n"), [b"RESERVED", b"1", b"1"])
        node.signal(signal.SIGCONT)
        try:
            self.assertEqual(worker.file.read(), b"")
        except ConnectionResetError:
            pass
        self.assertEqual(node.wait(10), EXIT_NOT_LEADER)
        self.assertIn("at=cluster.lost exit=76", node.output())
        self.assertEqual(other.body(1), b"x")
        self.assertEqual(other.ask(b"delete 1\r\n"), [b"DELETED"])

    def test_a_leader_whose_loop_stands_still_loses_the_lead(self):
        """Its other threads go on, and would keep its lease alive."""
        jobs = self.begin(members=1, nodes=2)
        folder = tempfile.mkdtemp(prefix="perennial-loop-")
        self.addCleanup(shutil.rmtree, folder)
        for index, node in enumerate(jobs.nodes):
            node.environment = {"LD_PRELOAD": LOOP_STOP, "LOOP_STOP_MS": "60000", "LOOP_STOP_IF": f"{folder}/{index}"}
        jobs.start()
        leader = jobs.wait_for_leader()
        worker = Client([jobs.ports[leader]], timeout=60)
        self.assertEqual(worker.ask(b"put 0 0 300 1\r\nx\r\n"), [b"INSERTED", b"1"])
        node = jobs.nodes[leader]
        with open(f"{folder}/{leader}", "w"):
            pass
        with socket.create_connection(("127.0.0.1", jobs.ports[leader]), 5):  # It is accepted after a minute.
            self.assertEqual(node.wait(40), EXIT_NOT_LEADER)
        self.assertIn("at=loop.turn lasts_s=", node.output())
        self.assertIn("a turn of the loop has lasted for", node.output())
        self.assertEqual(jobs.wait_for_leader(), 1 - leader)
        other = Client([jobs.ports[1 - leader]])
        self.assertEqual(other.ask(b"peek 1\r\n"), [b"FOUND", b"1", b"1"])
        self.assertEqual(other.body(1), b"x")

    def test_a_node_whose_disk_fails_ends_as_any_server_does(self):
        """So that it is started again by its service manager, which does not do that after 65 and 66."""
        for is_leader in (False, True):
            with self.subTest(is_leader=is_leader):
                jobs = self.begin(members=1, nodes=2)
                folder = tempfile.mkdtemp(prefix="perennial-disk-")
                self.addCleanup(shutil.rmtree, folder)
                for index, node in enumerate(jobs.nodes):
                    node.environment = {
                        "LD_PRELOAD": FAILING_CALLS,
                        "FAILING_CALLS": "fdatasync",
                        "FAILING_IF": f"{folder}/{index}",
                    }
                jobs.start()
                leader = jobs.wait_for_leader()
                self.wait_for(lambda: len(jobs.status()["nodes"]) == 2, trouble=jobs.logs)
                number = leader if is_leader else 1 - leader
                client = Client([jobs.ports[leader]])
                self.assertEqual(client.ask(b"put 0 0 60 1\r\nx\r\n"), [b"INSERTED", b"1"])
                with open(f"{folder}/{number}", "w"):
                    pass
                try:  # So that there is something to sync. A leader may end before it answers.
                    client.ask(b"put 0 0 60 1\r\ny\r\n")
                except Closed:
                    self.assertTrue(is_leader)
                self.assertEqual(jobs.nodes[number].wait(30), EXIT_IO, jobs.logs())
                self.assertIn("at=store.failed exit=74", jobs.nodes[number].output())
                self.assertEqual(Client(jobs.ports, timeout=30).ask(b"peek 1\r\n"), [b"FOUND", b"1", b"1"])

    def test_nodes_that_are_stopped_as_they_are_elected_end_as_others_do(self):
        """Where the signal came when the jobs were loaded and nobody was served yet, the store ended before the log that uses it."""
        jobs = self.begin(members=1)
        jobs.members[0].start()
        for _ in range(4):
            for node in jobs.nodes:
                node.start()
            leader = jobs.wait_for_leader()
            self.wait_for(lambda: len(jobs.status()["nodes"]) == 3, trouble=jobs.logs)
            led = [node.output().count("at=cluster.leader ") for node in jobs.nodes]
            jobs.nodes[leader].signal(signal.SIGTERM)
            left = {0, 1, 2} - {leader}
            deadline = time.monotonic() + 30
            while left:
                self.assertLess(time.monotonic(), deadline, jobs.logs())
                for number in left:
                    if jobs.nodes[number].output().count("at=cluster.leader ") > led[number]:
                        jobs.nodes[number].signal(signal.SIGTERM)
                        left = left - {number}
            self.assertEqual([node.wait(60) for node in jobs.nodes], [0, 0, 0], jobs.logs())

    def test_the_majority_of_etcd_comes_back(self):
        jobs = self.begin(nodes=2)
        jobs.start()
        leader = jobs.wait_for_leader()
        load = Load(jobs.ports)
        self.addCleanup(load.stop)
        self.wait_for(lambda: len(load.ledger.stored) > 100, trouble=jobs.logs)
        for member in jobs.members[:2]:
            member.kill()
        self.assertEqual(jobs.nodes[leader].wait(20), EXIT_NOT_LEADER)
        stored = len(load.ledger.stored)
        end = time.monotonic() + AWAY_SECONDS
        while time.monotonic() < end:
            jobs.restart_ended_nodes()  # As a supervisor does.
            time.sleep(0.2)
        self.assertEqual(len(load.ledger.stored), stored)
        for member in jobs.members[:2]:
            member.start()
        # By itself.
        self.wait_for(lambda: len(load.ledger.stored) > stored + 100, 60, jobs.logs)
        load.stop()
        self.assertEqual(load.ledger.judge(all_jobs(jobs.ports)), [], jobs.logs())

    def test_puts_are_refused_before_etcd_is_full(self):
        jobs = self.begin(members=1, nodes=1, settings=SMALL_LOG + "  copies_min: 1\n  etcd_quota_bytes: 64MiB\n")
        jobs.start()
        jobs.wait_for_leader()
        client = Client(jobs.ports)
        self.assertEqual(client.ask(b"put 0 0 60 1\r\nx\r\n"), [b"INSERTED", b"1"])
        # Of somebody else.
        value = base64.b64encode(b"x" * 1_000_000).decode()
        keys = [base64.b64encode(b"/other/%d" % i).decode() for i in range(52)]
        for key in keys:
            self.etcd(jobs, "kv/put", {"key": key, "value": value})
        node = jobs.nodes[0]
        self.wait_for(lambda: "at=cluster.puts state=refused" in node.output(), trouble=jobs.logs)
        self.assertEqual(client.ask(b"put 0 0 60 1\r\ny\r\n"), [b"OUT_OF_MEMORY"])
        self.assertEqual(client.ask(b"reserve\r\n"), [b"RESERVED", b"1", b"1"])
        client.body(1)
        self.assertEqual(client.ask(b"delete 1\r\n"), [b"DELETED"])
        # As an operator does.
        for key in keys:
            self.etcd(jobs, "kv/deleterange", {"key": key})

        def has_space():
            time.sleep(2)
            self.etcd(jobs, "maintenance/defragment", {})
            return "at=cluster.puts state=accepted" in node.output()

        # The leader compacts what was deleted, within two rounds of five seconds, although it appends nothing.
        self.wait_for(has_space, 40, jobs.logs)
        self.assertEqual(client.ask(b"put 0 0 60 1\r\nz\r\n")[0], b"INSERTED")

    def test_work_waits_while_etcd_takes_no_entry(self):
        """The remedy of etc/docs/cluster.md freed nothing: the leader compacted to its own last entry only."""
        if not os.access(ETCDCTL, os.X_OK):
            self.skipTest(f"there is no etcdctl at {ETCDCTL}")
        jobs = self.begin(members=3, nodes=1, lease_s=10, settings=SMALL_LOG + "  etcd_quota_bytes: 64MiB\n")
        for member in jobs.members:
            member.arguments += ["--quota-backend-bytes", str(64 << 20)]
        jobs.start()
        jobs.wait_for_leader()
        client = Client(jobs.ports, timeout=60)
        self.assertEqual(client.ask(b"put 0 0 60 1\r\nx\r\n"), [b"INSERTED", b"1"])
        value = base64.b64encode(b"x" * 1_000_000).decode()
        with self.assertRaises(urllib.error.HTTPError):
            for number in range(100):
                self.etcd(jobs, "kv/put", {"key": base64.b64encode(b"/other/%d" % number).decode(), "value": value})
        begun = time.monotonic()
        client.socket.sendall(b"delete 1\r\n")
        node = jobs.nodes[0]
        self.wait_for(lambda: jobs.ask(0, "/readyz")[0] == 503, trouble=jobs.logs)
        self.assertGreater(time.monotonic() - begun, 4)
        self.assertIn("[-]cluster the leader, and etcd takes no entry of its log: no space", jobs.ask(0, "/readyz?verbose")[1])
        self.assertEqual(jobs.ask(0, "/livez"), (200, "ok\n"))
        self.wait_for(lambda: "at=cluster.etcd_alarm no_space=" in node.output(), trouble=jobs.logs)
        metrics = jobs.ask(0, "/metrics")[1]
        self.assertRegex(metrics, r'perennial_cluster_etcd_alarms{alarm="NOSPACE"} [1-3]\n')
        self.assertIn("perennial_cluster_appends_failing 1\n", metrics)
        self.assertIn('perennial_store_state{state="behind"} 1\n', metrics)
        status = jobs.status()
        self.assertIn("NOSPACE", sum((member["alarms"] for member in status["members"]), []))
        self.assertIn("has raised the alarm NOSPACE: etcd takes no entry", "\n".join(status["warnings"]))
        said = self.play_remedy(jobs)
        self.assertEqual(client.file.readline(), b"DELETED\r\n", said + jobs.logs())
        self.wait_for(lambda: jobs.ask(0, "/readyz")[0] == 200, trouble=jobs.logs)
        self.wait_for(lambda: client.ask(b"put 0 0 60 1\r\nx\r\n")[0] == b"INSERTED", trouble=jobs.logs)
        self.assertEqual(sum((member["alarms"] for member in jobs.status()["members"]), []), [], said)
        self.assertIn('perennial_store_state{state="ok"} 1\n', jobs.ask(0, "/metrics")[1])

    def play_remedy(self, jobs):
        """The commands of the document, at the endpoints of this machine. Returns what they say."""
        with open(DOCUMENT, encoding="utf-8") as file:
            section = file.read().split("\n## When etcd is nearly full\n")[1]
        commands = re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]
        for number, endpoint in enumerate(jobs.endpoints):
            self.assertIn(f"http://10.0.0.{number + 1}:2379", commands)
            commands = commands.replace(f"http://10.0.0.{number + 1}:2379", endpoint)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands], capture_output=True, text=True, timeout=120, check=False,
            env=os.environ | {"PATH": f"{os.path.dirname(ETCDCTL)}:{os.environ['PATH']}"},
        )  # fmt: skip
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, said)
        self.assertIn("alarm:NOSPACE", said)
        self.assertRegex(said, r"\d+ other\n")
        return said

    def test_a_full_disk_of_the_leader_lets_a_standby_lead(self):
        """Puts were refused for as long as it was full, although the standby had space."""
        jobs = self.begin(members=1, nodes=2)
        for number in range(2):
            disk = f"{jobs.folder}/disk{number}"
            os.mkdir(disk)
            mount = ["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", disk]
            if os.geteuid() != 0 or subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode != 0:
                self.skipTest("only root mounts a file system")
            self.addCleanup(subprocess.run, ["umount", "-l", disk])
            with open(f"{jobs.folder}/n{number}.yaml", encoding="utf-8") as file:
                text = file.read().replace(f"data_dir: {jobs.data_dir(number)}\n", f"data_dir: {disk}/data\n")
            text = text.replace("low_water_bytes: 0\nballast_bytes: 0\n", "low_water_bytes: 60MiB\nlog_bytes_max: 8MiB\n")
            with open(f"{jobs.folder}/n{number}.yaml", "w", encoding="utf-8") as file:
                file.write(text)
        jobs.start()
        leader = jobs.wait_for_leader()
        client = Client([jobs.ports[leader]])
        self.assertEqual(client.ask(b"put 0 0 60 1\r\nx\r\n"), [b"INSERTED", b"1"])
        other = 1 - leader
        self.wait_for(lambda: len(jobs.status()["nodes"]) == 2 and not jobs.status()["warnings"], trouble=jobs.logs)
        with open(f"{jobs.folder}/disk{leader}/of_others", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 230 << 20)
        self.assertEqual(jobs.nodes[leader].wait(30), EXIT_NOT_LEADER, jobs.logs())
        self.assertIn(f"level=warning at=cluster.handover to=n{other}", jobs.nodes[leader].output())
        self.assertEqual(jobs.wait_for_leader(), other)
        client = Client([jobs.ports[other]])
        self.assertEqual(client.ask(b"put 0 0 60 1\r\ny\r\n")[0], b"INSERTED")
        jobs.nodes[leader].start()
        warning = f"the disk of node n{leader} is nearly full: it leads only if no other node can"
        self.wait_for(lambda: any(each.startswith(warning) for each in jobs.status()["warnings"]), trouble=jobs.logs)
        # Somebody must lead.
        jobs.nodes[other].kill()
        self.assertEqual(jobs.wait_for_leader(), leader)
        client = Client([jobs.ports[leader]])
        self.assertEqual(client.ask(b"put 0 0 60 1\r\nz\r\n"), [b"OUT_OF_MEMORY"])
        self.assertEqual(client.ask(b"delete 1\r\n"), [b"DELETED"])

    def test_time_goes_on_at_a_takeover_whatever_the_next_clock_says(self):
        """A standby that was up for a while made the time jump by that; one whose clock is ahead aged every job."""
        jobs = self.begin(members=1, nodes=2)
        jobs.nodes[1].environment = {"LD_PRELOAD": SHIFTED_CLOCK, "SHIFT_CLOCK_S": str(10 * 86_400)}
        jobs.members[0].start()
        jobs.nodes[0].start()
        jobs.wait_for_leader()
        jobs.nodes[1].start()
        self.wait_for(lambda: "at=cluster.standby" in jobs.nodes[1].output())
        client = Client(jobs.ports[:1])
        self.assertEqual(client.ask(b"put 0 0 60 1 expire:120\r\nx\r\n"), [b"INSERTED", b"1"])
        self.assertEqual(client.ask(b"put 0 3600 60 1\r\nx\r\n"), [b"INSERTED", b"2"])
        self.assertEqual(client.ask(b"put 0 0 60 1 idp:key:120\r\nx\r\n"), [b"INSERTED", b"3"])
        self.assertEqual(client.ask(b"pause-tube default 120\r\n"), [b"PAUSED"])
        begun = time.monotonic()
        time.sleep(8)  # So long the standby was up.
        off = [node["clock_ahead_s"] for node in jobs.status()["nodes"] if node["node"] == "n1"]
        self.assertAlmostEqual(off[0], 10 * 86_400, delta=3)
        jobs.nodes[0].kill()
        self.wait_for(lambda: jobs.ask(1, "/leader")[0] == 200, 30, jobs.logs)
        self.assertIn("at=cluster.clock", jobs.nodes[1].output())
        client = Client(jobs.ports[1:])
        self.assertEqual(client.ask(b"peek 1\r\n")[0], b"FOUND")
        client.body(1)
        self.assertEqual(client.ask(b"put 0 0 60 1 idp:key:120\r\nx\r\n")[:2], [b"INSERTED", b"3"])
        passed = time.monotonic() - begun
        self.assertAlmostEqual(self.row_of(client, b"stats-job 2", b"time-left"), 3600 - passed, delta=4)
        self.assertAlmostEqual(self.row_of(client, b"stats-tube default", b"pause-time-left"), 120 - passed, delta=4)

    @staticmethod
    def row_of(client, command, key):
        size = int(client.ask(command + b"\r\n")[1])
        return int(dict(row.split(b": ", 1) for row in client.body(size).splitlines()[1:])[key])

    def go_back(self, jobs, folder):
        """etcd is restored from what snapshot() has put into `folder`."""
        jobs.members[0].kill()
        shutil.rmtree(f"{jobs.folder}/m0")
        shutil.copytree(folder, f"{jobs.folder}/m0")
        jobs.members[0].start()

    def snapshot(self, jobs):
        """Of etcd's only member, whose directory says all. The nodes do not notice."""
        jobs.members[0].kill()
        shutil.copytree(f"{jobs.folder}/m0", f"{jobs.folder}/snapshot")
        jobs.members[0].start()
        return f"{jobs.folder}/snapshot"

    def test_etcd_is_restored_from_an_older_snapshot_while_nodes_live(self):
        """A node that was emptied led the old log: twenty jobs were lost, and five deleted ones were back."""
        jobs = self.begin(members=1, nodes=3)
        jobs.start()
        leader = jobs.wait_for_leader()
        client = Client([jobs.ports[leader]])
        for number in range(1, 11):
            self.assertEqual(client.ask(b"put 0 0 60 1\r\nx\r\n"), [b"INSERTED", b"%d" % number])
        snapshot = self.snapshot(jobs)
        for number in range(11, 31):
            self.assertEqual(client.ask(b"put 0 0 60 1\r\ny\r\n"), [b"INSERTED", b"%d" % number])
        for number in range(1, 6):
            self.assertEqual(client.ask(b"delete %d\r\n" % number), [b"DELETED"])
        jobs.wait_until_equal()
        emptied = (leader + 1) % 3
        jobs.nodes[emptied].kill()
        shutil.rmtree(jobs.data_dir(emptied))
        self.go_back(jobs, snapshot)
        others = [number for number in range(3) if number != emptied]
        # The leader writes before it notices.
        try:
            client.ask(b"put 0 0 60 1\r\nz\r\n")
        except (Closed, OSError):
            pass
        if jobs.nodes[leader].wait(30) == EXIT_NOT_LEADER:
            jobs.nodes[leader].start()
        for number in others:
            self.assertEqual(jobs.nodes[number].wait(30), EXIT_DAMAGED, jobs.logs())
            self.assertIn("etcd was restored from an older snapshot", jobs.nodes[number].output())
        jobs.nodes[emptied].start()
        self.wait_for(lambda: "at=cluster.outrun" in jobs.nodes[emptied].output(), 60, jobs.logs)
        time.sleep(10)  # Two leases.
        self.assertIsNone(jobs.leader(), jobs.logs())
        refused = jobs.status()["refused"]
        self.assertEqual({node["node"] for node in refused}, {f"n{number}" for number in others})
        # As the message says.
        jobs.nodes[emptied].signal(signal.SIGTERM)
        jobs.nodes[emptied].wait(30)
        shutil.rmtree(jobs.data_dir(emptied))
        config = f"{jobs.folder}/n{leader}.yaml"
        recover = [jobs.tool(), "cluster", "recover", "--config", config, "--data-dir", jobs.data_dir(leader), "--yes"]
        self.wait_for(lambda: subprocess.run(recover, capture_output=True, check=False).returncode == 0, 30, jobs.logs)
        self.assertEqual(jobs.status()["refused"], [])
        jobs.nodes[leader].start()
        self.wait_for(lambda: jobs.leader() == leader, 30, jobs.logs)
        self.assertEqual(sorted(all_jobs([jobs.ports[leader]])), list(range(6, 31)))

    def test_a_standby_that_slept_while_etcd_went_back_mixes_no_histories(self):
        """It passed over what it thought to have, applied the other history's next batch, and led without ten jobs."""
        jobs = self.begin(members=1, nodes=3)
        jobs.start()
        leader = jobs.wait_for_leader()
        sleeper, emptied = [number for number in range(3) if number != leader]
        client = Client([jobs.ports[leader]])
        client.ask(b"put 0 0 60 1\r\nx\r\n")
        snapshot = self.snapshot(jobs)
        for _ in range(10):
            self.assertEqual(client.ask(b"put 0 0 60 1\r\ny\r\n")[0], b"INSERTED")
        jobs.wait_until_equal()
        jobs.nodes[sleeper].signal(signal.SIGSTOP)
        jobs.nodes[emptied].kill()
        shutil.rmtree(jobs.data_dir(emptied))
        jobs.nodes[leader].kill()
        self.go_back(jobs, snapshot)
        jobs.nodes[emptied].start()
        self.wait_for(lambda: jobs.leader() == emptied, 60, jobs.logs)
        client = Client([jobs.ports[emptied]])
        for _ in range(30):
            self.assertEqual(client.ask(b"put 0 0 60 1\r\nz\r\n")[0], b"INSERTED")
        jobs.nodes[sleeper].signal(signal.SIGCONT)
        self.assertEqual(jobs.nodes[sleeper].wait(30), EXIT_DAMAGED, jobs.logs())
        dump = subprocess.run(
            [jobs.tool(), "dump", "--data-dir", jobs.data_dir(sleeper)], capture_output=True, text=True, check=True
        ).stdout
        self.assertEqual({json.loads(line).get("body") for line in dump.splitlines()} - {None}, {"x", "y"})
        # The one that leads goes on, and status says what the other one holds.
        self.assertEqual(jobs.leader(), emptied)
        self.assertEqual([node["node"] for node in jobs.status()["refused"]], [f"n{sleeper}"])

    def test_two_nodes_of_one_name(self):
        jobs = self.begin(members=1, nodes=2)
        config = f"{jobs.folder}/n1.yaml"
        with open(config, encoding="utf-8") as file:
            text = file.read().replace("node: n1", "node: n0")
        with open(config, "w", encoding="utf-8") as file:
            file.write(text)
        jobs.members[0].start()
        jobs.nodes[0].start()
        jobs.wait_for_leader()
        jobs.nodes[1].start()
        self.assertEqual(jobs.nodes[1].wait(40), EXIT_USAGE)
        self.assertIn("another node of cluster jobs is called n0", jobs.nodes[1].output())
        self.assertIn("give each node a name of its own", jobs.nodes[1].output())
        self.assertEqual(Client(jobs.ports[:1]).ask(b"put 0 0 60 1\r\nx\r\n"), [b"INSERTED", b"1"])

    def test_an_entry_of_a_newer_program_is_refused_by_name(self):
        """In a rolling upgrade: the leader is newer than this node, and has written what this node cannot read."""
        jobs = self.begin(members=1, nodes=1)
        jobs.start()
        jobs.wait_for_leader()
        client = Client(jobs.ports)
        self.assertEqual(client.ask(b"put 0 0 300 1\r\nx\r\n"), [b"INSERTED", b"1"])
        node = jobs.nodes[0]
        node.kill()
        log = base64.b64encode(b"/perennial/jobs/log/").decode()
        end = base64.b64encode(b"/perennial/jobs/log0").decode()
        newest = {"key": log, "range_end": end, "sort_order": "DESCEND", "sort_target": "KEY", "limit": 1}
        entry = self.etcd(jobs, "kv/range", newest)["kvs"][0]
        prefix, _, index = base64.b64decode(entry["key"]).rpartition(b"/")
        key = base64.b64encode(b"%s/%0*x" % (prefix, len(index), int(index, 16) + 1)).decode()
        # The first byte is the format, and the last eight are a hash of all others.
        changed = bytes([9]) + base64.b64decode(entry["value"])[1:-8]
        changed += xxh3(changed).to_bytes(8, "little")
        self.etcd(jobs, "kv/put", {"key": key, "value": base64.b64encode(changed).decode()})
        node.start()
        self.assertEqual(node.wait(30), EXIT_DAMAGED, jobs.logs())
        self.assertIn(f"entry {int(index, 16) + 1} of the log in etcd", node.output())
        self.assertIn("its format is 9, which only a newer program reads", node.output())
        # It has applied nothing of it: with a program that reads it, or without it, all goes on.
        self.etcd(jobs, "kv/deleterange", {"key": key})
        node.start()
        jobs.wait_for_leader()
        self.assertEqual(all_jobs(jobs.ports), {1: b"x"})


def xxh3(data):
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_64bits.restype = ctypes.c_uint64
    return library.XXH3_64bits(ctypes.c_char_p(data), ctypes.c_size_t(len(data)))


if __name__ == "__main__":
    if not os.access(ETCD, os.X_OK):
        print(f"skipped: there is no etcd at {ETCD}")
        sys.exit(77)
    unittest.main(verbosity=2)
