"""Shows pages about money: days, months, wallets, files of the ledger, and proofs of it."""
