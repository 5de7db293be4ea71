"""T9, request smuggling: cases that proxies and servers could read in different ways, for the tests beside this file.

Each case goes to the server itself, and through a proxy. Behind the case, on the same connection, comes an honest
request. The server must see as many requests as the proxy has passed on, and nobody may get the answer to another's
request.
"""

import re
import socket
import time

from port import Port

HOST = b"Host: localhost\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n"
HONEST = b"GET /readyz?verbose HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
HONEST_ANSWER = "200 readyz check passed"


def get(target, fields=b"", host=HOST, version=b"HTTP/1.1"):
    return b"GET " + target + b" " + version + b"\r\n" + host + fields + b"\r\n"


def post(fields, body=b"hello", version=b"HTTP/1.1"):
    return b"POST /livez " + version + b"\r\n" + HOST + fields + b"\r\n" + body


def with_length(fields, body=SMUGGLED):
    """A body that is as long as it says for those who do not see what is in `fields`."""
    return post(b"Content-Length: %d\r\n" % len(body) + fields, body)


CHUNKED = b"Transfer-Encoding: chunked\r\n"
LAST_CHUNK = b"0\r\n\r\n"
# The body that ends at once for those who see chunks, and holds a request for the others.
HIDDEN = LAST_CHUNK + SMUGGLED
# What the server itself answers: the statuses, "+" for the honest answer behind them.
CASES = {
    # Lengths and encodings that contradict each other.
    "length, then encoding": (with_length(CHUNKED, HIDDEN), "400"),
    "encoding, then length": (post(CHUNKED + b"Content-Length: %d\r\n" % len(HIDDEN), HIDDEN), "400"),
    "length within a chunk": (post(b"Content-Length: 4\r\n" + CHUNKED,
                                   b"%x\r\n" % len(SMUGGLED) + SMUGGLED + b"\r\n" + LAST_CHUNK), "400"),
    "encoding, length 0": (post(b"Content-Length: 0\r\n" + CHUNKED, HIDDEN), "400"),
    "encoding alone": (post(CHUNKED, b"5\r\nhello\r\n" + LAST_CHUNK), "501"),
    "encoding and a request behind it": (post(CHUNKED, HIDDEN), "501"),
    "unknown encoding": (post(b"Transfer-Encoding: xchunked\r\n"), "501"),
    "unknown encoding and length": (with_length(b"Transfer-Encoding: xchunked\r\n"), "400"),
    "identity": (with_length(b"Transfer-Encoding: identity\r\n"), "400"),
    "two encodings in a list": (post(b"Transfer-Encoding: chunked, identity\r\n", HIDDEN), "501"),
    "two encodings in two fields": (post(CHUNKED + b"Transfer-Encoding: x\r\n", HIDDEN), "400"),
    "encoding twice": (post(CHUNKED + CHUNKED, HIDDEN), "400"),
    "encoding in capitals": (post(b"TRANSFER-ENCODING: CHUNKED\r\n", HIDDEN), "501"),
    "encoding behind a tab": (post(b"Transfer-Encoding:\tchunked\r\n", HIDDEN), "501"),
    "encoding behind a vertical tab": (post(b"Transfer-Encoding:\x0bchunked\r\n", HIDDEN), "400"),
    "encoding in quotes": (post(b'Transfer-Encoding: "chunked"\r\n', HIDDEN), "501"),
    "encoding and a NUL": (post(b"Transfer-Encoding: chunked\0\r\n", HIDDEN), "400"),
    "encoding before a space and the colon": (with_length(b"Transfer-Encoding : chunked\r\n", HIDDEN), "400"),
    "encoding with an underscore": (with_length(b"Transfer_Encoding: chunked\r\n", HIDDEN), "405 +"),
    "encoding behind a bare LF": (with_length(b"A: b\nTransfer-Encoding: chunked\r\n", HIDDEN), "400"),
    "encoding behind a bare CR": (with_length(b"A: b\rTransfer-Encoding: chunked\r\n", HIDDEN), "400"),
    "encoding in a folded line": (with_length(b"A: b\r\n Transfer-Encoding: chunked\r\n", HIDDEN), "400"),
    "encoding whose value is folded": (post(b"Transfer-Encoding:\r\n chunked\r\n", HIDDEN), "400"),
    "encoding whose colon is folded": (with_length(b"Transfer-Encoding\r\n: chunked\r\n", HIDDEN), "400"),
    "encoding of an old client": (post(CHUNKED, HIDDEN, b"HTTP/1.0"), "501"),
    "encoding of an old client that stays": (
        post(CHUNKED + b"Connection: keep-alive\r\n", HIDDEN, b"HTTP/1.0"), "501"),
    # Lengths.
    "two lengths": (post(b"Content-Length: 0\r\nContent-Length: %d\r\n" % len(SMUGGLED), SMUGGLED), "400"),
    "the same length twice": (post(b"Content-Length: 5\r\nContent-Length: 5\r\n"), "400"),
    "a list of lengths": (post(b"Content-Length: 5, 5\r\n"), "400"),
    "a length with a plus": (post(b"Content-Length: +5\r\n"), "400"),
    "a negative length": (post(b"Content-Length: -5\r\n"), "400"),
    "a hexadecimal length": (post(b"Content-Length: 0x5\r\n"), "400"),
    "a length with an underline": (post(b"Content-Length: 1_0\r\n"), "400"),
    "a length and words": (post(b"Content-Length: 5 bytes\r\n"), "400"),
    "an empty length": (post(b"Content-Length:\r\n", SMUGGLED), "400"),
    "a length past 64 bits": (post(b"Content-Length: 18446744073709551621\r\n"), "400"),
    "a length past the limit": (post(b"Content-Length: 1048577\r\n"), "413"),
    "a length with zeros": (post(b"Content-Length: 0005\r\n"), "405 +"),
    "a length with an underscore": (post(b"Content_Length: %d\r\n" % len(SMUGGLED), SMUGGLED), "405 404 +"),
    "a length before a space and the colon": (post(b"Content-Length : %d\r\n" % len(SMUGGLED), SMUGGLED), "400"),
    "a length behind a space": (post(b" Content-Length: %d\r\n" % len(SMUGGLED), SMUGGLED), "400"),
    "a length behind a tab": (post(b"Content-Length:\t5\r\n"), "405 +"),
    "a length that a proxy is told to drop": (with_length(b"Connection: Content-Length\r\n"), "405 +"),
    "a length on a GET": (get(b"/livez", b"Content-Length: %d\r\n" % len(SMUGGLED)) + SMUGGLED, "200 +"),
    "no length, and a body": (post(b"", SMUGGLED), "405 404 +"),
    "a length of 0, and a request behind it": (post(b"Content-Length: 0\r\n", SMUGGLED), "405 404 +"),
    "an old client that stays": (
        post(b"Connection: keep-alive\r\nContent-Length: 5\r\n", b"hello", b"HTTP/1.0") + SMUGGLED, "405 404 +"),
    "expects to go on": (post(b"Content-Length: 5\r\nExpect: 100-continue\r\n"), "405 +"),
    # Chunks.
    "a chunk's extension": (post(CHUNKED, b"5;a=b\r\nhello\r\n" + HIDDEN), "501"),
    "a chunk's extension with a bare LF": (post(CHUNKED, b"5;a\nhello\r\n" + HIDDEN), "501"),
    "a chunk past 64 bits": (post(CHUNKED, b"10000000000000005\r\nhello\r\n" + HIDDEN), "501"),
    "a huge chunk": (post(CHUNKED, b"7fffffffffffffff\r\nhello\r\n" + HIDDEN), "501"),
    "a negative chunk": (post(CHUNKED, b"-5\r\nhello\r\n" + HIDDEN), "501"),
    "a chunk with 0x": (post(CHUNKED, b"0x5\r\nhello\r\n" + HIDDEN), "501"),
    "a chunk with zeros": (post(CHUNKED, b"0000000000005\r\nhello\r\n" + HIDDEN), "501"),
    "a chunk without its end": (post(CHUNKED, b"5\r\nhelloXX" + HIDDEN), "501"),
    "chunks with bare LFs": (post(CHUNKED, b"5\nhello\n0\n\n" + SMUGGLED), "501"),
    "a trailer": (post(CHUNKED, b"0\r\nContent-Length: 50\r\n\r\n" + SMUGGLED), "501"),
    # One nginx passes this on in chunks, too, as it comes.
    "a chunk that comes in parts": (post(CHUNKED, b"4000\r\n" + b"a" * 0x4000 + b"\r\n" + HIDDEN), "501"),
    # Lines.
    "a folded line": (get(b"/livez", b"A: b\r\n c\r\n"), "400"),
    "a line folded by a tab": (get(b"/livez", b"A: b\r\n\tc\r\n"), "400"),
    "bare LFs": (b"GET /livez HTTP/1.1\nHost: localhost\n\n", "400"),
    "a bare LF before the end": (b"GET /livez HTTP/1.1\r\n" + HOST + b"\n" + SMUGGLED, "400"),
    "a bare CR in a value": (get(b"/livez", b"A: b\rc\r\n"), "400"),
    "a NUL in a value": (get(b"/livez", b"A: b\0c\r\n"), "400"),
    "a NUL in a name": (get(b"/livez", b"A\0b: c\r\n"), "400"),
    "a space before the colon": (get(b"/livez", b"A : b\r\n"), "400"),
    "a tab before the colon": (get(b"/livez", b"A\t: b\r\n"), "400"),
    "tabs around a value": (get(b"/livez", b"A:\t b\t \r\n"), "200 +"),
    "no colon": (get(b"/livez", b"A\r\n"), "400"),
    "no name": (get(b"/livez", b": b\r\n"), "400"),
    "a name that is none": (get(b"/livez", b"A(b): c\r\n"), "400"),
    "a name with an underscore": (get(b"/livez", b"A_b: c\r\n"), "200 +"),
    "bytes above ASCII": (get(b"/livez", b"A: \xff\x80\r\n"), "200 +"),
    "empty lines before it": (b"\r\n\r\n" + get(b"/livez"), "200 +"),
    "an empty line with a bare LF before it": (b"\n" + get(b"/livez"), "400"),
    "a header past the limit": (get(b"/livez", b"A: " + b"a" * 8200 + b"\r\n"), "431"),
    "more fields than the limit": (get(b"/livez", b"A: b\r\n" * 64), "431"),
    # The first line.
    "an absolute target": (get(b"http://localhost/livez"), "200 +"),
    "an absolute target with a user": (get(b"http://a@localhost/livez"), "400"),
    "an absolute target of another host": (get(b"http://evil.test/livez"), "400"),
    "a target without a slash": (get(b"livez"), "400"),
    "an asterisk": (b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n", "400"),
    "a tunnel": (b"CONNECT localhost:1 HTTP/1.1\r\n" + HOST + b"\r\n" + SMUGGLED, "400"),
    "a line break in a target": (get(b"/livez%20HTTP/1.1%0d%0aHost:%20a%0d%0a%0d%0aGET%20/smuggled"), "404 +"),
    "dots in a target": (get(b"/a/../livez"), "404 +"),
    "encoded dots in a target": (get(b"/%2e%2e/livez"), "404 +"),
    "two slashes": (get(b"//livez"), "404 +"),
    "an encoded path": (get(b"/%6civez"), "404 +"),
    "an encoded NUL": (get(b"/livez%00"), "404 +"),
    "a percent sign alone": (get(b"/livez%"), "404 +"),
    "a fragment": (get(b"/livez#a"), "404 +"),
    "a semicolon": (get(b"/livez;a=b"), "404 +"),
    "a space in a target": (get(b"/livez /smuggled"), "505"),
    "two spaces": (b"GET  /livez HTTP/1.1\r\n" + HOST + b"\r\n", "400"),
    "a tab for a space": (b"GET\t/livez HTTP/1.1\r\n" + HOST + b"\r\n", "400"),
    "a space at the end": (b"GET /livez HTTP/1.1 \r\n" + HOST + b"\r\n", "400"),
    "a method in small letters": (b"get /livez HTTP/1.1\r\n" + HOST + b"\r\n", "405 +"),
    "a method that is none": (b"G(T /livez HTTP/1.1\r\n" + HOST + b"\r\n", "400"),
    "no version": (b"GET /livez\r\n", "400"),
    "a version in small letters": (get(b"/livez", version=b"http/1.1"), "400"),
    "version 1.2": (get(b"/livez", version=b"HTTP/1.2"), "505"),
    "version 2.0": (get(b"/livez", version=b"HTTP/2.0"), "505"),
    "version 9.9": (get(b"/livez", version=b"HTTP/9.9"), "505"),
    "version 1.10": (get(b"/livez", version=b"HTTP/1.10"), "505"),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"),
    "an upgrade": (get(b"/livez", b"Connection: upgrade\r\nUpgrade: h2c\r\n"), "200 +"),
    # Hosts.
    "no host": (get(b"/livez", host=b""), "400"),
    "two hosts": (get(b"/livez", HOST), "400"),
    "two hosts that differ": (get(b"/livez", b"Host: evil.test\r\n"), "400"),
    "a list of hosts": (get(b"/livez", host=b"Host: localhost, evil.test\r\n"), "421 +"),
    "an empty host": (get(b"/livez", host=b"Host:\r\n"), "421 +"),
    "another host": (get(b"/livez", host=b"Host: evil.test\r\n"), "421 +"),
    # Another protocol.
    "beanstalk": (b"put 0 0 10 1\r\na\r\n", "400"),
    "a first record of TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"),
}


def answers_in(data):
    """The statuses of the answers, and the last line of those that have an own text."""
    found = []
    while data:
        head, mark, rest = data.partition(b"\r\n\r\n")
        line = re.match(rb"HTTP/1\.1 (\d\d\d) ", head)
        if not mark or line is None:
            return found + ["unknown"]
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        size = int(length[1]) if length else 0
        if int(line[1]) >= 200 and not length:
            return found + ["unknown"]
        body, data = rest[:size], rest[size:]
        if int(line[1]) == 100:
            continue
        text = line[1].decode()
        if body.endswith(b"readyz check passed\n"):
            text += " readyz check passed"
        found.append(text)
    return found


class Smuggling(Port):
    def source(self):
        """An address of this machine, each time another one."""
        self.sources = getattr(self, "sources", 0) + 1
        return f"127.0.{1 + self.sources // 250 % 250}.{1 + self.sources % 250}", 0

    def converse(self, port, data, half_close):
        """All that is answered until the connection ends."""
        with socket.create_connection(("127.0.0.1", port), 30, self.source()) as raw:
            out = b""
            try:
                raw.sendall(data)
                if half_close:
                    raw.shutdown(socket.SHUT_WR)
                while piece := raw.recv(65536):
                    out += piece
            except (ConnectionResetError, BrokenPipeError):
                pass  # It was refused before all was sent.
            return out

    def seen(self):
        """How many requests the server has seen, but for those of this function."""
        answer = self.converse(self.port, get(b"/metrics", b"Connection: close\r\n"), half_close=False).decode()
        self.assertTrue(answer.startswith("HTTP/1.1 200 "), answer)
        return sum(int(count) for route, count in re.findall(
            r'perennial_http_requests_total\{route="([^"]*)",code="\d+"\} (\d+)', answer) if route != "/metrics")

    def passed_on(self):
        """How many requests the proxy has passed on, by what it has written down."""
        raise NotImplementedError

    def see_cases_through(self, port):
        """Sends each case to a proxy. Returns how many honest requests were answered on the connection of their case."""
        start, before, reached = self.seen(), self.passed_on(), 0
        for name, (data, _) in CASES.items():
            with self.subTest(name, proxy=port):
                got = answers_in(self.converse(port, data + HONEST, half_close=False))
                # The honest answer is to the honest request, which is the last.
                self.assertNotIn(HONEST_ANSWER, got[:-1])
                reached += got[-1:] == [HONEST_ANSWER]
                # Another client, which gets the connection that the proxy has kept, gets its own answer, too.
                self.assertEqual(answers_in(self.converse(port, HONEST, half_close=False)), [HONEST_ANSWER])
                # A proxy writes a request down when it is done with the connection.
                end = time.monotonic() + 10
                while self.seen() - start != self.passed_on() - before and time.monotonic() < end:
                    time.sleep(0.02)
                self.assertEqual(self.seen() - start, self.passed_on() - before)
        return reached
