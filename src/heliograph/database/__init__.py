"""This room is the database: connections, transactions, the configuration cache, leases and
migrations.
"""
