#!/usr/bin/env python3
"""Many TLS connections: what they cost in memory while they idle, and what others wait while all come back at once.

CONNECTIONS says how many; the specification's size is 10,000. PERENNIALD names the server.
"""

import os
import resource
import shutil
import tempfile
import threading
import time
import unittest

from server import Certificates, Server, context

CONNECTIONS = int(os.environ.get("CONNECTIONS", "500"))
THREADS = 4
IDLE_BYTES_MAX = 25_000  # For each: 10,000 take less than 250 MB.


def memory(server):
    """Resident, in bytes."""
    with open(f"/proc/{server.process.pid}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))


class Many(unittest.TestCase):
    def setUp(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard < CONNECTIONS + 100:
            self.skipTest(f"only {hard} descriptors are allowed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.folder = tempfile.mkdtemp(prefix="perennial-many-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.ca = Certificates(os.path.join(self.folder, "ca"))
        certificate, key = self.ca.issue("server")
        self.server = Server(self.folder, {"tls": {"certificate": certificate, "key": key}},
                             f"connections_max: {CONNECTIONS + 100}").start()
        self.addCleanup(self.server.stop)
        self.made = context(self.ca)

    def connect_all(self, sessions=None):
        """Connects from several threads. A refusal for the number of handshakes under way is tried again."""
        clients = [None] * CONNECTIONS

        def connect(first):
            for at in range(first, CONNECTIONS, THREADS):
                clients[at] = self.server.connect(self.made, session=sessions[at] if sessions else None)
                assert clients[at].ask(b"use a\r\n") == b"USING a\r\n"

        threads = [threading.Thread(target=connect, args=(first,)) for first in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertNotIn(None, clients)
        return clients

    def test_idle_connections_are_small(self):
        before = memory(self.server)
        clients = self.connect_all()
        self.assertEqual(self.server.stat("current-connections"), CONNECTIONS + 1)
        each = (memory(self.server) - before) / CONNECTIONS
        print(f"{CONNECTIONS} idle TLS connections: {each / 1e3:.1f} KB each")
        self.assertLess(each, IDLE_BYTES_MAX)
        for client in clients:
            client.close()

    def test_T22_all_come_back_at_once(self):
        clients = self.connect_all()
        sessions = [client.sock.session for client in clients]
        for client in clients:
            client.close()
        waits = []
        done = threading.Event()

        def measure():
            with self.server.plain() as other:
                while not done.is_set():
                    begun = time.monotonic()
                    self.assertEqual(other.ask(b"use a\r\n"), b"USING a\r\n")
                    waits.append(time.monotonic() - begun)

        watcher = threading.Thread(target=measure)
        watcher.start()
        try:
            clients = self.connect_all(sessions)
        finally:
            done.set()
            watcher.join()
        resumed = sum(client.sock.session_reused for client in clients)
        waits.sort()
        print(f"{CONNECTIONS} connections come back, {resumed} of them resumed: p99 of another client "
              f"{waits[len(waits) * 99 // 100] * 1e3:.1f} ms, longest turn "
              f"{self.server.stat('loop-lag-us') / 1e3:.1f} ms")
        self.assertEqual(self.server.stat("current-connections"), CONNECTIONS + 1)
        for client in clients:
            client.close()


if __name__ == "__main__":
    unittest.main()
