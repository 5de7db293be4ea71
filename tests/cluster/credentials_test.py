"""What an operator changes while a cluster serves: how etcd is reached.

PERENNIALD names the server, and ETCD and ETCDCTL name etcd and its tool, as for failures_test.py.
"""

import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tls"))
from cluster_case import ETCD, PERENNIALD, ClusterCase  # noqa: E402
from ledger import Load, all_jobs  # noqa: E402
from processes import free_port  # noqa: E402
from server import Certificates  # noqa: E402

ETCDCTL = os.environ.get("ETCDCTL", os.path.join(os.path.dirname(PERENNIALD), "etcd-client/usr/bin/etcdctl"))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        os.chmod(path, 0o600)
        file.write(text)


class CredentialsTest(ClusterCase):
    def wait_for_line(self, jobs, text, times=1):
        """In the log of each node."""
        self.wait_for(lambda: all(node.output().count(text) >= times for node in jobs.nodes), trouble=jobs.logs)

    def begin_load(self, jobs):
        load = Load(jobs.ports)
        self.addCleanup(load.stop)
        self.wait_for_puts(jobs, load)
        return load

    def wait_for_puts(self, jobs, load):
        stored = len(load.ledger.stored)
        self.wait_for(lambda: len(load.ledger.stored) > stored + 100, trouble=jobs.logs)

    def judge(self, jobs, load, epoch):
        """Nothing is lost, and nobody was elected."""
        self.wait_for_puts(jobs, load)
        load.stop()
        self.assertEqual(jobs.status()["epoch"], epoch, jobs.logs())
        self.assertEqual(sum(node.output().count("at=cluster.leader ") for node in jobs.nodes), 1, jobs.logs())
        self.assertNotIn("exit=76", jobs.logs())
        self.assertEqual(load.ledger.judge(all_jobs(jobs.ports)), [], jobs.logs())


class Credentials(CredentialsTest):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perennial-credentials-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.password = f"{self.folder}/password"
        self.own = {name: f"{self.folder}/{name}" for name in ("ca.pem", "node.pem", "node.key")}
        self.authority = Certificates(f"{self.folder}/first")
        self.next_authority = Certificates(f"{self.folder}/second", "Another CA")
        self.etcd_trusts = f"{self.folder}/etcd_trusts.pem"
        write(self.etcd_trusts, read(self.authority.ca) + read(self.next_authority.ca))
        self.member = self.authority.issue("member", usage="serverAuth,clientAuth")
        self.admin = self.authority.issue("admin", usage="clientAuth")

    def put_in_place(self, authority, certificate, key):
        for name, path in (("ca.pem", authority), ("node.pem", certificate), ("node.key", key)):
            write(self.own[name], read(path))

    def control(self, jobs, *words, password=None):
        flags = [f"--endpoints={jobs.endpoints[0]}", f"--cacert={self.authority.ca}", f"--cert={self.admin[0]}",
                 f"--key={self.admin[1]}", "--user=root:root"]  # fmt: skip
        done = subprocess.run([ETCDCTL, *flags, *words], input=password, capture_output=True, text=True, check=False,
                              timeout=30, env=os.environ | {"ETCDCTL_API": "3"})  # fmt: skip
        return done.returncode == 0, done.stdout + done.stderr

    def set_password(self, jobs, password):
        done, said = self.control(jobs, "user", "passwd", "perennial", "--interactive=false", password=password + "\n")
        self.assertTrue(done, said)

    def start(self, asks=True):
        """`asks`: etcd wants to know who calls from the start on."""
        self.put_in_place(self.authority.ca, *self.authority.issue("node", usage="clientAuth"))
        write(self.password, "first\n")
        jobs = self.begin(
            nodes=2, etcd_scheme="https",
            etcd_flags=["--cert-file", self.member[0], "--key-file", self.member[1], "--client-cert-auth",
                        "--trusted-ca-file", self.etcd_trusts],
            settings=f"  etcd_tls: {{ca: {self.own['ca.pem']}, certificate: {self.own['node.pem']}, key: {self.own['node.key']}}}\n"
            f"  etcd_user: perennial\n  etcd_password_file: {self.password}\n",
        )  # fmt: skip
        for member in jobs.members:
            member.start()
        self.wait_for(lambda: self.control(jobs, "endpoint", "health")[0], trouble=jobs.logs)
        if asks:
            self.turn_authentication_on(jobs)
        for node in jobs.nodes:
            node.start()
        jobs.wait_for_leader()
        return jobs

    def turn_authentication_on(self, jobs):
        for words in ("user add root:root", "user grant-role root root", "role add perennial",
                      "role grant-permission perennial --prefix=true readwrite /perennial/jobs/",
                      "user add perennial:first", "user grant-role perennial perennial", "auth enable"):  # fmt: skip
            done, said = self.control(jobs, *words.split())
            self.assertTrue(done, said)

    def test_authentication_is_turned_on_under_load(self):
        """etcd took the certificate's name for the user, who may do nothing, and nobody signed in."""
        jobs = self.start(asks=False)
        load = self.begin_load(jobs)
        epoch = jobs.status()["epoch"]
        self.turn_authentication_on(jobs)
        self.judge(jobs, load, epoch)

    def test_certificates_are_replaced_under_load(self):
        """They were read at the start: etcd that did not trust them any more stopped the cluster."""
        jobs = self.start()
        load = self.begin_load(jobs)
        epoch = jobs.status()["epoch"]
        certificate, key = self.next_authority.issue("node", usage="clientAuth")
        trusted = f"{self.folder}/both.pem"
        write(trusted, read(self.authority.ca) + read(self.next_authority.ca))
        # Half of a key, as a file that is being written.
        write(self.own["node.key"], read(key)[:100])
        self.wait_for_line(jobs, f"of=connections state=refused error=\"{self.own['node.key']}: holds no whole private key")
        # Another key than that of the certificate.
        write(self.own["node.key"], read(key))
        self.wait_for_line(jobs, f"{self.own['node.key']}: is not the key of the first certificate in {self.own['node.pem']}")
        self.wait_for_puts(jobs, load)
        self.put_in_place(trusted, certificate, key)
        self.wait_for_line(jobs, "at=cluster.credentials of=connections state=in_use")
        # From now on etcd takes the new certificates alone, and so it does by another one of its own.
        for path, text in zip(self.member, map(read, self.next_authority.issue("member", usage="serverAuth,clientAuth"))):
            write(path, text)
        write(self.etcd_trusts, read(self.next_authority.ca))
        for member in jobs.members:
            member.kill()
            member.start()
            self.wait_for_puts(jobs, load)
        self.judge(jobs, load, epoch)

    def test_the_password_is_changed_under_load(self):
        """It was read at the start: a changed password stopped the cluster until every process was restarted."""
        jobs = self.start()
        load = self.begin_load(jobs)
        epoch = jobs.status()["epoch"]
        # As the document says: the file, and then etcd.
        write(self.password, "second\n")
        self.set_password(jobs, "second")
        self.wait_for_puts(jobs, load)
        leader = jobs.leader()
        used = "at=cluster.credentials of=password state=in_use"
        self.wait_for(lambda: used in jobs.nodes[leader].output(), trouble=jobs.logs)
        # The other order: nothing is answered meanwhile.
        self.set_password(jobs, "third")
        refused = "at=cluster.credentials of=password state=refused"
        self.wait_for(lambda: refused in jobs.nodes[leader].output(), trouble=jobs.logs)
        write(self.password, "third\n")
        self.wait_for_puts(jobs, load)
        self.assertEqual(jobs.nodes[leader].output().count(used), 2, jobs.logs())
        self.assertNotIn("third", jobs.logs())
        self.judge(jobs, load, epoch)


class Endpoints(CredentialsTest):
    def change(self, jobs, old, new):
        """In each node's configuration, and SIGHUP."""
        for number, node in enumerate(jobs.nodes):
            path = f"{jobs.folder}/n{number}.yaml"
            text = read(path)
            self.assertIn(old, text)
            write(path, text.replace(old, new))
            node.signal(signal.SIGHUP)

    def test_endpoints_change_under_load(self):
        """Whoever replaced a member of etcd had to restart every node."""
        jobs = self.begin(nodes=2)

        def line_of(endpoints):
            return "etcd: [" + ", ".join(f'"{endpoint}"' for endpoint in endpoints) + "]"

        first, others = line_of(jobs.endpoints[:1]), line_of(jobs.endpoints[1:])
        for number in range(2):
            path = f"{jobs.folder}/n{number}.yaml"
            write(path, read(path).replace(line_of(jobs.endpoints), first))
        jobs.start()
        jobs.wait_for_leader()
        load = self.begin_load(jobs)
        epoch = jobs.status()["epoch"]
        # Nobody is there: what was in use stays.
        nobody = line_of([f"http://127.0.0.1:{free_port()}"])
        self.change(jobs, first, nobody)
        self.wait_for_line(jobs, 'of=connections state=refused error="no member of etcd answers')
        self.change(jobs, "lease_s: 5", "lease_s: 6")
        self.wait_for_line(jobs, "level=warning at=config.reload needs_restart=cluster.lease_s")
        self.change(jobs, nobody, "etcd: [nobody]")
        self.wait_for_line(jobs, "level=error at=config.reload error=")
        self.wait_for_puts(jobs, load)
        self.change(jobs, "etcd: [nobody]", others)
        self.wait_for_line(jobs, "at=cluster.credentials of=connections state=in_use")
        jobs.members[0].kill()
        self.wait_for_puts(jobs, load)
        self.judge(jobs, load, epoch)

    def test_the_certificate_of_a_standby_for_others_is_read_again(self):
        """A standby read the files of its listeners when it began to lead, so the certificate of its HTTP port expired."""
        jobs = self.begin(members=1, nodes=2, peers_show="token")
        jobs.start()
        standby = 1 - jobs.wait_for_leader()
        self.wait_for(lambda: "at=cluster.standby" in jobs.nodes[standby].output(), trouble=jobs.logs)
        jobs.nodes[standby].signal(signal.SIGHUP)
        self.wait_for(lambda: "at=tls.reload" in jobs.nodes[standby].output(), trouble=jobs.logs)


class Dns:
    """A server of DNS that knows the SRV records of one name, whose hosts are this machine."""

    address = "127.77.0.1"

    def __init__(self, name):
        self.name = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
        self.ports = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((self.address, 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                question, client = self.socket.recvfrom(512)
            except OSError:
                return
            end = question.index(b"\0", 12) + 5
            is_known = question[12:end] == self.name + b"\0\x21\0\x01"
            data = [struct.pack("!HHH", i, 0, port) + b"\x09localhost\0" for i, port in enumerate(self.ports)]
            records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", 33, 1, 60, len(each)) + each for each in data)
            head = question[:2] + struct.pack("!HHHHH", 0x8180 if is_known else 0x8183, 1, len(data) if is_known else 0, 0, 0)
            self.socket.sendto(head + question[12:end] + (records if is_known else b""), client)

    def close(self):
        self.socket.close()


class Discovery(CredentialsTest):
    def test_members_are_those_that_dns_names(self):
        try:
            dns = Dns("_etcd-client._tcp.example.test")
        except OSError as error:
            self.skipTest(f"no port for DNS: {error}")
        self.addCleanup(dns.close)
        jobs = self.begin(nodes=2)
        names = f"{jobs.folder}/resolv.conf"
        write(names, f"nameserver {dns.address}\n")
        own_names = ["unshare", "--mount", "sh", "-ec", f'mount --bind {names} /etc/resolv.conf; exec "$0" "$@"']
        if subprocess.run([*own_names, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("only root has a resolv.conf of its own")
        ports = [int(endpoint.rpartition(":")[2]) for endpoint in jobs.endpoints]
        dns.ports = ports[:1]
        for number, node in enumerate(jobs.nodes):
            path = f"{jobs.folder}/n{number}.yaml"
            write(path, re.sub(r"etcd: \[.*\]", "etcd_discovery: example.test", read(path)))
            node.arguments = [*own_names, *node.arguments]
        # A start before DNS answers.
        dns.ports, known = [], dns.ports
        jobs.nodes[0].start()
        self.assertEqual(jobs.nodes[0].wait(30), 71, jobs.logs())
        self.assertIn("DNS names no member of etcd", jobs.nodes[0].output())
        dns.ports = known
        jobs.start()
        jobs.wait_for_leader()
        load = self.begin_load(jobs)
        dns.ports = ports[1:]
        for node in jobs.nodes:
            node.signal(signal.SIGHUP)
        found = ",".join(f"http://localhost:{port}" for port in ports[1:])
        self.wait_for_line(jobs, f"at=cluster.discovery etcd={found}")
        self.wait_for_line(jobs, "at=cluster.credentials of=connections state=in_use")
        jobs.members[0].kill()
        self.wait_for_puts(jobs, load)
        load.stop()
        self.assertEqual(sum(node.output().count("at=cluster.leader ") for node in jobs.nodes), 1, jobs.logs())
        self.assertEqual(load.ledger.judge(all_jobs(jobs.ports)), [], jobs.logs())


class Settings(CredentialsTest):
    def test_a_node_with_other_settings_says_so_and_does_not_lead(self):
        """One without users, or with other limits, joined without a word, and served when it led."""
        jobs = self.begin(members=1, nodes=2, settings="  settings_differ: refuse\n")
        path = f"{jobs.folder}/n1.yaml"
        users = f"{jobs.folder}/users.yaml"
        write(users, "- {name: ann, uids: [0], grants: [{verbs: [admin]}]}\n")
        write(path, f"jobs_max: 5\nusers_file: {users}\n" + read(path))
        jobs.members[0].start()
        jobs.nodes[0].start()
        self.assertEqual(jobs.wait_for_leader(), 0)
        jobs.nodes[1].start()
        said = "level=warning at=cluster.settings differ=jobs_max,users"
        self.wait_for(lambda: said in jobs.nodes[1].output(), trouble=jobs.logs)
        self.assertNotIn("at=cluster.settings", jobs.nodes[0].output())
        status = jobs.status()
        self.assertIn("settings of node n1 are others than the leader's", "\n".join(status["warnings"]))
        self.assertEqual([node["settings_differ"] for node in status["nodes"]], [[], ["jobs_max", "users"]])
        jobs.nodes[0].kill()
        time.sleep(10)  # Two leases.
        self.assertIsNone(jobs.leader(), jobs.logs())
        jobs.nodes[0].start()
        self.assertEqual(jobs.wait_for_leader(), 0)
        # It is corrected.
        write(path, read(path).replace(f"jobs_max: 5\nusers_file: {users}\n", ""))
        jobs.nodes[1].signal(signal.SIGTERM)
        jobs.nodes[1].wait(30)
        jobs.nodes[1].start()
        self.wait_for(lambda: len(jobs.status()["nodes"]) == 2 and not jobs.status()["warnings"], trouble=jobs.logs)


if __name__ == "__main__":
    if not os.access(ETCD, os.X_OK) or not os.access(ETCDCTL, os.X_OK):
        print(f"skipped: there is no etcd at {ETCD}, or no etcdctl at {ETCDCTL}")
        sys.exit(77)
    unittest.main(verbosity=2)
