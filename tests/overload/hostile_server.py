"""The server that strangers attack, its doors, and the addresses from which clients come.

Everything happens in a network of its own, where all addresses of 198.51.100.0/24 are of this machine and none of them is
a loopback address. So the server takes clients from there for clients of other machines, whom it limits by address.
"""

import ctypes
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

PERENNIALD = os.environ.get("PERENNIALD", "build/perenniald")
PERENNIAL = os.environ.get("PERENNIAL", os.path.join(os.path.dirname(PERENNIALD), "perennial"))
ETCD = os.environ.get("ETCD", os.path.join(os.path.dirname(PERENNIALD), "etcd-server/usr/bin/etcd"))

SERVER = "198.51.100.2"
HONEST = "198.51.100.250"
ONE = "198.51.100.1"
HUNDRED = [f"198.51.100.{number}" for number in range(101, 201)]
LOCAL_ONE = "127.0.0.1"
LOCAL_HONEST = "127.0.2.1"
LOCAL_HUNDRED = [f"127.0.1.{number}" for number in range(1, 101)]

# In a network of its own nobody else has these ports. They are below those that the kernel gives to clients.
QUEUE, TLS, PROXY, HTTP, HTTPS, ETCD_CLIENT, ETCD_PEER = range(32_100, 32_107)

# Small enough that strangers on a small machine reach them all.
CONNECTIONS = 4_000
CONNECTIONS_PER_ADDRESS = 300  # Twice as many where there are users: those who have not signed in may have 200 of them.
HANDSHAKES = 100
HANDSHAKES_PER_ADDRESS = 25
HTTP_CONNECTIONS = 128
HTTP_CONNECTIONS_PER_ADDRESS = 32
MEMORY = 256 << 20
OUTPUT = 32 << 20
OUTPUT_EACH = 1 << 20
PENDING = 16 << 20
BODY_CACHE = 8 << 20
BODY = 65_535

IS_INSIDE = "PERENNIAL_HOSTILE_NETWORK"
PR_SET_PDEATHSIG = 1


def enter_network():
    """Starts this program again in a network of its own, which ends with it. False: that is not allowed here."""
    if IS_INSIDE in os.environ:
        return True
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    for words in (unshare, ["unshare", "--user", "--map-root-user", "--net"]):
        probe = subprocess.run([*words, "ip", "link", "set", "lo", "up"], capture_output=True, text=True, check=False)
        if probe.returncode == 0:
            sys.stdout.flush()
            os.environ[IS_INSIDE] = "yes"
            os.execvp("unshare", [*words, sys.executable, *sys.argv])
    print(f"no network of its own: {probe.stderr.strip()}")
    return False


def set_up_network():
    for words in (["link", "set", "lo", "up"], ["route", "add", "local", "198.51.100.0/24", "dev", "lo"]):
        subprocess.run(["ip", *words], check=True)


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """`form`: "open", without users; "users"; or "node", with users and as the only node of a cluster.

    `settings`: further lines, which replace those with the same key.
    """

    def __init__(self, form, settings=""):
        self.form = form
        self.has_users = form != "open"
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="perennial-hostile-", dir=base)
        self.tokens = {}
        self.etcd = None
        self.process = None
        self._make_certificate()
        self.log = f"{self.folder}/log"
        self.config = f"{self.folder}/perennial.yaml"
        lines = self._lines()
        for line in settings.splitlines():
            key = line.partition(":")[0]
            lines = [each for each in lines if each.partition(":")[0] != key] + [line]
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def doors(self):
        """Where clients connect: the kind of socket, where, and whether they speak TLS there, by name."""
        doors = {
            "queue": {"at": [SERVER, QUEUE], "speaks": "queue"},
            "queue-local": {"at": ["127.0.0.1", QUEUE], "speaks": "queue"},
            "queue-unix": {"unix": f"{self.folder}/queue", "speaks": "queue"},
            "queue-tls": {"at": [SERVER, TLS], "speaks": "queue", "tls": True},
            "queue-proxy": {"at": ["127.0.0.1", PROXY], "speaks": "queue", "proxy": True},
            "http-local": {"at": ["127.0.0.1", HTTP], "speaks": "http"},
            "http-unix": {"unix": f"{self.folder}/http", "speaks": "http"},
        }
        if self.has_users:
            doors["https"] = {"at": [SERVER, HTTPS], "speaks": "http", "tls": True}
        return doors

    def context(self):
        context = ssl.create_default_context(cafile=f"{self.folder}/server.pem")
        context.check_hostname = False
        return context

    def start(self):
        if self.form == "node":
            self._start_etcd()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([PERENNIALD, "--config", self.config], stderr=log, stdin=subprocess.DEVNULL,
                                            preexec_fn=end_with_parent)
        end = time.monotonic() + 60
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"the server does not serve:\n{self.text_of_log()}")
            time.sleep(0.05)

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{HTTP}/readyz", timeout=1) as answer:
                if answer.status != 200:
                    return False
            if self.form == "node":
                with urllib.request.urlopen(f"http://127.0.0.1:{HTTP}/leader", timeout=1) as answer:
                    return answer.status == 200
            return True
        except OSError:
            return False

    def stop(self, seconds=20):
        """The exit code of SIGTERM, and after how many seconds it came."""
        begun = time.monotonic()
        self.process.terminate()
        code = self.process.wait(seconds)
        return code, time.monotonic() - begun

    def close(self):
        for process in (self.process, self.etcd):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)

    def text_of_log(self):
        with open(self.log, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()

    def resident(self):
        """Bytes: now, and the most since the start."""
        found = {}
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith(("VmRSS:", "VmHWM:")):
                    found[line[:5]] = int(line.split()[1]) * 1024
        return found["VmRSS"], found["VmHWM"]

    def descriptors(self):
        """How many descriptors are sockets, and how many are something else."""
        sockets = others = 0
        folder = f"/proc/{self.process.pid}/fd"
        for name in os.listdir(folder):
            try:
                is_socket = os.readlink(f"{folder}/{name}").startswith("socket:")
            except FileNotFoundError:
                continue
            sockets, others = (sockets + 1, others) if is_socket else (sockets, others + 1)
        return sockets, others

    def loop_seconds(self):
        """How long the loop's thread has run, and for how long it could have run and got no processor."""
        with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as file:
            ran, waited = file.read().split()[:2]
        return int(ran) / 1e9, int(waited) / 1e9

    def _make_certificate(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", f"subjectAltName=DNS:localhost,IP:127.0.0.1,IP:{SERVER}",
             "-keyout", f"{self.folder}/server.key", "-out", f"{self.folder}/server.pem"],
            check=True, capture_output=True)
        os.chmod(f"{self.folder}/server.key", 0o600)

    def _user(self, name, grants):
        made = subprocess.run([PERENNIAL, "token", "new", "--user", name], check=True, capture_output=True, text=True)
        self.tokens[name] = made.stdout.strip()
        line = re.search(r"\w+:sha256:\w+", made.stderr)[0]
        return f'  - {{name: {name}, tokens: ["{line}"], grants: [{grants}]}}'

    def _lines(self):
        tls = f"tls: {{certificate: {self.folder}/server.pem, key: {self.folder}/server.key}}"
        listeners = [
            f'{{address: "0.0.0.0:{TLS}", {tls}}}',
            f'{{address: "127.0.0.1:{PROXY}", proxy: true, proxy_from: "127.0.0.0/8"}}',
            f'{{address: "unix:{self.folder}/queue"}}',
            f'{{address: "unix:{self.folder}/http", protocol: http}}',
        ]
        lines = [
            f"data_dir: {self.folder}/data", f'listen: ["0.0.0.0:{QUEUE}"]', f'http_listen: "127.0.0.1:{HTTP}"',
            f"connections_max: {CONNECTIONS}", f"connections_per_address_max: {CONNECTIONS_PER_ADDRESS * (2 if self.has_users else 1)}",
            f"tls_handshakes_pending_max: {HANDSHAKES}", f"tls_handshakes_per_address_max: {HANDSHAKES_PER_ADDRESS}",
            f"http_connections_max: {HTTP_CONNECTIONS}",
            f"http_connections_per_address_max: {HTTP_CONNECTIONS_PER_ADDRESS}", f"memory_bytes_max: {MEMORY}",
            f"output_total_bytes_max: {OUTPUT}", f"output_bytes_max: {OUTPUT_EACH}", f"pending_bytes_max: {PENDING}",
            f"body_cache_bytes: {BODY_CACHE}", f"job_bytes_max: {BODY}", "ballast_bytes: 1MiB",
            "log_bytes_max: 16MiB",
        ]
        if self.has_users:
            listeners.append(f'{{address: "0.0.0.0:{HTTPS}", protocol: http, {tls}}}')
            verbs = "verbs: [produce, consume, inspect]"
            lines += [
                "users:",
                self._user("witness", f'{{tubes: ["witness-*"], {verbs}}}, {{verbs: [monitor]}}'),
                self._user("guest", '{tubes: ["guest-*"], verbs: [produce, consume, inspect, manage]}'),
                self._user("node", "{verbs: [admin, monitor]}"),
            ]
        if self.form == "node":
            with open(f"{self.folder}/token", "w", encoding="ascii") as file:
                os.chmod(file.fileno(), 0o600)
                file.write(self.tokens["node"] + "\n")
            lines.append(
                f'cluster: {{name: jobs, node: a, etcd: ["http://127.0.0.1:{ETCD_CLIENT}"], client_address: "{SERVER}:{QUEUE}", '
                f'peer_address: "{SERVER}:{HTTPS}", peer_ca: {self.folder}/server.pem, peer_token_file: {self.folder}/token, '
                f"copies_min: 1}}")
        return [*lines, "listeners: [" + ", ".join(listeners) + "]"]

    def _start_etcd(self):
        client, peer = f"http://127.0.0.1:{ETCD_CLIENT}", f"http://127.0.0.1:{ETCD_PEER}"
        with open(f"{self.folder}/etcd.log", "ab") as log:
            self.etcd = subprocess.Popen(
                [ETCD, "--name", "m", "--data-dir", f"{self.folder}/etcd", "--listen-client-urls", client,
                 "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", f"m={peer}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent)


def as_text(server):
    """What the processes of strangers have to know, without the tokens of others."""
    known = {"doors": server.doors(), "form": server.form, "ca": f"{server.folder}/server.pem"}
    if server.has_users:
        known["token"] = server.tokens["guest"]
    return json.dumps(known)
