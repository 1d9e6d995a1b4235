"""Collects what every room uses and what needs no database: clock, ids, errors, settings, forms,
metrics.
"""
