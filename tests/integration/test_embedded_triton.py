"""The real server, with graphs made here: expected values are y = 2x + 1, sums and identities."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import psutil
import pytest
import tritonclient.grpc as triton
from onnx import TensorProto, helper
from tritonclient.utils import InferenceServerException

SHM = Path("/dev/shm")
LARGE = (1366, 768)  # 4,196,352 bytes of float32: just above gRPC's default of 4 MiB
TYPES = {
    "BOOL": (TensorProto.BOOL, np.bool_),
    "UINT8": (TensorProto.UINT8, np.uint8),
    "UINT16": (TensorProto.UINT16, np.uint16),
    "UINT32": (TensorProto.UINT32, np.uint32),
    "UINT64": (TensorProto.UINT64, np.uint64),
    "INT8": (TensorProto.INT8, np.int8),
    "INT16": (TensorProto.INT16, np.int16),
    "INT32": (TensorProto.INT32, np.int32),
    "INT64": (TensorProto.INT64, np.int64),
    "FP16": (TensorProto.FLOAT16, np.float16),
    "FP32": (TensorProto.FLOAT, np.float32),
    "FP64": (TensorProto.DOUBLE, np.float64),
}


def save(folder: Path, nodes, inputs, outputs, constants=()) -> None:
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def tensor_lines(key, tensors):
    lines = (
        f'{{ name: "{name}" data_type: {kind} dims: {list(dims)} }}' for name, kind, dims in tensors
    )
    return f"{key} [ {', '.join(lines)} ]\n"


def configure(model: Path, inputs, outputs, batch=16, extra="") -> None:
    (model / "config.pbtxt").write_text(
        f'name: "{model.name}"\nbackend: "onnxruntime"\nmax_batch_size: {batch}\n'
        + tensor_lines("input", inputs)
        + tensor_lines("output", outputs)
        + (extra or "instance_group [ { count: 1 kind: KIND_CPU } ]\n")
    )


def add_affine(repository: Path, name: str, extra="", dims=(-1,)) -> Path:
    """y = 2x + 1 over float32, with open dimensions."""
    kinds = TensorProto.FLOAT
    shape = ["batch", *[f"d{i}" if d < 0 else d for i, d in enumerate(dims)]]
    save(
        repository / name / "1",
        [
            helper.make_node("Mul", ["x", "two"], ["d"]),
            helper.make_node("Add", ["d", "one"], ["y"]),
        ],
        [value("x", kinds, shape)],
        [value("y", kinds, shape)],
        [helper.make_tensor("two", kinds, [], [2.0]), helper.make_tensor("one", kinds, [], [1.0])],
    )
    io = [("TYPE_FP32", dims)]
    configure(
        repository / name,
        [("x", *io[0])],
        [("y", *io[0])],
        extra=extra
        or "instance_group [ { count: 1 kind: KIND_CPU } ]\n"
        "dynamic_batching { max_queue_delay_microseconds: 20000 }\n",
    )
    return repository / name


def add_pixels(repository: Path) -> None:
    """uint8 images → the sum of each channel, float32."""
    save(
        repository / "pixels" / "1",
        [
            helper.make_node("Cast", ["image"], ["f"], to=TensorProto.FLOAT),
            helper.make_node("ReduceSum", ["f", "axes"], ["sums"], keepdims=0),
        ],
        [value("image", TensorProto.UINT8, ["batch", 224, 224, 3])],
        [value("sums", TensorProto.FLOAT, ["batch", 3])],
        [helper.make_tensor("axes", TensorProto.INT64, [2], [1, 2])],
    )
    configure(
        repository / "pixels",
        [("image", "TYPE_UINT8", (224, 224, 3))],
        [("sums", "TYPE_FP32", (3,))],
    )


def add_tokens(repository: Path) -> None:
    """Named dimensions "batch" and "tokens": the sum of the unmasked ids of a row."""
    save(
        repository / "tokens" / "1",
        [
            helper.make_node("Mul", ["input_ids", "attention_mask"], ["kept"]),
            helper.make_node("ReduceSum", ["kept", "axes"], ["total"], keepdims=1),
        ],
        [
            value("input_ids", TensorProto.INT64, ["batch", "tokens"]),
            value("attention_mask", TensorProto.INT64, ["batch", "tokens"]),
        ],
        [value("total", TensorProto.INT64, ["batch", 1])],
        [helper.make_tensor("axes", TensorProto.INT64, [1], [1])],
    )
    ids = [("input_ids", "TYPE_INT64", (-1,)), ("attention_mask", "TYPE_INT64", (-1,))]
    configure(repository / "tokens", ids, [("total", "TYPE_INT64", (1,))])


def add_types(repository: Path) -> None:
    """One identity per numeric type; no batch axis."""
    names = list(TYPES)
    save(
        repository / "types" / "1",
        [helper.make_node("Identity", [f"in_{n}"], [f"out_{n}"]) for n in names],
        [value(f"in_{n}", TYPES[n][0], ["n"]) for n in names],
        [value(f"out_{n}", TYPES[n][0], ["n"]) for n in names],
    )
    configure(
        repository / "types",
        [(f"in_{n}", f"TYPE_{n}", (-1,)) for n in names],
        [(f"out_{n}", f"TYPE_{n}", (-1,)) for n in names],
        batch=0,
    )


def infer(client, model, outputs=None, **arrays):
    inputs = []
    for name, array in arrays.items():
        kind = next(n for n, (_, dtype) in TYPES.items() if array.dtype == dtype)
        tensor = triton.InferInput(name, array.shape, kind)
        tensor.set_data_from_numpy(array)
        inputs.append(tensor)
    asked = [triton.InferRequestedOutput(name) for name in outputs or ()] or None
    return client.infer(model, inputs, outputs=asked, client_timeout=20)


def stub_of(process: subprocess.Popen) -> psutil.Process:
    return server_of(process).children()[0]


def server_of(process: subprocess.Popen) -> psutil.Process:
    return psutil.Process(process.pid).children()[0]


def regions_of(pid: int) -> list[str]:
    return [path.name for path in SHM.glob(f"lookbench_*_{pid}_*")]


def eventually(question, seconds=20.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if question():
                return True
        except InferenceServerException:
            pass
        time.sleep(0.05)
    return False


def answers_at(url, *models) -> bool:
    """By a channel of its own: one that saw the server go waits a while before it tries again."""
    with triton.InferenceServerClient(url) as client:
        return all(answers(client, model) for model in models)


def answers(client, model="affine") -> bool:
    found = infer(client, model, x=np.array([[3.0]], np.float32)).as_numpy("y")
    return found.tolist() == [[7.0]]


# --- One server for what does not harm it -----------------------------------------------


@pytest.fixture(scope="module")
def server(embedded_triton, tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    add_affine(repository, "affine")
    add_affine(repository, "large", dims=LARGE)
    add_pixels(repository)
    add_tokens(repository)
    add_types(repository)
    minimal = add_affine(repository, "minimal")
    (minimal / "config.pbtxt").write_text('platform: "onnxruntime_onnx"\n')
    add_affine(repository, "gpu", "instance_group [ { count: 1 kind: KIND_GPU } ]\n")
    add_affine(
        repository,
        "tensorrt",
        "optimization { execution_accelerators { "
        'gpu_execution_accelerator: [ { name: "tensorrt" } ] } }\n',
    )
    add_affine(repository, "misnamed")
    configure(repository / "misnamed", [("z", "TYPE_FP32", (-1,))], [("y", "TYPE_FP32", (-1,))])
    corrupt = add_affine(repository, "corrupt")
    (corrupt / "1" / "model.onnx").write_bytes(b"not a graph")
    return embedded_triton(repository)


@pytest.fixture(scope="module")
def client(server):
    with triton.InferenceServerClient(server.grpc_url) as found:
        yield found


def state_of(client, model):
    index = client.get_model_repository_index(as_json=True).get("models", [])
    return next(entry for entry in index if entry["name"] == model)


def test_one_row_is_computed(client):
    x = np.array([[0.5, -1.0, 3.25]], np.float32)
    found = infer(client, "affine", x=x).as_numpy("y")
    assert found.dtype == np.float32
    assert found.tolist() == [[2.0, -1.0, 7.5]]


def test_an_image_travels_as_bytes(client):
    images = np.random.default_rng(7).integers(0, 256, (2, 224, 224, 3), np.uint8)
    found = infer(client, "pixels", image=images).as_numpy("sums")
    assert found.tolist() == images.sum(axis=(1, 2)).astype(np.float32).tolist()


def test_named_dimensions_take_any_length(client):
    for length in (1, 5, 77):
        ids = np.arange(2 * length, dtype=np.int64).reshape(2, length)
        mask = (ids % 2).astype(np.int64)
        found = infer(client, "tokens", input_ids=ids, attention_mask=mask).as_numpy("total")
        assert found.tolist() == (ids * mask).sum(axis=1, keepdims=True).tolist()


def test_every_numeric_type_comes_back_as_sent(client):
    sent = {
        name: np.array([0, 1, 1], dtype)
        if dtype is np.bool_
        else np.array([0, 7, np.finfo(dtype).max if name[0] == "F" else np.iinfo(dtype).max], dtype)
        for name, (_, dtype) in TYPES.items()
    }
    found = infer(client, "types", **{f"in_{n}": a for n, a in sent.items()})
    for name, array in sent.items():
        back = found.as_numpy(f"out_{name}")
        assert back.dtype == array.dtype
        assert back.tolist() == array.tolist()


def test_sixteen_calls_at_once_are_batched_and_none_is_mixed_up(client):
    before = client.get_inference_statistics("affine", as_json=True)["model_stats"][0]
    pending = []
    for number in range(16):
        x = np.full((1, 4), number, np.float32)
        tensor = triton.InferInput("x", x.shape, "FP32").set_data_from_numpy(x)
        answer: list = []
        handle = client.async_infer(
            "affine", [tensor], lambda result, error, to=answer: to.append(error or result)
        )
        pending.append((number, answer, handle))
    assert eventually(lambda: all(answer for _, answer, _ in pending))
    for number, answer, _ in pending:
        assert answer[0].as_numpy("y").tolist() == [[2.0 * number + 1] * 4]
    after = client.get_inference_statistics("affine", as_json=True)["model_stats"][0]
    rows = int(after["inference_count"]) - int(before["inference_count"])
    batches = int(after["execution_count"]) - int(before["execution_count"])
    assert rows >= 16
    assert batches < rows


def test_messages_above_four_mebibytes_pass_both_ways(client):
    x = np.random.default_rng(1).standard_normal((1, *LARGE), np.float32)
    assert x.nbytes == 4_196_352
    found = infer(client, "large", x=x).as_numpy("y")
    assert np.array_equal(found, 2 * x + 1)


def test_a_config_of_one_line_is_completed(client):
    config = client.get_model_config("minimal", as_json=True)["config"]
    assert config["max_batch_size"] == 4
    assert config["input"] == [{"name": "x", "data_type": "TYPE_FP32", "dims": ["-1"]}]
    assert answers(client, "minimal")


@pytest.mark.parametrize("model", ["nothing", "corrupt"])
def test_a_model_that_is_not_served_is_not_found(client, model):
    with pytest.raises(InferenceServerException) as error:
        infer(client, model, x=np.ones((1, 1), np.float32))
    assert error.value.status() == "StatusCode.NOT_FOUND"


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"x": np.ones((17, 1), np.float32)}, "batch-size must be <= 16"),
        ({"x": np.ones((1, 1), np.float64)}, "data-type"),
        ({"x": np.ones((1, 1, 1), np.float32)}, "shape"),
        ({"z": np.ones((1, 1), np.float32)}, "unexpected inference input"),
    ],
    ids=["too many rows", "type", "rank", "name"],
)
def test_a_wrong_request_is_an_invalid_argument(client, arrays, text):
    with pytest.raises(InferenceServerException, match=text) as error:
        infer(client, "affine", **arrays)
    assert error.value.status() == "StatusCode.INVALID_ARGUMENT"


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("corrupt", "onnxruntime cannot open"),
        ("gpu", "KIND_GPU"),
        ("tensorrt", "execution accelerator tensorrt"),
        ("misnamed", "['x', 'z'] stand in only one"),
    ],
)
def test_a_model_that_cannot_be_served_is_named_and_the_others_are_served(
    client, server, model, text
):
    assert text in state_of(client, model)["reason"]
    assert f'"model": "{model}"' in server.log_file.read_text()
    assert client.is_server_ready()
    assert answers(client)


def test_a_model_exported_later_is_loaded_and_unloaded_by_name(client, server, tmp_path):
    repository = Path(psutil.Process(server.process.pid).cmdline()[5])
    add_affine(tmp_path, "later")
    port = server.http_url.rsplit(":", 1)[1]

    def control(verb, model):
        command = [sys.executable, "-m", "lookbench_triton", verb, model, "--http-port", port]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    missing = control("load", "later")
    assert missing.returncode == 1
    assert "no such folder" in missing.stderr
    shutil.copytree(tmp_path / "later", repository / "later")
    assert control("load", "later").returncode == 0
    assert answers(client, "later")
    assert control("unload", "later").returncode == 0
    assert eventually(lambda: state_of(client, "later").get("reason") == "unloaded")


def test_a_second_server_on_the_same_port_says_whose_it_is(server, triton_install, tmp_path):
    add_affine(tmp_path, "affine")
    port = server.http_url.rsplit(":", 1)[1]
    command = [sys.executable, "-m", "lookbench_triton", "serve", "--repository", str(tmp_path)]
    command += ["--dir", str(triton_install), "--http-port", port]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 1
    assert f"Port {port} on 127.0.0.1 is in use by process" in done.stderr
    assert "--http-port" in done.stderr
    assert "Traceback" not in done.stderr


# --- Servers that come to harm ----------------------------------------------------------


def test_a_killed_stub_and_a_killed_server_are_replaced_and_a_stop_leaves_nothing(
    embedded_triton, tmp_path
):
    add_affine(tmp_path, "affine")
    add_affine(tmp_path, "other")
    server = embedded_triton(tmp_path, "--load", "affine")
    with triton.InferenceServerClient(server.grpc_url) as client:
        client.load_model("other")
        assert answers(client, "other")
    time.sleep(1.5)  # the supervisor looks at what users loaded once a second

    for victim in (stub_of, server_of):
        old = server_of(server.process)
        victim(server.process).kill()
        assert eventually(lambda old=old: not old.is_running(), 10)
        assert eventually(lambda: answers_at(server.grpc_url, "affine", "other"), 15)

    assert server.log_file.read_text().count("restarting the server") == 2
    family = psutil.Process(server.process.pid).children(recursive=True)
    assert len(family) == 3
    assert regions_of(server.process.pid)
    assert server.stop() == 0
    assert not any(process.is_running() for process in family)
    assert regions_of(server.process.pid) == []


def test_the_server_dies_with_a_killed_supervisor(embedded_triton, tmp_path):
    add_affine(tmp_path, "affine")
    server = embedded_triton(tmp_path)
    family = psutil.Process(server.process.pid).children(recursive=True)
    server.process.kill()
    server.process.wait()
    assert eventually(lambda: not any(process.is_running() for process in family), 15)
    assert regions_of(server.process.pid) == []


def test_a_server_that_cannot_start_ends_at_once_with_its_log(triton_install, tmp_path):
    """A library that the dynamic linker refuses: no health check ever gets an answer."""
    add_affine(tmp_path / "repository", "affine")
    broken = tmp_path / "triton"
    shutil.copytree(triton_install, broken, symlinks=True)
    library = next((broken / "nvidia_pytriton.libs").glob("libtritonserver*"))
    library.write_bytes(b"damaged")
    command = [sys.executable, "-m", "lookbench_triton", "serve", "--dir", str(broken)]
    command += ["--repository", str(tmp_path / "repository"), "--http-port=0"]
    command += ["--grpc-port=0", "--metrics-port=0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 1
    assert library.name in done.stderr
    assert "lookbench-triton check" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_repository_of_broken_models_only_is_a_failure(triton_install, tmp_path):
    corrupt = add_affine(tmp_path, "corrupt")
    (corrupt / "1" / "model.onnx").write_bytes(b"not a graph")
    command = [sys.executable, "-m", "lookbench_triton", "serve", "--repository", str(tmp_path)]
    command += ["--dir", str(triton_install), "--http-port=0", "--grpc-port=0", "--metrics-port=0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    assert "could load none of the models" in done.stderr
    assert "corrupt: onnxruntime cannot open" in done.stderr
    assert "Traceback" not in done.stderr
