"""A shop with the plugin works with `heliograph serve`, from the saved key to the delivered
notification.
"""

from contextlib import closing
from pathlib import Path

from tests.support.api.cast import Actor
from tests.support.api.server import serving
from tests.support.api.service import Service
from tests.support.api.shop import Order, Shop
from tests.support.capability.commands import runner

TEMPLATE = (
    "Hi {customer_name}, order {order_id} at {site_name} ({order_total}, {payment_method}) is"
    " {order_status}."
)
ORDER = Order("1042", "Kofi", "020 123 4567", "GHS 120.50", "Mobile money")
TEXT = "Hi Kofi, order 1042 at Amina's shop (GHS 120.50, Mobile money) is processing."


def test_a_shop_links_itself_notifies_syncs_and_hears_of_the_delivery(
    database_url: str, tmp_path: Path
) -> None:
    with (
        serving(database_url, tmp_path) as server,
        closing(Shop(server.url, "HTTPS://Shop.Example:443/", "AMINA", "GH")) as shop,
    ):
        key = server.cast.amina.key("sms.send", "sms.read", "wallet.read")
        site = shop.save_key(key)
        assert (site["site_url"], site["status"]) == ("https://shop.example", "connected")
        before = shop.status()
        assert (
            before.items()
            >= {
                "name": "amina",
                "status": "active",
                "sms_credits": 1_000,
                "wallet_balance": 50,
                "wallet_currency": "GHS",
                "api_key_prefix": key[:12],
                "low_balance": False,
                "sandbox": False,
            }.items()
        )
        message_id = shop.notify(ORDER, TEMPLATE)
        assert shop.notify(ORDER, TEMPLATE) == message_id, (
            "a shop whose page is loaded twice sends once"
        )
        synced = shop.sync()
        assert (synced["received"], len(set(synced["ids"]))) == (2, 1)
        assert shop.sync() == synced
        assert shop.tell("plugin_updated", {"from": "1.7.1", "to": "1.7.2"}).startswith("evt_")
        delivered = shop.delivered(message_id)
        assert (
            delivered.items()
            >= {
                "status": "delivered",
                "recipient": "233201234567",
                "message": TEXT,
                "credits": 1,
            }.items()
        )
        assert shop.status()["sms_credits"] == 999
        run = runner(database_url, tmp_path)
        [listed] = run("site", "list", "--account", "amina", "--json").json
        assert (
            listed.items() >= {**site, "plugin_version": "1.7.2", "platform": "woocommerce"}.items()
        )
        [entry] = run("site", "logs", "--site", site["id"], "--json").json
        assert (
            entry.items()
            >= {
                "id": synced["ids"][0],
                "event": "order_processing",
                "message_id": message_id,
            }.items()
        )
        assert "body" not in entry
        assert TEXT not in run("site", "logs").out


def test_what_a_shop_tells_beside_a_text_is_shown_to_the_operator_in_few_characters(
    api: Service, amina: Actor, tmp_path: Path
) -> None:
    api.post(amina, "/sitebuilder/connect", {"site_url": "https://shop.example"})
    metas: list[dict[str, object] | None] = [
        None,
        {"order": 7},
        {"note": "x" * 500},
        {"note": "\u202e\u009b" * 30},
    ]
    api.post(
        amina, "/sitebuilder/logs", {"logs": [{"event": "sent", "meta": meta} for meta in metas]}
    )
    run = runner(api.db.url, tmp_path)
    assert [entry["meta"] for entry in run("site", "logs", "--json").json] == metas[::-1]
    header, *rows = run("site", "logs").out.splitlines()
    begin = header.index("META")
    shown = [row[begin : header.index("CREATED AT")].rstrip() for row in rows]
    assert shown == [
        ('{"note": "' + "\\u202e\\x9b" * 5)[:40] + "…",
        '{"note": "' + "x" * 30 + "…",
        '{"order": 7}',
        "-",
    ]
