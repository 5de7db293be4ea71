#!/usr/bin/env python3
"""Each number about jobs, tubes and connections is the same at every door: PERENNIALD names the server, PERENNIAL the tool.

Doors: `stats` and `stats-tube`, the API's server, tube, list of tubes and history, both pages of metrics, and the tables of
`perennial stats` and `perennial tubes`. The console shows the API's numbers.

The state is one in which a careless definition gives another number: jobs from before the start, a job whose delay is over and that is
not next, urgent jobs in each state, parked jobs, a dead one, an expired one, one that timed out, one that came by move-tube, duplicates,
deletes of four kinds and one of nothing, and a worker that waits in two tubes. `mail` is the tube that is asked for, and others have
jobs, too.

A number that a door has and that has no row here fails the test: give it a row, or say in `others` why it is none of these.

It is blind to the numbers of a cluster, of users and TLS, of bodies that are damaged, and to what rates and histograms make of a number.
"""

import os
import re
import subprocess
import time
import unittest

from line import Line
from port import Port

PERENNIAL = os.environ.get("PERENNIAL", "build/perennial")


class Number:
    def __init__(self, what, want, tolerance=0.0, **doors):
        self.what, self.want, self.tolerance, self.doors = what, want, tolerance, doors


def numbers(oldest_ready, oldest_buried):
    """What the state of Numbers.make_state() has to look like. An age has a second between the first door and the last one."""
    age = 1.5
    return [
        # Of the server: mail's, and those of `other`.
        Number("ready jobs", 14, stats="current-jobs-ready", server="jobs.ready", metrics='perennial_jobs{state="ready"}',
               history="ready", tool_stats="jobs/ready"),
        Number("ready jobs of a priority below 1024", 10, stats="current-jobs-urgent", server="jobs.urgent",
               metrics="perennial_urgent_jobs", tool_stats="jobs/of them urgent"),
        Number("ready jobs whose concurrency key is full", 2, stats="current-jobs-parked", server="parked", metrics="perennial_jobs_parked",
               tool_stats="jobs/of them parked"),
        Number("reserved jobs", 3, stats="current-jobs-reserved", server="jobs.reserved", metrics='perennial_jobs{state="reserved"}',
               history="reserved", tool_stats="jobs/reserved"),
        Number("delayed jobs", 5, stats="current-jobs-delayed", server="jobs.delayed", metrics='perennial_jobs{state="delayed"}',
               history="delayed", tool_stats="jobs/delayed"),
        Number("buried jobs", 3, stats="current-jobs-buried", server="jobs.buried", metrics='perennial_jobs{state="buried"}',
               history="buried", tool_stats="jobs/buried"),
        Number("jobs that were put since the start", 27, server="totals.puts", metrics="perennial_jobs_put_total"),
        Number("the same, and jobs that were loaded at the start", 31, stats="total-jobs", tool_stats="jobs/put in all"),
        Number("jobs that clients deleted, however", 5, server="totals.deletes", metrics="perennial_jobs_deleted_total"),
        Number("commands delete, also of no job", 3, stats="cmd-delete", metrics='perennial_commands_total{command="delete"}',
               tool_stats="commands/delete"),
        Number("reservations", 11, server="totals.reserves", metrics="perennial_jobs_reserved_total"),
        Number("reservations that ran out", 1, stats="job-timeouts", server="totals.timeouts", metrics="perennial_jobs_timeouts_total",
               tool_stats="jobs/timed out in all"),
        Number("jobs that workers released", 1, metrics="perennial_jobs_released_total"),
        Number("jobs that were buried: by workers, and a dead one", 7, metrics="perennial_jobs_buried_total"),
        Number("jobs that were kicked", 1, metrics="perennial_jobs_kicked_total"),
        Number("jobs that have used up their tries", 1, stats="jobs-dead", server="totals.dead", metrics="perennial_jobs_dead_total",
               tool_stats="jobs/dead in all"),
        Number("jobs that have expired", 1, stats="jobs-expired", server="totals.expired", metrics="perennial_jobs_expired_total",
               tool_stats="jobs/expired in all"),
        Number("puts that were answered with the job that has their key", 1, stats="jobs-duplicate", server="totals.duplicates",
               metrics="perennial_jobs_duplicate_total", tool_stats="jobs/duplicates in all"),
        Number("keys that are held", 1, stats="current-keys", metrics="perennial_keys", tool_stats="jobs/keys taken"),
        Number("jobs whose body could not be read", 0, stats="jobs-damaged", server="totals.damaged", metrics="perennial_jobs_damaged_total",
               tool_stats="jobs/damaged"),
        Number("ended jobs that went early", 0, metrics="perennial_ended_jobs_removed_early_total"),
        Number("bytes of bodies", 250, metrics="perennial_jobs_bytes"),
        Number("seconds for which the oldest ready job is ready", oldest_ready, age, server="oldest_ready_seconds",
               metrics="perennial_oldest_ready_seconds"),
        Number("seconds since the put of what was buried first", oldest_buried, age, metrics="perennial_oldest_buried_seconds"),
        Number("connections to the queue", 4, stats="current-connections", server="connections.all",
               metrics='perennial_connections{role="all"}'),
        Number("connections that have put", 2, stats="current-producers", server="connections.producers",
               metrics='perennial_connections{role="producer"}', tool_stats="connections/producers"),
        Number("connections that have reserved", 2, stats="current-workers", server="connections.workers",
               metrics='perennial_connections{role="worker"}', tool_stats="connections/workers"),
        Number("connections that wait, in two tubes", 1, stats="current-waiting", server="connections.waiting",
               metrics='perennial_connections{role="waiting"}', tool_stats="connections/workers waiting"),
        Number("connections since the start", 4, stats="total-connections", metrics="perennial_connections_accepted_total"),
        Number("the same, and the tool's", 5, tool_stats="connections/open in all"),
        Number("tubes", 4, stats="current-tubes", server="tubes", metrics="perennial_tubes", tool_stats="connections/tubes",
               tubes="total"),
        Number("schedules", 2, stats="current-schedules", server="schedules.all", metrics="perennial_schedules", tool_stats="schedules/set"),
        Number("schedules whose put is refused", 0, stats="schedules-refused", server="schedules.refused",
               metrics="perennial_schedules_refused", tool_stats="schedules/being refused"),
        Number("whether it drains", 0, stats="draining", server="draining", metrics="perennial_draining", tool_stats="process/draining"),

        # Of the tube `mail`.
        Number("ready jobs of the tube", 12, stats_tube="current-jobs-ready", tube="ready", row="ready",
               tube_metrics='perennial_tube_jobs{tube="mail",state="ready"}', tool_tubes="READY"),
        Number("of a priority below 1024", 8, stats_tube="current-jobs-urgent", tube="urgent", row="urgent"),
        Number("of a full concurrency key", 2, stats_tube="current-jobs-parked", tube="parked", row="parked", tool_tubes="PARKED"),
        Number("reserved jobs of the tube", 3, stats_tube="current-jobs-reserved", tube="reserved", row="reserved",
               tube_metrics='perennial_tube_jobs{tube="mail",state="reserved"}', tool_tubes="RESERVED"),
        Number("delayed jobs of the tube", 5, stats_tube="current-jobs-delayed", tube="delayed", row="delayed",
               tube_metrics='perennial_tube_jobs{tube="mail",state="delayed"}', tool_tubes="DELAYED"),
        Number("buried jobs of the tube", 3, stats_tube="current-jobs-buried", tube="buried", row="buried",
               tube_metrics='perennial_tube_jobs{tube="mail",state="buried"}', tool_tubes="BURIED"),
        Number("jobs that were put into the tube since the start", 25, tube="puts", row="puts",
               tube_metrics='perennial_tube_puts_total{tube="mail"}'),
        Number("the same, and those that were loaded", 28, stats_tube="total-jobs"),
        Number("jobs that were deleted from the tube", 5, stats_tube="cmd-delete", tube="deletes", row="deletes",
               tube_metrics='perennial_tube_deletes_total{tube="mail"}'),
        Number("reservations of the tube that ran out", 1, tube="timeouts", row="timeouts",
               tube_metrics='perennial_tube_timeouts_total{tube="mail"}'),
        Number("jobs of the tube that have used up their tries", 1, stats_tube="jobs-dead", tube="dead", row="dead", tool_tubes="DEAD",
               tube_metrics='perennial_tube_dead_total{tube="mail"}'),
        Number("jobs of the tube that have expired", 1, stats_tube="jobs-expired", tube="expired", row="expired", tool_tubes="EXPIRED",
               tube_metrics='perennial_tube_expired_total{tube="mail"}'),
        Number("jobs of the tube that were reserved", 11, tube="reserves", row="reserves",
               tube_metrics='perennial_tube_reserves_total{tube="mail"}'),
        Number("jobs of the tube that were released", 1, tube="releases", row="releases",
               tube_metrics='perennial_tube_releases_total{tube="mail"}'),
        Number("jobs of the tube that were buried", 7, tube="buries", row="buries",
               tube_metrics='perennial_tube_buries_total{tube="mail"}'),
        Number("jobs of the tube that were kicked", 1, tube="kicks", row="kicks",
               tube_metrics='perennial_tube_kicks_total{tube="mail"}'),
        Number("bytes that were put into the tube", 250, tube="put_bytes", row="put_bytes",
               tube_metrics='perennial_tube_put_bytes_total{tube="mail"}'),
        Number("whether dead jobs of others are ready in the tube", 0, tube="holds_dead", row="holds_dead",
               tube_metrics='perennial_tube_holds_dead{tube="mail"}'),
        Number("duplicates in the tube", 1, stats_tube="jobs-duplicate", tube="duplicates", row="duplicates", tool_tubes="DUP"),
        Number("connections that use the tube", 1, stats_tube="current-using", tube="using", row="using", tool_tubes="USE"),
        Number("connections that watch the tube", 2, stats_tube="current-watching", tube="watching", row="watching",
               tube_metrics='perennial_tube_watching{tube="mail"}', tool_tubes="WATCH"),
        Number("connections that wait for a job of the tube", 1, stats_tube="current-waiting", tube="waiting", row="waiting",
               tube_metrics='perennial_tube_waiting{tube="mail"}', tool_tubes="WAIT"),
        Number("how often the tube was paused", 1, stats_tube="cmd-pause-tube"),
        Number("seconds of its pause", 1000, stats_tube="pause"),
        Number("seconds that are left of it", 998, 3, stats_tube="pause-time-left", tube="pause_left_seconds", row="pause_left_seconds",
               tube_metrics='perennial_tube_pause_seconds{tube="mail"}'),
        Number("seconds for which its oldest ready job is ready", oldest_ready, age, stats_tube="next-ready-age",
               tube="oldest_ready_seconds", row="oldest_ready_seconds", tube_metrics='perennial_tube_oldest_ready_seconds{tube="mail"}',
               tool_tubes="AGE"),
        Number("tubes that are too many for a page", 0, tube_metrics="perennial_tubes_unlisted"),
    ]


# Numbers of other things, by door. Commands are counted by one table, which both doors read.
others = {
    "stats": r"cmd-|max-job-size|pid|version|rusage-|uptime|binlog-|id$|hostname|os$|platform|perennial-version|durability|store-state|"
             r"sync-us-p99|batch-jobs-mean|tzdata|loop-lag-us|connections-refused|checkpoint-age|disk-free-bytes",
    "stats_tube": "name|tries|backoff|dead$|expire$|reserved-max|rate|draining|keep",
    "server": "version|instance|hostname|uptime_|store\\.|loop_lag|memory_|cpu_|job_bytes_max|may\\.|user|limits\\.|cluster",
    "tube": "name|may\\.|settings\\.",
    "row": "name|may\\.",
    "tubes": "matched|gone",
    "history": "puts|deletes|timeouts",  # Rates.
    "metrics": r"perennial_(batch_|job_(wait|run)_|command|puts_|jobs_without|http_|tube_|tubes_unlisted|store|damaged_|scrub_|commit_|"
               r"sync_|disk_|data_|body_|rocksdb_|loop_|memory_|process_|build_|uptime|config_|auth|forbidden|tls_|recover|checkpoint_|"
               r"connections_(refused|held|max)|jobs_max|tubes_max|keys_max|leases(_max)?|schedules_(fired|skipped|missed)|output|bytes|thread_|transitions)",
    "tube_metrics": r'perennial_tube_\w+{tube="(default|other|nothing)"',
    "tool_stats": "commands/|store/|process/|schedules/time zones|connections/open$|connections/of other protocols",
    "tool_tubes": "PAUSE|TRIES|BACKOFF|DEAD-TO|EXPIRE$|MAX|RATE|DRAIN|TUBE",
}


def flat(value, prefix=""):
    """The numbers and words of a JSON object by their paths."""
    out = {}
    for name, each in value.items():
        if isinstance(each, dict):
            out.update(flat(each, f"{prefix}{name}."))
        elif not isinstance(each, list):
            out[prefix + name] = each
    return out


def metrics(text):
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))


def as_number(value):
    if isinstance(value, str):
        words = {"true": 1, "false": 0}
        seconds = re.fullmatch(r"(\d+)s", value)
        value = words.get(value, seconds[1] if seconds else value.replace(",", ""))
    return float(value)


class Numbers(Port):
    settings = "durability: never\n"

    def tool(self, *words):
        return subprocess.run([PERENNIAL, *words, "--server", f"127.0.0.1:{self.queue}"], check=True, capture_output=True, text=True).stdout

    def tool_stats(self):
        """The rows of the table, each behind the title of its part."""
        out, part = {}, ""
        for line in self.tool("stats").splitlines():
            if line.startswith("  "):
                label, value = re.split(r"\s{2,}", line.strip(), maxsplit=1)
                out[f"{part}/{label}"] = value
            else:
                part = line
        return out

    def tool_tubes(self):
        lines = [line.split() for line in self.tool("tubes", "--wide").splitlines()]
        return dict(zip(lines[0], next(line for line in lines if line[0] == "mail")))

    def open_line(self):
        line = Line(self.queue)
        self.addCleanup(line.close)
        return line

    def make_state(self):
        """Returns when the oldest ready job became ready, and when the oldest buried one was put, by time.monotonic()."""
        before = Line(self.queue)
        before.say("use mail")
        before.put("4000 2 60")
        since = time.monotonic() + 2
        time.sleep(2.2)
        before.put("2000 0 60")
        before.put("2000 0 60")
        before.say("use other")
        before.put("3000 0 60")
        before.close()
        self.stop()
        self.start()

        producer, worker = self.open_line(), self.open_line()
        producer.say("use mail")
        worker.say("watch mail")
        worker.say("ignore default")
        dead = producer.put("1000 0 60", "tries:1")
        put_dead = time.monotonic()
        worker.say(f"reserve-job {dead}", "RESERVED")
        worker.say(f"release {dead} 0 0", "BURIED")
        producer.put("1000 0 60", "expire:1")
        worker.say(f"reserve-job {producer.put('1 0 1')}", "RESERVED")
        for _ in range(3):
            producer.put("5 0 60", "con:customer")
        worker.say("reserve", "RESERVED")
        urgent = [producer.put("0 0 60") for _ in range(4)]
        for job in urgent[:2]:
            worker.say(f"reserve-job {job}", "RESERVED")
        for _ in range(5):
            producer.put("0 1000 60")
        buried = [producer.put("3 0 60") for _ in range(8)]
        for job in buried[:6]:
            worker.say(f"reserve-job {job}", "RESERVED")
            worker.say(f"bury {job} 3", "BURIED")
        producer.say(f"delete {buried[7]}", "DELETED")
        producer.say(f"delete {buried[0]}", "DELETED")
        producer.say("delete 9999", "NOT_FOUND")
        producer.say(f"delete-batch {buried[1]} {buried[2]}", "DELETED_BATCH 2")
        producer.put("77 1000 60")
        producer.say("flush-tube mail state:delayed match:pri=77-77", "FLUSHED 1")
        self.assertEqual(producer.put("1000 0 60", "idp:key"), producer.put("1000 0 60", "idp:key"))
        other = self.open_line()
        other.say("use other")
        other.put("0 0 60")
        other.put("0 0 60")
        producer.say("move-tube other mail count:1", "MOVED 1")
        for name in ("nightly", "weekly"):
            producer.say(f"set-schedule {name} 0 0 60 0 every:86400\r\n", "SET")
        producer.say(f"kick-job {buried[3]}", "KICKED")
        producer.say("pause-tube mail 1000", "PAUSED")
        waits = self.open_line()
        for tube in ("mail", "nothing"):
            waits.say(f"watch {tube}")
        waits.say("ignore default")
        waits.send("reserve")
        time.sleep(2.2)  # The expiry, the timeout, and the history's next second.
        self.asker = producer
        return since, put_dead

    def doors(self):
        """All numbers that each door tells, by their names there."""
        tubes = self.api("/tubes")[1]
        return {
            "stats": self.asker.document("stats"), "stats_tube": self.asker.document("stats-tube mail"),
            "server": flat(self.api("/server")[1]), "tube": flat(self.api("/tubes/mail")[1]),
            "row": flat(next(row for row in tubes["tubes"] if row["name"] == "mail")), "tubes": flat(tubes),
            "history": {name: values[-1] for name, values in self.api("/history?span=600")[1]["series"].items()},
            "metrics": metrics(self.ask("/metrics")[1]), "tube_metrics": metrics(self.ask("/metrics/tubes")[1]),
            "tool_stats": self.tool_stats(), "tool_tubes": self.tool_tubes(),
        }

    def test_is_the_same_at_every_door(self):
        ready_since, buried_since = self.make_state()
        doors = self.doors()
        now = time.monotonic()
        rows = numbers(now - ready_since, now - buried_since)
        for number in rows:
            for door, name in number.doors.items():
                with self.subTest(number.what, door=door, name=name):
                    self.assertIn(name, doors[door])
                    self.assertAlmostEqual(as_number(doors[door].pop(name)), number.want, delta=number.tolerance)
        for door, left in doors.items():
            with self.subTest("has no other number", door=door):
                self.assertEqual([name for name in left if not re.match(others[door], name)], [])


if __name__ == "__main__":
    unittest.main()
