"""Which node and which policy: searched in the model by a process of its own, kept with the service."""
