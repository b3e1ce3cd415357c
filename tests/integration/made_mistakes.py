"""What every mistake has to end with, whatever the learner."""

import re

from bad_input import Case


def explained(case: Case, code: int, message: str) -> None:
    """A command ended as a refusal has to, and said all that the case asks for."""
    assert code == 2, message
    assert message.startswith("headway: ")
    assert "Traceback" not in message
    for pattern in case.says:
        assert re.search(pattern, message), f"{pattern!r} is not said in: {message}"
