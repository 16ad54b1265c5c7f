"""What the small files of a sentence-transformers folder say about a model."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookbench_exporter.errors import SourceInvalid

MODEL_TYPES = ("bert", "distilbert", "mpnet", "roberta", "xlm-roberta")
"""Encoders whose export was tried."""

_OFFSET_POSITIONS = ("mpnet", "roberta", "xlm-roberta")
"""Their first position is the padding's id plus one, so two fewer tokens fit."""

_LICENCE = re.compile(r"^license:\s*[\"']?([\w.-]+)", re.MULTILINE)
_ROLES = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""Our role → names of prompts that publishers use for it."""


@dataclass(frozen=True)
class SentenceFolder:
    """max_tokens: special tokens included. templates: role → text with `{text}`."""

    max_tokens: int
    templates: Mapping[str, str]
    licence: str


def read_sentence_folder(folder: Path, config: Any, tokenizer_limit: int) -> SentenceFolder:
    """Reads the folder; config is that of transformers.

    Raises SourceInvalid for an architecture or pooling other than this family's.
    """
    if config.model_type not in MODEL_TYPES:
        raise SourceInvalid(
            f"{folder}: model type {config.model_type}; this family exports "
            f"{', '.join(MODEL_TYPES)}",
            path=folder,
            model_type=config.model_type,
        )
    _check_modules(folder)
    settings = _json(folder / "sentence_bert_config.json")
    if settings.get("do_lower_case"):
        raise SourceInvalid(
            f"{folder}: sentence_bert_config.json asks for lower-casing before the tokenizer; "
            "use a tokenizer that does it itself",
            path=folder,
        )
    return SentenceFolder(
        _max_tokens(settings, config, tokenizer_limit), _templates(folder), _licence(folder)
    )


def _check_modules(folder: Path) -> None:
    """Only an encoder, a mean and a normalisation; a folder without modules.json means that."""
    modules = _json(folder / "modules.json") or []
    for module in modules:
        kind = module.get("type", "").rsplit(".", 1)[-1]
        if kind not in {"Transformer", "Pooling", "Normalize"}:
            raise SourceInvalid(
                f"{folder}: its module {kind} is none of this family's (mean pooling only)",
                path=folder,
                module=kind,
            )
        if kind == "Pooling":
            _check_pooling(folder / module.get("path", "") / "config.json")


def _check_pooling(path: Path) -> None:
    settings = _json(path)
    named = settings.get("pooling_mode")
    switched = [key for key, value in settings.items() if _is_mode(key) and value is True]
    modes = switched if named is None else [f"pooling_mode_{named}_tokens"]
    if modes not in ([], ["pooling_mode_mean_tokens"]):
        raise SourceInvalid(
            f"{path}: pooling {', '.join(modes)}; this family pools by masked mean",
            path=path,
            pooling=", ".join(modes),
        )


def _is_mode(key: str) -> bool:
    return key.startswith("pooling_mode_")


def _max_tokens(settings: Mapping[str, Any], config: Any, tokenizer_limit: int) -> int:
    """The smallest of what the publisher, the tokenizer and the positions allow."""
    positions = config.max_position_embeddings
    if config.model_type in _OFFSET_POSITIONS:
        positions -= 2
    published = settings.get("max_seq_length") or positions
    return int(min(published, tokenizer_limit, positions))


def _templates(folder: Path) -> dict[str, str]:
    """A prompt that the publisher gives for a role stands before the text."""
    prompts = _json(folder / "config_sentence_transformers.json").get("prompts") or {}
    templates = {}
    for role, names in _ROLES.items():
        prompt = next((prompts[name] for name in names if prompts.get(name)), "")
        if "{text}" in prompt or "{instruction}" in prompt:
            raise SourceInvalid(
                f"{folder}: the prompt of {role} contains a slot of our templates", path=folder
            )
        templates[role] = f"{prompt}{{text}}"
    return templates


def _licence(folder: Path) -> str:
    readme = folder / "README.md"
    found = _LICENCE.search(readme.read_text("utf-8", "replace")) if readme.is_file() else None
    return found[1] if found else "unknown"


def _json(path: Path) -> Any:
    """Contents of a file, or an empty object when there is none."""
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise SourceInvalid(f"{path} is not JSON: {error}", path=path) from error
