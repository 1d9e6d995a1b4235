"""Provides the database: connections, transactions, the configuration cache, leases and
migrations.
"""
