#!/usr/bin/env python3
"""The tables of "The log" in etc/docs/operations.md have every event of the server, and no other.

An event is a literal in the sources that is given to the log. Blind: a name that is put together while the
server runs.
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Names with a dot are found wherever they stand, since many go through functions that pass them on.
AREAS = "store|cluster|conn|body|ended|history|checkpoint|tls|loop|config|users|stop|start|log|io|io_uring|listen|ephemeral|stdin|schedules"
DOTTED = re.compile(r'"((?:%s)(?:\.[a-z_]+)+)"' % AREAS)
LINE = re.compile(r'"at=([a-z_.]+) ')
PLAIN = re.compile(r'(?:Level::\w+,|common::exit_\w+,)\s*"([a-z_]+)"')
# Settings, which are named in messages.
NO_EVENTS = {
    "cluster.peer_ca", "cluster.peer_token_file",
    "tls.certificate", "tls.key", "tls.client", "tls.client_ca", "tls.crl",
}
# Said by a Reader to whoever opened it, which is a tool.
OF_TOOLS = re.compile(r"store\.\w+_would_\w+")


def events_of_sources():
    found = {}
    for folder in ("cmd/perenniald", "store"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".cc", ".h"):
                continue
            text = path.read_text()
            for name in DOTTED.findall(text) + LINE.findall(text) + PLAIN.findall(text):
                if name not in NO_EVENTS and not OF_TOOLS.fullmatch(name):
                    found.setdefault(name, str(path.relative_to(ROOT)))
    return found


def events_of_document():
    text = (ROOT / "etc/docs/operations.md").read_text()
    section = text[text.index("\n## The log\n"):]
    section = section[:section.index("\n## ", 1)]
    names = []
    for line in section.splitlines():
        if line.startswith("| `") and "at=" not in line.split("|")[1]:
            names += re.findall(r"`([a-z_.]+)`", line.split("|")[1])
    return names


class Events(unittest.TestCase):
    def test_each_is_explained_once(self):
        explained = events_of_document()
        self.assertGreater(len(explained), 60)
        self.assertEqual(sorted(explained), sorted(set(explained)), "an event has two rows")
        logged = events_of_sources()
        missing = {name: path for name, path in logged.items() if name not in explained}
        self.assertEqual({}, missing, "events without a row in operations.md, and a file that logs each")
        self.assertEqual(set(), set(explained) - set(logged), "rows of events that nobody logs")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
