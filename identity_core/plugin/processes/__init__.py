"""Provers in separate processes.

pyblst holds the interpreter's lock, and native code can crash. So a prover runs in worker processes, which build it
again from its name and settings. ``pool`` keeps them running, ``worker`` is the server's side of one, ``child`` is
its main loop. ``channel`` has the messages, ``confine`` the restrictions. ``prover`` is the port that use cases get.

Decisions
    Own processes and not ``ProcessPoolExecutor``: that class breaks as a whole when one process dies, cannot end a
    call that hangs, and unpickles results. Here a process that dies loses only its current call, and is replaced.

    JSON both ways. The server parses a prover's answer like an untrusted request, as the types of the port and with
    the domain's parsers. It unpickles nothing, so a prover can return only a proof or the content of a proof.

    The server waits for the process to detect its death, not for the end of its channel: a prover that forks leaves
    copies of the channel.

    If the caller leaves, the process finishes the call within the deadline. If it were killed, unauthenticated
    clients that hang up could keep the pool starting processes.

    Unauthenticated clients have a separate process, not a lower place in the queue: a running call cannot be
    interrupted, so one of theirs would delay the next proof by a hundred milliseconds. The process starts with their
    first call and runs below the priority of the others. It has a separate bulkhead, so that their failures shut off
    no other caller.

    A worker gets its own settings table, the few variables that every program needs and those that
    ``prover.environment`` names. No process of the service is dumpable, so a prover cannot read the other variables
    in ``/proc``. It can read the data directory, as every program of the account can.

    Every worker leads a process group, which is killed with it and with its forks. A separate program that it started
    ends with the worker, but not after ``kill -9`` of the server. The container must limit the number of processes of
    the account (``pids.max``): ``RLIMIT_NPROC`` would count the server's too.
"""
