"""Which node and which policy: the question, the search, and the answer in words and as a record."""
