"""Clients of a cluster whose work depends on time, and a checker that knows it.

Each checker has a tube of its own and puts, again and again, something that shall happen at a time: a delay that ends, a job that
expires, a key that is free again, a pause that ends; or that must not happen too often: attempts, a rate. What is seen is compared with
the clock of this process, which is right.

How early it may be: a takeover may move the time on to a wall clock that is believed, which is right within EARLY_S, and before that each
takeover may have cost TAKEOVER_S of time. How late: as long as nobody answered, that cost again, and LATE_S for this process and its turns.
It is late when a command that was sent by then was told that it has not happened; a checker that was cut off meanwhile has seen nothing.

A stop of all nodes is another matter: then the time moves on to the wall clock of the first leader, of which a nemesis makes a majority wrong,
and which also makes up for what takeovers have cost before. What was asked for before such a stop may be early by any time after it.

Blind to: errors below these bounds, what is early because all nodes were stopped, what happens on a connection that ends while a command's
answer is on its way (it is not judged), and what is late only while its checker is cut off.
"""

import random
import threading
import time

from ledger import Client, Clients

EARLY_S = 2.5  # clock_offset_max_s of the nodes is 2.
LATE_S = 4.0
TAKEOVER_S = 2.0
GAP_S = 0.6


class Heartbeat:
    """When the cluster answered, and in which epoch."""

    def __init__(self):
        self.lock = threading.Lock()
        self.answers = []  # (time, epoch), ascending.

    def add(self, when, epoch):
        with self.lock:
            self.answers.append((when, epoch))

    def between(self, begin, end):
        """Seconds without an answer, and takeovers."""
        silent, takeovers, after = 0.0, 0, None
        with self.lock:
            # Newest first, since what is asked for was a moment ago.
            for when, epoch in reversed(self.answers):
                if after is None:
                    silent += max(0.0, end - max(when, begin) - GAP_S)
                else:
                    gap = min(after[0], end) - max(when, begin)
                    silent += gap if gap > GAP_S else 0.0
                    takeovers += max(0, after[1] - epoch)
                after = (when, epoch)
                if when < begin:
                    break
        # A takeover that is under way shows as silence only.
        return silent, takeovers + (1 if silent > 0 else 0)


class TimedLoad(Clients):
    def __init__(self, addresses, on_fault):
        super().__init__(addresses, on_fault)
        self.heartbeat = Heartbeat()
        self.stops = []  # When all nodes had stopped.
        self.counts = {}
        self.worst = {}  # The largest shares of what is allowed, early and late.
        checkers = [_Beats, _Delays, _Expiries, _Keys, _Pauses, _Tries, _Rates]
        self.start([checker(self) for checker in checkers])

    def all_stopped(self):
        """No node runs now. The next leader has the time of its wall clock."""
        self.stops.append(time.monotonic())

    def clean(self):
        """Nothing that changes by itself is left. The cluster serves."""
        client = Client(self.addresses)
        for tube in (b"delays", b"expiries", b"keys", b"tries", b"rates"):
            client.ask(b"flush-tube %s\r\n" % tube)
        client.close()

    def _work(self, client, checker):
        try:
            checker.begin(client)
            while not self.stopping.is_set():
                checker.step(client)
        except (ValueError, IndexError) as error:
            self.fault(f"{type(checker).__name__}: an answer that cannot be: {error!r}")

    def put(self, client, tube, options, pri=0, delay=0):
        """The times before and after, and the words of the answer."""
        sent = time.monotonic()
        answer = client.ask(b"put %d %d 60 1 tube:%s%s\r\nx\r\n" % (pri, delay, tube, options))
        if answer[0] == b"OUT_OF_MEMORY":  # The disk of the leader is full.
            time.sleep(0.2)
            return None
        if answer[0] != b"INSERTED":
            raise ValueError(f"put: {answer}")
        return sent, time.monotonic(), answer

    def happened(self, what, sent, after_s, when):
        """It was asked for at `sent`, and was seen for the first time at `when`."""
        if any(sent < stop < when for stop in self.stops):
            self.counts["over a stop"] = self.counts.get("over a stop", 0) + 1
            return
        silent, takeovers = self.heartbeat.between(sent, when)
        early = sent + after_s - when
        allowed = EARLY_S + TAKEOVER_S * takeovers
        if early > allowed:
            self.fault(f"{what} after {after_s:.1f} s: {early:.1f} s too early ({takeovers} takeovers, {silent:.1f} s silent)")
        self._note(what, "early", early, allowed)
        self.counts[what] = self.counts.get(what, 0) + 1

    def has_not_happened(self, what, sent, answered, after_s, asked):
        """The answer to what was asked for at `sent` came at `answered`; a command that was sent at `asked` did not find it done."""
        late = asked - answered - after_s
        if late <= 0:
            return
        silent, takeovers = self.heartbeat.between(sent, asked)
        allowed = LATE_S + silent + TAKEOVER_S * takeovers
        if late > allowed:
            self.fault(f"{what} after {after_s:.1f} s: {late:.1f} s too late ({takeovers} takeovers, {silent:.1f} s silent)")
        self._note(what, "late", late, allowed)

    def _note(self, what, how, seconds, allowed):
        key = f"{what} {how}"
        if seconds > 0:
            self.worst[key] = max(self.worst.get(key, (0, 0)), (round(seconds / allowed, 2), round(seconds, 1)))


class _Checker:
    def __init__(self, load):
        self.load = load

    def begin(self, client):
        pass


class _Beats(_Checker):
    def step(self, client):
        size = int(client.ask(b"stats\r\n")[1])
        rows = dict(row.split(b": ", 1) for row in client.body(size).splitlines()[1:])
        self.load.heartbeat.add(time.monotonic(), int(rows[b"cluster-epoch"]))
        time.sleep(0.2)


class _Delays(_Checker):
    """A delayed job is there for a worker when its delay ends."""

    def __init__(self, load):
        super().__init__(load)
        self.open = {}  # Of each job: sent, answered, delay.

    def begin(self, client):
        # What was due when the last connection ended may be reserved for that one: a standby that is stopped passes on neither the
        # answer nor the end. It cannot be judged.
        now = time.monotonic()
        self.open = {job: known for job, known in self.open.items() if known[0] + known[2] > now}
        client.ask(b"watch delays\r\n")
        client.ask(b"ignore default\r\n")

    def step(self, client):
        if len(self.open) < 20:
            delay = random.randint(1, 20)
            put = self.load.put(client, b"delays", b"", delay=delay)
            if put:
                self.open[int(put[2][1])] = (put[0], put[1], delay)
        asked = time.monotonic()
        answer = client.ask(b"reserve-with-timeout 1\r\n")
        seen = time.monotonic()
        if answer[0] != b"RESERVED":
            for known in self.open.values():
                self.load.has_not_happened("a delay", *known, asked)
            return
        client.body(int(answer[2]))
        job = int(answer[1])
        known = self.open.pop(job, None)
        if known:
            sent, _, delay = known
            self.load.happened("a delay", sent, delay, seen)
        client.ask(b"delete %d\r\n" % job)


class _Expiries(_Checker):
    """A job that nobody takes is gone when it expires."""

    def __init__(self, load):
        super().__init__(load)
        self.open = {}

    def step(self, client):
        if len(self.open) < 10:
            seconds = random.randint(4, 25)
            put = self.load.put(client, b"expiries", b" expire:%d" % seconds)
            if put:
                self.open[int(put[2][1])] = (put[0], put[1], seconds)
        for job, (sent, answered, seconds) in list(self.open.items()):
            asked = time.monotonic()
            answer = client.ask(b"peek %d\r\n" % job)
            if answer[0] == b"FOUND":
                client.body(int(answer[2]))
                self.load.has_not_happened("an expiry", sent, answered, seconds, asked)
            elif answer[0] == b"NOT_FOUND":
                self.load.happened("an expiry", sent, seconds, time.monotonic())
                del self.open[job]
        time.sleep(0.3)


class _Keys(_Checker):
    """A key is held for its seconds, whatever becomes of the job."""

    def __init__(self, load):
        super().__init__(load)
        self.open = {}  # Of each key: sent, answered, seconds, job.
        self.count = 0

    def step(self, client):
        if len(self.open) < 8:
            self.count += 1
            self._put(client, b"key-%d" % self.count, random.randint(4, 20))
        for key, (sent, answered, seconds, job) in list(self.open.items()):
            put = self.load.put(client, b"keys", b" idp:%s:%d until:ttl" % (key, seconds))
            if not put:
                return
            if len(put[2]) == 3 and int(put[2][1]) == job:
                self.load.has_not_happened("a key", sent, answered, seconds, put[0])
                continue
            self.load.happened("a key", sent, seconds, put[1])
            del self.open[key]
            client.ask(b"delete %d\r\n" % int(put[2][1]))
        time.sleep(0.3)

    def _put(self, client, key, seconds):
        put = self.load.put(client, b"keys", b" idp:%s:%d until:ttl" % (key, seconds))
        if not put:
            return
        job = int(put[2][1])
        self.open[key] = (put[0], put[1], seconds, job)
        client.ask(b"delete %d\r\n" % job)


class _Pauses(_Checker):
    """A paused tube gives no job until the pause ends."""

    def __init__(self, load):
        super().__init__(load)
        self.count = 0
        self.known = None

    def begin(self, client):
        # What was paused without an answer cannot be judged.
        self.count += 1
        self.tube = b"pauses-%d" % self.count
        self.known = None
        client.ask(b"watch %s\r\n" % self.tube)
        client.ask(b"ignore default\r\n")

    def step(self, client):
        if self.known is None:
            if not self.load.put(client, self.tube, b" expire:120"):
                return
            seconds = random.randint(3, 12)
            sent = time.monotonic()
            client.ask(b"pause-tube %s %d\r\n" % (self.tube, seconds))
            self.known = (sent, time.monotonic(), seconds)
        asked = time.monotonic()
        answer = client.ask(b"reserve-with-timeout 1\r\n")
        seen = time.monotonic()
        if answer[0] != b"RESERVED":
            self.load.has_not_happened("a pause", *self.known, asked)
            return
        client.body(int(answer[2]))
        sent, _, seconds = self.known
        self.load.happened("a pause", sent, seconds, seen)
        client.ask(b"delete %s\r\n" % answer[1])
        self.known = None


class _Tries(_Checker):
    """A job with three tries is released twice, and buried by the third release."""

    def __init__(self, load):
        super().__init__(load)
        self.released = {}
        self.buried = set()

    def begin(self, client):
        client.ask(b"watch tries\r\n")
        client.ask(b"ignore default\r\n")

    def step(self, client):
        self.load.put(client, b"tries", b" tries:3 expire:60")
        for _ in range(4):
            answer = client.ask(b"reserve-with-timeout 0\r\n")
            if answer[0] != b"RESERVED":
                break
            client.body(int(answer[2]))
            job = int(answer[1])
            if job in self.buried:
                self.load.fault(f"job {job} was buried after its last try, and came back")
            answer = client.ask(b"release %d 0 0\r\n" % job)
            if answer[0] == b"BURIED":
                self.buried.add(job)
                self.load.counts["tries"] = self.load.counts.get("tries", 0) + 1
                client.ask(b"delete %d\r\n" % job)
            elif answer[0] == b"RELEASED":
                self.released[job] = self.released.get(job, 0) + 1
                if self.released[job] > 2:
                    self.load.fault(f"job {job} with three tries was released {self.released[job]} times")
        time.sleep(0.3)


class _Rates(_Checker):
    """Two jobs in four seconds, and two more at once where none were taken before."""

    JOBS, PERIOD_S = 2, 4

    def __init__(self, load):
        super().__init__(load)
        self.taken = []

    def begin(self, client):
        client.ask(b"set-tube rates rate:%d:%d\r\n" % (self.JOBS, self.PERIOD_S))
        client.ask(b"watch rates\r\n")
        client.ask(b"ignore default\r\n")
        for _ in range(4):
            self.load.put(client, b"rates", b" expire:120")

    def step(self, client):
        answer = client.ask(b"reserve-with-timeout 1\r\n")
        now = time.monotonic()
        if answer[0] == b"TIMED_OUT":
            self.load.put(client, b"rates", b" expire:120")
        if answer[0] != b"RESERVED":
            return
        client.body(int(answer[2]))
        client.ask(b"delete %d\r\n" % int(answer[1]))
        self.taken = [*self.taken[-30:], now]
        self.load.counts["rates"] = self.load.counts.get("rates", 0) + 1
        for index, begin in enumerate(self.taken[:-1]):
            _, takeovers = self.load.heartbeat.between(begin, now)
            seconds = now - begin + EARLY_S + TAKEOVER_S * takeovers
            most = self.JOBS * (1 + seconds / self.PERIOD_S)
            if len(self.taken) - index > most + 1:
                self.load.fault(f"{len(self.taken) - index} jobs in {now - begin:.1f} s at two in four seconds")
