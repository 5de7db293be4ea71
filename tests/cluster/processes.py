"""Members of etcd and nodes of a cluster, as processes on loopback."""

import contextlib
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from ports import free_port  # noqa: E402


class Process:
    """A process that can be killed, stopped and started again, with its output in a file."""

    def __init__(self, arguments, log, environment=None):
        self.arguments = arguments
        self.log = log
        self.environment = environment or {}  # Beside that of this process.
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=os.environ | self.environment
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
        """What it has printed; nothing if it was never started."""
        if not os.path.exists(self.log):
            return ""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()


class Cluster:
    """`members` of etcd and `nodes` of Perennial. Use it in a with statement."""

    def __init__(self, etcd, perenniald, members=3, nodes=3, lease_s=5, standby_clients="forward", settings="",
                 peer_ports=None, network=None, folder=None, peers_show=None, clients_go_to=None,
                 client_tls=False, priorities=None, etcd_scheme="http", etcd_flags=()):  # fmt: skip
        """`settings`: more lines of the section `cluster` and, without an indent, behind it. `peer_ports`: what the nodes say of their HTTP ports.

        `priorities`: those of nodes by their numbers; the others have the default.
        `clients_go_to`: of a node's number the one whose address it says to be its own `client_address`.
        `client_tls`: clients of the queue speak TLS. It needs `peers_show`.
        `etcd_scheme`: with https, `etcd_flags` hold the certificate of each member.
        `folder`: where everything is kept, if not in memory.
        `network`: a Network with the machines m0, m1 and so on for the members, and n0 and so on for the nodes.
        `peers_show`: "token" or "certificate": the nodes speak TLS among each other, and show that. With a network
        they always do: a token, if nothing else is said.
        """
        # etcd syncs each transaction; in memory that costs this test no disk.
        base = folder or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.folder = tempfile.mkdtemp(prefix="perennial-cluster-", dir=base)
        self.perenniald = perenniald
        self.network = network
        peers = [free_port() for _ in range(members)]
        clients = [free_port() for _ in range(members)]
        peer_urls = [f"http://{self.host(f'm{i}')}:{port}" for i, port in enumerate(peers)]
        initial = ",".join(f"m{i}={url}" for i, url in enumerate(peer_urls))
        self.endpoints = [f"{etcd_scheme}://{self.host(f'm{i}')}:{port}" for i, port in enumerate(clients)]
        self.members = []
        for i in range(members):
            arguments = [
                *self.inside(f"m{i}"), etcd, "--name", f"m{i}", "--data-dir", f"{self.folder}/m{i}",
                "--listen-client-urls", self.endpoints[i], "--advertise-client-urls", self.endpoints[i],
                "--listen-peer-urls", peer_urls[i], "--initial-advertise-peer-urls", peer_urls[i],
                "--initial-cluster", initial, "--snapshot-count", "2000", *etcd_flags,
            ]  # fmt: skip
            self.members.append(Process(arguments, f"{self.folder}/m{i}.log", {"GOGC": "40"}))
        self.directories = [f"{self.folder}/n{number}" for number in range(nodes)]
        self.ports = [free_port() for _ in range(nodes)]
        self.http_ports = [free_port() for _ in range(nodes)]
        self.peer_ports = peer_ports or self.http_ports
        self.clients_go_to = clients_go_to or {}
        self.client_tls = client_tls
        self.addresses = [(self.host(f"n{i}"), port) for i, port in enumerate(self.ports)]
        self.peers_show = peers_show or ("token" if network else None)
        self.tls = self._make_certificate(nodes) if self.peers_show else None
        of_nodes = {i: f"  priority: {priority}\n" for i, priority in (priorities or {}).items()}
        self.nodes = [self._node(i, lease_s, standby_clients, settings + of_nodes.get(i, "")) for i in range(nodes)]

    def host(self, machine):
        return self.network.addresses[machine] if self.network else "127.0.0.1"

    def inside(self, machine):
        return self.network.inside(machine) if self.network else []

    def _make_certificate(self, nodes):
        """One for all nodes, and a token. Returns what trusts it."""
        names = ",".join({f"IP:{self.host(f'n{i}')}" for i in range(nodes)})
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "2",
             "-subj", "/CN=nodes", "-addext", f"subjectAltName={names}", "-keyout", f"{self.folder}/nodes.key",
             "-out", f"{self.folder}/nodes.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
        made = subprocess.run(
            [self.tool(), "token", "new", "--user", "node"], check=True, capture_output=True, text=True
        )
        with open(f"{self.folder}/token", "w", encoding="ascii") as file:
            os.chmod(file.fileno(), 0o600)
            file.write(made.stdout)
        self.token_line = re.search(r"\w+:sha256:\w+", made.stderr)[0]
        context = ssl.create_default_context(cafile=f"{self.folder}/nodes.pem")
        if self.peers_show == "certificate":
            context.load_cert_chain(f"{self.folder}/nodes.pem", f"{self.folder}/nodes.key")
        return context

    def tool(self):
        return os.path.join(os.path.dirname(self.perenniald), "perennial")

    def _addresses_of(self, number):
        """The settings of where a node listens, and for whom."""
        host = self.host(f"n{number}")
        client, http = f"{host}:{self.ports[number]}", f"{host}:{self.http_ports[number]}"
        if not self.peers_show:
            return f"listen: {client}\nhttp_listen: {http}\n"
        files = f"certificate: {self.folder}/nodes.pem, key: {self.folder}/nodes.key"
        shown = f'tokens: ["{self.token_line}"]'
        if self.peers_show == "certificate":
            files += f", client_ca: {self.folder}/nodes.pem, client: require"
            shown = 'certificates: ["CN=nodes"]'
        client_tls = f", tls: {{certificate: {self.folder}/nodes.pem, key: {self.folder}/nodes.key}}"
        return (
            f'listeners:\n  - {{address: "{client}", user: load{client_tls if self.client_tls else ""}}}\n'
            f'  - {{address: "{http}", protocol: http, tls: {{{files}}}}}\n'
            'users:\n  - {name: load, grants: [{tubes: ["*"], verbs: [produce, consume, inspect, manage, monitor]}]}\n'
            f"  - {{name: node, {shown}, grants: [{{verbs: [admin]}}]}}\n"
        )

    def _node(self, number, lease_s, standby_clients, settings):
        config = f"{self.folder}/n{number}.yaml"
        host = self.host(f"n{number}")
        clients_go_to = self.clients_go_to.get(number, number)
        peers = ""
        if self.peers_show:
            peers += f"  peer_ca: {self.folder}/nodes.pem\n"
        if self.peers_show == "token":
            peers += f"  peer_token_file: {self.folder}/token\n"
        if self.peers_show == "certificate":
            peers += f"  peer_certificate: {self.folder}/nodes.pem\n  peer_key: {self.folder}/nodes.key\n"
        endpoints = ", ".join(f'"{endpoint}"' for endpoint in self.endpoints)
        with open(config, "w", encoding="utf-8") as file:
            file.write(
                f"data_dir: {self.data_dir(number)}\n"
                f"{self._addresses_of(number)}"
                "low_water_bytes: 0\nballast_bytes: 0\n"
                f"cluster:\n  name: jobs\n  node: n{number}\n  etcd: [{endpoints}]\n"
                f"  client_address: {self.host(f'n{clients_go_to}')}:{self.ports[clients_go_to]}\n"
                f"  peer_address: {host}:{self.peer_ports[number]}\n"
                f"  lease_s: {lease_s}\n  standby_clients: {standby_clients}\n{peers}{settings}"
            )
        return Process([*self.inside(f"n{number}"), self.perenniald, "--config", config], f"{self.folder}/n{number}.log")

    def data_dir(self, number):
        return self.directories[number]

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

    @contextlib.contextmanager
    def supervised(self):
        """Starts nodes again as they end, like a supervisor. Gives the list of pairs of number and exit code."""
        ended, is_over = [], threading.Event()

        def watch():
            while not is_over.wait(0.1):
                for number, node in enumerate(self.nodes):
                    if node.process is not None and not node.is_running():
                        ended.append((number, node.process.returncode))
                        node.start()

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield ended
        finally:
            is_over.set()
            watcher.join()

    def leader(self):
        """The number of the node that serves; None: none does."""
        for number in range(len(self.nodes)):
            if self.ask(number, "/leader")[0] == 200:
                return number
        return None

    def ask(self, number, path):
        """The status and the text of a GET at a node's HTTP port; 0: it does not answer."""
        scheme = "https" if self.tls else "http"
        url = f"{scheme}://{self.host(f'n{number}')}:{self.http_ports[number]}{path}"
        try:
            with urllib.request.urlopen(url, timeout=1, context=self.tls) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def wait_for_leader(self, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            number = self.leader()
            if number is not None:
                return number
            time.sleep(0.02)
        raise AssertionError(f"no node leads:\n{self.describe()}")

    def describe(self):
        """What a person looks at who wants to know why something does not go on."""
        lines = [f"status: {self.status()}"]
        for number, node in enumerate(self.nodes):
            code = node.process.poll() if node.process else "never started"
            lines.append(f"n{number}: exit code {code}, {self.ask(number, '/readyz?verbose')}")
        for number, member in enumerate(self.members):
            lines.append(f"m{number}: exit code {member.process.poll()}\n" + "\n".join(member.output().splitlines()[-5:]))
        return "\n".join(lines) + "\n" + self.logs()

    def status(self):
        """What `perennial cluster status` says; None: it cannot say it."""
        arguments = [self.tool(), "cluster", "status", "--json", "--config", f"{self.folder}/n0.yaml"]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
        return json.loads(done.stdout) if done.stdout else None

    def wait_until_equal(self, seconds=60):
        """Until all nodes have flushed the log to its end, while nothing is written. `seconds` without progress fail."""
        deadline = time.monotonic() + seconds
        seen = None
        while time.monotonic() < deadline:
            status = self.status()
            flushed = sorted(node["flushed"] for node in status["nodes"]) if status else []
            if len(flushed) == len(self.nodes) and set(flushed) == {status["log"]["last"]}:
                return
            if flushed != seen:
                seen, deadline = flushed, time.monotonic() + seconds
            time.sleep(0.5)
        raise AssertionError(f"the nodes are not equal:\n{self.describe()}")

    def contents(self):
        """What each node's directory holds, after all nodes were killed: what is the same on equal nodes."""
        for node in self.nodes:
            node.kill()
        return [self._content(number) for number in range(len(self.nodes))]

    def _content(self, number):
        dump = subprocess.run(
            [self.tool(), "dump", "--data-dir", self.data_dir(number)], capture_output=True, text=True, check=True
        )
        lines = dump.stdout.splitlines()
        head = json.loads(lines[0])
        head["commit"] = head["commit"]["index"]  # Each directory counts its own epochs.
        return [head] + lines[1:-1]  # The last one is a hash of them all.

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
        if self.network:
            self.network.close()
        shutil.rmtree(self.folder, ignore_errors=True)
