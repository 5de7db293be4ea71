#!/usr/bin/env python3
"""What openapi-typescript makes of the description that the server gives works a queue: PERENNIALD names the server.

generated/worker.ts is compiled with those types, strictly, so a description that says less or other than what is sent
and answered is an error of the compiler; and then it runs. GENERATED is the folder that its modules were installed into.

Blind: paths that the worker does not call, which have types and no request; other generators.
"""

import json
import os
import shutil
import subprocess
import unittest

from port import Port

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "generated")
MODULES = os.environ.get("GENERATED", "build/tests/http/generated")


class Generated(Port):
    def run_in(self, folder, *command):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_typed_client_works_a_queue(self):
        folder = os.path.join(self.folder, "client")
        os.mkdir(folder)
        for name in ("worker.ts", "tsconfig.json", "package.json"):
            shutil.copy(os.path.join(SOURCES, name), folder)
        os.symlink(os.path.abspath(os.path.join(MODULES, "node_modules")), os.path.join(folder, "node_modules"))
        with open(os.path.join(folder, "openapi.json"), "w") as file:
            file.write(self.ask("/api/v1/openapi.json")[1])
        self.run_in(folder, "node_modules/.bin/openapi-typescript", "openapi.json", "-o", "api.d.ts")
        self.run_in(folder, "node_modules/.bin/tsc", "--project", ".")
        seen = json.loads(self.run_in(folder, "node", "made/worker.js", f"http://127.0.0.1:{self.port}"))
        self.assertEqual(seen, {
            "put": [{"jobs": [{"id": id, "duplicate": duplicate} for id in ("1", "2")]} for duplicate in (False, True)],
            "bodies": ["a letter", "another"],
            "late": 409,
            "failures": [["mail", "no such address", 1]],
            "kicked": "ready",
            "ready": [[None, 20], ["1", 10]],
        })


if __name__ == "__main__":
    unittest.main()
