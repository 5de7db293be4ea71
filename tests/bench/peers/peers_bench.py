#!/usr/bin/env python3
"""Perennial beside other queues: puts and whole jobs per second, in one run, in turns, on one machine.

Each server is started fresh for each round, in a directory of its own, listens on loopback only, and is as safe as it
can be told to be. README.md says what is equal and what is not. Prints a table in Markdown: the median of all rounds,
with the lowest and the highest.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from beanstalk_peers import LoggedBeanstalkd, MemoryBeanstalkd, Perennial, SyncedBeanstalkd  # noqa: E402
from peer import LOADS, Failed, Signals  # noqa: E402
from postgresql_peers import LockedRows, StateColumn  # noqa: E402
from rabbitmq_peer import RabbitMq  # noqa: E402
from redis_peers import BullMq, Redis  # noqa: E402

# In the order of their turns and of the table.
PEERS = [Perennial, SyncedBeanstalkd, LoggedBeanstalkd, MemoryBeanstalkd, Redis, BullMq, LockedRows, StateColumn, RabbitMq]
KEYS = list(dict.fromkeys(peer.key for peer in PEERS))
SYNCS = 200  # So many are timed.


def run(options):
    """The report. A peer that fails is left out, and the others go on."""
    peers, left_out, failed = [], {}, {}
    for peer in [kind(options) for kind in PEERS if kind.key in options.peers]:
        missing = peer.missing()
        if missing:
            left_out[peer.name] = f"there is no {', no '.join(missing)}; {peer.install}"
        else:
            peers.append(peer)
    sync_us = sync_time_us(options.dir)
    versions = {}
    for peer in peers:
        versions |= peer.versions()
    rounds = {peer.name: {load: [] for load in LOADS} for peer in peers}
    for number in range(options.rounds):
        for peer in peers:
            if peer.name in failed:
                continue
            print(f"round {number + 1} of {options.rounds}: {peer.name}", file=sys.stderr, flush=True)
            try:
                rates = measure(peer, options.dir)
            except (Failed, RuntimeError, OSError, subprocess.SubprocessError) as error:
                failed[peer.name] = str(error)
                continue
            for load, rate in rates.items():
                rounds[peer.name][load].append(rate)
    return {
        "machine": {"processors": os.cpu_count(), "system": f"{platform.system()} {platform.release()}", "sync_us": sync_us},
        "versions": versions, "seconds": options.seconds, "rounds": options.rounds,
        "peers": [{"name": peer.name, "synced": peer.synced, "loads": summary(rounds[peer.name])} for peer in peers if peer.name not in failed],
        "left_out": left_out, "failed": failed,
    }


def measure(peer, base):
    """Rates by load, of a fresh server."""
    with tempfile.TemporaryDirectory(prefix=f"peers-{peer.key}-", dir=base, ignore_cleanup_errors=True) as folder:
        with peer.running(folder) as port:
            return peer.rates(port, folder)


def summary(rounds):
    return {load: {"median": statistics.median(rates), "lowest": min(rates), "highest": max(rates), "rounds": rates}
            for load, rates in rounds.items() if rates}


def sync_time_us(base):
    """The median time of an append of 4 KiB with its fdatasync."""
    times = []
    with tempfile.TemporaryFile(dir=base) as file:
        for _ in range(SYNCS):
            began = time.perf_counter()
            os.write(file.fileno(), b"\0" * 4096)
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - began) * 1e6)
    return round(statistics.median(times))


def print_report(report):
    print("| per second | on disk before an answer | " + " | ".join(LOADS) + " |")
    print("| --- | --- |" + " ---: |" * len(LOADS))
    for peer in report["peers"]:
        print(f"| {peer['name']} | {peer['synced']} | " + " | ".join(cell(peer["loads"].get(load)) for load in LOADS) + " |")
    machine = report["machine"]
    print(f"\nRounds: {report['rounds']}, of {report['seconds']:g} s for each load; the median, and lowest..highest. "
          f"{machine['processors']} processors, {machine['system']}; an append of 4 KiB with fdatasync takes {machine['sync_us']} us.")
    print("Versions: " + ", ".join(f"{name} {version}" for name, version in report["versions"].items()) + ".")
    for name, why in report["left_out"].items():
        print(f"Left out: {name}: {why}")
    for name, why in report["failed"].items():
        print(f"Failed: {name}: {why}")


def cell(measured):
    return f"{measured['median']:,.0f} ({measured['lowest']:,.0f}..{measured['highest']:,.0f})" if measured else ""


def keys(text):
    names = text.split(",")
    unknown = [name for name in names if name not in KEYS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no {unknown[0]}; there are {', '.join(KEYS)}")
    return names


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=keys, default=KEYS, metavar="NAME,...", help=f"default: {','.join(KEYS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="of each load in a round; pgbench rounds up to whole ones (default: 3)")
    parser.add_argument("--dir", default="/var/tmp", help="where the data is, on the disk that is measured (default: /var/tmp)")
    parser.add_argument("--build", default="build", help="where the programs of this project are (default: build)")
    parser.add_argument("--packages", help="where packages of Debian and of npm were unpacked (default: peers in the build)")
    parser.add_argument("--json", metavar="FILE", help="write the report there, too")
    options = parser.parse_args()
    if options.rounds < 1 or not 0.1 <= options.seconds <= 3600:
        parser.error("--rounds begins with 1, and --seconds is from 0.1 to 3600")
    # Servers run in other directories.
    options.build, options.dir = os.path.abspath(options.build), os.path.abspath(options.dir)
    options.packages = os.path.abspath(options.packages or os.path.join(options.build, "peers"))
    return options


def main():
    options = parse_arguments()
    Signals.watch()
    try:
        report = run(options)
    except KeyboardInterrupt:
        sys.exit(130)
    except (Failed, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"peers_bench: {error}")
    print_report(report)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2)
    sys.exit(1 if report["failed"] else 0)


if __name__ == "__main__":
    main()
