"""perenniald --ephemeral and --exit-with-stdin, as a test of another program uses them. PERENNIALD names the server."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../support"))
from ports import free_port  # noqa: E402

PERENNIALD = os.environ.get("PERENNIALD", "build/perenniald")
FAILING_CALLS = os.environ.get("FAILING_CALLS_LIBRARY", "build/tests/support/libperennial_failing_calls.so")
SECONDS = 30  # The longest wait for anything, on a machine that does much else.


def ask(port, *lines):
    """Sends the lines, and returns the first line of each answer."""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as client, client.makefile("rwb") as stream:
        answers = []
        for line in lines:
            stream.write(line.encode())
            stream.flush()
            answers.append(stream.readline().decode().rstrip("\r\n"))
        return answers


class Ephemeral(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perennial-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, *flags, stdin=subprocess.DEVNULL, variables=None):
        process = subprocess.Popen([PERENNIALD, "--ephemeral", *flags], stdin=stdin, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   env=dict(os.environ, TMPDIR=self.folder, **(variables or {})))
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait(SECONDS)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream and not stream.closed:
                stream.close()

    def serve(self, *flags, **options):
        """Returns the process, and what its first line says."""
        process = self.start(*flags, **options)
        line = process.stdout.readline()
        self.assertTrue(line, process.stderr.read() if process.poll() is not None else "no line")
        return process, json.loads(line)

    def refuse(self, *flags, code=5):
        process = self.start(*flags)
        out, err = process.communicate(timeout=SECONDS)
        self.assertEqual((process.returncode, out), (code, ""), err)
        self.assert_nothing_left()
        return err

    def assert_nothing_left(self):
        self.assertEqual(os.listdir(self.folder), [])

    def assert_ends(self, process, code=0):
        self.assertEqual(process.wait(SECONDS), code, process.stderr.read())
        self.assert_nothing_left()

    # ---- What it says.

    def test_the_first_line_says_where_it_serves(self):
        process, said = self.serve()
        self.assertEqual(list(said), ["address", "host", "port", "pid", "data_dir", "version"])
        self.assertEqual(said["address"], f"127.0.0.1:{said['port']}")
        self.assertEqual((said["host"], said["pid"]), ("127.0.0.1", process.pid))
        self.assertEqual(os.path.dirname(os.path.dirname(said["data_dir"])), self.folder)
        self.assertEqual(os.stat(said["data_dir"]).st_mode & 0o777, 0o700)
        version = subprocess.run([PERENNIALD, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(version, f"perenniald {said['version']}\n")
        self.assertEqual(ask(said["port"], "put 0 0 60 5\r\nhello\r\n", "reserve\r\n"), ["INSERTED 1", "RESERVED 1 5"])

    def test_a_given_port_is_used(self):
        port = free_port()
        _, said = self.serve("-p", str(port))
        self.assertEqual(said["port"], port)

    def test_http_is_served_if_asked_for(self):
        _, said = self.serve("--http", "127.0.0.1:0")
        self.assertRegex(said["http"], r"^http://127\.0\.0\.1:\d+$")
        client = http.client.HTTPConnection(said["http"].removeprefix("http://"), timeout=SECONDS)
        client.request("GET", "/readyz")
        self.assertEqual(client.getresponse().read(), b"ok\n")
        client.close()

    def test_a_unix_socket_has_no_port(self):
        path = os.path.join(self.folder, "queue")
        process, said = self.serve("-l", f"unix:{path}")
        self.assertEqual(said["address"], f"unix:{path}")
        self.assertNotIn("port", said)
        process.terminate()
        self.assert_ends(process)

    def test_settings_of_a_file_hold(self):
        path = os.path.join(self.folder, "perennial.yaml")
        with open(path, "w") as file:
            file.write("job_bytes_max: 3\nhttp_listen: 127.0.0.1:0\n")
        _, said = self.serve("--config", path)
        self.assertIn("http", said)
        self.assertEqual(ask(said["port"], "put 0 0 60 4\r\nlong\r\n"), ["JOB_TOO_BIG"])

    def test_it_says_that_it_promises_nothing(self):
        process, said = self.serve()
        with socket.create_connection(("127.0.0.1", said["port"]), SECONDS) as client, client.makefile("rwb") as stream:
            stream.write(b"stats\r\n")
            stream.flush()
            stats = stream.read(int(stream.readline().split()[1])).decode()
        self.assertIn("\ndurability: never\n", stats)
        self.assertFalse(os.path.exists(os.path.join(said["data_dir"], "ballast")))
        process.terminate()
        err = process.communicate(timeout=SECONDS)[1]
        self.assertIn("level=warning at=ephemeral data_dir=" + said["data_dir"], err)
        self.assertNotIn("at=store.ballast", err)

    def test_no_file_is_synced(self):
        variables = {"LD_PRELOAD": os.path.abspath(FAILING_CALLS), "FAILING_CALLS": "fdatasync"}
        self.assertTrue(os.path.exists(FAILING_CALLS))
        kept = subprocess.run([PERENNIALD, "-b", os.path.join(self.folder, "kept"), "-l", "127.0.0.1", "-p", "0"],
                              env=dict(os.environ, **variables), capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertNotEqual(kept.returncode, 0)  # So one that syncs ends.
        self.assertIn("Input/output error", kept.stderr)
        shutil.rmtree(os.path.join(self.folder, "kept"))
        process, said = self.serve(variables=variables)
        self.assertEqual(ask(said["port"], "put 0 0 60 5\r\nhello\r\n", "delete 1\r\n"), ["INSERTED 1", "DELETED"])
        process.terminate()
        self.assert_ends(process)

    # ---- How it ends.

    def test_all_goes_at_its_end(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                process, said = self.serve()
                ask(said["port"], "put 0 0 60 5\r\nhello\r\n")
                process.send_signal(number)
                self.assert_ends(process)

    def test_a_signal_at_any_moment_of_the_start_leaves_nothing(self):
        for ms in range(0, 120, 12):
            process = self.start()
            time.sleep(ms / 1000)
            process.terminate()
            process.wait(SECONDS)
            self.assertIn(process.returncode, (0, -signal.SIGTERM))
            self.assert_nothing_left()

    def test_two_at_once_have_nothing_in_common(self):
        first, one = self.serve()
        second, two = self.serve()
        self.assertNotEqual(one["port"], two["port"])
        self.assertNotEqual(one["data_dir"], two["data_dir"])
        ask(one["port"], "put 0 0 60 1\r\na\r\n")
        self.assertEqual(ask(two["port"], "peek 1\r\n"), ["NOT_FOUND"])
        second.terminate()
        self.assertEqual(second.wait(SECONDS), 0)
        self.assertEqual(ask(one["port"], "delete 1\r\n"), ["DELETED"])
        first.terminate()
        self.assert_ends(first)

    def test_what_a_killed_one_has_left_the_next_one_removes(self):
        killed, left = self.serve()
        killed.kill()
        killed.wait(SECONDS)
        self.assertEqual(os.listdir(self.folder), [os.path.basename(os.path.dirname(left["data_dir"]))])
        other = os.path.join(self.folder, "perennial-ephemeral-mine")  # Another pattern.
        os.mkdir(other)
        # Of the pattern, and nobody's but the user's: a copy of what was left, one that was renamed, and a directory of its own.
        made = os.path.dirname(left["data_dir"])
        others = ["perennial-ephemeral-backup", "perennial-ephemeral-moved1", "perennial-ephemeral-AAAAAA"]
        paths = [os.path.join(self.folder, name) for name in others]
        shutil.copytree(made, paths[0])
        shutil.copytree(left["data_dir"], paths[2])
        second, moved = self.serve()
        self.assertFalse(os.path.exists(made))
        second.kill()
        second.wait(SECONDS)
        os.rename(os.path.dirname(moved["data_dir"]), paths[1])
        process, said = self.serve()
        self.assertEqual(set(os.listdir(self.folder)), {os.path.basename(os.path.dirname(said["data_dir"])), os.path.basename(other), *others})
        process.terminate()
        self.assertEqual(process.wait(SECONDS), 0)
        self.assertEqual(set(os.listdir(self.folder)), {os.path.basename(other), *others})

    def test_a_relative_folder_is_named_from_the_root(self):
        process = subprocess.Popen([os.path.abspath(PERENNIALD), "--ephemeral"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, cwd=self.folder, env=dict(os.environ, TMPDIR="."))
        self.addCleanup(self.end, process)
        said = json.loads(process.stdout.readline())
        self.assertTrue(os.path.isabs(said["data_dir"]), said)
        self.assertTrue(os.path.isdir(said["data_dir"]), said)
        process.terminate()
        self.assert_ends(process)

    def test_a_server_that_keeps_its_jobs_works_on_in_a_directory_of_the_pattern(self):
        """In what a killed one has left, with its mark: only the lock says that it is used."""
        killed, left = self.serve()
        killed.kill()
        killed.wait(SECONDS)
        port = free_port()
        kept = subprocess.Popen([PERENNIALD, "-b", left["data_dir"], "-l", "127.0.0.1", "-p", str(port)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, kept)
        while "at=listen" not in kept.stderr.readline():
            self.assertIsNone(kept.poll())
        self.assertEqual(ask(port, "put 0 0 60 4\r\nkeep\r\n"), ["INSERTED 1"])
        process, _ = self.serve()
        process.terminate()
        self.assertEqual(process.wait(SECONDS), 0)
        self.assertEqual(ask(port, "peek 1\r\n"), ["FOUND 1 4"])
        kept.terminate()
        self.assertEqual(kept.wait(SECONDS), 0)
        self.assertTrue(os.path.isdir(os.path.join(left["data_dir"], "db")))

    def test_a_start_that_fails_leaves_nothing(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.assertIn("Address already in use", self.refuse("-p", str(taken.getsockname()[1]), code=111))
        # Here the directory was made already.
        path = os.path.join(self.folder, "perennial.yaml")
        with open(path, "w") as file:
            file.write("open_bytes_min: 1TiB\n")
        process = self.start("--config", path)
        self.assertEqual(process.wait(SECONDS), 75, process.stderr.read())
        self.assertEqual(os.listdir(self.folder), ["perennial.yaml"])

    def test_a_folder_that_cannot_be_written_ends_with_66(self):
        process = subprocess.run([PERENNIALD, "--ephemeral"], capture_output=True, text=True, timeout=SECONDS,
                                 env=dict(os.environ, TMPDIR=os.path.join(self.folder, "none")), check=False)
        self.assertEqual(process.returncode, 66, process.stderr)
        self.assertIn("at=ephemeral exit=66", process.stderr)

    # ---- The program that has started it.

    def test_it_ends_with_its_standard_input(self):
        process, _ = self.serve("--exit-with-stdin", stdin=subprocess.PIPE)
        process.stdin.write("words that nobody reads\n")
        process.stdin.flush()
        time.sleep(0.1)
        self.assertIsNone(process.poll())
        process.stdin.close()
        self.assert_ends(process)

    def test_it_ends_with_a_program_that_is_killed(self):
        program = ("import subprocess, sys\n"
                   "server = subprocess.Popen([sys.argv[1], '--ephemeral', '--exit-with-stdin'], stdin=subprocess.PIPE)\n"
                   "server.wait()\n")
        parent = subprocess.Popen(["python3", "-c", program, PERENNIALD], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, env=dict(os.environ, TMPDIR=self.folder))
        self.addCleanup(self.end, parent)
        said = json.loads(parent.stdout.readline())
        parent.kill()
        end = time.monotonic() + SECONDS
        while os.path.exists(f"/proc/{said['pid']}/fd") and time.monotonic() < end and os.path.exists(said["data_dir"]):
            time.sleep(0.01)
        self.assertFalse(os.path.exists(said["data_dir"]))

    def test_a_standard_input_that_nobody_holds_is_refused(self):
        self.assertIn("at=stdin exit=5", self.refuse("--exit-with-stdin"))

    def test_a_server_that_keeps_its_jobs_may_end_so_too(self):
        process = subprocess.Popen([PERENNIALD, "-b", os.path.join(self.folder, "data"), "-l", "127.0.0.1", "-p", "0",
                                    "--exit-with-stdin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        while "at=listen" not in process.stderr.readline():
            self.assertIsNone(process.poll())
        process.stdin.close()
        self.assertEqual(process.wait(SECONDS), 0)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "data", "db")))
        self.assertEqual(process.stdout.read(), "")

    # ---- What it is not.

    def test_what_contradicts_it_is_refused_in_one_sentence(self):
        cases = {
            ("-b", "jobs"): "--ephemeral has a data directory of its own",
            ("-f", "50"): "--ephemeral never syncs",
            ("--recover", "point-in-time"): "--ephemeral has nothing to recover",
            "data_dir: jobs\n": "--ephemeral has a data directory of its own",
            "durability: commit\n": "--ephemeral never syncs",
            "ballast_bytes: 1MiB\n": "--ephemeral has no ballast",
            "checkpoint_dir: copies\n": "--ephemeral keeps no checkpoint",
            "data_group_access: read\n": "--ephemeral has a directory that nobody else reads",
            "cluster: {name: a, node: b, etcd: [http://h:1], client_address: h:2}\n": "--ephemeral keeps no job",
        }
        with tempfile.NamedTemporaryFile("w+", suffix=".yaml") as file:
            for given, wanted in cases.items():
                with self.subTest(given):
                    if isinstance(given, str):
                        file.seek(0)
                        file.truncate()
                        file.write(given)
                        file.flush()
                        given = ("--config", file.name)
                    lines = self.refuse(*given).splitlines()
                    self.assertTrue(lines[0].startswith("perenniald: " + wanted), lines)
                    self.assertEqual(len(lines), 2, lines)

    def test_how_long_it_takes(self):
        """Printed, and asserted by nobody: what a machine that does much else needs says nothing."""
        times = []
        for _ in range(5):
            begun = time.monotonic()
            process, said = self.serve()
            self.assertEqual(ask(said["port"], "put 0 0 60 1\r\na\r\n"), ["INSERTED 1"])
            times.append((time.monotonic() - begun) * 1000)
            process.terminate()
            process.wait(SECONDS)
        print(f"from the start to the first job: {min(times):.0f} ms, the median {statistics.median(times):.0f} ms")


if __name__ == "__main__":
    unittest.main(verbosity=2)
