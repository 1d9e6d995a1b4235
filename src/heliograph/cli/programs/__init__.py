"""Contains the commands that start something or check it: servers, workers, migrations,
`doctor`.
"""
