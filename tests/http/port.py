"""A real server with the HTTP port, for the tests beside this file. PERENNIALD names the server, PERENNIAL the tool."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from ports import free_port  # noqa: E402

PERENNIALD = os.environ.get("PERENNIALD", "build/perenniald")
PERENNIAL = os.environ.get("PERENNIAL", "build/perennial")


def unpacked(program, package):
    """The path of a program that tests/run has unpacked beside the build, or that is installed. Else the test is skipped."""
    root = os.path.dirname(os.path.abspath(PERENNIALD))
    for folder in ("usr/bin", "usr/sbin"):
        path = os.path.join(root, package, folder, program)
        if os.access(path, os.X_OK):
            return path
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin")
    if path is None:
        raise unittest.SkipTest(f"{program} is not here: it is in Debian's package {package}, which tests/run fetches")
    return path


class Port(unittest.TestCase):
    # More lines of the configuration. {folder} and {https} are filled in.
    settings = ""
    https = 0

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perennial-http-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.queue, self.port = free_port(), free_port()
        with open(os.path.join(self.folder, "perennial.yaml"), "w") as file:
            file.write("ballast_bytes: 1MiB\n" + self.settings.format(folder=self.folder, https=self.https))
        self.log = open(os.path.join(self.folder, "log"), "a+")
        self.addCleanup(self.log.close)
        self.start()
        self.addCleanup(self.stop)

    def start(self):
        before = self.text_of_log().count("at=listen ")
        self.process = subprocess.Popen(
            [PERENNIALD, "--config", os.path.join(self.folder, "perennial.yaml"), "-b",
             os.path.join(self.folder, "data"), "-l", f"127.0.0.1:{self.queue}", "--http",
             f"127.0.0.1:{self.port}"], stderr=self.log)
        end = time.monotonic() + 20
        while self.text_of_log().count("at=listen ") < before + 2 + self.settings.count("address:"):
            self.assertIsNone(self.process.poll(), self.text_of_log())
            self.assertLess(time.monotonic(), end, self.text_of_log())
            time.sleep(0.02)

    def make_certificate(self):
        """For a listener with TLS, if it is not there yet."""
        if os.path.exists(os.path.join(self.folder, "cert.pem")):
            return
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-keyout", f"{self.folder}/key.pem", "-out", f"{self.folder}/cert.pem", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,DNS:queue.test,IP:127.0.0.1"], check=True, capture_output=True)
        os.chmod(os.path.join(self.folder, "key.pem"), 0o600)

    def stop(self):
        self.process.terminate()
        self.assertEqual(self.process.wait(20), 0, self.text_of_log())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)

    def text_of_log(self):
        with open(self.log.name) as file:
            return file.read()

    def exchange(self, path, method="GET", body=None, **fields):
        """The status, the fields and the bytes of an answer."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as client:
            client.request(method, path, body=body, headers=fields)
            got = client.getresponse()
            return got.status, {name.lower(): value for name, value in got.getheaders()}, got.read()

    def ask(self, path, method="GET", **fields):
        status, _, body = self.exchange(path, method, **fields)
        return status, body.decode()

    def api(self, path, method="GET", value=None, **fields):
        """The status and the value of an answer of the API."""
        if value is not None:
            fields["Content-Type"] = "application/json"
        status, _, body = self.exchange("/api/v1" + path, method, None if value is None else json.dumps(value), **fields)
        return status, json.loads(body) if body else None

    def speak(self, text):
        """What the queue answers to these lines."""
        with socket.create_connection(("127.0.0.1", self.queue), 10) as raw:
            raw.sendall(text + b"quit\r\n")
            return raw.makefile("rb").read()

    def send(self, data):
        """What the port answers to these bytes until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as raw:
            raw.sendall(data)
            return raw.makefile("rb").read()

    def stats(self, command=b"stats"):
        """The keys and values of `stats` or `stats-tube NAME`."""
        document = self.speak(command + b"\r\n").decode().partition("---\n")[2]
        return dict(row.split(": ", 1) for row in document.splitlines() if row)

    def put_some_work(self):
        """Four tubes, jobs in each state, and some commands and requests."""
        self.speak(b"use mail\r\nput 0 0 60 1\r\na\r\nput 9999 100 60 1\r\nb\r\nuse a.b\r\nput 0 0 60 1\r\nc\r\n"
                   b"use odd+/;.$_()-tube\r\nput 0 0 60 1\r\nd\r\npause-tube mail 100\r\n"
                   b"watch a.b\r\nreserve\r\nbury 3 0\r\npeek 77\r\n")
        self.ask("/livez")
        self.ask("/nowhere")


class WithUsers(Port):
    """The server knows the users of `grants`, each with a token of its own."""

    settings = "users_file: {folder}/users.yaml\n"
    grants = {}

    def setUp(self):
        self.tokens = {}
        self.lines = ""
        for user, granted in self.grants.items():
            made = subprocess.run([PERENNIAL, "token", "new", "--user", user], capture_output=True, text=True, check=True)
            self.tokens[user] = made.stdout.strip()
            self.lines += made.stderr + f"  grants: {granted}\n"
        super().setUp()

    def start(self):
        path = os.path.join(self.folder, "users.yaml")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(self.lines)
        super().start()

    def shown(self, user):
        return {"Authorization": f"Bearer {self.tokens[user]}"}
