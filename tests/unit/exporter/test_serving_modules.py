import numpy as np
import pytest
import torch
from torch import nn

from lookbench_exporter.serving_modules import ImageTower, MaskedMeanText, SpatialMean


def test_pixels_are_normalised_by_channel_and_put_channel_first():
    class Corner(nn.Module):
        def forward(self, planes):
            return planes[:, :, 0, 0]

    pixels = torch.tensor([[[[110, 120, 130]]]], dtype=torch.uint8)
    tower = ImageTower(Corner(), (100.0, 100.0, 100.0), (10.0, 5.0, 10.0))
    # (1, 4, 3) / sqrt(26)
    assert tower(pixels)[0].tolist() == pytest.approx(np.array([1, 4, 3]) / np.sqrt(26))


def test_the_spatial_mean_is_over_height_and_width():
    class Maps(nn.Module):
        def extract_features(self, planes):
            return planes

    planes = torch.tensor([[[[1.0, 3.0], [5.0, 7.0]], [[0.0, 0.0], [0.0, 2.0]]]])
    assert SpatialMean(Maps())(planes).tolist() == [[4.0, 0.5]]


def test_padding_has_no_weight_in_the_masked_mean():
    class States(nn.Module):
        def forward(self, input_ids, attention_mask):
            states = torch.stack([input_ids, input_ids + 1], dim=-1).float()
            return type("Answer", (), {"last_hidden_state": states})

    ids = torch.tensor([[2, 4, 1000]])
    answer = MaskedMeanText(States())(ids, torch.tensor([[1, 1, 0]]))
    # mean of (2, 3) and (4, 5) is (3, 4), of length 5
    assert answer[0].tolist() == pytest.approx([0.6, 0.8])
