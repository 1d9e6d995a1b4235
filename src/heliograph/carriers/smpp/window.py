"""A window knows which submissions of a session wait for their answer, and until when."""

from typing import Final

from heliograph.carriers.link import Submission, SubmitAnswer, SubmitOutcome

# submissions past their time-out whose answer would still be recognised
LATE_KEPT_MAX: Final = 10_000


class Window:
    """Keeps submissions by sequence_number until they are answered. Exactly one answer comes out
    for every submission that was put in, and one more if the carrier's answer comes late.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        # with its deadline; the session writes here directly, for speed
        self.waiting: dict[int, tuple[Submission, float]] = {}
        self._late: dict[int, Submission] = {}

    def free(self) -> int:
        return max(0, self._size - len(self.waiting))

    def answer(
        self, sequence: int, outcome: SubmitOutcome, ref: str | None, command_status: int
    ) -> SubmitAnswer | None:
        """Returns what the answer to this sequence_number says of its submission, or None when
        nothing was asked under it. It is hot.
        """
        waiting = self.waiting.pop(sequence, None)
        if waiting is not None:
            return _answer(waiting[0], outcome, ref, command_status)
        late = self._late.pop(sequence, None)
        return None if late is None else _answer(late, outcome, ref, command_status, late=True)

    def expire(self, now_s: float) -> list[SubmitAnswer]:
        """Takes out, as unanswered, what has waited past its deadline. That makes room for others,
        though the answer may still come.
        """
        expired = [
            sequence for sequence, (_, deadline_s) in self.waiting.items() if deadline_s <= now_s
        ]
        answers = []
        for sequence in expired:
            submission, _ = self.waiting.pop(sequence)
            self._late[sequence] = submission
            answers.append(_answer(submission, SubmitOutcome.UNANSWERED))
        for sequence in list(self._late)[: max(0, len(self._late) - LATE_KEPT_MAX)]:
            del self._late[sequence]
        return answers

    def give_up(self) -> list[SubmitAnswer]:
        """Takes out everything, as unanswered: the connection is gone.

        All were written. Which of them the socket had not yet taken cannot be known any more, so
        all are in doubt.
        """
        answers = [
            _answer(submission, SubmitOutcome.UNANSWERED) for submission, _ in self.waiting.values()
        ]
        self.waiting.clear()
        self._late.clear()
        return answers


def _answer(
    submission: Submission,
    outcome: SubmitOutcome,
    ref: str | None = None,
    command_status: int = 0,
    late: bool = False,
) -> SubmitAnswer:
    return SubmitAnswer(
        submission.message_id,
        submission.part,
        submission.parts,
        attempt=submission.attempt,
        outcome=outcome,
        ref=ref,
        command_status=command_status,
        late=late,
    )
