"""Puts to a server that is scraped and watched, and to one that is not, in turns."""

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from ports import free_port  # noqa: E402

STARTED_WITHIN_S = 30
TUBES_AT_ONCE = 500
# What the page of one tube watches.
TOPICS = "server,operations,tube:tube-00001"


class Server:
    def __init__(self, build, folder):
        self.port, self.http = free_port(), free_port()
        self.data = tempfile.TemporaryDirectory(prefix="watched-puts-", dir=folder)
        self.process = subprocess.Popen(
            [os.path.join(build, "perenniald"), "-l", "127.0.0.1", "-p", str(self.port), "-b", self.data.name + "/data",
             "--http", f"127.0.0.1:{self.http}"], stderr=subprocess.DEVNULL)  # fmt: skip
        end = time.monotonic() + STARTED_WITHIN_S
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 5).close()
                return
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit("the server does not start")
            time.sleep(0.05)

    def fill(self, tubes):
        """A job for each, which waits in it."""
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            answers = client.makefile("rb")
            for first in range(0, tubes, TUBES_AT_ONCE):
                count = min(TUBES_AT_ONCE, tubes - first)
                client.sendall(b"".join(b"use tube-%05d\r\nput 0 0 60 1\r\nx\r\n" % (first + i) for i in range(count)))
                for _ in range(2 * count):
                    answers.readline()

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.data.cleanup()


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    if answer.status != 200:
        sys.exit(f"{path}: {answer.status} {answer.read()}")
    return answer


def watch(port, consoles, stop, results):
    """Scrapes each second, and reads the events of so many consoles. Leaves what it has seen in `results`."""
    frames = [0] * consoles

    def read_events(number):
        answer = get(port, f"/api/v1/events?topics={TOPICS}")
        while line := answer.readline():
            frames[number] += line.startswith(b"data:")

    for number in range(consoles):
        threading.Thread(target=read_events, args=(number,), daemon=True).start()
    scrapes = []
    while not stop.wait(max(0, 1 - (scrapes[-1] if scrapes else 1))):
        begun = time.monotonic()
        size = len(get(port, "/metrics").read())
        scrapes.append(time.monotonic() - begun)
    results.put({"scrapes": scrapes, "bytes": size, "frames": min(frames)})


def puts_per_second(build, port, seconds):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run(
            [os.path.join(build, "perennial"), "bench", "custom", "--connections", "50", "--in-flight", "1", "--rounds", "1",
             "--seconds", str(seconds), "--server", f"127.0.0.1:{port}", "--json", report.name],
            check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        return json.load(report)["measurements"][0]["throughput"]["per_second"]


def watched_puts(arguments, server):
    stop, results = multiprocessing.Event(), multiprocessing.Queue()
    watcher = multiprocessing.Process(target=watch, args=(server.http, arguments.consoles, stop, results))
    watcher.start()
    time.sleep(1)
    rate = puts_per_second(arguments.build, server.port, arguments.seconds)
    stop.set()
    seen = results.get(timeout=60)
    watcher.join(60)
    return rate, seen


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="where perenniald and perennial are")
    parser.add_argument("--folder", default="/var/tmp", help="where the data is, on the disk that is measured")
    parser.add_argument("--tubes", type=int, default=10_000)
    parser.add_argument("--consoles", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    servers = [Server(arguments.build, arguments.folder) for _ in range(2)]
    try:
        for server in servers:
            server.fill(arguments.tubes)
        alone, watched, seen = [], [], []
        for _ in range(arguments.rounds):
            alone.append(puts_per_second(arguments.build, servers[0].port, arguments.seconds))
            rate, found = watched_puts(arguments, servers[1])
            watched.append(rate)
            seen.append(found)
    finally:
        for server in servers:
            server.stop()
    for name, rates in (("alone", alone), ("watched", watched)):
        print(f"{name}: {statistics.median(rates):,.0f} puts a second, {min(rates):,.0f} to {max(rates):,.0f}")
    print(f"ratio of the medians: {statistics.median(watched) / statistics.median(alone):.3f}")
    scrapes = [scrape for each in seen for scrape in each["scrapes"]]
    print(f"{len(scrapes)} scrapes of {seen[-1]['bytes']:,} bytes, median {1000 * statistics.median(scrapes):.0f} ms, "
          f"longest {1000 * max(scrapes):.0f} ms; at least {min(each['frames'] for each in seen)} frames for each console "
          f"and round")  # fmt: skip


if __name__ == "__main__":
    main()
