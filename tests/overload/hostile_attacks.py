"""What strangers do. As a program: a process of strangers at one door, which stops when its standard input ends.

    hostile_attacks.py NAME SEED <what hostile_server.as_text() says

Each attack is a class with one step, which is repeated on a thread of its own. It ends soon, and its state is the
sockets that it holds. It prints at its end, as JSON, how many steps each attack did and how many sockets it held.
"""

import json
import os
import random
import resource
import select
import socket
import ssl
import struct
import sys
import threading

from hostile_server import BODY, HUNDRED, LOCAL_HUNDRED, LOCAL_ONE, ONE, end_with_parent

WRONG_TOKEN_BYTES = 43
ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"


class Stranger:
    """One thread: where it comes from, its door, and its dice."""

    def __init__(self, known, door, source, rng, stop):
        self.known = known
        self.door = known["doors"][door]
        self.source = source
        self.rng = rng
        self.stop = stop
        self.context = ssl.create_default_context(cafile=known["ca"])
        self.context.check_hostname = False

    def address(self):
        """Of its own machine, if the door is at a loopback address."""
        is_local = self.door["at"][0].startswith("127.")
        if self.source == "one":
            return LOCAL_ONE if is_local else ONE
        return self.rng.choice(LOCAL_HUNDRED if is_local else HUNDRED)

    def connect_raw(self):
        """A socket on which nothing was sent, not even the header of a proxy."""
        if "unix" in self.door:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(2)
            try:
                sock.connect(self.door["unix"])
            except BaseException:
                sock.close()
                raise
            return sock
        return socket.create_connection(tuple(self.door["at"]), 2, (self.address(), 0))

    def connect(self):
        """A socket that speaks what the door speaks."""
        sock = self.connect_raw()
        try:
            if self.door.get("proxy"):
                address = ONE if self.source == "one" else self.rng.choice(HUNDRED)
                sock.sendall(f"PROXY TCP4 {address} 192.0.2.1 4711 1\r\n".encode())
            if self.door.get("tls"):
                sock = self.context.wrap_socket(sock)
        except BaseException:
            sock.close()
            raise
        return sock

    def garbage(self, most=2_000):
        return self.rng.randbytes(self.rng.randrange(1, most))

    def word(self, most=20):
        return "".join(self.rng.choice(ALPHABET) for _ in range(self.rng.randrange(1, most)))

    def wrong_token(self):
        return "prn_k1_" + "".join(self.rng.choice(ALPHABET) for _ in range(WRONG_TOKEN_BYTES))


def leave(sock, rng):
    """With FIN or with RST."""
    try:
        if rng.random() < 0.5 and sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
    except OSError:
        pass


def send_some(sock, data, seconds=0.2):
    """What the server takes of it in this time."""
    sock.settimeout(seconds)
    try:
        sock.sendall(data)
        return True
    except (TimeoutError, ssl.SSLWantWriteError):
        return False


def read_some(sock, seconds=0.05, most=1 << 20):
    got = 0
    sock.settimeout(seconds)
    try:
        while got < most:
            data = sock.recv(65_536)
            if not data:
                break
            got += len(data)
    except TimeoutError:
        pass
    return got


class Attack:
    pause = 0.0

    def __init__(self, stranger):
        self.who = stranger
        self.rng = stranger.rng
        self.steps = 0
        self.errors = 0
        self.most_held = 0
        self.held = []

    def run(self):
        while not self.who.stop.wait(self.pause):
            try:
                self.step()
                self.steps += 1
            except (OSError, ValueError):  # ssl's errors are OSErrors; a socket closed in between is a ValueError.
                self.errors += 1
                self.who.stop.wait(0.01)
            self.most_held = max(self.most_held, len(self.held))
        for sock in self.held:
            leave(sock, self.rng)


class Holder(Attack):
    """Holds so many connections, in each of which begin() has said something, and opens them again when they are closed."""

    count = 50
    a_step = 20  # New ones.

    def begin(self):
        raise NotImplementedError

    def go_on(self, sock):
        """What is done now and then on one that is held."""

    def step(self):
        self._drop_closed()
        if len(self.held) >= self.count:
            self.who.stop.wait(0.1)
            for sock in self.rng.sample(self.held, min(len(self.held), self.a_step)):
                self._try(sock, self.go_on)
            return
        for _ in range(min(self.a_step, self.count - len(self.held))):
            self.held.append(self.begin())

    def _try(self, sock, action):
        try:
            action(sock)
        except (OSError, ValueError):
            self._drop(sock)

    def _drop(self, sock):
        self.held.remove(sock)
        sock.close()

    def _drop_closed(self):
        poll = select.poll()
        by_number = {sock.fileno(): sock for sock in self.held}
        for number in by_number:
            poll.register(number, select.POLLRDHUP)
        for number, _ in poll.poll(0):
            self._drop(by_number[number])


# ---- Any door.


class Idle(Holder):
    """Connections that say nothing at all."""

    count = 150

    def begin(self):
        return self.who.connect_raw()


class OverTheShare(Idle):
    """More than one address may have, or more than there may be of those who have not shown who they are."""

    count = 1_300
    a_step = 100


class Leaving(Attack):
    """Clients that connect and leave at once."""

    pause = 0.005

    def step(self):
        sock = self.who.connect() if self.rng.random() < 0.3 else self.who.connect_raw()
        if self.rng.random() < 0.5:
            send_some(sock, b"stats\r\n" if self.who.door["speaks"] == "queue" else b"GET / HTTP/1.1\r\n")
        leave(sock, self.rng)


class Binary(Attack):
    """Bytes of other protocols, and of none."""

    pause = 0.01

    def step(self):
        sock = self.who.connect_raw() if self.rng.random() < 0.7 else self.who.connect()
        try:
            send_some(sock, self.rng.choice([
                self.who.garbage(), b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + self.who.garbage(),
                b"PROXY TCP4 198.51.100.7 198.51.100.2 4711 1\r\n", b"PROXY " + self.who.garbage(200),
                b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff" + self.who.garbage(), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0" * 300, b"\r\n" * 500, b"SSH-2.0-x\r\n", b"EHLO x\r\n"]))
            read_some(sock)
        finally:
            leave(sock, self.rng)


# ---- TLS.


class HalfHello(Holder):
    """A part of a ClientHello, and now and then a further byte of it."""

    count = 250

    def begin(self):
        sock = self.who.connect_raw()
        sock.sendall(b"\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb\x03\x03"[:self.rng.randrange(1, 12)])
        return sock

    def go_on(self, sock):
        sock.sendall(b"\0")


class Handshakes(Attack):
    """Whole handshakes for nothing."""

    def step(self):
        leave(self.who.connect(), self.rng)


class IdleTls(Holder):
    """Handshakes, and then nothing."""

    count = 20
    a_step = 5

    def begin(self):
        return self.who.connect()


# ---- The queue.


class GoodFlood(Attack):
    """Pipelined commands of a client that is well behaved but for their number: jobs of its own, which it deletes, and statistics."""

    def step(self):
        sock = self.who.connect()
        try:
            self.sign_in(sock)
            tube = b"guest-%d" % self.rng.randrange(10)
            send_some(sock, b"use %s\r\nwatch %s\r\nignore default\r\n" % (tube, tube))
            for _ in range(20):
                if self.who.stop.is_set():
                    return
                body = self.who.word(200).encode()
                send_some(sock, b"".join([
                    b"put 0 0 60 %d\r\n%s\r\n" % (len(body), body) * 20, b"stats-tube %s\r\n" % tube * 5, b"list-tubes\r\nstats\r\n",
                    b"reserve-batch 50\r\n", b"flush-tube %s\r\n" % tube, b"list-tube-used\r\nlist-tubes-watched\r\n" * 20]))
                read_some(sock, 0.02)
            send_some(sock, b"flush-tube %s\r\n" % tube)
            read_some(sock, 0.2)
        finally:
            leave(sock, self.rng)

    def sign_in(self, sock):
        if "token" in self.who.known and not self.who.is_unknown:
            send_some(sock, f"auth {self.who.known['token']}\r\n".encode())


class BadFlood(Attack):
    """Pipelined commands that are wrong, long, unknown or not allowed."""

    def step(self):
        sock = self.who.connect()
        try:
            for _ in range(20):
                lines = [self.rng.choice([
                    self.who.word().encode(), b"put 0 0 60\r\n", b"put a b c d", b"reserve-with-timeout x", b"use " + b"a" * 500,
                    b"watch -x", b"delete 99999999999999999999", b"peek 0", b"kick -1", b"release 1", b"x" * 30_000,
                    b"put 0 0 60 4294967295", b"put 0 0 60 0 tries:x", b"list-jobs * state:none", b"match:" * 100,
                    b"set-tube a backoff:", b"reserve-batch 0", b"put-batch 1001", b"touch 0", b"\0\1\2"]) for _ in range(100)]
                if not send_some(sock, b"\r\n".join(lines) + b"\r\n"):
                    break
                read_some(sock, 0.01)
        finally:
            leave(sock, self.rng)


class SlowReader(Holder):
    """Asks for much, and reads nothing."""

    count = 25
    a_step = 5

    def begin(self):
        sock = self.who.connect()
        GoodFlood.sign_in(self, sock)
        send_some(sock, b"list-tubes\r\nstats\r\n" * 3_000)
        return sock

    def go_on(self, sock):
        read_some(sock, 0.01, 500)
        send_some(sock, b"stats\r\n" * 100, 0.01)


class UnfinishedPut(Holder):
    """Puts of the largest body that never end, and of bodies that are much larger."""

    count = 40
    a_step = 5

    def begin(self):
        sock = self.who.connect()
        GoodFlood.sign_in(self, sock)
        size = self.rng.choice([BODY, BODY, BODY + 1, 1 << 30, 4_294_967_295])
        send_some(sock, b"use guest-u\r\nput 0 0 60 %d\r\n" % size + b"b" * self.rng.randrange(BODY - 1))
        return sock

    def go_on(self, sock):
        send_some(sock, b"b", 0.01)


class Waiters(Holder):
    """Many tubes watched, and one wait behind the other."""

    count = 40
    a_step = 5

    def begin(self):
        sock = self.who.connect()
        GoodFlood.sign_in(self, sock)
        mark = self.who.word(6)
        send_some(sock, b"".join(f"watch guest-{mark}-{number}\r\n".encode() for number in range(300)))
        send_some(sock, b"".join(b"reserve-with-timeout %d\r\n" % self.rng.randrange(1, 3) for _ in range(200)))
        return sock

    def go_on(self, sock):
        read_some(sock, 0.01)


class WrongTokens(Attack):
    """A thousand tokens, each of which is wrong, on connections of their own and on one."""

    def step(self):
        sock = self.who.connect()
        try:
            send_some(sock, "".join(f"auth {self.who.wrong_token()}\r\n" for _ in range(self.rng.randrange(1, 6))).encode())
            read_some(sock, 0.02)
        finally:
            leave(sock, self.rng)


# ---- HTTP.


class Slowloris(Holder):
    """Headers and bodies that come a byte at a time."""

    count = 120
    a_step = 10

    def begin(self):
        sock = self.who.connect()
        path = self.rng.choice(["/api/v1/session", "/api/v1/jobs", "/api/v1/operations", "/"])
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
        if self.rng.random() < 0.5:
            head += f"Content-Type: application/json\r\nContent-Length: {self.rng.choice([1_000, 1_000_000, 1 << 40])}\r\n\r\n{{"
        send_some(sock, head.encode())
        return sock

    def go_on(self, sock):
        send_some(sock, b"x", 0.01)


class SlowHttpReader(Holder):
    """Asks for the largest answers, again and again, and reads nothing."""

    count = 60
    a_step = 5
    paths = ["/api/v1/openapi.json", "/metrics", "/metrics/tubes?limit=10000", "/api/v1/tubes?limit=1000", "/"]

    def begin(self):
        sock = self.who.connect()
        send_some(sock, b"".join(http_get(self.rng.choice(self.paths)) for _ in range(50)))
        return sock

    def go_on(self, sock):
        read_some(sock, 0.005, 100)


class Events(Holder):
    """Streams of events, more than there may be."""

    count = 20
    a_step = 5

    def begin(self):
        sock = self.who.connect()
        send_some(sock, http_get("/api/v1/events?topics=server,tubes,operations,tube:guest-a"))
        return sock

    def go_on(self, sock):
        if self.rng.random() < 0.5:
            read_some(sock, 0.005)


def http_get(path, **fields):
    more = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode()


def http_post(path, body, length=None, kind="application/json"):
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(body) if length is None else length}\r\n\r\n").encode() + body


class GoodReads(Attack):
    """What a console and Prometheus ask for."""

    paths = ["/api/v1/tubes?sort=oldest&limit=100", "/api/v1/tubes?limit=1000", "/metrics", "/metrics/tubes?limit=1000&match=guest-*",
             "/api/v1/server", "/api/v1/server/details", "/api/v1/openapi.json", "/api/v1/session?with=server", "/api/v1/audit",
             "/api/v1/connections", "/api/v1/history?series=server", "/api/v1/work-times", "/api/v1/search?q=x", "/readyz?verbose",
             "/api/v1/tubes/guest-a/jobs?state=ready", "/api/v1/node", "/leader", "/"]

    def step(self):
        sock = self.who.connect()
        try:
            for _ in range(10):
                send_some(sock, b"".join(http_get(self.rng.choice(self.paths)) for _ in range(5)))
                read_some(sock, 0.03)
        finally:
            leave(sock, self.rng)


class Searches(Holder):
    """Searches through all bodies, side by side."""

    count = 40
    a_step = 10

    def begin(self):
        sock = self.who.connect()
        send_some(sock, http_get(f"/api/v1/search?q={self.who.word()}"))
        return sock

    def go_on(self, sock):
        if read_some(sock, 0.005):
            send_some(sock, http_get(f"/api/v1/search?q={self.who.word()}"))


class BadRequests(Attack):
    """Requests that are malformed, ambiguous or too large."""

    def step(self):
        sock = self.who.connect()
        try:
            get = b"GET /livez HTTP/1.1\r\n"
            send_some(sock, self.rng.choice([
                get + b"\r\n", get + b"Host: a\r\nHost: b\r\n\r\n", get + b"Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
                get + b"Host: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", get + b"Host: a\r\n folded\r\n\r\n",
                get + b"X: " + b"x" * 9_000 + b"\r\n\r\n", get + b"".join(b"X%d: y\r\n" % n for n in range(100)) + b"\r\n",
                b"GET " + b"/x" * 5_000 + b" HTTP/1.1\r\n\r\n", b"GET /%00%ff%2e%2e/ HTTP/1.1\r\nHost: localhost\r\n\r\n", self.who.garbage(),
                b"BREW /coffee HTTP/9.9\r\nHost: localhost\r\n\r\n", http_get("/metrics/tubes?match=" + "*a" * 99),
                http_get("/api/v1/tubes?limit=-1"), http_get("/livez", Host="evil.example"),
                http_post("/api/v1/jobs", b"x" * 70_000, 1 << 50), http_post("/api/v1/jobs", b"{}", kind="text/plain")]))
            read_some(sock, 0.03)
        finally:
            leave(sock, self.rng)


class Documents(Attack):
    """JSON that is deep, wide, broken or wrong, where everybody may send some."""

    def step(self):
        body = self.rng.choice([
            b'{"a":' * 700, b"[" * 4_000, b'{"token":"' + b"x" * 3_000 + b'"}', b"{" + b",".join(b'"m%d":0' % n for n in range(300)) + b"}",
            b'{"a":[' + b",".join([b"{}"] * 1_300) + b"]}", self.who.garbage(), b'{"token":1e999999}', b'{"token":"\\ud800"}', b"null",
            f'{{"token":"{self.who.wrong_token()}"}}'.encode()])
        sock = self.who.connect()
        try:
            send_some(sock, http_post(self.rng.choice(["/api/v1/session", "/api/v1/session", "/api/v1/jobs", "/api/v1/operations"]), body))
            if self.rng.random() < 0.2:
                send_some(sock, http_post("/api/v1/jobs", b'{"tube":"guest-j","body":"' + b"x" * self.rng.choice([10, 900_000])))
            read_some(sock, 0.03)
        finally:
            leave(sock, self.rng)


class WrongBearers(Attack):
    """Requests with tokens that are wrong."""

    def step(self):
        sock = self.who.connect()
        try:
            for _ in range(10):
                path = self.rng.choice(["/api/v1/server", "/metrics", "/api/v1/tubes", "/cluster/checkpoint"])
                send_some(sock, b"".join(http_get(path, Authorization=f"Bearer {self.who.wrong_token()}") for _ in range(5)))
                read_some(sock, 0.02)
        finally:
            leave(sock, self.rng)


class OtherNodes(Attack):
    """What only a node of the cluster may ask another one for."""

    pause = 0.01

    def step(self):
        sock = self.who.connect()
        try:
            send_some(sock, b"".join(self.rng.choice([
                http_get("/cluster/checkpoint"), http_get("/cluster/digest?at=1"), http_get("/cluster/digest?at=" + "9" * 300),
                http_get("/cluster/checkpoint", Authorization=f"Bearer {self.who.wrong_token()}"), http_get("/cluster/" + self.who.word()),
                http_post("/cluster/checkpoint", b"x" * 100)]) for _ in range(10)))
            read_some(sock, 0.03, 65_536)
        finally:
            leave(sock, self.rng)


QUEUE_ATTACKS = [Idle, Leaving, Binary, GoodFlood, BadFlood, SlowReader, UnfinishedPut, Waiters, WrongTokens]
TLS_ATTACKS = [HalfHello, Handshakes, IdleTls]
HTTP_ATTACKS = [Idle, Leaving, Binary, Slowloris, SlowHttpReader, Events, GoodReads, Searches, BadRequests, Documents, WrongBearers]
# One half comes with the token of a user, where there are users.
# Without users nothing tells a stranger from a client. So all of them together leave some places, and so do users of one address.
FEW_WITHOUT_USERS = {Idle, SlowReader, UnfinishedPut, Waiters}
AS_GUEST = {GoodFlood, SlowReader, UnfinishedPut, Waiters}


PLACES = " (places)"


def names_of(doors):
    """What each process of strangers is called by: its door, and for the queue's twice."""
    return [*doors, "queue" + PLACES]


def attacks_of(known, door):
    """The attacks on a door, each with where it comes from."""
    place = known["doors"][door]
    chosen = list(QUEUE_ATTACKS if place["speaks"] == "queue" else HTTP_ATTACKS)
    if place.get("tls"):
        chosen += TLS_ATTACKS
    if place["speaks"] == "http" and known["form"] == "node":
        chosen.append(OtherNodes)
    sources = ["one"] if "unix" in place else ["one", "hundred"]
    out = [(attack, source) for attack in chosen for source in sources]
    return out


def attacks_on_places(known):
    """By processes of their own, as they have to be fast."""
    # Without users nothing tells a stranger from a client, so a hundred addresses may take all places.
    return [(OverTheShare, source) for source in (["one", "hundred"] if known["form"] != "open" else ["one"])]


def main():
    end_with_parent()
    # As if they were on machines of their own: the server and its clients come first.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    name, seed = sys.argv[1], int(sys.argv[2])
    known = json.loads(sys.stdin.readline())
    stop = threading.Event()
    running = []
    door = name.removesuffix(PLACES)
    for number, (attack, source) in enumerate(attacks_of(known, door) if name == door else attacks_on_places(known)):
        stranger = Stranger(known, door, source, random.Random(f"{seed} {name} {number}"), stop)
        stranger.is_unknown = attack not in AS_GUEST or source == "hundred"
        made = attack(stranger)
        if attack in (FEW_WITHOUT_USERS if known["form"] == "open" else AS_GUEST) and isinstance(made, Holder):
            made.count //= 5
        thread = threading.Thread(target=made.run)
        thread.start()
        running.append((f"{attack.__name__}/{source}", made, thread))
    sys.stdin.read()  # Until whoever started it wants it to end.
    stop.set()
    for _, _, thread in running:
        thread.join()
    print(json.dumps({name: [made.steps, made.errors, made.most_held] for name, made, _ in running}))


if __name__ == "__main__":
    main()
