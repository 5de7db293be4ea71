"""An earlier build serves, stops or is killed, and this version goes on with its directory; and the ways back.

The environment is that of upgrade_case.py. contents.py and work_load.py say which fields, times and doors there are, and to what they are blind; further blind to: TLS,
users, settings in a file beyond the address and the directory, and HTTP.
"""

import glob
import json
import os
import shutil
import sys
import unittest
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from contents import Contents, facts  # noqa: E402
from ledger import Client  # noqa: E402
from upgrade_case import NEW, UpgradeCase, for_each_earlier  # noqa: E402
from versions import fingerprint  # noqa: E402
from work_load import WorkLoad  # noqa: E402

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden")


@for_each_earlier
class Upgrade(UpgradeCase):
    def filled(self, version):
        """A server of this version with contents, which serves."""
        server = self.server(str(version))
        server.start(version)
        contents = Contents(server.port)
        contents.fill()
        self.addCleanup(contents.close)
        return server, contents

    # -- What was there is there.

    def goes_on(self, how):
        server, contents = self.filled(self.old)
        server.end(how)
        contents.ready_since_start = self.upgrade(server) is not None
        self.assertEqual(contents.check(), [])
        # And again, when this version has written it itself.
        server.end(how)
        server.start(NEW)
        self.expect_all(contents, server)

    def test_goes_on_after_a_stop(self):
        self.goes_on("stop")

    def test_goes_on_after_a_kill(self):
        self.goes_on("kill")

    # -- Under load.

    def replaced_under_load(self, how):
        server = self.server(str(self.old))
        server.start(self.old)
        if self.old.serves:
            server.keep_extensions()
        load = WorkLoad(server.port, server.folder, [self.old, NEW])
        self.addCleanup(load.close)
        load.wait_until_more()
        server.end(how)
        migrated = self.upgrade(server)
        load.wait_until_more()
        if not migrated and self.old.serves:
            server.end(how)
            server.start(self.old)
            load.wait_until_more()
            server.end(how)
            server.start(NEW)
            load.wait_until_more()
        self.assertEqual(load.finish(), [])
        print(f"{self.old}, {how}: {load.put()} jobs put, {len(load.runs())} runs, {load.repeated} of them done before", file=sys.stderr)

    def test_replaced_under_load_by_a_stop(self):
        self.replaced_under_load("stop")

    def test_replaced_under_load_by_a_kill(self):
        self.replaced_under_load("kill")

    # -- The way back: the table of night.md, "Go back to an older version".

    def goes_back(self, how):
        """With the directory that this version has written."""
        server = self.server(str(self.old))
        server.start(self.old)
        server.end("stop")
        migrated = self.upgrade(server)
        contents = Contents(server.port)
        contents.fill()
        self.addCleanup(contents.close)
        server.end(how)
        if migrated:
            self.refuses(server, self.old, "which only a newer program reads")
        elif self.old.refuses:
            self.refuses(server, self.old, "data directory")
        else:
            before = fingerprint(server.data_dir)
            refusal = server.starts_or_refuses(self.old)
            if refusal is None:
                contents.only_keys_of_both = True
                self.expect_all(contents, server)
                return
            self.assertFalse(self.old.serves, refusal)
            self.one_sentence("\n".join(refusal[1]), "exit=65", "data directory")
            self.assertEqual(fingerprint(server.data_dir), before, "a refusal has changed the directory")
        server.start(NEW)
        self.expect_all(contents, server)

    def test_goes_back_after_a_stop(self):
        self.goes_back("stop")

    def test_goes_back_after_a_kill(self):
        self.goes_back("kill")

    def test_what_a_migration_has_set_aside_is_the_way_back(self):
        for tool in (self.old, NEW):
            with self.subTest(restored_by=str(tool)):
                server, contents = self.filled(self.old)
                server.end("stop")
                checkpoint = self.upgrade(server)
                if checkpoint is None:
                    self.skipTest(f"{self.old} has the same format")
                server.end("stop")
                back = self.server("back")
                self.run_tool(tool, "restore", "--exact", "--from", checkpoint, "--to", back.data_dir)
                back.start(self.old)
                self.expect_all(contents, back)

    def test_a_checkpoint_of_before_is_restored_by_both(self):
        server, contents = self.filled(self.old)
        for tool in {self.old, NEW}:
            said = self.run_tool(tool, "checkpoint", "create", "--server", server.address)
            checkpoint = said.split()[-1]
            # What comes later is not in it.
            client = Client([server.port])
            later = int(client.ask(b"put 0 0 60 1\r\nx\r\n")[1])
            client.close()
            for version in (self.old, NEW):
                with self.subTest(made_by=str(tool), restored_by=str(version)):
                    self.run_tool(version, "checkpoint", "verify", checkpoint)
                    back = self.server("restored")
                    if version is NEW and not self.same_format():
                        said = self.run_tool(version, "restore", "--from", checkpoint, "--to", back.data_dir, code=1)
                        self.one_sentence(said, "perennial restore", "restore it with --exact, and then", "perennial migrate")
                        self.assertFalse(os.path.exists(back.data_dir))
                        self.run_tool(version, "restore", "--exact", "--from", checkpoint, "--to", back.data_dir)
                    else:
                        self.run_tool(version, "restore", "--from", checkpoint, "--to", back.data_dir)
                    if version is self.old:
                        back.start(self.old)
                        contents.ready_since_start = False
                    else:
                        contents.ready_since_start = self.upgrade(back) is not None
                    self.expect_all(contents, back)
            client = Client([server.port])
            self.assertEqual(client.ask(b"delete %d\r\n" % later)[0], b"DELETED")
            client.close()

    def test_a_checkpoint_of_this_version(self):
        server, contents = self.filled(NEW)
        checkpoint = self.run_tool(NEW, "checkpoint", "create", "--server", server.address).split()[-1]
        server.end("stop")
        back = self.server("restored")
        done = self.old.tool("restore", "--from", checkpoint, "--to", back.data_dir)
        if done.returncode != 0:
            self.assertFalse(self.old.serves, done.stderr)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.one_sentence(done.stderr, "perennial restore", "newer program")
            self.assertFalse(os.path.exists(back.data_dir) and os.listdir(back.data_dir), "a refused restore has left something")
            return
        if self.old.serves:
            back.start(self.old)
            contents.only_keys_of_both = True
            self.expect_all(contents, back)

    # -- Dumps.

    def test_a_dump_of_before_loads_into_this_version(self):
        server, contents = self.filled(self.old)
        if self.same_format():
            online = self.run_tool(NEW, "dump", "--server", server.address)
        else:
            said = self.run_tool(NEW, "dump", "--server", server.address, code=1)
            self.one_sentence(said, "perennial dump", "use the perennial of the server's version")
            online = self.run_tool(self.old, "dump", "--server", server.address)
        server.end("stop")
        for how, dump in (("while it runs", online), ("stopped", self.run_tool(self.old, "dump", "--data-dir", server.data_dir))):
            with self.subTest(dumped=how):
                loaded = self.server("loaded")
                self.run_tool(NEW, "load", "--data-dir", loaded.data_dir, stdin=dump)
                loaded.start(NEW)
                contents.ready_since_start = True
                self.expect_all(contents, loaded)

    def test_a_dump_of_this_version_loads_if_its_number_is_known(self):
        server, contents = self.filled(NEW)
        server.end("stop")
        dump = self.run_tool(NEW, "dump", "--data-dir", server.data_dir)
        empty = self.server("empty")
        empty.start(self.old)
        empty.end("stop")
        known = json.loads(self.run_tool(self.old, "dump", "--data-dir", empty.data_dir).splitlines()[0])["version"]
        loaded = self.server("loaded")
        if json.loads(dump.splitlines()[0])["version"] > known:
            said = self.run_tool(self.old, "load", "--data-dir", loaded.data_dir, stdin=dump, code=1)
            self.one_sentence(said, "perennial load", "version")
            self.assertFalse(os.path.exists(loaded.data_dir), "a refused dump has left something")
            return
        self.run_tool(self.old, "load", "--data-dir", loaded.data_dir, stdin=dump)
        refusal = loaded.starts_or_refuses(self.old)
        if refusal is None:
            contents.only_keys_of_both = True
            contents.ready_since_start = True
            self.expect_all(contents, loaded)
        else:
            self.assertFalse(self.old.serves, refusal)

    # -- Over the protocol, side by side.

    def test_all_jobs_go_back_over_the_protocol(self):
        server, contents = self.filled(NEW)
        back = self.server("back")
        back.start(self.old)
        contents.close()  # Reserved jobs are left where they are.
        arguments = ["export-beanstalkd", "--server", server.address, "--to", back.address]
        before = server.counts()
        self.run_tool(NEW, *arguments, "--dry-run", "--drop-options")
        self.assertEqual(server.counts(), before, "a dry run has moved jobs")
        if not Contents(back.port).extensions:
            said = NEW.tool(*arguments)
            self.assertEqual(said.returncode, 1, said.stderr)
            self.assertGreater(server.counts()["all"], 0, "jobs went without their options, and nobody had said so")
            for job, fact in contents.noted["jobs"].items():
                client = Client([server.port])
                has_options = any(fact[key] not in ("", "0") for key in ("tries", "expire-left", "idp", "con"))
                self.assertEqual(facts(client, f"stats-job {job}") is not None, has_options, f"job {job}: {fact}")
                client.close()
        self.run_tool(NEW, *arguments, "--drop-options")
        self.assertEqual(server.counts()["all"], 0)
        self.expect_same_bodies(contents, back)

    def test_all_jobs_come_over_the_protocol(self):
        for tool in (self.old, NEW):
            with self.subTest(tool=str(tool)):
                old, contents = self.filled(self.old)
                contents.close()
                new = self.server("new")
                new.start(NEW)
                self.run_tool(tool, "export-beanstalkd", "--server", old.address, "--to", new.address)
                self.assertEqual(old.counts()["all"], 0)
                self.expect_same_bodies(contents, new)

    def expect_same_bodies(self, contents, server):
        """Each body as often as it was put, and each state as often, but that a reserved job is ready."""
        noted = Counter(fact["state"] for fact in contents.noted["jobs"].values())
        counts = server.counts()
        self.assertEqual(
            (counts["ready"], counts["delayed"], counts["buried"]),
            (noted["ready"] + noted["reserved"], noted["delayed"], noted["buried"]),
        )
        client = Client([server.port])
        listed = client.ask(b"list-tubes\r\n")
        tubes = client.body(int(listed[1])).decode().split("\n- ")[1:]
        tubes = [tube.strip().strip('"') for tube in tubes]
        for tube in tubes:
            client.ask(b"pause-tube %s 0\r\n" % tube.encode())
            client.ask(b"set-tube %s reserved:- rate:-\r\n" % tube.encode())
            client.ask(b"use %s\r\n" % tube.encode())
            # Buried ones first, and then delayed ones.
            client.ask(b"kick 100\r\n")
            client.ask(b"kick 100\r\n")
            client.ask(b"watch %s\r\n" % tube.encode())
        found = []
        while (answer := client.ask(b"reserve-with-timeout 0\r\n"))[0] == b"RESERVED":
            found.append(client.body(int(answer[2])))
            client.ask(b"delete %s\r\n" % answer[1])
        client.close()
        self.assertEqual(Counter(found), Counter(contents.jobs.values()))


class Golden(UpgradeCase, unittest.TestCase):
    """The directories that each format has left in tests/golden; tests/migrations compares what is in them, byte by byte."""

    def test_a_golden_directory_is_upgraded_and_serves_under_load(self):
        directories = sorted(glob.glob(os.path.join(GOLDEN, "format_*", "*", "")))
        self.assertGreaterEqual(len(directories), 4, directories)
        for directory in directories:
            with self.subTest(directory=os.path.relpath(directory, GOLDEN)):
                server = self.server("golden")
                shutil.copytree(directory, server.data_dir, copy_function=shutil.copyfile)
                with open(server.config, "a", encoding="utf-8") as config:
                    config.write("accept_clock: true\n")  # They grow older.
                self.upgrade(server)
                before = server.counts()
                self.assertGreater(before["all"], 0)
                load = WorkLoad(server.port, server.folder, [NEW])
                self.addCleanup(load.close)
                load.wait_until_more()
                server.end("kill")
                server.start(NEW)
                load.wait_until_more()
                self.assertEqual(load.finish(), [])
                # Its delays may have ended.
                self.assertEqual(server.counts()["all"], before["all"])


if __name__ == "__main__":
    unittest.main()
