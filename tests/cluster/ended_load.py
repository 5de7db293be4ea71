"""Clients of a cluster that end jobs in tubes which keep them, and put some back, and a judgement of what is there in the end.

Each client has a tube of its own and one command in flight. A job whose command had no answer is left alone from then on: it may be as it
was or as the command makes it, and never both. Every other job is where its last answer has put it: there, with the old id in `restored`
if it was put back, or among those that have ended, with its body. A takeover loses neither.

Fields: body, priority, tries, a note, `keep`. Doors: the ports for clients of all nodes. Blind to: expiry, `keep` and `keep-max` that
are over, two clients of one job, and disks that are short of space, on which jobs that have ended go (`may_lose_ended`).
"""

import random
import re
import time

from ledger import Client, Clients, Closed

JOBS_MAX = 600  # Of each client. Then it deletes no more than it puts back.


class Job:
    def __init__(self, body):
        self.body = body
        self.id = None
        self.was = 0  # The id before its return.
        self.ids = set()  # All that it had.
        self.has_ended = False
        self.is_flushed = False  # And so comes back with the tube.
        self.in_doubt = False


class EndedLoad(Clients):
    def __init__(self, addresses, on_fault, clients=2):
        super().__init__(addresses, on_fault)
        self.jobs = [[] for _ in range(clients)]
        self.counts = {"ended": 0, "restored": 0, "in doubt": 0}
        self.may_lose_ended = False
        self.keeps = [False] * clients
        self.start(range(clients))

    def _work(self, client, number):
        tube = b"kept-%d" % number
        while not self.keeps[number]:
            answer = client.ask(b"set-tube %s keep:86400\r\n" % tube)
            self.keeps[number] = answer[0] == b"SET"
            if answer[0] != b"SET":  # DENIED until all nodes are known to read what it writes.
                time.sleep(0.2)
            if self.stopping.is_set():
                return
        client.ask(b"use %s\r\n" % tube)
        while not self.stopping.is_set():
            self._step(client, number, tube)
            time.sleep(random.random() * 0.02)

    def _step(self, client, number, tube):
        jobs = self.jobs[number]
        known = [job for job in jobs if not job.in_doubt]
        if len(known) < 5 or (len(known) < JOBS_MAX and random.random() < 0.4):
            return self._put(client, number)
        if random.random() < 0.03:
            return self._flush_and_restore(client, known, tube)
        job = random.choice(known)
        self._restore(client, job) if job.has_ended else self._end(client, job)

    def _ask(self, client, request, jobs):
        """An answer that does not come leaves these jobs in doubt."""
        for job in jobs:
            job.in_doubt = True
        answer = client.ask(request)
        for job in jobs:
            job.in_doubt = False
        return answer

    def _put(self, client, number):
        job = Job(b"kept %d %d " % (number, random.randrange(1 << 60)) + b"y" * random.randrange(100))
        self.jobs[number].append(job)
        answer = self._ask(client, b"put 7 0 60 %d tries:5\r\n%s\r\n" % (len(job.body), job.body), [job])
        if answer[0] == b"OUT_OF_MEMORY":
            self.jobs[number].remove(job)
        elif answer[0] != b"INSERTED":
            self.fault(f"put was answered {answer}")
        else:
            job.id = int(answer[1])
            job.ids.add(job.id)
            if random.random() < 0.3:
                client.ask(b"note %d 3\r\nwhy\r\n" % job.id)

    def _end(self, client, job):
        answer = self._ask(client, b"delete %d\r\n" % job.id, [job])
        if answer[0] != b"DELETED":
            self.fault(f"delete of job {job.id} was answered {answer}")
        job.has_ended = True
        self.counts["ended"] += 1

    def _restore(self, client, job):
        answer = self._ask(client, b"restore-job %d\r\n" % job.id, [job])
        if answer[0] == b"INSERTED" and len(answer) == 2:
            self._has_come_back(job, int(answer[1]))
        elif answer[0] == b"NOT_FOUND" and self.may_lose_ended:
            job.in_doubt = True
        elif answer[0] != b"OUT_OF_MEMORY":
            self.fault(f"restore-job {job.id} was answered {answer}")

    def _has_come_back(self, job, new_id):
        if new_id in job.ids:
            self.fault(f"job {job.id} came back as {new_id}, which it was before")
        job.was, job.id = job.id, new_id
        job.ids.add(new_id)
        job.has_ended = job.is_flushed = False
        self.counts["restored"] += 1

    def _flush_and_restore(self, client, known, tube):
        """All that is there ends, and comes back with one command, which does not say as what. Jobs in doubt may be among them."""
        there = [job for job in known if not job.has_ended]
        doubts = sum(job.in_doubt for number in self.jobs for job in number)
        flushed = self._ask(client, b"flush-tube %s\r\n" % tube, there)
        if flushed[0] == b"NOT_FOUND":
            flushed = [b"FLUSHED", b"0"]
        if flushed[0] != b"FLUSHED" or not len(there) <= int(flushed[1]) <= len(there) + doubts:
            self.fault(f"flush of {len(there)} jobs was answered {flushed}")
        for job in there:
            job.has_ended = job.is_flushed = True
        self.counts["ended"] += len(there)
        for job in there[: len(there) // 2]:
            self._restore(client, job)
        rest = [job for job in known if job.is_flushed and not job.in_doubt]
        answer = self._ask(client, b"restore-tube %s since:3600\r\n" % tube, rest)
        # Of a refusal some may be back.
        is_done = answer[0] == b"RESTORED" and (int(answer[1]) >= len(rest) or self.may_lose_ended)
        if not is_done and answer[0] != b"OUT_OF_MEMORY":
            self.fault(f"restore of {len(rest)} jobs was answered {answer}")
        # Under which ids is not said.
        for job in rest:
            job.in_doubt = True

    def judge(self):
        """Looks at everything, when no client works any more."""
        deadline = time.monotonic() + 60
        for number, jobs in enumerate(self.jobs):
            while True:
                try:
                    client = Client(self.addresses, timeout=30)
                    self._judge_tube(client, b"kept-%d" % number, jobs)
                    client.close()
                    break
                except Closed:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.2)
        self.counts["in doubt"] = sum(job.in_doubt for jobs in self.jobs for job in jobs)

    def _judge_tube(self, client, tube, jobs):
        there = self._collect(client, b"list-jobs %s" % tube, b"peek")
        ended = self._collect(client, b"list-jobs %s state:ended" % tube, b"peek-ended")
        bodies = list(there.values()) + list(ended.values())
        if len(set(bodies)) != len(bodies):
            self.fault(f"a job of {tube} is in two places")
        known = {job.body for job in jobs}
        for body in bodies:
            if body not in known:
                self.fault(f"{tube} has a job that nobody has put: {body}")
        for job in jobs:
            if job.in_doubt:
                continue
            if job.has_ended:
                if ended.get(job.id) != job.body and not self.may_lose_ended:
                    self.fault(f"job {job.id} of {tube} has ended, and is not kept")
            elif there.get(job.id) != job.body:
                self.fault(f"job {job.id} of {tube}, {job.was} before, is lost")
            else:
                self._judge_fields(client, job)

    def _judge_fields(self, client, job):
        answer = client.ask(b"stats-job %d\r\n" % job.id)
        yaml = client.body(int(answer[1]))
        for line in (b"restored: %d\n" % job.was, b"pri: 7\n", b"tries: 5\n"):
            if b"\n" + line not in yaml:
                self.fault(f"job {job.id} has not {line}: {yaml}")

    def _collect(self, client, command, peek):
        """The body of each job that the pages of a listing name."""
        found, cursor = {}, 0
        while True:
            answer = client.ask(command + b" after:%d count:500\r\n" % cursor)
            if answer[0] == b"NOT_FOUND":
                return found
            page = client.body(int(answer[1]))
            for job in re.findall(rb"\{id: (\d+),", page):
                answer = client.ask(peek + b" %s\r\n" % job)
                if answer[0] != b"FOUND":
                    self.fault(f"{peek} of job {job}, which is listed, was answered {answer}")
                    continue
                found[int(job)] = client.body(int(answer[2]))
            cursor = int(re.search(rb"cursor: (\d+)", page)[1])
            if cursor == 0:
                return found
