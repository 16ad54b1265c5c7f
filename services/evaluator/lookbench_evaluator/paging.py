"""Page sizes and opaque page tokens (AIP-158)."""

import base64
import binascii
import json

from lookbench_core.digests import data_digest
from lookbench_evaluator.errors import InvalidField, InvalidPageToken

DEFAULT_PAGE = 50
LARGEST_PAGE = 1000


def page_size(asked: int) -> int:
    """50 when 0, at most 1000. Raises InvalidField when negative."""
    if asked < 0:
        raise InvalidField("page_size", f"{asked} is negative")
    return min(asked, LARGEST_PAGE) or DEFAULT_PAGE


def page_token(position: int, *arguments: object) -> str:
    """A token for the page that starts at `position` of the listing with these arguments."""
    text = json.dumps([position, data_digest([str(a) for a in arguments])[-16:]])
    return base64.urlsafe_b64encode(text.encode()).decode()


def page_position(token: str, *arguments: object) -> int | None:
    """The position of a token, None for an empty one.

    Raises InvalidPageToken when it is not ours or belongs to other arguments.
    """
    if not token:
        return None
    try:
        position, digest = json.loads(base64.urlsafe_b64decode(token))
    except (ValueError, binascii.Error, TypeError):
        raise InvalidPageToken from None
    if digest != data_digest([str(a) for a in arguments])[-16:] or type(position) is not int:
        raise InvalidPageToken
    return position
