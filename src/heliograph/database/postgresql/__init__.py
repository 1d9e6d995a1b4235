"""This folder has what only PostgreSQL has: its drivers and pool, advisory locks, indexes and
partitions.
"""
