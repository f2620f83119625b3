"""Checks of the user's input, with messages that say what was expected, what came, and where.

Every number, flag, choice and column passes one of these functions once, where it enters the
toolkit; the code behind relies on that.
"""

from replay.checks.names import (
    Named,
    UnknownNameError,
    known_arguments,
    no_attribute,
    shown,
    unknown_name,
)
from replay.checks.tables import check_array, check_column, check_seconds, check_table
from replay.checks.values import (
    LARGEST_NUMBER,
    MOST_STATES,
    check_bin_size,
    check_choice,
    check_flag,
    check_list,
    check_number,
    check_seed,
    check_text,
    check_whole,
)

__all__ = ["LARGEST_NUMBER", "MOST_STATES", "Named", "UnknownNameError", "check_array"]
__all__ += ["check_bin_size", "check_choice", "check_column", "check_flag", "check_list"]
__all__ += ["check_number", "check_seconds", "check_seed", "check_table", "check_text"]
__all__ += ["check_whole", "known_arguments", "no_attribute", "shown", "unknown_name"]
