"""One node, or two: a kill, the loss of a directory, a stop, and the directory of another cluster.

PERENNIALD names the server. ETCD names etcd, which is otherwise looked for beside the server, where tests/run unpacks it.
"""

import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ledger import Client, all_jobs  # noqa: E402
from processes import Cluster  # noqa: E402

PERENNIALD = os.environ["PERENNIALD"]
ETCD = os.environ.get("ETCD", os.path.join(os.path.dirname(PERENNIALD), "etcd-server/usr/bin/etcd"))


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


if __name__ == "__main__":
    if not os.access(ETCD, os.X_OK):
        print(f"skipped: there is no etcd at {ETCD}")
        sys.exit(77)
    unittest.main(verbosity=2)
