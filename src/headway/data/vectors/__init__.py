"""Word vectors: read from the text formats they are published in, kept so that opening them costs nothing."""
