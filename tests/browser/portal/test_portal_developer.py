"""Developers use passwords, API keys and webhooks in the portal, in a real browser."""

from playwright.sync_api import Browser, Route, expect

from tests.support import plain_http
from tests.support.api.server import Server
from tests.support.polling import wait_until
from tests.support.portal.browsing import (
    NARROW,
    WIDE,
    at_both_widths,
    opened,
    picture,
    reload_until,
    send,
    sign_in_owner,
)
from tests.support.wire.webhook_receiver import OK, receiver_in_a_thread, says

REFUSED = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\nout today"
# of an address, by the width of the window
LONGER_THAN_A_PHONE = {NARROW: f"&and={'more' * 15}", WIDE: ""}


@at_both_widths
def test_a_password_is_set_and_used_by_keyboard_alone(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="ama@example.com").focus()
    page.keyboard.press("Enter")
    page.get_by_label("New password").focus()
    page.keyboard.type("password1234")
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be harder to guess")).to_be_visible()
    picture(page, "you-wrong")
    page.get_by_label("New password").fill("purple kettle 41 sings")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Change your password")).to_be_visible()
    expect(page.get_by_text("this one")).to_be_visible()
    picture(page, "you")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Email address")).to_be_focused()
    page.keyboard.type("ama@example.com")
    page.keyboard.press("Tab")
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("is not right")
    picture(page, "sign-in-wrong")
    expect(page.get_by_label("Password")).to_be_focused()
    page.keyboard.type("purple kettle 41 sings")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Last messages")).to_be_visible()
    page.context.close()


@at_both_widths
def test_a_key_is_made_by_keyboard_and_sends_a_text(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="API keys").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Make a key").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Name").focus()
    page.keyboard.type(f"shop server {width}")
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be one at least")).to_be_visible()
    picture(page, "key-wrong")
    page.get_by_label("Mode").select_option("sandbox")
    page.get_by_label("sms.send").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Make the key").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your new API key")).to_be_visible()
    picture(page, "key-made")
    key = page.locator("#secret").inner_text()
    sent = plain_http.post(
        f"{server.url}/api/v1/sms/send",
        headers={"Authorization": f"Bearer {key}"},
        json={"sender": "SANDBOX", "message": "Hello", "to": "233201234567"},
    )
    assert sent.json()["success"]
    page.get_by_role("link", name="I have kept it").click()
    row = page.get_by_role("row").filter(has_text=f"shop server {width}")
    expect(row).to_contain_text(f"{key[:12]}…")
    picture(page, "keys")
    row.get_by_role("link", name="Revoke").click()
    picture(page, "key-revoke")
    page.get_by_role("button", name="Revoke it").focus()
    page.keyboard.press("Enter")
    expect(row).to_contain_text("revoked")
    page.context.close()


def test_two_clicks_make_one_key(browser: Browser, server: Server) -> None:
    page = opened(browser, NARROW)
    sign_in_owner(page, server)
    page.get_by_role("link", name="API keys").click()
    page.get_by_role("link", name="Make a key").click()
    page.get_by_label("Name").fill("clicked twice")
    page.get_by_label("sms.send").check()
    held: list[Route] = []
    page.route(page.url, lambda route: held.append(route))
    button = page.get_by_role("button", name="Make the key")
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box is not None
    for _ in range(2):  # by the mouse, because a click of a button waits for the answer
        page.mouse.click(box["x"] + 9, box["y"] + 9, delay=100)
    assert len(held) == 1
    held[0].continue_()
    expect(page.get_by_role("heading", name="Your new API key")).to_be_visible()
    page.get_by_role("link", name="I have kept it").click()
    expect(page.get_by_role("row").filter(has_text="clicked twice")).to_have_count(1)
    page.context.close()


@at_both_widths
def test_a_webhook_fails_is_mended_and_its_event_delivered_again(
    browser: Browser, server: Server, width: int
) -> None:
    answers = [REFUSED, OK]
    with receiver_in_a_thread(lambda writer: says(answers[0])(writer)) as receiver:
        page = opened(browser, width)
        sign_in_owner(page, server)
        page.get_by_role("link", name="Webhooks").focus()
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Add an endpoint").focus()
        page.keyboard.press("Enter")
        page.get_by_label("Address").focus()
        page.keyboard.type("http://shop.example/hook")
        expect(page.get_by_text("must begin with https://")).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.get_by_label("Address")).to_have_attribute("aria-invalid", "true")
        picture(page, "webhook-wrong")
        page.get_by_label("Address").fill(receiver.url() + LONGER_THAN_A_PHONE[width])
        expect(page.get_by_text("Events can be sent there")).to_be_visible()
        expect(page.get_by_text("must begin with https://")).to_have_count(0)
        page.get_by_label("Mode").select_option("sandbox")
        page.get_by_label("message.delivered").check()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="The secret of your endpoint")).to_be_visible()
        picture(page, "webhook-secret")
        page.get_by_role("link", name="To the endpoint").click()
        address = page.url
        page.get_by_role("button", name="Send a sample").click()
        expect(page.get_by_text("503")).to_be_visible()
        picture(page, "webhook-tested")
        send(server, "233201234567", "Your order is on its way.")
        wait_until(lambda: len(receiver.bodies) > 1, "no event came")
        page.goto(f"{address}?show=failed")
        reload_until(page, page.get_by_role("link", name="message.delivered"))
        picture(page, "webhook-failing")
        page.get_by_role("link", name="message.delivered").click()
        expect(page.locator("#body")).to_contain_text('"message.delivered"')
        expect(page.get_by_role("cell", name="503")).to_be_visible()
        picture(page, "webhook-event")
        page.go_back()
        span = page.locator("form").filter(has=page.get_by_label("Until, UTC"))
        began = page.get_by_label("Since, UTC").input_value()
        page.get_by_label("Until, UTC").fill(began)
        page.keyboard.press("Enter")
        expect(span.get_by_text("must be later than the beginning")).to_be_visible()
        picture(page, "webhook-span-wrong")
        answers.pop(0)
        page.get_by_label("Until, UTC").fill("")
        page.keyboard.press("Enter")
        wait_until(lambda: len(receiver.bodies) > 2, "it was not delivered again")
        page.goto(address)
        reload_until(page, page.get_by_text("delivered", exact=True))
        picture(page, "webhook")
        page.get_by_role("navigation").get_by_role("link", name="Webhooks").click()
        picture(page, "webhooks")
        page.goto(address)
        page.get_by_text("Remove …").click()
        page.get_by_role("button", name="Remove it for good").click()
        expect(page.get_by_role("row").filter(has_text=receiver.url())).to_have_count(0)
        page.context.close()


@at_both_widths
def test_a_text_is_counted_while_it_is_typed_and_sent(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Send", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_label("Mode").select_option("sandbox")
    page.get_by_role("combobox", name="Sender").fill("SANDBOX")
    page.get_by_label("To", exact=True).fill("233201234567")
    text = page.get_by_label("Text", exact=True)
    text.focus()
    page.keyboard.insert_text("x" * 5_000)  # as what is pasted
    expect(text).to_have_value("x" * 5_000)
    expect(page.get_by_text("message takes 33 segments; allowed: 10")).to_be_visible()
    page.keyboard.press("Control+A")
    page.keyboard.type("Your table is ready. " * 4)
    expect(page.get_by_text("1 segment", exact=True)).to_be_visible()
    page.keyboard.type("See you at Kofi’s.")
    expect(page.get_by_text("makes it UCS-2: 2 segments instead of 1.")).to_be_visible()
    expect(page.get_by_text("2 credits for 1 recipient")).to_be_visible()
    picture(page, "send")
    page.get_by_role("button", name="Send", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What became of it")).to_be_visible()
    expect(page.get_by_role("blockquote")).to_contain_text("See you at Kofi’s.")
    page.context.close()
    assert wrong == []
