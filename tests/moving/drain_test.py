"""The scripts of etc/docs/moving/drain lose no job and move none twice, wherever they are killed. PERENNIALD names the server.

Between a script and the real server is a gate, which kills the script with SIGKILL. It does so before the server gets a put: a script that has taken the job out of the
old queue already loses it. And it does so after the server has the put on disk, and before the script has the answer: a script that puts without a key puts the job
twice. Redis is real, and so are BullMQ, pika and boto3. RabbitMQ, SQS and Faktory are stand_ins.py."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
from ports import free_port  # noqa: E402

from stand_ins import FaktoryStandIn, RabbitmqStandIn, SqsStandIn  # noqa: E402

PERENNIALD = os.path.abspath(os.environ.get("PERENNIALD", "build/perenniald"))
BUILD = os.path.dirname(PERENNIALD)
SCRIPTS = os.path.join(HERE, "../../etc/docs/moving/drain")
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's clients.
JOBS = 30
SECONDS_MAX = 60


def wait_for(port):
    deadline = time.monotonic() + SECONDS_MAX
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class Queue:
    """A client of the server, for what a new worker does."""

    def __init__(self, port, tube):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.answers = self.socket.makefile("rb")
        self.ask(f"watch {tube}")
        self.ask("ignore default")

    def close(self):
        self.answers.close()
        self.socket.close()

    def ask(self, line):
        self.socket.sendall(line.encode() + b"\r\n")
        return self.answers.readline().decode().split()

    def do_all(self):
        """Reserves and deletes every job that is ready. Returns their bodies."""
        bodies = []
        while (answer := self.ask("reserve-with-timeout 0"))[0] == "RESERVED":
            bodies.append(self.answers.read(int(answer[2]) + 2)[:-2])
            assert self.ask(f"delete {answer[1]}") == ["DELETED"]
        return bodies

    def stats_tube(self, tube):
        answer = self.ask(f"stats-tube {tube}")
        text = self.answers.read(int(answer[1]) + 2).decode()
        return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


class Gate:
    """Passes bytes between a script and the server; a script has one put on the way at a time. At its put number `kill_at` the script is
    killed, before the server gets that put or, where `is_put`, after the server has answered it."""

    def __init__(self, server_port, kill_at, is_put):
        self.kill_at = kill_at
        self.is_put = is_put
        self.answer_count = 0
        self.script = None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.server_port = server_port
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        client, _ = self.listener.accept()
        self.listener.close()
        server = socket.create_connection(("127.0.0.1", self.server_port))
        threading.Thread(target=self.pass_on, args=(client, server), daemon=True).start()
        answers = server.makefile("rb")
        for count, line in enumerate(iter(answers.readline, b""), 1):
            if count == self.kill_at and self.is_put:
                self.script.send_signal(signal.SIGKILL)
                break
            self.answer_count = count
            client.sendall(line)
        for closed in (answers, server, client):
            closed.close()

    def pass_on(self, client, server):
        try:
            while data := client.recv(65536):
                if self.answer_count + 1 == self.kill_at and not self.is_put:
                    self.script.send_signal(signal.SIGKILL)
                    break
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class DrainTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.port = free_port()
        self.start([PERENNIALD, "-l", "127.0.0.1", "-p", str(self.port), "-b", f"{self.folder}/data"])
        wait_for(self.port)
        self.queue = Queue(self.port, "mail")
        self.addCleanup(self.queue.close)

    def start(self, command, **options):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_redis(self):
        program = f"{BUILD}/redis-tools/usr/bin/redis-check-rdb"  # By the name redis-server it is the server.
        if not os.access(program, os.X_OK):
            self.skipTest("no redis-server: tests/run unpacks it")
        port = free_port()
        self.start(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder], executable=program)
        wait_for(port)
        return port

    def redis(self, port, *words):
        """One command to Redis. Returns the first line of the answer, or the number in it."""
        with socket.create_connection(("127.0.0.1", port)) as client:
            words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
            client.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words))
            line = client.makefile("rb").readline().decode().strip()
        self.assertFalse(line.startswith("-"), line)
        return int(line[1:]) if line[0] == ":" else line

    def drain(self, command, server_flag, kill_at=None, is_put=True, environment=None):
        """Runs a script, and returns what it says. It is killed at its put number `kill_at`."""
        gate = Gate(self.port, kill_at, is_put)
        address = f"127.0.0.1:{gate.port}"
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})}
        if server_flag:
            command = [*command, server_flag, address]
        else:
            environment["PERENNIAL"] = address
        script = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=self.folder)
        gate.script = script
        said, _ = script.communicate(timeout=SECONDS_MAX)
        self.assertEqual(script.returncode, 0 if kill_at is None else -signal.SIGKILL, said)
        return said

    def check(self, command, bodies, server_flag="--server", twice_at_most=0, give_back=lambda: None, environment=None):
        """The script is killed before and after puts, new workers do what is there in between, and the jobs are done once each."""
        done = []
        for kill_at, is_put in ((1, True), (2, False), (JOBS // 2, True), (1, False), (None, True)):
            said = self.drain(command, server_flag, kill_at, is_put, environment)
            done += self.queue.do_all()
            give_back()
        self.assertEqual(set(done), set(bodies))
        self.assertLessEqual(len(done) - len(bodies), twice_at_most)
        self.assertGreaterEqual(len(done), len(bodies))
        self.assertRegex(said, r"^moved \d+; \d+ were there already\n$")
        self.assertEqual(self.drain(command, server_flag, environment=environment), "moved 0; 0 were there already\n")
        return done

    def test_list_of_redis(self):
        redis = self.start_redis()
        bodies = [b"the same" if n % 3 == 0 else b"letter %d" % n for n in range(JOBS)]
        for body in bodies:
            self.redis(redis, "LPUSH", "letters", body)
        done = self.check([PYTHON, f"{SCRIPTS}/drain_redis.py", "--redis", f"redis://127.0.0.1:{redis}/0", "--list", "letters", "--tube", "mail"], bodies)
        self.assertEqual(done, bodies)  # All of the equal ones, and in their order.

    def test_sidekiq(self):
        redis = self.start_redis()
        bodies = [json.dumps({"class": "Letter", "args": [n], "jid": f"{n:024x}"}).encode() for n in range(JOBS)]
        for body in bodies:
            self.redis(redis, "LPUSH", "queue:default", body)
        script = [PYTHON, f"{SCRIPTS}/drain_redis.py", "--redis", f"redis://127.0.0.1:{redis}/0", "--tube", "mail", "--id", "jid"]
        self.check([*script, "--list", "queue:default"], bodies)
        later = json.dumps({"class": "Letter", "args": ["later"], "jid": "f" * 24})
        self.redis(redis, "ZADD", "schedule", time.time() + 1000, later)
        self.assertEqual(self.drain([*script, "--sorted-set", "schedule"], "--server"), "moved 1; 0 were there already\n")
        self.assertEqual(self.redis(redis, "ZCARD", "schedule"), 0)
        self.assertEqual(self.queue.stats_tube("mail")["current-jobs-delayed"], "1")

    def test_bullmq(self):
        redis = self.start_redis()
        modules = f"{BUILD}/tests/moving"
        subprocess.run([f"{HERE}/../clients/node/install.sh", modules, f"{HERE}/node"], check=True, capture_output=True)
        environment = {"NODE_PATH": f"{modules}/node_modules", "REDIS": f"127.0.0.1:{redis}"}
        add = """const { Queue } = require('bullmq');
            const [port, jobs] = process.argv.slice(1).map(Number);
            const queue = new Queue('letters', { connection: { host: '127.0.0.1', port } });
            (async () => {
              for (let n = 0; n < jobs; n++) await queue.add('letter', { n }, { priority: n % 2, attempts: 3, backoff: { type: 'exponential', delay: 1500 } });
              await queue.add('letter', { n: 'later' }, { delay: 1000000, attempts: 7 });
              await queue.close();
            })();"""
        subprocess.run(["node", "-e", add, str(redis), str(JOBS)], check=True, env={**os.environ, **environment})
        bodies = [b'{"name":"letter","data":{"n":%d}}' % n for n in range(JOBS)]
        self.check(["node", f"{SCRIPTS}/drain_bullmq.js", "letters", "mail"], bodies, None, environment=environment)
        delayed = self.queue.stats_tube("mail")
        self.assertEqual(delayed["current-jobs-delayed"], "1")
        answer = self.queue.ask("kick-tube mail")
        self.assertEqual(answer, ["KICKED", "1"])
        answer = self.queue.ask("reserve-with-timeout 0 with:tries")
        self.assertEqual(answer[3:], ["tries:7"])

    def test_rabbitmq(self):
        bodies = [b"letter %d" % n for n in range(JOBS)]
        rabbitmq = RabbitmqStandIn([(body, {"message_id": f"letter {n}", "priority": n % 3}) for n, body in enumerate(bodies)])
        script = [PYTHON, f"{SCRIPTS}/drain_rabbitmq.py", "--rabbitmq", f"amqp://guest:guest@127.0.0.1:{rabbitmq.port}/%2F", "--queue", "letters", "--tube", "mail"]
        self.check(script, bodies)
        self.assertEqual(rabbitmq.left(), 0)

    def test_rabbitmq_without_message_ids(self):
        bodies = [b"letter %d" % n for n in range(JOBS)]
        rabbitmq = RabbitmqStandIn([(body, {}) for body in bodies])
        script = [PYTHON, f"{SCRIPTS}/drain_rabbitmq.py", "--rabbitmq", f"amqp://guest:guest@127.0.0.1:{rabbitmq.port}/%2F", "--queue", "letters", "--tube", "mail"]
        self.check(script, bodies, twice_at_most=3)
        self.assertEqual(rabbitmq.left(), 0)

    def test_sqs(self):
        bodies = [b"letter <%d> & more" % n for n in range(JOBS)]
        sqs = SqsStandIn(bodies)
        script = [PYTHON, f"{SCRIPTS}/drain_sqs.py", "--queue-url", f"http://127.0.0.1:{sqs.port}/1/letters",
                  "--endpoint-url", f"http://127.0.0.1:{sqs.port}", "--tube", "mail", "--wait", "0"]
        environment = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_DEFAULT_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "true"}
        self.check(script, bodies, give_back=sqs.end_visibility_timeouts, environment=environment)
        self.assertEqual(sqs.left(), 0)

    def test_faktory(self):
        jobs = [{"jid": f"jid-{n}", "jobtype": "Letter", "args": [n], "priority": 1 + n % 9, "reserve_for": 600} for n in range(JOBS)]
        faktory = FaktoryStandIn(jobs, password="a secret")
        script = [PYTHON, f"{SCRIPTS}/drain_faktory.py", "--faktory", f"127.0.0.1:{faktory.port}", "--queue", "default", "--tube", "mail", "--password", "a secret"]
        self.check(script, [json.dumps(job).encode() for job in jobs], give_back=faktory.end_reservations)
        self.assertEqual(faktory.left(), 0)

    def test_what_is_refused_stays(self):
        redis = self.start_redis()
        self.redis(redis, "LPUSH", "letters", b"x" * 70000)
        script = [PYTHON, f"{SCRIPTS}/drain_redis.py", "--redis", f"redis://127.0.0.1:{redis}/0", "--list", "letters", "--tube", "mail", "--server", f"127.0.0.1:{self.port}"]
        ran = subprocess.run(script, capture_output=True, text=True, timeout=SECONDS_MAX, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual((ran.returncode, ran.stderr), (1, "not put, and left where it was: JOB_TOO_BIG\n"))
        self.assertEqual(self.redis(redis, "LLEN", "letters"), 1)


if __name__ == "__main__":
    unittest.main()
