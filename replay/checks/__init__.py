"""Checks of the user's input, with messages that say what was expected, what came, and where.

Every number, flag, choice and column passes one of these functions once, where it enters the
toolkit; the code behind relies on that.
"""

from replay.checks.tables import (
    check_all,
    check_array,
    check_cells,
    check_column,
    check_seconds,
    check_table,
)
from replay.checks.types import typed
from replay.checks.user_files import errors_located, located
from replay.checks.values import (
    LARGEST_NUMBER,
    MOST_STATES,
    SMALLEST_BIN,
    Named,
    UnknownNameError,
    check_bin_size,
    check_choice,
    check_fits,
    check_flag,
    check_function,
    check_list,
    check_number,
    check_seed,
    check_text,
    check_whole,
    known_arguments,
    shown,
    unknown_name,
)

__all__ = ["LARGEST_NUMBER", "MOST_STATES", "SMALLEST_BIN", "Named", "UnknownNameError"]
__all__ += ["check_all", "check_array", "check_bin_size", "check_cells", "check_choice"]
__all__ += ["check_column", "check_fits", "check_flag", "check_function", "check_list"]
__all__ += ["check_number", "check_seconds", "check_seed", "check_table", "check_text"]
__all__ += ["check_whole", "errors_located", "known_arguments", "located", "shown", "typed"]
__all__ += ["unknown_name"]
