"""Provers in processes of their own.

pyblst holds the interpreter's lock, and native code can crash: so a prover runs in worker processes, which build it again from its
name and settings. ``pool`` keeps them at work, ``worker`` is one of them as the server sees it, ``child`` what runs in it; ``channel`` is
how they talk, ``confine`` what they may do; ``prover`` is the port that use cases get.

Decisions
    Own processes and not ``ProcessPoolExecutor``: that one breaks as a whole when one process dies, cannot end a call that hangs, and
    unpickles what comes back. Here a process that dies costs the one call that it was at, and is replaced.

    JSON both ways. Whatever a prover answers is read like a stranger's request, as the types that the port promises and by the domain's
    own parsers; nothing of it is unpickled, so that a prover can hand the server no object but a proof or what a proof says.

    Death is noticed by waiting for the process, not by the end of its channel: a prover that forks leaves copies of the channel behind.

    A process that is at a call when the caller goes away finishes it, within the deadline: were it killed, strangers who hang up could
    keep the pool starting processes.

    Strangers have a process of their own, and not a lower place in the queue: a call that runs cannot be interrupted, so one of theirs
    would hold up the proof behind it for a hundred milliseconds. It starts with the first stranger, below the priority of the others,
    and has its own bulkhead: what strangers make fail shuts no one else off.

    A worker gets its own settings table, the few variables that every program needs and those that ``prover.environment`` names. No
    process of the service is dumpable, so that a prover cannot read in ``/proc`` what it was not given. The data directory is still open
    to it, as to every program of the account.

    Every worker leads a process group, which is killed with it: what it forked goes too. What it started as a program of its own dies with
    the worker, but not by ``kill -9`` of the server, which no one is left to act on. How many processes an account may have is for the
    container to bound (``pids.max``): ``RLIMIT_NPROC`` would count the server's too.
"""
