"""Everything of reading word vectors that is compiled."""
