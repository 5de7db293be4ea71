#!/bin/sh
# perenniald with threads that move the bytes of clients (io_threads), for tests that start a server by the name in
# PERENNIALD. IO_THREADS_OF is the program, IO_THREADS how many.
exec "$IO_THREADS_OF" --io-threads "${IO_THREADS:-2}" "$@"
