"""Reads a form that has a file in it."""

from collections.abc import AsyncGenerator
from typing import Final

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from heliograph.base.errors import InvalidRequest, PayloadTooLarge
from heliograph.portal.page_request import Sent

# what comes in within the time for a body, at a megabit a second
UPLOAD_OCTETS_MAX: Final = 4 * 1_024 * 1_024
FIELDS_MAX: Final = 10
FIELD_OCTETS_MAX: Final = 24 * 1_024  # the text of a campaign, in letters of four octets


async def read_upload(request: Request, octets_max: int = UPLOAD_OCTETS_MAX) -> Sent:
    """Returns the fields of a form, and the file in it. Raises PayloadTooLarge for more octets, and
    InvalidRequest.
    """
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise InvalidRequest("The form cannot be read.")
    parser = MultiPartParser(
        request.headers,
        _limited(request, octets_max),
        max_files=1,
        max_fields=FIELDS_MAX,
        max_part_size=FIELD_OCTETS_MAX,
    )
    try:
        fields = await parser.parse()
    except MultiPartException as error:
        raise InvalidRequest("The form cannot be read.") from error
    form, file, file_name = dict[str, str](), b"", ""
    for name, value in fields.multi_items():
        if isinstance(value, UploadFile):
            file, file_name = await value.read(), value.filename or ""
        else:
            form[name] = value
    await fields.close()
    return Sent(form=form, file=file, file_name=file_name)


async def _limited(request: Request, octets_max: int) -> AsyncGenerator[bytes, None]:
    octets = 0
    async for part in request.stream():
        octets += len(part)
        if octets > octets_max:
            raise PayloadTooLarge(f"A file may have {octets_max // 1_024**2} MiB.")
        yield part
