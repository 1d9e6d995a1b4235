"""Hands mail to a mail server, or shows it on the terminal."""
