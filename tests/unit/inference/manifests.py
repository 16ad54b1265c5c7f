"""Two manifests for tests: a model of images and one of texts."""

from lookbench_core.manifest import ModelManifest, TextInput

DIGEST = "sha256:" + "0" * 64
BASE = {
    "name": "m",
    "family": "test",
    "source": {"kind": "folder", "id": "x", "weights_digest": DIGEST},
    "graph": {
        "digest": DIGEST,
        "opset": 18,
        "precision": "fp32",
        "files": ["1/model.onnx"],
        "exporter": {},
    },
    "output": {"tensor": "embedding", "dimension": 4, "pooling": "mean", "normalised": True},
    "max_batch_size": 8,
    "parity": {
        "reference": "t",
        "inputs": "t",
        "rows": 1,
        "worst_cosine": 1,
        "mean_cosine": 1,
        "batch_sizes": [1],
        "worst_batch_cosine": 1,
    },
}
IMAGE = ModelManifest.model_validate(
    {
        **BASE,
        "kind": "image_embedding",
        "image": {
            "height": 8,
            "width": 6,
            "mean": [0, 0, 0],
            "std": [1, 1, 1],
            "presets": {
                "native": {
                    "mode": "shortest_edge_crop",
                    "filter": "bicubic",
                    "shortest_edge": 9,
                },
                "lookbench": {"mode": "squash", "filter": "bilinear"},
            },
            "default_preset": "lookbench",
        },
    }
)
TEXT = ModelManifest.model_validate(
    {
        **BASE,
        "kind": "text_embedding",
        "text": TextInput(
            tokenizer_file="tokenizer.json",
            tokenizer_digest=DIGEST,
            max_tokens=16,
            padding="longest",
            padding_side="right",
            pad_id=0,
            pad_token="[PAD]",
            has_attention_mask=True,
            templates={"query": "{instruction} {text}", "document": "{text}"},
            default_instruction="Find it.",
        ).model_dump(),
    }
)
