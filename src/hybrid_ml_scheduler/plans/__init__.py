"""What is run: the plan, its node and workload, the metric catalogue, and how strategies are named and shown."""
