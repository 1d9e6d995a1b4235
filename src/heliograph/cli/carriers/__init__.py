"""Contains the commands about carriers, routes, rates and prices, and about messages and the
ledger.
"""
