"""This room accepts sends: a request is judged, and then stored, charged and queued in one
transaction.
"""
