"""Defines the tables of sends, of messages and of their way out: the queue, the segments in flight,
and the carriers' own ids.

A send and its messages are one series of ids: the k-th message has the id `send + 1 + k`. So all
messages of a send are found by a range of the primary key, `messages` needs no index on the send,
and the queue holds *runs* (first id and count), not messages: queueing 10,000 costs one row.
"""

import sqlalchemy as sa

from heliograph.database.database import RawId, metadata
from heliograph.database.postgresql.table_options import only_where
from heliograph.database.pruning import PruningRule
from heliograph.database.transitions import is_one_of
from heliograph.messages.states import FAILURE_CODES, MESSAGE, SEGMENT

SEND_TYPES = ("sms", "otp", "campaign")
STATUSES = MESSAGE.states
ERROR_CODES = tuple(FAILURE_CODES)
DECISIONS = ("sent", "delivered", "undeliverable", "canceled", "resent", "receipt")
GROUP_ID = sa.Integer  # small: each message has a place for it

# What belongs together beyond one send: a campaign's messages. So reports and tallies need not know
# what a campaign is.
groups = sa.Table(
    "groups",
    metadata,
    sa.Column("id", GROUP_ID, primary_key=True),
    sa.Column("account_id", RawId, nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("campaign_id", RawId, nullable=False, unique=True),
    sa.Column(
        "held",
        sa.Boolean,
        nullable=False,
        comment="what was queued of it is kept from every carrier",
    ),
    sa.Column(
        "canceled_at_ms",
        sa.BigInteger,
        nullable=True,
        comment="what is queued of it since then fails",
    ),
)

# How many messages of a group are in each state just now. Whoever changes some adds to a row of its
# own slot: they do not wait for each other.
tallies = sa.Table(
    "tallies",
    metadata,
    sa.Column("group_id", GROUP_ID, sa.ForeignKey("groups.id"), primary_key=True),
    sa.Column("slot", sa.SmallInteger, primary_key=True),
    sa.Column("queued", sa.BigInteger, nullable=False),
    sa.Column("sent", sa.BigInteger, nullable=False),
    sa.Column("delivered", sa.BigInteger, nullable=False),
    sa.Column("failed", sa.BigInteger, nullable=False),
    sa.Column("segments", sa.BigInteger, nullable=False),
    sa.Column("credits", sa.BigInteger, nullable=False, comment="charged, less what was refunded"),
)

# Upper ends, in seconds, of the steps that the time from acceptance to delivery is counted in.
DELIVERY_STEPS_S = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400)
DELIVERY_STEPS = (*(f"within_{step_s}_s" for step_s in DELIVERY_STEPS_S), "later")
QUARTER_MS = 900_000  # some time zones begin their hours at :30 or :45, so an hour is too coarse

# What became of messages that have left the state `queued`, by the quarter of an hour in which they
# were accepted (count_rollups.py).
rollups = sa.Table(
    "rollups",
    metadata,
    sa.Column("account_id", RawId, primary_key=True),
    sa.Column("sandbox", sa.Boolean, primary_key=True),
    sa.Column(
        "quarter_ms",
        sa.BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="when the quarter of an hour began",
    ),
    sa.Column("country_code", sa.String(2), primary_key=True, comment="empty: not known"),
    sa.Column("sender", sa.String(15), primary_key=True),
    sa.Column("type", sa.String(8), primary_key=True),
    sa.Column(
        "group_id", GROUP_ID, primary_key=True, autoincrement=False, comment="0: of no campaign"
    ),
    sa.Column("segments", sa.BigInteger, nullable=False),
    sa.Column("credits", sa.BigInteger, nullable=False, comment="charged, less what was refunded"),
    *(
        sa.Column(name, sa.Integer, nullable=False)
        for name in (*STATUSES[1:], *ERROR_CODES, *DELIVERY_STEPS)
    ),
    sa.Index("rollups_by_quarter", "quarter_ms"),
)

# Quarters of an hour whose messages were changed: they are counted anew (changes/rollups.py). Each
# process marks in a slot of its own, so that nobody waits.
rollup_marks = sa.Table(
    "rollup_marks",
    metadata,
    sa.Column("quarter_ms", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("slot", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column(
        "until_ms", sa.BigInteger, nullable=False, comment="its messages may change until then"
    ),
)

sends = sa.Table(
    "sends",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("type", sa.String(8), nullable=False),
    sa.Column("sender", sa.String(15), nullable=False),
    sa.Column("text", sa.Text, nullable=True, comment="null after retention"),
    sa.Column("encoding", sa.String(5), nullable=False),
    sa.Column("segments", sa.SmallInteger, nullable=False),
    sa.Column("message_count", sa.Integer, nullable=False),
    sa.Column("reference", sa.String(128), nullable=True),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.Column("credits_required", sa.BigInteger, nullable=False),
    sa.Column("credits_used", sa.BigInteger, nullable=False),
    sa.Column("credits_remaining", sa.BigInteger, nullable=False),
    sa.Column(
        "exceptions",
        sa.Text,
        nullable=True,
        comment="JSON: rejected recipients and duplicates by index; null when there are none",
    ),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("group_id", GROUP_ID, nullable=True),
    sa.CheckConstraint(is_one_of("type", SEND_TYPES), name="sends_type"),
    sa.Index("sends_by_account", "account_id", "sandbox", "id"),
    sa.Index(
        "sends_by_reference",
        "account_id",
        "reference",
        **only_where("reference IS NOT NULL"),
    ),
    sa.Index(
        "sends_by_group",
        "group_id",
        "id",
        **only_where("group_id IS NOT NULL"),
    ),
)

# Texts from handsets that answer a message. `inbound.in_reply_to` says the same; this is found by
# the message, and goes with it.
message_replies = sa.Table(
    "message_replies",
    metadata,
    sa.Column("message_id", RawId, primary_key=True),
    sa.Column("inbound_id", RawId, primary_key=True),
)

# Sends that answer a text from a handset: few do, and the others have no row.
answering_sends = sa.Table(
    "answering_sends",
    metadata,
    sa.Column("send_id", RawId, primary_key=True),
    sa.Column("inbound_id", RawId, nullable=False, comment="the text that it answers"),
    sa.Column(
        "outlives_opt_outs",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment="no opt-out that comes later withdraws it",
    ),
)

# On PostgreSQL partitioned by ranges of id, which are ranges of time. An UPDATE never touches an
# indexed column.
messages = sa.Table(
    "messages",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("send_id", RawId, nullable=False),
    sa.Column("account_id", RawId, nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column(
        "recipient",
        sa.BigInteger,
        nullable=True,
        comment="E.164 digits as a number; null after retention",
    ),
    sa.Column("country_code", sa.String(2), nullable=True),
    sa.Column("carrier_id", sa.SmallInteger, nullable=False),
    sa.Column("status", sa.String(9), nullable=False),
    sa.Column("segments", sa.SmallInteger, nullable=False),
    sa.Column("credits", sa.Integer, nullable=False),
    sa.Column("refunded", sa.Integer, nullable=False, server_default="0"),
    sa.Column(
        "parts_accepted",
        sa.SmallInteger,
        nullable=False,
        server_default="0",
        comment="bit k-1: a carrier accepted segment k",
    ),
    sa.Column(
        "parts_delivered",
        sa.SmallInteger,
        nullable=False,
        server_default="0",
        comment="bit k-1: its receipt said DELIVRD",
    ),
    sa.Column(
        "parts_resent",
        sa.SmallInteger,
        nullable=False,
        server_default="0",
        comment="bit k-1: it was in doubt, and was sent once more",
    ),
    sa.Column("error_code", sa.String(16), nullable=True),
    sa.Column("error_message", sa.String(255), nullable=True),
    sa.Column("sent_at_ms", sa.BigInteger, nullable=True),
    sa.Column("delivered_at_ms", sa.BigInteger, nullable=True),
    sa.Column("failed_at_ms", sa.BigInteger, nullable=True),
    sa.Column("group_id", GROUP_ID, nullable=True),
    sa.CheckConstraint(MESSAGE.is_in(*MESSAGE.states), name="messages_status"),
    sa.CheckConstraint("refunded >= 0 AND refunded <= credits", name="messages_refunded"),
    sa.CheckConstraint("(status = 'failed') = (error_code IS NOT NULL)", name="messages_error"),
    sa.Index("messages_by_recipient", "account_id", "recipient"),
    info={"postgresql_partition_by": "RANGE (id)"},
)

queue = sa.Table(
    "queue",
    metadata,
    sa.Column("carrier_id", sa.SmallInteger, primary_key=True),
    sa.Column(
        "rank_us", sa.BigInteger, primary_key=True, comment="virtual time: the lowest leaves first"
    ),
    sa.Column(
        "first_id",
        RawId,
        primary_key=True,
        comment="the run: this message and the next ones of the same send",
    ),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("send_id", RawId, nullable=False),
    sa.Column("segments", sa.SmallInteger, nullable=False, comment="of each message"),
    sa.Column(
        "prefix",
        sa.String(15),
        nullable=False,
        comment="of the route that chose the carrier: fail-over takes its next one",
    ),
    sa.Column("attempt", sa.SmallInteger, nullable=False),
    sa.Column("not_before_ms", sa.BigInteger, nullable=False),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.CheckConstraint("count > 0", name="queue_count"),
)

# What was handed to a carrier and is not answered: one row a submit_sm, committed before its bytes
# leave.
inflight = sa.Table(
    "inflight",
    metadata,
    sa.Column("message_id", RawId, primary_key=True),
    sa.Column("part", sa.SmallInteger, primary_key=True),
    sa.Column(
        "parts",
        sa.SmallInteger,
        nullable=False,
        comment="bits of the segments that this submit_sm carries",
    ),
    sa.Column("carrier_id", sa.SmallInteger, nullable=False),
    sa.Column(
        "worker", sa.BigInteger, nullable=False, comment="epoch of the process that holds it"
    ),
    sa.Column("attempt", sa.SmallInteger, nullable=False),
    sa.Column("state", sa.String(10), nullable=False),
    sa.Column("prefix", sa.String(15), nullable=False),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.Column("since_ms", sa.BigInteger, nullable=False),
    sa.CheckConstraint(SEGMENT.is_in(*SEGMENT.states), name="inflight_state"),
)

# A carrier's id of a segment. The submit answer and the receipt both upsert it: whoever comes
# second sees the first.
carrier_refs = sa.Table(
    "carrier_refs",
    metadata,
    sa.Column("carrier_id", sa.SmallInteger, primary_key=True),
    sa.Column("ref", sa.String(65), primary_key=True),
    sa.Column(
        "message_id",
        RawId,
        nullable=True,
        comment="null: a receipt whose answer has not come (yet)",
    ),
    sa.Column("parts", sa.SmallInteger, nullable=True),
    sa.Column(
        "recipient",
        sa.BigInteger,
        nullable=True,
        comment="as the receipt names it: a match needs it to agree",
    ),
    sa.Column("receipt_state", sa.String(8), nullable=True),
    sa.Column("receipt_error", sa.String(32), nullable=True),
    sa.Column(
        "printed",
        sa.String(65),
        nullable=True,
        comment=(
            "ref as the receipt prints it; this and the next two: while its answer has not come"
        ),
    ),
    sa.Column("sender", sa.String(21), nullable=True),
    sa.Column("user_message_reference", sa.Integer, nullable=True),
    sa.Column(
        "created_at_ms",
        sa.BigInteger,
        nullable=False,
        comment="when the answer gave it to its message, else when its receipt came",
    ),
    # for pruning; at the end of an index a row costs 1 µs
    sa.Index("carrier_refs_by_age", "created_at_ms"),
    sa.Index(
        "carrier_refs_parked",
        "carrier_id",
        "created_at_ms",
        **only_where("message_id IS NULL"),
    ),
)

# Receipts that could not be read or carry no id, kept 72 h for the operator: those that say what
# became of a message may settle a doubt. And such whose id, as it is read now, is another
# message's, or may be: they are read anew when it is known how their carrier prints ids.
unmatched_receipts = sa.Table(
    "unmatched_receipts",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("carrier_id", sa.SmallInteger, nullable=False),
    sa.Column("ref", sa.String(65), nullable=True),
    sa.Column("receipt_state", sa.String(8), nullable=True),
    sa.Column("receipt_error", sa.String(32), nullable=True),
    sa.Column("recipient", sa.BigInteger, nullable=True),
    sa.Column("sender", sa.String(21), nullable=True),
    sa.Column("user_message_reference", sa.Integer, nullable=True),
    sa.Column("raw", sa.LargeBinary, nullable=False),
    sa.Column("received_at_ms", sa.BigInteger, nullable=False),
    sa.Index("unmatched_receipts_by_carrier", "carrier_id", "received_at_ms"),
)

# What an operator decided about a message in doubt, or about a receipt that matched nothing: he
# knew more than the wire told. Stored with what it changes, and kept.
operator_decisions = sa.Table(
    "operator_decisions",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("message_id", RawId, nullable=False),
    sa.Column("carrier_id", sa.SmallInteger, nullable=False),
    sa.Column(
        "parts", sa.SmallInteger, nullable=False, comment="bits of the segments that it was about"
    ),
    sa.Column("decision", sa.String(13), nullable=False),
    sa.Column("decided_by", sa.String(64), nullable=False),
    sa.Column("reason", sa.String(255), nullable=False),
    sa.Column("decided_at_ms", sa.BigInteger, nullable=False),
    sa.CheckConstraint(is_one_of("decision", DECISIONS), name="operator_decisions_decision"),
    sa.Index("operator_decisions_by_message", "message_id"),
)

# How far retention has come: stored with what it erases or deletes
# (messages/retention/retention.py).
kept_from = sa.Table(
    "kept_from",
    metadata,
    sa.Column("what", sa.String(8), primary_key=True),
    sa.Column(
        "from_id",
        RawId,
        nullable=False,
        comment="all of it is there from this id on; what is below may be gone",
    ),
    sa.CheckConstraint("what IN ('texts', 'messages', 'events')", name="kept_from_what"),
)

# Validity is 48 h at most, so all receipts have a day more to come. Nobody needs what is older.
RECEIPTS_KEPT_MS = 72 * 3_600_000
KEPT = (
    PruningRule(carrier_refs.name, "created_at_ms", RECEIPTS_KEPT_MS),
    PruningRule(unmatched_receipts.name, "id", RECEIPTS_KEPT_MS),
)
KEPT_AS_MESSAGES = (  # for as many days as the operator has set for messages
    PruningRule(message_replies.name, "message_id", 0),
    PruningRule(answering_sends.name, "send_id", 0),
)
