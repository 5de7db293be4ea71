#!/usr/bin/env python3
"""The version has one home, `project(... VERSION)` in CMakeLists.txt, and whatever tells a version tells that one.

PERENNIALD names the server, PERENNIAL the tool; the benchmark is beside it. What the package is made of is in the folder of the build.
"""

import os
import re
import subprocess
import unittest

from port import PERENNIALD, Port

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PERENNIAL = os.environ.get("PERENNIAL", "build/perennial")
BUILD = os.path.dirname(os.path.abspath(PERENNIALD))


def text_of(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


def first(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1) if found else f"nothing like {pattern}"


VERSION = first(r"^project\(perennial VERSION (\S+) ", text_of(ROOT, "CMakeLists.txt"))


class Version(Port):
    def test_is_three_numbers(self):
        self.assertRegex(VERSION, r"^\d+\.\d+\.\d+$")

    def test_programs(self):
        for name in ("perenniald", "perennial", "perennial-bench"):
            program = os.path.join(BUILD, name)
            said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
            self.assertEqual(said.split()[-1], VERSION, name)

    def test_doors_of_the_server(self):
        self.assertEqual(self.stats()["perennial-version"].strip('"'), VERSION)
        metrics = self.ask("/metrics")[1]
        self.assertEqual(first(r'^perennial_build_info\{.*version="([^"]*)"', metrics), VERSION)
        self.assertEqual(self.api("/openapi.json")[1]["info"]["version"], VERSION)
        self.assertEqual(self.api("/server")[1]["version"], VERSION)

    def test_pages_of_the_manual(self):
        for path in ("package/perenniald.8", "documents/man/perennial.1", "documents/man/perennial-put.1", "documents/man/perennial.yaml.5"):
            self.assertEqual(first(r'^\.TH .* "Perennial ([^"]*)" ', text_of(BUILD, path)), VERSION, path)

    def test_package(self):
        self.assertEqual(first(r'^set\(CPACK_PACKAGE_VERSION "([^"]*)"', text_of(BUILD, "CPackConfig.cmake")), VERSION)
        self.assertEqual(first(r"^perennial \(([^-]*)-", text_of(BUILD, "package/changelog.Debian")), VERSION)

    def test_changes(self):
        """The newest section that has a number is this version's, and has a day."""
        self.assertEqual(first(r"^## (\d+\.\d+\.\d+), \d{4}-\d\d-\d\d$", text_of(ROOT, "etc/CHANGES.md")), VERSION)


if __name__ == "__main__":
    unittest.main()
