"""How a dataset becomes batches for autoencoders: windows of the learned side, those of like length together."""

from headway.data.dataset import Dataset
from headway.feed.layouts import Bucketed, Layout
from headway.learners.autoencoder.config import Section
from headway.learners.autoencoder.material import material
from headway.plan.plan import RunSection


def layout(section: Section, dataset: Dataset, run: RunSection) -> Layout:
    """Windows padded to the budget of a batch."""
    rows = material(section, dataset).train
    return Bucketed(rows, run.batch_tokens, section.most_rows, seed=run.seed, shuffle=run.shuffle)
