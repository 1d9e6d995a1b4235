"""The benchmark measures how fast Heliograph is, beside the raw limits of the same machine in the
same minutes (`python -m bench`).

Every figure is a rate that something outside the server counted: the load generator, the SMSC's
counters, the database. The parts that make or take load (`smsc`, `sink`, `smpp_load`, `http_load`,
`bare`) are programs of their own, in their own processes, so that none of them measures itself.
"""
