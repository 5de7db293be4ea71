"""Runs the examples of etc/docs/testing.md that a comment marks, as they stand: <!-- tested: python -->. PERENNIALD and PERENNIAL
name the programs, CLIENTS the folder with what tests/clients has installed from npm."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PERENNIALD = os.path.abspath(os.environ.get("PERENNIALD", "build/perenniald"))
CLIENTS = os.path.abspath(os.environ.get("CLIENTS", "build/tests/clients/node"))
SECONDS = 120
COMMANDS = {"python": ["python3", "example.py"], "node": ["node", "--test", "example.cjs"], "php": ["php", "example.php"]}


def examples():
    """The marked blocks by the program that runs them."""
    with open(os.path.join(HERE, "../../etc/docs/testing.md")) as file:
        found = re.findall(r"<!-- tested: (\w+) -->\n```\w+\n(.*?)```\n", file.read(), re.DOTALL)
    return dict(found)


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perennial-examples-")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_example(self, program, text):
        command = COMMANDS[program]
        with open(os.path.join(self.folder, command[-1]), "w") as file:
            file.write(text)
        os.makedirs(os.path.join(self.folder, "tmp"), exist_ok=True)
        environment = dict(os.environ, PATH=os.path.dirname(PERENNIALD) + ":" + os.environ["PATH"],
                           TMPDIR=os.path.join(self.folder, "tmp"))
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=SECONDS,
                              check=False)

    def assert_works(self, program):
        done = self.run_example(program, examples()[program])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([name for name in os.listdir(os.path.join(self.folder, "tmp")) if name.startswith("perennial")], [])
        return done

    def test_all_are_known(self):
        self.assertEqual(set(examples()), set(COMMANDS))

    def test_python(self):
        self.assertIn("Ran 1 test", self.assert_works("python").stderr)

    def test_node(self):
        subprocess.run([os.path.join(HERE, "../clients/node/install.sh"), CLIENTS], check=True, capture_output=True)
        os.symlink(os.path.join(CLIENTS, "node_modules"), os.path.join(self.folder, "node_modules"))
        self.assertRegex(self.assert_works("node").stdout, r"# pass 1\b")

    def test_php(self):
        self.assertEqual(self.assert_works("php").stdout, "a letter\n")

    def test_an_example_that_fails_is_a_failure(self):
        wrong = examples()["python"].replace("INSERTED 1", "INSERTED 2")
        self.assertEqual(self.run_example("python", wrong).returncode, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
