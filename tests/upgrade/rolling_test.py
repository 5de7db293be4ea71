"""A cluster of three is upgraded one node after the other, under load, and goes back in the same way: cluster.md, "Upgrade".

The environment is that of upgrade_case.py, and ETCD, which is otherwise looked for beside PERENNIALD. Each step is judged by what clients get done beside it, and in the end
a ledger says what must be there, `perennial cluster verify` compares the nodes, and so do their dumps.

Roles: an old leader with new standbys, a new leader with an old standby, a standby of each that passes clients on to the other, and a new directory that gets its copy
from the other version. Fields: bodies; and delays, expiries, keys, pauses, tries and rates (timed_load.py), whose times count where both versions are to have the same
rules (`serves`), and are printed otherwise. Doors: the ports for clients of all nodes, HTTP for /leader and for copies. Times: each phase lasts until a few
hundred jobs went through it, so some seconds.

Blind to: TLS, users and passwords; machines (all is loopback); faults beside an upgrade, which nemesis_test.py has with OLD_PERENNIALD; four or more nodes.
"""

import os
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import versions  # noqa: E402, F401  It knows where the modules of tests/cluster are.
from ledger import Client, Load, all_jobs  # noqa: E402
from processes import Cluster  # noqa: E402
from timed_load import TimedLoad  # noqa: E402
from upgrade_case import EXIT_NOT_OURS, NEW, PROGRAMS, UpgradeCase, for_each_earlier  # noqa: E402

ETCD = os.environ.get("ETCD", os.path.join(PROGRAMS, "etcd-server/usr/bin/etcd"))
EXIT_NOT_LEADER = 76


@for_each_earlier
class Rolling(UpgradeCase):
    def begin(self):
        """A cluster of the earlier version that serves, with its load."""
        if "cluster" not in self.old.subcommands:
            self.skipTest(f"{self.old} knows no clusters")
        # So little of the log is kept that a node which has lost its directory needs another one's copy.
        self.jobs = Cluster(ETCD, NEW.perenniald, settings="  log_keep_bytes: 1MiB\n  clock_offset_max_s: 2\n")
        self.addCleanup(self.jobs.__exit__, None, None, None)
        for node in self.jobs.nodes:
            node.arguments[0] = self.old.perenniald
        self.jobs.start()
        self.jobs.wait_for_leader()
        self.load = Load(self.jobs.addresses, producers=2, workers=2)
        self.addCleanup(self.load.stop)
        self.timed_faults = []
        self.timed = TimedLoad(self.jobs.addresses, self.timed_faults.append)
        self.addCleanup(self.timed.stop)
        self.goes_on("all are old")

    def goes_on(self, phase, seconds=30):
        """Jobs go through the cluster."""
        ledger = self.load.ledger
        stored, deleted = len(ledger.stored), len(ledger.deleted)
        deadline = time.monotonic() + seconds
        while len(ledger.stored) < stored + 300 or len(ledger.deleted) < deleted + 300:
            self.assertLess(time.monotonic(), deadline, f"{phase}: {len(ledger.stored) - stored} stored\n{self.jobs.describe()}")
            time.sleep(0.05)
        self.assertEqual(ledger.faults, [], phase)

    def facts_of(self, number):
        status = self.jobs.status()
        return next((node for node in status["nodes"] if node["node"] == f"n{number}"), None) if status else None

    def wait_until(self, what, seconds=60):
        deadline = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), deadline, self.jobs.describe())
            time.sleep(0.1)

    def follows(self, number):
        """It is a standby that has caught up with what there is now."""
        facts = self.facts_of(number)
        return facts is not None and facts["role"] == "standby" and self.jobs.status()["log"]["last"] - facts["applied"] < 1000

    def stop(self, number):
        node = self.jobs.nodes[number]
        node.signal(signal.SIGTERM)
        self.assertIn(node.wait(60), (0, EXIT_NOT_LEADER), node.output()[-2000:])

    def install(self, version, number):
        """Stops a standby, and starts it as this version."""
        self.stop(number)
        self.jobs.nodes[number].arguments[0] = version.perenniald
        self.jobs.nodes[number].start()
        self.wait_until(lambda: self.follows(number))

    def hand_over(self, tool, to):
        """A build from before 1.0 hands over only to a node that is close behind, and says so: under load that may take several tries. All else is a
        fault, and with any other version the first refusal is."""
        tries = 5 if self.old.refuses_log else 1
        for tries_left in reversed(range(tries)):
            refused = self.try_to_hand_over(tool, to)
            if refused is None:
                return
            self.assertTrue(tries_left, refused + self.jobs.describe())
            self.assertRegex(refused, "wait until it has caught up|did not stand in time")
            if self.jobs.wait_for_leader() == to:
                return
            self.wait_until(lambda: self.follows(to))

    def try_to_hand_over(self, tool, to):
        """Why not; None: it is done."""
        leader = self.jobs.leader()
        with self.jobs.supervised() as ended:
            said = tool.tool("cluster", "handover", "--to", f"n{to}", "--config", f"{self.jobs.folder}/n0.yaml")
            if said.returncode != 0:
                return said.stderr
            self.assertEqual(self.jobs.wait_for_leader(), to)
            self.wait_until(lambda: self.follows(leader))
        self.assertEqual(ended, [(leader, EXIT_NOT_LEADER)])
        return None

    def roll(self, before, after):
        """All nodes, as cluster.md says: the standbys, a handover to one of them, and the last one."""
        leader = self.jobs.leader()
        first, second = (number for number in range(3) if number != leader)
        self.install(after, first)
        self.goes_on(f"a {after} standby of two")
        self.install(after, second)
        self.goes_on(f"a {before} leader, {after} standbys")
        self.hand_over(before, first)
        self.goes_on(f"a {after} leader, a {before} standby")
        self.install(after, leader)
        self.goes_on(f"all are {after}")

    def loses_its_directory(self, number):
        """A standby, which gets a copy of another node's: the log does not begin with the first entry any more."""
        self.stop(number)
        self.put_large_jobs()
        self.wait_until(lambda: self.jobs.status()["log"]["first"] > 1)
        for path, folders, files in os.walk(self.jobs.data_dir(number), topdown=False):
            for name in files:
                os.remove(os.path.join(path, name))
            for name in folders:
                os.rmdir(os.path.join(path, name))
        copies = self.jobs.nodes[number].output().count("at=cluster.copied")
        self.jobs.nodes[number].start()
        self.wait_until(lambda: self.jobs.nodes[number].output().count("at=cluster.copied") > copies and self.follows(number))

    def put_large_jobs(self, count=400):
        """More than the log keeps. Workers take them like all others."""
        ledger = self.load.ledger
        client = Client(self.jobs.addresses)
        for job in range(count):
            body = b"large-%d-%d-" % (time.monotonic_ns(), job) + b"x" * 8000
            answer = client.ask(b"put 0 0 30 %d\r\n%s\r\n" % (len(body), body))
            self.assertEqual(answer[0], b"INSERTED")
            ledger.on_inserted(int(answer[1]), body)
        client.close()

    def finish(self):
        self.timed.stop()
        self.load.stop()
        self.jobs.wait_for_leader()
        self.timed.clean()
        found = all_jobs(self.jobs.addresses)
        wrong = self.load.ledger.judge(found)
        print(f"{self.old}: {len(self.load.ledger.stored)} stored, {len(self.load.ledger.deleted)} deleted, {len(found)} left; "
              f"timed {self.timed.counts}, faults {self.timed_faults}", file=sys.stderr)  # fmt: skip
        self.assertEqual(wrong, [], self.jobs.logs())
        if self.old.rolls_back:
            self.assertEqual(self.timed_faults, [])
        self.jobs.wait_until_equal()
        verified = NEW.tool("cluster", "verify", "--config", f"{self.jobs.folder}/n0.yaml", seconds=120)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        contents = self.jobs.contents()
        for number, content in enumerate(contents):
            self.assertEqual(content, contents[0], f"n{number} and n0 hold different rows")

    def test_up_and_back_under_load(self):
        self.begin()
        self.roll(self.old, NEW)
        if self.old.refuses_log:
            self.an_old_node_refuses_the_log()
        elif self.old.rolls_back and self.old.perenniald != NEW.perenniald:
            self.roll(NEW, self.old)
            self.roll(self.old, NEW)
        self.finish()

    def an_old_node_refuses_the_log(self):
        """All nodes are new, so the log has entries that only they read."""
        number = next(number for number in range(3) if number != self.jobs.leader())
        self.stop(number)
        node = self.jobs.nodes[number]
        lines = len(node.output().splitlines())
        node.arguments[0] = self.old.perenniald
        node.start()
        self.assertEqual(node.wait(30), EXIT_NOT_OURS, node.output())
        refused = [line for line in node.output().splitlines()[lines:] if "level=error" in line]
        self.one_sentence("\n".join(refused), f"exit={EXIT_NOT_OURS}", "format", "newer program")
        self.goes_on("an old node has refused the log")
        node.arguments[0] = NEW.perenniald
        node.start()
        self.wait_until(lambda: self.follows(number))
        self.goes_on("it is new again")

    def test_back_half_way(self):
        """Two nodes are upgraded, and go back: nothing that the old one cannot read was written."""
        self.begin()
        leader = self.jobs.leader()
        first, second = (number for number in range(3) if number != leader)
        self.install(NEW, first)
        self.hand_over(NEW, first)
        self.goes_on("a new leader, old standbys")
        self.loses_its_directory(second)
        self.goes_on("an old standby got its copy")
        self.hand_over(NEW, second)
        self.goes_on("an old leader, a new standby")
        self.loses_its_directory(first)
        self.goes_on("a new standby got its copy")
        self.install(self.old, first)
        self.goes_on("all are old again")
        self.roll(self.old, NEW)
        self.finish()


if __name__ == "__main__":
    if not os.access(ETCD, os.X_OK):
        print(f"skipped: there is no etcd at {ETCD}")
        sys.exit(77)
    unittest.main(verbosity=2)
