"""How numba compiles the loop of a learner, and functions that only other compiled code calls.

Numba optimises each function as a whole and turns it into machine code, then does so again for
each function that calls it, since the code of the called function becomes part of the caller's: in
a loop whose functions call one another five deep, five times, and only the last result is ever run.
Here such a function stays as it is until it has been linked into a kernel, and is optimised there.
That saves a third of the time, and kernels are as fast. Such a function cannot print, which needs
an environment that only machine code of its own has.

The loop is then optimised as a whole, which takes longest by far for the learners that plan, and
makes their steps no faster: what counts in them was optimised function by function. It is left out
where there is much code. The time of compiling is stopped, too, since it does not count as work.
"""

import gc
import time
from typing import Any

import numba
import numba.core.codegen
import numba.core.compiler
import numba.core.event

__all__ = ["LinkedCompiler", "LoopCompiler", "working_seconds"]

_codegen: Any = numba.core.codegen
_compiler: Any = numba.core.compiler
_event: Any = numba.core.event
_dynfunc: Any = numba._dynfunc  # type: ignore[attr-defined]

_LARGE = 8500  # lines; sweeping, whose steps would take a tenth longer, has 8300 with a log


class _LinkedLibrary(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a function with all that it calls, not optimised and never run by itself."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(library, "_reload_init"):  # of numba 0.63 and later
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


class _LoopLibrary(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a loop with all that it calls; much code is optimised only in part."""

    def _optimize_final_module(self) -> None:
        codegen, module = self._codegen, self._final_module
        is_large = str(module).count("\n") > _LARGE
        if not is_large or hasattr(codegen, "_mpm_cheap"):  # of older numba
            super()._optimize_final_module()
            return
        passes, builder = codegen._module_pass_manager(
            loop_vectorize=codegen._loopvect,
            slp_vectorize=False,
            opt=codegen._opt_level,
            cost="cheap",
        )
        passes.run(module, builder)


class LoopCompiler(_compiler.Compiler):  # type: ignore[misc]
    """Numba's compiler for the loop of a learner."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        state = self.state
        state.library = _LoopLibrary(state.targetctx.codegen(), "loop")
        state.library.enable_object_caching()


class LinkedCompiler(_compiler.Compiler):  # type: ignore[misc]
    """Numba's compiler for a function that only other compiled code calls."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        state = self.state
        state.targetctx = state.targetctx.subtarget(get_executable=_name_of)
        state.library = _LinkedLibrary(state.targetctx.codegen(), "linked code")


def _name_of(library: Any, function: Any, environment: Any) -> Any:
    """Make what numba looks a compiled function up by; Python cannot call it."""
    library._ensure_finalized()
    name = function.qualname.split(".")[-1]
    return _dynfunc.make_function(function.lookup_module(), name, "", 0, environment, (library,))


class _Stopwatch(_event.Listener):  # type: ignore[misc]
    """Sums the time in which this process compiles, or loads compiled code.

    Compiling makes many objects and little garbage: to search them for some takes an eighth of it.
    """

    def __init__(self) -> None:
        self.seconds, self._begun, self._depth, self._collects = 0.0, 0.0, 0, False

    def on_start(self, event: Any) -> None:
        if not self._depth:
            self._begun, self._collects = time.process_time(), gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.process_time() - self._begun
            if self._collects:
                gc.enable()


_stopwatch = _Stopwatch()
_event.register("numba:compiler_lock", _stopwatch)


def working_seconds() -> float:
    """Return the processor seconds of this process, without compiling or loading compiled code."""
    return time.process_time() - _stopwatch.seconds
