#!/usr/bin/env python3
"""T33: the real server believes the proxies of http_proxies, and nobody else, when they say for whom they ask.

All that users see and do is seen and done through such a proxy, too. PERENNIALD names the server.
"""

import contextlib
import http.client
import json
import re
import time
import socket
import unittest

import api_test

PROXY, INNER_PROXY, STRANGER = "127.0.0.2", "127.0.1.9", "127.0.0.3"
PAGE = {"Content-Type": "application/json", "Host": "queue.test"}


class ThroughAProxy(api_test.Users):
    settings = api_test.Users.settings + f"http_hosts: queue.test\nhttp_proxies: [{PROXY}, 127.0.1.0/24]\n"

    def exchange(self, path, method="GET", body=None, source=PROXY, **fields):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30, source_address=(source, 0))
        with contextlib.closing(client):
            if source == PROXY:
                fields = {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "https", **fields}
            client.request(method, path, body=body, headers=fields)
            got = client.getresponse()
            return got.status, {name.lower(): value for name, value in got.getheaders()}, got.read()

    def sign_in(self, **fields):
        """The status, and the cookie that a browser gets."""
        value = json.dumps({"token": self.tokens["operator"]})
        status, got, _ = self.exchange("/api/v1/session", "POST", value, **PAGE, **fields)
        return status, got.get("set-cookie", "")

    def audited(self, **fields):
        """From where the log says that a refused change came."""
        before = len(self.text_of_log())
        value = json.dumps({"tube": "mail", "body": "a"})
        status, _, _ = self.exchange("/api/v1/jobs", "POST", value, **{"Content-Type": "application/json"},
                                     **self.shown("mailer"), **fields)
        self.assertEqual(status, 403)
        # A thread of the server writes the log.
        for _ in range(500):
            found = re.search(r"at=audit user=mailer action=put .* from=(\S+) ", self.text_of_log()[before:])
            if found:
                return found[1]
            time.sleep(0.01)
        raise AssertionError("the put is not in the log")

    def refused(self, source, addresses):
        """How many of these requests, one for each address in X-Forwarded-For, are too many."""
        with contextlib.closing(socket.create_connection(("127.0.0.1", self.port), 30, (source, 0))) as raw:
            raw.sendall("".join(f"GET /api/v1/session HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {address}\r\n\r\n"
                                for address in addresses).encode())
            raw.shutdown(socket.SHUT_WR)
            statuses = re.findall(rb"HTTP/1\.1 (\d+) ", raw.makefile("rb").read())
        self.assertEqual(len(statuses), len(addresses))
        self.assertLessEqual(set(statuses), {b"200", b"429"})
        return statuses.count(b"429")

    def test_T33_a_stranger_changes_nothing_by_what_it_says(self):
        claims = {"source": STRANGER, "X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}
        self.assertEqual(self.audited(**claims), STRANGER)
        self.assertEqual(self.sign_in(Origin="https://queue.test", **claims)[0], 403)
        status, cookie = self.sign_in(Origin="http://queue.test", **claims)
        self.assertEqual(status, 200)
        self.assertRegex(cookie, r"^perennial-80=[^;]+; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200$")
        self.assertGreater(self.refused(STRANGER, [f"203.0.113.{n % 250}" for n in range(400)]), 0)

    def test_T33_a_proxy_is_believed(self):
        claims = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}
        self.assertEqual(self.audited(**claims), "203.0.113.7")
        self.assertEqual(self.sign_in(Origin="http://queue.test", **claims)[0], 403)
        status, cookie = self.sign_in(Origin="https://queue.test", **claims)
        self.assertEqual(status, 200)
        self.assertRegex(cookie, r"^__Host-perennial-443=[^;]+; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$")
        self.assertGreater(self.refused(PROXY, ["203.0.113.8"] * 400), 0)
        self.assertEqual(self.refused(PROXY, [f"203.0.113.{n}" for n in range(9, 250)]), 0)

    def test_T33_of_several_addresses_the_right_most_counts_that_is_no_proxy(self):
        for chain, want in ((f"203.0.113.7, {INNER_PROXY}", "203.0.113.7"),
                            (f"127.0.0.1, 203.0.113.7, {INNER_PROXY}", "203.0.113.7"),
                            (f"{PROXY}, 203.0.113.7", "203.0.113.7"),
                            ("2001:db8:1:2::3, 127.0.1.1", "2001:db8:1:2::"),
                            (f"203.0.113.7, unknown, {INNER_PROXY}", INNER_PROXY),
                            ("unknown", PROXY), ("", PROXY)):
            with self.subTest(chain):
                self.assertEqual(self.audited(**{"X-Forwarded-For": chain}), want)

    def test_a_token_that_others_could_read_is_refused(self):
        for scheme, want in (("https", 200), ("http", 401)):
            fields = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": scheme, **self.shown("operator")}
            self.assertEqual(self.exchange("/api/v1/server", **fields)[0], want, scheme)


if __name__ == "__main__":
    unittest.main()
