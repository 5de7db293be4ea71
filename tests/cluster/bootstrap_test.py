"""A node that the log in etcd does not reach any more gets a copy of another node's database.

PERENNIALD names the server. ETCD names etcd, which is otherwise looked for beside the server.
"""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ledger import Client, Closed, all_jobs  # noqa: E402
from processes import Cluster, free_port  # noqa: E402

PERENNIALD = os.environ["PERENNIALD"]
ETCD = os.environ.get("ETCD", os.path.join(os.path.dirname(PERENNIALD), "etcd-server/usr/bin/etcd"))
BODY_BYTES = 8192
# The least that may be set: etcd keeps a megabyte of the log.
SMALL_LOG = "  log_keep_bytes: 1MiB\n  log_bytes_max: 8MiB\n"


class Proxy:
    """Passes connections on to a port. Of the first copies that go through it, each has one of `faults`."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.target = None
        self.faults = []
        self.met = []
        self.on_cut = None
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client:
            try:
                request = client.recv(65536)
                server = socket.create_connection(("127.0.0.1", self.target), timeout=60)
                with server:
                    server.sendall(request)
                    is_copy = request.startswith(b"GET /cluster/checkpoint")
                    self._answer(server, client, self.faults.pop(0) if is_copy and self.faults else None)
            except OSError:
                pass

    def _answer(self, server, client, fault):
        sent = 0
        while data := server.recv(65536):
            # Behind the manifest, in the middle of a file.
            if fault and sent > 2_000_000:
                self.met.append(fault)
                if fault == "cut":
                    return
                if fault == "kill":
                    self.on_cut()
                if fault == "stall":
                    client.recv(1)  # Until the other side gives up.
                    return
                if fault == "flip":
                    data = bytes([data[0] ^ 1]) + data[1:]
                fault = None
            client.sendall(data)
            sent += len(data)

    def close(self):
        self.listener.close()


def body_of(number):
    return (b"%08d" % number) * (BODY_BYTES // 8)


class Bootstrap(unittest.TestCase):
    def begin(self, **how):
        """Two nodes that serve, and a third that has not started."""
        jobs = Cluster(ETCD, PERENNIALD, members=1, nodes=3, **({"settings": SMALL_LOG} | how))
        self.addCleanup(jobs.__exit__, None, None, None)
        jobs.members[0].start()
        self.put_count = 0
        self.stored = {}  # The body of each job by its id. A leader that is elected skips some ids.
        return jobs

    def start_two(self, jobs):
        for node in jobs.nodes[:2]:
            node.start()
        return jobs.wait_for_leader()

    def put(self, jobs, count):
        """More than the log keeps, if `count` is above a hundred or so."""
        client = Client(jobs.ports[:2])
        for _ in range(count):
            self.put_count += 1
            body = body_of(self.put_count)
            answer = client.ask(b"put 0 0 60 %d\r\n%s\r\n" % (BODY_BYTES, body))
            self.assertEqual(answer[0], b"INSERTED", answer)
            self.stored[int(answer[1])] = body
        client.close()

    def put_past_the_trim(self, jobs):
        """Until etcd does not hold what was put before."""
        first = self.put_count + 1
        before = self.log_ends(jobs)[1]
        deadline = time.monotonic() + 60
        while self.put_count < first + 1200 or self.log_ends(jobs)[0] <= before + 1:
            self.assertLess(time.monotonic(), deadline, f"the log is not trimmed: {self.log_ends(jobs)}")
            self.put(jobs, 200)

    def log_ends(self, jobs):
        """The indices of the oldest and the newest entry in etcd."""
        ends = []
        for order in ("ASCEND", "DESCEND"):
            key, end = (base64.b64encode(b"/perennial/jobs/log" + byte).decode() for byte in (b"/", b"0"))
            request = {"key": key, "range_end": end, "limit": 1, "keys_only": True, "sort_order": order}
            url = jobs.endpoints[0] + "/v3/kv/range"
            with urllib.request.urlopen(url, json.dumps(request).encode(), timeout=5) as answer:
                found = json.load(answer).get("kvs", [])
            ends.append(int(base64.b64decode(found[0]["key"]).rsplit(b"/", 1)[1], 16) if found else 0)
        return ends

    def wait_for_output(self, node, text, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if text in node.output():
                return
            self.assertTrue(node.is_running(), node.output()[-3000:])
            time.sleep(0.05)
        self.fail(f"there is no '{text}':\n" + node.output()[-3000:])

    def wait_for_copies(self, jobs, is_wanted, seconds=30):
        """What `perennial cluster status` says of nodes that get a copy."""
        deadline = time.monotonic() + seconds
        while not is_wanted(copies := jobs.status()["copies"]):
            self.assertLess(time.monotonic(), deadline, copies)
            time.sleep(0.1)
        return copies

    def recover(self, jobs):
        """What `perennial cluster recover` says of the first node's directory."""
        arguments = [jobs.tool(), "cluster", "recover", "-c", f"{jobs.folder}/n0.yaml", "--data-dir", jobs.data_dir(0)]
        return subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False).stderr

    def expect_all_at_the_third(self, jobs):
        """It has everything, also what comes after its copy."""
        self.wait_for_output(jobs.nodes[2], "at=cluster.copied")
        self.put(jobs, 10)
        time.sleep(2)  # A standby is a few milliseconds behind.
        for node in jobs.nodes[:2]:
            node.kill()
        deadline = time.monotonic() + 60
        while jobs.ask(2, "/leader")[0] != 200:
            self.assertLess(time.monotonic(), deadline, jobs.nodes[2].output()[-3000:])
            time.sleep(0.1)
        found = all_jobs(jobs.ports[2:])
        self.assertEqual(set(found), set(self.stored))
        for job, body in found.items():
            self.assertEqual(body, self.stored[job], f"job {job}")
        self.assertEqual(jobs.status()["copies"], [])
        left = set(os.listdir(jobs.data_dir(2))) & {"incoming", "replacement", "peer"}
        self.assertEqual(left, set())

    def test_a_new_node_gets_everything(self):
        jobs = self.begin()
        self.start_two(jobs)
        self.put_past_the_trim(jobs)
        jobs.nodes[2].start()
        self.expect_all_at_the_third(jobs)

    def test_nodes_that_want_each_others_certificates(self):
        jobs = self.begin(peers_show="certificate")
        self.start_two(jobs)
        self.put_past_the_trim(jobs)
        config = f"{jobs.folder}/n2.yaml"
        with open(config, encoding="utf-8") as file:
            whole = file.read()
        shown = ("  peer_certificate:", "  peer_key:")
        with open(config, "w", encoding="utf-8") as file:
            file.write("".join(line for line in whole.splitlines(True) if not line.startswith(shown)))
        jobs.nodes[2].start()
        self.wait_for_output(jobs.nodes[2], "certificate required")
        jobs.nodes[2].kill()
        with open(config, "w", encoding="utf-8") as file:
            file.write(whole)
        jobs.nodes[2].start()
        self.wait_for_output(jobs.nodes[2], "at=cluster.copied")
        arguments = [jobs.tool(), "cluster", "verify", "--config", config]
        verified = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        self.expect_all_at_the_third(jobs)

    def wait_for_leader_at(self, jobs, number):
        deadline = time.monotonic() + 30
        while jobs.leader() != number:
            self.assertLess(time.monotonic(), deadline, jobs.logs())
            time.sleep(0.05)

    def damage_tables(self, folder, family, place=lambda size: size // 2):
        """A bit of each table of the family. A table ends with its properties: the name of its family among them."""
        damaged = 0
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "r+b") as file:
                bytes_of_table = file.read()
                if not name.endswith(".sst") or b"name" + family not in bytes_of_table[-4096:]:
                    continue
                at = place(len(bytes_of_table))
                byte = bytes_of_table[at:]
                file.seek(at)
                file.write(bytes([byte[0] ^ 1]))
                damaged += 1
        self.assertGreater(damaged, 0)

    def hand_over_to(self, jobs, number):
        arguments = [jobs.tool(), "cluster", "handover", "--to", f"n{number}", "--config", f"{jobs.folder}/n0.yaml"]
        return subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)

    def begin_with_tables(self, settings):
        """Three nodes, of which the third has all jobs in tables and is down. `settings`: of the server."""
        jobs = self.begin(settings=SMALL_LOG + settings)
        self.start_two(jobs)
        jobs.nodes[2].start()
        self.put(jobs, 400)
        self.wait_for_standby(jobs, 2)  # A handover to one that is joining, for all that etcd knows, is refused.
        # A leader that is stopped flushes its tables.
        former = jobs.leader()
        asked = self.hand_over_to(jobs, 2)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertEqual(jobs.nodes[former].wait(30), 76)
        jobs.nodes[former].start()
        self.wait_for_leader_at(jobs, 2)
        jobs.nodes[2].signal(signal.SIGTERM)
        self.assertEqual(jobs.nodes[2].wait(30), 0)
        jobs.wait_for_leader(10)
        return jobs

    def wait_for_standby(self, jobs, number):
        deadline = time.monotonic() + 30
        while not any(
            node["node"] == f"n{number}" and node["role"] == "standby" for node in jobs.status()["nodes"]
        ):
            self.assertLess(time.monotonic(), deadline, jobs.nodes[number].output()[-3000:])
            time.sleep(0.1)

    def test_a_damaged_standby_is_replaced_before_it_is_elected(self):
        """The tables are read again from the first second on."""
        for family in (b"ready", b"bodies"):
            with self.subTest(family):
                jobs = self.begin_with_tables("scrub_bytes_per_second: 1GiB\n")
                self.damage_tables(f"{jobs.data_dir(2)}/db", family)
                epoch = jobs.status()["epoch"]
                jobs.nodes[2].start()
                self.assertEqual(jobs.nodes[2].wait(30), 76, jobs.nodes[2].output()[-3000:])
                self.assertIn("at=cluster.damaged", jobs.nodes[2].output())
                self.assertEqual(jobs.status()["epoch"], epoch)
                jobs.nodes[2].start()
                self.expect_all_at_the_third(jobs)
                jobs.__exit__(None, None, None)

    def test_a_database_that_cannot_be_opened_is_replaced_and_kept(self):
        jobs = self.begin_with_tables("")
        # The footer of each table.
        self.damage_tables(f"{jobs.data_dir(2)}/db", b"ready", lambda size: size - 1)
        jobs.nodes[2].start()
        self.expect_all_at_the_third(jobs)
        self.assertIn("at=cluster.damaged", jobs.nodes[2].output())
        kept = [name for name in os.listdir(jobs.data_dir(2)) if name.startswith("damaged-")]
        self.assertEqual(len(kept), 1)
        self.assertIn("CURRENT", os.listdir(f"{jobs.data_dir(2)}/{kept[0]}/db"))

    def test_a_leader_that_cannot_read_a_body_lets_a_node_lead_that_has_it(self):
        """It buried the job, on all nodes."""
        jobs = self.begin_with_tables("scrub_bytes_per_second: 0\n")
        self.damage_tables(f"{jobs.data_dir(2)}/db", b"bodies")
        jobs.nodes[2].start()
        self.wait_for_standby(jobs, 2)
        former = jobs.wait_for_leader(10)
        self.hand_over_to(jobs, 2)
        self.assertEqual(jobs.nodes[former].wait(30), 76)
        jobs.nodes[former].start()
        self.wait_for_leader_at(jobs, 2)
        time.sleep(2)  # Until the leader knows its standbys.
        client = Client(jobs.ports[2:])
        with self.assertRaises(Closed):
            for job in self.stored:
                answer = client.ask(b"peek %d\r\n" % job)
                self.assertEqual(answer[0], b"FOUND", answer)
                self.assertEqual(client.body(int(answer[2])), self.stored[job])
        self.assertEqual(jobs.nodes[2].wait(30), 76, jobs.nodes[2].output()[-3000:])
        self.assertIn("at=cluster.damaged", jobs.nodes[2].output())
        jobs.wait_for_leader(10)
        jobs.nodes[2].start()
        self.expect_all_at_the_third(jobs)

    def test_a_damaged_node_that_is_elected_gets_a_copy(self):
        """It was elected again and again, while two healthy nodes were there."""
        jobs = self.begin_with_tables("scrub_bytes_per_second: 0\n")
        self.damage_tables(f"{jobs.data_dir(2)}/db", b"ready")
        jobs.nodes[2].start()
        self.wait_for_standby(jobs, 2)
        former = jobs.wait_for_leader(10)
        self.hand_over_to(jobs, 2)
        self.assertEqual(jobs.nodes[2].wait(30), 76, jobs.nodes[2].output()[-3000:])
        self.assertIn("at=cluster.damaged", jobs.nodes[2].output())
        self.assertIn("copy-wanted", os.listdir(jobs.data_dir(2)))
        self.assertEqual(jobs.nodes[former].wait(30), 76)
        jobs.nodes[former].start()
        jobs.wait_for_leader(10)
        self.put(jobs, 10)
        self.assertLess(jobs.status()["epoch"], 6)
        jobs.nodes[2].start()
        self.expect_all_at_the_third(jobs)
        self.assertNotIn("copy-wanted", os.listdir(jobs.data_dir(2)))

    def test_a_node_that_was_away_for_long_comes_back(self):
        jobs = self.begin()
        self.start_two(jobs)
        self.put(jobs, 20)
        jobs.nodes[2].start()
        self.wait_for_output(jobs.nodes[2], "at=cluster.standby")
        self.put(jobs, 20)
        jobs.nodes[2].kill()
        self.put_past_the_trim(jobs)
        jobs.nodes[2].start()
        self.expect_all_at_the_third(jobs)

    def with_faults(self, standby_faults, leader_faults):
        """Proxies before all nodes. Returns those of the standby, which is asked first, and of the leader."""
        proxies = [Proxy() for _ in range(3)]
        for proxy in proxies:
            self.addCleanup(proxy.close)
        jobs = self.begin(peer_ports=[proxy.port for proxy in proxies])
        for proxy, port in zip(proxies, jobs.http_ports):
            proxy.target = port
        leader = self.start_two(jobs)
        self.put_past_the_trim(jobs)
        proxies[1 - leader].faults = standby_faults
        proxies[leader].faults = leader_faults
        return jobs, proxies[1 - leader], proxies[leader], jobs.nodes[1 - leader]

    def test_a_copy_that_breaks_or_is_damaged_is_made_again(self):
        jobs, source, leader, _ = self.with_faults(["cut"], ["flip"])
        jobs.nodes[2].start()
        self.wait_for_output(jobs.nodes[2], "at=cluster.copied")
        self.assertEqual(source.met, ["cut"])
        self.assertEqual(leader.met, ["flip"])
        # By RocksDB's checksum of a table, or by the hash that comes in the end.
        self.assertRegex(jobs.nodes[2].output(), "its hash is another|checksum mismatch")
        self.expect_all_at_the_third(jobs)

    def test_a_source_that_is_killed_is_replaced_by_another(self):
        jobs, source, _, standby = self.with_faults(["kill"], [])
        source.on_cut = standby.kill
        jobs.nodes[2].start()
        self.wait_for_output(jobs.nodes[2], "at=cluster.copied")
        self.assertEqual(source.met, ["kill"])
        standby.start()
        time.sleep(1)
        self.expect_all_at_the_third(jobs)

    def test_a_stop_ends_a_copy_that_is_under_way(self):
        jobs, source, _, standby = self.with_faults(["stall"], [])
        node = jobs.nodes[2]
        node.start()
        copies = self.wait_for_copies(jobs, lambda copies: copies and copies[0]["received_bytes"] > 0)
        self.assertEqual(source.met, ["stall"])
        self.assertEqual(len(copies), 1)
        self.assertEqual(copies[0]["node"], "n2")
        self.assertEqual(copies[0]["from"], f"n{jobs.nodes.index(standby)}")
        self.assertGreater(copies[0]["bytes"], copies[0]["received_bytes"])
        # It is no node yet, so the log is not kept for it.
        self.assertEqual({each["node"] for each in jobs.status()["nodes"]}, {"n0", "n1"})
        self.assertIn("nodes of the cluster are there: n0, n1, n2", self.recover(jobs))
        node.signal(signal.SIGTERM)
        self.assertEqual(node.wait(20), 0, node.output()[-3000:])
        self.assertEqual(jobs.status()["copies"], [])
        self.assertNotIn("at=cluster.copied", node.output())
        node.start()
        self.expect_all_at_the_third(jobs)

    def test_a_full_disk_waits_for_space(self):
        jobs = self.begin()
        disk = jobs.data_dir(2)
        os.mkdir(disk)
        # 1,200 jobs have 10 MB. The directory is a mount point, as it is on many machines.
        mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", disk]
        if os.geteuid() != 0 or subprocess.run(mount, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("only root mounts a file system")
        self.addCleanup(subprocess.run, ["umount", "-l", disk])
        self.start_two(jobs)
        self.put_past_the_trim(jobs)
        jobs.nodes[2].start()
        self.wait_for_output(jobs.nodes[2], "No space left on device")
        self.put(jobs, 10)
        subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)
        self.expect_all_at_the_third(jobs)


if __name__ == "__main__":
    if not os.access(ETCD, os.X_OK):
        print(f"skipped: there is no etcd at {ETCD}")
        sys.exit(77)
    unittest.main(verbosity=2)
