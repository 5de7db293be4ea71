"""A perenniald with TLS listeners, its certificates, and clients of it."""

import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from ports import free_port  # noqa: E402

PERENNIALD = os.environ.get("PERENNIALD", "build/perenniald")


def openssl(*words, **options):
    return subprocess.run(["openssl", *words], check=True, capture_output=True, **options)


class Certificates:
    """A CA in a folder, with openssl(1) as an operator has it."""

    def __init__(self, folder, name="Queue CA"):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.ca = os.path.join(folder, "ca.pem")
        self._key = os.path.join(folder, "ca.key")
        openssl("req", "-x509", *self._new_key(), "-subj", "/CN=" + name, "-days", "30", "-keyout", self._key,
                "-out", self.ca)

    @staticmethod
    def _new_key():
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    def issue(self, name, usage="serverAuth", names="DNS:localhost,IP:127.0.0.1", days="30", signed=True):
        """Returns the paths of a certificate and its key."""
        certificate = os.path.join(self.folder, name + ".pem")
        key = os.path.join(self.folder, name + ".key")
        words = ["req", "-x509", *self._new_key(), "-subj", "/CN=" + name, "-days", days, "-keyout", key, "-out",
                 certificate, "-addext", "basicConstraints=critical,CA:FALSE", "-addext",
                 "extendedKeyUsage=" + usage, "-addext", "subjectAltName=" + names]
        if signed:
            words += ["-CA", self.ca, "-CAkey", self._key]
        openssl(*words)
        return certificate, key

    def revoke(self, *certificates):
        """Writes the list of these certificates, and returns its path."""
        index, settings = os.path.join(self.folder, "index.txt"), os.path.join(self.folder, "ca.cnf")
        with open(index, "w") as file:
            for certificate in certificates:
                serial = openssl("x509", "-in", certificate, "-noout", "-serial", text=True).stdout.strip().partition("=")[2]
                file.write(f"R\t400101000000Z\t200101000000Z\t{serial}\tunknown\t/CN=revoked\n")
        with open(settings, "w") as file:
            file.write(f"[ca]\ndefault_ca = own\n[own]\ndatabase = {index}\ndefault_md = sha256\ndefault_crl_days = 30\n")
        path = os.path.join(self.folder, "crl.pem")
        openssl("ca", "-gencrl", "-config", settings, "-cert", self.ca, "-keyfile", self._key, "-out", path + ".new")
        os.rename(path + ".new", path)
        return path


class Server:
    """Listens at a plain port, and at one TLS port for each of `listeners`, whose values are settings.

    `plain_listeners` has further listeners without TLS: their addresses, with the user of each or None.
    """

    def __init__(self, folder, listeners, settings="", flags=(), plain_listeners=()):
        self.folder = folder
        self.port = free_port()
        self.ports = {}
        self._flags = list(flags)
        self.settings = os.path.join(folder, "perennial.yaml")
        lines = [f"listen: [127.0.0.1:{self.port}]", "listeners:"]
        for name, tls in listeners.items():
            self.ports[name] = free_port()
            values = ", ".join(f'{key}: "{value}"' for key, value in tls.items())
            lines.append(f'  - {{address: "127.0.0.1:{self.ports[name]}", tls: {{{values}}}}}')
        for address, user in plain_listeners:
            lines.append(f'  - {{address: "{address}"' + (f', user: "{user}"}}' if user else "}"))
        self._listeners = 1 + len(listeners) + len(plain_listeners)
        lines.append("ballast_bytes: 1MiB")  # A large one is slow to write.
        with open(self.settings, "w") as file:
            file.write("\n".join(lines) + "\n" + settings + "\n")
        self.process = None

    def command(self, *more):
        return [PERENNIALD, "--config", self.settings, "-b", os.path.join(self.folder, "data"), *self._flags, *more]

    def start(self):
        self._log = open(os.path.join(self.folder, "log"), "w+")
        self.process = subprocess.Popen(self.command(), stderr=self._log)
        self.wait_for("at=listen", self._listeners)
        return self

    def log(self):
        with open(self._log.name) as file:
            return file.read()

    def wait_for(self, text, times=1):
        end = time.monotonic() + 20
        while self.log().count(text) < times:
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"no {text!r} in the log:\n{self.log()}")
            time.sleep(0.02)

    def reload(self):
        """Returns the line of the log that a reload has left."""
        before = self.log().count("at=tls.reload")
        self.process.send_signal(signal.SIGHUP)
        self.wait_for("at=tls.reload", before + 1)
        return [line for line in self.log().splitlines() if "at=tls.reload" in line][-1]

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(20)
        self._log.close()
        return code

    def plain(self):
        return Client(socket.create_connection(("127.0.0.1", self.port), 10))

    def connect(self, context, name="tls", session=None):
        raw = socket.create_connection(("127.0.0.1", self.ports[name]), 10)
        try:
            return Client(context.wrap_socket(raw, server_hostname="localhost", session=session))
        except BaseException:
            raw.close()
            raise

    def has_io_threads(self):
        tasks = f"/proc/{self.process.pid}/task"
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/comm", encoding="ascii") as name:
                if name.read().startswith("perennial-io-"):
                    return True
        return False

    def stat(self, key):
        with self.plain() as client:
            return int(client.stats()[key])


class Client:
    """Speaks beanstalkd's protocol over any socket."""

    def __init__(self, sock):
        self.sock = sock
        self._file = sock.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        with contextlib.suppress(OSError):
            self._file.close()
            self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def line(self):
        return self._file.readline()

    def read(self, count=-1):
        return self._file.read(count)

    def ask(self, data):
        self.send(data)
        return self.line()

    def put(self, body):
        return self.ask(b"put 0 0 60 %d\r\n%s\r\n" % (len(body), body))

    def body(self, command):
        """The body that RESERVED, FOUND or OK announces."""
        words = self.ask(command).split()
        return self.read(int(words[-1]) + 2)[:-2]

    def stats(self):
        rows = self.body(b"stats\r\n").decode().splitlines()[1:]
        return dict(row.split(": ", 1) for row in rows)


def context(certificates, own=None, newest=None):
    made = ssl.create_default_context(cafile=certificates.ca)
    made.set_alpn_protocols(["beanstalk"])
    if own is not None:
        made.load_cert_chain(*own)
    if newest is not None:
        made.maximum_version = newest
    return made
