#!/usr/bin/env python3
"""What jobs that have ended and are kept cost: cycles, a start, an undo beside a load, and hours of work.

    cost    the processor time of a put, reserve and delete, by thread of the server: without `keep`, with it, with
            notes on a hundredth of the jobs, and of another build
    start   how long a start takes, and how much memory the server has, with so many ended jobs and with none
    undo    so many flushed jobs come back with one command; p50 and p99 of puts beside it
    hours   a load in a tube that keeps jobs for a minute: each minute memory, disk, and what was written to it

Each server is started fresh, in a directory of its own. The load is one thread of Python, so rates are its own; the
processor time of the server is counted by the kernel, thread by thread, and does not depend on it.
"""

import argparse
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "../sockets"))
from measured_server import Client, Puts, Server, microseconds_each, print_row, put  # noqa: E402
from put_cost import times_of  # noqa: E402

NOTE_OF = 100  # One job of so many gets a note.
NOTE = b"exit status 1: could not connect to the database at 10.0.0.7"


def cycles(clients, rounds, has_notes, done=0):
    """Each client puts, reserves and deletes a job, all of them at once, so many times. Returns how many jobs there
    have been, with the `done` of before: one of a hundred gets a note."""
    for _ in range(rounds):
        for client in clients:
            client.send(put())
        for client in clients:
            client.expect(b"INSERTED")
        for client in clients:
            client.send(b"reserve\r\n")
        jobs = [client.reserved() for client in clients]
        for client, job in zip(clients, jobs):
            done += 1
            note = b"note %s %d\r\n%s\r\n" % (job, len(NOTE), NOTE) if has_notes and done % NOTE_OF == 0 else b""
            client.send(note, b"delete %s\r\n" % job)
            client.noted = bool(note)
        for client in clients:
            if client.noted:
                client.expect(b"NOTED")
            client.expect(b"DELETED")
    return done


def fill(server, jobs, tube=b"mail"):
    """So many jobs in a tube that keeps what ends, by pages of puts."""
    client = Client(server.port)
    client.ask(b"set-tube %s keep:86400" % tube, b"SET")
    client.ask(b"use " + tube, b"USING")
    page = 1_000
    for first in range(0, jobs, page):
        count = min(page, jobs - first)
        client.send(put() * count)
        for _ in range(count):
            client.expect(b"INSERTED")
    return client


# ---- The tasks.

def cost_of(program, keeps, has_notes, arguments):
    """Microseconds of processor for each cycle: the loop, the other threads. And kilobytes written for each."""
    server = Server(program, arguments.folder)
    try:
        clients = [Client(server.port) for _ in range(arguments.connections)]
        if keeps:
            clients[0].ask(b"set-tube default keep:3600", b"SET")
        cycles(clients, 20, has_notes)
        before, written = times_of(server.process.pid), server.written_mb()
        count = cycles(clients, arguments.cycles // len(clients), has_notes)
        after = times_of(server.process.pid)
        return (*microseconds_each(server, before, after, count), (server.written_mb() - written) * 1e3 / count)
    finally:
        server.end()


def cost(arguments):
    ours = os.path.join(arguments.build, "perenniald")
    kinds = {"without keep": (ours, False, False), "notes on a hundredth": (ours, False, True),
             "keep": (ours, True, False), "keep, and notes on a hundredth": (ours, True, True)}
    if arguments.baseline:
        kinds = {"baseline": (arguments.baseline, False, False), **kinds}
    rows = {name: [] for name in kinds}
    for _ in range(arguments.rounds):
        for name, kind in kinds.items():
            rows[name].append(cost_of(*kind, arguments))
    print_row("a cycle", "loop, us", "other threads, us", "written, KB")
    print_row("---", "---:", "---:", "---:")
    for name, figures in rows.items():
        print_row(name, *(f"{statistics.median(column):.2f}" for column in zip(*figures)))


def start(arguments):
    print_row("ended jobs", "start, s", "memory, MB", "disk, MB")
    print_row("---", "---:", "---:", "---:")
    for jobs in (0, arguments.jobs):
        server = Server(os.path.join(arguments.build, "perenniald"), arguments.folder)
        try:
            client = fill(server, jobs)
            if jobs:
                client.ask(b"flush-tube mail", b"FLUSHED")
            client.close()
            server.stop()
            server.begin()
            print_row(f"{jobs:,}", f"{server.start_s:.2f}", server.resident_mb(), server.disk_mb())
        finally:
            server.end()


def undo(arguments):
    print_row("", "took, s", "put p50, ms", "put p99, ms")
    print_row("---", "---:", "---:", "---:")
    server = Server(os.path.join(arguments.build, "perenniald"), arguments.folder)
    try:
        client = fill(server, arguments.jobs)
        puts = Puts(server.port)
        puts.start()
        try:
            time.sleep(arguments.seconds)
            print_row("nothing beside it", f"{arguments.seconds:.1f}", *puts.taken(0))
            for command, word in (b"flush-tube mail", b"FLUSHED"), (b"restore-tube mail since:3600", b"RESTORED"):
                since, began = len(puts.times), time.monotonic()
                count = int(client.ask(command, word)[1])
                assert count == arguments.jobs, count
                print_row(command.split()[0].decode(), f"{time.monotonic() - began:.1f}", *puts.taken(since))
        finally:
            puts.is_over = True
            puts.join()
    finally:
        server.end()


def hours(arguments):
    server = Server(os.path.join(arguments.build, "perenniald"), arguments.folder)
    try:
        clients = [Client(server.port) for _ in range(arguments.connections)]
        clients[0].ask(b"set-tube default keep:60 keep-max:%d" % arguments.jobs, b"SET")
        print_row("minute", "cycles", "memory, MB", "disk, MB", "written, MB", "written a cycle, KB")
        print_row(*["---:"] * 6)
        before = 0
        for minute in range(1, arguments.minutes + 1):
            count, end = 0, time.monotonic() + arguments.seconds
            while time.monotonic() < end:
                count = cycles(clients, 10, True, count)
            written, before = server.written_mb() - before, server.written_mb()
            print_row(f"{minute}", f"{count:,}", server.resident_mb(), server.disk_mb(), written,
                      f"{written * 1e3 / count:.2f}")
    finally:
        server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["cost", "start", "undo", "hours"])
    parser.add_argument("--build", default="build", help="where `perenniald` is")
    parser.add_argument("--folder", default="/var/tmp", help="where the data is, on the disk that is measured")
    parser.add_argument("--baseline", help="cost: the `perenniald` of another build, measured in turns")
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--cycles", type=int, default=50_000, help="cost: in each round")
    parser.add_argument("--rounds", type=int, default=5, help="cost: medians are printed")
    parser.add_argument("--jobs", type=int, default=1_000_000, help="start, undo: so many; hours: as keep-max")
    parser.add_argument("--seconds", type=float, default=60, help="hours: of a minute; undo: of load before it")
    parser.add_argument("--minutes", type=int, default=60, help="hours: so many rows")
    arguments = parser.parse_args()
    {"cost": cost, "start": start, "undo": undo, "hours": hours}[arguments.task](arguments)


if __name__ == "__main__":
    main()
