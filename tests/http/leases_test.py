#!/usr/bin/env python3
"""Random acts over leases, against a small model of what each answer may be.

    leases_test.py [--seed N] [--acts N]

Two users reserve from shared tubes, finish jobs, and call with tokens that are fresh, late, of the other user, forged, cut or from before a restart.
Waiters go before they are answered, jobs have a ttr that runs out, and the server is stopped and killed in between. After each start, and at the end,
every job is looked at.

A call may meet the end of a lease on its way. Then either answer is right, and what it says is what the model goes on with; before that time the lease
is honoured, after it 409. So a slow machine makes more answers right, never a right one wrong.

It cannot see what two calls at once do to each other: one request is on its way at a time, except for waiters. LeasesTest in
tests/cmd/perenniald/http has those. Nor is a server killed while it answers: tests/crash and workers_test.py do that. The order in which jobs are given,
limits of leases and tries are not modelled.
"""

import argparse
import contextlib
import dataclasses
import random
import socket
import string
import sys
import time
import unittest

from port import WithUsers

TUBES = ("a", "b")
QUIET = "quiet"  # Nobody else reserves from it, so waiters wait.
WORKERS = ("mailer", "printer")
LONG = 1000
SLACK = 0.25  # Between this clock and the server's, which is read once a turn.
ALPHABET = string.ascii_letters + string.digits + "-_"


@dataclasses.dataclass
class Job:
    id: str
    tube: str
    body: str
    ttr: int
    # It may be ready from `free_from` on, and surely is from `free_by` on.
    free_from: float = 0
    free_by: float = 0
    is_buried: bool = False
    is_gone: bool = False
    holder: str = ""  # The lease that holds it, or held it last.
    notes: list = dataclasses.field(default_factory=list)

    def set_ready(self):
        self.free_from = self.free_by = 0
        self.holder = ""

    def set_away(self, begun, ended, seconds):
        """It is reserved or delayed since some moment between the two times."""
        self.free_from, self.free_by = begun + seconds - SLACK, ended + seconds + SLACK


@dataclasses.dataclass
class Lease:
    token: str
    user: str
    job: Job
    is_known: bool = True  # To the server that runs now.


class Leases(WithUsers):
    seed, acts = 1, 400
    grants = {"operator": '[{tubes: ["*"], verbs: [produce, consume, inspect, manage]}, {verbs: [monitor, admin]}]',
              **{user: '[{tubes: ["a", "b", "quiet"], verbs: [consume]}]' for user in WORKERS}}

    def test_random_acts(self):
        print(f"seed {self.seed}")
        self.random = random.Random(self.seed)
        self.jobs, self.leases, self.seen, self.story = {}, [], {}, []
        acts = {self.put: 20, self.reserve: 22, self.finish: 34, self.call_with_a_wrong_token: 8, self.reserve_what_is_not_granted: 2,
                self.kick: 4, self.flush: 1, self.take_back: 6, self.leave_while_waiting: 3, self.let_time_pass: 6, self.restart: 1}
        try:
            for _ in range(self.acts):
                act, = self.random.choices(list(acts), list(acts.values()))
                act()
            self.look_at_all()
            self.restart()
        except Exception as error:
            story = "\n".join(self.story[-25:])
            raise AssertionError(f"seed {self.seed}, act {len(self.story)}:\n{story}") from error
        print(dict(sorted(self.seen.items())))
        # Otherwise the acts say little: each outcome has been there.
        wanted = ("reserve 200", "delete 200", "delete 409", "release 200", "bury 200", "touch 200", "touch 409", "note 200", "other user 404",
                  "end 200", "forged 404", "cut 404", "before the start 404")
        if self.acts >= 400:
            self.assertEqual([outcome for outcome in wanted if outcome not in self.seen], [])

    # ---- Acts.

    def put(self):
        self.put_in(self.random.choice(TUBES), self.random.choice((1, 1, 2, LONG, LONG)), self.random.choice((0, 0, 0, 0, 1)))

    def put_in(self, tube, ttr, delay):
        body = f"{self.seed}:{len(self.jobs)}"
        value = {"tube": tube, "body": body, "ttr_seconds": ttr, "delay_seconds": delay}
        status, answer, begun, ended = self.timed("put", "/jobs", "operator", value)
        self.assertEqual(status, 201, answer)
        job = Job(answer["id"], tube, body, ttr)
        self.assertNotIn(job.id, self.jobs)
        if delay:
            job.set_away(begun, ended, delay)
        self.jobs[job.id] = job
        return job, begun, ended

    def reserve(self):
        user = self.random.choice(WORKERS)
        tubes = self.random.choice((("a",), ("b",), TUBES))
        count = self.random.choice((1, 1, 2, 5))
        more = f"&tube={tubes[1]}" if len(tubes) > 1 else ""
        status, answer, begun, ended = self.timed("reserve", f"/tubes/{tubes[0]}/reservations?count={count}{more}", user, method="POST")
        self.assertEqual(status, 200, answer)
        there = [job for job in self.jobs.values() if job.tube in tubes and self.is_surely_ready(job, begun)]
        got = answer["reservations"]
        self.assertLessEqual(len(got), count)
        self.assertGreaterEqual(len(got), min(count, len(there)))
        for each in got:
            self.take(user, each, tubes, begun, ended)

    def take(self, user, given, tubes, begun, ended):
        job = self.jobs[given["job"]["id"]]
        self.assertEqual(given["body"], job.body)
        self.assertIn(job.tube, tubes)
        self.assertFalse(job.is_gone or job.is_buried, job)
        self.assertGreaterEqual(ended, job.free_from, f"somebody has it: {job}")
        self.assertNotIn(given["lease"], [lease.token for lease in self.leases])
        job.holder = given["lease"]
        job.set_away(begun, ended, job.ttr)
        self.leases.append(Lease(given["lease"], user, job))

    def finish(self):
        lease = self.some_lease()
        if lease is not None:
            getattr(self, "call_" + self.random.choice(("delete", "delete", "delete", "release", "release", "bury", "touch", "note")))(lease)

    def call_delete(self, lease):
        done, _, _ = self.call(lease, "delete")
        lease.job.is_gone |= done

    def call_release(self, lease):
        delay = self.random.choice((0, 0, 1))
        done, begun, ended = self.call(lease, "release", {"delay_seconds": delay})
        if not done:
            return
        lease.job.set_ready()
        if delay:
            lease.job.set_away(begun, ended, delay)

    def call_bury(self, lease):
        done, _, _ = self.call(lease, "bury", {})
        if done:
            lease.job.set_ready()
            lease.job.is_buried = True

    def call_touch(self, lease):
        seconds = self.random.choice((None, 1, 3))
        done, begun, ended = self.call(lease, "touch", {} if seconds is None else {"seconds": seconds})
        if done:
            lease.job.set_away(begun, ended, seconds or lease.job.ttr)

    def call_note(self, lease):
        text = f"note {len(self.story)}"
        done, _, _ = self.call(lease, "note", {"text": text})
        if done:
            lease.job.notes.append(text)

    def call(self, lease, verb, value=None):
        """Whether the lease was honoured, which the model must allow."""
        status, answer, begun, ended = self.call_with(lease.token, verb, lease.user, value)
        if not lease.is_known:
            self.count("before the start", status)
            self.assertEqual(status, 404, answer)
            return False, begun, ended
        job = lease.job
        holds = job.holder == lease.token and not job.is_gone and not job.is_buried
        may = {409} if not holds or begun >= job.free_by else {200} if ended < job.free_from else {200, 409}
        self.assertIn(status, may, (answer, lease, begun, ended))
        # It has ended, whatever comes.
        if holds and status == 409:
            job.set_ready()
        return status == 200, begun, ended

    def call_with_a_wrong_token(self):
        lease = self.some_lease()
        if lease is None:
            return
        kind = self.random.choice(("other user", "forged", "cut", "random"))
        user, token = lease.user, lease.token
        if kind == "other user":
            user = WORKERS[1 - WORKERS.index(user)]
        elif kind == "forged":
            place = self.random.randrange(len(token))
            token = token[:place] + self.random.choice(ALPHABET.replace(token[place], "")) + token[place + 1:]
        elif kind == "cut":
            token = token[:self.random.randrange(1, len(token))]
        else:
            token = "".join(self.random.choices(ALPHABET, k=len(token)))
        verb = self.random.choice(("delete", "release", "bury", "touch", "note"))
        value = None if verb == "delete" else {"text": "x"} if verb == "note" else {}
        status, answer, _, _ = self.call_with(token, verb, user, value)
        self.count(kind, status)
        self.assertEqual(status, 404, answer)

    def reserve_what_is_not_granted(self):
        """No job of the tubes that are granted is taken with it."""
        status, answer, _, _ = self.timed("reserve", "/tubes/a/reservations?tube=other&count=9", self.random.choice(WORKERS), method="POST")
        self.assertEqual(status, 403, answer)

    def kick(self):
        buried = [job for job in self.jobs.values() if job.is_buried and not job.is_gone]
        if not buried:
            return
        job = self.random.choice(buried)
        status, answer, _, _ = self.timed("kick", f"/jobs/{job.id}/kick", "operator", {})
        self.assertEqual(status, 200, answer)
        job.is_buried = False
        job.set_ready()

    def flush(self):
        """Takes the jobs also from those who hold them."""
        self.flush_tube(self.random.choice(TUBES))

    def flush_tube(self, tube):
        answer = self.speak(f"auth {self.tokens['operator']}\r\nflush-tube {tube}\r\n".encode())
        self.story.append(f"flush {tube}: {answer}")
        is_there = any(job.tube == tube and not job.is_gone for job in self.jobs.values())
        self.assertIn(b"FLUSHED" if is_there or b"FLUSHED 0" in answer else b"NOT_FOUND", answer)
        for job in self.jobs.values():
            job.is_gone |= job.tube == tube

    def take_back(self):
        """The operator ends one of the leases, of which the list has all."""
        status, answer, begun, ended = self.timed("list", "/leases", "operator")
        self.assertEqual(status, 200, answer)
        self.assertIsNone(answer["next"])
        users = {lease.token: lease.user for lease in self.leases}
        for each in answer["leases"]:
            job = self.jobs[each["job"]]
            self.assertFalse(job.is_gone or job.is_buried, job)
            self.assertTrue(job.holder and begun < job.free_by, job)
            self.assertEqual((each["user"], each["tube"]), (users[job.holder], job.tube))
        listed = {each["job"] for each in answer["leases"]}
        held = {job.id for job in self.jobs.values() if job.holder and not job.is_gone and not job.is_buried and ended < job.free_from}
        self.assertLessEqual(held, listed)
        if not listed:
            return
        each = self.random.choice(answer["leases"])
        job = self.jobs[each["job"]]
        worker = self.random.choice(WORKERS)
        self.assertEqual(self.timed("end by a worker", f"/leases/{each['id']}", worker, method="DELETE")[0], 404)
        status, answer, begun, ended = self.timed("end", f"/leases/{each['id']}", "operator", method="DELETE")
        may = {200} if ended < job.free_from else {200, 404, 409}
        self.assertIn(status, may, (answer, job, begun, ended))
        job.set_ready()

    def leave_while_waiting(self):
        """A waiter goes. What is put then is ready, unless the server had no time to see it."""
        user = self.random.choice(WORKERS)
        waiter = socket.create_connection(("127.0.0.1", self.port), 20)
        with contextlib.closing(waiter):
            waiter.sendall(f"POST /api/v1/tubes/{QUIET}/reservations?wait_seconds=60 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
                           f"Authorization: Bearer {self.tokens[user]}\r\n\r\n".encode())
            if self.random.random() < 0.5:
                self.timed("look", "/server", "operator")  # The request has been read.
        is_seen = self.random.random() < 0.5
        if is_seen:
            self.timed("look", "/server", "operator")
            self.timed("look", "/server", "operator")
        job, begun, ended = self.put_in(QUIET, 1, 0)
        if not is_seen:
            job.free_by = ended + job.ttr + SLACK
        answer = self.look_at(job)
        if is_seen:
            self.assertEqual(answer["reserves"], 0)
        self.flush_tube(QUIET)  # So that the next waiter waits, too.

    def let_time_pass(self):
        time.sleep(self.random.choice((0.05, 0.3, 0.6, 1.2)))

    def restart(self):
        how = self.random.choice((self.stop, self.kill))
        begun = time.monotonic()
        how()
        self.start()
        self.story.append(how.__name__ + " and start")
        for lease in self.leases:
            lease.is_known = False
        for job in self.jobs.values():
            is_delayed = job.free_by > 0 and not job.holder
            if not is_delayed:
                job.set_ready()
            elif job.free_by > begun:
                job.free_by += time.monotonic() - begun  # It has waited longer already, if the clock went on.
        self.look_at_all()

    # ---- What is there.

    def look_at_all(self):
        for job in self.jobs.values():
            self.look_at(job)

    def look_at(self, job):
        status, answer, begun, ended = self.timed("look", f"/jobs/{job.id}", "operator")
        if job.is_gone:
            self.assertEqual(status, 404, answer)
            return answer
        self.assertEqual(status, 200, answer)
        state = answer["state"]
        if job.is_buried:
            self.assertEqual(state, "buried", job)
        elif begun >= job.free_by:
            self.assertEqual(state, "ready", job)
        elif ended < job.free_from:
            self.assertEqual(state, "reserved" if job.holder else "delayed", job)
        else:
            self.assertIn(state, ("ready", "reserved", "delayed"), job)
        notes = self.timed("look", f"/jobs/{job.id}/notes", "operator")[1]["notes"] if job.notes else []
        self.assertEqual([note["text"] for note in notes], job.notes[-len(notes):] if notes else [])
        if job.notes:
            self.assertTrue(notes, job)
        return answer

    # ---- Helpers.

    def some_lease(self):
        """Mostly one of the newest."""
        if not self.leases:
            return None
        return self.random.choice(self.leases[-8:] if self.random.random() < 0.8 else self.leases)

    def is_surely_ready(self, job, now):
        return not job.is_gone and not job.is_buried and now >= job.free_by

    def call_with(self, token, verb, user, value):
        path = f"/reservations/{token}" + ("" if verb == "delete" else f"/{verb}")
        return self.timed(verb, path, user, value, "DELETE" if verb == "delete" else "POST")

    def timed(self, act, path, user, value=None, method=None):
        """The status and the value of the answer, and the times between which the server acted."""
        begun = time.monotonic()
        status, answer = self.api(path, method or ("GET" if value is None else "POST"), value, **self.shown(user))
        ended = time.monotonic()
        self.count(act, status)
        self.story.append(f"{begun:.3f} to {ended:.3f} {user} {act} {path} {value}: {status} {answer}")
        return status, answer, begun, ended

    def count(self, act, status):
        self.seen[f"{act} {status}"] = self.seen.get(f"{act} {status}", 0) + 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=Leases.seed)
    parser.add_argument("--acts", type=int, default=Leases.acts)
    options, rest = parser.parse_known_args()
    Leases.seed, Leases.acts = options.seed, options.acts
    unittest.main(argv=sys.argv[:1] + rest)
