"""Reads a form that has files in it."""

import math
import re
from collections.abc import AsyncGenerator, Mapping
from types import MappingProxyType
from typing import Final

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from heliograph.base.errors import FieldError, InvalidRequest, PayloadTooLarge
from heliograph.portal.page_request import SentFields, SentFile

# what comes in within the time for a body, at a megabit a second
UPLOAD_OCTETS_MAX: Final = 4 * 1_024 * 1_024
FIELDS_MAX: Final = 12
FIELD_OCTETS_MAX: Final = 24 * 1_024  # the text of a campaign, in letters of four octets
FILE_FIELD: Final = "file"
_MEBIBYTE: Final = 1_024**2
_LENGTH: Final = re.compile(r"[0-9]{1,15}")


class UploadTooLarge(PayloadTooLarge):
    """A form has files that are too large. `form` are the fields that came before them, and
    `field_error` says at the field of the files what is allowed, and how long the form is as a
    whole, if the browser has announced that (`content_length`).
    """

    def __init__(
        self,
        octets_max: int = UPLOAD_OCTETS_MAX,
        files_max: int = 1,
        form: Mapping[str, str] = MappingProxyType({}),
        content_length: str = "",
    ) -> None:
        most = octets_max // _MEBIBYTE
        is_alone = files_max == 1
        super().__init__(
            f"A file may have {most} MiB."
            if is_alone
            else f"All files together may have {most} MiB."
        )
        self.form = form
        why = f"must have at most {most} MiB" + ("" if is_alone else " together")
        if _LENGTH.fullmatch(content_length):
            why += f", not {math.ceil(int(content_length) * 100 / _MEBIBYTE) / 100:.2f} MiB"
        self.field_error = FieldError(FILE_FIELD, why)


class _TooManyOctets(Exception):
    """The body of a form is longer than it may be."""


def is_upload(request: Request) -> bool:
    """Returns whether a form is sent in the way in which files are."""
    return request.headers.get("content-type", "").startswith("multipart/form-data")


async def read_upload(
    request: Request, octets_max: int = UPLOAD_OCTETS_MAX, files_max: int = 1
) -> SentFields:
    """Returns the fields of a form, and the files in it. Raises UploadTooLarge for more octets,
    none of which are kept, and InvalidRequest.
    """
    if not is_upload(request):
        raise InvalidRequest("The form cannot be read.")
    parser = MultiPartParser(
        request.headers,
        _limited(request, octets_max),
        max_files=files_max,
        max_fields=FIELDS_MAX,
        max_part_size=FIELD_OCTETS_MAX,
    )
    try:
        fields = await parser.parse()
    except _TooManyOctets as error:
        before = {name: value for name, value in parser.items if isinstance(value, str)}
        announced = request.headers.get("content-length", "")
        raise UploadTooLarge(octets_max, files_max, before, announced) from error
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


async def _limited(request: Request, octets_max: int) -> AsyncGenerator[bytes, None]:
    octets = 0
    async for part in request.stream():
        octets += len(part)
        if octets > octets_max:
            raise _TooManyOctets
        yield part
