"""Honest clients, who check each answer, and write down how long they waited for it."""

import array
import json
import socket
import ssl
import threading
import time

from hostile_server import HONEST, LOCAL_HONEST, LOCAL_ONE, ONE

# Whoever waits longer is starved. A handshake waits for one of each other address, of which so many go on in a turn, and a scrape
# for those of strangers, of which two are made at the same time: with little processor time that takes long.
SECONDS_MAX = 10
SECONDS_MAX_IN_LINE = 30
FAILURES_KEPT = 5


class Refused(Exception):
    """An answer that no honest client should get."""


class TurnedAway(ConnectionError):
    """The connection was closed before anything was asked, so that it is safe to ask again."""


class Jobs:
    """The jobs that newcomers put and the collector takes. Each is put once and taken once."""

    def __init__(self):
        self._lock = threading.Lock()
        self._put = {}
        self._taken = {}
        self.count = 0

    def put(self, body, job):
        with self._lock:
            self.count += 1
            self._match(self._taken, self._put, body, job)

    def taken(self, body, job):
        with self._lock:
            self._match(self._put, self._taken, body, job)

    @staticmethod
    def _match(others, own, body, job):
        if body in own:
            raise Refused(f"the job {body} is there twice: {own[body]} and {job}")
        if body not in others:
            own[body] = job
        elif others.pop(body) != job:
            raise Refused(f"the job {body} has two ids, {job} among them")

    def open(self):
        """Those that only one side knows."""
        with self._lock:
            return len(self._put), len(self._taken)


class Witness:
    """Asks again and again, on a thread of its own."""

    pause = 0.1
    # How often it may be turned away before it is served, and asks again at once. At the strangers' own address their connections
    # and its own are the same to the server until it has shown its token, and the older ones give way. So it is with handshakes from
    # a hundred addresses, of which none has more than its own: a burst of as many as there are places ends those before it.
    turned_away_max = 0

    def __init__(self, name, server, jobs, door, address=None):
        self.name = name
        self.server = server
        self.jobs = jobs
        self.door = server.doors()[door]
        self.address = address
        if address == ONE or (address and self.door.get("tls")):
            self.turned_away_max = 20
        self.turned_away = 0
        self.token = server.tokens.get("witness")
        self.context = server.context()
        self.seconds_max = SECONDS_MAX_IN_LINE if self.door.get("tls") or name == "/metrics" else SECONDS_MAX
        self.times = array.array("d")
        self.failures = []
        self.failure_count = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self):
        self._thread.start()

    def stop_asking(self):
        self._stop.set()

    def stop(self):
        self._stop.set()
        self._thread.join()
        self.leave()

    def take_times(self):
        """Since the last call."""
        times, self.times = self.times, array.array("d")
        return times

    def _run(self):
        while not self._stop.wait(self.pause):
            begun = time.monotonic()
            try:
                self._ask_until_served()
            except (OSError, Refused, ValueError) as error:
                self.failure_count += 1
                if len(self.failures) < FAILURES_KEPT:
                    self.failures.append(f"after {time.monotonic() - begun:.3f} s: {type(error).__name__}: {error}")
                self.leave()
            self.times.append(time.monotonic() - begun)

    def _ask_until_served(self):
        """Its time is that of all attempts."""
        for _ in range(self.turned_away_max):
            try:
                return self.ask()
            except TurnedAway:
                self.turned_away += 1
        return self.ask()

    def ask(self):
        raise NotImplementedError

    def leave(self):
        """Closes what stays open between two questions."""

    def connect(self):
        if "unix" in self.door:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(self.seconds_max)
            try:
                sock.connect(self.door["unix"])
            except BaseException:
                sock.close()
                raise
            return sock
        source = (self.address, 0) if self.address and not self.door.get("proxy") else None
        sock = socket.create_connection(tuple(self.door["at"]), self.seconds_max, source)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if self.door.get("proxy"):
                sock.sendall(f"PROXY TCP4 {self.address} 192.0.2.1 4711 1\r\n".encode())
            if self.door.get("tls"):
                try:
                    sock = self.context.wrap_socket(sock)
                except (ssl.SSLEOFError, ConnectionError) as error:
                    raise TurnedAway(f"in the handshake: {error}") from error
        except BaseException:
            sock.close()
            raise
        return sock


class Line:
    """A connection to the queue."""

    def __init__(self, witness):
        self.sock = witness.connect()
        self.file = self.sock.makefile("rb")
        self.was_answered = False
        if witness.token:
            try:
                self.expect(f"auth {witness.token}\r\n".encode(), b"AUTHENTICATED")
            except BaseException:
                self.close()
                raise

    def expect(self, command, *words):
        """The words behind those that the answer has to begin with."""
        try:
            self.sock.sendall(command)
            line = self.file.readline()
        except (ssl.SSLEOFError, ConnectionError) as error:
            if command.startswith(b"auth "):
                raise TurnedAway(f"before the token: {error}") from error
            if isinstance(error, ssl.SSLEOFError) and not self.was_answered:  # As in exchange().
                raise TurnedAway(f"in the handshake, which ends later for the server: {error}") from error
            raise
        if not line and command.startswith(b"auth "):
            raise TurnedAway("before the token")
        got = line.split()
        if tuple(got[:len(words)]) != words:
            shown = b"auth" if command.startswith(b"auth ") else command
            raise Refused(f"{shown!r} was answered {line!r}, and not {words}")
        self.was_answered = True
        return got[len(words):]

    def body(self, size):
        return self.file.read(int(size) + 2)[:-2]

    def stats(self, command=b"stats\r\n"):
        (size,) = self.expect(command, b"OK")
        return dict(row.split(": ", 1) for row in self.body(size).decode().splitlines()[1:])

    def tubes(self):
        (size,) = self.expect(b"list-tubes\r\n", b"OK")
        return [row[2:] for row in self.body(size).decode().splitlines()[1:]]

    def close(self):
        self.file.close()
        self.sock.close()


class Worker(Witness):
    """A connection that stays: puts a job, reserves it, reads it, and deletes it."""

    def __init__(self, *words, **named):
        super().__init__(*words, **named)
        self.line = None
        self.count = 0

    def ask(self):
        tube = f"witness-{self.number}".encode()
        if self.line is None:
            self.line = Line(self)
            self.line.expect(b"use " + tube + b"\r\n", b"USING", tube)
            self.line.expect(b"watch " + tube + b"\r\n", b"WATCHING")
            self.line.expect(b"ignore default\r\n", b"WATCHING", b"1")
        self.count += 1
        body = b"%s:%d" % (tube, self.count)
        (job,) = self.line.expect(b"put 0 0 600 %d\r\n%s\r\n" % (len(body), body), b"INSERTED")
        (size,) = self.line.expect(b"reserve-with-timeout 5\r\n", b"RESERVED", job)
        if self.line.body(size) != body:
            raise Refused(f"job {job} has another body")
        self.line.expect(b"delete " + job + b"\r\n", b"DELETED")

    def leave(self):
        if self.line is not None:
            self.line.close()
            self.line = None


class Collector(Witness):
    """Takes the jobs of the newcomers. Its times are those of a reservation that need not wait."""

    pause = 0

    def __init__(self, *words, **named):
        super().__init__(*words, **named)
        self.line = None

    def ask(self):
        if self.line is None:
            self.line = Line(self)
            self.line.expect(b"watch witness-new\r\n", b"WATCHING")
            self.line.expect(b"ignore default\r\n", b"WATCHING", b"1")
        self.line.sock.sendall(b"reserve-with-timeout 1\r\n")
        words = self.line.file.readline().split()
        if words[:1] == [b"TIMED_OUT"]:
            return
        if words[:1] != [b"RESERVED"]:
            raise Refused(f"the collector was answered {words}")
        self.jobs.taken(self.line.body(words[2]), int(words[1]))
        self.line.expect(b"delete " + words[1] + b"\r\n", b"DELETED")

    leave = Worker.leave


class Newcomer(Witness):
    """Connects, shows a good token where there are users, puts a job, and leaves."""

    count = 0

    def ask(self):
        self.count += 1
        body = b"%s:%d" % (self.name.encode(), self.count)
        line = Line(self)
        try:
            line.expect(b"use witness-new\r\n", b"USING", b"witness-new")
            (job,) = line.expect(b"put 0 0 600 %d\r\n%s\r\n" % (len(body), body), b"INSERTED")
        finally:
            line.close()
        self.jobs.put(body, int(job))


def exchange(sock, request):
    """The status and the body of an answer behind which the connection is closed."""
    with sock.makefile("rb") as file:
        try:
            sock.sendall(request)
            answer = file.read()
        except ssl.SSLEOFError as error:  # With TLS 1.3 the server's handshake ends after the client's.
            raise TurnedAway(f"before an answer: {error}") from error
    if not answer:
        raise TurnedAway("before an answer")
    head, _, body = answer.partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    return int(words[1]) if len(words) == 3 else 0, body


class HttpNewcomer(Witness):
    """The same over HTTP."""

    count = 0

    def ask(self):
        self.count += 1
        text = f"{self.name}:{self.count}"
        body = json.dumps({"tube": "witness-new", "body": text}).encode()
        shown = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        with self.connect() as sock:
            status, answer = exchange(sock, (
                f"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{shown}"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)
        if status not in (200, 201):
            raise Refused(f"POST /api/v1/jobs was answered {status}: {answer[:200]!r}")
        self.jobs.put(text.encode(), int(json.loads(answer)["id"]))


class Probe(Witness):
    """Asks as an orchestrator does, with a new connection each time."""

    def __init__(self, path, server):
        super().__init__(path, server, None, "http-local")
        self.path = path
        self.last = b""  # The newest answer.

    def ask(self):
        shown = f"Authorization: Bearer {self.token}\r\n" if self.token and self.path == "/metrics" else ""
        with self.connect() as sock:
            status, body = exchange(sock, f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{shown}\r\n".encode())
        if status != 200:
            raise Refused(f"{self.path} was answered {status}: {body[:200]!r}")
        if self.path == "/metrics" and b"perennial_connections" not in body:
            raise Refused(f"the metrics are not whole: {len(body)} bytes")
        self.last = body


def witnesses_of(server, jobs):
    def make(kind, name, door, address=None):
        return kind(name, server, jobs, door, address)

    out = [
        make(Worker, "worker", "queue-local"),
        make(Worker, "worker from outside, TLS", "queue-tls", HONEST),
        make(Collector, "collector", "queue-unix"),
        make(Newcomer, "newcomer", "queue-local"),
        make(Newcomer, "newcomer, unix", "queue-unix"),
        make(Newcomer, "newcomer from outside, TLS", "queue-tls", HONEST),
        # Without users nobody tells it from others at its address, which has a limit of requests.
        make(HttpNewcomer, "newcomer, HTTP", "http-local", LOCAL_ONE if server.has_users else LOCAL_HONEST),
        make(HttpNewcomer, "newcomer, HTTP on unix", "http-unix"),
        Probe("/livez", server), Probe("/readyz", server), Probe("/metrics", server),
    ]
    if server.has_users:
        # Also from the address from which the strangers come.
        out += [
            make(Newcomer, "newcomer from theirs, TLS", "queue-tls", ONE),
            make(HttpNewcomer, "newcomer from outside, HTTPS", "https", HONEST),
            make(HttpNewcomer, "newcomer from theirs, HTTPS", "https", ONE),
        ]
    else:
        out += [
            make(Worker, "worker from outside", "queue", HONEST),
            make(Newcomer, "newcomer from outside", "queue", HONEST),
            make(Newcomer, "newcomer, proxy", "queue-proxy", HONEST),
        ]
    return out
