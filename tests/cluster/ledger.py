"""Producers and workers of a cluster, and a ledger of what they were told."""

import random
import re
import socket
import threading
import time


BACKLOG_MAX = 20_000  # Jobs that wait. Producers pause above it.


class Closed(Exception):
    """The connection has ended, or no node serves."""


class Client:
    """A connection to whichever node serves.

    `addresses`: pairs of a host and a port, or ports of this machine.
    """

    def __init__(self, addresses, timeout=5):
        for address in random.sample(addresses, len(addresses)):
            if isinstance(address, int):
                address = ("127.0.0.1", address)
            try:
                self.socket = socket.create_connection(address, timeout=timeout)
                self.file = self.socket.makefile("rb")
                return
            except OSError:
                continue
        raise Closed("no node serves")

    def ask(self, request):
        """Sends a command, and returns the words of its answer's line."""
        try:
            self.socket.sendall(request)
            line = self.file.readline()
        except OSError as error:
            raise Closed(str(error)) from error
        if not line.endswith(b"\r\n"):
            raise Closed("the connection has ended")
        return line.split()

    def body(self, size):
        try:
            body = self.file.read(size + 2)
        except OSError as error:
            raise Closed(str(error)) from error
        if len(body) != size + 2:
            raise Closed("the connection has ended")
        return body[:size]

    def close(self):
        self.file.close()
        self.socket.close()


def keep_connected(addresses, stopping, use):
    """Calls `use` with a client, and with another one whenever its connection has ended, until `stopping` is set."""
    while not stopping.is_set():
        try:
            client = Client(addresses)
        except Closed:
            time.sleep(0.05)
            continue
        try:
            use(client)
        except Closed:
            time.sleep(0.02)
        finally:
            client.close()


class Clients:
    """Threads with a client each, until stop(). A client is connected again whenever its connection has ended. What it does is _work(client, which)."""

    def __init__(self, addresses, on_fault):
        self.addresses = addresses
        self.fault = on_fault
        self.stopping = threading.Event()
        self.threads = []

    def start(self, each):
        """A thread for each of these, which _work() is told."""
        for which in each:
            self.threads.append(threading.Thread(target=keep_connected, args=(
                self.addresses, self.stopping, lambda client, which=which: self._work(client, which))))
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(60)
            if thread.is_alive():
                self.fault(f"a client of {type(self).__name__} does not end")


class Ledger:
    """What clients did and were told. A body is unique, so it tells jobs from each other."""

    def __init__(self):
        self.lock = threading.Lock()
        self.stored = {}  # The body of each id that was answered INSERTED.
        self.perhaps_stored = set()  # Bodies whose put had no answer.
        self.deleted = set()
        self.perhaps_deleted = set()
        self.notes = {}  # Of each job: how many notes were answered NOTED, how many not, and the text of the last one.
        self.notes_seen = 0
        self.faults = []
        self.last_stored_at = 0.0

    def fault(self, text):
        with self.lock:
            self.faults.append(text)

    def on_inserted(self, job, body):
        with self.lock:
            if job in self.stored:
                self.faults.append(f"id {job} was given twice")
            self.stored[job] = body
            self.last_stored_at = time.monotonic()

    def on_reserved(self, job, body):
        with self.lock:
            if job in self.deleted:
                self.faults.append(f"job {job} was deleted and came back")
            if job in self.stored and self.stored[job] != body:
                self.faults.append(f"job {job} has the body {body}, and was put with {self.stored[job]}")

    def on_deleted(self, job):
        with self.lock:
            self.deleted.add(job)

    def on_note_sent(self, job):
        """Before it is: another worker may get the job and see the note before this one knows that its connection is broken."""
        with self.lock:
            noted, perhaps, last = self.notes.get(job, (0, 0, b""))
            self.notes[job] = (noted, perhaps + 1, last)

    def on_note_answered(self, job, text, is_there):
        with self.lock:
            noted, perhaps, last = self.notes.get(job, (0, 0, b""))
            if perhaps:  # Nobody has listed it meanwhile.
                self.notes[job] = (noted + 1, perhaps - 1, text) if is_there else (noted, perhaps - 1, last)

    def on_notes_listed(self, job, yaml):
        """`yaml`: what `list-notes` says of a job that the client has reserved."""
        numbers = [int(number) for number in re.findall(rb"number: (\d+)", yaml)]
        count = numbers[-1] if numbers else 0
        with self.lock:
            noted, perhaps, last = self.notes.get(job, (0, 0, b""))
            if not noted <= count <= noted + perhaps:
                self.faults.append(f"job {job} has {count} notes, {noted} were answered and {perhaps} not")
            if numbers != list(range(max(1, count - 2), count + 1)):
                self.faults.append(f"job {job} shows the notes {numbers}")
            if noted and not perhaps and last not in yaml:
                self.faults.append(f"job {job} shows {yaml}, and not {last}")
            self.notes[job] = (count, 0, last)
            self.notes_seen += len(numbers)

    def judge(self, found):
        """`found`: the body of each job that is there in the end."""
        for job, body in self.stored.items():
            if job in found:
                if found[job] != body:
                    self.faults.append(f"job {job} has another body in the end")
                if job in self.deleted:
                    self.faults.append(f"job {job} was deleted and is there in the end")
            elif job not in self.deleted and job not in self.perhaps_deleted:
                self.faults.append(f"job {job} is lost")
        for job, body in found.items():
            if job not in self.stored and body not in self.perhaps_stored:
                self.faults.append(f"job {job} was never put: {body}")
        if len(set(found.values())) != len(found):
            self.faults.append("a body is there twice")
        return self.faults


class Load:
    """Threads that put, and threads that reserve and delete, until stop().

    With `notes` a worker leaves one at each fifth job, releases half of those, and looks at the notes of every job
    that it gets: those that were answered are there, in their order. Blind to: notes of two clients at once.
    """

    def __init__(self, addresses, producers=4, workers=3, notes=False):
        self.addresses = addresses
        self.notes = notes
        self.ledger = Ledger()
        self.stopping = threading.Event()
        runs = [self._produce] * producers + [self._work] * workers
        self.threads = [threading.Thread(target=self._run, args=(run, i)) for i, run in enumerate(runs)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(60)
            if thread.is_alive():
                self.ledger.fault("a client does not end")

    def _run(self, run, number):
        count = 0

        def use(client):
            nonlocal count
            while not self.stopping.is_set():
                count += 1
                run(client, f"{number}-{count}-".encode())

        keep_connected(self.addresses, self.stopping, use)

    def _produce(self, client, name):
        if len(self.ledger.stored) - len(self.ledger.deleted) > BACKLOG_MAX:
            time.sleep(0.01)
            return
        body = name + b"x" * random.randrange(200)
        try:
            answer = client.ask(b"put 0 0 30 %d\r\n%s\r\n" % (len(body), body))
        except Closed:
            with self.ledger.lock:
                self.ledger.perhaps_stored.add(body)
            raise
        if answer[0] == b"INSERTED":
            self.ledger.on_inserted(int(answer[1]), body)
        elif answer[0] != b"OUT_OF_MEMORY":
            self.ledger.fault(f"put was answered {answer}")

    def _work(self, client, _name):
        answer = client.ask(b"reserve-with-timeout 1\r\n")
        if answer[0] in (b"TIMED_OUT", b"DEADLINE_SOON"):
            return
        if answer[0] != b"RESERVED":
            self.ledger.fault(f"reserve was answered {answer}")
            return
        job = int(answer[1])
        self.ledger.on_reserved(job, client.body(int(answer[2])))
        if random.random() < 0.5:
            time.sleep(random.random() * 0.01)
        if self.notes and self._is_noted_and_released(client, job):
            return
        try:
            answer = client.ask(b"delete %d\r\n" % job)
        except Closed:
            with self.ledger.lock:
                self.ledger.perhaps_deleted.add(job)
            raise
        if answer[0] == b"DELETED":
            self.ledger.on_deleted(job)
        else:
            self.ledger.fault(f"delete of a reserved job was answered {answer}")


    def _is_noted_and_released(self, client, job):
        answer = client.ask(b"list-notes %d\r\n" % job)
        if answer[0] != b"OK":
            self.ledger.fault(f"list-notes of a reserved job was answered {answer}")
            return False
        self.ledger.on_notes_listed(job, client.body(int(answer[1])))
        if random.random() > 0.2:
            return False
        text = b"note of %d, %d" % (job, random.randrange(1 << 60))
        self.ledger.on_note_sent(job)
        answer = client.ask(b"note %d %d\r\n%s\r\n" % (job, len(text), text))
        self.ledger.on_note_answered(job, text, answer[0] == b"NOTED")
        if answer[0] not in (b"NOTED", b"DENIED", b"OUT_OF_MEMORY"):
            self.ledger.fault(f"note was answered {answer}")
        if random.random() < 0.5:
            return False
        answer = client.ask(b"release %d 0 0\r\n" % job)
        if answer[0] != b"RELEASED":
            self.ledger.fault(f"release of a reserved job was answered {answer}")
        return True


def all_jobs(addresses):
    """The body of each job that is there. Takes all of them."""
    deadline = time.monotonic() + 60
    while True:
        try:
            client = Client(addresses)
            break
        except Closed:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
    found = {}
    while True:
        answer = client.ask(b"reserve-with-timeout 1\r\n")
        if answer[0] != b"RESERVED":
            break
        found[int(answer[1])] = client.body(int(answer[2]))
    client.close()
    return found
