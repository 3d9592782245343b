"""The rows of a crawl in Redis or Valkey, and the queues of those who join it from elsewhere."""
