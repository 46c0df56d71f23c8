"""What a Python program asks of an MPI library, without NumPy.

Reductions in Python run Python code inside MPI calls, under the interpreter's lock; messages that
hold pickled objects are probed before they are received; and errors arrive as exceptions, by error
handlers that are Python functions or the binding's own. Only rank 0 writes to stdout, and only
what every correct library must print; the last line is "errors = 0".
"""

import array
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()
size = world.Get_size()
failures = 0


def section(name):
    """Say what comes next."""
    if rank == 0:
        print(name, flush=True)


def check(found, expected, what):
    """Count a failure unless both are equal."""
    global failures
    if found != expected:
        failures += 1
        text = f"rank {rank} of {size}: {what}: {found!r}, not {expected!r}"
        print(text, file=sys.stderr, flush=True)


def send_and_receive():
    """Each rank sends to the next, from memory of the interpreter and into it."""
    section("send and receive")
    after = (rank + 1) % size
    before = (rank - 1) % size
    for length in (0, 1, 40, 41, 5000, 300_000):
        sent = bytearray((rank + i) % 256 for i in range(length))
        received = bytearray(length)
        status = MPI.Status()
        request = world.Irecv([received, MPI.BYTE], before, 3)
        world.Send([sent, MPI.BYTE], after, 3)
        request.Wait(status)
        expected = bytearray((before + i) % 256 for i in range(length))
        check(received == expected, True, f"{length} bytes")
        check(status.Get_count(MPI.BYTE), length, "count")
        check(status.Get_source(), before, "source")


def objects():
    """Pickled objects: their length is known only from a matched probe."""
    section("objects")
    after = (rank + 1) % size
    before = (rank - 1) % size
    thing = {"rank": rank, "list": list(range(rank * 1000)), "text": "水路" * rank}
    check(world.sendrecv(thing, after, 5, None, before, 5)["rank"], before, "sendrecv")
    request = world.isend(thing, after, 6)
    check(len(world.recv(source=MPI.ANY_SOURCE, tag=6)["list"]), before * 1000, "recv")
    request.wait()
    check(world.bcast(thing if rank == size - 1 else None, size - 1)["rank"], size - 1, "bcast")
    check([one["rank"] for one in world.allgather(thing)], list(range(size)), "allgather")
    gathered = world.gather(rank * rank, 0)
    check(gathered, [i * i for i in range(size)] if rank == 0 else None, "gather")
    scattered = world.scatter([str(i) for i in range(size)] if rank == 0 else None, 0)
    check(scattered, str(rank), "scatter")
    check(world.alltoall([(rank, i) for i in range(size)]), [(i, rank) for i in range(size)],
          "alltoall")
    check(world.allreduce("ab"[rank % 2]), ("ab" * size)[:size], "allreduce of text")
    check(world.scan(1), rank + 1, "scan")


def broadcast():
    """Buffers of the interpreter, from every root."""
    section("broadcast")
    for root in range(size):
        numbers = array.array("d", [root + i / 2 for i in range(1000)] if rank == root
                              else [0.0] * 1000)
        world.Bcast(numbers, root)
        check(numbers[999], root + 999 / 2, f"broadcast from {root}")


def predefined_reduction():
    """A predefined operation on an array."""
    section("predefined reduction")
    mine = array.array("i", range(rank, rank + 1000))
    total = array.array("i", [0] * 1000)
    world.Allreduce(mine, total, MPI.SUM)
    expected = [size * i + size * (size - 1) // 2 for i in range(1000)]
    check(list(total), expected, "sum")
    world.Allreduce(MPI.IN_PLACE, mine, MPI.MAX)
    check(mine[0], size - 1, "maximum in place")


def compose(incoming, both, _datatype):
    """x -> a*x + b, modulo 65521: associative, not commutative; the left one runs first."""
    first = memoryview(incoming).cast("q")
    second = memoryview(both).cast("q")
    for i in range(0, len(first), 2):
        a, b = first[i], first[i + 1]
        c, d = second[i], second[i + 1]
        second[i] = a * c % 65521
        second[i + 1] = (c * b + d) % 65521


def python_reduction():
    """An operation in Python: in order, for one map and for many, blocking and not."""
    section("reduction in Python")
    operation = MPI.Op.Create(compose, commute=False)
    check(operation.Is_commutative(), False, "commutative")
    pair = MPI.INT64_T.Create_contiguous(2).Commit()

    def maps(ranks, count):
        a, b = 1, 0
        result = array.array("q")
        for i in range(count):
            a, b = 1, 0
            for one in ranks:
                a, b = a * (one + 2 + i) % 65521, ((one + 2 + i) * b + one) % 65521
            result.extend((a, b))
        return result

    for count in (1, 7, 3000):
        mine = maps([rank], count)
        everything = array.array("q", [0] * len(mine))
        expected = maps(range(size), count)
        world.Allreduce([mine, count, pair], [everything, count, pair], operation)
        check(everything == expected, True, f"allreduce of {count}")
        everything = array.array("q", [0] * len(mine))
        request = world.Iallreduce([mine, count, pair], [everything, count, pair], operation)
        turns = 0
        while not request.Test():
            turns += 1
        check(everything == expected, True, f"iallreduce of {count}")
        for root in range(size):
            everything = array.array("q", [0] * len(mine))
            world.Reduce([mine, count, pair], [everything, count, pair], operation, root)
            wanted = expected if rank == root else array.array("q", [0] * len(mine))
            check(everything == wanted, True, f"reduce of {count} to {root}")
    pair.Free()
    operation.Free()


def exceptions():
    """Wrong arguments raise; a Python function may be the error handler, and may call MPI."""
    section("exceptions")
    own = world.Dup()
    own.Set_errhandler(MPI.ERRORS_RETURN)
    try:
        own.Send([b"", MPI.BYTE], size, 0)
        check("nothing", "an exception", "a rank that is not there")
    except MPI.Exception as error:
        check(error.Get_error_class(), MPI.ERR_RANK, "class")

    heard = []

    def handler(comm, code):
        heard.append((comm.Get_size(), MPI.Get_error_class(code)))

    errhandler = MPI.Comm.Create_errhandler(handler)
    own.Set_errhandler(errhandler)
    errhandler.Free()
    for tag in (-5, -6):
        try:
            own.Send([b"", MPI.BYTE], 0, tag)
        except MPI.Exception as error:
            check(error.Get_error_class(), MPI.ERR_TAG, "class after the handler")
    check(heard, [(size, MPI.ERR_TAG)] * 2, "calls of the handler")

    sent = world.isend(b"x" * 100, rank, 8)
    small = bytearray(1)
    try:
        world.Recv([small, MPI.BYTE], rank, 8)
        check("nothing", "an exception", "truncation")
    except MPI.Exception as error:
        check(error.Get_error_class(), MPI.ERR_TRUNCATE, "class of a truncation")
    sent.wait()
    own.Free()


def attributes():
    """Copy and delete callbacks in Python."""
    section("attributes")
    heard = []

    def copied(_comm, _key, value):
        heard.append("copied")
        return value + 1

    def deleted(_comm, _key, value):
        heard.append(f"deleted {value}")

    key = MPI.Comm.Create_keyval(copied, deleted)
    own = world.Dup()
    own.Set_attr(key, 10)
    other = own.Dup()
    check(other.Get_attr(key), 11, "copy")
    own.Free()
    other.Free()
    MPI.Comm.Free_keyval(key)
    check(heard, ["copied", "deleted 10", "deleted 11"], "callbacks")


def communicators():
    """Splitting, and messages on the parts."""
    section("communicators")
    part = world.Split(rank % 2, -rank)
    mine = [one for one in reversed(range(size)) if one % 2 == rank % 2]
    check(part.allgather(rank), mine, "members")
    part.Free()


for run in (send_and_receive, objects, broadcast, predefined_reduction, python_reduction,
            exceptions, attributes, communicators):
    run()
    world.Barrier()
section(f"errors = {world.allreduce(failures)}")
sys.exit(failures != 0)
