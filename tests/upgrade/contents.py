"""A queue with one job for each thing that the format on disk can say of a job, and all that a client can ask of it.

`Contents` fills a server with what that server knows, and notes what it says of each job and tube. check() compares another server on the same
directory with that note, key by key. work_off() takes everything out and looks at the order.

Fields: every key of stats-job and stats-tube that the noted server had, which keys stats has, bodies, pauses, settings, keys in a cooldown, the numbers of jobs in stats, and the
order of ready and of buried jobs. A key that the other server lacks is a fault. Time: what passes (ages, delays, expiries, pauses) may differ from
the clock of this process by SLACK_S. Doors: the protocol.

Blind to: what `stats` counts since a start, tokens of a rate (a start fills the bucket again), moments below a second, and more than some dozens of jobs.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cluster"))
from ledger import Client  # noqa: E402

SLACK_S = 2
LATER_S = 3600
MOST = 2**32 - 1
LONG_NAME = "long" + "n" * 196
BINARY = bytes(range(256)) * 16

PASSES = {"age": 1, "next-ready-age": 1, "time-left": -1, "expire-left": -1, "pause-time-left": -1}
# In milliseconds.
PASSES_MS = {"time-left-ms": -1}
# Count since the start, or describe the connections of the moment.
OF_THIS_START = {
    "total-jobs", "cmd-delete", "cmd-pause-tube", "current-using", "current-watching", "current-waiting",
    "jobs-duplicate", "jobs-dead", "jobs-expired",
}  # fmt: skip
COUNTS = ("current-jobs-urgent", "current-jobs-ready", "current-jobs-reserved", "current-jobs-delayed", "current-jobs-buried")


def yaml_body(client, request):
    """The answer to a command that is answered with YAML, as text. None: NOT_FOUND, or an unknown command."""
    answer = client.ask(request.encode() + b"\r\n")
    if answer[0] != b"OK":
        return None
    return client.body(int(answer[1])).decode()


def facts(client, request):
    text = yaml_body(client, request)
    if text is None:
        return None
    return {key: value.strip('"') for key, value in (line.split(": ", 1) for line in text.splitlines() if ": " in line)}


def names(client, request):
    text = yaml_body(client, request)
    return [line[2:].strip('"') for line in (text or "").splitlines() if line.startswith("- ")]


class Contents:
    def __init__(self, port):
        self.port = port
        self.jobs = {}  # The body of each id.
        self.buried = []  # In the order in which they were buried, of the tube "buried".
        self.reserved = []  # Held by a worker while it is noted; ready when the server is started again.
        self.cooldowns = {}  # The id that each key of the tube "keys" still names.
        self.highest_id = 0
        self.only_keys_of_both = False  # The server is older than the one that was noted, and may lack keys.
        self.ready_since_start = False  # A dump and format 1 do not say since when a job is ready.
        client = Client([port])
        self.extensions = set(names(client, "extensions"))
        client.close()

    def knows(self, extension):
        return extension in self.extensions

    # -- Filling.

    def fill(self):
        client = Client([self.port])
        self.holder = Client([self.port])
        self._fill_states(client)
        self._fill_values(client)
        self._expect(client, b"pause-tube paused %d\r\n" % LATER_S, b"PAUSED")
        if self.extensions:
            self._fill_extensions(client)
        client.close()
        self.note()

    def close(self):
        """Ends the connection of the worker that holds jobs."""
        self.holder.close()

    def _expect(self, client, request, word):
        answer = client.ask(request)
        assert answer[0] == word, f"{request!r} was answered {answer}"
        return answer

    def _put(self, client, tube, body=None, pri=100, delay="0", ttr="60", options=""):
        body = body if body is not None else f"{tube} {len(self.jobs)}".encode()
        self._expect(client, b"use %s\r\n" % tube.encode(), b"USING")
        line = f"put {pri} {delay} {ttr} {len(body)}{options and ' ' + options}\r\n".encode()
        answer = self._expect(client, line + body + b"\r\n", b"INSERTED")
        job = int(answer[1])
        self.jobs[job] = body
        self.highest_id = max(self.highest_id, job)
        return job

    def _reserve(self, client, tube, job):
        """The next job of the tube, which is to be `job`."""
        self._expect(client, b"watch %s\r\n" % tube.encode(), b"WATCHING")
        client.ask(b"ignore default\r\n")
        answer = self._expect(client, b"reserve-with-timeout 5\r\n", b"RESERVED")
        client.body(int(answer[2]))
        assert int(answer[1]) == job, f"job {answer[1]} was reserved in the place of {job}"
        client.ask(b"watch default\r\n")
        client.ask(b"ignore %s\r\n" % tube.encode())

    def _fill_states(self, client):
        for pri in (0, 5, 1023, 1024, MOST):
            self._put(client, "default", pri=pri)
        self._put(client, "ready", pri=7)
        self._put(client, "ready", pri=6)
        self._put(client, "paused")
        self._put(client, "delayed", delay=str(LATER_S))
        self._put(client, "delayed", delay=str(MOST))
        # The last job first: the order is that of burying, and not that of ids.
        for job in reversed([self._put(client, "buried", pri=pri) for pri in (3, 2, 1)]):
            self._expect(client, b"reserve-job %d\r\n" % job, b"RESERVED") and client.body(len(self.jobs[job]))
            self._expect(client, b"bury %d 50\r\n" % job, b"BURIED")
            self.buried.append(job)
        held = self._put(client, "held", pri=2000, ttr=str(LATER_S))
        self._reserve(self.holder, "held", held)
        self.reserved.append(held)
        released = self._put(client, "released", pri=1)
        self._reserve(client, "released", released)
        self._expect(client, b"release %d 77 0\r\n" % released, b"RELEASED")
        later = self._put(client, "released-later")
        self._reserve(client, "released-later", later)
        self._expect(client, b"release %d 78 %d\r\n" % (later, LATER_S), b"RELEASED")
        kicked = self._put(client, "kicked", delay=str(LATER_S))
        self._expect(client, b"kick-job %d\r\n" % kicked, b"KICKED")
        late = self._put(client, "timed-out", ttr="1")
        self._reserve(client, "timed-out", late)
        deadline = time.monotonic() + 10
        while facts(client, f"stats-job {late}")["timeouts"] != "1":
            assert time.monotonic() < deadline, "a reservation does not time out"
            time.sleep(0.1)
        gone = self._put(client, "default")
        self._expect(client, b"delete %d\r\n" % gone, b"DELETED")
        del self.jobs[gone]

    def _fill_values(self, client):
        for body in (b"", b"\r\n", BINARY, b"x" * 65_535):
            self._put(client, "bodies", body=body)
        self._put(client, "values", ttr=str(MOST))
        self._put(client, "values", ttr="0")
        self._put(client, LONG_NAME)
        self._put(client, "aZ09-+/;.$_()")

    def _fill_extensions(self, client):
        put = self._put
        if self.knows("milliseconds"):
            put(client, "milliseconds", delay=f"{LATER_S}250ms", ttr="1500ms")
        if self.knows("unique"):
            put(client, "keys", options="idp:plain")
            put(client, "keys", options=f"idp:ttl:{LATER_S} until:ttl")
            cooling = put(client, "keys", options=f"idp:cooling:{LATER_S} until:ttl")
            self._expect(client, b"delete %d\r\n" % cooling, b"DELETED")
            del self.jobs[cooling]
            self.cooldowns["cooling"] = cooling
            given_up = put(client, "keys-given-up", options="idp:once until:reserved")
            self._reserve(client, "keys-given-up", given_up)
            self._expect(client, b"release %d 1 0\r\n" % given_up, b"RELEASED")
        if self.knows("attempts"):
            tried = put(client, "tries", options=f"tries:3 backoff:{LATER_S}:{2 * LATER_S} dead:tries-dead")
            self._reserve(client, "tries", tried)
            self._expect(client, b"release %d 1 0\r\n" % tried, b"RELEASED")
            dead = put(client, "dying", options="tries:1 dead:graveyard idp:dead")
            self._reserve(client, "dying", dead)
            self._expect(client, b"release %d 4 0\r\n" % dead, b"BURIED")
            held = put(client, "tries-held", pri=2000, ttr=str(LATER_S), options="tries:2")
            self._reserve(self.holder, "tries-held", held)
            self.reserved.append(held)
        if self.knows("expire"):
            put(client, "expiring", options=f"expire:{LATER_S}")
        if self.knows("con-tube"):
            put(client, "con", options="con:customer:2")
            put(client, "con", options="con:other")
        if self.knows("set-tube"):
            put(client, "settings")
            settings = f"tries:9 backoff:2:{LATER_S} dead:settings-dead expire:86400"
            self._expect(client, f"set-tube settings {settings}\r\n".encode(), b"SET")
            self._expect(client, b"set-tube no-jobs tries:4\r\n", b"SET")
        if self.knows("tube-limits"):
            put(client, "limits")
            self._expect(client, b"set-tube limits reserved:3 rate:5:60 drain:yes\r\n", b"SET")

    # -- What a server says.

    def note(self):
        self.noted_at = time.monotonic()
        self.noted = self._ask_all()
        states = {facts["state"] for facts in self.noted["jobs"].values()}
        assert states == {"ready", "reserved", "delayed", "buried"}, states

    def _ask_all(self):
        client = Client([self.port])
        said = {"jobs": {}, "bodies": {}, "tubes": {}}
        for job in self.jobs:
            said["jobs"][job] = facts(client, f"stats-job {job}")
            answer = client.ask(b"peek %d\r\n" % job)
            said["bodies"][job] = client.body(int(answer[2])) if answer[0] == b"FOUND" else None
        # A tube that has settings only is not listed.
        for tube in sorted({*names(client, "list-tubes"), *(["no-jobs"] if self.knows("set-tube") else [])}):
            said["tubes"][tube] = facts(client, f"stats-tube {tube}")
        said["stats"] = facts(client, "stats")
        said["cooldowns"] = {}
        for key in self.cooldowns:
            client.ask(b"use keys\r\n")
            said["cooldowns"][key] = client.ask(f"put 0 0 1 1 idp:{key}:1\r\nx\r\n".encode())
        client.close()
        return said

    def check(self):
        """What the server says now that it should not say: a list of texts."""
        passed = time.monotonic() - self.noted_at
        now, faults = self._ask_all(), []
        for job, before in self.noted["jobs"].items():
            if now["jobs"][job] is None:
                faults.append(f"job {job} of {before['tube']} is gone")
                continue
            if now["bodies"][job] != self.jobs[job]:
                faults.append(f"job {job} has another body")
            before = dict(before)
            if job in self.reserved:
                before |= {"state": "ready", "time-left": "0"} | ({"time-left-ms": "0"} if "time-left-ms" in before else {})
            faults += self._differences(f"job {job} of {before['tube']}", before, now["jobs"][job], passed)
        for tube, before in self.noted["tubes"].items():
            if now["tubes"].get(tube) is None:
                # Only its clients held it.
                if any(before[count] != "0" for count in COUNTS) or tube == "no-jobs":
                    faults.append(f"tube {tube} is gone")
                continue
            before, after = dict(before), now["tubes"][tube]
            if before["current-jobs-reserved"] != "0":
                before["current-jobs-ready"] = str(int(before["current-jobs-ready"]) + int(before["current-jobs-reserved"]))
                before["current-jobs-reserved"] = "0"
                # They are ready since the start.
                before.pop("next-ready-age", None)
            faults += self._differences(f"tube {tube}", before, after, passed)
        faults += [f"tube {tube} is new" for tube in now["tubes"] if tube not in self.noted["tubes"]]
        if not self.only_keys_of_both:
            faults += [f"stats has no {key}" for key in self.noted["stats"] if key not in now["stats"]]
        total = sum(int(now["stats"][count]) for count in COUNTS[1:])
        if total != len(self.jobs):
            faults.append(f"{total} jobs are there, and {len(self.jobs)} were put")
        if now["cooldowns"] != self.noted["cooldowns"]:
            faults.append(f"keys in a cooldown: {now['cooldowns']}, and were {self.noted['cooldowns']}")
        return faults

    def _differences(self, what, before, after, passed):
        faults = []
        for key, value in before.items():
            if key in OF_THIS_START or (self.ready_since_start and key == "next-ready-age"):
                continue
            if key not in after:
                if not self.only_keys_of_both:
                    faults.append(f"{what} has no {key}")
                continue
            factor, unit = (PASSES_MS[key], 1000) if key in PASSES_MS else (PASSES.get(key), 1)
            if factor is None or value == "0" and factor < 0:
                if after[key] != value:
                    faults.append(f"{what}: {key} is {after[key]!r}, and was {value!r}")
                continue
            if key == "next-ready-age" and before["current-jobs-ready"] == "0":
                factor = 0
            expected = int(value) + factor * passed * unit
            if abs(int(after[key]) - expected) > SLACK_S * unit:
                faults.append(f"{what}: {key} is {after[key]}, and should be {expected:.0f}")
        return faults

    # -- The end.

    def work_off(self):
        """Takes every job as workers do. Returns what is wrong with their order and number, a list of texts."""
        client, faults = Client([self.port]), []
        client.ask(b"use buried\r\n")
        for job in self.buried:
            answer = client.ask(b"peek-buried\r\n")
            client.body(int(answer[2]))
            if int(answer[1]) != job:
                faults.append(f"job {int(answer[1])} is the next buried one, and should be {job}")
            self._expect(client, b"kick 1\r\n", b"KICKED")
        if self.knows("set-tube"):
            self._expect(client, b"set-tube limits reserved:- rate:- drain:-\r\n", b"SET")
        self._expect(client, b"pause-tube paused 0\r\n", b"PAUSED")
        left = dict(self.jobs)
        for tube in names(client, "list-tubes"):
            for job in left:
                fact = facts(client, f"stats-job {job}")
                if fact and fact["tube"] == tube and fact["state"] in ("delayed", "buried"):
                    self._expect(client, b"kick-job %d\r\n" % job, b"KICKED")
            client.ask(b"watch %s\r\n" % tube.encode())
            if tube != "default":
                client.ask(b"ignore default\r\n")
            faults += self._drain(client, tube, left)
            client.ask(b"watch default\r\n")
            if tube != "default":
                client.ask(b"ignore %s\r\n" % tube.encode())
        faults += [f"no worker gets job {job}" for job in left]
        new = int(self._expect(client, b"put 0 0 60 1\r\nx\r\n", b"INSERTED")[1])
        if new <= self.highest_id:
            faults.append(f"the id {new} was given out again")
        self._expect(client, b"delete %d\r\n" % new, b"DELETED")
        client.close()
        return faults

    def _drain(self, client, tube, left):
        faults, last = [], (-1, 0)
        while True:
            answer = client.ask(b"reserve-with-timeout 0\r\n")
            if answer[0] != b"RESERVED":
                return faults
            job, body = int(answer[1]), client.body(int(answer[2]))
            place = (int(facts(client, f"stats-job {job}")["pri"]), job)
            if place < last:
                faults.append(f"job {job} of {tube} came after one that is less urgent")
            last = place
            if left.pop(job, None) != body:
                faults.append(f"job {job} of {tube} was not put, or has another body")
            self._expect(client, b"delete %d\r\n" % job, b"DELETED")
