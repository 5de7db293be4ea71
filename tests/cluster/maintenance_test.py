"""What an operator does with a cluster that serves: who leads, and who does not for a while.

PERENNIALD and ETCD as for tool_test.py.
"""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ledger import all_jobs  # noqa: E402
from processes import Cluster  # noqa: E402
from tool_test import ETCD, PERENNIALD, ToolTest, config_of, run  # noqa: E402


class MaintenanceTest(ToolTest):
    def status(self, jobs):
        return json.loads(run("status", "-c", config_of(jobs, 0), "--json").stdout)

    def roles(self, jobs):
        return {node["node"]: node["role"] for node in self.status(jobs)["nodes"]}

    def wait_for_roles(self, jobs, **roles):
        self.wait_until(lambda: self.roles(jobs) == roles)

    def warnings(self, jobs):
        return "\n".join(self.status(jobs)["warnings"])

    def start_one_after_the_other(self, jobs):
        """So that n0 leads, and the others are standbys."""
        jobs.members[0].start()
        for number, node in enumerate(jobs.nodes):
            node.start()
            if number == 0:
                self.assertEqual(jobs.wait_for_leader(), 0)
        self.wait_until(lambda: self.status(jobs)["warnings"] == [])
        self.wait_until(lambda: list(self.roles(jobs).values()) == ["leader"] + ["standby"] * (len(jobs.nodes) - 1))


class Priority(MaintenanceTest):
    def test_the_higher_one_leads_next_and_zero_never_does(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=3, priorities={1: 60, 2: 0}) as jobs:
            self.start_one_after_the_other(jobs)
            config = config_of(jobs, 0)
            self.assertEqual([node["priority"] for node in self.status(jobs)["nodes"]], [50, 60, 0])
            self.assertIn("n2 never leads: its priority is 0", self.refuse("handover", "-c", config, "--to", "n2"))
            with jobs.supervised() as ended:
                self.assertIn("n1 leads, epoch", self.succeed("handover", "-c", config))
                self.wait_for_roles(jobs, n0="standby", n1="leader", n2="standby")
            self.assertEqual(ended, [(0, 76)])
            jobs.nodes[0].kill()
            jobs.nodes[1].kill()
            # For a lease, the nodes that are gone are there for all that etcd knows.
            self.wait_until(lambda: "no node that is there may lead" in self.warnings(jobs))
            self.assertIsNone(jobs.leader())
            jobs.nodes[0].start()
            self.assertEqual(jobs.wait_for_leader(), 0)


class Resign(MaintenanceTest):
    def test_a_leader_hands_over_and_does_not_lead_until_it_is_over(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=2) as jobs:
            self.start_one_after_the_other(jobs)
            config = config_of(jobs, 0)
            with jobs.supervised() as ended:
                said = self.succeed("resign", "-c", config, "--for", "600")
                self.assertIn("n0 does not lead for 10 min", said)
                self.assertIn("n1 leads, epoch", said)
                self.wait_for_roles(jobs, n0="standby", n1="leader")
            self.assertEqual(ended, [(0, 76)])
            self.assertIn('at=cluster.handover to=any why="this node was asked', jobs.nodes[0].output())
            status = run("status", "-c", config)
            self.assertEqual(status.returncode, 1)
            self.assertRegex(status.stdout, "warning: node n0 has resigned, and does not lead for another 9 min 5. s")
            left = self.status(jobs)["resigned"]
            self.assertEqual([each["node"] for each in left], ["n0"])
            self.assertTrue(500 < left[0]["left_s"] <= 600)
            # Nobody is left who may lead.
            self.assertIn("n0 has resigned", self.refuse("handover", "-c", config, "--to", "n0"))
            self.assertIn("no other node may lead", self.refuse("resign", "n1", "-c", config, "--for", "600", code=1))
            jobs.nodes[1].kill()
            self.wait_until(lambda: "at=cluster.resigned" in jobs.nodes[0].output())
            self.assertIsNone(jobs.leader())
            self.assertIn("n0 may lead again", self.succeed("resign", "n0", "--end", "-c", config))
            self.assertEqual(jobs.wait_for_leader(5), 0)
            self.assertIn("n0 has not resigned", self.refuse("resign", "n0", "--end", "-c", config, code=1))

    def test_it_ends_by_itself(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=1, settings="  copies_min: 1\n") as jobs:
            self.start_one_after_the_other(jobs)
            config = config_of(jobs, 0)
            self.assertIn("no other node may lead", self.refuse("resign", "-c", config, "--for", "6", code=1))
            with jobs.supervised() as ended:
                said = self.succeed("resign", "-c", config, "--for", "6", "--force")
                self.assertEqual(said, "n0 does not lead for 6 s\n")
                self.wait_until(lambda: ended == [(0, 76)])
                self.assertEqual(jobs.wait_for_leader(), 0)
            self.assertEqual(self.status(jobs)["resigned"], [])

    def test_it_says_what_is_missing(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=1, settings="  copies_min: 1\n") as jobs:
            self.start_one_after_the_other(jobs)
            config = config_of(jobs, 0)
            self.assertIn("--for DURATION, or --end", self.refuse("resign", "n0", "-c", config))
            self.assertIn("--for DURATION, or --end", self.refuse("resign", "n0", "-c", config, "--for", "9", "--end"))
            self.assertIn("--end needs the node", self.refuse("resign", "-c", config, "--end"))
            self.assertIn("there is no node x; there are: n0", self.refuse("resign", "x", "-c", config, "--for", "9"))


class Pause(MaintenanceTest):
    def test_no_other_node_takes_over_until_it_is_over(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=2) as jobs:
            self.start_one_after_the_other(jobs)
            config = config_of(jobs, 0)
            self.assertIn("takeovers are not paused", self.refuse("resume", "-c", config, code=1))
            said = self.succeed("pause", "-c", config, "--for", "600")
            self.assertEqual(said, "takeovers are paused for 10 min: only n0 may lead\n")
            self.assertIn("takeovers are paused", self.refuse("handover", "-c", config))
            self.assertIn("takeovers are paused", self.refuse("resign", "-c", config, "--for", "60", "--force"))
            status = run("status", "-c", config)
            self.assertEqual(status.returncode, 1)
            self.assertRegex(status.stdout, "warning: takeovers are paused for another 9 min 5. s: only node n0 may lead")
            # Without the pause the standby serves half a second later.
            time.sleep(1.5)
            jobs.nodes[0].kill()
            self.wait_until(lambda: "at=cluster.paused" in jobs.nodes[1].output())
            time.sleep(8)
            self.assertIsNone(jobs.leader())
            self.assertIn("no node leads", self.refuse("pause", "-c", config, "--for", "600", code=1))
            jobs.nodes[0].start()
            self.assertEqual(jobs.wait_for_leader(), 0)
            jobs.nodes[0].kill()
            self.assertIn("not paused any more", self.succeed("resume", "-c", config))
            self.assertEqual(jobs.wait_for_leader(), 1)
            self.assertIsNone(self.status(jobs)["paused"])


class Json(MaintenanceTest):
    """Each command that changes something says in one object what it has done."""

    def done(self, *arguments):
        return json.loads(self.succeed(*arguments, "--json"))

    def test_of_every_command_that_changes_something(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=2) as jobs:
            self.start_one_after_the_other(jobs)
            config = ("-c", config_of(jobs, 0))
            done = self.done("pause", *config, "--for", "10m")
            self.assertTrue(595 <= done.pop("left_seconds") <= 600)
            self.assertEqual(done, {"cluster": "jobs", "paused": True, "leader": "n0"})
            self.assertEqual(self.done("resume", *config), {"cluster": "jobs", "paused": False})
            with jobs.supervised():
                # That leaders follow each other is what this test does.
                is_well = lambda: not [text for text in self.status(jobs)["warnings"] if "elected" not in text]
                done = self.done("handover", *config)
                self.assertGreater(done.pop("epoch"), 1)
                self.assertEqual(done, {"cluster": "jobs", "leader": "n1", "former_leader": "n0"})
                self.wait_for_roles(jobs, n0="standby", n1="leader")
                self.wait_until(is_well)
                done = self.done("resign", *config, "--for", "10m")
                self.assertTrue(590 <= done.pop("left_seconds") <= 600)
                self.assertEqual(done, {"cluster": "jobs", "node": "n1", "resigned": True, "leader": "n0"})
                done = self.done("resign", "n1", *config, "--end")
                self.assertEqual(done, {"cluster": "jobs", "node": "n1", "resigned": False})
                self.wait_for_roles(jobs, n0="leader", n1="standby")
                self.wait_until(is_well)
                done = self.done("repair", "n1", *config, "--wait", "1m")
                self.assertEqual(done, {"cluster": "jobs", "node": "n1", "asked": True, "repaired": True})
            self.assertEqual(self.done("repair", "n9", *config),
                             {"cluster": "jobs", "node": "n9", "asked": True, "repaired": False})
            self.assertEqual(self.done("repair", "n9", *config, "--end"),
                             {"cluster": "jobs", "node": "n9", "asked": False})

    def test_of_the_leader_s_standbys(self):
        """stats, the metrics and the monitor of the leader say how far the standbys are."""
        with Cluster(ETCD, PERENNIALD, members=1, nodes=3) as jobs:
            self.start_one_after_the_other(jobs)
            self.put(jobs.ports, [b"%03d" % i for i in range(50)])
            server = ("--server", f"127.0.0.1:{jobs.ports[0]}")

            def stats():
                done = subprocess.run([jobs.tool(), "stats", "--json", *server], capture_output=True, check=True, timeout=20)
                return json.loads(done.stdout)

            def check():
                done = subprocess.run([jobs.tool(), "check", *server, "--standby-lag", "100,1000"],
                                      capture_output=True, text=True, timeout=20)
                return done.returncode, done.stdout

            self.wait_until(lambda: (stats()["cluster-standbys"], stats()["cluster-standby-lag"]) == (2, 0))
            # The leader writes from time to time, and a standby may be an entry behind for a moment.
            self.wait_until(lambda: "standby_lag=0;100;1000" in check()[1])
            self.assertEqual(check()[0], 0, check()[1])
            jobs.nodes[2].signal(signal.SIGSTOP)
            load = [b"x"] * 300
            for first in range(0, 300, 50):
                self.put(jobs.ports[:1], load[first:first + 50])
            self.wait_until(lambda: stats()["cluster-standby-lag"] > 100)
            self.assertEqual(check()[0], 1, check()[1])
            self.assertIn("entries that a standby is behind", check()[1])
            jobs.nodes[2].signal(signal.SIGCONT)
            self.wait_until(lambda: stats()["cluster-standby-lag"] == 0)
            jobs.nodes[1].kill()
            jobs.nodes[2].kill()
            self.wait_until(lambda: stats()["cluster-standbys"] == 0)
            self.assertIn("no standby follows", check()[1])


class Repair(MaintenanceTest):
    def test_a_node_gets_a_copy_and_a_leader_hands_over_first(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=2) as jobs:
            self.start_one_after_the_other(jobs)
            config = config_of(jobs, 0)
            ids = self.put(jobs.ports, [b"%03d" % i for i in range(200)])
            with jobs.supervised() as ended:
                said = self.succeed("repair", "n1", "-c", config, "--wait", "60")
                self.assertRegex(said, r"n1: is a standby with a new copy, [0-9.]+ s after the request\n$")
                self.assertEqual(ended, [(1, 76)])
                self.assertIn("at=cluster.repair", jobs.nodes[1].output())
                self.assertEqual(jobs.nodes[1].output().count("at=cluster.copied from=n0"), 1)
                self.wait_until(lambda: run("status", "-c", config).returncode == 0)
                said = self.succeed("repair", "n0", "-c", config, "--wait", "60")
                self.assertIn("n0: hands over first\n", said)
                self.assertIn("n0: is a standby with a new copy", said)
                self.assertEqual(ended[1:], [(0, 76), (0, 76)])
                self.assertEqual(jobs.nodes[0].output().count("at=cluster.copied from=n1"), 1)
            self.assertEqual(jobs.wait_for_leader(), 1)
            jobs.wait_until_equal()
            self.succeed("verify", "-c", config)
            # Afterwards: jobs that come back from a reservation are a batch, and verify waits for one more then.
            self.assertEqual(sorted(all_jobs(jobs.ports)), ids)

    def test_a_request_waits_for_a_node_that_is_down(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=2) as jobs:
            self.start_one_after_the_other(jobs)
            config = config_of(jobs, 0)
            self.put(jobs.ports, [b"a", b"b"])
            jobs.wait_until_equal()
            jobs.nodes[1].kill()
            self.wait_until(lambda: list(self.roles(jobs)) == ["n0"])
            said = self.succeed("repair", "n1", "-c", config)
            self.assertIn("n1 is not there: it gets a copy", said)
            self.assertIn("node n1 shall get a copy", self.warnings(jobs))
            jobs.nodes[1].start()
            self.assertEqual(jobs.nodes[1].wait(30), 76)
            jobs.nodes[1].start()
            self.wait_for_roles(jobs, n0="leader", n1="standby")
            self.assertIn("at=cluster.copied from=n0", jobs.nodes[1].output())
            jobs.wait_until_equal()
            self.succeed("verify", "-c", config)

    def test_it_refuses_what_cannot_be(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=1, settings="  copies_min: 1\n") as jobs:
            self.start_one_after_the_other(jobs)
            config = config_of(jobs, 0)
            self.assertIn("no other node with a peer_address", self.refuse("repair", "n0", "-c", config, code=1))
            self.assertIn("was not asked for a repair", self.refuse("repair", "n0", "--end", "-c", config, code=1))
            said = self.succeed("repair", "n9", "-c", config)
            self.assertIn("n9 is not there", said)
            self.assertIn("n9 keeps its database", self.succeed("repair", "n9", "--end", "-c", config))


if __name__ == "__main__":
    if not os.access(ETCD, os.X_OK):
        print(f"skipped: there is no etcd at {ETCD}")
        sys.exit(77)
    unittest.main(verbosity=2)
