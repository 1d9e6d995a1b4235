"""Provides what only PostgreSQL has: its hosts, drivers and pool, advisory locks and indexes.

Its files know no `Database`. What uses one, such as `partitions.py`, stands beside this folder.
"""
