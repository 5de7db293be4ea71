"""Nobody from outside takes the places of others: connections that ask for nothing, sign-ins that cost much, a log that nobody reads, and clients
behind a proxy of TCP. Most clients here are on this machine, where no address has a share, so that what one of them meets all meet."""

import contextlib
import json
import signal
import socket
import ssl
import struct
import threading
import time
import unittest

from port import Port, free_port

TOKEN = "prn_k1_" + "x" * 43


def token_hash():
    import hashlib
    return hashlib.sha256(TOKEN.encode()).hexdigest()


USERS = f"""
users:
  - {{{{name: operator, tokens: ["k1:sha256:{token_hash()}"], grants: [{{{{verbs: [monitor, admin]}}}}]}}}}
"""


class Places(Port):
    def assert_lives(self, seconds=1.0):
        begun = time.monotonic()
        self.assertEqual(self.ask("/livez")[0], 200)
        self.assertLess(time.monotonic() - begun, seconds)

    def silent(self, count, port, first=b"", wrap=None):
        for _ in range(count):
            raw = socket.create_connection(("127.0.0.1", port), 10)
            self.addCleanup(raw.close)
            if wrap:
                raw = wrap(raw)
                self.addCleanup(raw.close)
            if first:
                raw.sendall(first)

    @contextlib.contextmanager
    def crowd(self, count, held_max, first=b""):
        """So many threads connect again and again, and say this first. Each holds its newest connections."""
        stop = threading.Event()

        def run():
            held = []
            while not stop.is_set():
                held.append(socket.create_connection(("127.0.0.1", self.port), 10))
                with contextlib.suppress(ConnectionError):  # It has given way.
                    held[-1].sendall(first)
                if len(held) > held_max:
                    held.pop(0).close()
            for raw in held:
                raw.close()

        threads = [threading.Thread(target=run) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()


class Plain(Places):
    def test_idle_connections_give_way(self):
        self.silent(400, self.port)
        self.assert_lives()

    def test_a_client_that_is_slow_to_ask_does_not_give_way_to_silent_ones(self):
        """It was closed without an answer, once in ten thousand requests among strangers who took all places."""
        with self.crowd(3, 300):
            for _ in range(100):
                with socket.create_connection(("127.0.0.1", self.port), 10) as raw:
                    raw.settimeout(10)
                    time.sleep(0.03)
                    raw.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    self.assertTrue(raw.recv(100).startswith(b"HTTP/1.1 200"))

    def test_parts_of_requests_give_way(self):
        self.silent(400, self.port, b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
        self.assert_lives()

    def test_a_document_costs_as_much_as_it_has_bytes(self):
        for value in ({"a": [{}] * 200_000}, {f"m{i}": 0 for i in range(60_000)}, {"a": [{"b": 1}] * 90_000}):
            begun = time.monotonic()
            status, _ = self.api("/jobs", "POST", value)
            self.assertEqual(status, 400)
            self.assertLess(time.monotonic() - begun, 2)


class Whole(Places):
    settings = "http_connections_max: 32\n"

    def test_who_takes_an_answer_keeps_its_place_until_it_is_whole(self):
        """One of six was cut off: it gave way between two pieces of it, to others who had sent a part of a request."""
        self.speak(b"".join(b"use t%d\r\nput 0 0 60 1\r\na\r\n" % number for number in range(400)))
        with self.crowd(4, 40, b"GET /metrics HTTP/1.1\r\n"):
            for _ in range(100):
                with socket.create_connection(("127.0.0.1", self.port), 10) as raw:
                    raw.settimeout(30)
                    raw.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    head, _, body = raw.makefile("rb").read().partition(b"\r\n\r\n")
                    self.assertTrue(head.startswith(b"HTTP/1.1 200"), head)
                    length = int(head.lower().partition(b"content-length: ")[2].split()[0])
                    self.assertGreater(length, 300_000, "an answer that leaves in several pieces")
                    self.assertEqual(len(body), length)


class Busy(Places):
    def test_who_came_while_all_places_were_busy_is_answered_as_soon_as_one_is_idle(self):
        """It waited until a connection was closed: a minute, or without an end. Three quarters of the 256 and 16 places wait for
        jobs here; the others put, all at once, and their puts wait for the disk."""
        def request(path, body):
            return (f"POST /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n{body}").encode()

        requests = [request("tubes/none/reservations?wait_seconds=2", "{}")] * 192
        requests += [request("jobs", '{"tube":"x","body":"y"}')] * 110
        begun = time.monotonic()
        held = []
        for each in requests:
            raw = socket.create_connection(("127.0.0.1", self.port), 10)
            self.addCleanup(raw.close)
            raw.sendall(each)
            held.append(raw)
        self.assertEqual(held[0].recv(12), b"HTTP/1.1 200")
        self.assertGreater(time.monotonic() - begun, 1.5)
        for _ in range(3):
            self.assert_lives(10)


class Users(Places):
    settings = USERS + """listeners:
  - {{address: "0.0.0.0:{https}", protocol: http, tls: {{certificate: {folder}/cert.pem, key: {folder}/key.pem}}}}
"""

    def start(self):
        self.make_certificate()
        super().start()

    def setUp(self):
        self.https = free_port()
        super().setUp()

    def test_idle_connections_from_outside_do_not_take_the_places_of_health(self):
        context = ssl.create_default_context(cafile=f"{self.folder}/cert.pem")
        context.set_alpn_protocols(["http/1.1"])
        self.silent(64, self.https, wrap=lambda raw: context.wrap_socket(raw, server_hostname="localhost"))
        self.assert_lives()
        self.silent(300, self.https)  # Without a handshake.
        self.assert_lives()

    def test_a_sign_in_is_small(self):
        body = json.dumps({"token": "x" * 5000})
        status, _, _ = self.exchange("/api/v1/session", "POST", body, **{"Content-Type": "application/json"})
        self.assertEqual(status, 413)

    def test_strangers_do_not_use_up_what_a_user_may_ask(self):
        while self.ask("/api/v1/session")[0] != 429:
            pass
        self.assertEqual(self.ask("/api/v1/server", Authorization=f"Bearer {TOKEN}")[0], 200)

    def test_a_good_token_gets_in_behind_wrong_ones(self):
        wrong = {"Authorization": "Bearer prn_k1_" + "y" * 43}
        for _ in range(30):
            self.assertEqual(self.ask("/api/v1/server", **wrong)[0], 401)
        self.assertEqual(self.ask("/api/v1/server", Authorization=f"Bearer {TOKEN}")[0], 200)
        self.assertEqual(self.speak(b"auth " + TOKEN.encode() + b"\r\n"), b"AUTHENTICATED\r\n")


class Behind(Places):
    """The server is behind with reading, here because it is stopped, while many others connect."""
    settings = USERS + """connections_max: 300
http_connections_max: 16
"""

    def expect_answer(self, port, request, answer):
        self.process.send_signal(signal.SIGSTOP)
        try:
            raw = socket.create_connection(("127.0.0.1", port), 10)
            self.addCleanup(raw.close)
            raw.sendall(request)
            self.silent(60, port)
        finally:
            self.process.send_signal(signal.SIGCONT)
        self.assertEqual(raw.recv(len(answer)), answer)

    def test_a_good_token_that_was_not_read_yet_gets_in(self):
        self.expect_answer(self.queue, b"auth " + TOKEN.encode() + b"\r\n", b"AUTHENTICATED\r\n")

    def test_a_request_that_was_not_read_yet_is_answered(self):
        self.expect_answer(self.port, b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 200 ")


class Full(Places):
    """Clients of the queue have all places."""
    settings = "connections_max: 100\n"

    def test_health_is_answered_beside_idle_connections(self):
        self.silent(130, self.queue)
        self.silent(40, self.port)
        self.assert_lives()


class Proxy(Port):
    settings = """listeners:
  - {{address: "127.0.0.1:{https}", proxy: true, proxy_from: "127.0.0.1"}}
"""

    def setUp(self):
        self.https = free_port()
        super().setUp()

    def ask_behind(self, header, port=None):
        with socket.create_connection(("127.0.0.1", port or self.https), 10) as raw:
            raw.sendall(header + b"use a\r\nquit\r\n")
            try:
                return raw.makefile("rb").read()
            except ConnectionResetError:
                return b""

    def test_both_versions_are_read(self):
        v2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + socket.inet_aton("192.0.2.7") + socket.inet_aton("192.0.2.2") + struct.pack("!HH", 4711, 1)
        for header in (b"PROXY TCP4 192.0.2.7 192.0.2.2 4711 1\r\n", b"PROXY UNKNOWN\r\n", v2, b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"):
            self.assertEqual(self.ask_behind(header), b"USING a\r\n", header)

    def test_whom_the_proxy_does_not_name_has_no_right_of_this_machine(self):
        unix = b"\r\n\r\n\0\r\nQUIT\n\x21\x31\0\xd8" + bytes(216)
        own = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"
        for header, word in ((b"PROXY UNKNOWN\r\n", b"UNKNOWN_COMMAND"), (unix, b"UNKNOWN_COMMAND"), (own, b"BAD_FORMAT")):
            with socket.create_connection(("127.0.0.1", self.https), 10) as raw:
                raw.sendall(header + b"checkpoint junk\r\nquit\r\n")  # A local client may ask, and rightly.
                self.assertEqual(raw.makefile("rb").read(), word + b"\r\n", header)

    def test_the_address_in_it_is_the_client_s(self):
        with socket.create_connection(("127.0.0.1", self.https), 10) as raw:
            for byte in b"PROXY TCP4 192.0.2.7 192.0.2.2 4711 1\r\nuse a\r\n":
                raw.sendall(bytes([byte]))
            self.assertEqual(raw.recv(100), b"USING a\r\n")
            addresses = [each["address"] for each in self.api("/connections")[1]["connections"]]
            self.assertIn("192.0.2.7:4711", addresses)

    def test_without_a_header_it_is_refused_and_named(self):
        self.assertEqual(self.ask_behind(b""), b"")
        self.stop()
        self.assertIn("it sent no PROXY header", self.text_of_log())
        self.start()

    def test_elsewhere_it_is_refused_and_named(self):
        self.assertEqual(self.ask_behind(b"PROXY TCP4 192.0.2.7 192.0.2.2 4711 1\r\n", self.queue), b"")
        self.stop()
        self.assertIn("speaks=proxy", self.text_of_log())
        self.start()


class OtherProxy(Proxy):
    """The same from a proxy that is not named."""
    settings = Proxy.settings.replace('"127.0.0.1"}}', '"192.0.2.1"}}')

    def test_both_versions_are_read(self):
        self.assertEqual(self.ask_behind(b"PROXY TCP4 192.0.2.7 192.0.2.2 4711 1\r\n"), b"")
        self.stop()
        self.assertIn("none of proxy_from", self.text_of_log())
        self.start()

    def test_whom_the_proxy_does_not_name_has_no_right_of_this_machine(self):
        pass

    def test_the_address_in_it_is_the_client_s(self):
        pass

    def test_without_a_header_it_is_refused_and_named(self):
        pass


if __name__ == "__main__":
    unittest.main(verbosity=2)
