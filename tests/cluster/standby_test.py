"""What clients and load balancers see of the nodes that do not lead.

PERENNIALD names the server, and ETCD names etcd, as for cluster_test.py.
"""

import json
import os
import re
import select
import signal
import socket
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ledger import Client, Load, all_jobs  # noqa: E402
from processes import Cluster  # noqa: E402

PERENNIALD = os.environ["PERENNIALD"]
RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../etc/prometheus/perennial.rules.yml")
ETCD = os.environ.get("ETCD", os.path.join(os.path.dirname(PERENNIALD), "etcd-server/usr/bin/etcd"))


def cluster(**how):
    return Cluster(ETCD, PERENNIALD, members=1, **how)


def standbys_of(jobs, leader, seconds=20):
    """The other nodes, when they know who leads."""
    others = [number for number in range(len(jobs.nodes)) if number != leader]
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if all("the leader is" in jobs.ask(number, "/leader")[1] for number in others):
            return others
        time.sleep(0.02)
    raise AssertionError("no standby:\n" + jobs.logs())


class Forwarding(unittest.TestCase):
    def test_a_client_may_connect_to_any_node(self):
        with cluster(nodes=3) as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            for number in standbys_of(jobs, leader):
                client = Client([jobs.ports[number]])
                self.addCleanup(client.close)
                body = b"%d" % number * 60_000
                answer = client.ask(b"put 0 0 60 %d\r\n%s\r\n" % (len(body), body))
                self.assertEqual(answer[0], b"INSERTED")
                job = answer[1]
                self.assertEqual(client.ask(b"reserve\r\n"), [b"RESERVED", job, b"%d" % len(body)])
                self.assertEqual(client.body(len(body)), body)
                self.assertEqual(client.ask(b"delete %s\r\n" % job), [b"DELETED"])

    def test_the_end_of_a_clients_commands_is_passed_on(self):
        with cluster(nodes=2) as jobs:
            jobs.start()
            standby = standbys_of(jobs, jobs.wait_for_leader())[0]
            with socket.create_connection(("127.0.0.1", jobs.ports[standby]), timeout=10) as client:
                client.sendall(b"put 0 0 60 1\r\nx\r\nput 0 0 60 1\r\ny\r\n")
                client.shutdown(socket.SHUT_WR)
                answers = b""
                while piece := client.recv(4096):
                    answers += piece
            self.assertEqual(answers.count(b"INSERTED"), 2)

    def test_who_waits_is_served_when_its_node_becomes_the_leader(self):
        with cluster(nodes=2) as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            standby = standbys_of(jobs, leader)[0]
            time.sleep(1.5)  # It has published that it is up to date.
            jobs.nodes[leader].kill()
            started = time.monotonic()
            client = Client([jobs.ports[standby]])
            self.addCleanup(client.close)
            self.assertEqual(client.ask(b"put 0 0 60 1\r\nx\r\n")[0], b"INSERTED")
            print(f"served {time.monotonic() - started:.3f} s after the leader's death")
            self.assertIn("cluster.leader_ended", jobs.nodes[standby].output())
            self.assertEqual(client.ask(b"reserve\r\n")[0], b"RESERVED")
            self.assertEqual(jobs.ask(standby, "/leader"), (200, "leader\n"))
            self.assertEqual(jobs.ask(standby, "/readyz")[0], 200)

    def test_without_a_leader_a_client_waits_for_a_bounded_time(self):
        with cluster(nodes=2) as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            standby = standbys_of(jobs, leader)[0]
            jobs.members[0].kill()
            jobs.nodes[leader].kill()
            started = time.monotonic()
            with socket.create_connection(("127.0.0.1", jobs.ports[standby]), timeout=60) as client:
                client.sendall(b"stats\r\n")
                try:
                    self.assertEqual(client.recv(100), b"")
                except ConnectionResetError:
                    pass
            self.assertGreater(time.monotonic() - started, 9)

    def test_nothing_is_lost_when_all_clients_use_one_standby(self):
        with cluster(nodes=3) as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            standby = standbys_of(jobs, leader)[0]
            load = Load([jobs.ports[standby]])
            for _ in range(3):
                time.sleep(2)
                leader = jobs.leader()
                if leader is not None and leader != standby:
                    jobs.nodes[leader].signal(signal.SIGKILL)
                    time.sleep(1)
                    jobs.restart_ended_nodes()
            jobs.wait_for_leader()
            time.sleep(1)
            load.stop()
            self.assertEqual(load.ledger.judge(all_jobs(jobs.ports)), [], jobs.logs())
            self.assertGreater(len(load.ledger.stored), 100)


class ForwardingWithTls(unittest.TestCase):
    def test_a_client_may_connect_to_any_node(self):
        with cluster(nodes=2, peers_show="token", client_tls=True) as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            standby = standbys_of(jobs, leader)[0]
            for number in (leader, standby):
                client = Client([jobs.ports[number]])
                self.addCleanup(client.close)
                client.socket = jobs.tls.wrap_socket(client.socket, server_hostname="127.0.0.1")
                client.file = client.socket.makefile("rb")
                self.assertEqual(client.ask(b"put 0 0 60 1\r\nx\r\n")[0], b"INSERTED")


class Circle(unittest.TestCase):
    """The leader's `client_address` leads to a standby. With one client that took 14,983 descriptors."""

    def begin(self, **how):
        jobs = cluster(nodes=3, clients_go_to={0: 1}, **how)
        self.addCleanup(jobs.__exit__, None, None, None)
        for process in (*jobs.members, jobs.nodes[0]):
            process.start()
        self.assertEqual(jobs.wait_for_leader(), 0)
        for node in jobs.nodes[1:]:
            node.start()
        self.assertEqual(standbys_of(jobs, 0), [1, 2])
        return jobs

    @staticmethod
    def descriptors(jobs):
        return sum(len(os.listdir(f"/proc/{node.process.pid}/fd")) for node in jobs.nodes)

    def check_a_client(self, jobs, says):
        before = self.descriptors(jobs)
        started = time.monotonic()
        most = 0
        with socket.create_connection(("127.0.0.1", jobs.ports[2]), timeout=10) as client:
            client.sendall(says)
            while not select.select([client], [], [], 0)[0]:
                most = max(most, self.descriptors(jobs) - before)
                self.assertLess(most, 50)
                self.assertLess(time.monotonic() - started, 5, jobs.logs())
            try:
                self.assertEqual(client.recv(100), b"")
            except ConnectionResetError:
                pass
            print(f"closed after {time.monotonic() - started:.3f} s, {most} descriptors")
            # Although the client keeps its end of the connection.
            deadline = time.monotonic() + 5
            while self.descriptors(jobs) > before:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
        deadline = time.monotonic() + 5
        while "at=cluster.circle " not in (logs := jobs.nodes[1].output() + jobs.nodes[2].output()):
            self.assertLess(time.monotonic(), deadline, jobs.logs())
            time.sleep(0.02)
        self.assertRegex(logs, f"at=cluster.circle .* leader=n0 client_address=127.0.0.1:{jobs.ports[1]} ")

    def test_it_is_refused_and_named(self):
        jobs = self.begin()
        self.check_a_client(jobs, b"stats\r\n")
        self.check_a_client(jobs, b"")  # It has a header in front of it, too.
        metrics = [jobs.ask(number, "/metrics")[1] for number in (1, 2)]
        self.assertRegex("".join(metrics), r"(?m)^perennial_cluster_circles_total [1-9]")
        # The leader itself serves.
        client = Client([jobs.ports[0]])
        self.addCleanup(client.close)
        self.assertEqual(client.ask(b"put 0 0 60 1\r\nx\r\n")[0], b"INSERTED")

    def test_it_is_refused_behind_tls(self):
        jobs = self.begin(peers_show="token", client_tls=True)
        self.check_a_client(jobs, b"\x16\x03\x01\x02\x00")  # The beginning of a handshake.


class Console(unittest.TestCase):
    def test_a_standby_says_what_it_is_until_it_leads(self):
        def node(number):
            status, text = jobs.ask(number, "/api/v1/node")
            self.assertEqual(status, 200, text)
            return json.loads(text)

        with cluster(nodes=2) as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            standby = standbys_of(jobs, leader)[0]
            self.assertEqual(node(leader)["state"], "serving")
            told = node(standby)
            self.assertEqual(told["state"], "standby")
            self.assertEqual(told["cluster"]["node"], f"n{standby}")
            self.assertEqual(told["cluster"]["leader"], {
                "node": f"n{leader}", "client_address": f"127.0.0.1:{jobs.ports[leader]}",
                "url": f"http://127.0.0.1:{jobs.http_ports[leader]}/"})
            self.assertLessEqual(told["cluster"]["log"]["applied"], told["cluster"]["log"]["read"])
            self.assertEqual(json.loads(jobs.ask(standby, "/api/v1/session?with=server")[1]), {
                "users": False, "user": None, "may": {"monitor": True, "admin": True, "inspect": True}, "serves": False})
            self.assertEqual(jobs.ask(standby, "/api/v1/jobs")[0], 503)
            jobs.nodes[leader].kill()
            deadline = time.monotonic() + 30
            while node(standby)["state"] != "serving":
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
            self.assertTrue(json.loads(jobs.ask(standby, "/api/v1/session?with=server")[1])["server"])
            self.assertEqual(node(standby)["cluster"]["leader"]["node"], f"n{standby}")


class Metrics(unittest.TestCase):
    def test_the_rules_name_what_the_nodes_show(self):
        with open(RULES) as rules:
            used = set(re.findall(r"\bperennial_cluster_\w+", rules.read()))
        self.assertTrue(used)
        with cluster(nodes=2) as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            for number in (leader, *standbys_of(jobs, leader)):
                status, text = jobs.ask(number, "/metrics")
                self.assertEqual(status, 200, text)
                shown = set(re.findall(r"^# TYPE (perennial_cluster_\w+) ", text, re.MULTILINE))
                self.assertEqual(used - shown, set(), f"node {number}")


class Copies(unittest.TestCase):
    def test_puts_wait_while_too_few_nodes_have_the_log(self):
        # The least that may be set.
        log = "  copies_min: 2\n  log_keep_bytes: 1MiB\n  log_bytes_max: 8MiB\n"
        with cluster(nodes=2, settings=log) as jobs:
            for process in (*jobs.members, jobs.nodes[0]):
                process.start()
            jobs.wait_for_leader()
            producer = Client(jobs.ports[:1], timeout=30)
            producer.socket.sendall(b"put 0 0 60 10000\r\n%s\r\n" % os.urandom(5_000).hex().encode() * 1_000)
            other = Client(jobs.ports[:1])
            deadline = time.monotonic() + 20
            while self.store_state(other) != b"behind":
                self.assertLess(time.monotonic(), deadline, jobs.logs())
                time.sleep(0.05)
            # Work that is there goes on.
            self.assertEqual(other.ask(b"delete 1\r\n"), [b"DELETED"])
            stored = self.answers_at_once(producer)
            self.assertLess(stored, 1_000)
            time.sleep(1.5)
            self.assertEqual(self.answers_at_once(producer), 0)
            jobs.nodes[1].start()
            for _ in range(1_000 - stored):
                self.assertEqual(producer.file.readline().split()[0], b"INSERTED", jobs.logs())
            self.assertEqual(self.store_state(other), b"ok")

    @staticmethod
    def store_state(client):
        size = int(client.ask(b"stats\r\n")[1])
        return re.search(rb"store-state: \"?([a-z-]+)", client.body(size))[1]

    @staticmethod
    def answers_at_once(client):
        """How many answers can be read without waiting."""
        text = b""
        while select.select([client.socket], [], [], 0)[0]:
            text += client.socket.recv(1 << 20)
        return text.count(b"INSERTED")


class Refusing(unittest.TestCase):
    def test_a_standby_refuses_connections_where_it_is_told_to(self):
        with cluster(nodes=2, standby_clients="refuse") as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            standby = standbys_of(jobs, leader)[0]
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", jobs.ports[standby]), timeout=5)
            status, text = jobs.ask(standby, "/readyz")
            self.assertEqual(status, 503)
            self.assertIn("[-]cluster a standby, which refuses clients", text)


class LeaderWatch(unittest.TestCase):
    def test_a_leader_that_is_stopped_leads_until_its_lease_is_over(self):
        """Its machine accepts connections for it, so nothing shows that it is not just slow (C5)."""
        with cluster(nodes=2) as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            standby = standbys_of(jobs, leader)[0]
            time.sleep(1.5)
            jobs.nodes[leader].signal(signal.SIGSTOP)
            client = Client([jobs.ports[standby]])
            self.addCleanup(client.close)
            waking = threading.Timer(12, jobs.nodes[leader].signal, [signal.SIGCONT])
            waking.start()
            self.addCleanup(waking.cancel)
            deadline = time.monotonic() + 30
            while jobs.ask(standby, "/leader")[0] != 200 and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertEqual(jobs.ask(standby, "/leader")[0], 200)
            self.assertNotIn("cluster.leader_ended", jobs.nodes[standby].output())

    def test_a_standby_that_does_not_reach_the_leader_says_so_and_elects_nobody(self):
        """`peer_address` with one wrong digit: 95 elections in 48 s once, without a warning."""
        with cluster(nodes=2, peer_ports=[1, 1]) as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            standby = jobs.nodes[1 - leader]
            deadline = time.monotonic() + 30
            while "at=cluster.unreachable" not in standby.output():
                self.assertLess(time.monotonic(), deadline, jobs.logs())
                time.sleep(0.1)
            time.sleep(2)
            status = jobs.status()
            self.assertIn("does not reach the leader at its peer_address", " ".join(status["warnings"]))
            self.assertEqual([node["reaches_leader"] for node in status["nodes"] if node["node"] == f"n{1 - leader}"], [False])
            self.assertEqual(status["epoch"], 1)

    def test_a_planned_stop_gives_the_lead_up_before_its_port_closes(self):
        """A client that takes no answers keeps the leader for two seconds. Standbys took its closed port for its death."""
        with cluster(nodes=2) as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            standby = standbys_of(jobs, leader)[0]
            slow = Client([jobs.ports[leader]])
            self.addCleanup(slow.close)
            slow.ask(b"put 0 0 300 60000\r\n%s\r\n" % (b"x" * 60_000))
            slow.socket.sendall(b"peek 1\r\n" * 500)
            time.sleep(1.5)
            jobs.nodes[leader].signal(signal.SIGTERM)
            self.assertEqual(jobs.nodes[leader].wait(20), 0, jobs.logs())
            deadline = time.monotonic() + 10
            while jobs.ask(standby, "/leader")[0] != 200 and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertEqual(jobs.ask(standby, "/leader")[0], 200, jobs.logs())
            self.assertNotIn("cluster.leader_ended", jobs.nodes[standby].output())
            self.assertNotIn("cluster.lost", jobs.nodes[leader].output())


if __name__ == "__main__":
    if not os.access(ETCD, os.X_OK):
        print(f"skipped: there is no etcd at {ETCD}")
        sys.exit(77)
    unittest.main(verbosity=2)
