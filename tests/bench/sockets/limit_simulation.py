#!/usr/bin/env python3
"""At which number of I/O threads the loop is what limits a server, by a simulation with measured times.

Connections put one job after the other. A put goes through the thread that has its connection, the loop, the log, the loop,
and the thread again. Each of these does one thing at a time, in the order in which it came, on a processor for itself; the
log takes all that waits for it, once it is idle, and needs a sync for it. The times are those of put_cost.py: processor time
for a put, by thread. So it is blind to processors that are shared, to caches, and to how long a wake-up takes, and its
figures are bounds: a server has at most as many puts a second.
"""

import argparse
import heapq
import itertools
import sys

WARM_UP = 0.2  # This part of the puts is not counted.


class Worker:
    """Does one thing at a time, in order."""

    def __init__(self, simulation):
        self.simulation = simulation
        self.free_at = 0.0
        self.busy = 0.0

    def do(self, microseconds, then):
        begin = max(self.free_at, self.simulation.now)
        self.free_at = begin + microseconds
        if self.simulation.is_warm:
            self.busy += microseconds
        self.simulation.at(self.free_at, then)


class Log:
    """Group commit: all that waits is written and synced at once."""

    def __init__(self, simulation, sync_us, put_us):
        self.simulation = simulation
        self.sync_us, self.put_us = sync_us, put_us
        self.waiting = []
        self.is_writing = False

    def add(self, then):
        self.waiting.append(then)
        if not self.is_writing:
            self.write()

    def write(self):
        batch, self.waiting = self.waiting, []
        self.is_writing = True

        def on_synced():
            self.is_writing = False
            for then in batch:
                then()
            if self.waiting:
                self.write()

        self.simulation.at(self.simulation.now + self.sync_us + self.put_us * len(batch), on_synced)


class Simulation:
    def __init__(self, threads, times, connections):
        self.now = 0.0
        self.is_warm = False
        self.events = []
        self.order = itertools.count()
        self.times = times
        self.loop = Worker(self)
        self.log = Log(self, times.sync, times.committer)
        self.threads = [Worker(self) for _ in range(threads)]
        self.loop_us = times.loop if threads else times.loop_alone
        self.done = 0
        for number in range(connections):
            self.put(self.threads[number % threads] if threads else None)

    def at(self, when, then):
        heapq.heappush(self.events, (when, next(self.order), then))

    def put(self, thread):
        """Half of each time is for the command, half for its answer."""
        def carried(then):
            if thread is None:
                then()
            else:
                thread.do(self.times.thread / 2, then)

        def answered():
            self.done += 1
            self.put(thread)

        carried(lambda: self.loop.do(
            self.loop_us / 2,
            lambda: self.log.add(lambda: self.loop.do(self.loop_us / 2, lambda: carried(answered)))))

    def run(self, puts):
        """Returns puts a second, and which part of the time the loop and the busiest thread worked."""
        begun_at = begun_with = 0
        while self.done < puts:
            if not self.is_warm and self.done >= puts * WARM_UP:
                self.is_warm, begun_at, begun_with = True, self.now, self.done
            self.now, _, then = heapq.heappop(self.events)
            then()
        took = self.now - begun_at
        busiest = max((thread.busy for thread in self.threads), default=0.0)
        return (self.done - begun_with) / took * 1e6, self.loop.busy / took, busiest / took


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loop-alone", type=float, default=7.2, help="microseconds of the loop a put, without threads")
    parser.add_argument("--loop", type=float, default=3.1, help="the same with threads")
    parser.add_argument("--thread", type=float, default=4.4, help="microseconds of a thread a put")
    parser.add_argument("--committer", type=float, default=2.7, help="microseconds of the committer a put")
    parser.add_argument("--sync", type=float, default=100, help="microseconds that a sync takes")
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--threads-max", type=int, default=4)
    parser.add_argument("--puts", type=int, default=100_000, help="that are simulated")
    return parser.parse_args(arguments)


def main():
    times = parsed(sys.argv[1:])
    print("| threads | puts a second | the loop works | the busiest thread | the limit |\n| ---: | ---: | ---: | ---: | --- |")
    for threads in range(times.threads_max + 1):
        per_second, loop, busiest = Simulation(threads, times, times.connections).run(times.puts)
        limit = "the threads" if busiest > 0.97 else "the loop" if loop > 0.97 else "the log, or too few clients"
        print(f"| {threads} | {per_second:,.0f} | {loop:.0%} | {busiest:.0%} | {limit} |")


if __name__ == "__main__":
    main()
