"""Members of etcd and nodes of a cluster, as processes on loopback."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """A process that can be killed, stopped and started again, with its output in a file."""

    def __init__(self, arguments, log):
        self.arguments = arguments
        self.log = log
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        if self.is_running():
            self.process.send_signal(number)

    def kill(self):
        if self.process is not None:
            self.signal(signal.SIGKILL)
            self.process.wait(30)

    def wait(self, seconds):
        """Its exit code."""
        return self.process.wait(seconds)

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()


class Cluster:
    """`members` of etcd and `nodes` of Perennial. Use it in a with statement."""

    def __init__(self, etcd, perenniald, members=3, nodes=3, lease_s=5):
        # etcd syncs each transaction; in memory that costs this test no disk.
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="perennial-cluster-", dir=base)
        self.perenniald = perenniald
        peers = [free_port() for _ in range(members)]
        clients = [free_port() for _ in range(members)]
        initial = ",".join(f"m{i}=http://127.0.0.1:{port}" for i, port in enumerate(peers))
        self.endpoints = [f"http://127.0.0.1:{port}" for port in clients]
        self.members = []
        for i in range(members):
            arguments = [
                etcd, "--name", f"m{i}", "--data-dir", f"{self.folder}/m{i}",
                "--listen-client-urls", self.endpoints[i], "--advertise-client-urls", self.endpoints[i],
                "--listen-peer-urls", f"http://127.0.0.1:{peers[i]}",
                "--initial-advertise-peer-urls", f"http://127.0.0.1:{peers[i]}",
                "--initial-cluster", initial, "--snapshot-count", "2000",
            ]  # fmt: skip
            self.members.append(Process(arguments, f"{self.folder}/m{i}.log"))
        self.ports = [free_port() for _ in range(nodes)]
        self.nodes = [self._node(i, lease_s) for i in range(nodes)]

    def _node(self, number, lease_s):
        config = f"{self.folder}/n{number}.yaml"
        endpoints = ", ".join(f'"{endpoint}"' for endpoint in self.endpoints)
        with open(config, "w", encoding="utf-8") as file:
            file.write(
                f"data_dir: {self.data_dir(number)}\n"
                f"listen: 127.0.0.1\nport: {self.ports[number]}\n"
                "low_water_bytes: 0\nballast_bytes: 0\n"
                f"cluster:\n  name: jobs\n  node: n{number}\n  etcd: [{endpoints}]\n"
                f"  client_address: 127.0.0.1:{self.ports[number]}\n  lease_s: {lease_s}\n"
            )
        return Process([self.perenniald, "--config", config], f"{self.folder}/n{number}.log")

    def data_dir(self, number):
        return f"{self.folder}/n{number}"

    def start(self):
        for process in self.members + self.nodes:
            process.start()

    def restart_ended_nodes(self):
        """As a supervisor does. Returns the exit codes."""
        codes = []
        for node in self.nodes:
            if not node.is_running():
                codes.append(node.process.returncode)
                node.start()
        return codes

    def leader(self):
        """The number of the node that serves; None: none does."""
        for number, port in enumerate(self.ports):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return number
            except OSError:
                continue
        return None

    def wait_for_leader(self, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            number = self.leader()
            if number is not None:
                return number
            time.sleep(0.02)
        raise AssertionError("no node leads:\n" + self.logs())

    def logs(self):
        return "\n".join(
            f"== {node.log}\n" + "\n".join(node.output().splitlines()[-15:]) for node in self.nodes
        )

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for process in self.nodes + self.members:
            process.signal(signal.SIGCONT)
            process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
