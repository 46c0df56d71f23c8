"""A stranger at the TCP port of a job, for tests/hosts/strangers.rs and scripts/faults.

usage: stranger.py record FILE DEVICE       write down how connections begin that pass DEVICE, until
                                            SIGTERM; prints "ready" when that works
       stranger.py visit FILE HOST PORT     visit the port in all ways below at once
       stranger.py flood HOST PORT COUNT    so many connections, of which many are open at once; some of
                                            them say something

garbage  bytes at random, zeros, ones, a request of HTTP
silence  200 connections that say nothing
slow     a byte a second
replay   the first bytes of the sides that opened recorded connections to this port
wrong    the same, each with one bit changed in its first message: what another secret makes of it

Prints for each way how many connections there were, and how many of them the port closed."""

import concurrent.futures
import json
import os
import signal
import socket
import struct
import sys
import time

SILENT = 200
SLOW = 5
# More than a port keeps open before they have proven something, fewer than its queue takes.
FLOOD_AT_ONCE = 100
# Of each recorded connection.
KEPT_BYTES = 4096
# The port is to close every connection long before.
LIMIT_S = 40
ETH_P_ALL, IPV4, IPV6, TCP = 3, 0x0800, 0x86DD, 6
SYN, ACK = 0x02, 0x10


def segment(frame):
    """The TCP segment in a frame: (from, to, sequence number, flags, data); None for others."""
    kind = struct.unpack_from("!H", frame, 12)[0]
    if kind == IPV4 and frame[23] == TCP:
        start = 14 + 4 * (frame[14] & 15)
        end = 14 + struct.unpack_from("!H", frame, 16)[0]
        family, hosts = socket.AF_INET, (frame[26:30], frame[30:34])
    elif kind == IPV6 and frame[20] == TCP:
        start = 54
        end = start + struct.unpack_from("!H", frame, 18)[0]
        family, hosts = socket.AF_INET6, (frame[22:38], frame[38:54])
    else:
        return None
    source, target, sequence, _, length, flags = struct.unpack_from("!HHIIBB", frame, start)
    ends = [(socket.inet_ntop(family, host), port) for host, port in zip(hosts, (source, target))]
    return *ends, sequence, flags, frame[start + 4 * (length >> 4) : end]


def record(path, device):
    """Keeps the first bytes of each side that opens a connection."""
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    wire.bind((device, 0))
    begun = {}  # (from, to): first sequence number, bytes

    def finish(*_):
        flows = [{"to": to, "bytes": data.hex()} for (_, to), (_, data) in begun.items()]
        with open(path, "w") as file:
            json.dump(flows, file)
        os._exit(0)

    signal.signal(signal.SIGTERM, finish)
    print("ready", flush=True)
    while True:
        found = segment(wire.recv(1 << 17))
        if found is None:
            continue
        source, target, sequence, flags, data = found
        if flags & (SYN | ACK) == SYN:
            begun[source, target] = sequence + 1, bytearray()
        first, kept = begun.get((source, target), (0, None))
        if kept is not None and len(kept) < KEPT_BYTES and data:
            # What is sent again is dropped.
            kept += data[len(kept) - (sequence - first) :] if sequence - first <= len(kept) else b""


def changed(data):
    """A bit of the last byte of the first message: it is a part of what proves the secret."""
    data = bytearray(data)
    data[min(len(data), 58) - 1] ^= 1
    return bytes(data)


def visits(path, host, port):
    """For each way, what each connection says."""
    addresses = {info[4][0] for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    addresses |= {info[4][0] for info in socket.getaddrinfo(f"{host}-v6", port)}
    with open(path) as file:
        flows = [flow for flow in json.load(file) if flow["to"][1] == port and flow["to"][0] in addresses]
    said = [bytes.fromhex(flow["bytes"]) for flow in flows if flow["bytes"]]
    http = b"GET / HTTP/1.1\r\nHost: node\r\n\r\n"
    return {
        "garbage": [os.urandom(100_000), bytes(100_000), b"\xff" * 100_000, b"\x01", http],
        "silence": [b""] * SILENT,
        "replay": said,
        "wrong": [changed(data) for data in said],
    }


def is_closed(host, port, text):
    """Whether the port closes a connection that says this."""
    try:
        with socket.create_connection((host, port), LIMIT_S) as wire:
            wire.sendall(text)
            end = time.monotonic() + LIMIT_S
            while wire.recv(1 << 16):  # An answer, but not the end.
                wire.settimeout(max(0, end - time.monotonic()))
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def is_closed_slowly(host, port):
    """Whether the port closes a connection that sends a byte a second."""
    try:
        with socket.create_connection((host, port), LIMIT_S) as wire:
            wire.settimeout(1)
            for number in range(LIMIT_S):
                wire.sendall(bytes([number]))
                try:
                    if not wire.recv(1 << 16):
                        return True
                except TimeoutError:
                    pass
    except OSError:
        return True
    return False


def visit(path, host, port):
    ways = visits(path, host, port)
    with concurrent.futures.ThreadPoolExecutor(SLOW + sum(map(len, ways.values()))) as pool:
        closed = {
            way: [pool.submit(is_closed, host, port, text) for text in texts]
            for way, texts in ways.items()
        }
        closed["slow"] = [pool.submit(is_closed_slowly, host, port) for _ in range(SLOW)]
        for way, results in closed.items():
            print(way, len(results), sum(result.result() for result in results))


def flood(host, port, count):
    texts = [b"", b"\x01", os.urandom(300), b"GET / HTTP/1.1\r\n\r\n"]
    with concurrent.futures.ThreadPoolExecutor(FLOOD_AT_ONCE) as pool:
        # Most of them leave again at once, as a scan of ports does.
        visits = [
            pool.submit(is_closed if number % 20 == 0 else leaves, host, port, texts[number % 4])
            for number in range(count)
        ]
        print("flood", count, sum(visit.result() for visit in visits))


def leaves(host, port, text):
    """Says this and closes the connection; whether there was one."""
    try:
        with socket.create_connection((host, port), LIMIT_S) as wire:
            wire.sendall(text)
    except ConnectionError:
        pass
    except OSError:
        return False
    return True


match sys.argv[1:]:
    case ["record", path, device]:
        record(path, device)
    case ["visit", path, host, port]:
        visit(path, host, int(port))
    case ["flood", host, port, count]:
        flood(host, int(port), int(count))
    case _:
        sys.exit(__doc__)
