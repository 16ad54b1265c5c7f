"""Texts → token ids, as the manifest says.

Tokenising and padding are apart, so that a caller can sort texts by length and
pad each batch on its own.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer as FileTokenizer

from lookbench_core.digests import file_digest
from lookbench_core.manifest import TextInput
from lookbench_inference.errors import ItemUnreadable, ModelContractMismatch

TEXT_UNREADABLE = "TEXT_UNREADABLE"
TEXT_EMPTY = "TEXT_EMPTY"

_SLOT = re.compile(r"\{(text|instruction)\}")


@dataclass(frozen=True)
class Encoded:
    """Token ids of each text, unpadded, special tokens included.

    truncated: which texts were longer than the model accepts.
    """

    ids: tuple[tuple[int, ...], ...]
    truncated: tuple[bool, ...]


@dataclass(frozen=True)
class Padded:
    """A batch. token_ids and mask: int64 [B, T]; the mask is 1 for a token, 0 for padding."""

    token_ids: npt.NDArray[np.int64]
    mask: npt.NDArray[np.int64]


def fill(template: str, text: str, instruction: str = "") -> str:
    """`template` with `{text}` and `{instruction}` replaced, each once and literally.

    Braces inside `text` and `instruction` stay as they are.
    """
    values = {"text": text, "instruction": instruction}
    return _SLOT.sub(lambda slot: values[slot[1]], template)


class Tokenizer:
    """The tokenizer of one model."""

    def __init__(self, text_input: TextInput, folder: Path) -> None:
        """Reads `folder / text_input.tokenizer_file`.

        Raises ModelContractMismatch when the file is missing, is not the one
        the manifest describes, or disagrees with the manifest.
        """
        self._input = text_input
        self._tokenizer = _load(folder / text_input.tokenizer_file, text_input)

    def encode(
        self,
        texts: Sequence[str],
        role: str,
        instruction: str | None = None,
        *,
        ids: Sequence[str] | None = None,
    ) -> Encoded:
        """Token ids of `texts` in the role's template, at most `max_tokens` each.

        What is cut is the text's end: special tokens, an end token above all,
        are added after the cut. `instruction` None means the manifest's default.

        Raises ModelContractMismatch for a role that the model lacks or an
        instruction that the role does not take; ItemUnreadable (TEXT_UNREADABLE,
        TEXT_EMPTY) naming the text by `ids`, or by its position without them.
        """
        template = self._template(role, instruction)
        given = self._input.default_instruction if instruction is None else instruction
        filled = [fill(template, text, given) for text in texts]
        names = (
            [f"text {n}" for n in range(len(texts))]
            if ids is None
            else [f"item {item}" for item in ids]
        )
        _check_encodable(filled, names)
        encodings = self._tokenizer.encode_batch(filled)
        tokens = tuple(tuple(encoding.ids) for encoding in encodings)
        _check_not_empty(tokens, names)
        return Encoded(tokens, tuple(bool(encoding.overflowing) for encoding in encodings))

    def pad(self, batch: Sequence[Sequence[int]]) -> Padded:
        """Token ids and mask of `batch`, int64 [B, T].

        T is the longest text of the batch, or `max_tokens` where the manifest
        says so. The mask is made also for models that take none.
        """
        fixed = self._input.padding == "max_tokens"
        length = self._input.max_tokens if fixed else max(map(len, batch), default=0)
        ids = np.full((len(batch), length), self._input.pad_id, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            start = length - len(tokens) if self._input.padding_side == "left" else 0
            ids[row, start : start + len(tokens)] = tokens
            mask[row, start : start + len(tokens)] = 1
        return Padded(ids, mask)

    def _template(self, role: str, instruction: str | None) -> str:
        templates: Mapping[str, str] = self._input.templates
        if role not in templates:
            known = ", ".join(sorted(templates))
            raise ModelContractMismatch(
                f"the model has no role {role!r}; it has: {known}", role=role, known=known
            )
        template = templates[role]
        default = self._input.default_instruction
        if instruction not in (None, "", default) and "{instruction}" not in template:
            raise ModelContractMismatch(
                f"role {role!r} takes no instruction; leave it out", role=role
            )
        return template


def _load(path: Path, text_input: TextInput) -> FileTokenizer:
    _check_digest(path, text_input.tokenizer_digest)
    try:
        tokenizer = FileTokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise ModelContractMismatch(
            f"{path} is not a tokenizer file: {error}; export the model again", path=path
        ) from None
    _check_agreement(path, tokenizer, text_input)
    # The file may carry settings of its training; the manifest alone decides.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.enable_truncation(text_input.max_tokens)
    return tokenizer


def _check_digest(path: Path, expected: str) -> None:
    try:
        actual = file_digest(path)
    except OSError as error:
        raise ModelContractMismatch(
            f"{path}: {error.strerror}; export the model again", path=path
        ) from None
    if actual != expected:
        raise ModelContractMismatch(
            f"{path} has digest {actual}, the manifest says {expected}; export the model again",
            path=path,
            actual=actual,
            expected=expected,
        )


def _check_agreement(path: Path, tokenizer: FileTokenizer, text_input: TextInput) -> None:
    pad_id = tokenizer.token_to_id(text_input.pad_token)
    if pad_id != text_input.pad_id:
        raise ModelContractMismatch(
            f"{path}: pad token {text_input.pad_token!r} has id {pad_id}, "
            f"the manifest says {text_input.pad_id}",
            path=path,
        )
    special = tokenizer.num_special_tokens_to_add(False)
    if special >= text_input.max_tokens:
        raise ModelContractMismatch(
            f"{path}: {special} special tokens leave no room in max_tokens {text_input.max_tokens}",
            path=path,
        )
    for role, template in text_input.templates.items():
        if "{text}" not in template:
            raise ModelContractMismatch(f"the template of role {role!r} lacks {{text}}", role=role)


def _check_encodable(texts: Sequence[str], names: Sequence[str]) -> None:
    for name, text in zip(names, texts, strict=True):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ItemUnreadable(
                TEXT_UNREADABLE, f"{name} holds half of a surrogate pair"
            ) from None


def _check_not_empty(ids: Sequence[Sequence[int]], names: Sequence[str]) -> None:
    for name, tokens in zip(names, ids, strict=True):
        if not tokens:
            raise ItemUnreadable(TEXT_EMPTY, f"{name} has no tokens")
