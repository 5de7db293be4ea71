#!/usr/bin/env python3
"""T9, request smuggling: what the real server and nginx before it make of the same bytes. PERENNIALD names the server.

There are two nginx: one as Debian has it, one that passes on whatever it can.
"""

import os
import signal
import socket
import subprocess
import time
import unittest

from port import free_port, unpacked
from smuggling import CASES, HONEST, HONEST_ANSWER, Smuggling, answers_in

SETTINGS = """
daemon off;
master_process off;
error_log {folder}/nginx.error;
pid {folder}/nginx.pid;
events {{}}
http {{
  log_format passed '$status "$upstream_addr" "$upstream_status" "$request"';
  access_log {folder}/nginx.log passed;
  client_body_temp_path {folder}/bodies;
  proxy_temp_path {folder}/answers;
  fastcgi_temp_path {folder}/1;
  uwsgi_temp_path {folder}/2;
  scgi_temp_path {folder}/3;
  client_header_timeout 2s;
  client_body_timeout 2s;
  keepalive_timeout 2s;
  lingering_timeout 1s;
  lingering_time 2s;
  proxy_next_upstream off;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Host $http_host;
  # The server limits the requests of an address, so nginx takes that of the client, and now and then a new connection.
  proxy_bind $remote_addr;
  upstream queue {{ server 127.0.0.1:{port}; keepalive 1; keepalive_requests 50; }}
  server {{
    listen 127.0.0.1:{strict};
    location / {{ proxy_pass http://queue; }}
  }}
  server {{
    listen 127.0.0.1:{lenient};
    ignore_invalid_headers off;
    underscores_in_headers on;
    merge_slashes off;
    client_max_body_size 0;
    proxy_request_buffering off;
    location / {{ proxy_pass http://queue; }}
  }}
}}
"""


class BehindNginx(Smuggling):
    def start_nginx(self):
        program = unpacked("nginx", "nginx")
        self.strict, self.lenient = free_port(), free_port()
        settings = os.path.join(self.folder, "nginx.conf")
        with open(settings, "w") as file:
            file.write(SETTINGS.format(folder=self.folder, port=self.port, strict=self.strict, lenient=self.lenient))
        output = open(os.path.join(self.folder, "nginx.output"), "w+")
        self.addCleanup(output.close)
        self.nginx = subprocess.Popen([program, "-p", self.folder, "-c", settings,
                                       "-e", os.path.join(self.folder, "nginx.error")], stdout=output, stderr=output)
        self.addCleanup(self.end_nginx)
        end = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.lenient), 5).close()
                return
            except OSError:
                output.seek(0)
                self.assertIsNone(self.nginx.poll(), output.read())
                self.assertLess(time.monotonic(), end, "nginx does not listen")
                time.sleep(0.02)

    def end_nginx(self):
        if self.nginx.poll() is None:
            self.nginx.send_signal(signal.SIGQUIT)  # What has begun is finished.
            try:
                self.nginx.wait(20)
            except subprocess.TimeoutExpired:
                self.nginx.kill()
                self.nginx.wait()

    def passed_on(self):
        with open(os.path.join(self.folder, "nginx.log"), "rb") as log:
            return sum(1 for line in log if b'"127.0.0.1:' in line)

    def test_T9_alone(self):
        for name, (data, want) in CASES.items():
            with self.subTest(name):
                before = self.seen()
                got = answers_in(self.converse(self.port, data + HONEST, half_close=True))
                self.assertEqual(self.seen() - before, len(got))
                statuses = want.split()
                self.assertEqual(got, [HONEST_ANSWER if status == "+" else status for status in statuses])

    def test_T9_behind_nginx(self):
        self.start_nginx()
        start = self.seen()
        reached = self.see_cases_through(self.strict) + self.see_cases_through(self.lenient)
        self.end_nginx()
        self.assertEqual(self.seen() - start, self.passed_on())
        # Else nginx has refused nearly everything itself, and the test says nothing.
        self.assertGreater(reached, len(CASES) // 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # With the reason where a test is skipped.
