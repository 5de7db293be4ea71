"""The simulation of limit_simulation.py against what queueing says exactly: the slowest part is what limits."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from limit_simulation import Simulation, parsed  # noqa: E402


def measured(threads, *arguments):
    times = parsed([*arguments, "--puts", "20000"])
    return Simulation(threads, times, times.connections).run(times.puts)


def expect(threads, per_second, *arguments):
    got, loop, busiest = measured(threads, *arguments)
    assert abs(got / per_second - 1) < 0.02, (threads, arguments, got, per_second)
    assert 0 < loop <= 1.001 and 0 <= busiest <= 1.001, (loop, busiest)
    return loop, busiest


FREE_LOG = ["--sync", "0", "--committer", "0"]
loop, busiest = expect(0, 1e6 / 8, "--loop-alone", "8", *FREE_LOG)
assert loop > 0.99 and busiest == 0, (loop, busiest)
loop, busiest = expect(1, 1e6 / 5, "--loop", "4", "--thread", "5", *FREE_LOG)
assert busiest > 0.99 and 0.78 < loop < 0.82, (loop, busiest)
loop, busiest = expect(2, 1e6 / 4, "--loop", "4", "--thread", "5", *FREE_LOG)
assert loop > 0.99 and 0.60 < busiest < 0.65, (loop, busiest)
expect(8, 1e6 / 4, "--loop", "4", "--thread", "5", *FREE_LOG)
# One connection goes through all parts in turn: 4 + 5 + 100 + 1.
expect(1, 1e6 / 110, "--connections", "1", "--loop", "4", "--thread", "5", "--sync", "100", "--committer", "1")
# A log that can write 100,000 puts a second, however many share a sync.
per_second, _, _ = measured(4, "--connections", "2000", "--committer", "10", "--sync", "100")
assert 90_000 < per_second <= 100_000, per_second
print("the simulation agrees with what the slowest part allows")
