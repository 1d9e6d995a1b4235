"""The programs that run, such as `serve`, `api`, `worker` and `smsc`, and how they share work."""
