"""Disque: a distributed, in-memory, at-least-once job queue."""

__all__ = ["__version__"]

__version__ = "0.1.0"
