"""Three members of etcd and three nodes under load, while each of them fails: C1, C2, C4 and C6.

PERENNIALD names the server. ETCD names etcd, which is otherwise looked for beside the server, where tests/run unpacks it.
CLUSTER_SECONDS is how long the faults go on, and CLUSTER_SEED what draws them.
"""

import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ledger import Client, Load, all_jobs  # noqa: E402
from processes import Cluster  # noqa: E402

PERENNIALD = os.environ["PERENNIALD"]
ETCD = os.environ.get("ETCD", os.path.join(os.path.dirname(PERENNIALD), "etcd-server/usr/bin/etcd"))
SECONDS = float(os.environ.get("CLUSTER_SECONDS", "45"))
EXIT_NOT_LEADER = 76


def cluster(**how):
    return Cluster(ETCD, PERENNIALD, **how)


class OneNode(unittest.TestCase):
    def test_it_survives_a_kill_and_the_loss_of_its_directory(self):
        with cluster(members=1, nodes=1) as jobs:
            jobs.start()
            jobs.wait_for_leader()
            client = Client(jobs.ports)
            self.addCleanup(client.close)
            for i in range(100):
                self.assertEqual(client.ask(b"put 0 0 60 3\r\n%03d\r\n" % i), [b"INSERTED", b"%d" % (i + 1)])
            self.assertEqual(client.ask(b"reserve\r\n")[0], b"RESERVED")
            client.body(3)
            self.assertEqual(client.ask(b"delete 1\r\n"), [b"DELETED"])
            jobs.nodes[0].kill()
            subprocess.run(["rm", "-r", jobs.data_dir(0)], check=True)
            jobs.nodes[0].start()
            jobs.wait_for_leader()
            found = all_jobs(jobs.ports)
            self.assertEqual(found, {i + 1: b"%03d" % i for i in range(1, 100)})
            again = Client(jobs.ports)
            self.addCleanup(again.close)
            answer = again.ask(b"put 0 0 60 1\r\nx\r\n")
            self.assertGreater(int(answer[1]), 100, "an id is never used twice")

    def test_a_stop_ends_cleanly_and_gives_the_lead_up(self):
        with cluster(members=1, nodes=2) as jobs:
            jobs.start()
            first = jobs.wait_for_leader()
            client = Client(jobs.ports)
            self.assertEqual(client.ask(b"put 0 0 60 1\r\nx\r\n"), [b"INSERTED", b"1"])
            client.close()
            time.sleep(2)
            jobs.nodes[first].signal(signal.SIGTERM)
            self.assertEqual(jobs.nodes[first].wait(20), 0)
            self.assertEqual(jobs.wait_for_leader(), 1 - first)
            self.assertEqual(all_jobs(jobs.ports), {1: b"x"})

    def test_another_clusters_directory_is_refused(self):
        with cluster(members=1, nodes=1) as jobs:
            jobs.start()
            jobs.wait_for_leader()
            jobs.nodes[0].kill()
            jobs.members[0].kill()
            subprocess.run(["rm", "-r", f"{jobs.folder}/m0"], check=True)
            jobs.members[0].start()
            jobs.nodes[0].start()
            self.assertEqual(jobs.nodes[0].wait(20), 66)
            self.assertIn("perennial cluster recover", jobs.nodes[0].output())


class Faults(unittest.TestCase):
    """Faults at random, one or two at a time, and the ledger of all clients."""

    def setUp(self):
        seed = int(os.environ.get("CLUSTER_SEED", time.time_ns() % 10**6))
        print(f"CLUSTER_SEED={seed}")
        self.random = random.Random(seed)

    def test_nothing_acknowledged_is_lost(self):
        with cluster() as jobs:
            jobs.start()
            jobs.wait_for_leader()
            load = Load(jobs.ports)
            codes = []
            deadline = time.monotonic() + SECONDS
            faults = {}
            while time.monotonic() < deadline:
                time.sleep(self.random.random() * 2)
                fault = self.random.choice(
                    [self.kill_leader, self.kill_standby, self.stop_leader, self.kill_member, self.stop_member,
                     self.lose_directory]
                )  # fmt: skip
                fault(jobs)
                faults[fault.__name__] = faults.get(fault.__name__, 0) + 1
                codes += jobs.restart_ended_nodes()
            for process in jobs.members:
                if not process.is_running():
                    process.start()
            codes += jobs.restart_ended_nodes()
            jobs.wait_for_leader(60)
            time.sleep(3)
            load.stop()
            codes += jobs.restart_ended_nodes()
            jobs.wait_for_leader(60)
            stored = len(load.ledger.stored)
            found = all_jobs(jobs.ports)
            faults_found = load.ledger.judge(found)
            print(f"{stored} stored, {len(load.ledger.deleted)} deleted, {len(found)} left; {faults}; "
                  f"exit codes {sorted(set(codes))}")  # fmt: skip
            self.assertEqual(faults_found, [], jobs.logs())
            self.assertGreater(stored, 100)
            # Killed, or no longer the leader.
            self.assertLessEqual(set(codes), {-signal.SIGKILL, EXIT_NOT_LEADER}, jobs.logs())

    def kill_leader(self, jobs):
        number = jobs.leader()
        if number is not None:
            jobs.nodes[number].kill()

    def kill_standby(self, jobs):
        leader = jobs.leader()
        number = self.random.choice([n for n in range(len(jobs.nodes)) if n != leader])
        jobs.nodes[number].kill()

    def stop_leader(self, jobs):
        """Longer than its lease."""
        number = jobs.leader()
        if number is None:
            return
        jobs.nodes[number].signal(signal.SIGSTOP)
        time.sleep(8)
        jobs.nodes[number].signal(signal.SIGCONT)

    def kill_member(self, jobs):
        member = self.random.choice(jobs.members)
        member.kill()
        time.sleep(self.random.random() * 3)
        member.start()

    def stop_member(self, jobs):
        member = self.random.choice(jobs.members)
        member.signal(signal.SIGSTOP)
        time.sleep(self.random.random() * 4)
        member.signal(signal.SIGCONT)

    def lose_directory(self, jobs):
        """Of a standby: it gets everything again."""
        leader = jobs.leader()
        number = self.random.choice([n for n in range(len(jobs.nodes)) if n != leader])
        jobs.nodes[number].kill()
        subprocess.run(["rm", "-rf", jobs.data_dir(number)], check=True)


if __name__ == "__main__":
    if not os.access(ETCD, os.X_OK):
        print(f"skipped: there is no etcd at {ETCD}")
        sys.exit(77)
    unittest.main(verbosity=2)
