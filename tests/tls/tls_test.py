#!/usr/bin/env python3
"""perenniald's TLS as clients meet it: Python's ssl module, openssl s_client, and what is neither.

Each name with a number is about that threat: etc/docs/security.md. PERENNIALD names the server, and PERENNIAL the
tool.
"""

import contextlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from server import Certificates, Server, context

PERENNIAL = os.environ.get("PERENNIAL", "build/perennial")
NOBODY = 65534
TLS_1_2 = ssl.TLSVersion.TLSv1_2


def s_client(port, *words, text=b"", seconds=10):
    """What openssl s_client prints, with both of its outputs in one."""
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *words], input=text,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
    return done.stdout.decode(errors="replace")


class MemoryClient:
    """A client whose bytes the test moves itself."""

    def __init__(self, made, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = made.wrap_bio(self._in, self._out, server_hostname="localhost")

    def run(self, step, *arguments, piece=1 << 20):
        """Repeats a step until it needs no more bytes."""
        while True:
            try:
                return step(*arguments)
            except ssl.SSLWantReadError:
                self.flush(piece)
                got = self.socket.recv(1 << 16)
                if got:
                    self._in.write(got)
                else:
                    self._in.write_eof()

    def flush(self, piece=1 << 20):
        data = self._out.read()
        for at in range(0, len(data), piece):
            self.socket.sendall(data[at:at + piece])

    def hello(self):
        """The first bytes of a handshake."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self._out.read()

    def close(self):
        self.socket.close()


class TlsTest(unittest.TestCase):
    listeners = {"tls": {}}
    settings = ""
    flags = ()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perennial-tls-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.ca = Certificates(self.folder + "/ca")
        self.own = self.ca.issue("server")
        files = {"certificate": self.own[0], "key": self.own[1]}
        listeners = {name: {**files, **{key: value.format(ca=self.ca.ca) for key, value in more.items()}}
                     for name, more in self.listeners.items()}
        self.server = Server(self.folder, listeners, self.settings, self.flags)
        self.start()

    def start(self):
        self.server.start()
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0))

    def connect(self, **more):
        client = self.server.connect(context(self.ca), **more)
        self.addCleanup(client.close)
        return client

    def assert_nobody_is_left(self):
        """But whoever asks. With io_threads each thread hears of its own clients, so an end may be heard of after a later question."""
        deadline = time.monotonic() + (10 if self.server.has_io_threads() else 0)
        while (left := self.server.stat("current-connections")) != 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(left, 1)

    def assert_serves(self):
        with self.server.connect(context(self.ca)) as client:
            self.assertEqual(client.ask(b"list-tube-used\r\n"), b"USING default\r\n")


class Traffic(TlsTest):
    flags = ("-z", "8MiB")

    def test_a_job_goes_through_both_versions(self):
        for newest in (TLS_1_2, ssl.TLSVersion.TLSv1_3):
            with self.server.connect(context(self.ca, newest=newest)) as client:
                self.assertEqual(client.sock.selected_alpn_protocol(), "beanstalk")
                inserted = client.put(b"hello").split()
                self.assertEqual(inserted[0], b"INSERTED")
                self.assertEqual(client.body(b"reserve\r\n"), b"hello")
                self.assertEqual(client.ask(b"delete %s\r\n" % inserted[1]), b"DELETED\r\n")

    def test_a_client_that_offers_no_protocol_is_served(self):
        made = ssl.create_default_context(cafile=self.ca.ca)
        with self.server.connect(made) as client:
            self.assertEqual(client.ask(b"use a\r\n"), b"USING a\r\n")

    def test_large_bodies_arrive_in_both_directions(self):
        body = os.urandom(8 << 20)
        client = self.connect()
        self.assertEqual(client.put(body), b"INSERTED 1\r\n")
        self.assertEqual(client.body(b"peek 1\r\n"), body)
        with self.server.plain() as other:
            self.assertEqual(other.body(b"reserve\r\n"), body)

    def test_a_client_that_reads_late_gets_everything_in_order(self):
        client = self.connect()
        body = os.urandom(60_000)
        client.put(body)
        commands, answers = b"", b""
        for i in range(500):
            commands += b"peek 1\r\nuse t%d\r\n" % i
            answers += b"FOUND 1 60000\r\n%s\r\nUSING t%d\r\n" % (body, i)
        client.send(commands)
        self.assert_serves()
        self.assertTrue(client.read(len(answers)) == answers)

    def test_quit_ends_with_a_notice(self):
        made = MemoryClient(context(self.ca), self.server.ports["tls"])
        self.addCleanup(made.close)
        made.run(made.tls.do_handshake)
        made.run(made.tls.write, b"use a\r\nquit\r\n")
        made.flush()
        self.assertEqual(made.run(made.tls.read, 100), b"USING a\r\n")
        # Without the notice this raises, because the end could be that of an attacker.
        self.assertEqual(made.run(made.tls.read, 100), b"")

    def test_the_end_of_a_client_is_a_half_close(self):
        for newest in (TLS_1_2, ssl.TLSVersion.TLSv1_3):
            made = MemoryClient(context(self.ca, newest=newest), self.server.ports["tls"])
            self.addCleanup(made.close)
            made.run(made.tls.do_handshake)
            made.run(made.tls.write, b"use a\r\nreserve\r\nuse b\r\n")
            with contextlib.suppress(ssl.SSLWantReadError):
                made.tls.unwrap()
            made.flush()
            heard = b""
            with contextlib.suppress(ssl.SSLZeroReturnError):  # The notice of the server.
                while True:
                    heard += made.run(made.tls.read, 100)
            self.assertEqual(heard, b"USING a\r\nTIMED_OUT\r\nUSING b\r\n")

    def test_the_end_of_the_connection_is_a_half_close(self):
        client = self.connect()
        client.send(b"use a\r\nreserve\r\n")
        socket.socket.shutdown(client.sock, socket.SHUT_WR)
        self.assertEqual(client.read(), b"USING a\r\nTIMED_OUT\r\n")

    def test_a_worker_that_is_gone_loses_its_job(self):
        with self.server.plain() as other:
            other.put(b"a")
            worker = self.server.connect(context(self.ca))
            self.assertEqual(worker.body(b"reserve\r\n"), b"a")
            worker.close()
            self.assertEqual(other.body(b"reserve-with-timeout 10\r\n"), b"a")

    def test_a_waiting_worker_gets_the_job_of_another(self):
        worker = self.connect()
        worker.send(b"reserve\r\n")
        with self.server.plain() as other:
            other.put(b"a")
        self.assertEqual(worker.line(), b"RESERVED 1 1\r\n")

    def test_a_handshake_in_pieces_of_one_byte_is_finished(self):
        made = MemoryClient(context(self.ca), self.server.ports["tls"])
        self.addCleanup(made.close)
        made.run(made.tls.do_handshake, piece=1)
        made.tls.write(b"use a\r\n")
        made.flush(piece=1)
        self.assertEqual(made.run(made.tls.read, 100), b"USING a\r\n")

    def test_handshakes_that_are_broken_off_leave_nothing(self):
        made = context(self.ca)
        for count in range(1, 200):
            client = MemoryClient(made, self.server.ports["tls"])
            client.socket.sendall(client.hello()[:count])
            client.close()
        self.assert_serves()
        self.assert_nobody_is_left()

    def test_a_stop_does_not_wait_for_handshakes(self):
        slow = socket.create_connection(("127.0.0.1", self.server.ports["tls"]))
        self.addCleanup(slow.close)
        self.connect().ask(b"use a\r\n")
        begun = time.monotonic()
        self.server.process.terminate()
        self.assertEqual(self.server.process.wait(20), 0)
        self.assertLess(time.monotonic() - begun, 10)


class WrongClients(TlsTest):
    def test_T4_other_protocols_are_refused(self):
        port = self.server.ports["tls"]
        self.assertIn("no application protocol", s_client(port, "-alpn", "http/1.1"))
        for text in (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"put 0 0 10 1\r\na\r\n" * 10):
            with socket.create_connection(("127.0.0.1", port), 10) as plain:
                plain.sendall(text)
                with contextlib.suppress(ConnectionResetError):
                    self.assertNotIn(b"INSERTED", plain.recv(1000))
                    self.assertEqual(plain.recv(1000), b"")
        self.assertEqual(self.server.stat("total-jobs"), 0)
        self.server.wait_for('why="http request"')

    def test_T22_renegotiation_ends_the_connection(self):
        with self.talk("-tls1_2") as peer:
            peer.stdin.write(b"R\n")  # A command of s_client, as it comes alone.
            peer.stdin.flush()
            self.assertIn(b"RENEGOTIATING", peer.stdout.read())
            self.assertNotEqual(peer.wait(10), 0)
        self.assert_serves()

    @contextlib.contextmanager
    def talk(self, *words):
        """An s_client that has had an answer, and with it its session ticket."""
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{self.server.ports['tls']}", *words]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as peer:
            peer.stdin.write(b"use a\r\n")
            peer.stdin.flush()
            while b"USING a" not in peer.stdout.readline():
                continue
            yield peer

    def test_T23_early_data_is_not_taken(self):
        port = self.server.ports["tls"]
        session, early = self.folder + "/session", self.folder + "/early"
        with open(early, "wb") as file:
            file.write(b"put 0 0 60 1\r\na\r\n")
        with self.talk("-tls1_3", "-sess_out", session) as first:
            first.stdin.close()
        self.assertTrue(os.path.getsize(session) > 0)
        heard = s_client(port, "-tls1_3", "-sess_in", session, "-early_data", early)
        self.assertIn("Reused, TLSv1.3", heard)
        self.assertNotIn("Early data was accepted", heard)
        self.assertEqual(self.server.stat("total-jobs"), 0)

    def test_T24_old_versions_and_weak_ciphers_are_refused(self):
        port = self.server.ports["tls"]
        weak = "ALL:@SECLEVEL=0"
        for words in (["-tls1", "-cipher", weak], ["-tls1_1", "-cipher", weak],
                      ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA:@SECLEVEL=0"],
                      ["-tls1_2", "-cipher", "AES128-GCM-SHA256:AES256-SHA:@SECLEVEL=0"],
                      ["-tls1_2", "-cipher", "aNULL:eNULL:@SECLEVEL=0"]):
            heard = s_client(port, *words)
            self.assertIn("Cipher is (NONE)", heard, words)
            self.assertIn("alert", heard, words)
        heard = s_client(port, "-tls1_2")
        self.assertRegex(heard, "Cipher is ECDHE-ECDSA-(AES...-GCM|CHACHA20)")
        self.assertIn("Secure Renegotiation IS supported", heard)
        self.assertIn("Compression: NONE", heard)


class ClientCertificates(TlsTest):
    listeners = {"open": {}, "tls": {"client_ca": "{ca}"}, "asks": {"client_ca": "{ca}", "client": "request"}}

    def refusal(self, own, name="tls", made=None, session=None):
        """The alert that a client gets. TLS 1.3 tells it only with the first bytes."""
        with self.assertRaises(ssl.SSLError) as caught:
            with self.server.connect(made or context(self.ca, own), name, session) as client:
                client.ask(b"use a\r\n")
        return caught.exception.reason

    def test_a_good_certificate_is_let_in(self):
        own = self.ca.issue("mailer", "clientAuth", "URI:spiffe://corp/mailer")
        for name in ("tls", "asks", "open"):
            with self.server.connect(context(self.ca, own), name) as client:
                self.assertEqual(client.ask(b"use a\r\n"), b"USING a\r\n")
        with self.server.connect(context(self.ca), "asks") as client:
            self.assertEqual(client.ask(b"use a\r\n"), b"USING a\r\n")

    def test_T20_wrong_certificates_are_refused(self):
        self.assertEqual(self.refusal(None), "TLSV13_ALERT_CERTIFICATE_REQUIRED")
        others = Certificates(self.folder + "/other", "Other CA")
        cases = {"TLSV1_ALERT_UNKNOWN_CA": [others.issue("other", "clientAuth"),
                                            self.ca.issue("self", "clientAuth", signed=False)],
                 "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": [self.ca.issue("purpose", "serverAuth")]}
        for want, certificates in cases.items():
            for own in certificates:
                for name in ("tls", "asks"):
                    self.assertEqual(self.refusal(own, name), want, own)
        self.assertEqual(self.server.stat("total-connections"), 1)  # Its own.

    def test_T19_the_session_of_another_listener_is_not_resumed(self):
        own = self.ca.issue("mailer", "clientAuth")
        for newest in (TLS_1_2, ssl.TLSVersion.TLSv1_3):
            made = context(self.ca, newest=newest)
            with self.server.connect(made, "open") as client:
                client.ask(b"use a\r\n")
                session = client.sock.session
            with self.server.connect(made, "open", session) as client:
                self.assertTrue(client.sock.session_reused)
            self.refusal(None, "tls", made, session)
            made.load_cert_chain(*own)
            with self.server.connect(made, "tls", session) as client:
                self.assertFalse(client.sock.session_reused)
                self.assertEqual(client.ask(b"use a\r\n"), b"USING a\r\n")


class Revocation(TlsTest):
    listeners = {"tls": {"client_ca": "{ca}", "crl": "{ca}.crl"}}

    def start(self):
        self.renew()
        super().start()

    def renew(self, *revoked):
        os.rename(self.ca.revoke(*revoked), self.ca.ca + ".crl")

    def test_T18_a_connection_ends_with_its_certificate(self):
        bad, good = (self.ca.issue(name, "clientAuth") for name in ("bad", "good"))
        clients = {name: self.server.connect(context(self.ca, own)) for name, own in (("bad", bad), ("good", good))}
        self.addCleanup(lambda: [client.close() for client in clients.values()])
        clients["good"].send(b"reserve\r\n")
        self.assertEqual(clients["bad"].put(b"a job"), b"INSERTED 1\r\n")
        self.assertEqual(clients["good"].line(), b"RESERVED 1 5\r\n")
        self.assertEqual(clients["good"].read(7), b"a job\r\n")
        clients["good"].ask(b"release 1 0 0\r\n")
        clients["bad"].send(b"reserve\r\n")
        self.assertEqual(clients["bad"].line(), b"RESERVED 1 5\r\n")
        self.assertEqual(clients["bad"].read(7), b"a job\r\n")
        self.renew()
        self.server.reload()
        self.assertEqual(clients["bad"].ask(b"touch 1\r\n"), b"TOUCHED\r\n")
        self.renew(bad[0])
        self.server.reload()
        self.assertEqual(clients["bad"].read(), b"")
        # Its job is back, and the other one is served.
        self.assertEqual(clients["good"].body(b"reserve\r\n"), b"a job")
        self.server.wait_for("at=conn.revoked")  # A thread of its own writes it.


class Reloads(TlsTest):
    def serial(self):
        with self.server.connect(context(self.ca)) as client:
            return client.sock.getpeercert()["serialNumber"]

    def replace(self, certificate, key, mode=0o600):
        for source, target, rights in ((certificate, self.own[0], 0o644), (key, self.own[1], mode)):
            shutil.copy(source, target + ".new")
            os.chmod(target + ".new", rights)
            os.rename(target + ".new", target)

    def test_new_clients_get_the_new_certificate_and_old_ones_stay(self):
        before = self.serial()
        client = self.connect()
        waiting = self.connect()
        waiting.send(b"reserve\r\n")
        self.replace(*self.ca.issue("next"))
        self.assertIn("level=info", self.server.reload())
        self.assertNotEqual(self.serial(), before)
        self.assertEqual(client.put(b"a"), b"INSERTED 1\r\n")
        self.assertEqual(waiting.line(), b"RESERVED 1 1\r\n")

    def test_T21_bad_files_keep_the_old_ones(self):
        before = self.serial()
        good = [shutil.copy(path, path + ".good") for path in self.own]
        new = self.ca.issue("next")
        empty, half = self.folder + "/empty", self.folder + "/half"
        open(empty, "w").close()
        with open(new[0]) as whole, open(half, "w") as file:
            file.write(whole.read()[:300])
        cases = [(empty, new[1], 0o600, "holds no certificate"), (half, new[1], 0o600, "incomplete"),
                 (new[0], empty, 0o600, "no whole private key"), (new[0], good[1], 0o600, "is not the key of"),
                 (*new, 0o644, "others than its owner have access")]
        for certificate, key, mode, why in cases:
            self.replace(certificate, key, mode)
            line = self.server.reload()
            self.assertIn("level=error", line)
            self.assertIn(why, line)
            self.assertEqual(self.serial(), before)
        os.remove(self.own[1])
        self.assertIn("No such file", self.server.reload())
        self.assertEqual(self.serial(), before)
        self.replace(*good)
        self.assertIn("level=info", self.server.reload())


class Floods(TlsTest):
    settings = "tls_handshake_ms: 2000\ntls_handshakes_pending_max: 100"

    def test_T22_handshakes_that_do_not_go_on_are_closed_and_others_are_served(self):
        first = MemoryClient(context(self.ca), self.server.ports["tls"])
        hello = first.hello()
        first.close()
        slow = []
        for _ in range(150):
            slow.append(socket.create_connection(("127.0.0.1", self.server.ports["tls"]), 10))
            slow[-1].sendall(hello[:50])
        with self.server.plain() as client:  # The limit is one of TLS only.
            self.assertEqual(client.ask(b"use a\r\n"), b"USING a\r\n")
        # The oldest have given way, so this one waits for nobody.
        begun = time.monotonic()
        self.assert_serves()
        self.assertLess(time.monotonic() - begun, 1.5)
        for each in slow:
            self.assertEqual(each.recv(100), b"")
            each.close()
        self.server.wait_for("a newer client has its place")
        self.server.wait_for("the handshake took too long")
        self.assert_nobody_is_left()

    def test_T22_a_thousand_handshakes_do_not_stop_the_others(self):
        waits = []
        done = threading.Event()

        def measure():
            with self.server.plain() as client:
                while not done.is_set():
                    begun = time.monotonic()
                    client.ask(b"use a\r\n")
                    waits.append(time.monotonic() - begun)

        def flood():
            made = context(self.ca)
            for _ in range(250):
                self.server.connect(made).close()

        threads = [threading.Thread(target=flood) for _ in range(4)]
        watcher = threading.Thread(target=measure)
        watcher.start()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done.set()
        watcher.join()
        waits.sort()
        print(f"1,000 handshakes: p99 of another client {waits[len(waits) * 99 // 100] * 1e3:.1f} ms, "
              f"longest turn {self.server.stat('loop-lag-us') / 1e3:.1f} ms")
        self.assertGreater(len(waits), 100)


class Memory(TlsTest):
    """T25: what is in memory stays there."""

    def start(self):
        pass

    def owner(self, *flags):
        """The owner of what /proc shows of a server of another user: root if its memory is hidden."""
        for path, folders, files in os.walk(self.folder):
            for name in [path] + [os.path.join(path, each) for each in folders + files]:
                os.chown(name, NOBODY, NOBODY)
        server = subprocess.Popen(self.server.command(*flags), stderr=subprocess.PIPE, user=NOBODY, group=NOBODY,
                                  text=True)
        try:
            for line in server.stderr:
                if "at=listen" in line:
                    return os.stat(f"/proc/{server.pid}/mem").st_uid
            raise AssertionError("the server has not started")
        finally:
            server.kill()
            server.wait()
            server.stderr.close()

    @unittest.skipIf(os.getuid(), "only root may start a server of another user")
    def test_T25_no_process_of_its_user_reads_the_keys(self):
        self.assertEqual(self.owner(), 0)
        with open(self.server.settings, "a") as file:
            file.write("core_dumps: true\n")
        self.assertEqual(self.owner(), NOBODY)


class Starts(TlsTest):
    def start(self):
        pass

    def refusal(self, *flags):
        done = subprocess.run(self.server.command(*flags), capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 5, done.stderr)
        return done.stderr

    def test_T26_a_key_that_others_may_read_is_refused(self):
        os.chmod(self.own[1], 0o644)
        for flags in ((), ("--check-config",), ("--print-config",)):
            self.assertRegex(self.refusal(*flags), "server.key: others than its owner.*chmod 0600")

    def test_missing_files_are_named(self):
        os.remove(self.own[0])
        self.assertRegex(self.refusal(), "server.pem: cannot be opened: No such file")

    def test_good_files_are_good(self):
        for flag, says in (("--check-config", "good"), ("--print-config", "server.key")):
            done = subprocess.run(self.server.command(flag), capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(says, done.stdout)

    def passed(self, ports):
        """Starts a server to which these ports are passed, as a service manager does."""
        sockets = [socket.create_server(("127.0.0.1", port)) for port in ports]
        self.addCleanup(lambda: [each.close() for each in sockets])

        def prepare():
            for number, each in enumerate(sockets):
                os.dup2(each.fileno(), 50 + number)
            for number in range(len(sockets)):
                os.dup2(50 + number, 3 + number)

        command = f"export LISTEN_PID=$$ LISTEN_FDS={len(ports)}; exec \"$0\" \"$@\""
        process = subprocess.Popen(["sh", "-c", command, *self.server.command()], preexec_fn=prepare, close_fds=False,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stderr.close)
        return process

    def test_a_passed_socket_has_the_tls_of_its_address(self):
        process = self.passed([self.server.port, self.server.ports["tls"]])
        with self.server.plain() as client:
            self.assertEqual(client.ask(b"use a\r\n"), b"USING a\r\n")
        self.assert_serves()
        process.terminate()
        self.assertEqual(process.wait(20), 0)

    def test_a_listener_whose_socket_is_not_passed_is_refused(self):
        process = self.passed([self.server.port])
        self.assertIn("the service manager passed no socket at 127.0.0.1", process.communicate(timeout=20)[1])
        self.assertEqual(process.returncode, 111)


class Tool(TlsTest):
    listeners = {"tls": {}, "strict": {"client_ca": "{ca}"}}

    def run_tool(self, *words, name="tls", host="localhost", text=""):
        command = [PERENNIAL, words[0], "--server", f"{host}:{self.server.ports[name]}", *words[1:]]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=30)

    def test_commands_go_through_tls(self):
        tls = ("--tls", "--ca", self.ca.ca)
        for host in ("localhost", "127.0.0.1"):
            done = self.run_tool("put", *tls, "--lines", host=host, text="a\nb\n")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.run_tool("peek", *tls, "--body", "1").stdout, "a")
        self.assertIn('"current-jobs-ready": 4', self.run_tool("stats", *tls, "--json").stdout)
        self.assertIn("default", self.run_tool("top", *tls, "--once").stdout)
        done = self.run_tool("work", *tls, "--tube", "default", "--drain", "--", "cat")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.server.stat("current-jobs-ready"), 0)

    def test_a_large_body_goes_both_ways(self):
        body = "".join(str(number) for number in range(12_000))
        tls = ("--tls", "--ca", self.ca.ca)
        self.assertEqual(self.run_tool("put", *tls, text=body).returncode, 0)
        self.assertTrue(self.run_tool("peek", *tls, "--body", "1").stdout == body)

    def test_a_server_that_is_another_is_not_spoken_to(self):
        other = Certificates(self.folder + "/other", "Other CA")
        cases = [(("--tls", "--ca", other.ca), "unable to get local issuer"),
                 (("--tls",), "unable to get local issuer")]
        for words, why in cases:
            done = self.run_tool("stats", *words)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(why, done.stderr)

    def test_the_name_of_the_server_is_checked(self):
        self.server.stop()
        certificate, key = self.ca.issue("elsewhere", names="DNS:elsewhere.test,IP:192.0.2.1")
        shutil.copy(certificate, self.own[0])
        shutil.copy(key, self.own[1])
        self.server.start()
        for host, why in (("localhost", "hostname mismatch"), ("127.0.0.1", "IP address mismatch")):
            done = self.run_tool("stats", "--tls", "--ca", self.ca.ca, host=host)
            self.assertEqual(done.returncode, 1)
            self.assertIn(why, done.stderr)

    def test_a_certificate_is_shown_where_it_is_asked_for(self):
        own = self.ca.issue("operator", "clientAuth")
        tls = ("--tls", "--ca", self.ca.ca)
        done = self.run_tool("put", *tls, "--certificate", own[0], "--key", own[1], "a", name="strict")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_tool("stats", *tls, name="strict")
        self.assertEqual(done.returncode, 1)
        self.assertIn("certificate required", done.stderr)

    def test_flags_that_do_not_fit_are_refused(self):
        own = self.ca.issue("operator", "clientAuth")
        for words, why in ((("--ca", self.ca.ca), "need --tls"),
                           (("--tls", "--key", own[1]), "need each other"),
                           (("--tls", "--ca", "/nowhere"), "/nowhere: holds no CA"),
                           (("--tls", "--certificate", own[1], "--key", own[1]), "holds no certificate")):
            done = self.run_tool("stats", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(why, done.stderr)

    def test_plain_and_tls_do_not_meet(self):
        self.server.ports["plain"] = self.server.port
        self.assertEqual(self.run_tool("stats", "--tls", name="plain").returncode, 1)
        self.assertEqual(self.run_tool("stats").returncode, 1)
        del self.server.ports["plain"]


class Hangups(unittest.TestCase):
    def test_without_tls_a_hangup_ends_the_server(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(folder, {}).start()
            server.process.send_signal(signal.SIGHUP)
            server.process.wait(20)
            self.assertEqual(server.stop(), -signal.SIGHUP)


if __name__ == "__main__":
    unittest.main(verbosity=2)
