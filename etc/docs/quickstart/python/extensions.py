# python3 extensions.py: what greenstalk has no function for.
import greenstalk

queue = greenstalk.Client(("127.0.0.1", 11300))


def ask(line, body, answer):
    """The values behind the first word of the answer. Another first word is an exception."""
    return queue._send_cmd(b"%b\r\n%b" % (line, body), answer)


def put(body, options):
    return ask(b"put 1024 0 60 %d %b" % (len(body), options), body, b"INSERTED")


print(put(b"June", b"tube:reports idp:june"))  # Unique by its key.
print(put(b"June", b"tube:reports idp:june"))  # So this one is not put, and the answer names the first.
print(put(b"July", b"tube:reports tries:5 backoff:10:600 dead:reports-dead"))

items = b"1024 0 60 3\r\none\r\n1024 0 60 3\r\ntwo"  # Two jobs in one step: all are put, or none.
print(ask(b"put-batch 2 %d tube:reports" % len(items), items, b"INSERTED_BATCH"))
for _ in range(2):
    print(queue._reader.readline())
