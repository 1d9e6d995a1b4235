"""Lists what other rooms say is wrong with a field. Each text goes on after the field's name, and
has places for what differs (`refusal_sentences.py`).
"""

from typing import Final

from heliograph.portal.languages.page_language import marked

OF_FIELDS: Final = (
    marked("is required"),
    marked("is required; found %(sent)s instead"),
    marked("is required, and must not be empty"),
    marked("is given twice"),
    marked("is given twice: %(name)s and the same with spaces at its ends"),
    marked("is not a query parameter here; allowed: %(allowed)s"),
    marked("differs from %(other)s; give one of them"),
    marked("must be one of %(choices)s, not %(given)s"),
    marked("must be one of %(choices)s; not %(given)s"),
    marked("must be a string, not %(given)s"),
    marked("must be true or false, not %(given)s"),
    marked("must be yes or no, not %(given)s"),
    marked("must be a number, not %(given)s"),
    marked("must be a number of 0 or more, not %(given)s"),
    marked("must be an integer from %(least)s to %(most)s, not %(given)s"),
    marked(
        "must be an integer from %(least)s to %(most)s, with no more digits than can be kept"
        " exactly"
    ),
    marked("must be from %(least)s to %(most)s, not %(given)s"),
    marked("must be 1 or more, not %(given)s"),
    marked("must be at most %(most)s"),
    marked("must be at most %(most)s: the operator can allow more"),
    marked("must be some of %(allowed)s: the operator can allow more"),
    marked("may be stored or not. %(why)s Choose it again"),
    marked("must not be 0"),
    marked("must not be in the future"),
    marked("must be all, or among %(kinds)s, not %(given)s"),
    marked("must not be negative, and have at most 15 digits"),
    marked("has more digits than can be kept exactly"),
    marked("has more decimals than the %(places)s of %(currency)s: %(given)s"),
    marked("must have %(least)s to %(most)s characters, not %(given)s"),
    marked("must have at most %(most)s characters, not %(given)s"),
    marked("must have 1 to %(most)s characters and no U+0000"),
    marked("must be one line of printable characters"),
    marked("must be a time in RFC 3339, such as %(example)s, not %(given)s"),
    marked("must be the next_cursor of an earlier page"),
    marked("must be one of the buttons of this page, not %(given)s"),
    marked("must be an email address such as ama@example.com, not %(given)s"),
    marked("must be an email address of at most %(most)s characters, not %(given)s"),
    marked("must be a phone number such as 233201234567, not %(given)s"),
    marked("must be a phone number in international digits such as 233201234567, not %(given)s"),
    marked("must be a country of ISO 3166-1 in two letters, such as GH, not %(given)s"),
    marked("must be a country of ISO 3166-1 in two letters, not %(given)s"),
    marked("must be an ISO 3166-1 alpha-2 code such as GH, not %(given)s"),
    marked("must name one country at least; to stop all sending, suspend the account"),
    marked("must be a time zone of the IANA database, such as Africa/Accra, not %(given)s"),
    marked("must be a currency of ISO 4217 that is in use, such as GHS, not %(given)s"),
    marked("must not begin like an id, with %(prefix)s or %(other)s; it is %(given)s"),
    marked("must be sandbox for a customer that was provisioned in sandbox"),
    marked("must be sandbox until whoever runs this service lets you go live"),
)
OF_FORMS: Final = (
    # keys and webhooks
    marked("must be one at least: a key without any opens nothing"),
    marked("must lie in the future, not at %(given)s"),
    marked("must name at least one of %(kinds)s, or all"),
    marked("must be within the last 30 days: events are kept no longer"),
    marked("must be later than the beginning"),
    marked("is disabled; enable it first"),
    marked("is being rotated already; finish that first, with --finish"),
    marked(
        "cannot be added: an account has at most %(most)s endpoints in each mode; remove one first"
    ),
    marked(
        "must be printable ASCII without spaces: write international names as xn--…, other"
        " characters as %%XX"
    ),
    marked("must have no fragment (#…), which is never sent"),
    marked("must have no credentials: the signature is what proves who calls"),
    marked("must be written https://HOST[:PORT]/PATH[?QUERY], with any other character as %%XX"),
    marked("must begin with https://"),
    marked("must have port %(port)s or %(least)s..%(most)s, not %(given)s"),
    marked(
        "must name a host: labels of letters, digits and inner hyphens, with single dots between"
        " them"
    ),
    marked("must lead to a public address; %(host)s is %(why_kind)s"),
    marked("a cloud's metadata service"),
    marked("unspecified"),
    marked("loopback"),
    marked("link-local"),
    marked("private"),
    marked("shared by a provider's customers (CGNAT)"),
    marked("documentation"),
    marked("benchmarking"),
    marked("reserved"),
    marked(
        "must have an address as four decimal numbers (192.0.2.1) or in brackets ([2001:db8::1])"
    ),
    # sender IDs
    marked("must be another one: %(sender)s is reserved, because %(why)s"),
    marked("it is, or looks like, the sender of sandbox messages"),
    marked("it is, or looks like, the sender of the service's own one-time passwords"),
    marked("it is, or looks like, an emergency number"),
    marked("must be another one: %(sender)s is reserved"),
    marked("cannot be registered: an account has at most %(most)s sender IDs"),
    marked("must be a PDF, a PNG or a JPEG by its content, whatever its name says"),
    marked("must have at most %(most)s MiB"),
    marked("must have at most %(most)s MiB, not %(found)s MiB"),
    marked("must have at most %(most)s MiB together"),
    marked("must have at most %(most)s MiB together, not %(found)s MiB"),
    marked(
        "is one too many: a sender ID has at most %(most)s documents that nobody has decided on"
    ),
    marked("is one too many: an account has at most %(most)s documents"),
    marked("cannot be changed: the sender ID does not wait for a decision"),
    marked("cannot be removed: somebody has decided on it"),
    marked(
        "must have 3 to 11 of A-Z, a-z, 0-9, space, -, _, & and . with a letter among them and"
        " no space"
        " at either end, or be 3 to 15 digits; not %(given)s"
    ),
    # members, passwords, passkeys
    marked("belongs to a member already: change the role in the list"),
    marked("must stay owner: an account has one owner at least"),
    marked("was accepted meanwhile: remove the member in the list instead"),
    marked("cannot be invited: at most %(most)s invitations can be open"),
    marked("cannot be added: an account has at most %(most)s members"),
    marked("cannot be added: a user has at most %(most)s passkeys"),
    marked("must be harder to guess: it is a common one, or made of common parts"),
    marked("must be the %(digits)s digits that the app shows now, not %(given)s"),
    marked("must be turned off before it is set up anew"),
    # money
    marked("must be more than 0, not %(given)s"),
    marked("must be from 1 to %(most)s, not %(given)s"),
    marked("would cost more than %(most)s"),
    marked("would bring the wallet above %(most)s"),
    marked("now cost %(cost)s"),
    marked("have no price yet; see the price first"),
    marked("cannot be paid: %(why)s"),
    marked("cannot be moved: %(why)s"),
    marked("cannot be given: %(why)s"),
    marked("%(reference)s was already applied, with %(credits)s SMS credits (%(entry)s)"),
    marked("%(reference)s was already applied, with %(money)s (%(entry)s)"),
    marked("must be %(partners)s, like the partner's, for an initial balance; not %(given)s"),
    # contacts and files
    marked("is another contact's"),
    marked("has %(name)s twice"),
    marked("must be an array of strings, not %(given)s"),
    marked("must have at most %(most)s tags, not %(given)s"),
    marked("must have at most %(most)s fields, not %(given)s"),
    marked("must have no |, which stands between tags in files; found %(given)s"),
    marked("must not be called %(name)s: in a campaign's text that is the contact's own %(own)s"),
    marked(
        "must have none of { } | in its name, because a campaign's text asks for it by %(name)s"
    ),
    marked("is not stored. %(why)s"),
    marked("cannot be imported. %(why)s"),
    marked("cannot be used. %(why)s"),
    marked("must be a column of the file (%(columns)s), not %(given)s"),
    marked("must have at most %(most)s rows; split it"),
    marked("must be at most %(most)s contacts, not %(given)s"),
    marked("must be one at least: select contacts in the list"),
    marked("has 1 cell, but the first line has %(columns)s"),
    marked("has %(cells)s cells, but the first line has %(columns)s"),
    marked("has %(cells)s columns; the header has %(columns)s"),
    marked("says %(given)s, which is not a valid number"),
    marked("has no number"),
    marked("makes a text that is empty, or takes more than %(most)s segments"),
    marked("has more than %(most)s characters, or U+0000, in %(column)s"),
    marked("is not UTF-8"),
    marked(
        "is not CSV: a cell goes on behind its closing quote (within a quoted cell, a quote is"
        " written twice)"
    ),
    marked("is not CSV: a carriage return stands in a cell without quotes"),
    marked("and %(count)s more"),
    marked("is a second column for %(name)s: column %(place)s is the first"),
    # messages and campaigns
    marked("must name one tag at least"),
    marked(
        "must be blank where the audience is all contacts: choose the contacts with these tags,"
        " or remove the tags"
    ),
    marked("must be all, tags or numbers, not %(given)s"),
    marked(
        "must have 1 character to %(segments)s segments (%(most)s characters of the GSM alphabet,"
        " %(others)s with any other), not 0"
    ),
    marked("takes %(segments)s segments; allowed: %(most)s"),
    marked("must be a string or an array of strings, not %(given)s"),
    marked("must have 1 to %(most)s elements, not %(given)s"),
    marked("takes %(segments)s segments before anything is filled in; allowed: %(most)s"),
    marked("takes more than %(most)s segments"),
    marked("is empty"),
    marked("must have at most %(most)s placeholders"),
    marked(
        "has a %(brace)s at character %(place)s that is not part of a placeholder such as {name};"
        " for a brace in the text, write two: %(doubled)s"
    ),
    marked(
        "has a placeholder at character %(place)s whose name must have 1 to %(most)s printable"
        " characters, not %(given)s"
    ),
    marked("must not hold U+%(code)s, at character %(place)s"),
    marked("must be in the future; %(given)s has passed (%(at)s)"),
    marked("must be within a year from now, not %(given)s"),
    marked(
        "must be a time such as 2027-01-31T09:30, or one with an offset such as"
        " 2027-01-31T09:30+01:00, not %(given)s"
    ),
    marked(
        "is %(given)s, a time that does not exist in %(zone)s: the clocks go forward then, and"
        " show %(there)s instead"
    ),
    marked("must be the id of something that this account has, not %(given)s"),
    marked(
        "must be an id such as msg_… of a message, cmp_… of a campaign or con_… of a contact, not"
        " %(given)s"
    ),
    marked(
        "must be what an answer had in X-Request-Id, req_ and 32 hexadecimal digits, not %(given)s"
    ),
    # reports
    marked("must not be before %(first)s, not %(given)s"),
    marked("must be at most %(most)s days, not %(given)s days"),
    marked("must be a day such as %(example)s, not %(given)s"),
)
