#!/usr/bin/env python3
"""Measures a cluster of RabbitMQ with a quorum queue, as perennial_bench.py measures one of Perennial.

Three nodes run on loopback. Prints a line of JSON for each work.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perennial_bench  # noqa: E402
from perennial_bench import BEFORE_S, kill_leader, restart_leader, stop_leader  # noqa: E402
from rabbitmq import RabbitCluster  # noqa: E402

ROUNDS = 3
QUEUE = "gaps"
SERVES_AGAIN_S = 120  # Erlang needs up to 75 to give up a stopped node: its net_ticktime is 60.
# The same connections, messages in flight, producers and consumers as those of `perennial bench` with these names.
WORKS = [
    ["put", "--connections", "50", "--in-flight", "1"],
    ["put", "--connections", "200", "--in-flight", "1"],
    ["put", "--connections", "8", "--in-flight", "64"],
    ["cycle", "--producers", "25", "--consumers", "25"],
]
FAULTS = [kill_leader, restart_leader, stop_leader]


class Gaps(perennial_bench.Gaps):
    """The same producers, as a process that says when each publish was confirmed. Use it in a with statement."""

    def __init__(self, load, ports, patience):  # pylint: disable=super-init-not-called
        self.stored_at = []
        # Its clock is that of time.monotonic().
        self.process = subprocess.Popen(
            [load, "gaps", "--queue", QUEUE, "--ports", ",".join(map(str, ports)), "--patience", str(patience)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.stored_at.append(float(line))

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.stop()

    def stop(self):
        self.process.kill()
        self.process.wait(30)
        self.reader.join(30)


def run_load(load, arguments, seconds):
    """What amqp_load prints. It may take some time longer than it measures."""
    try:
        done = subprocess.run([load, *arguments], capture_output=True, text=True, timeout=seconds + 120, check=False)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"amqp_load {arguments[0]} does not end") from error
    if done.returncode != 0:
        raise RuntimeError(f"amqp_load {arguments[0]} ended with {done.returncode}: {done.stderr}")
    return done.stdout.splitlines()


def rates(cluster, load, seconds):
    """All clients are at the node that leads the queue, as those of Perennial are. On other nodes they are slower."""
    for work in WORKS:
        arguments = [*work, "--seconds", str(seconds), "--rounds", str(ROUNDS), "--ports", str(cluster.ports[0])]
        for line in run_load(load, arguments, ROUNDS * seconds):
            yield json.loads(line)


def memory(cluster):
    sizes = []
    for node in cluster.nodes:
        with open(f"/proc/{node.process.pid}/status", encoding="ascii") as status:
            sizes.append(int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) // 1024)
    return {"work": "memory", "node_peak_mib": sizes}


def without_service(cluster, load, fault, patience):
    """Seconds between two confirmed publishes, around a fault of the leader. All is well again when it returns."""
    leader = cluster.wait_for_leader(QUEUE)
    with Gaps(load, cluster.ports, patience) as gaps:
        time.sleep(BEFORE_S)
        began = time.monotonic()
        if not gaps.stored_at:
            raise RuntimeError(f"nothing is confirmed before {fault.__name__}\n{cluster.logs()}")
        fault(cluster, leader)
        # A publish that was under way may still be confirmed. The next ones are the new leader's.
        end = began + SERVES_AGAIN_S
        while not (gaps.stored_at[-1] > began + 0.5 and (gaps.longest_after(began) or 0) > 0.03):
            if time.monotonic() > end:
                raise RuntimeError(f"nothing is confirmed after {fault.__name__}\n{cluster.logs()}")
            time.sleep(0.1)
        time.sleep(1)
    cluster.nodes[leader].signal(signal.SIGCONT)
    time.sleep(1)
    cluster.restart_ended_nodes()
    cluster.wait_until_equal(QUEUE)
    return round(gaps.longest_after(began), 3)


def run(options):
    load = os.path.join(options.build, "amqp_load")
    with RabbitCluster(options.rabbitmq, folder=options.folder) as cluster:
        cluster.start()
        yield from rates(cluster, load, options.seconds)
        yield memory(cluster)
    for fault in FAULTS if options.faults else []:
        with RabbitCluster(options.rabbitmq, folder=options.folder) as cluster:
            cluster.start()
            run_load(load, ["declare", "--queue", QUEUE, "--ports", str(cluster.ports[0])], 0)
            cluster.wait_until_equal(QUEUE)
            seconds = [without_service(cluster, load, fault, options.patience) for _ in range(options.faults)]
            yield {"work": fault.__name__, "median_s": round(statistics.median(seconds), 3), "max_s": max(seconds),
                   "seconds": seconds}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="where amqp_load is")
    parser.add_argument("--rabbitmq", required=True, metavar="FOLDER", help="where rabbitmq-server was unpacked")
    parser.add_argument("--folder", required=True, help="where the nodes keep their data: it chooses the disk")
    parser.add_argument("--seconds", type=float, default=10, help="of each work, three times (default: 10)")
    parser.add_argument("--faults", type=int, default=20, help="how often each comes; 0: none (default: 20)")
    parser.add_argument("--patience", type=float, default=30,
                        help="seconds that a producer waits for an answer beside a fault (default: 30)")  # fmt: skip
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Either signal ends the nodes, too.
    try:
        with contextlib.closing(run(parser.parse_args())) as results:
            for result in results:
                print(json.dumps(result), flush=True)
    except KeyboardInterrupt:
        sys.exit(130)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"rabbitmq_bench: {error}")


if __name__ == "__main__":
    main()
