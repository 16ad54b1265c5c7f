"""Which parts of the distribution can run here: the packages behind each extra."""

from importlib.util import find_spec

# Extra → distribution → the module that it installs.
MODULES = {
    "evaluator": {
        "grpcio-health-checking": "grpc_health",
        "grpcio-reflection": "grpc_reflection",
        "numpy": "numpy",
        "pillow": "PIL",
        "pyarrow": "pyarrow",
        "pydantic": "pydantic",
        "pydantic-settings": "pydantic_settings",
        "structlog": "structlog",
        "threadpoolctl": "threadpoolctl",
        "tokenizers": "tokenizers",
        "tritonclient": "tritonclient",
    },
    "triton": {
        "numpy": "numpy",
        "onnxruntime": "onnxruntime",
        "structlog": "structlog",
    },
    "exporter": {
        "efficientnet-lite-pytorch": "efficientnet_lite_pytorch",
        "huggingface-hub": "huggingface_hub",
        "numpy": "numpy",
        "onnx": "onnx",
        "onnx-ir": "onnx_ir",
        "onnxruntime": "onnxruntime",
        "onnxscript": "onnxscript",
        "pillow": "PIL",
        "pydantic": "pydantic",
        "safetensors": "safetensors",
        "tokenizers": "tokenizers",
        "torch": "torch",
        "transformers": "transformers",
    },
}


def missing(extra: str) -> list[str]:
    """Distributions of `extra` whose module is not installed. Imports nothing."""
    return [name for name, module in MODULES[extra].items() if find_spec(module) is None]


def install_command(*extras: str) -> str:
    """The command that installs `extras`, run in a clone of the repository."""
    return f"pip install -e '.[{','.join(extras)}]'"
