#!/usr/bin/env python3
"""How long a put waits beside others: a storm of TLS handshakes, scrapes of many tubes, listings.

One connection puts, one job in flight, and `perennial bench latency` says how long each took. Meanwhile others do nothing,
shake hands over TLS as fast as they can (openssl s_time), scrape all tubes, or list the jobs of a tube over HTTP, each again
and again. Servers take turns, and each runs fresh.

The loop of the server has one processor for itself. Its other threads, the client and all others share another one, where
the others come last (nice 19): how long a put waits for a processor that others use is not what is asked here. So it needs
two processors, and a machine that nobody else uses. It is blind to what more processors bring.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "../../tls"))
sys.path.insert(0, os.path.join(HERE, "../../support"))
import server as tls_server  # noqa: E402
from measured_server import print_row  # noqa: E402
from ports import free_port  # noqa: E402

SETTINGS = """
metrics_tubes_max: 10000
tls_handshakes_per_address_max: 1000
"""
TOGETHER = 500
# Requests of one connection over HTTP, one after the other: a whole answer is read before the next one is asked for.
GETS = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
print("begun", flush=True)
count = bytes = 0
while True:
    connection.request("GET", sys.argv[2])
    answer = connection.getresponse()
    assert answer.status == 200, answer.status
    bytes += len(answer.read())
    count += 1
    print(count, bytes, flush=True)
"""


class Beside:
    """A fresh server with tubes and jobs, whose loop has a processor for itself."""

    def __init__(self, arguments, flags):
        self.folder = tempfile.TemporaryDirectory(prefix="beside-", dir=arguments.folder)
        self.http = free_port()
        certificate, key = tls_server.Certificates(self.folder.name).issue("server")
        tls_server.PERENNIALD = os.path.join(arguments.build, "perenniald")
        self.server = tls_server.Server(
            self.folder.name, {"tls": {"certificate": certificate, "key": key}}, SETTINGS,
            [*flags, "--http", f"127.0.0.1:{self.http}"]).start()
        with self.server.plain() as client:
            fill(client, [f"tube-{number:05}" for number in range(arguments.tubes)])
            fill(client, ["listed"] * arguments.tubes)
        pid = self.server.process.pid
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), {1 if int(thread) == pid else 0})

    def end(self):
        self.server.process.kill()
        self.server.stop()
        self.folder.cleanup()


def fill(client, tubes):
    for first in range(0, len(tubes), TOGETHER):
        some = tubes[first:first + TOGETHER]
        client.sock.sendall(b"".join(b"use %s\r\nput 1 0 60 1\r\nx\r\n" % tube.encode() for tube in some))
        for _ in some:
            assert client.line().startswith(b"USING"), "a tube is not used"
            assert client.line().startswith(b"INSERTED"), "a job is not put"


def last_on_first():
    os.sched_setaffinity(0, {0})
    os.nice(19)


def on_first():
    os.sched_setaffinity(0, {0})


class Others:
    """Processes that go on until end(), which says what they did."""

    def __init__(self, commands):
        self.processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=last_on_first)
                          for command in commands]
        for process in self.processes:
            process.stdout.readline()  # It has begun.
        self.begun = time.monotonic()

    def end(self, seen):
        seconds = time.monotonic() - self.begun
        outputs = []
        for process in self.processes:
            process.kill()
            outputs.append(process.communicate()[0])
        return seen(outputs, seconds)


def nothing(_server, _arguments):
    return [], lambda _outputs, _seconds: ""


def handshakes(server, arguments):
    command = ["openssl", "s_time", "-connect", f"127.0.0.1:{server.server.ports['tls']}", "-new", "-time",
               str(int(arguments.seconds + 60))]

    def seen(_outputs, seconds):
        with urllib.request.urlopen(f"http://127.0.0.1:{server.http}/metrics") as answer:
            done = re.search(r'^perennial_tls_handshakes_total\{result="full"\} (\d+)', answer.read().decode(), re.MULTILINE)
        return f"{int(done[1]) / seconds:,.0f} handshakes a second"
    return [command] * arguments.processes, seen


def gets(path, connections, what):
    def commands(server, _arguments):
        def seen(outputs, seconds):
            # The last whole line of each, if it has come to one.
            last = [line.split() for output in outputs for line in output.split("\n")[:-1][-1:]]
            count, size = (sum(int(numbers[place]) for numbers in last) for place in (0, 1))
            return f"{count / seconds:,.1f} {what} a second, {size / seconds / 1e6:,.1f} MB"
        return [[sys.executable, "-c", GETS, str(server.http), path]] * connections, seen
    return commands


OTHERS = {
    "nobody": nothing,
    "handshakes": handshakes,
    "scrapes": gets("/metrics/tubes?limit=10000", 1, "scrapes"),
    "listings": gets("/api/v1/tubes/listed/jobs?state=ready&limit=1000", 20, "listings"),
}


def latency(server, arguments):
    """p50 and p99 of a put in microseconds."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run(
            [os.path.join(arguments.build, "perennial"), "bench", "latency", "--rounds", "1", "--seconds",
             str(arguments.seconds), "--server", f"127.0.0.1:{server.server.port}", "--json", report.name],
            check=True, stdout=subprocess.DEVNULL, preexec_fn=on_first)
        found = json.load(report)["measurements"][0]["latency"]
    assert found["unit"] == "us", found["unit"]
    return found["p50"], found["p99"]


def measure(flags, others, arguments):
    server = Beside(arguments, flags)
    try:
        commands, seen = OTHERS[others](server, arguments)
        beside = Others(commands)
        try:
            time.sleep(min(1, arguments.seconds))
            found = latency(server, arguments)
        finally:
            did = beside.end(seen)
    finally:
        server.end()
    return found, did


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("servers", nargs="+", metavar="NAME=OPTIONS", help="options of a server: 'one=--io-threads 1', or 'none='")
    parser.add_argument("--build", default="build", help="where perenniald and perennial are")
    parser.add_argument("--folder", default="/var/tmp", help="where the data is, on the disk that is measured")
    parser.add_argument("--others", default=",".join(OTHERS), help="which of them, with commas between")
    parser.add_argument("--tubes", type=int, default=10_000, help="and as many jobs in one more")
    parser.add_argument("--processes", type=int, default=4, help="that shake hands")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if not {0, 1} <= os.sched_getaffinity(0):
        sys.exit("beside_bench: the processors 0 and 1 are needed")
    print_row("beside", "server", "p50 us", "p99 us", "and they did")
    print_row("---", "---", "---:", "---:", "---")
    for others in arguments.others.split(","):
        rounds = {}
        for _ in range(arguments.rounds):
            for word in arguments.servers:
                name, flags = word.split("=", 1)
                rounds.setdefault(name, []).append(measure(re.findall(r"\S+", flags), others, arguments))
        for name, found in rounds.items():
            p50, p99 = (statistics.median(figures[place] for figures, _ in found) for place in (0, 1))
            print_row(others, name, p50, p99, found[-1][1])


if __name__ == "__main__":
    main()
