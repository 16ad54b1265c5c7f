import pytest

from lookbench_triton.errors import InvalidSetting
from lookbench_triton.ports import listening_inodes, resolve_ports

# Columns as the kernel prints them: port 0x1F40 = 8000, state 0A = listening, inode 10th.
TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0
   1: 0100007F:1F40 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0
   2: 00000000:1F41 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0
"""


def test_only_who_listens_owns_a_port():
    assert listening_inodes(TABLE, 8000) == {"4711"}
    assert listening_inodes(TABLE, 8001) == {"4713"}
    assert listening_inodes(TABLE, 8002) == set()


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_number_that_is_no_port_is_refused(port):
    with pytest.raises(InvalidSetting, match=f"--http-port {port}: a port lies between"):
        resolve_ports("127.0.0.1", {"--http-port": port})


def test_one_port_for_two_services_is_refused():
    with pytest.raises(InvalidSetting, match="given twice"):
        resolve_ports("127.0.0.1", {"--http-port": 8000, "--grpc-port": 8000})
