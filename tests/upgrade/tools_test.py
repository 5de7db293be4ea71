"""The tool of one version at a server of another: this one's at an earlier server, and an earlier one's at this server.

The environment is that of upgrade_case.py. What a command says is compared with what the server says over the protocol. What the server does not know is refused in one
sentence with exit code 1, and changes nothing. `perennial work` is in work_load.py, `perennial cluster` in rolling_test.py, and moves, dumps and restores are in upgrade_test.py.

Blind to: commands that take a terminal, TLS and tokens, and the layout of tables.
"""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from contents import COUNTS, Contents, facts, names  # noqa: E402
from ledger import Client  # noqa: E402
from upgrade_case import NEW, UpgradeCase, for_each_earlier  # noqa: E402


@for_each_earlier
class Tools(UpgradeCase):
    def begin(self, tool, version):
        self.tool = tool
        self.its_server = self.server(str(version))
        self.its_server.start(version)
        self.contents = Contents(self.its_server.port)
        self.contents.fill()
        self.addCleanup(self.contents.close)
        self.client = Client([self.its_server.port])
        self.addCleanup(self.client.close)

    def run_here(self, *arguments, **how):
        command, *rest = arguments
        words = [command] if command not in ("set", "checkpoint") else [command, rest.pop(0)]
        return self.run_tool(self.tool, *words, "--server", self.its_server.address, *rest, **how)

    def facts_of(self, job):
        return facts(self.client, f"stats-job {job}")

    def test_this_tool_at_an_earlier_server(self):
        self.begin(NEW, self.old)
        self.try_all()
        self.assertIn("OK", self.run_here("check"))
        self.work_off_a_tube()

    def test_an_earlier_tool_at_this_server(self):
        self.begin(self.old, NEW)
        self.try_all()
        if "work" in self.old.subcommands:
            self.work_off_a_tube()

    def try_all(self):
        self.looks()
        self.changes()
        self.lists()
        self.extends()
        self.copies()

    def looks(self):
        said = json.loads(self.run_here("stats", "--json"))
        here = facts(self.client, "stats")
        for key in COUNTS + ("max-job-size", "pid", "version", "id"):
            self.assertEqual(str(said[key]), here[key], key)
        self.assertRegex(self.run_here("stats"), rf"\n  pid +{here['pid']}\n")
        tubes = {tube["name"]: tube for tube in json.loads(self.run_here("tubes", "--json"))}
        self.assertEqual(set(tubes), set(names(self.client, "list-tubes")))
        for name, tube in tubes.items():
            here = facts(self.client, f"stats-tube {name}")
            for key in COUNTS + ("pause", "total-jobs"):
                self.assertEqual(str(tube[key]), here[key], f"{name}: {key}")
        text = self.run_here("tubes")
        for name in ("default", "buried", "paused"):
            self.assertIn(f"\n{name} ", text)
        self.assertIn("buried", self.run_here("stats", "--tube", "buried"))
        self.assertIn("default", self.run_here("top", "--once", "--interval", "1"))
        for job, body in self.contents.jobs.items():
            self.assertEqual(self.tool_bytes("peek", str(job), "--body"), body)
        job = self.contents.buried[0]
        said = json.loads(self.run_here("peek", "--buried", "--tube", "buried", "--json"))
        self.assertEqual((int(said["id"]), said["state"], said["body"].encode()), (job, "buried", self.contents.jobs[job]))

    def tool_bytes(self, *arguments):
        done = subprocess.run(
            [self.tool.perennial, *arguments, "--server", self.its_server.address], capture_output=True, timeout=60, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def changes(self):
        job = int(self.run_here("put", "a letter", "--tube", "tool", "--pri", "7", "--delay", "600", "--ttr", "33"))
        here = self.facts_of(job)
        self.assertEqual((here["tube"], here["state"], here["pri"], here["delay"], here["ttr"]), ("tool", "delayed", "7", "600", "33"))
        self.run_here("kick", str(job))
        self.assertEqual(self.facts_of(job)["state"], "ready")
        self.run_here("bury", str(job))
        self.assertEqual(self.facts_of(job)["state"], "buried")
        self.run_here("kick", "--tube", "tool", "--count", "5")
        self.assertEqual(self.facts_of(job)["state"], "ready")
        self.run_here("pause", "tool", "600")
        self.assertEqual(facts(self.client, "stats-tube tool")["pause"], "600")
        self.run_here("pause", "tool", "0")
        self.assertEqual(facts(self.client, "stats-tube tool")["pause"], "0")
        self.run_here("delete", str(job))
        self.assertIsNone(self.facts_of(job))
        self.run_here("put", "--lines", "--tube", "lines", stdin="one\ntwo\nthree\n")
        self.assertEqual(facts(self.client, "stats-tube lines")["current-jobs-ready"], "3")

    def lists(self):
        if "list" not in self.tool.subcommands:
            return
        if not self.contents.knows("list-jobs"):
            self.one_sentence(self.run_here("list", "buried", code=1), "perennial list", "an older version")
            return
        said = json.loads(self.run_here("list", "buried", "--json"))
        self.assertEqual(sorted(int(job["id"]) for job in said["jobs"]), sorted(self.contents.buried))
        self.assertIn("buried", self.run_here("list", "buried"))

    def extends(self):
        """What only a server of format 2 can keep."""
        if "flush" not in self.tool.subcommands:
            return
        yes = ["--yes"] if "--yes" in self.tool.tool("flush", "--help").stdout else []
        with_options = ["put", "a parcel", "--tube", "options", "--tries", "3", "--idp", "parcel"]
        if not self.contents.extensions:
            before = facts(self.client, "stats")
            for arguments in (
                with_options, ["set", "tube", "lines", "--tries", "3"], ["set", "job", str(self.contents.buried[0]), "--pri", "1"],
                ["flush", "lines", *yes], ["move", "lines", "other", *yes],
            ):  # fmt: skip
                self.one_sentence(self.run_here(*arguments, code=1), f"perennial {arguments[0]}", "an older version")
            after = facts(self.client, "stats")
            self.assertEqual([after[count] for count in COUNTS], [before[count] for count in COUNTS])
            return
        job = int(self.run_here(*with_options))
        here = self.facts_of(job)
        self.assertEqual((here["tries"], here["idp"]), ("3", "parcel"))
        self.run_here("set", "job", str(job), "--pri", "9")
        self.assertEqual(self.facts_of(job)["pri"], "9")
        self.run_here("set", "tube", "options", "--tries", "8")
        self.assertEqual(facts(self.client, "stats-tube options")["tries"], "8")
        self.run_here("move", "options", "other", *yes)
        self.assertEqual(self.facts_of(job)["tube"], "other")
        self.run_here("flush", "other", *yes)
        self.assertIsNone(self.facts_of(job))

    def copies(self):
        checkpoint = self.run_here("checkpoint", "create").split()[-1]
        self.run_tool(self.tool, "checkpoint", "verify", checkpoint)
        self.assertIn(os.path.basename(checkpoint), self.run_tool(self.tool, "checkpoint", "list", "--data-dir", self.its_server.data_dir))
        total = facts(self.client, "stats")
        jobs = sum(int(total[count]) for count in COUNTS[1:])
        summary = self.tool.tool("dump", "--server", self.its_server.address, "--summary", "--json")
        dump = self.tool.tool("dump", "--server", self.its_server.address)
        if self.same_format():
            self.assertEqual(dump.returncode, 0, dump.stderr)
            self.assertEqual(sum('"id":' in line for line in dump.stdout.splitlines()), jobs)
            self.assertEqual(summary.returncode, 0, summary.stderr)
        else:
            # A copy of files of another format.
            for refused in (dump, summary):
                self.assertEqual(refused.returncode, 1)
                self.one_sentence(refused.stderr, "perennial dump", "format")

    def work_off_a_tube(self):
        self.run_here("work", "--tube", "lines", "--drain", "--", "true")
        self.assertIsNone(facts(self.client, "stats-tube lines"))


if __name__ == "__main__":
    unittest.main()
