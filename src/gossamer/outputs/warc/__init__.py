"""WARC archives (WARC 1.1, ISO 28500:2017), with a CDXJ index beside them."""
