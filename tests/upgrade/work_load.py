"""Producers over the protocol and workers that are `perennial work`, while the server below them is replaced; and what they were told.

Fields: bodies, priorities, delays of 0 and 1 s, and a job in ten whose command fails once. Doors: the protocol, and `perennial work` of each version
that has it, with four commands at a time. Time: a server is away for as long as its replacement takes.

Judged: each job that was answered INSERTED is done; with the body with which it was put; a job is run once more only if the worker said that an earlier run did
not end in an acknowledged delete; and none is deleted twice. Blind to: the order of jobs, and the moment at which a delay ends.
"""

import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cluster"))
from ledger import Client, Closed, Ledger, keep_connected  # noqa: E402

TUBE = "load"
# Appends a line with one write. Every tenth job fails in its first attempt.
COMMAND = r"""
body=$(cat)
case $2$PERENNIAL_ATTEMPT in
  *01) printf 'failed %s %s\n' "$2" "$body" >>"$1"; exit 1 ;;
esac
printf 'done %s %s\n' "$2" "$body" >>"$1"
"""
COMMANDS_AT_A_TIME = 4
# About how far producers may be ahead of the workers. A job takes a worker a hundred times as long as a put, and what is left in the end is waited for.
AHEAD_MAX = 100


class RunCount:
    """How many lines the file of the runs has. Each reading goes on where the last one ended."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.place = 0
        self.lines = 0

    def read(self):
        with self.lock:
            if os.path.exists(self.path):
                with open(self.path, "rb") as file:
                    file.seek(self.place)
                    new = file.read()
                self.place += len(new)
                self.lines += new.count(b"\n")
            return self.lines


class WorkLoad:
    def __init__(self, port, folder, versions, producers=2):
        self.port = port
        self.runs_file = os.path.join(folder, "runs")
        self.ledger = Ledger()
        self.run_count = RunCount(self.runs_file)
        self.stopping = threading.Event()
        self.workers = []
        self.logs = []
        for version in versions:
            if "work" in version.subcommands:
                self._start_worker(version, os.path.join(folder, f"work-{version}.log"))
        assert self.workers, "no version has `perennial work`"
        self.threads = [threading.Thread(target=self._produce, args=(number,)) for number in range(producers)]
        for thread in self.threads:
            thread.start()

    def _start_worker(self, version, log):
        self.logs.append(log)
        arguments = [
            version.perennial, "work", "--server", f"127.0.0.1:{self.port}", "--tube", TUBE, "--jobs", str(COMMANDS_AT_A_TIME),
            "--backoff", "1:1", "--", "sh", "-c", COMMAND, "sh", self.runs_file, "{}",
        ]  # fmt: skip
        with open(log, "ab") as file:
            self.workers.append(subprocess.Popen(arguments, stderr=file, stdin=subprocess.DEVNULL))

    def _produce(self, number):
        rng, count = random.Random(number), 0

        def use(client):
            nonlocal count
            client.ask(b"use %s\r\n" % TUBE.encode())
            while not self.stopping.is_set():
                if self.put() - self.run_count.read() > AHEAD_MAX:
                    time.sleep(0.05)
                    continue
                count += 1
                body = f"{number}-{count}-{'x' * rng.randrange(200)}".encode()
                self._put(client, rng, body)
                time.sleep(0.01)

        keep_connected([self.port], self.stopping, use)

    def _put(self, client, rng, body):
        line = b"put %d %d 10 %d\r\n" % (rng.randrange(2000), rng.random() < 0.1, len(body))
        try:
            answer = client.ask(line + body + b"\r\n")
        except Closed:
            with self.ledger.lock:
                self.ledger.perhaps_stored.add(body)
            raise
        if answer[0] == b"INSERTED":
            self.ledger.on_inserted(int(answer[1]), body)
        else:
            self.ledger.fault(f"put was answered {answer}")

    def put(self):
        return len(self.ledger.stored)

    def runs(self):
        """Of each run: how it ended, the job's id and its body."""
        if not os.path.exists(self.runs_file):
            return []
        with open(self.runs_file, "rb") as file:
            return [(how.decode(), int(job), body) for how, job, body in (line.rstrip(b"\n").split(b" ", 2) for line in file)]

    def outcomes(self):
        """How often each worker's line says what of which job: a Counter of pairs of id and outcome."""
        found = Counter()
        for path in self.logs:
            with open(path, encoding="utf-8", errors="replace") as file:
                for job, outcome in re.findall(r"at=work\.job job=(\d+) .*?outcome=(\w+)", file.read()):
                    found[int(job), outcome] += 1
        return found

    def wait_until_more(self, seconds=30):
        """Until a hundred jobs more have been put and done: the server, its producers and its workers go on."""
        put, done = self.put(), len(self.runs())
        deadline = time.monotonic() + seconds
        while self.put() < put + 100 or len(self.runs()) < done + 100:
            assert time.monotonic() < deadline, f"{self.put() - put} jobs were put and {len(self.runs()) - done} run in {seconds} s\n{self.tail()}"
            time.sleep(0.05)

    def tail(self):
        lines = []
        for path in self.logs:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines += [f"== {path}", *file.read().splitlines()[-10:]]
        return "\n".join(lines)

    def finish(self, seconds=60):
        """Stops the producers, lets the workers do what is left, stops them, and judges. Returns the faults."""
        self.stopping.set()
        for thread in self.threads:
            thread.join(60)
        deadline = time.monotonic() + seconds
        while self._left() and time.monotonic() < deadline:
            time.sleep(0.1)
        left = self._left()
        self.close()
        faults = list(self.ledger.faults)
        if left:
            faults.append(f"{left} jobs are left after {seconds} s\n{self.tail()}")
        return faults + self._judge()

    def _left(self):
        client = Client([self.port])
        answer = client.ask(b"stats-tube %s\r\n" % TUBE.encode())
        left = 0
        if answer[0] == b"OK":
            rows = dict(line.split(b": ", 1) for line in client.body(int(answer[1])).splitlines() if b": " in line)
            left = sum(int(rows[b"current-jobs-" + state]) for state in (b"ready", b"reserved", b"delayed", b"buried"))
        client.close()
        return left

    def _judge(self):
        faults, runs, outcomes = [], self.runs(), self.outcomes()
        stored, perhaps = self.ledger.stored, self.ledger.perhaps_stored
        done = Counter(job for how, job, _ in runs if how == "done")
        for job in stored:
            if job not in done:
                faults.append(f"job {job} is lost")
        for how, job, body in runs:
            if job in stored and stored[job] != body:
                faults.append(f"job {job} was run with the body {body}, and was put with {stored[job]}")
            if job not in stored and body not in perhaps:
                faults.append(f"job {job} was run, and never put: {body}")
        again = Counter()
        for (job, outcome), times in outcomes.items():
            if outcome == "deleted" and times > 1:
                faults.append(f"job {job} was deleted {times} times")
            if outcome != "deleted":
                again[job] += times
        for job, times in Counter(job for _, job, _ in runs).items():
            if times > 1 + again[job]:
                faults.append(f"job {job} was run {times} times, and its workers gave it up {again[job]} times")
        self.repeated = sum(times - 1 for times in done.values())
        return faults

    def close(self):
        self.stopping.set()
        for worker in self.workers:
            if worker.poll() is None:
                worker.terminate()
        for worker in self.workers:
            try:
                worker.wait(60)
            except subprocess.TimeoutExpired:
                worker.kill()
        for thread in self.threads:
            thread.join(60)
