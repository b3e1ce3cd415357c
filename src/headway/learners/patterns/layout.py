"""How a dataset becomes batches for pattern learners: whole documents."""

from headway.data.dataset import Dataset
from headway.feed.layouts import Layout, Whole
from headway.learners.patterns.config import Section
from headway.plan.plan import RunSection


def layout(section: Section, dataset: Dataset, run: RunSection) -> Layout:
    """Documents together up to the budget of a batch."""
    del section
    return Whole(dataset, run.batch_tokens, seed=run.seed, shuffle=run.shuffle)
