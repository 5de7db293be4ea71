"""What a benchmark of this folder prints, for the tests that only look whether it measures what it says."""

import os
import subprocess
import sys
import tempfile


def rows_of(script, *words):
    """The rows of the table that a task prints, without its head: the first cell, and the numbers behind it; an empty
    cell is 0. BUILD names the build."""
    with tempfile.TemporaryDirectory() as folder:
        output = subprocess.run([sys.executable, script, *words, "--build", os.environ["BUILD"], "--folder", folder],
                                check=True, capture_output=True, text=True).stdout
        assert not os.listdir(folder), os.listdir(folder)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in output.splitlines()]
    return [(row[0], [float(cell.replace(",", "") or 0) for cell in row[1:]]) for row in rows[2:]]
