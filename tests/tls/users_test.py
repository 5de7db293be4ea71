#!/usr/bin/env python3
"""Users of the real server, by each way in which a client can show who it is.

Each name with a number is about that threat: etc/docs/security.md.
"""

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from server import Certificates, Client, Server, context

PERENNIAL = os.environ.get("PERENNIAL", "build/perennial")
SECRET = "S" * 42
GRANTS = "grants: [{tubes: ['mail*'], verbs: [produce, consume]}]"


def token(name, last="x"):
    return f"prn_{name}_{SECRET}{last}"


def record(name, last="x"):
    return f"{name}:sha256:" + hashlib.sha256(token(name, last).encode()).hexdigest()


def auth(name, last="x"):
    return f"auth {token(name, last)}\r\n".encode()


class Users(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp(prefix="perennial-users-")
        cls.certificates = Certificates(os.path.join(cls.made, "ca"))
        cls.own = cls.certificates.issue("server")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.made)

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perennial-users-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.users_file = os.path.join(self.folder, "users.yaml")

    def write_users(self, text, mode=0o600):
        with open(self.users_file, "w") as file:
            file.write(text)
        os.chmod(self.users_file, mode)

    def make(self, users, plain=(), **tls):
        self.write_users(users)
        listener = {"certificate": self.own[0], "key": self.own[1], **tls}
        return Server(self.folder, {"tls": listener}, f"users_file: {self.users_file}",
                      plain_listeners=plain)

    def start(self, *arguments, **more):
        server = self.make(*arguments, **more).start()
        self.addCleanup(server.stop)
        return server

    def reload(self, server, users):
        before = server.log().count("at=users.reload")
        self.write_users(users)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("at=users.reload", before + 1)
        return [line for line in server.log().splitlines() if "at=users.reload" in line][-1]

    def refused(self, users, plain=(), mode=0o600):
        """What a start says that is refused."""
        server = self.make(users, plain)
        os.chmod(self.users_file, mode)
        done = subprocess.run(server.command(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20)
        self.assertNotEqual(done.returncode, 0)
        return done.stdout.decode()

    def test_t3_nothing_runs_before_a_token(self):
        server = self.start(f"[{{name: mailer, tokens: ['{record('k1')}'], {GRANTS}}}]")
        for client in (server.plain(), server.connect(context(self.certificates))):
            with client:
                self.assertEqual(client.ask(b"put 0 0 60 14\r\nlist-tube-used\r\n"), b"UNAUTHORIZED\r\n")
                self.assertEqual(client.ask(auth("k1")), b"AUTHENTICATED\r\n")
                self.assertEqual(client.ask(b"use mail\r\n"), b"USING mail\r\n")
                self.assertTrue(client.put(b"a").startswith(b"INSERTED "))
                self.assertEqual(client.ask(b"use other\r\n"), b"FORBIDDEN\r\n")
                self.assertEqual(client.ask(b"stats\r\n"), b"FORBIDDEN\r\n")

    def test_t20_a_certificate_confines_its_client(self):
        server = self.start(
            "- {name: mailer, certificates: ['urn:queue:mailer'], " + GRANTS + "}\n"
            "- {name: web, certificates: ['CN=web'], grants: [{tubes: [web], verbs: [produce]}]}\n",
            client_ca=self.certificates.ca)
        mailer = self.certificates.issue("web2", "clientAuth", "URI:urn:queue:mailer")
        outsider = self.certificates.issue("outsider", "clientAuth", "DNS:web")
        with server.connect(context(self.certificates, mailer)) as client:
            self.assertEqual(client.ask(b"use mail\r\n"), b"USING mail\r\n")
            self.assertEqual(client.ask(b"use web\r\n"), b"FORBIDDEN\r\n")
        with server.connect(context(self.certificates, outsider)) as client:
            self.assertEqual(client.ask(b"use web\r\n"), b"UNAUTHORIZED\r\n")

    def test_a_unix_socket_and_a_listener_need_no_token(self):
        path = os.path.join(self.folder, "q.sock")
        port = Server(self.folder, {}).port  # A free one.
        server = self.start(
            f"- {{name: me, uids: [{os.getuid()}], grants: [{{tubes: ['*'], verbs: [inspect]}}]}}\n"
            "- {name: legacy, grants: [{tubes: [default], verbs: [produce]}]}\n",
            [(f"unix:{path}", None), (f"127.0.0.1:{port}", "legacy")])
        raw = socket.socket(socket.AF_UNIX)
        raw.connect(path)
        with Client(raw) as client:
            self.assertTrue(client.ask(b"stats-tube default\r\n").startswith(b"OK "))
        with Client(socket.create_connection(("127.0.0.1", port), 10)) as client:
            self.assertTrue(client.put(b"a").startswith(b"INSERTED "))
            self.assertEqual(client.ask(b"peek-ready\r\n"), b"FORBIDDEN\r\n")

    def test_t12_wrong_tokens_are_slow(self):
        server = self.start(f"[{{name: mailer, tokens: ['{record('k1')}'], {GRANTS}}}]")
        with server.plain() as client:
            for _ in range(3):
                begun = time.monotonic()
                self.assertEqual(client.ask(auth("k1", "y")), b"UNAUTHORIZED\r\n")
                self.assertGreater(time.monotonic() - begun, 0.9)
            self.assertEqual(client.read(), b"")

    def test_t18_a_reload_ends_connections_whose_right_is_gone(self):
        mailer = f"- {{name: mailer, tokens: ['{record('k1')}'], {GRANTS}}}\n"
        other = f"- {{name: other, tokens: ['{record('k2')}'], {GRANTS}}}\n"
        server = self.start(mailer + other)
        with server.plain() as waiting, server.plain() as staying:
            for client, name in ((waiting, "k1"), (staying, "k2")):
                self.assertEqual(client.ask(auth(name)), b"AUTHENTICATED\r\n")
                self.assertEqual(client.ask(b"use mail\r\n"), b"USING mail\r\n")
                self.assertEqual(client.ask(b"watch mail\r\n"), b"WATCHING 2\r\n")
                self.assertEqual(client.ask(b"ignore default\r\n"), b"WATCHING 1\r\n")
            waiting.send(b"reserve\r\n")
            # A bad file changes nothing.
            self.assertIn("level=error", self.reload(server, mailer + mailer))
            self.assertIn("users=1", self.reload(server, other))
            self.assertEqual(waiting.read(), b"")
            self.assertTrue(staying.put(b"a").startswith(b"INSERTED "))
            self.assertTrue(staying.ask(b"reserve\r\n").startswith(b"RESERVED "))
        # Without users nobody gets in.
        self.assertIn("users=0", self.reload(server, "[]\n"))
        with server.plain() as client:
            self.assertEqual(client.ask(b"stats\r\n"), b"UNAUTHORIZED\r\n")

    def test_t25_no_token_is_ever_printed(self):
        server = self.start(f"[{{name: mailer, tokens: ['{record('k1')}'], "
                            "grants: [{tubes: ['*'], verbs: [inspect, monitor, admin]}]}]")
        with server.plain() as client:
            client.ask(auth("k1", "y"))
            self.assertEqual(client.ask(auth("k1")), b"AUTHENTICATED\r\n")
            said = client.body(b"stats\r\n") + client.body(b"stats-tube default\r\n")
        printed = subprocess.run(server.command("--print-config"), stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, timeout=20).stdout
        for text in (said.decode(), printed.decode(), server.log()):
            self.assertNotIn(SECRET, text)
        server.wait_for("action=sign-in subject=\"token k1\" result=allowed")
        # One that stands in the configuration by mistake is not repeated either.
        told = self.refused(f"[{{name: a, tokens: ['{token('k1')}'], {GRANTS}}}]")
        self.assertIn("a token is kept as", told)
        self.assertNotIn(SECRET, told)

    def test_the_tool_makes_tokens_and_shows_them(self):
        made = subprocess.run([PERENNIAL, "token", "new", "--user", "ops", "--id", "k9"], check=True,
                              capture_output=True, text=True)
        lines = made.stderr + "  grants: [{tubes: ['*'], verbs: [produce, monitor]}]\n"
        server = self.start(lines)
        kept = os.path.join(self.folder, "token")
        with open(kept, "w") as file:
            file.write(made.stdout)
        os.chmod(kept, 0o600)
        where = ["--server", f"127.0.0.1:{server.port}"]
        encrypted = ["--tls", "--ca", self.certificates.ca, "--server", f"localhost:{server.ports['tls']}"]

        def run(*words, **environment):
            done = subprocess.run([PERENNIAL, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=20, env={**os.environ, **environment})
            self.assertNotIn(made.stdout.strip(), done.stdout)
            return done.returncode, done.stdout

        self.assertEqual(run("put", *where, "--token-file", kept, "a"), (0, "1\n"))
        self.assertEqual(run("put", *encrypted, "--token-file", kept, "b"), (0, "2\n"))
        self.assertEqual(run("put", *where, "c", PERENNIAL_TOKEN=made.stdout.strip()), (0, "3\n"))
        self.assertIn("UNAUTHORIZED: the server has users", run("put", *where, "d")[1])
        self.assertIn("FORBIDDEN", run("kick", *where, "--token-file", kept, "--tube", "default", "--count", "1")[1])
        wrong = made.stdout.strip()[:-1] + ("a" if made.stdout.strip()[-1] != "a" else "b")
        self.assertIn("the server refuses the token", run("stats", *where, PERENNIAL_TOKEN=wrong)[1])
        self.assertIn("holds no token", run("stats", *where, PERENNIAL_TOKEN="secret")[1])
        os.chmod(kept, 0o644)
        self.assertIn("chmod 0600", run("stats", *where, "--token-file", kept)[1])

    def test_a_worker_that_may_not_inspect_ends_and_says_so(self):
        server = self.start(f"[{{name: mailer, tokens: ['{record('k1')}'], {GRANTS}}}]")
        with server.plain() as client:
            self.assertEqual(client.ask(auth("k1")), b"AUTHENTICATED\r\n")
            client.ask(b"put 0 0 60 1 tube:mail\r\na\r\n")
        done = subprocess.run([PERENNIAL, "work", "--server", f"127.0.0.1:{server.port}", "--tube", "mail", "--drain",
                               "--", "cat"], capture_output=True, text=True, timeout=20,
                              env={**os.environ, "PERENNIAL_TOKEN": token("k1")})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the right to inspect", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_users_check_shows_who_may_do_what(self):
        port = Server(self.folder, {}).port
        server = self.make(
            f"- {{name: mailer, tokens: ['{record('k1')}'], certificates: ['urn:queue:mailer'], {GRANTS}}}\n"
            "- {name: legacy, grants: [{tubes: [default], verbs: [produce, consume]}]}\n"
            "- {name: ops, uids: [0], grants: [{tubes: ['*'], verbs: [inspect, manage, admin]}, {verbs: [monitor]}]}\n"
            "- {name: nobody}\n",
            [(f"127.0.0.1:{port}", "legacy")], client_ca=self.certificates.ca)
        command = [PERENNIAL, "users", "check", "--config", server.settings]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        tls = f"127.0.0.1:{server.ports['tls']}"
        self.assertEqual(done.stdout, f"""listeners:
  127.0.0.1:{server.port} (plain): by token
  {tls} (TLS): by certificate, else by token; no connection without a certificate
  127.0.0.1:{port} (plain): everybody is legacy
users:
  mailer:
    shows: token k1; certificate urn:queue:mailer
    gets in at: 127.0.0.1:{server.port}, {tls}
    may: produce, consume on mail*
  legacy:
    shows: nothing
    gets in at: 127.0.0.1:{port}
    may: produce, consume on default
  ops:
    shows: uid 0
    gets in at: nowhere
    may: inspect, manage on *; monitor, admin of the server
  nobody:
    shows: nothing
    gets in at: nowhere
    may: nothing
remarks:
  - mailer may not reserve from 'default', which every connection watches at first: its workers must watch a tube and ignore default before they reserve
  - ops gets in nowhere: no listener takes what it can show
  - nobody gets in nowhere: it has no token, certificate, uid or gid, and no listener
  - nobody may do nothing: it has no grants
""")
        self.write_users(f"- {{name: a, tokens: ['{record('k1')}'], {GRANTS.replace('produce', 'write')}}}\n")
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("'write' is not one of produce", done.stderr)
        self.assertIn("a server would not start with this configuration", done.stderr)

    def test_t26_a_file_of_users_that_others_read_is_refused(self):
        for mode in (0o644, 0o660):
            self.assertIn("chmod 0600", self.refused(f"[{{name: a, {GRANTS}}}]", mode=mode))

    def test_a_pipe_in_the_place_of_the_file_changes_nothing(self):
        """A reload would wait until somebody writes into it, and nobody would be served."""
        users = f"[{{name: a, tokens: ['{record('k1')}'], {GRANTS}}}]"
        server = self.start(users)
        os.remove(self.users_file)
        os.mkfifo(self.users_file, 0o600)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("is a pipe, and not a file", 1)
        with server.plain() as client:
            self.assertEqual(client.ask(auth("k1")), b"AUTHENTICATED\r\n")

    def test_t26_a_group_of_the_server_may_read_the_files(self):
        """As Kubernetes mounts secrets: root's, and readable for a group that the process was given."""
        users = f"[{{name: a, tokens: ['{record('k1')}'], {GRANTS}}}]"
        server = self.make(users)
        os.chmod(self.users_file, 0o440)
        server.start()
        self.addCleanup(server.stop)
        with server.plain() as client:
            self.assertEqual(client.ask(auth("k1")), b"AUTHENTICATED\r\n")

    def test_t27_a_plain_port_that_others_reach_is_warned_of(self):
        def warned(address, settings=""):
            server = Server(self.folder, {}, settings, ("-l", address))
            server._flags += ["-p", str(server.port)]
            server.start()
            try:
                return "level=warning at=listen.open" in server.log()
            finally:
                server.stop()

        self.assertTrue(warned("0.0.0.0"))
        self.assertTrue(warned("::"))
        self.assertFalse(warned("127.0.0.1"))
        self.write_users(f"[{{name: a, {GRANTS}}}]")
        self.assertFalse(warned("0.0.0.0", f"users_file: {self.users_file}"))

    def test_users_that_contradict_are_refused(self):
        one = f"- {{name: a, tokens: ['{record('k1')}'], {GRANTS}}}\n"
        self.assertIn("user 'a' is there twice", self.refused(one + one))
        self.assertIn("users 'a' and 'b' both have the token id 'k1'",
                      self.refused(one + one.replace("name: a", "name: b")))
        self.assertIn("there is no user 'legacy'", self.refused(one, [("127.0.0.1:0", "legacy")]))
        self.assertIn("'write' is not one of produce", self.refused(one.replace("produce", "write")))


if __name__ == "__main__":
    unittest.main()
