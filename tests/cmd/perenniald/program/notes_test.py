"""list-notes in pipelines: each answer shows the notes of its place, whatever the commands behind it do. PERENNIALD names the server."""

import json
import os
import socket
import subprocess
import unittest

PERENNIALD = os.environ.get("PERENNIALD", "build/perenniald")
SECONDS = 30  # The longest wait for anything, on a machine that does much else.


class Pipelines(unittest.TestCase):
    def setUp(self):
        process = subprocess.Popen([PERENNIALD, "--ephemeral", "--exit-with-stdin"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, SECONDS)
        self.addCleanup(process.stdin.close)
        port = json.loads(process.stdout.readline())["port"]
        self.client = socket.create_connection(("127.0.0.1", port), SECONDS)
        self.addCleanup(self.client.close)
        self.stream = self.client.makefile("rb")
        self.addCleanup(self.stream.close)

    def put(self):
        self.client.sendall(b"put 0 0 60 1\r\nx\r\n")
        word, job = self.stream.readline().split()
        self.assertEqual(word, b"INSERTED")
        return int(job)

    def answers(self, count):
        """So many answers: the texts of the notes, or the first line."""
        out = []
        for _ in range(count):
            line = self.stream.readline().decode().rstrip()
            if not line.startswith("OK "):
                out.append(line)
                continue
            lines = self.stream.read(int(line.split()[1]) + 2).decode().splitlines()
            out.append("".join(each[len('  text: "'):-1] for each in lines if each.startswith("  text: ")))
        return out

    def say(self, job, *commands):
        """The bytes of commands: "?" for list-notes, "-" for delete, and otherwise the text of a note."""
        out = ""
        for command in commands:
            out += {"?": f"list-notes {job}\r\n", "-": f"delete {job}\r\n"}.get(command, f"note {job} 1\r\n{command}\r\n")
        return out.encode()

    def test_each_answer_shows_what_was_true_then(self):
        for _ in range(100):
            job = self.put()
            self.client.sendall(self.say(job, *"1"))
            self.assertEqual(self.answers(1), ["NOTED"])
            self.client.sendall(self.say(job, *"?2?34?-?"))
            self.assertEqual(self.answers(8), ["1", "NOTED", "12", "NOTED", "NOTED", "234", "DELETED", "NOT_FOUND"])

    def test_many_questions_about_many_jobs(self):
        jobs = [self.put() for _ in range(50)]
        for job in jobs:
            self.client.sendall(self.say(job, *"123"))
        self.assertEqual(set(self.answers(150)), {"NOTED"})
        self.client.sendall(b"".join(self.say(job, *"??4?-") for job in jobs))
        for _ in jobs:
            self.assertEqual(self.answers(5), ["123", "123", "NOTED", "234", "DELETED"])


if __name__ == "__main__":
    unittest.main()
