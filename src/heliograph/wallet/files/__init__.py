"""Writes a wallet down in files that others read: the statement of a month as CSV and PDF, the
entries of an account as CSV, and the ledger as CSV and for beancount. It is a room of its own,
because few commands need it.
"""

from heliograph.wallet.files.beancount_ledger import BeancountLedger
from heliograph.wallet.files.ledger_export import (
    CsvLedger,
    ExportWanted,
    LedgerFormat,
    read_pieces,
)
from heliograph.wallet.files.statement import read_month, statement, statement_file
from heliograph.wallet.files.statement_lines import lines_of_statement
from heliograph.wallet.files.statement_pdf import StatementHolder, pdf_of_statement

__all__ = [
    "BeancountLedger",
    "CsvLedger",
    "ExportWanted",
    "LedgerFormat",
    "StatementHolder",
    "ledger_file",
    "lines_of_statement",
    "pdf_of_statement",
    "read_month",
    "read_pieces",
    "statement",
    "statement_file",
]
