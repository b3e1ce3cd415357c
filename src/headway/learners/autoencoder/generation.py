"""How the words of new text are chosen."""

from dataclasses import dataclass

from headway.errors import PlanError


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSettings:
    """How words are chosen."""

    length: int = 50
    """Words at the most, line breaks included."""
    temperature: float = 0.8
    """Below 1 likely words become likelier; at 0 the likeliest is always taken."""
    top_k: int | None = 50
    """Only so many of the likeliest words are drawn from; absent: all."""
    top_p: float = 0.9
    """Only the likeliest words that together have this probability are drawn from."""
    repetition_penalty: float = 1.1
    """What the scores of words that are there already are divided by; line and stanza breaks are exempt."""
    length_penalty: float = 1.0
    """What the score of the poem's end is divided by: above 1, poems are longer."""
    sharpness: float = 20.0
    """What a cosine is multiplied by to be a score; a token head has scores of its own."""

    def __post_init__(self) -> None:
        limits = {
            "length": (self.length >= 1, "1 or more"),
            "temperature": (self.temperature >= 0, "0 or more"),
            "top_k": (self.top_k is None or self.top_k >= 1, "1 or more, or absent"),
            "top_p": (0 < self.top_p <= 1, "above 0 and 1 at the most"),
            "repetition_penalty": (self.repetition_penalty >= 1, "1 or more"),
            "length_penalty": (self.length_penalty > 0, "above 0"),
            "sharpness": (self.sharpness > 0, "above 0"),
        }
        problems = [
            f"{name}: should be {limit}, not {getattr(self, name)!r}"
            for name, (fits, limit) in limits.items()
            if not fits
        ]
        if problems:
            raise PlanError("generation", problems)
