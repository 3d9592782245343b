"""Bodies outside the store: in segments, files that are only appended to."""
