"""This room knows messages in doubt: they were submitted and never answered, and a receipt or an
operator settles them.
"""
