# python3 put.py BODY: puts a job into the tube "mail".
import sys

import greenstalk

with greenstalk.Client(("127.0.0.1", 11300), use="mail") as queue:
    print("job", queue.put(sys.argv[1], ttr=60))
