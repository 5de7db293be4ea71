"""Stands in for greenstalk 2, which neither Debian nor npm has: of its calls those that the quick start makes, with the
same names, arguments, results and exceptions. Where the real one is installed, it is used instead of this."""
import socket


class Error(Exception):
    pass


class BuriedError(Error):
    pass


class TimedOutError(Error):
    pass


class NotFoundError(Error):
    pass


class UnknownResponseError(Error):
    pass


ERRORS = {b"BURIED": BuriedError, b"TIMED_OUT": TimedOutError, b"NOT_FOUND": NotFoundError}


class Job:
    def __init__(self, id, body):
        self.id = id
        self.body = body


class Client:
    def __init__(self, address, encoding="utf-8", use="default", watch="default"):
        self._sock = socket.create_connection(address)
        self._reader = self._sock.makefile("rb")
        self.encoding = encoding
        if use != "default":
            self._send_cmd(b"use %b" % use.encode(), b"USING")
        if watch != "default":
            self._send_cmd(b"watch %b" % watch.encode(), b"WATCHING")
            self._send_cmd(b"ignore default", b"WATCHING")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._reader.close()
        self._sock.close()

    def _send_cmd(self, command, expected):
        self._sock.sendall(command + b"\r\n")
        line = self._reader.readline()
        if not line:
            raise ConnectionError("unexpected EOF")
        status, *values = line.rstrip().split()
        if status != expected:
            raise ERRORS.get(status, UnknownResponseError)(values)
        return values

    def _read_body(self, size):
        return self._reader.read(size + 2)[:size].decode(self.encoding)

    def put(self, body, priority=2**16, delay=0, ttr=60):
        body = body.encode(self.encoding)
        return int(self._send_cmd(b"put %d %d %d %d\r\n%b" % (priority, delay, ttr, len(body), body), b"INSERTED")[0])

    def reserve(self, timeout=None):
        command = b"reserve" if timeout is None else b"reserve-with-timeout %d" % timeout
        id, size = self._send_cmd(command, b"RESERVED")
        return Job(int(id), self._read_body(int(size)))

    def stats_job(self, job):
        size, = self._send_cmd(b"stats-job %d" % job.id, b"OK")
        pairs = (line.split(": ", 1) for line in self._read_body(int(size)).splitlines() if ": " in line)
        return {key: int(value) if value.isdigit() else value for key, value in pairs}

    def delete(self, job):
        self._send_cmd(b"delete %d" % job.id, b"DELETED")

    def release(self, job, priority=2**16, delay=0):
        self._send_cmd(b"release %d %d %d" % (job.id, priority, delay), b"RELEASED")
