"""What all peers of peers_bench.py have in common: the loads, how programs are found, and how servers are started and ended."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../cluster"))
sys.path.insert(0, os.path.join(HERE, "../../support"))
from ports import free_port  # noqa: E402

# The loads, by the titles of their columns. Of a put: how many connections there are, and how many puts each has in flight.
PUTS = {"put 50x1": (50, 1), "put 200x1": (200, 1), "put 8x64": (8, 64)}
JOBS = "jobs 25+25"  # Whole jobs: 25 producers put them, and 25 workers take and delete them.
LOADS = [*PUTS, JOBS]
PRODUCERS = WORKERS = 25
BODY = "abcdefgh" * 16  # 128 bytes.
AHEAD_MAX = 4000  # So many jobs wait at most, as with `perennial bench`. Then producers pause.

STARTS_WITHIN_S = 60
STOPS_WITHIN_S = 20
COMMAND_WITHIN_S = 60  # Also what a load may take beside the time that it measures.


class Failed(RuntimeError):
    """A server or a load did not do what it should."""


class Peer:
    """One row of the table. A subclass says how its server is started and loaded."""

    key = ""  # For --peers. Several rows may have the same.
    name = ""
    synced = ""  # What is on disk before an answer.
    install = ""  # A command that installs what is missing.

    def __init__(self, options):
        self.options = options

    def missing(self):
        """The names of programs that are needed and not there."""
        raise NotImplementedError

    def versions(self):
        """By the name of a program."""
        raise NotImplementedError

    def running(self, folder):
        """A context with a fresh server, which keeps its data in this folder. It gives the server's port."""
        raise NotImplementedError

    def rates(self, port, folder):
        """Operations per second by load, one load after the other. `folder` is for files of the load."""
        raise NotImplementedError

    def missing_of(self, **programs):
        return [name for name, path in programs.items() if path is None]

    def in_build(self, name):
        path = os.path.join(self.options.build, name)
        return path if os.access(path, os.X_OK) else None

    def packaged(self, name):
        """A program of a package that is installed, or that was unpacked into the folder of --packages."""
        folders = [os.path.join(self.options.packages, "usr", folder) for folder in ("bin", "sbin")]
        return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))


def run(words, timeout_s=COMMAND_WITHIN_S, **how):
    """What a program prints. It fails with what the program has said."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, check=False, **how)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{os.path.basename(words[0])} does not end within {timeout_s:.0f} s") from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)} ended with {done.returncode}\n{last_lines(done.stdout + done.stderr)}")
    return done.stdout


def rates_by_load(measured):
    """Of settings such as "50x1" with an operation and its rate, those that are loads of the table."""
    rates = {}
    for setting, operation, rate in measured:
        load = JOBS if operation == "cycle" else f"{operation} {setting}"
        if load in LOADS:
            rates[load] = rate
    return rates


def version_in(text):
    """The first word of digits and dots."""
    return re.search(r"\d+(\.\d+)+", text)[0]


class Signals:
    """SIGINT and SIGTERM end the run once. They wait while a process is being started, so that it is known when it has to be ended."""

    are_held = False
    came = False

    @classmethod
    def watch(cls):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, cls.on_signal)

    @classmethod
    def on_signal(cls, _number, _frame):
        cls.came = True
        if not cls.are_held:
            cls.interrupt()

    @classmethod
    def interrupt(cls):
        # A second signal does not interrupt the end of the servers, which takes seconds.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt


@contextlib.contextmanager
def signals_held():
    Signals.are_held = True
    try:
        yield
    finally:
        Signals.are_held = False
    if Signals.came:
        Signals.interrupt()


@contextlib.contextmanager
def running(words, port, folder, stop=signal.SIGTERM, is_ready=None, executable=None):
    """Starts a server, waits until it answers, and ends it with this signal, or with SIGKILL if it does not obey."""
    log = os.path.join(folder, "server.log")
    server = None
    try:
        # A session of its own: Ctrl-C reaches this program alone, which then ends the server.
        with open(log, "wb") as file, signals_held():
            server = subprocess.Popen(words, executable=executable, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd="/",
                                      start_new_session=True)
        wait_until(is_ready or (lambda: is_open(port)), server, log)
        yield port
        if server.poll() is not None:
            raise Failed(f"{words[0]} has ended with {server.returncode}\n{logged(log)}")
    finally:
        if server is not None:
            end(server, stop)


def end(process, stop):
    if process.poll() is not None:
        return
    process.send_signal(stop)
    try:
        process.wait(STOPS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOPS_WITHIN_S)


def wait_until(is_ready, server, log):
    deadline = time.monotonic() + STARTS_WITHIN_S
    while not is_ready():
        if server.poll() is not None or time.monotonic() > deadline:
            raise Failed(f"{server.args[0]} does not start\n{logged(log)}")
        time.sleep(0.02)


def is_open(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
        return True
    return False


def logged(log):
    with open(log, encoding="utf-8", errors="replace") as file:
        return last_lines(file.read())


def last_lines(text):
    return "\n".join(text.splitlines()[-15:])


__all__ = ["AHEAD_MAX", "BODY", "COMMAND_WITHIN_S", "Failed", "JOBS", "LOADS", "PRODUCERS", "PUTS", "Peer", "Signals", "WORKERS", "free_port",
           "is_open", "rates_by_load", "run", "running", "signals_held", "version_in"]
