import pytest

from lookbench_exporter.errors import SourceInvalid
from lookbench_exporter.sample_images import SampleImages, default_images
from lookbench_exporter.samples import prepare_samples


@pytest.fixture(scope="module")
def text_samples(minilm):
    model = type("Model", (), {"image": None, "text": minilm.manifest.text})
    return prepare_samples(model, minilm.folder, SampleImages((), (), ""))


def test_texts_reach_from_three_tokens_to_more_than_the_model_reads(text_samples):
    lengths = [int(text_samples.feeds([row])["attention_mask"].sum()) for row in range(16)]
    assert min(lengths) == 3
    assert lengths.count(256) == 1
    assert text_samples.description == "16 texts of 3 to 256 tokens, as document"


def test_every_batch_of_eight_mixes_short_and_long_texts(text_samples):
    for start in (0, 8):
        lengths = text_samples.feeds(range(start, start + 8))["attention_mask"].sum(axis=1)
        assert lengths.min() < 10
        assert lengths.max() > 200


def test_images_are_resized_as_the_default_preset_says(lite0):
    image = lite0.manifest.image
    model = type("Model", (), {"image": image, "text": None})
    samples = prepare_samples(model, lite0.folder, default_images([]))
    assert samples.feeds([0, 5])["pixels"].shape == (2, 224, 224, 3)
    assert (samples.feeds([5])["pixels"][0] == samples.items[5]).all()


def test_an_unreadable_image_is_named(lite0):
    model = type("Model", (), {"image": lite0.manifest.image, "text": None})
    with pytest.raises(SourceInvalid, match=r"sample image shoe\.png: "):
        prepare_samples(model, lite0.folder, SampleImages(("shoe.png",), (b"no image",), ""))
