"""A connection to the queue that checks each answer, for the tests beside this file."""

import socket


class Line:
    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), 20)
        self._file = self._socket.makefile("rb")

    def send(self, command):
        self._socket.sendall(command.encode() + b"\r\n")

    def say(self, command, begins=None):
        """The first line of the answer, which has to begin with these words. A body behind it is dropped."""
        self.send(command)
        answer = self._file.readline().decode().rstrip("\r\n")
        if begins is not None and not answer.startswith(begins):
            raise AssertionError(f"{command!r} was answered {answer!r}, and not {begins!r}")
        if answer.startswith("RESERVED "):
            self._file.read(int(answer.split()[-1]) + 2)
        return answer

    def put(self, numbers, options="", body="ten bytes."):
        """The id of the job."""
        command = f"put {numbers} {len(body)}" + (f" {options}" if options else "")
        return int(self.say(f"{command}\r\n{body}", "INSERTED ").split()[1])

    def document(self, command):
        """The keys and values of an answer that is a list of them."""
        rows = self._file.read(int(self.say(command, "OK ").split()[1]) + 2).decode()
        return dict(row.split(": ", 1) for row in rows.splitlines()[1:] if row)

    def close(self):
        self._file.close()
        self._socket.close()
