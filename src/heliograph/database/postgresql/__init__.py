"""Provides what only PostgreSQL has: its drivers and pool, advisory locks, indexes and
partitions.
"""
