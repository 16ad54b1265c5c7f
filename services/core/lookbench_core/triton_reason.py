"""Why Triton does not serve a model, for people: its own words hold stacks and nesting."""

import re

LONGEST = 600
"""Characters of a reason that are shown; a graph's error may list every node."""


def clean_reason(reason: str) -> str:
    """Triton's reason without Python's stack, its own nesting, and with a next step.

    One paragraph of at most LONGEST characters; control characters become spaces.
    """
    text = re.split(r"\n+At:\n", reason)[0]
    text = re.sub(r"^load failed for model '[^']*': (version \d+ is at \w+ state: )?", "", text)
    text = re.sub(r"^(Internal|Invalid argument|Not found): ", "", text)
    text = re.sub(r"^(TritonModelException|ModelRefused): ", "", text)
    text = re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", text).strip().rstrip("; ")
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    if "KIND_GPU" in text and "KIND_CPU" not in text:
        text += "; the embedded server runs on the CPU: set kind: KIND_CPU in config.pbtxt"
    if "failed to poll from model repository" in text:
        text += " (no such folder, or its config.pbtxt cannot be read)"
    return text
