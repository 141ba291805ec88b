"""Errors that nobody expected, as they may be logged: what they are and where they arose, not what they say.

Their words can hold whatever went through: secrets of the owner's, keys, what somebody said.
"""

import traceback


def where_of(err: BaseException) -> str:
    """Return the class of an error and the lines that led to it, and the same for what caused it."""
    told = [f"{type(err).__name__}\n{''.join(traceback.format_tb(err.__traceback__))}".rstrip()]
    cause = err.__cause__ or (None if err.__suppress_context__ else err.__context__)
    if cause is not None and cause is not err:
        told.append(f"after {type(cause).__name__}")
    return "\n".join(told)
