"""The workers of the quick start over HTTP, as they stand there: the server and the workers are killed, and every job is done."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from ports import free_port  # noqa: E402

PERENNIALD = os.environ["PERENNIALD"]
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../etc/docs/quickstart/http")
JOBS = 30


class Server:
    def __init__(self, folder):
        self.data = os.path.join(folder, "data")
        self.http = free_port()
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [PERENNIALD, "--data-dir", self.data, "--listen", "127.0.0.1", "--port", str(free_port()), "--http", f"127.0.0.1:{self.http}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                self.ask("GET", "/api/v1/server")
                return
            except (OSError, AssertionError):
                time.sleep(0.1)
        raise AssertionError("the server does not start")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=20)
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status in (200, 201), (answer.status, text)
        return json.loads(text)


class Worker:
    def __init__(self, server, command, done):
        self.command = command
        self.done = done
        self.api = f"http://127.0.0.1:{server.http}/api/v1"
        self.start()

    def start(self):
        with open(self.done, "ab") as out:
            self.process = subprocess.Popen(
                self.command, env={**os.environ, "API": self.api}, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def run(folder, command, done_of):
    server = Server(folder)
    server.start()
    done = os.path.join(folder, "done")
    jobs = [{"tube": "mail", "body": f"letter {i}", "ttr_seconds": 3} for i in range(JOBS)]
    jobs.append({"tube": "mail", "body": "to nobody", "ttr_seconds": 3, "tries": 2})
    server.ask("POST", "/api/v1/jobs", jobs)
    worker = Worker(server, command, done)
    try:
        for _ in range(2):
            time.sleep(1)
            server.kill()
            time.sleep(0.3)
            server.start()
            time.sleep(1)
            worker.kill()
            worker.start()
        end = time.monotonic() + 60
        left = None
        while time.monotonic() < end:
            left = server.ask("GET", "/api/v1/server")["jobs"]
            if left["ready"] + left["reserved"] + left["delayed"] == 0:
                break
            time.sleep(0.3)
        assert (left["ready"], left["reserved"], left["delayed"], left["buried"]) == (0, 0, 0, 1), left
        with open(done) as lines:
            bodies = done_of(lines.read())
        assert bodies == {f"letter {i}" for i in range(JOBS)}, bodies
        buried = server.ask("GET", "/api/v1/tubes/mail/jobs?state=buried")["jobs"][0]
        notes = server.ask("GET", f"/api/v1/jobs/{buried['id']}/notes")["notes"]
        assert "there is no such address" in notes[-1]["text"], notes
    finally:
        worker.kill()
        server.kill()


def main():
    command = 'read -r body; sleep 0.02; case $body in "to nobody") echo "there is no such address" >&2; exit 1;; esac; echo "$body"'
    workers = [("bash", ["bash", f"{PROGRAMS}/worker.sh", "bash", "-c", command], lambda text: set(text.splitlines()))]
    if shutil.which("node"):
        workers.append(("node", ["node", f"{PROGRAMS}/worker.mjs"], lambda text: {line.partition(": ")[2] for line in text.splitlines()}))
    for name, command_of_worker, done_of in workers:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            run(folder, command_of_worker, done_of)
        print(f"{name}: {JOBS} jobs in {time.monotonic() - begun:.1f} s")


main()
