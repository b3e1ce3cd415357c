"""The single pass of the seeds over tokens whose first ids are fixed."""

from pathlib import Path

from headway.data import verse
from headway.tools import HierarchicalConceptLearner, train_hierarchical_single_pass


def test_verse_keeps_the_fixed_ids_of_its_marks(tmp_path: Path) -> None:
    learner = HierarchicalConceptLearner(tokenizer_name="verse", num_nodes=2, folder=tmp_path, verbose_init=False)
    books = [{"title": "t", "author": "a", "paragraphs": ["a b c d e f g h i j k l m n o\np q r s t u v w x y z"]}]
    train_hierarchical_single_pass(books, learner, verbose=False)

    vocabulary = learner.memory.vocabulary
    assert vocabulary.symbols[: vocabulary.specials] == list(verse.SPECIALS)
    assert vocabulary.spelling == "verse"
