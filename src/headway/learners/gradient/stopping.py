"""When learning more is in vain: one figure decides what is best and when to end."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When to end: after so many evaluations that were not better by `min_delta`, or at a figure that is enough."""

    patience: int | None
    min_delta: float
    stop_at: float | None
    begins: int = 0
    """The epoch whose evaluations are the first that patience counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the evaluations so far come to; greater is better."""

    best: float | None = None
    since: int = 0
    """Evaluations since the best one."""
    waited: int = 0
    """Those of them that count for patience."""
    improved: bool = False
    """Whether the last one is the best."""
    enough: bool = False

    def under(self, rule: Rule, *, anew: bool = False) -> Judgement:
        """The same by a rule that was not in force so far; `anew`: patience counts from here on."""
        reached = rule.stop_at is not None and self.best is not None and self.best >= rule.stop_at
        waited = 0 if anew else self.waited
        return replace(self, waited=waited, enough=_enough(waited, rule) or reached)

    def after(self, figure: float, rule: Rule, *, counts: bool = True) -> Judgement:
        """The same with one evaluation more, which counts for patience or does not."""
        improved = self.best is None or figure > self.best + rule.min_delta
        best = figure if improved or self.best is None else self.best
        since = 0 if improved else self.since + 1
        waited = 0 if improved else self.waited + counts
        reached = rule.stop_at is not None and figure >= rule.stop_at
        enough = _enough(waited, rule) or reached
        return Judgement(best=best, since=since, waited=waited, improved=improved, enough=enough)


def _enough(waited: int, rule: Rule) -> bool:
    return rule.patience is not None and waited >= rule.patience
