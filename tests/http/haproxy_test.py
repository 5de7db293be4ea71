#!/usr/bin/env python3
"""The real server behind HAProxy: the example of etc/docs/http.md, and T9, request smuggling. PERENNIALD names the server."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import time
import unittest

from port import Port, free_port, unpacked
from smuggling import CASES, Smuggling

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../etc/docs/http.md")
NAME = "queue.example"
GLOBAL = "global\n  log stdout format raw local0\n"

# Nobody looks after the server, because that would be a request, too.
SMUGGLING = """
defaults
  mode http
  log global
  timeout connect 5s
  timeout client 2s
  timeout server 5s
  timeout http-request 2s
  timeout http-keep-alive 2s
  retries 0
  log-format "passed %s %ST"

listen strict
  bind 127.0.0.1:{strict}
  server queue 127.0.0.1:{port}

# It passes on what it can.
listen lenient
  bind 127.0.0.1:{lenient}
  option accept-invalid-http-request
  http-reuse always
  server queue 127.0.0.1:{port}
"""


class BehindHaproxy(Port):
    def start_haproxy(self, settings, port):
        """HAProxy with these settings, which listens on the port."""
        path = os.path.join(self.folder, "haproxy.cfg")
        with open(path, "w") as file:
            file.write(GLOBAL + settings)
        self.output = open(os.path.join(self.folder, "haproxy.output"), "w+")
        self.addCleanup(self.output.close)
        self.haproxy = subprocess.Popen([unpacked("haproxy", "haproxy"), "-db", "-f", path], stdout=self.output,
                                        stderr=self.output)
        self.addCleanup(self.end_haproxy)
        self.wait_for(lambda: self.is_open(port), "HAProxy does not listen")

    def end_haproxy(self):
        if self.haproxy.poll() is None:
            self.haproxy.send_signal(signal.SIGUSR1)  # What has begun is finished.
            try:
                self.haproxy.wait(20)
            except subprocess.TimeoutExpired:
                self.haproxy.kill()
                self.haproxy.wait()

    def written(self):
        with open(self.output.name) as file:
            return file.read()

    def is_open(self, port):
        self.assertIsNone(self.haproxy.poll(), self.written())
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
            return True
        except OSError:
            return False

    def wait_for(self, condition, message):
        end = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), end, message + "\n" + self.written())
            time.sleep(0.05)


class Example(BehindHaproxy):
    settings = f"http_hosts: {NAME}\nhttp_proxies: [127.0.0.1]\n"

    def setUp(self):
        super().setUp()
        certificate = os.path.join(self.folder, "queue.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=queue", "-addext", f"subjectAltName=DNS:{NAME}", "-keyout",
                        certificate + ".key", "-out", certificate], check=True, capture_output=True)
        self.trust = ssl.create_default_context(cafile=certificate)
        with open(certificate, "a") as both, open(certificate + ".key") as key:
            both.write(key.read())
        self.queue_front, self.http_front = free_port(), free_port()
        with open(DOCUMENT) as file:
            self.example = re.search(r"```haproxy\n(.*?)```", file.read(), re.DOTALL)[1]
        for was, now in (("10.0.0.5:11300", f"127.0.0.1:{self.queue_front}"),
                         ("10.0.0.5:443", f"127.0.0.1:{self.http_front}"),
                         ("127.0.0.1:11300", f"127.0.0.1:{self.queue}"),
                         ("127.0.0.1:11380", f"127.0.0.1:{self.port}"),
                         ("port 11380", f"port {self.port}"),
                         ("/etc/haproxy/queue.pem", certificate)):
            self.assertIn(was, self.example)
            self.example = self.example.replace(was, now)

    def client(self):
        """A connection to the queue by way of HAProxy."""
        client = socket.create_connection(("127.0.0.1", self.queue_front), 30)
        self.addCleanup(client.close)
        return client

    def is_served(self):
        """Whether HAProxy lets a new client in to the queue."""
        with contextlib.closing(self.client()) as client:
            try:
                client.sendall(b"use default\r\n")
                return client.recv(100) == b"USING default\r\n"
            except ConnectionError:
                return False

    def request(self, path, method="GET", value=None, name=NAME, **fields):
        """The status and the text of what is answered to a request by way of HAProxy, over TLS."""
        with contextlib.closing(http.client.HTTPConnection(NAME, timeout=30)) as client:
            plain = socket.create_connection(("127.0.0.1", self.http_front), 30)
            client.sock = self.trust.wrap_socket(plain, server_hostname=NAME)
            if value is not None:
                fields["Content-Type"] = "application/json"
            client.request(method, path, None if value is None else json.dumps(value), {"Host": name, **fields})
            got = client.getresponse()
            return got.status, got.read().decode()

    def test_debians_haproxy_finds_nothing_to_warn_of(self):
        path = os.path.join(self.folder, "checked.cfg")
        with open(path, "w") as file:
            file.write("global\n" + self.example)
        checked = subprocess.run([unpacked("haproxy", "haproxy"), "-c", "-dW", "-f", path], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_clients_work_through_it(self):
        self.start_haproxy(self.example, self.queue_front)
        self.wait_for(self.is_served, "no client is let in")
        producer, worker = self.client(), self.client().makefile("rwb")
        worker.write(b"reserve\r\n")
        worker.flush()
        body = b"a" * 60_000
        producer.sendall(b"put 0 0 60 %d\r\n%s\r\n" % (len(body), body))
        self.assertEqual(producer.recv(100), b"INSERTED 1\r\n")
        self.assertEqual(worker.readline(), b"RESERVED 1 60000\r\n")
        self.assertEqual(worker.read(len(body) + 2), body + b"\r\n")
        status, text = self.request("/api/v1/jobs/1")
        self.assertEqual((status, json.loads(text)["state"]), (200, "reserved"))
        self.assertEqual(self.request("/api/v1/jobs", "POST", {"tube": "mail", "body": "a letter"}),
                         (201, '{"id":"2","duplicate":false}\n'))
        self.assertEqual(self.request("/api/v1/jobs/2/body"), (200, "a letter"))
        self.assertEqual(self.request("/readyz?verbose")[1].splitlines()[-1], "readyz check passed")
        self.assertEqual(self.request("/livez", name="evil.example")[0], 421)

    def test_a_change_is_made_by_the_pages_of_that_name_only(self):
        self.start_haproxy(self.example, self.http_front)
        job = {"tube": "mail", "body": "a"}
        self.wait_for(lambda: self.request("/livez")[0] == 200, "no request is answered")
        self.assertEqual(self.request("/api/v1/jobs", "POST", job, **{"Sec-Fetch-Site": "same-origin"})[0], 201)
        # HAProxy has said that the page came over TLS, whatever the client says.
        for claims in ({}, {"X-Forwarded-Proto": "http"}):
            self.assertEqual(self.request("/api/v1/jobs", "POST", job, Origin=f"https://{NAME}", **claims)[0], 201)
        for fields in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"},
                       {"Origin": f"http://{NAME}"}):
            self.assertEqual(self.request("/api/v1/jobs", "POST", job, **fields)[0], 403, fields)

    def test_drain_takes_the_server_out_and_undrain_brings_it_back(self):
        self.start_haproxy(self.example, self.queue_front)
        self.wait_for(self.is_served, "no client is let in")
        worker = self.client()
        worker.sendall(b"put 0 0 60 1\r\na\r\nreserve\r\n")
        answered = worker.makefile("rb")
        self.assertEqual([answered.readline() for _ in range(3)], [b"INSERTED 1\r\n", b"RESERVED 1 1\r\n", b"a\r\n"])
        self.speak(b"drain\r\n")
        self.wait_for(lambda: not self.is_served(), "clients are still let in")
        self.wait_for(lambda: self.request("/livez")[0] == 503, "requests are still passed on")
        self.assertEqual(self.ask("/livez")[0], 200)
        # Who is there finishes.
        worker.sendall(b"delete 1\r\n")
        self.assertEqual(answered.readline(), b"DELETED\r\n")
        self.speak(b"undrain\r\n")
        self.wait_for(self.is_served, "clients are not let in again")
        self.wait_for(lambda: self.request("/livez")[0] == 200, "requests are not passed on again")

    def test_a_server_that_was_killed_is_out_until_it_is_back(self):
        self.start_haproxy(self.example, self.queue_front)
        self.wait_for(self.is_served, "no client is let in")
        self.kill()
        self.wait_for(lambda: self.request("/livez")[0] == 503, "requests are still passed on")
        self.assertFalse(self.is_served())
        self.start()
        self.wait_for(self.is_served, "clients are not let in again")


class Smuggled(BehindHaproxy, Smuggling):
    def passed_on(self):
        return len(re.findall(r"^passed queue ", self.written(), re.MULTILINE))

    def test_T9_behind_haproxy(self):
        strict, lenient = free_port(), free_port()
        self.start_haproxy(SMUGGLING.format(port=self.port, strict=strict, lenient=lenient), lenient)
        reached = self.see_cases_through(strict) + self.see_cases_through(lenient)
        # Else HAProxy has refused nearly everything itself, and the test says nothing.
        self.assertGreater(reached, len(CASES) // 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # With the reason where a test is skipped.
