"""Says in PostgreSQL's SQL how the opt-outs of one phone are found, for statements that ask about
many phones.
"""

# The primary key has them in the order of their senders, and so it is the cheapest way to them
# whatever the planner thinks of the table. Without an order, the index of the account's opt-outs
# looks as good while it thinks that an account has one at most: when it was counted, or its plan
# was made, the table was empty. Then it would read all of the account's for each phone. OFFSET 0
# keeps the planner from comparing all opt-outs of an account with all phones.
_OF_PHONE = """(SELECT {columns} FROM suppressions s WHERE s.account_id = {account_id}
    AND s.sandbox = {sandbox} AND s.phone = {phone} ORDER BY s.sender OFFSET 0)"""


def of_phone(
    columns: str,
    *,
    account_id: str = "g.account_id",
    sandbox: str = "g.sandbox",
    phone: str = "g.phone",
) -> str:
    """Returns a table expression of these columns (of `suppressions s`, separated by commas) for
    the opt-outs of the phone that the other three name.
    """
    return _OF_PHONE.format(columns=columns, account_id=account_id, sandbox=sandbox, phone=phone)
