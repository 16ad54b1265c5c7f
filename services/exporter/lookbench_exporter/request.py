"""What a user asks of one export."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lookbench_exporter.sample_images import SampleImages
from lookbench_exporter.triton_config import DynamicBatching, InstanceGroup

Precision = Literal["fp32"]
PRECISIONS: tuple[Precision, ...] = ("fp32",)


@dataclass(frozen=True)
class ExportRequest:
    """Options of an export.

    name: None for the family's own. images: called for image models only.
    force: replace a model of other origin. if_missing: keep a valid export of
    the same weights and options.
    """

    family: str
    source: str
    repository: Path
    images: Callable[[], SampleImages]
    revision: str | None = None
    name: str | None = None
    max_batch_size: int = 32
    precision: Precision = "fp32"
    instances: InstanceGroup = field(default_factory=InstanceGroup)
    batching: DynamicBatching = field(default_factory=DynamicBatching)
    force: bool = False
    if_missing: bool = False
