"""Keeps who wants no texts of an account, or of one of its senders. It outlives contacts."""
