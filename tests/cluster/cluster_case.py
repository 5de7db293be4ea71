"""What tests of a cluster share: one that is ended with its test, and waiting."""

import os
import time
import unittest

from processes import Cluster

PERENNIALD = os.environ["PERENNIALD"]
ETCD = os.environ.get("ETCD", os.path.join(os.path.dirname(PERENNIALD), "etcd-server/usr/bin/etcd"))


class ClusterCase(unittest.TestCase):
    def begin(self, **how):
        jobs = Cluster(ETCD, PERENNIALD, **how)
        self.addCleanup(jobs.__exit__, None, None, None)
        return jobs

    def wait_for(self, what, seconds=30, trouble=lambda: ""):
        deadline = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), deadline, trouble())
            time.sleep(0.05)
