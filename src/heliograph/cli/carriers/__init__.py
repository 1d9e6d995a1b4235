"""These commands are about carriers, routes, rates and prices, and about messages and the
ledger.
"""
