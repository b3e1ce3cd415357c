"""All runs of a folder: found, listed, compared and exported."""
