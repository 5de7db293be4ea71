#!/usr/bin/env python3
"""What a put costs each server, in microseconds of processor: its loop, the threads of io_threads, its other threads, the client.

Each server is started fresh, and `perennial bench custom`, or the workloads of --workloads, load it. The kernel says how long each thread has run
(/proc/PID/task/TID/schedstat) and which part of that it spent in the kernel (stat). Two puts of our own, one before the
load and one after it, say by their ids how many puts there were. The servers take turns, round by round, and the
medians are printed. Of a workload that does more with a job than put it, the cost is that of all that a job costs.
"""

import argparse
import json
import os
import resource
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../support"))
from ports import free_port  # noqa: E402

ANSWERS_WITHIN_S = 20
COLUMNS = ["per second", "loop user", "loop system", "I/O threads", "other threads", "client"]
IO_THREADS = "perennial-io-"


def put_one(port):
    """Puts one job and returns its id."""
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(b"put 1024 0 1000000 1\r\nx\r\n")
        answer = client.makefile("rb").readline()
    word, job = answer.split()
    assert word == b"INSERTED", answer
    return int(job)


def put_first(port, server):
    """Waits until the server answers, and puts one job."""
    end = time.monotonic() + ANSWERS_WITHIN_S
    while True:
        try:
            return put_one(port)
        except OSError:
            if server.poll() is not None:
                sys.exit(f"the server has ended with {server.returncode}: {shlex.join(server.args)}")
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def times_of(pid):
    """Of each thread: nanoseconds that it has run, its ticks in user mode and in the kernel, and whether it is one of io_threads."""
    times = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
            run_ns = int(file.read().split()[0])
        with open(f"/proc/{pid}/task/{thread}/stat") as file:
            name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        fields = rest.split()
        times[int(thread)] = (run_ns, int(fields[11]), int(fields[12]), name.startswith(IO_THREADS))
    return times


def client_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(command, arguments, workload):
    """Starts the server, loads it, and returns a figure for each column. `workload`: the words for perennial bench."""
    directory = tempfile.mkdtemp(prefix="put-cost-", dir=arguments.folder)
    port = free_port()
    words = shlex.split(command.replace("{port}", str(port)).replace("{dir}", directory))
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        first = put_first(port, server)
        before = times_of(server.pid)
        client_before = client_seconds()
        rate = load(port, workload, directory, arguments)
        client = client_seconds() - client_before
        after = times_of(server.pid)
        puts = put_one(port) - first - 1
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
        shutil.rmtree(directory)
    return [rate] + costs(before, after, server.pid, puts, client)


def load(port, workload, directory, arguments):
    """Works for some seconds, and returns what was done a second; the first figure, if the workload has several."""
    report = os.path.join(directory, "report.json")
    subprocess.run(
        [os.path.join(arguments.build, "perennial"), "bench", *workload, "--rounds", "1",
         "--seconds", str(arguments.seconds),
         "--server", f"127.0.0.1:{port}", "--json", report],
        check=True, stdout=subprocess.DEVNULL)
    with open(report) as file:
        return json.load(file)["measurements"][0]["throughput"]["per_second"]


def costs(before, after, loop, puts, client):
    """Microseconds a put: the loop in user mode and in the kernel, those of io_threads, the other threads, and the client."""
    def since(thread):
        return [late - early for late, early in zip(after[thread][:3], before.get(thread, (0, 0, 0)))]

    def all_of(is_io):
        return sum(since(thread)[0] for thread, times in after.items() if thread != loop and times[3] == is_io) / 1e3

    run_ns, user, system = since(loop)
    user_part = user / max(1, user + system)
    loop_us = run_ns / 1e3
    return [us / puts for us in (loop_us * user_part, loop_us * (1 - user_part), all_of(True), all_of(False), client * 1e6)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("servers", nargs="+", metavar="NAME=COMMAND",
                        help="a server; its command says {port}, and {dir} where it keeps data")
    parser.add_argument("--build", default="build", help="where `perennial` is")
    parser.add_argument("--folder", default="/var/tmp", help="where the data is, on the disk that is measured")
    parser.add_argument("--connections", default="50,200", help="with one put in flight each")
    parser.add_argument("--workloads", help="of perennial bench, with commas between; in place of --connections")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    servers = dict(word.split("=", 1) for word in arguments.servers)
    workloads = {f"{number}x1": ["custom", "--connections", number] for number in arguments.connections.split(",")}
    if arguments.workloads:
        workloads = {name: [name] for name in arguments.workloads.split(",")}
    for title, workload in workloads.items():
        rounds = {name: [] for name in servers}
        for _ in range(arguments.rounds):
            for name, command in servers.items():
                rounds[name].append(measure(command, arguments, workload))
        print(f"| {title} | " + " | ".join(COLUMNS) + " |")
        print("| --- |" + " ---: |" * len(COLUMNS))
        for name, rows in rounds.items():
            medians = [statistics.median(column) for column in zip(*rows)]
            print(f"| {name} | {medians[0]:,.0f} | " + " | ".join(f"{cost:.2f}" for cost in medians[1:]) + " |")
        print(flush=True)


if __name__ == "__main__":
    main()
