"""Clients behind HAProxy, with the example of etc/docs/cluster.md, while the leader is killed.

PERENNIALD names the server. ETCD and HAPROXY name the others, which are otherwise looked for beside the server.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ledger import Load, all_jobs  # noqa: E402
from processes import Cluster, free_port  # noqa: E402

PERENNIALD = os.environ["PERENNIALD"]
BUILD = os.path.dirname(PERENNIALD)
ETCD = os.environ.get("ETCD", os.path.join(BUILD, "etcd-server/usr/bin/etcd"))
HAPROXY = os.environ.get("HAPROXY", os.path.join(BUILD, "haproxy/usr/sbin/haproxy"))
DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../etc/docs/cluster.md")


def example(jobs, front):
    """The settings of the document, with the addresses of this machine."""
    with open(DOCUMENT, encoding="utf-8") as file:
        text = re.search(r"```haproxy\n(.*?)```", file.read(), re.DOTALL)[1]
    changes = [("10.0.0.5:11300", f"127.0.0.1:{front}"), (" port 11380", "")]
    for i, port in enumerate(jobs.ports):
        changes.append((f"10.0.0.{i + 1}:11300", f"127.0.0.1:{port} port {jobs.http_ports[i]}"))
    for was, now in changes:
        if was not in text:
            raise AssertionError(f"the example has no {was}")
        text = text.replace(was, now)
    return text


class BehindHaproxy(unittest.TestCase):
    def test_clients_find_the_leader_and_the_next_one(self):
        with Cluster(ETCD, PERENNIALD, members=1, standby_clients="refuse") as jobs:
            jobs.start()
            jobs.wait_for_leader()
            front = free_port()
            path = os.path.join(jobs.folder, "haproxy.cfg")
            with open(path, "w", encoding="utf-8") as file:
                file.write("global\n  log stdout format raw local0\n" + example(jobs, front))
            with open(os.path.join(jobs.folder, "haproxy.log"), "w", encoding="utf-8") as output:
                haproxy = subprocess.Popen([HAPROXY, "-db", "-f", path], stdout=output, stderr=output)
            try:
                self.use(jobs, front)
            finally:
                haproxy.kill()
                haproxy.wait(10)

    def use(self, jobs, front):
        self.wait_for_service(front)
        load = Load([front], producers=2, workers=1)
        for _ in range(2):
            time.sleep(2)
            killed = jobs.wait_for_leader()
            jobs.nodes[killed].signal(signal.SIGKILL)
            stored = len(load.ledger.stored)
            started = time.monotonic()
            while len(load.ledger.stored) <= stored + 5 and time.monotonic() < started + 30:
                time.sleep(0.01)
            print(f"stored again {time.monotonic() - started:.2f} s after the leader's death")
            self.assertGreater(len(load.ledger.stored), stored + 5, jobs.logs())
            self.assertNotEqual(jobs.wait_for_leader(), killed)
            jobs.restart_ended_nodes()
        load.stop()
        self.assertEqual(load.ledger.judge(all_jobs([front])), [], jobs.logs())

    def wait_for_service(self, front):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                with socket.create_connection(("127.0.0.1", front), timeout=2) as client:
                    client.sendall(b"list-tube-used\r\n")
                    if client.recv(100) == b"USING default\r\n":
                        return
            except OSError:
                pass
            time.sleep(0.05)
        raise AssertionError("HAProxy finds no leader")


if __name__ == "__main__":
    for program in (ETCD, HAPROXY):
        if not os.access(program, os.X_OK):
            print(f"skipped: there is no {program}")
            sys.exit(77)
    unittest.main(verbosity=2)
