"""Stand-ins for RabbitMQ, SQS and Faktory: of their protocols the calls that the scripts of etc/docs/moving/drain make, with the memory
of what is held and not acknowledged that these scripts rely on. Debian has no SQS and no Faktory, and its RabbitMQ needs all of Erlang."""
import hashlib
import http.server
import json
import socketserver
import struct
import threading
import urllib.parse
import uuid
import xml.sax.saxutils


class StandIn:
    """A server of some messages on a port of its own. Those given out are held until they are acknowledged."""

    def __init__(self, messages, server):
        self.lock = threading.Lock()
        self.waiting = list(messages)
        self.held = {}
        self.server = server
        self.port = server.server_address[1]
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def take(self, name):
        with self.lock:
            if not self.waiting:
                return None
            self.held[name] = self.waiting.pop(0)
            return self.held[name]

    def acknowledge(self, name):
        with self.lock:
            del self.held[name]

    def give_back(self, names=None):
        with self.lock:
            for name in list(self.held if names is None else names):
                if name in self.held:
                    self.waiting.insert(0, self.held.pop(name))

    def left(self):
        with self.lock:
            return len(self.waiting) + len(self.held)


def short(text):
    return bytes([len(text)]) + text.encode()


def long(data):
    return struct.pack(">I", len(data)) + data


class RabbitmqStandIn(StandIn):
    """AMQP 0-9-1 as far as basic.get and basic.ack. Messages are (body, properties); what a connection has not acknowledged comes back
    when it closes, as in RabbitMQ. https://www.rabbitmq.com/resources/specs/amqp0-9-1.pdf"""

    def __init__(self, messages):
        super().__init__(messages, socketserver.ThreadingTCPServer(("127.0.0.1", 0), self.handler()))

    def handler(stand_in):
        class Connection(socketserver.StreamRequestHandler):
            def handle(self):
                self.tags = 0
                self.taken = {}
                assert self.rfile.read(8) == b"AMQP\x00\x00\x09\x01"
                self.method(0, 10, 10, bytes([0, 9]) + long(b"") + long(b"PLAIN") + long(b"en_US"))  # start
                while frame := self.read():
                    self.answer(*frame)
                stand_in.give_back(self.taken.values())

            def read(self):
                head = self.rfile.read(7)
                if len(head) < 7:
                    return None
                kind, channel, size = struct.unpack(">BHI", head)
                payload = self.rfile.read(size + 1)[:-1]
                return (kind, channel, payload)

            def frame(self, kind, channel, payload):
                self.wfile.write(struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce")

            def method(self, channel, kind, number, arguments=b""):
                self.frame(1, channel, struct.pack(">HH", kind, number) + arguments)

            def answer(self, kind, channel, payload):
                if kind != 1:
                    return  # A heartbeat.
                method, arguments = struct.unpack(">HH", payload[:4]), payload[4:]
                if method == (10, 11):  # start-ok
                    self.method(0, 10, 30, struct.pack(">HIH", 10, 131072, 0))  # tune
                elif method == (10, 40):  # open
                    self.method(0, 10, 41, short(""))
                elif method == (10, 50):  # close
                    self.method(0, 10, 51)
                elif method == (20, 10):  # channel.open
                    self.method(channel, 20, 11, long(b""))
                elif method == (20, 40):  # channel.close
                    self.method(channel, 20, 41)
                elif method == (60, 70):  # basic.get
                    assert arguments[-1] == 0, "no-ack loses messages"
                    self.get(channel)
                elif method == (60, 80):  # basic.ack
                    stand_in.acknowledge(self.taken.pop(struct.unpack(">Q", arguments[:8])[0]))

            def get(self, channel):
                self.tags += 1
                name = (id(self), self.tags)
                message = stand_in.take(name)
                if message is None:
                    return self.method(channel, 60, 72, short(""))  # get-empty
                self.taken[self.tags] = name
                body, properties = message
                self.method(channel, 60, 71, struct.pack(">QB", self.tags, 0) + short("") + short("letters") + struct.pack(">I", 0))
                flags = (0x0800 if "priority" in properties else 0) | (0x0080 if "message_id" in properties else 0)
                header = struct.pack(">HHQH", 60, 0, len(body), flags)
                if "priority" in properties:
                    header += bytes([properties["priority"]])
                if "message_id" in properties:
                    header += short(properties["message_id"])
                self.frame(2, channel, header)
                self.frame(3, channel, body)

        return Connection


class SqsStandIn(StandIn):
    """ReceiveMessage and DeleteMessage, in the two forms that versions of boto3 speak: queries with XML, and JSON."""

    def __init__(self, bodies):
        super().__init__([(str(uuid.uuid4()), body.decode()) for body in bodies], http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler()))

    def end_visibility_timeouts(self):
        self.give_back()

    def receive(self, count):
        messages = []
        for _ in range(count):
            receipt = str(uuid.uuid4())
            if (message := self.take(receipt)) is None:
                break
            messages.append({"MessageId": message[0], "ReceiptHandle": receipt, "Body": message[1], "MD5OfBody": hashlib.md5(message[1].encode()).hexdigest()})
        return messages

    def handler(stand_in):
        class Request(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                action = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
                said = json.loads(text) if action else dict(urllib.parse.parse_qsl(text))
                if (action or said["Action"]) == "ReceiveMessage":
                    messages = stand_in.receive(int(said["MaxNumberOfMessages"]))
                    result = {"Messages": messages}
                    xml = "<ReceiveMessageResult>" + "".join("<Message>" + "".join(
                        f"<{name}>{xml_text(value)}</{name}>" for name, value in message.items()) + "</Message>" for message in messages) + "</ReceiveMessageResult>"
                    xml = f"<ReceiveMessageResponse>{xml}</ReceiveMessageResponse>"
                else:
                    stand_in.acknowledge(said["ReceiptHandle"])
                    result, xml = {}, "<DeleteMessageResponse/>"
                answer = json.dumps(result) if action else xml
                self.send_response(200)
                self.send_header("Content-Type", "application/x-amz-json-1.0" if action else "text/xml")
                self.send_header("Content-Length", str(len(answer.encode())))
                self.end_headers()
                self.wfile.write(answer.encode())

            def log_message(self, *_):
                pass

        return Request


def xml_text(value):
    return xml.sax.saxutils.escape(value)


class FaktoryStandIn(StandIn):
    """HELLO with a password, FETCH and ACK. https://github.com/contribsys/faktory/blob/main/docs/protocol-specification.md"""

    def __init__(self, jobs, password):
        self.password = password
        super().__init__(jobs, socketserver.ThreadingTCPServer(("127.0.0.1", 0), self.handler()))

    def end_reservations(self):
        self.give_back()

    def handler(stand_in):
        class Connection(socketserver.StreamRequestHandler):
            def handle(self):
                self.say(b'+HI {"v":2,"s":"salt","i":3}')
                word, hello = self.rfile.readline().decode().split(" ", 1)
                proof = (stand_in.password + "salt").encode()
                for _ in range(3):
                    proof = hashlib.sha256(proof).digest()
                if word != "HELLO" or json.loads(hello)["pwdhash"] != proof.hex():
                    return self.say(b"-ERR Invalid password")
                self.say(b"+OK")
                while line := self.rfile.readline().decode():
                    self.answer(*line.rstrip("\r\n").split(" ", 1))

            def say(self, line):
                self.wfile.write(line + b"\r\n")

            def answer(self, word, rest):
                if word == "FETCH":
                    job = stand_in.take_next()
                    if job is None:
                        return self.say(b"$-1")
                    text = json.dumps(job).encode()
                    return self.say(b"$%d\r\n%b" % (len(text), text))
                assert word == "ACK"
                stand_in.acknowledge(json.loads(rest)["jid"])
                return self.say(b"+OK")

        return Connection

    def take_next(self):
        with self.lock:
            jid = self.waiting[0]["jid"] if self.waiting else None
        return self.take(jid) if jid else None
