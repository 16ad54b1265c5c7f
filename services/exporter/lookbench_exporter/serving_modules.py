"""The parts of a served graph that surround a model's own network."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class ImageTower(nn.Module):
    """uint8 pixels [B, H, W, 3] in RGB → unit vectors float32 [B, D].

    `network` takes normalised float32 [B, 3, H, W] and gives [B, D]. mean and
    std are in units of the 0..255 pixel values.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, network: nn.Module, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("mean", torch.tensor(mean).reshape(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor(std).reshape(1, 3, 1, 1))

    def forward(self, pixels: Tensor) -> Tensor:
        """Transposes while the pixels are one byte each, then normalises."""
        planes = pixels.permute(0, 3, 1, 2).to(torch.float32)
        features = self.network((planes - self.mean) / self.std)
        return functional.normalize(features, dim=-1)


class SpatialMean(nn.Module):
    """Mean over height and width of the last feature map: [B, D, h, w] → [B, D].

    `network` gives that map by a method `extract_features`.
    """

    network: Any

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, planes: Tensor) -> Tensor:
        """planes: float32 [B, 3, H, W]."""
        pooled: Tensor = self.network.extract_features(planes).mean(dim=(2, 3))
        return pooled


class MaskedMeanText(nn.Module):
    """Token ids and mask int64 [B, T] → unit vectors float32 [B, D].

    The mean over the hidden states of real tokens; padding has no weight.
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """attention_mask: 1 for a real token, 0 for padding."""
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(states.dtype)
        # A row of padding alone would divide by zero and poison nothing but itself.
        pooled = (states * weights).sum(dim=1) / weights.sum(dim=1).clamp_min(1.0)
        return functional.normalize(pooled, dim=-1)
