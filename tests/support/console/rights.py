"""Says which right each form of the console takes, by itself, for tests to compare with."""

from heliograph.users import OperatorRight

# which right a form takes, by the end or the beginning of its path, whichever comes first here
RIGHT_OF_FORM = {
    "/console/approvals/senders/": OperatorRight.APPROVE,
    "/console/approvals/reserved": OperatorRight.APPROVE,
    "/console/approvals/accounts/": OperatorRight.ACCOUNTS,
    "/queued": OperatorRight.MESSAGES,
    "/console/people/operators": OperatorRight.OPERATORS,
    "/operator": OperatorRight.OPERATORS,
    "/console/people/": OperatorRight.ACCOUNTS,
    "/see": OperatorRight.SEE,
    "/leave": OperatorRight.LOOK,
    "/console/accounts/": OperatorRight.ACCOUNTS,
    "/console/accounts": OperatorRight.LOOK,  # it looks for accounts
    "/cancel": OperatorRight.MESSAGES,
    "/console/messages/msg_": OperatorRight.TEXTS,
    "/console/messages/inbound/": OperatorRight.TEXTS,
    "/console/messages/": OperatorRight.MESSAGES,
    "/console/phones/": OperatorRight.ACCOUNTS,
    "/console/abuse/": OperatorRight.ACCOUNTS,
    "/console/bind-trial": OperatorRight.CARRIERS,
    "/console/carriers": OperatorRight.CARRIERS,
    "/console/numbers": OperatorRight.ACCOUNTS,
    "/console/routes": OperatorRight.CARRIERS,
    "/console/alerts": OperatorRight.ALERTS,
    "/console/rates/prices": OperatorRight.MONEY,
    "/console/rates": OperatorRight.CARRIERS,
    "/console/money/": OperatorRight.MONEY,
}


def right_of_form(path: str) -> OperatorRight:
    """Returns the right that a form with this path takes."""
    return next(
        right
        for part, right in RIGHT_OF_FORM.items()
        if path.startswith(part) or path.endswith(part)
    )
