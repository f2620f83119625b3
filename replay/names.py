"""Names that users give, and what to say of one that nothing has."""

import difflib
from collections.abc import Iterable

__all__ = ["unknown_name"]

_LONGEST = 60


def unknown_name(what: str, name: object, choices: Iterable[str]) -> ValueError:
    """Make the error for a name that is none of the choices.

    Parameters
    ----------
    what : str
        What it should be the name of.
    name : object
        What was given for a name.
    choices : iterable of str
        The names there are.

    Returns
    -------
    ValueError
        To be raised; it lists the choices, and the one that may be meant.

    Examples
    --------
    >>> print(unknown_name("learner", "q_lerning", ["q_learning", "sfma"]))
    Unknown learner 'q_lerning'. Did you mean 'q_learning'? Choose from: q_learning, sfma.
    """
    names = list(choices)
    try:
        text = " ".join(repr(name).split())
    except Exception:  # of whatever was given for a name
        text = f"a {type(name).__name__}"
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    is_short = isinstance(name, str) and len(name) <= _LONGEST
    close = difflib.get_close_matches(str(name), names, n=1) if is_short else []
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return ValueError(f"Unknown {what} {short}.{hint} Choose from: {', '.join(names)}.")
