"""When learning more is in vain: one figure decides what is best and when to end."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When to end: after so many evaluations that were not better by `min_delta`, or at a figure that is enough."""

    patience: int | None
    min_delta: float
    stop_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the evaluations so far come to; greater is better."""

    best: float | None = None
    since: int = 0
    """Evaluations since the best one."""
    improved: bool = False
    """Whether the last one is the best."""
    enough: bool = False

    def under(self, rule: Rule) -> Judgement:
        """The same by a rule that was not in force so far."""
        reached = rule.stop_at is not None and self.best is not None and self.best >= rule.stop_at
        return replace(self, enough=_waited(self.since, rule) or reached)

    def after(self, figure: float, rule: Rule) -> Judgement:
        """The same with one evaluation more."""
        improved = self.best is None or figure > self.best + rule.min_delta
        best = figure if improved or self.best is None else self.best
        since = 0 if improved else self.since + 1
        reached = rule.stop_at is not None and figure >= rule.stop_at
        return Judgement(best=best, since=since, improved=improved, enough=_waited(since, rule) or reached)


def _waited(since: int, rule: Rule) -> bool:
    return rule.patience is not None and since >= rule.patience
