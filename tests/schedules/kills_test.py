#!/usr/bin/env python3
"""Kills around the firings of schedules, and wall clocks that jump: no planned time is doubled, and none is missing.

    kills_test.py [--kills N] [--seed N]

A real server with schedules of every second, which a worker empties all the time. It is killed at random moments, mostly just around a second, and starts
again at once; its wall clock is set forward and back. The ledger has each job that was seen with its schedule and planned time:

- of one schedule two jobs never have the same planned time (a job that comes again after a kill has the same id);
- of a schedule that makes up for all that it missed, the planned times are every second from the first to the last, without a gap, so long as the
  clock jumps by less than 1,000 seconds;
- of one that makes up for one time only, none is missing while the server runs and the clock does not jump;
- of one that is not put while its last job is there, no two jobs are there at the same time.

At the end all jobs are taken, and the counts that the server shows are those of the ledger.

It is blind to power cuts and to what the disk loses, to a cluster, to time zones (every expression is in UTC), and to times between the kill of a process
and that of the machine. Its jobs are small, and it has one client.
"""

import argparse
import calendar
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from ports import free_port  # noqa: E402

PERENNIALD = os.environ.get("PERENNIALD", "build/perenniald")
SHIFTED_CLOCK = os.environ.get("SHIFTED_CLOCK", "build/tests/support/libperennial_shifted_clock.so")

ALL = {f"all{i}": "missed:all every:1 anchor:2020-01-01T00:00:00Z" for i in range(4)} | {"cron": "missed:all cron:*_*_*_*_*_*"}
ONE = {"one": "missed:one every:1 anchor:2020-01-01T00:00:00Z jitter:900ms"}
SKIP = {"skip": "missed:one overlap:skip every:1 anchor:2020-01-01T00:00:00Z tube:skip"}


class Failure(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failure(what)


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.settimeout(10)
        self.file = self.socket.makefile("rb")

    def ask(self, line, body=None):
        data = line.encode() + b"\r\n" + (b"" if body is None else body + b"\r\n")
        self.socket.sendall(data)
        reply = self.file.readline()
        check(reply.endswith(b"\r\n"), f"the connection ended: {reply!r}")
        reply = reply.decode().strip()
        words = reply.split()
        payload = b""
        if words[0] in ("RESERVED", "FOUND"):
            payload = self.file.read(int(words[2]) + 2)[:-2]
        elif words[0] == "OK":
            payload = self.file.read(int(words[1]) + 2)[:-2]
        return reply, payload

    def close(self):
        self.file.close()
        self.socket.close()


def facts(reply):
    return dict(word.split(":", 1) for word in reply.split()[3:])


class Run:
    def __init__(self, kills, seed):
        self.kills, self.random = kills, random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="perennial-schedules-", dir=os.environ.get("TMPDIR"))
        self.port = free_port()
        self.shift = self.latest = 0
        self.seen = {}  # By schedule and planned time: the id of the job.
        self.ids = {}  # By id: schedule and planned time.
        self.set_clock(0)

    def set_clock(self, seconds):
        self.shift = seconds
        path = f"{self.folder}/clock"
        with open(path + ".new", "w") as file:
            file.write(f"{seconds}")
        os.rename(path + ".new", path)

    def jump(self):
        """Back now and then, and on from the latest moment that it has shown, so that there is something to put."""
        if self.shift < self.latest:
            self.set_clock(self.latest)
        else:
            self.set_clock(self.shift + self.random.choice([-3600, -30, -1, 1, 7, 100, 500]))
        self.latest = max(self.latest, self.shift)

    def start(self):
        self.log = open(f"{self.folder}/log", "ab")
        environment = os.environ | {"LD_PRELOAD": SHIFTED_CLOCK, "SHIFT_CLOCK_FILE": f"{self.folder}/clock"}
        self.server = subprocess.Popen(
            [PERENNIALD, "-b", f"{self.folder}/data", "-l", f"127.0.0.1:{self.port}", "--config", f"{self.folder}/perennial.yaml"],
            stdout=self.log, stderr=self.log, env=environment)
        end = time.monotonic() + 60
        while True:
            check(self.server.poll() is None, "the server has ended: " + self.tail())
            try:
                self.client = Client(self.port)
                return
            except OSError:
                check(time.monotonic() < end, "the server does not answer: " + self.tail())
                time.sleep(0.01)

    def tail(self):
        with open(f"{self.folder}/log", errors="replace") as file:
            return file.read()[-2000:]

    def kill(self):
        self.client.close()
        self.server.send_signal(signal.SIGKILL)
        self.server.wait()
        self.log.close()

    def set_all(self):
        for name, options in (ALL | ONE | SKIP).items():
            reply, _ = self.client.ask(f"set-schedule {name} 0 0 100 {len(name)} {options}", name.encode())
            check(reply == "SET", f"{name}: {reply}")

    def take_some(self, seconds):
        """Takes jobs for so long. All are deleted, as soon as they are seen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.take()

    def take(self):
        reply, body = self.client.ask("reserve-with-timeout 0 with:schedule,planned,tube")
        if reply in ("TIMED_OUT", "DEADLINE_SOON"):
            time.sleep(0.005)
            return False
        job = int(reply.split()[1])
        told = facts(reply)
        name, planned = told["schedule"], told["planned"]
        check(body == name.encode(), f"job {job} of {name} has the body {body!r}")
        before = self.seen.setdefault((name, planned), job)
        check(before == job, f"{name} has put jobs {before} and {job} for {planned}")
        check(self.ids.setdefault(job, (name, planned)) == (name, planned), f"job {job} has changed")
        reply, _ = self.client.ask(f"delete {job}")
        check(reply == "DELETED", reply)
        return True

    def check_skip(self):
        _, yaml = self.client.ask("stats-tube skip")
        counts = dict(line.split(": ") for line in yaml.decode().splitlines()[1:])
        there = sum(int(counts[f"current-jobs-{state}"]) for state in ("ready", "reserved", "delayed", "buried"))
        check(there <= 1, f"{there} jobs of a schedule with overlap:skip")

    def times_of(self, name):
        return sorted(planned for schedule, planned in self.seen if schedule == name)

    @staticmethod
    def second(text):
        whole = text.split(".")[0]
        return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S"))

    def run(self):
        self.write_settings()
        self.start()
        self.client.ask("watch skip")
        self.set_all()
        for number in range(self.kills):
            if self.random.random() < 0.2:
                self.jump()
            self.take_some(self.random.random() * 0.3)
            # Just before a second, in it, or at any time.
            if self.random.random() < 0.7:
                now = time.time()
                time.sleep(max(0.0, 1 - now % 1 + self.random.uniform(-0.01, 0.03)))
            self.kill()
            if self.random.random() < 0.1:
                time.sleep(self.random.random() * 3)
            self.start()
            self.client.ask("watch skip")
            self.check_skip()
            if number % 100 == 99:
                print(f"{number + 1} kills, {len(self.ids)} jobs", flush=True)
        self.finish()

    def finish(self):
        # Nothing is put any more, and all that is there is taken. A clock that was set back may keep a schedule waiting, which is right.
        for name in ALL | ONE | SKIP:
            check(self.client.ask(f"pause-schedule {name}")[0] == "PAUSED", name)
        while self.take():
            pass
        for name in ALL | ONE | SKIP:
            _, yaml = self.client.ask(f"stats-schedule {name}")
            told = dict(line.split(": ", 1) for line in yaml.decode().splitlines()[1:])
            seen = self.times_of(name)
            check(int(told["fired"]) == len(seen), f"{name}: {told['fired']} were put, {len(seen)} were seen")
            if name in ALL:
                seconds = [self.second(planned) for planned in seen]
                check(len(seconds) == len(set(seconds)), f"{name}: a second twice")
                gaps = [(a, b) for a, b in zip(seconds, seconds[1:]) if b - a != 1]
                check(not gaps, f"{name}: gaps {gaps[:5]} of {len(seconds)} times")
        print(f"{self.kills} kills: {len(self.ids)} jobs of {len(ALL | ONE | SKIP)} schedules, each planned time once")
        self.kill()

    def write_settings(self):
        with open(f"{self.folder}/perennial.yaml", "w") as file:
            file.write("ballast_bytes: 1MiB\nclock_behind_seconds_max: 31622400\n")

    def end(self):
        if self.server.poll() is None:
            self.kill()
        shutil.rmtree(self.folder)


def main():
    parser = argparse.ArgumentParser(description="Kills around the firings of schedules.")
    parser.add_argument("--kills", type=int, default=500 if os.environ.get("PERENNIAL_LONG") else 25)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    run = Run(options.kills, options.seed)
    try:
        run.run()
    except Failure as failure:
        print(f"FAILED: {failure}\n{run.tail()}")
        sys.exit(1)
    finally:
        run.end()


if __name__ == "__main__":
    main()
