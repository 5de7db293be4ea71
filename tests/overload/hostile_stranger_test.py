#!/usr/bin/env python3
"""Strangers at all doors of a server at once, each of which is at its limits; meanwhile honest clients are served.

    hostile_stranger_test.py [--seconds N] [--form open|users|node]... [--seed N] [--strict] [--settings LINES] [--keep-log FILE]

PERENNIALD names the server, and PERENNIAL the tool. ETCD names etcd, which is otherwise looked for beside the server.

Doors: the queue's port, also at a loopback address, over TLS, over a unix socket and behind a proxy that sends its header; HTTP at a
loopback address, over a unix socket and, where there are users, over TLS. With `node` the last one is the port for other nodes, too.

Forms: `open`, without users; `users`, where strangers have no token, but for those of one address who flood or wait as a user of few
rights; `node`, the same at the only node of a cluster.

Fields: strangers come from one address and from a hundred, of other machines and of this one, half of them well-formed. Each attack is a
class in hostile_attacks.py: silence, parts of handshakes, headers and bodies, good and bad floods, wrong tokens, answers that nobody
reads, puts without an end, many tubes and waits, documents that are deep, wide or broken, other protocols, and clients that leave at
once. The limits are lower than as installed (hostile_server.py), so that strangers reach them on a small machine.

Times: --seconds for all forms together (an hour with tests/run --long), and before that three seconds for each without strangers, to
compare with. On a machine that others use the line of the server says for how long its loop had to wait for a processor. Latencies are
printed; only --strict asserts them (99 of 100 answers within 50 ms, and 100 ms for health and metrics).

Witnesses: workers whose connection stays, newcomers who connect, show a good token and put, over each door and also from the strangers'
address, and probes of /livez, /readyz and /metrics. None of them may be refused, lost or starved (ten seconds, and thirty for a
handshake or a scrape); only at the strangers' own address, and in a handshake, a newcomer may be turned away before it has shown its token,
asks again at once, and has to be served in that time. Memory and the log stay within what the
limits say, and afterwards connections, descriptors and memory are given back, the jobs of the witnesses are accounted for, and SIGTERM
ends the server while strangers go on.

It is blind to a slow disk (its directory is in memory), to packets (all comes over the loopback device: no loss, no spoofed address), to
IPv6, to more processor time than a small machine has, to certificates of clients, to a cluster with standbys, and to what a stranger may
do without users by right: he takes all places from a hundred addresses, fills memory_bytes_max, or deletes the jobs of others.
"""

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hostile_attacks  # noqa: E402
import hostile_server  # noqa: E402
import hostile_witnesses  # noqa: E402
from hostile_server import Server, end_with_parent  # noqa: E402
from hostile_witnesses import Jobs, Line, Witness, witnesses_of  # noqa: E402

FORMS = ["open", "users", "node"]
QUIET_SECONDS = 3
# etc/docs/limits.md, "lines of the log that a client can cause": of each kind. Refusals of whoever has not signed in and of
# users are two kinds.
CAUSED_BY_STRANGERS = ["conn.refused", "conn.no_place", "tls.refused", "refused to nobody", "refused to a user"]
LINES_PER_SECOND = 10
LINE_BYTES = 500
# Beside what it has before: what memory_bytes_max counts, what is on its way to the disk, bodies that are cached, answers over HTTP
# that nobody takes, for each connection to the HTTP ports a body, a header and what waits behind a request, and TLS.
HTTP_PLACES_OF_THIS_MACHINE = 16
RESIDENT_MAX = (
    hostile_server.MEMORY + hostile_server.PENDING + hostile_server.BODY_CACHE + hostile_server.OUTPUT
    + (hostile_server.HTTP_CONNECTIONS + HTTP_PLACES_OF_THIS_MACHINE) * ((1 << 20) + (64 << 10) + (8 << 10))
    + hostile_server.CONNECTIONS * 22_000
)
# The store's tables in memory (log_bytes_max) and the cache of bodies fill up meanwhile.
RESIDENT_LEFT = (16 << 20) + hostile_server.BODY_CACHE + (24 << 20)
FILES_LEFT = 40  # Tables of the store.
SECONDS_TO_RETURN = 40
STOP_SECONDS = 10
SECONDS_TO_LIMITS = 60


class Found(Exception):
    """Something is not as it has to be."""


def percentile(times, share):
    return times[min(len(times) - 1, int(len(times) * share))] if times else 0.0


class Trial:
    def __init__(self, form, seconds, seed, options):
        self.form = form
        self.seconds = seconds
        self.seed = seed
        self.options = options
        self.problems = []
        self.server = Server(form, options.settings)
        self.jobs = Jobs()
        self.strangers = {}

    def check(self, is_good, text):
        if not is_good:
            self.problems.append(f"{self.form}: {text}")

    def run(self):
        try:
            self.server.start()
            self._run()
        finally:
            self._end_strangers()
            if self.options.keep_log:
                with open(self.options.keep_log, "a", encoding="utf-8", errors="surrogateescape") as file:
                    file.write(self.server.text_of_log())
            self.server.close()

    def _run(self):
        time.sleep(0.5)  # Until it has closed the connections that asked whether it serves.
        descriptors_before = self.server.descriptors()
        witnesses = witnesses_of(self.server, self.jobs)
        self.metrics = next(each for each in witnesses if each.name == "/metrics")
        for number, witness in enumerate(witnesses):
            witness.number = number
            witness.start()
        try:
            time.sleep(1)
            for witness in witnesses:
                witness.take_times()
            time.sleep(QUIET_SECONDS)
            quiet = {witness.name: witness.take_times() for witness in witnesses}
            resident_before = self.server.resident()[0]
            begun, loop_before = time.monotonic(), self.server.loop_seconds()
            self._start_strangers()
            self._watch(begun)
            under_attack = {witness.name: witness.take_times() for witness in witnesses}
            seconds = time.monotonic() - begun
            ran, waited = (after - before for after, before in zip(self.server.loop_seconds(), loop_before))
            counts = self._end_strangers()
            log_seconds = time.monotonic() - begun
            self._settle(witnesses)
        finally:
            for witness in witnesses:
                witness.stop()
        self._print_counts(counts)
        self._judge_witnesses(witnesses, quiet, under_attack)
        most = self.server.resident()[1]
        print(f"  server: its loop ran {ran / seconds * 100:.0f} % of the time, and waited {waited / seconds * 100:.0f} % for a processor; "
              f"{most >> 20} MiB resident at most, of {resident_before + RESIDENT_MAX >> 20}")
        self.check(most <= resident_before + RESIDENT_MAX, f"{most >> 20} MiB were resident")
        self._judge_log(log_seconds)
        self._judge_jobs()
        self._judge_left(descriptors_before, resident_before)
        self._judge_stop()

    def _start_strangers(self):
        known = hostile_server.as_text(self.server) + "\n"
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hostile_attacks.py")
        for door in hostile_attacks.names_of(self.server.doors()):
            process = subprocess.Popen([sys.executable, program, door, str(self.seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True, preexec_fn=end_with_parent)
            process.stdin.write(known)
            process.stdin.flush()
            self.strangers[door] = process

    def _watch(self, begun):
        """Until the time is over and each limit was met, which takes longer on a busy machine."""
        while time.monotonic() - begun < self.seconds + SECONDS_TO_LIMITS:
            if self.server.process.poll() is not None:
                raise Found(f"the server ended with {self.server.process.returncode}:\n{self.server.text_of_log()[-3000:]}")
            for door, process in self.strangers.items():
                if process.poll() is not None:
                    raise Found(f"the strangers at {door} ended with {process.returncode}")
            if time.monotonic() - begun >= self.seconds and not self._limits_not_met():
                return
            time.sleep(0.2)
        for limit in self._limits_not_met():
            self.check(False, f"the strangers did not reach {limit}")

    def _limits_not_met(self):
        """As far as the log and the metrics tell it."""
        seen = self.server.text_of_log() + self.metrics.last.decode()
        marks = {"tls_handshakes_pending_max": "a newer client has its place"}
        if self.server.has_users:
            for reason in ("unidentified", "limited"):
                marks[f"the limit of {reason}"] = f'perennial_connections_refused_total{{reason="{reason}"}} [1-9]'
        else:
            marks["connections_per_address_max"] = "at=conn.no_place"
        return [limit for limit, mark in marks.items() if not re.search(mark, seen)]

    def _end_strangers(self):
        counts = {}
        for process in self.strangers.values():
            process.stdin.close()
        for door, process in self.strangers.items():
            try:
                counts[door] = json.loads(process.stdout.read() or "{}")
                process.wait(60)
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
                process.stdout.close()
        self.strangers = {}
        return counts

    def _settle(self, witnesses):
        """Until the collector has taken all jobs."""
        others = [witness for witness in witnesses if not isinstance(witness, hostile_witnesses.Collector)]
        for witness in others:
            witness.stop_asking()
        for witness in others:
            witness.stop()
        end = time.monotonic() + 20
        while self.jobs.open() != (0, 0) and time.monotonic() < end:
            time.sleep(0.1)

    def _print_counts(self, counts):
        for door, attacks in counts.items():
            shown = ", ".join(f"{name} {steps}" + (f" ({held} held)" if held else "") + (f" {errors} refused" if errors else "")
                              for name, (steps, errors, held) in attacks.items())
            print(f"  {door}: {shown}")

    def _judge_witnesses(self, witnesses, quiet, under_attack):
        print(f"  {'ms':30} {'p50':>7} {'p99':>7} {'max':>7} {'asked':>7} | without strangers")
        for witness in witnesses:
            columns = ""
            for times in (sorted(under_attack[witness.name]), sorted(quiet[witness.name])):
                columns += "".join(f" {percentile(times, share) * 1e3:7.1f}" for share in (0.5, 0.99, 1)) + f" {len(times):7} |"
            turned_away = f" | {witness.turned_away} times turned away" if witness.turned_away else ""
            print(f"  {witness.name:30}{columns[:-2]}{turned_away}")
            times = sorted(under_attack[witness.name])
            self.check(not witness.failure_count, f"{witness.name}: {witness.failure_count} failures:\n    " + "\n    ".join(witness.failures))
            self.check(len(times) > 0, f"{witness.name} was never served")
            self.check(percentile(times, 1) < witness.seconds_max, f"{witness.name} waited {percentile(times, 1):.1f} s")
            if self.options.strict and not isinstance(witness, hostile_witnesses.Collector):
                most = 0.1 if isinstance(witness, hostile_witnesses.Probe) else 0.05
                self.check(percentile(times, 0.99) < most, f"{witness.name}: p99 is {percentile(times, 0.99) * 1e3:.1f} ms")

    def _judge_log(self, seconds):
        """Of each kind of line that a stranger can cause ten in a second, and none that says that something is wrong."""
        counts, longest, text = {}, 0, self.server.text_of_log()
        for line in text.splitlines():
            kind = re.search(r"\bat=(\S+)", line)
            name = kind[1] if kind else "?"
            if name == "audit":
                name = "refused" if "result=refused" in line else "allowed"
                name += " to nobody" if " user=- " in line else " to a user"
            counts[name] = counts.get(name, 0) + 1
            if name in CAUSED_BY_STRANGERS:
                longest = max(longest, len(line) + 1)
            self.check("level=error" not in line and name not in {"accept", "loop.turn", "log.dropped", "?"}, f"the log has: {line}")
        most = LINES_PER_SECOND * (seconds + 2)
        for name in CAUSED_BY_STRANGERS:
            self.check(counts.get(name, 0) <= most, f"{counts.get(name)} lines of {name} in {seconds:.0f} s")
        self.check(longest <= LINE_BYTES, f"a line that a stranger has caused has {longest} bytes")
        print("  log: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) + f"; {len(text)} bytes")

    def _judge_jobs(self):
        self.check(self.jobs.open() == (0, 0), f"jobs that only one side knows (put, taken): {self.jobs.open()}")
        print(f"  jobs: {self.jobs.count} of newcomers, each of which was taken once")

    def _judge_left(self, descriptors_before, resident_before):
        """What the strangers held is given back: connections and descriptors soon, memory when it was unused for ten seconds."""
        begun = time.monotonic()
        while True:
            sockets, files = self.server.descriptors()
            resident = self.server.resident()[0]
            is_back = sockets == descriptors_before[0] and resident <= resident_before + RESIDENT_LEFT
            if is_back or time.monotonic() - begun > SECONDS_TO_RETURN:
                break
            time.sleep(0.1)
        print(f"  left after {time.monotonic() - begun:.1f} s: {sockets} sockets of {descriptors_before[0]}, {files} other descriptors of "
              f"{descriptors_before[1]}, {resident >> 20} MiB of {resident_before >> 20}")
        self.check(sockets == descriptors_before[0], f"{sockets} sockets are open, and {descriptors_before[0]} were before")
        self.check(files <= descriptors_before[1] + FILES_LEFT, f"{files} files are open, and {descriptors_before[1]} were before")
        self.check(resident <= resident_before + RESIDENT_LEFT, f"{resident >> 20} MiB are resident, and {resident_before >> 20} were before")
        line = Line(Witness("end", self.server, self.jobs, "queue-local"))
        stats = line.stats()
        self.check(stats["current-connections"] == "1", f"{stats['current-connections']} connections are left, and one of them asks")
        self.check(stats["current-waiting"] == "0", f"{stats['current-waiting']} connections wait for jobs")
        self.check(stats["current-jobs-reserved"] == "0", f"{stats['current-jobs-reserved']} jobs are reserved")
        for witness_tube in line.tubes():
            self.check(not witness_tube.startswith("witness-"), f"the tube {witness_tube} is left")
        line.close()

    def _judge_stop(self):
        """While strangers go on."""
        self._start_strangers()
        time.sleep(1.5)
        code, seconds = self.server.stop()
        self._end_strangers()
        self.check(code == 0, f"the server ended with {code}:\n{self.server.text_of_log()[-2000:]}")
        self.check(seconds < STOP_SECONDS, f"the server took {seconds:.1f} s to stop")
        print(f"  stopped in {seconds:.1f} s, among strangers")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=36, help="of all forms together, under attack")
    parser.add_argument("--form", action="append", choices=FORMS)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--strict", action="store_true", help="hold answers against 50 and 100 ms")
    parser.add_argument("--settings", default="", help="further lines of the configuration, which replace those with the same keys")
    parser.add_argument("--keep-log", help="a file to which the server's log is added")
    options = parser.parse_args()
    if not hostile_server.enter_network():
        print("skipped")
        return 77
    hostile_server.set_up_network()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    forms = options.form or FORMS
    if "node" in forms and not os.access(hostile_server.ETCD, os.X_OK):
        print(f"node: skipped, there is no etcd at {hostile_server.ETCD}")
        forms = [form for form in forms if form != "node"]
    print(f"--seed {options.seed}")
    problems = []
    for form in forms:
        print(f"{form}:", flush=True)
        trial = Trial(form, options.seconds / len(forms), options.seed, options)
        try:
            trial.run()
        except Found as found:
            trial.problems.append(f"{form}: {found}")
        problems += trial.problems
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
