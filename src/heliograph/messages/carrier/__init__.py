"""This room is a carrier's turn: answers and receipts are recorded, and messages are claimed for
the wire.
"""
