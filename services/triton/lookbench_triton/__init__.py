"""A real Triton Inference Server on the CPU, without NVIDIA's container image.

`install` fetches the server that the wheel nvidia-pytriton carries and verifies it,
`serve` runs and supervises it. See services/triton/README.md.
"""
