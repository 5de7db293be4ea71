#!/usr/bin/env python3
"""What schedules cost: a job that one puts, a start with many, and many that are due in the same second.

    firing  the processor time of a job that a schedule puts, by thread of the server, beside that of a `put`: of
            schedules that are due each second, by a period, and by a cron expression in a time zone
    start   how long a start takes, and how much memory the server has: with nothing, so many jobs, so many schedules
    second  so many schedules are due at the same moment; how long their jobs take, and the puts of a client beside it

Each server is started fresh, in a directory of its own. Processor times are counted by the kernel, thread by thread.
"""

import argparse
import datetime
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "../sockets"))
from measured_server import BODY, Client, Puts, Server, microseconds_each, print_row, put  # noqa: E402
from put_cost import times_of  # noqa: E402

PAGE = 1_000  # So many commands are sent together.
TOGETHER = 50  # Puts that are sent together, in the second kind of the task `firing`.
EVERY = "every:1"
CRON = "cron:*_*_*_*_*_* zone:Europe/Berlin"


def set_schedules(client, count, when):
    """Sets so many schedules of the tube `planned`."""
    for first in range(0, count, PAGE):
        some = range(first, min(first + PAGE, count))
        client.send(b"".join(b"set-schedule s%d 1024 0 3600 %d %s tube:planned\r\n%s\r\n"
                             % (number, len(BODY), when.encode(), BODY) for number in some))
        for _ in some:
            client.expect(b"SET")


def put_jobs(client, count, together):
    for first in range(0, count, together):
        some = min(together, count - first)
        client.send(put() * some)
        for _ in range(some):
            client.expect(b"INSERTED")


def jobs_of(client):
    return int(client.stats(b"stats")["total-jobs"])


def server_of(arguments):
    return Server(os.path.join(arguments.build, "perenniald"), arguments.folder)


# ---- The tasks.

def cost_of(kind, arguments):
    """Microseconds of processor for each job: the loop, the other threads. And kilobytes written for each."""
    server = server_of(arguments)
    try:
        client = Client(server.port)
        together = {"put": 1, f"put, {TOGETHER} together": TOGETHER}.get(kind)
        if together is None:
            # Their first jobs pass before anything is counted.
            set_schedules(client, arguments.schedules, EVERY if kind == "every" else CRON)
            time.sleep(1.5)
        else:
            put_jobs(client, 1_000, together)
        times, written, jobs = times_of(server.process.pid), server.written_mb(), jobs_of(client)
        if together is None:
            time.sleep(arguments.seconds)
        else:
            put_jobs(client, arguments.jobs, together)
        after, count = times_of(server.process.pid), jobs_of(client) - jobs
        return (*microseconds_each(server, times, after, count), (server.written_mb() - written) * 1e3 / count)
    finally:
        server.end()


def firing(arguments):
    kinds = ["put", f"put, {TOGETHER} together", "every", "cron"]
    rows = {kind: [] for kind in kinds}
    for _ in range(arguments.rounds):
        for kind in kinds:
            rows[kind].append(cost_of(kind, arguments))
    print_row("a job", "loop, us", "other threads, us", "written, KB")
    print_row("---", "---:", "---:", "---:")
    for kind, figures in rows.items():
        print_row(kind, *(f"{statistics.median(column):.2f}" for column in zip(*figures)))


def start(arguments):
    print_row("", "start, s", "memory, MB", "disk, MB")
    print_row("---", "---:", "---:", "---:")
    for kind in "nothing", "jobs", "schedules":
        server = server_of(arguments)
        try:
            client = Client(server.port)
            if kind == "jobs":
                put_jobs(client, arguments.schedules, PAGE)
            elif kind == "schedules":
                set_schedules(client, arguments.schedules, "cron:0_3_1_1_* zone:Europe/Berlin")
            client.close()
            server.stop()
            server.begin()
            print_row("nothing" if kind == "nothing" else f"{arguments.schedules:,} {kind}", f"{server.start_s:.2f}",
                      server.resident_mb(), server.disk_mb())
        finally:
            server.end()


def set_delayed(client, count, moment):
    """So many jobs of the tube `planned` whose delays end at the moment, or less than a second before."""
    client.ask(b"use planned", b"USING")
    for first in range(0, count, PAGE):
        some = min(PAGE, count - first)
        line = b"put 1024 %d 3600 %d\r\n%s\r\n" % (int(moment - time.time()), len(BODY), BODY)
        client.send(line * some)
        for _ in range(some):
            client.expect(b"INSERTED")


def set_planned(client, count, moment):
    planned = datetime.datetime.fromtimestamp(moment, datetime.timezone.utc)
    set_schedules(client, count, planned.strftime("at:%Y-%m-%dT%H:%M:%SZ"))


def second(arguments):
    print_row("", "took, s", "put p50, ms", "put p99, ms", "slowest put, ms")
    print_row("---", "---:", "---:", "---:", "---:")
    for kind, set_all in ("delays that end", set_delayed), ("schedules", set_planned):
        server = server_of(arguments)
        try:
            client = Client(server.port)
            # Far enough for all of them to be there before.
            moment = int(time.time() + arguments.schedules / 2_000 + arguments.seconds + 3)
            set_all(client, arguments.schedules, moment)
            puts = Puts(server.port)
            puts.start()
            try:
                time.sleep(max(0, moment - 1 - time.time()))
                print_row("nothing beside it", "", *puts.taken(0), max(puts.times) * 1e3)
                since = len(puts.times)
                time.sleep(max(0, moment - time.time()))
                while int(client.stats(b"stats-tube planned").get("current-jobs-ready", 0)) < arguments.schedules:
                    time.sleep(0.01)
                took = time.time() - moment
                print_row(f"{arguments.schedules:,} {kind}", f"{took:.2f}", *puts.taken(since),
                          max(puts.times[since:]) * 1e3)
            finally:
                puts.is_over = True
                puts.join()
        finally:
            server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["firing", "start", "second"])
    parser.add_argument("--build", default="build", help="where `perenniald` is")
    parser.add_argument("--folder", default="/var/tmp", help="where the data is, on the disk that is measured")
    parser.add_argument("--schedules", type=int, default=10_000, help="so many are set")
    parser.add_argument("--jobs", type=int, default=50_000, help="firing: so many are put by a client")
    parser.add_argument("--rounds", type=int, default=3, help="firing: medians are printed")
    parser.add_argument("--seconds", type=float, default=10,
                        help="firing: of schedules that are due each second; second: at least so long nothing is due")
    arguments = parser.parse_args()
    {"firing": firing, "start": start, "second": second}[arguments.task](arguments)


if __name__ == "__main__":
    main()
