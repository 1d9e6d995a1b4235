"""Contains the pages about wallets, the ledger and statements."""
