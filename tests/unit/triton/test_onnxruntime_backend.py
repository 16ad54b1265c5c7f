"""The backend's own logic, with a stand-in for the module that exists only in Triton's stub."""

import importlib.util
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from lookbench_triton.layout import BACKEND_SOURCE

CONFIG = {
    "name": "m",
    "max_batch_size": 8,
    "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": ["-1"]}],
    "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": ["-1"]}],
    "instance_group": [{"kind": "KIND_CPU", "count": 1}],
}


class TritonError:
    INVALID_ARG, INTERNAL, CANCELLED = "INVALID_ARG", "INTERNAL", "CANCELLED"

    def __init__(self, message, code):
        self.text, self.code = message, code


class Tensor:
    """DLPack in and out, as Triton's."""

    def __init__(self, name, array):
        self.name, self.array = name, array

    @classmethod
    def from_dlpack(cls, name, shared):
        capsule = shared.__dlpack__()
        device = shared.__dlpack_device__()
        give = type(
            "Give",
            (),
            {"__dlpack__": lambda *_, **__: capsule, "__dlpack_device__": lambda _: device},
        )()
        return cls(name, np.from_dlpack(give).copy())

    def shape(self):
        return self.array.shape

    def __dlpack__(self, **more):
        return self.array.__dlpack__(**more)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.fixture(scope="module")
def backend():
    utils = ModuleType("triton_python_backend_utils")
    utils.TritonError = TritonError
    utils.Tensor = Tensor
    utils.get_input_tensor_by_name = lambda request, name: request.tensors.get(name)
    utils.InferenceResponse = lambda output_tensors=(), error=None: SimpleNamespace(
        outputs={t.name: t.array for t in output_tensors}, error=error
    )
    sys.modules[utils.__name__] = utils
    spec = importlib.util.spec_from_file_location("onnxruntime_backend", BACKEND_SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[utils.__name__]


class Session:
    """y = 2x; counts its runs; refuses rows that hold a 13."""

    def __init__(self):
        self.batches = []

    def run(self, names, feeds):
        x = feeds["x"]
        self.batches.append(len(x))
        if 13 in x:
            raise InvalidArgument("unlucky")
        if -13 in x:
            raise RuntimeError("out of luck")
        return [2 * x for _ in names]


class InvalidArgument(Exception):
    """Named as onnxruntime's."""


def request(cancelled=False, outputs=("y",), **tensors):
    return SimpleNamespace(
        tensors={name: Tensor(name, array) for name, array in tensors.items()},
        is_cancelled=lambda: cancelled,
        requested_output_names=lambda: set(outputs),
    )


def row(*values):
    return np.array([values], np.float32)


@pytest.fixture
def model(backend):
    found = backend.TritonPythonModel()
    found._config, found._name = CONFIG, "m"
    found._session = Session()
    found._batched = True
    found._inputs, found._outputs = ["x"], ["y"]
    return found


def test_requests_of_one_shape_are_one_run_and_come_back_in_order(model):
    responses = model.execute([request(x=row(n, n + 1)) for n in range(4)])
    assert model._session.batches == [4]
    assert [r.outputs["y"].tolist() for r in responses] == [
        [[2.0 * n, 2.0 * n + 2]] for n in range(4)
    ]


def test_rows_are_given_back_to_the_request_they_came_from(model):
    sent = [np.full((rows, 1), rows, np.float32) for rows in (3, 1, 2)]
    responses = model.execute([request(x=x) for x in sent])
    assert model._session.batches == [6]
    assert [r.outputs["y"].tolist() for r in responses] == [(2 * x).tolist() for x in sent]


def test_other_shapes_run_apart(model):
    responses = model.execute([request(x=row(1)), request(x=row(1, 2)), request(x=row(3))])
    assert sorted(model._session.batches) == [1, 2]
    assert responses[2].outputs["y"].tolist() == [[6.0]]


def test_a_bad_request_fails_alone(model):
    responses = model.execute([request(x=row(1)), request(x=row(13)), request(x=row(2))])
    assert responses[0].outputs["y"].tolist() == [[2.0]]
    assert responses[2].outputs["y"].tolist() == [[4.0]]
    assert responses[1].error.code == "INVALID_ARG"
    assert responses[1].error.text == "model 'm': unlucky"


def test_a_fault_of_the_graph_is_internal(model):
    assert model.execute([request(x=row(-13))])[0].error.code == "INTERNAL"


def test_a_missing_an_empty_and_a_cancelled_request_are_refused(model):
    empty = np.zeros((1, 0), np.float32)
    missing, none, cancelled = model.execute(
        [request(), request(x=empty), request(cancelled=True, x=row(1))]
    )
    assert (missing.error.code, missing.error.text) == (
        "INVALID_ARG",
        "model 'm': input 'x' is missing",
    )
    assert none.error.text == "model 'm': input 'x' is empty"
    assert cancelled.error.code == "CANCELLED"
    assert model._session.batches == []


def test_inputs_that_disagree_on_rows_are_refused(model):
    model._inputs = ["x", "z"]
    two = np.zeros((2, 1), np.float32)
    (answer,) = model.execute([request(x=row(1), z=two)])
    assert answer.error.code == "INVALID_ARG"
    assert "[1, 2]" in answer.error.text


def test_an_output_without_a_row_per_input_row_is_a_clear_error(model):
    model._session.run = lambda names, feeds: [np.zeros((1, 1), np.float32)]
    (answer,) = model.execute([request(x=np.zeros((3, 1), np.float32))])
    assert answer.error.code == "INTERNAL"
    assert "shape [1, 1] for 3 input rows" in answer.error.text


def test_only_requested_outputs_are_sent(model):
    model._outputs = ["y", "z"]
    (answer,) = model.execute([request(x=row(1), outputs=("z",))])
    assert list(answer.outputs) == ["z"]


def test_without_a_batch_axis_each_request_runs_alone(model):
    model._batched = False
    model.execute([request(x=row(1)), request(x=row(2))])
    assert model._session.batches == [1, 1]


def test_a_complete_config_for_the_cpu_is_accepted(backend):
    backend.check_config(CONFIG)


ACCELERATORS = {"gpu_execution_accelerator": [{"name": "tensorrt"}]}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"optimization": {"execution_accelerators": ACCELERATORS}}, "accelerator tensorrt"),
        ({"instance_group": [{"kind": "KIND_GPU"}]}, "KIND_GPU"),
        ({"default_model_filename": "other.onnx"}, r"must be model\.onnx"),
        ({"output": [{"name": "y", "data_type": "TYPE_STRING", "dims": [1]}]}, "TYPE_STRING"),
        ({"input": [{"name": "x", "data_type": "TYPE_BF16", "dims": [1]}]}, "TYPE_BF16"),
        ({"sequence_batching": {}}, "sequence"),
        ({"model_transaction_policy": {"decoupled": True}}, "decoupled"),
    ],
)
def test_what_would_be_ignored_is_refused(backend, change, text):
    with pytest.raises(backend.ModelRefused, match=rf"^model 'm': .*{text}"):
        backend.check_config({**CONFIG, **change})


def node(name, shape, kind="tensor(float)"):
    return SimpleNamespace(name=name, shape=shape, type=kind)


def graph(x=("batch", "d"), y=("batch", "d"), kind="tensor(float)"):
    return SimpleNamespace(
        get_inputs=lambda: [node("x", list(x), kind)], get_outputs=lambda: [node("y", list(y))]
    )


def test_a_graph_with_open_or_equal_dimensions_fits(backend):
    backend.check_graph(CONFIG, graph())
    backend.check_graph(CONFIG, graph(y=(None, 384)))


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (graph(kind="tensor(int64)"), r"'x' as TYPE_FP32 \[-1, -1\].*tensor\(int64\)"),
        (graph(x=("batch", 3, 3)), r"\[-1, 3, 3\]"),
    ],
)
def test_a_graph_that_differs_from_the_config_is_refused(backend, found, text):
    with pytest.raises(backend.ModelRefused, match=text):
        backend.check_graph(CONFIG, found)


def test_names_must_be_the_graphs(backend):
    config = {**CONFIG, "output": [{"name": "embedding", "data_type": "TYPE_FP32", "dims": [1]}]}
    with pytest.raises(backend.ModelRefused, match=r"outputs \['embedding'\]"):
        backend.check_graph(config, graph())


class Completed:
    """Triton's ModelConfig."""

    def __init__(self, **config):
        self._config = {"name": "m", "max_batch_size": 0, "input": [], "output": [], **config}

    def as_dict(self):
        return self._config

    def set_max_batch_size(self, size):
        self._config["max_batch_size"] = size

    def set_dynamic_batching(self):
        self._config["dynamic_batching"] = {}

    def add_input(self, tensor):
        self._config["input"].append(tensor)

    def add_output(self, tensor):
        self._config["output"].append(tensor)


def test_an_empty_config_is_completed_from_a_batching_graph(backend):
    completed = Completed()
    backend.complete_config(completed, graph(y=("batch", 384)))
    assert completed.as_dict()["max_batch_size"] == 4
    assert "dynamic_batching" in completed.as_dict()
    assert completed.as_dict()["input"][0]["dims"] == [-1]
    assert completed.as_dict()["output"][0]["dims"] == [384]


def test_a_graph_of_fixed_size_is_completed_without_batches(backend):
    completed = Completed()
    backend.complete_config(completed, graph(x=(1, 5), y=(1, 5)))
    assert completed.as_dict()["max_batch_size"] == 0
    assert completed.as_dict()["input"][0]["dims"] == [1, 5]


def test_what_the_config_says_is_kept(backend):
    completed = Completed(max_batch_size=32, input=[{"name": "x"}])
    backend.complete_config(completed, graph())
    assert completed.as_dict()["max_batch_size"] == 32
    assert completed.as_dict()["input"] == [{"name": "x"}]
    assert completed.as_dict()["output"][0]["dims"] == [-1]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [([], 8), ([{"count": 1}], 8), ([{"count": 2}], 4), ([{"count": 2}, {"count": 1}], 2)],
)
def test_instances_share_the_cores(backend, monkeypatch, groups, expected):
    monkeypatch.delenv("LOOKBENCH_TRITON_INTRA_OP_THREADS", raising=False)
    monkeypatch.setattr(backend, "available_cores", lambda: 8)
    assert backend.intra_op_threads({"instance_group": groups}) == expected


def test_the_variable_beats_the_parameter_and_the_parameter_the_share(backend, monkeypatch):
    monkeypatch.delenv("LOOKBENCH_TRITON_INTRA_OP_THREADS", raising=False)
    config = {"parameters": {"intra_op_thread_count": {"string_value": "3"}}}
    assert backend.intra_op_threads(config) == 3
    monkeypatch.setenv("LOOKBENCH_TRITON_INTRA_OP_THREADS", "5")
    assert backend.intra_op_threads(config) == 5


@pytest.mark.parametrize(
    ("text", "cores"), [("200000 100000", 2), ("max 100000", 16), ("50000 100000", 1)]
)
def test_a_containers_cpu_quota_counts(backend, monkeypatch, text, cores):
    monkeypatch.setattr(backend.os, "sched_getaffinity", lambda _: set(range(16)))
    monkeypatch.setattr(backend.Path, "read_text", lambda *_, **__: text)
    assert backend.available_cores() == cores


def test_a_file_that_is_no_graph_is_named(backend, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"not a graph")
    with pytest.raises(backend.ModelRefused, match=f"onnxruntime cannot open {path}"):
        backend.open_session(path, 1)
