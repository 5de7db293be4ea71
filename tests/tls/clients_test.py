#!/usr/bin/env python3
"""Peers of others over TLS: real clients behind stunnel, Node's tls, PHP's streams, and a scan by sslscan.

PERENNIALD names the server. CLIENTS_DIR has the scripts of tests/clients, and MODULES_DIR their modules from npm.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

from server import Certificates, Client, Server, context, free_port

CLIENTS_DIR = os.environ["CLIENTS_DIR"]
MODULES_DIR = os.environ["MODULES_DIR"]
ALL = "grants: [{tubes: ['*'], verbs: [produce, consume, inspect, manage, monitor, admin]}]"

# Puts a job over TLS with a certificate, and reserves it.
NODE = """
const [port, ca, certificate, key] = process.argv.slice(1);
const read = require('fs').readFileSync;
const peer = require('tls').connect({port, host: '127.0.0.1', servername: 'localhost', ca: read(ca),
  cert: read(certificate), key: read(key), ALPNProtocols: ['beanstalk']});
let got = '';
peer.setEncoding('utf8').on('error', error => { console.log(error.code || error.message); process.exit(1); });
peer.on('secureConnect', () => peer.write('put 0 0 60 5\\r\\nhello\\r\\nreserve\\r\\ndelete 1\\r\\nquit\\r\\n'));
peer.on('data', text => { got += text; });
peer.on('end', () => { console.log(JSON.stringify([peer.getProtocol(), peer.alpnProtocol, got])); peer.end(); });
"""
PHP = """
[$_, $port, $ca, $certificate, $key] = $argv;
$context = stream_context_create(['ssl' => ['cafile' => $ca, 'local_cert' => $certificate, 'local_pk' => $key,
  'peer_name' => 'localhost']]);
$peer = stream_socket_client("tls://127.0.0.1:$port", $number, $text, 10, STREAM_CLIENT_CONNECT, $context);
if ($peer === false) { echo $text; exit(1); }
fwrite($peer, "put 0 0 60 5\\r\\nhello\\r\\nreserve\\r\\ndelete 1\\r\\nquit\\r\\n");
echo stream_get_contents($peer);
"""


def outcome(command, seconds=60, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, **options)
    return done.returncode, done.stdout.decode(errors="replace")


class Peers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perennial-peers-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.ca = Certificates(os.path.join(self.folder, "ca"))
        self.own = self.ca.issue("server")
        self.worker = self.ca.issue("worker", "clientAuth", "URI:urn:queue:worker")

    def start(self, settings="", **tls):
        listener = {"certificate": self.own[0], "key": self.own[1], "client_ca": self.ca.ca, **tls}
        listener = {key: value for key, value in listener.items() if value}
        server = Server(self.folder, {"tls": listener}, settings).start()
        self.addCleanup(server.stop)
        return server

    def start_with_users(self):
        return self.start(f"users: [{{name: worker, certificates: ['urn:queue:worker'], {ALL}}}]")

    def stunnel(self, port):
        """Starts stunnel, which speaks TLS with a certificate to `port`, and returns its own port, which is plain."""
        own = free_port()
        settings = os.path.join(self.folder, "stunnel.conf")
        with open(settings, "w") as file:
            file.write(f"foreground = yes\npid =\n[queue]\nclient = yes\naccept = 127.0.0.1:{own}\n"
                       f"connect = 127.0.0.1:{port}\ncert = {self.worker[0]}\nkey = {self.worker[1]}\n"
                       f"CAfile = {self.ca.ca}\nverifyChain = yes\ncheckHost = localhost\nTIMEOUTclose = 1\n")
        with open(os.path.join(self.folder, "stunnel.log"), "w") as log:
            process = subprocess.Popen(["stunnel4", settings], stdout=log, stderr=log)
        self.addCleanup(process.wait, 10)
        self.addCleanup(process.terminate)
        end = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", own), 1).close()
                return own
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    with open(log.name) as text:
                        raise AssertionError("stunnel does not listen:\n" + text.read()) from None
                time.sleep(0.05)

    def run_client(self, *command):
        server = self.start_with_users()
        port = self.stunnel(server.ports["tls"])
        environment = {**os.environ, "NODE_PATH": os.path.join(MODULES_DIR, "node_modules")}
        code, text = outcome([*command, "127.0.0.1", str(port)], 120, env=environment)
        self.assertEqual(code, 0, text + server.log())
        # It came in by its certificate.
        with server.plain() as client:
            self.assertEqual(client.ask(b"stats\r\n"), b"UNAUTHORIZED\r\n")
        server.wait_for("user=worker")

    @classmethod
    def setUpClass(cls):
        code, text = outcome([os.path.join(CLIENTS_DIR, "node", "install.sh"), MODULES_DIR], 300)
        assert code == 0, text

    def test_jackd_behind_stunnel(self):
        self.run_client("node", os.path.join(CLIENTS_DIR, "node", "jackd.js"))

    def test_fivebeans_behind_stunnel(self):
        self.run_client("node", os.path.join(CLIENTS_DIR, "node", "fivebeans.js"))

    def test_beaneater_behind_stunnel(self):
        self.run_client("ruby", os.path.join(CLIENTS_DIR, "beaneater.rb"))

    def test_pheanstalk_behind_stunnel(self):
        self.run_client("php", os.path.join(CLIENTS_DIR, "pheanstalk.php"))

    def test_node_with_a_certificate(self):
        server = self.start_with_users()
        code, text = outcome(["node", "-e", NODE, str(server.ports["tls"]), self.ca.ca, *self.worker])
        self.assertEqual((code, text.strip()), (0, '["TLSv1.3","beanstalk","INSERTED 1\\r\\nRESERVED 1 5\\r\\nhello\\r\\n'
                                                   'DELETED\\r\\n"]'))

    def test_php_with_a_certificate(self):
        server = self.start_with_users()
        code, text = outcome(["php", "-r", PHP, str(server.ports["tls"]), self.ca.ca, *self.worker])
        self.assertEqual((code, text), (0, "INSERTED 1\r\nRESERVED 1 5\r\nhello\r\nDELETED\r\n"))

    def test_T20_neither_gets_in_with_a_certificate_of_another_ca(self):
        server = self.start_with_users()
        stranger = Certificates(os.path.join(self.folder, "other")).issue("worker", "clientAuth",
                                                                          "URI:urn:queue:worker")
        for command in (["node", "-e", NODE], ["php", "-r", PHP]):
            code, text = outcome([*command, str(server.ports["tls"]), self.ca.ca, *stranger])
            self.assertNotIn("INSERTED", text, command[0])
        self.assertNotIn("user=worker", server.log())

    def test_T24_sslscan_finds_nothing_weak(self):
        server = self.start(client_ca=None)
        code, text = outcome(["sslscan", "--no-colour", "--xml=-", f"127.0.0.1:{server.ports['tls']}"], 120)
        self.assertEqual(code, 0, text)
        found = xml.etree.ElementTree.fromstring(text[text.index("<document"):]).find("ssltest")
        spoken = {row.get("type") + row.get("version") for row in found.iter("protocol") if row.get("enabled") == "1"}
        self.assertEqual(spoken, {"tls1.2", "tls1.3"})
        self.assertEqual(found.find("renegotiation").get("supported"), "0", text)
        # A scanner whose OpenSSL has no compression cannot ask for it.
        self.assertNotEqual([row.get("supported") for row in found.iter("compression")], ["1"], text)
        self.assertEqual([row.get("sslversion") for row in found.iter("heartbleed") if row.get("vulnerable") != "0"], [])
        ciphers = [(row.get("sslversion"), row.get("cipher")) for row in found.iter("cipher")]
        self.assertGreater(len(ciphers), 3, text)
        for version, name in ciphers:
            with self.subTest(cipher=name):
                self.assertRegex(name, r"GCM|POLY1305|CCM")
                self.assertTrue(version == "TLSv1.3" or name.startswith("ECDHE-"), name)

    def test_a_stunnel_of_clients_without_their_own_certificate_gets_nothing(self):
        server = self.start_with_users()
        self.worker = self.ca.issue("nobody", "clientAuth", "URI:urn:queue:nobody")
        port = self.stunnel(server.ports["tls"])
        with contextlib.closing(socket.create_connection(("127.0.0.1", port), 10)) as raw, Client(raw) as client:
            self.assertEqual(client.put(b"a"), b"UNAUTHORIZED\r\n")


if __name__ == "__main__":
    unittest.main()
