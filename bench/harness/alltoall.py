# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the rate of the links of a cluster if all hosts send to all hosts at the same time, by plain TCP. mpirun
starts this program on each host. Its argument is the number of MB that each host sends to each other host. Each rank
prints the bytes received per second, without packet headers."""

import os
import selectors
import socket
import sys
import threading
import time

PORT, PIECE = 5711, 1 << 18
CONNECT_S = 20


def connected(to):
    """Connect to a host; retry for a while, because it may not listen yet."""
    end = time.monotonic() + CONNECT_S
    while True:
        try:
            return socket.create_connection((f"n{to}", PORT), timeout=CONNECT_S)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def connect_all(rank, size):
    """Return the connections to all other hosts, and those from them."""
    with socket.create_server(("", PORT), backlog=size) as server:
        server.settimeout(CONNECT_S)
        out = []
        maker = threading.Thread(target=lambda: out.extend(connected(k) for k in range(size) if k != rank))
        maker.start()
        come = [server.accept()[0] for _ in range(size - 1)]
        maker.join()
    if len(out) != size - 1:
        raise OSError("not all hosts can be reached")
    return out, come


def meet(out, come):
    """Wait until all hosts have called this."""
    for s in out:
        s.sendall(b".")
    for s in come:
        s.recv(1)


def exchange(out, come, count):
    """Send count bytes through each outgoing connection, and receive count bytes from each incoming one."""
    piece, look = bytes(PIECE), selectors.DefaultSelector()
    left = {s: count for s in out + come}
    for s in left:
        s.setblocking(False)
        look.register(s, selectors.EVENT_WRITE if s in out else selectors.EVENT_READ)
    while left:
        for key, _ in look.select():
            s = key.fileobj
            want = min(left[s], PIECE)
            done = s.send(piece[:want]) if key.events == selectors.EVENT_WRITE else len(s.recv(want))
            if not done:
                raise OSError("a host has gone")
            left[s] -= done
            if not left[s]:
                look.unregister(s)
                del left[s]


def main():
    rank, size = (int(os.environ[f"OMPI_COMM_WORLD_{name}"]) for name in ("RANK", "SIZE"))
    count = int(float(sys.argv[1]) * 1e6)
    out, come = connect_all(rank, size)
    meet(out, come)
    start = time.monotonic()
    exchange(out, come, count)
    took = time.monotonic() - start
    print(f"received {count * (size - 1) / took:.0f}", flush=True)


if __name__ == "__main__":
    main()
