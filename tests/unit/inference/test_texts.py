from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer as FileTokenizer
from tokenizers import models, pre_tokenizers, processors

from lookbench_core.digests import file_digest
from lookbench_core.manifest import TextInput
from lookbench_inference.errors import ItemUnreadable, ModelContractMismatch
from lookbench_inference.texts import Tokenizer, fill

WORDS = [
    "[PAD]",
    "[BOS]",
    "[EOS]",
    "[UNK]",
    "red",
    "silk",
    "dress",
    "query",
    ":",
    "a",
    "{",
    "}",
    "text",
]
PAD, BOS, EOS, UNK, RED, SILK, DRESS, QUERY, COLON = range(9)


def write_tokenizer(folder: Path, special: bool = True, own_settings: bool = True) -> Path:
    tokenizer = FileTokenizer(
        models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[BOS] $A [EOS]", special_tokens=[("[BOS]", BOS), ("[EOS]", EOS)]
        )
    if own_settings:  # what training left in the file, and the manifest does not want
        tokenizer.enable_padding(length=20, pad_id=UNK, pad_token="[UNK]")
        tokenizer.enable_truncation(3)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


def text_input(path: Path, **changes: object) -> TextInput:
    values = {
        "tokenizer_file": path.name,
        "tokenizer_digest": file_digest(path),
        "max_tokens": 8,
        "padding": "longest",
        "padding_side": "right",
        "pad_id": PAD,
        "pad_token": "[PAD]",
        "has_attention_mask": True,
        "templates": {"document": "{text}", "query": "query : {instruction} {text}"},
    }
    return TextInput(**{**values, **changes})


def make(folder: Path, **changes: object) -> Tokenizer:
    path = write_tokenizer(folder, special=changes.pop("special", True))
    return Tokenizer(text_input(path, **changes), folder)


def test_ids_have_no_padding_and_ignore_the_files_own_settings(tmp_path: Path) -> None:
    encoded = make(tmp_path).encode(["red dress", "red silk dress red"], "document")
    assert encoded.ids == ((BOS, RED, DRESS, EOS), (BOS, RED, SILK, DRESS, RED, EOS))
    assert encoded.truncated == (False, False)


def test_the_end_token_survives_truncation_and_cuts_are_counted(tmp_path: Path) -> None:
    # CLIP's contract: 77 positions, position 76 the end of the text.
    tokenizer = make(tmp_path, max_tokens=77)
    encoded = tokenizer.encode([" ".join(["red"] * n) for n in (75, 76, 100, 300)], "document")
    assert [len(ids) for ids in encoded.ids] == [77, 77, 77, 77]
    assert [ids[76] for ids in encoded.ids] == [EOS] * 4
    assert encoded.truncated == (False, True, True, True)


def test_fixed_padding_does_not_depend_on_batch_mates(tmp_path: Path) -> None:
    # SigLIP's contract: always 64 ids, no mask needed.
    tokenizer = make(tmp_path, max_tokens=64, padding="max_tokens")
    short, long = tokenizer.encode(["red dress", " ".join(["silk"] * 60)], "document").ids
    alone, beside = tokenizer.pad([short]), tokenizer.pad([short, long])
    assert alone.token_ids.shape == (1, 64)
    assert np.array_equal(alone.token_ids[0], beside.token_ids[0])


def test_padding_to_the_longest_of_the_batch(tmp_path: Path) -> None:
    padded = make(tmp_path).pad([(BOS, RED, EOS), (BOS, EOS)])
    assert padded.token_ids.tolist() == [[BOS, RED, EOS], [BOS, EOS, PAD]]
    assert padded.mask.tolist() == [[1, 1, 1], [1, 1, 0]]
    assert padded.token_ids.dtype == padded.mask.dtype == np.int64


def test_padding_on_the_left(tmp_path: Path) -> None:
    padded = make(tmp_path, padding_side="left").pad([(BOS, RED, EOS), (BOS, EOS)])
    assert padded.token_ids.tolist() == [[BOS, RED, EOS], [PAD, BOS, EOS]]
    assert padded.mask.tolist() == [[1, 1, 1], [0, 1, 1]]


def test_an_empty_batch_has_no_rows(tmp_path: Path) -> None:
    assert make(tmp_path).pad([]).token_ids.shape == (0, 0)


def test_roles_and_instructions_change_the_ids(tmp_path: Path) -> None:
    tokenizer = make(tmp_path, default_instruction="silk")
    assert tokenizer.encode(["red"], "document").ids == ((BOS, RED, EOS),)
    assert tokenizer.encode(["red"], "query").ids == ((BOS, QUERY, COLON, SILK, RED, EOS),)
    assert tokenizer.encode(["red"], "query", "dress").ids == (
        (BOS, QUERY, COLON, DRESS, RED, EOS),
    )


def test_a_caller_may_pass_the_default_instruction_to_any_role(tmp_path: Path) -> None:
    tokenizer = make(tmp_path, default_instruction="silk")
    assert tokenizer.encode(["red"], "document", "silk").ids == ((BOS, RED, EOS),)


def test_an_instruction_for_a_role_without_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelContractMismatch, match="'document' takes no instruction"):
        make(tmp_path).encode(["red"], "document", "silk")


def test_an_unknown_role_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(ModelContractMismatch, match="no role 'item'; it has: document, query"):
        make(tmp_path).encode(["red"], "item")


def test_templates_are_filled_literally_and_once() -> None:
    assert fill("query: {text}", "{instruction} {0} {text} %s \\1") == (
        "query: {instruction} {0} {text} %s \\1"
    )
    assert fill("{instruction}|{text}|{other}", "t", "{text}") == "{text}|t|{other}"


def test_half_a_surrogate_pair_is_one_unreadable_text(tmp_path: Path) -> None:
    with pytest.raises(ItemUnreadable, match="text 1 ") as caught:
        make(tmp_path).encode(["red", "silk \ud83d"], "document")
    assert caught.value.row_reason == "TEXT_UNREADABLE"


def test_a_text_without_any_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ItemUnreadable, match="text 0 has no tokens") as caught:
        make(tmp_path, special=False).encode([" "], "document")
    assert caught.value.row_reason == "TEXT_EMPTY"


def test_an_altered_tokenizer_file_is_refused(tmp_path: Path) -> None:
    path = write_tokenizer(tmp_path)
    described = text_input(path)
    path.write_text(path.read_text().replace("silk", "wool"))
    with pytest.raises(ModelContractMismatch, match=r"tokenizer\.json has digest .* manifest says"):
        Tokenizer(described, tmp_path)


def test_a_missing_tokenizer_file_is_named(tmp_path: Path) -> None:
    path = write_tokenizer(tmp_path)
    described = text_input(path)
    path.unlink()
    with pytest.raises(ModelContractMismatch, match=r"tokenizer\.json: No such file"):
        Tokenizer(described, tmp_path)


def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(ModelContractMismatch, match="is not a tokenizer file"):
        Tokenizer(text_input(path), tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pad_id": 2}, r"pad token '\[PAD\]' has id 0, the manifest says 2"),
        ({"pad_token": "<pad>"}, "has id None"),
        ({"max_tokens": 2}, "2 special tokens leave no room"),
        ({"templates": {"query": "no slot"}}, r"role 'query' lacks \{text\}"),
    ],
)
def test_a_manifest_at_odds_with_the_file_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ModelContractMismatch, match=message):
        make(tmp_path, **changes)
