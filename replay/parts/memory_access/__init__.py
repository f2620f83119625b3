"""The parts of prioritized memory access: the need of states, the gain of backups, their paths.

:mod:`replay.learners.prioritized_memory_access` puts them together.
"""
