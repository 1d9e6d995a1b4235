"""Contains the commands about accounts and what belongs to them: keys, credits, contacts,
campaigns.
"""
