"""A laboratory and decision engine for placing tasks on a CPU and several GPUs."""

__version__ = "0.1.0"
