"""Everything of pattern learning that is compiled."""
