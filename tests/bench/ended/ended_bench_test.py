"""Whether ended_bench.py measures what it says, in small. No time is asserted."""

import functools
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import bench_rows  # noqa: E402

rows_of = functools.partial(bench_rows.rows_of, os.path.join(HERE, "ended_bench.py"))

costs = rows_of("cost", "--connections", "5", "--cycles", "1000", "--rounds", "1", "--baseline", os.environ["BUILD"] + "/perenniald")
assert [name for name, _ in costs] == ["baseline", "without keep", "notes on a hundredth", "keep",
                                       "keep, and notes on a hundredth"], costs
# With few clients the loop itself writes to the disk, so that other threads may have nothing to do.
assert all(row[0] > 0 and row[1] >= 0 and row[2] > 0 for _, row in costs), costs

starts = rows_of("start", "--jobs", "2000")
assert [name for name, _ in starts] == ["0", "2,000"], starts
assert all(number > 0 for _, row in starts for number in row), starts

undo = rows_of("undo", "--jobs", "2000", "--seconds", "0.2")
assert [name for name, _ in undo] == ["nothing beside it", "flush-tube", "restore-tube"], undo
assert all(number > 0 for _, row in undo for number in row[1:]), undo

minutes = rows_of("hours", "--minutes", "2", "--seconds", "0.3", "--connections", "3", "--jobs", "10")
assert [name for name, _ in minutes] == ["1", "2"], minutes
assert all(row[0] > 0 and row[1] > 0 and row[2] > 0 for _, row in minutes), minutes
