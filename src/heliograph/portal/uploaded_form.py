"""Reads a form that has files in it."""

from collections.abc import AsyncGenerator
from typing import Final

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from heliograph.base.errors import InvalidRequest, PayloadTooLarge
from heliograph.portal.page_request import SentFields, SentFile

# what comes in within the time for a body, at a megabit a second
UPLOAD_OCTETS_MAX: Final = 4 * 1_024 * 1_024
FIELDS_MAX: Final = 12
FIELD_OCTETS_MAX: Final = 24 * 1_024  # the text of a campaign, in letters of four octets


def is_upload(request: Request) -> bool:
    """Returns whether a form is sent in the way in which files are."""
    return request.headers.get("content-type", "").startswith("multipart/form-data")


async def read_upload(
    request: Request, octets_max: int = UPLOAD_OCTETS_MAX, files_max: int = 1
) -> SentFields:
    """Returns the fields of a form, and the files in it. Raises PayloadTooLarge for more octets,
    and InvalidRequest.
    """
    if not is_upload(request):
        raise InvalidRequest("The form cannot be read.")
    parser = MultiPartParser(
        request.headers,
        _limited(request, octets_max, files_max),
        max_files=files_max,
        max_fields=FIELDS_MAX,
        max_part_size=FIELD_OCTETS_MAX,
    )
    try:
        fields = await parser.parse()
    except MultiPartException as error:
        if error.message.startswith("Too many files"):
            raise InvalidRequest(f"A form may have {files_max} files.") from error
        raise InvalidRequest("The form cannot be read.") from error
    form, files = dict[str, str](), list[SentFile]()
    for name, value in fields.multi_items():
        if not isinstance(value, UploadFile):
            form[name] = value
            continue
        file = SentFile(value.filename or "", await value.read())
        if file.name or file.content:  # else it is a field in which no file was chosen
            files.append(file)
    await fields.close()
    return SentFields(form=form, files=files)


async def _limited(
    request: Request, octets_max: int, files_max: int
) -> AsyncGenerator[bytes, None]:
    octets, mebibytes = 0, octets_max // 1_024**2
    async for part in request.stream():
        octets += len(part)
        if octets > octets_max:
            if files_max > 1:
                raise PayloadTooLarge(f"All files together may have {mebibytes} MiB.")
            raise PayloadTooLarge(f"A file may have {mebibytes} MiB.")
        yield part
