"""Whether schedules_bench.py measures what it says, in small. No time is asserted."""

import functools
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import bench_rows  # noqa: E402

rows_of = functools.partial(bench_rows.rows_of, os.path.join(HERE, "schedules_bench.py"))

costs = rows_of("firing", "--schedules", "20", "--jobs", "200", "--rounds", "1", "--seconds", "2")
assert [name for name, _ in costs] == ["put", "put, 50 together", "every", "cron"], costs
assert all(row[0] > 0 and row[1] >= 0 and row[2] > 0 for _, row in costs), costs

starts = rows_of("start", "--schedules", "2000")
assert [name for name, _ in starts] == ["nothing", "2,000 jobs", "2,000 schedules"], starts
assert all(number > 0 for _, row in starts for number in row), starts

seconds = rows_of("second", "--schedules", "200", "--seconds", "0")
assert [name for name, _ in seconds] == ["nothing beside it", "200 delays that end", "nothing beside it",
                                         "200 schedules"], seconds
assert all(number > 0 for _, row in seconds for number in row[1:]), seconds
