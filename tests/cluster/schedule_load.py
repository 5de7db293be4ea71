"""Schedules of a cluster that are due each second, workers that take what they put, and a judgement: each planned second once.

A job that is seen is written down with its schedule and its planned time before it is deleted, so a delete that has no answer does not matter. Of one
schedule no two jobs have the same planned time, and none is missing between the first and the last: they make up for all that was missed, up to
a thousand times. When all nodes were stopped, the time goes on from the wall clock of the first leader, which may be wrong by more than that. Then
a thousand are made up for, and what is left out behind them is as much as the schedule itself says that it has missed.

Fields: body, `with:schedule,planned`. Doors: the ports for clients of all nodes. Blind to: time zones, `missed` and `overlap` of other kinds, a wall
clock that is believed and jumps by more than the bound of the cluster, schedules that are changed meanwhile.
"""

import calendar
import re
import time

from ledger import Client, Clients, Closed


MADE_UP_MAX = 1000  # missed:all


def second_of(text):
    return calendar.timegm(time.strptime(text.split(".")[0], "%Y-%m-%dT%H:%M:%S"))


class ScheduleLoad(Clients):
    def __init__(self, addresses, on_fault, schedules=3):
        super().__init__(addresses, on_fault)
        self.names = [f"second-{number}" for number in range(schedules)]
        self.is_set = dict.fromkeys(self.names, False)
        self.seen = {name: {} for name in self.names}  # By the planned second: the id of the job.
        self.stops = 0  # How often all nodes had stopped.
        self.start(self.names)

    def _work(self, client, name):
        while not self.is_set[name]:
            if self.stopping.is_set():
                return
            answer = client.ask(
                b"set-schedule %s 0 0 60 %d every:1 anchor:2020-01-01T00:00:00Z missed:all tube:%s\r\n%s\r\n"
                % (name.encode(), len(name), name.encode(), name.encode()))
            self.is_set[name] = answer[0] == b"SET"
            if answer[0] not in (b"SET", b"DENIED", b"OUT_OF_MEMORY"):
                self.fault(f"set-schedule was answered {answer}")
            time.sleep(0.2)
        client.ask(b"watch %s\r\n" % name.encode())
        client.ask(b"ignore default\r\n")
        while not self.stopping.is_set():
            self._take(client, name, 1)

    def _take(self, client, name, wait):
        answer = client.ask(b"reserve-with-timeout %d with:schedule,planned\r\n" % wait)
        if answer[0] != b"RESERVED":
            return False
        body = client.body(int(answer[2]))
        told = dict(word.decode().split(":", 1) for word in answer[3:])
        job, planned = int(answer[1]), second_of(told["planned"])
        if told["schedule"] != name or body != name.encode():
            self.fault(f"{name} has put job {job} of {told} with the body {body}")
        before = self.seen[name].setdefault(planned, job)
        if before != job:
            self.fault(f"{name} has put jobs {before} and {job} for {told['planned']}")
        client.ask(b"delete %d\r\n" % job)
        return True

    def all_stopped(self):
        """No node runs now. The next leader has the time of its wall clock."""
        self.stops += 1

    def judge(self):
        """Ends the schedules, and takes all that is left."""
        deadline = time.monotonic() + 90
        for name in self.names:
            while problem := self._end(name):
                if time.monotonic() > deadline:
                    self.fault(problem)
                    break
                time.sleep(0.5)
        return {name: len(self.seen[name]) for name in self.names}

    def _end(self, name):
        """What is wrong, perhaps only for now: a job may be held by a connection that nobody has ended yet."""
        if not self.is_set[name]:
            return f"schedule {name} was never set"
        try:
            client = Client(self.addresses, timeout=30)
        except Closed:
            return f"no node serves, and {name} is not ended"
        try:
            return self._end_with(client, name)
        except Closed:
            return f"the connection ends, and {name} is not ended"
        finally:
            client.close()

    def _end_with(self, client, name):
        answer = client.ask(b"pause-schedule %s\r\n" % name.encode())
        if answer[0] != b"PAUSED":
            return f"pause-schedule {name} was answered {answer}"
        client.ask(b"watch %s\r\n" % name.encode())
        client.ask(b"ignore default\r\n")
        while self._take(client, name, 0):
            pass
        answer = client.ask(b"stats-schedule %s\r\n" % name.encode())
        told = client.body(int(answer[1]))
        fired = int(re.search(rb"\nfired: (\d+)\n", told)[1])
        seconds = sorted(self.seen[name])
        if fired != len(seconds):
            return f"{name} says that it has put {fired} jobs, and {len(seconds)} were seen"
        gaps = [(a, b) for a, b in zip(seconds, seconds[1:]) if b != a + 1]
        missed = int(re.search(rb"\nmissed-times: (\d+)\n", told)[1])
        left_out = sum(b - a - 1 for a, b in gaps)
        made_up = all(self.seen[name].keys() >= set(range(a - MADE_UP_MAX + 2, a + 1)) for a, _ in gaps)
        if len(gaps) > self.stops or left_out != missed or not made_up:
            return f"{name} has left out what is between {gaps[:5]}, and says that it has missed {missed}, at {self.stops} stops of all nodes"
        answer = client.ask(b"delete-schedule %s\r\n" % name.encode())
        return None if answer[0] == b"DELETED" else f"delete-schedule {name} was answered {answer}"
