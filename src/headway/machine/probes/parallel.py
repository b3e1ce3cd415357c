"""Bench probes: the same work on some cores at once."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from headway.machine.probe import Site

Rate = Callable[[], float]


def rates(site: Site, works: Sequence[Callable[[], object]], amount: float) -> tuple[Rate, Rate]:
    """The rate of the first work alone, and of all at once; each work is so much, and leaves the interpreter free."""
    pool = ThreadPoolExecutor(len(works), thread_name_prefix="headway-bench")
    site.stack.callback(pool.shutdown)

    def together() -> None:
        others = [pool.submit(work) for work in works[1:]]
        # This thread works as well: one more that only waits would take time from a core, and seem to be somebody else.
        works[0]()
        for each in others:
            each.result()

    return (
        lambda: amount / site.paced(works[0]),
        lambda: amount * len(works) / site.paced(together),
    )
