"""What tests of upgrades share: the versions, and servers that end with their test.

PERENNIALD names the server of this version, beside which `perennial` lies. EARLIER lists the earlier ones, with spaces between: NAME=FOLDER:BACK, where
FOLDER holds their programs, and BACK says what they do with what this version has written, as in the file earlier_commits. Without it this version stands for an earlier one, so that what the test itself does is tried in each run.
"""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from versions import Server, Version, fingerprint  # noqa: E402

PROGRAMS = os.path.dirname(os.path.abspath(os.environ["PERENNIALD"]))
NEW = Version("new", PROGRAMS)
EXIT_NOT_OURS = 65  # The directory is of another version.


def earlier_versions():
    versions = []
    for entry in os.environ.get("EARLIER", f"itself={PROGRAMS}:serves").split():
        name, folder_and_back = entry.split("=", 1)
        folder, back = folder_and_back.rsplit(":", 1)
        assert back in ("serves", "serves-alone", "refuses", "either"), entry
        version = Version(name, folder)
        version.serves = back in ("serves", "serves-alone")  # A directory that this version has written.
        version.refuses = back == "refuses"
        version.rolls_back = back == "serves"  # In a cluster.
        version.refuses_log = back in ("serves-alone", "refuses")
        versions.append(version)
    return versions


def for_each_earlier(case):
    """A class of tests for each earlier version, in the module of `case`: its attribute `old` is the version."""
    module = sys.modules[case.__module__]
    for version in earlier_versions():
        name = f"{case.__name__}_{version.name.replace('-', '_').replace('.', '_')}"
        setattr(module, name, type(name, (case, unittest.TestCase), {"old": version, "__module__": case.__module__}))
    return case


class UpgradeCase:
    """Mixed into unittest.TestCase by for_each_earlier()."""

    def server(self, name="server"):
        # In memory where that can be done: what the disk does is tested elsewhere.
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        folder = tempfile.mkdtemp(prefix=f"perennial-upgrade-{name}-", dir=base)
        self.addCleanup(shutil.rmtree, folder, True)
        server = Server(folder)
        self.addCleanup(server.close)
        return server

    def run_tool(self, version, *arguments, code=0, stdin=None):
        """Returns what it printed: its results, or with another exit code what is wrong."""
        done = version.tool(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, code, f"perennial {' '.join(arguments)} of {version}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def one_sentence(self, text, *words):
        """It is one line that holds these words."""
        lines = text.splitlines()
        self.assertEqual(len(lines), 1, text)
        for word in words:
            self.assertIn(word, lines[0])

    def refuses(self, server, version, *words):
        """The version refuses the directory in one line with these words, and changes no byte of it."""
        before = fingerprint(server.data_dir)
        code, lines = server.refusal(version)
        self.assertEqual(code, EXIT_NOT_OURS, lines)
        self.one_sentence("\n".join(lines), "level=error", f"exit={EXIT_NOT_OURS}", *words)
        self.assertEqual(fingerprint(server.data_dir), before, "a refusal has changed the directory")

    def needs_migration(self, server):
        """Whether a stopped server's directory is of an older format. Asking changes nothing."""
        before = fingerprint(server.data_dir)
        said = self.run_tool(NEW, "migrate", "--data-dir", server.data_dir, "--dry-run")
        self.assertEqual(fingerprint(server.data_dir), before, "a dry run has changed the directory")
        return "would run" in said

    def same_format(self):
        """Whether the earlier version writes the format of this one."""
        server = self.server("empty")
        server.start(self.old)
        server.end("stop")
        return not self.needs_migration(server)

    def upgrade(self, server):
        """As operations.md says, of a server that has ended. Returns the checkpoint that a migration has made; None: none was needed."""
        if not self.needs_migration(server):
            server.start(NEW)
            return None
        self.refuses(server, NEW, "perennial migrate --data-dir")
        said = self.run_tool(NEW, "migrate", "--data-dir", server.data_dir)
        checkpoint = next(line for line in said.splitlines() if line.startswith("checkpoint")).split(": ")[1]
        server.start(NEW)
        return checkpoint

    def expect_all(self, contents, server):
        """The server has everything, field by field, and workers get it in order."""
        contents.port = server.port
        self.assertEqual(contents.check(), [])
        self.assertEqual(contents.work_off(), [])
