"""perennial health, as a container's engine runs it. PERENNIALD and PERENNIAL name the programs."""

import contextlib
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../../tls"), os.path.join(HERE, "../../../support")]
from ports import free_port  # noqa: E402
from server import Certificates  # noqa: E402

PERENNIALD = os.environ.get("PERENNIALD", "build/perenniald")
PERENNIAL = os.environ.get("PERENNIAL", "build/perennial")
SECONDS = 30  # The longest wait for anything, on a machine that does much else.
USERS = ('users:\n- {name: operator, tokens: ["k1:sha256:' + "0" * 64 + '"], '
         'grants: [{tubes: ["*"], verbs: [produce]}]}\n')


class Health(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perennial-health-")
        self.addCleanup(shutil.rmtree, self.folder)

    def health(self, *flags):
        # Whatever the machine has for other commands is none of its business.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PERENNIAL_")}
        environment["PERENNIAL_TOKEN"] = "no token"
        if "--http" in flags:
            environment["PERENNIAL_SERVER"] = "unix:/no/such/server"
        return subprocess.run([PERENNIAL, "health", *flags], capture_output=True, text=True, timeout=SECONDS,
                              env=environment, check=False)

    def serve(self, *flags, settings=""):
        """Returns the process, and what its first line says."""
        path = os.path.join(self.folder, "perennial.yaml")
        with open(path, "w") as file:
            file.write(settings or "{}\n")
        process = subprocess.Popen([PERENNIALD, "--ephemeral", "--config", path, *flags], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        line = process.stdout.readline()
        self.assertTrue(line, process.stderr.read() if process.poll() is not None else "no line")
        return process, json.loads(line)

    @staticmethod
    def end(process):
        process.terminate()
        process.communicate(timeout=SECONDS)

    def assert_healthy(self, done, line):
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, line + "\n", ""))

    def assert_not(self, done, *words):
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    # ---- The port of the queue.

    def test_a_server_that_answers_is_healthy(self):
        _, said = self.serve()
        self.assert_healthy(self.health("--server", said["address"]), f"healthy: {said['address']}: it answers")
        self.assertEqual(self.health("--server", said["address"], "-q").stdout, "")

    def test_a_unix_socket_is_asked(self):
        address = f"unix:{self.folder}/queue"
        self.serve("-l", address)
        self.assert_healthy(self.health("--server", address), f"healthy: {address}: it answers")

    def test_who_has_not_signed_in_is_answered_too(self):
        _, said = self.serve(settings=USERS)
        self.assertEqual(self.health("--server", said["address"]).returncode, 0)

    def test_a_server_that_is_not_there_is_not(self):
        self.assert_not(self.health("--server", f"127.0.0.1:{free_port()}"), "connect: Connection refused")
        self.assert_not(self.health("--server", f"unix:{self.folder}/none"), "connect: No such file")

    def test_a_server_that_hangs_is_not(self):
        process, said = self.serve("--http", "127.0.0.1:0")
        process.send_signal(signal.SIGSTOP)
        try:
            for where in (("--server", said["address"]), ("--http", said["http"])):
                begun = time.monotonic()
                self.assert_not(self.health(*where, "--timeout", "300ms"), "the server does not answer")
                self.assertLess(time.monotonic() - begun, 3)
        finally:
            process.send_signal(signal.SIGCONT)

    def test_the_limit_is_of_all_of_it(self):
        for flag, beginning in (("--server", b"USING t"), ("--http", b"HTTP/1.1 200 O")):
            with dripping(beginning) as port:
                self.assert_not(self.health(flag, f"127.0.0.1:{port}", "--timeout", "500ms"), "within 500ms")
        with dripping(b"USING t") as port:
            done = self.health("--server", f"127.0.0.1:{port}", "--timeout", "500ms", "--json")
            self.assertEqual(done.returncode, 1)
            self.assertIs(json.loads(done.stdout)["healthy"], False)

    def test_another_program_is_not(self):
        with other_program() as port:
            self.assert_not(self.health("--server", f"127.0.0.1:{port}"), "no perennial or beanstalkd")
            self.assert_not(self.health("--http", f"127.0.0.1:{port}"), "status 404")
        with other_program({"/readyz?verbose": (200, "ok\n"), "/livez?verbose": (200, "")}) as port:
            self.assert_not(self.health("--http", f"127.0.0.1:{port}"), "no perennial")
            self.assert_not(self.health("--http", f"127.0.0.1:{port}", "--live"), "no perennial")
        _, said = self.serve()
        self.assert_not(self.health("--http", said["address"]), "does not speak HTTP")

    # ---- HTTP.

    def test_readiness_is_asked_over_http(self):
        process, said = self.serve("--http", "127.0.0.1:0")
        url = said["http"]
        ready = f"healthy: {url}/readyz?verbose: ok"
        self.assert_healthy(self.health("--http", url), ready)
        self.assert_healthy(self.health("--http", url + "/"), ready)
        self.assert_healthy(self.health("--http", url.removeprefix("http://")), ready)
        self.assert_healthy(self.health("--http", url, "--live"), f"healthy: {url}/livez?verbose: ok")
        self.assert_healthy(self.health("--http", url + "/leader"), f"healthy: {url}/leader: ok")
        self.assert_not(self.health("--http", url + "/none"), "status 404")
        process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + SECONDS
        while self.health("--http", url).returncode == 0:
            self.assertLess(time.monotonic(), end)
        self.assert_not(self.health("--http", url), url, "status 503: drain puts are refused: drain")
        self.assertEqual(self.health("--http", url, "--live").returncode, 0)
        self.assertEqual(self.health("--server", said["address"]).returncode, 0)

    def test_http_on_a_unix_socket_is_asked(self):
        address = f"unix:{self.folder}/http"
        self.serve("--http", address)
        self.assert_healthy(self.health("--http", address), f"healthy: {address}: ok")

    def test_a_server_that_is_degraded_is_healthy_and_says_why(self):
        body = "[+]recovery ok\n[+]disk ok, degraded: puts are refused, since the disk is nearly full\nreadyz check passed\n"
        with other_program({"/readyz?verbose": (200, body)}) as port:
            done = self.health("--http", f"http://127.0.0.1:{port}")
        self.assert_healthy(done, f"healthy: http://127.0.0.1:{port}/readyz?verbose: ok, but degraded: puts are refused, "
                                  "since the disk is nearly full")

    def test_an_answer_that_is_cut_off_is_none(self):
        with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nok\n") as port:
            self.assert_not(self.health("--http", f"127.0.0.1:{port}"), "the answer was cut off")

    # ---- TLS.

    def test_a_certificate_must_be_good(self):
        ca, stranger = (Certificates(os.path.join(self.folder, name), name) for name in ("own", "other"))
        certificate, key = ca.issue("server")
        port, http_port = free_port(), free_port()
        self.serve(settings=USERS + "listeners:\n" + "".join(
            f'- {{address: "127.0.0.1:{port}", {more}tls: {{certificate: {certificate}, key: {key}}}}}\n'
            for port, more in ((port, ""), (http_port, "protocol: http, "))))
        for where in (("--server", f"127.0.0.1:{port}", "--tls"), ("--http", f"https://127.0.0.1:{http_port}"),
                      ("--http", f"127.0.0.1:{http_port}", "--tls")):
            with self.subTest(where):
                self.assertEqual(self.health(*where, "--ca", ca.ca).returncode, 0, where)
                self.assert_not(self.health(*where, "--ca", stranger.ca), "certificate")
        # Without TLS nobody answers there.
        self.assert_not(self.health("--http", f"http://127.0.0.1:{http_port}", "--timeout", "2s"))

    # ---- Its command line.

    def test_json(self):
        _, said = self.serve()
        done = self.health("--server", said["address"], "--json")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout), {"healthy": True, "asked": said["address"], "answer": "it answers"})
        done = self.health("--server", f"unix:{self.folder}/none", "--json")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIs(json.loads(done.stdout)["healthy"], False)

    def test_a_wrong_command_line_ends_with_2(self):
        for flags in (("--live",), ("--http", "ftp://a"), ("--http", "a/b"), ("--http", ""), ("--timeout", "0"),
                      ("--server", "[::1")):
            with self.subTest(flags):
                done = self.health(*flags)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)


@contextlib.contextmanager
def accepting(answer):
    """Calls `answer` with each connection, on a thread of its own. Gives the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def accept():
            while not over.is_set():
                with contextlib.suppress(OSError):
                    client = listener.accept()[0]
                    threading.Thread(target=serve, args=(client,), daemon=True).start()

        def serve(client):
            with client, contextlib.suppress(OSError):
                answer(client, over)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            over.set()
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(SECONDS)


def dripping(beginning):
    """Answers with what may become a line, which never ends."""
    def answer(client, over):
        client.sendall(beginning)
        for _ in range(200):
            if over.is_set():
                return
            client.sendall(b"t")
            time.sleep(0.05)
    return accepting(answer)


def answering(text):
    def answer(client, _over):
        client.recv(4096)
        client.sendall(text)
    return accepting(answer)


@contextlib.contextmanager
def other_program(pages=None):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = (pages or {}).get(self.path, (404, "none\n"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as program:
        thread = threading.Thread(target=program.serve_forever, daemon=True)
        thread.start()
        try:
            yield program.server_address[1]
        finally:
            program.shutdown()


if __name__ == "__main__":
    unittest.main(verbosity=2)
