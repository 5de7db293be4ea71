"""Whether schedules_bench.py measures what it says, in small. No time is asserted."""

import os
import subprocess
import sys
import tempfile

BUILD = os.environ["BUILD"]
HERE = os.path.dirname(os.path.abspath(__file__))


def rows_of(*words):
    """The rows of the table that a task prints, without its head: the first cell, and the numbers behind it."""
    with tempfile.TemporaryDirectory() as folder:
        output = subprocess.run([sys.executable, os.path.join(HERE, "schedules_bench.py"), *words, "--build", BUILD,
                                 "--folder", folder],
                                check=True, capture_output=True, text=True).stdout
        assert not os.listdir(folder), os.listdir(folder)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in output.splitlines()]
    return [(row[0], [float(cell.replace(",", "") or 0) for cell in row[1:]]) for row in rows[2:]]


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
