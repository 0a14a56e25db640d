"""Who runs tasks: processes or threads, the queues before them, and how arguments and results travel."""
