"""PostgreSQL with a table for a queue. pgbench loads it."""

import glob
import math
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess

from peer import AHEAD_MAX, BODY, COMMAND_WITHIN_S, JOBS, PRODUCERS, PUTS, WORKERS, Failed, Peer, free_port, run, running, version_in

USER = "postgres"  # Of the database, and of the system if this is run by root, as whom PostgreSQL does not run.
THREADS = 2  # Of pgbench.

# One client of pgbench is a producer or a worker, by its number. Variables keep their values from one run of the script
# to the next. A producer counts what waits at first and now and then, and pauses while that is too much.
JOBS_SCRIPT = """
\\set look random(1, 100)
\\if :client_id < {producers}
  \\if :look = 1 or :waiting >= {ahead_max}
    SELECT count(*) AS waiting FROM (SELECT FROM job LIMIT {ahead_max}) AS jobs \\gset
  \\endif
  \\if :waiting < {ahead_max}
    INSERT INTO job (body) VALUES (:body);
  \\else
    \\sleep 5 ms
  \\endif
\\else
  \\set job 0
  {work}
\\endif
"""


class PostgreSql(Peer):
    """A subclass has the table, and what a worker does."""

    key = "postgresql"
    synced = "each commit (8x64: of 64 rows)"
    install = "apt-get install postgresql"
    tables = ""
    work = ""

    def __init__(self, options):
        super().__init__(options)
        self.password = secrets.token_hex(16)  # Other users of this machine do not get in while a server runs.

    def program(self, name):
        """The newest version's."""
        found = [path for root in ("", self.options.packages) for path in glob.glob(f"{glob.escape(root)}/usr/lib/postgresql/*/bin/{name}")]
        return max(found, key=lambda path: float(path.split("/")[-3])) if found else shutil.which(name)

    def missing(self):
        missing = self.missing_of(**{name: self.program(name) for name in ("postgres", "initdb", "psql", "pgbench", "pg_isready")})
        if os.geteuid() == 0 and not any(user.pw_name == USER for user in pwd.getpwall()):
            missing.append(f"user {USER}")
        return missing

    def versions(self):
        return {"PostgreSQL": version_in(run([self.program("postgres"), "--version"]))}

    def running(self, folder):
        unprivileged = []
        with open(f"{folder}/password", "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(self.password)
        if os.geteuid() == 0:
            unprivileged = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups"]
            user = pwd.getpwnam(USER)
            for path in (folder, f"{folder}/password"):
                os.chown(path, user.pw_uid, user.pw_gid)
        data = f"{folder}/data"
        # To log in with SCRAM takes milliseconds of processor, and so seconds with 200 connections, which pgbench takes off its time.
        run([*unprivileged, self.program("initdb"), "-D", data, "-U", USER, "--auth=md5", f"--pwfile={folder}/password", "--no-locale",
             "--encoding=UTF8"], timeout_s=2 * COMMAND_WITHIN_S, cwd="/")
        port = free_port()
        settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "max_connections": 300, "fsync": "on",
                    "synchronous_commit": "on", "full_page_writes": "on"}
        words = [*unprivileged, self.program("postgres"), "-D", data]
        for name, value in settings.items():
            words += ["-c", f"{name}={value}"]
        ready = [self.program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
        # SIGINT: a fast shutdown, which does not wait for clients.
        return running(words, port, folder, stop=signal.SIGINT,
                       is_ready=lambda: subprocess.run(ready, timeout=COMMAND_WITHIN_S, check=False).returncode == 0)

    def rates(self, port, folder):
        rates = {}
        for load, (connections, in_flight) in PUTS.items():
            self.ask(port, self.tables)
            insert = "INSERT INTO job (body) VALUES (:body);\n"
            # In a pipeline the server commits once, at its end.
            script = insert if in_flight == 1 else "\\startpipeline\n" + insert * in_flight + "\\endpipeline\n"
            count, seconds = self.pgbench(port, folder, script, connections)
            self.expect(port, count * in_flight)
            rates[load] = count * in_flight / seconds
        self.ask(port, self.tables)
        # Producers would fill the queue up to its limit first, at the cost of the workers. Loads with a warm-up have done so in it.
        self.ask(port, f"INSERT INTO job (body) SELECT '{BODY}' FROM generate_series(1, {AHEAD_MAX})")
        self.ask(port, "VACUUM ANALYZE job")
        script = JOBS_SCRIPT.format(producers=PRODUCERS, ahead_max=AHEAD_MAX, work=self.work)
        _, seconds = self.pgbench(port, folder, script, PRODUCERS + WORKERS)
        rates[JOBS] = int(self.ask(port, "SELECT (SELECT last_value FROM job_id_seq) - (SELECT count(*) FROM job)")) / seconds
        return rates

    def pgbench(self, port, folder, script, clients):
        """How many transactions there were, and in how many seconds."""
        path = f"{folder}/script.sql"
        with open(path, "w", encoding="ascii") as file:
            file.write(script)
        seconds = max(1, math.ceil(self.options.seconds))  # It knows whole seconds only.
        while True:
            printed = run(
                [self.program("pgbench"), "-n", "-M", "prepared", "-c", str(clients), "-j", str(THREADS), "-T", str(seconds),
                 "-D", f"body={BODY}", "-D", f"waiting={AHEAD_MAX}", "-f", path, *self.place(port)], timeout_s=seconds + COMMAND_WITHIN_S,
                env=self.environment())
            count, took_s = result_of_pgbench(printed)
            if count > 0:
                return count, took_s
            if seconds > COMMAND_WITHIN_S:
                raise Failed(f"pgbench has done nothing within {seconds} s\n{printed}")
            seconds *= 4  # A busy machine: it took all this time to connect.

    def expect(self, port, count):
        rows = int(self.ask(port, "SELECT count(*) FROM job"))
        if rows != count:
            raise Failed(f"PostgreSQL has {rows} jobs after {count} were inserted")

    def ask(self, port, statements):
        return run([self.program("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statements, *self.place(port)],
                   env=self.environment()).strip()

    def place(self, port):
        return ["-h", "127.0.0.1", "-p", str(port), "-U", USER, "postgres"]

    def environment(self):
        return os.environ | {"PGPASSWORD": self.password, "PGOPTIONS": "--client-min-messages=warning"}


class LockedRows(PostgreSql):
    """A worker holds the lock of the row until its job is done. One commit for each job that is taken and deleted."""

    name = "PostgreSQL, row lock"
    tables = "DROP TABLE IF EXISTS job; CREATE TABLE job (id bigserial PRIMARY KEY, body text NOT NULL)"
    work = """
  BEGIN;
  SELECT id AS job FROM job ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED \\aset
  \\if :job > 0
    DELETE FROM job WHERE id = :job;
  \\endif
  COMMIT;
  \\if :job = 0
    \\sleep 1 ms
  \\endif
"""


class StateColumn(PostgreSql):
    """A worker commits that a job is its own, and then works, as those of River and Oban do. So a job takes two commits of a worker."""

    name = "PostgreSQL, state column"
    tables = """
DROP TABLE IF EXISTS job;
CREATE TABLE job (id bigserial PRIMARY KEY, state text NOT NULL DEFAULT 'available', priority smallint NOT NULL DEFAULT 1,
  scheduled_at timestamptz NOT NULL DEFAULT now(), attempted_at timestamptz, body text NOT NULL);
CREATE INDEX job_order ON job (state, priority, scheduled_at, id);
"""
    work = """
  UPDATE job SET state = 'running', attempted_at = now() WHERE id = (
    SELECT id FROM job WHERE state = 'available' AND scheduled_at <= now() ORDER BY priority, scheduled_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
  ) RETURNING id AS job \\aset
  \\if :job > 0
    DELETE FROM job WHERE id = :job;
  \\else
    \\sleep 1 ms
  \\endif
"""


def result_of_pgbench(text):
    """The transactions that pgbench reports, and the seconds that they took without the time for connections."""
    count = re.search(r"^number of transactions actually processed: (\d+)", text, re.MULTILINE)
    rate = re.search(r"^tps = ([0-9.]+) \(without initial connection time\)", text, re.MULTILINE)
    failed = re.search(r"^number of failed transactions: (\d+)", text, re.MULTILINE)
    if count and int(count[1]) == 0:
        return 0, 0
    if not count or not rate or float(rate[1]) == 0:
        raise Failed(f"pgbench has printed no rate\n{text}")
    if failed and int(failed[1]) > 0:
        raise Failed(f"{failed[1]} transactions of pgbench have failed\n{text}")
    return int(count[1]), int(count[1]) / float(rate[1])
