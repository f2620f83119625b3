"""How functions are compiled, and where compiled code is kept.

Numba's disk cache notices an edit of the file that holds a kernel, but not of other files whose
functions the kernel calls. Here the cache folder of a kernel is named after the contents of its own
file and of all files that it imports, directly or indirectly. After an edit of one of these the
kernel is compiled again, once, and old code never runs; other edits have no effect. A kernel is not
kept if a file has changed since this process began, since the code in memory may be older than the
file. Many processes may share the cache: each writes its own files, and code that is damaged, or
cannot be written, is compiled again.
Kernels are kept in the user's cache folder, or below ``NUMBA_CACHE_DIR`` if that is set, but only
where nobody else can write: code that others put there would be run.
``NUMBA_DISABLE_JIT=1`` runs everything as plain Python, ``NUMBA_BOUNDSCHECK=1`` checks all indices.
"""

from replay.jit.functions import (
    address_of,
    as_int,
    call,
    count_up_to,
    inlined,
    jitable,
    kernel,
    loop_kernel,
    own_code,
    uncached_kernel,
    working_seconds,
)

__all__ = ["address_of", "as_int", "call", "count_up_to", "inlined", "jitable", "kernel"]
__all__ += ["loop_kernel", "own_code", "uncached_kernel", "working_seconds"]
