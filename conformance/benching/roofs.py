"""The least time in which a device can multiply, by its data sheet: the roofline of Williams et al. (2009)."""

from __future__ import annotations

from dataclasses import dataclass

from cases import Problem
from reference.blocks import BLOCK

TERA = 1e12
BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}


@dataclass(frozen=True)
class Roof:
    """Dense rates of a device: ``fp8`` and ``bf16`` in FLOP/s, ``memory`` in bytes/s, and where they are published."""

    fp8: float
    bf16: float
    memory: float
    source: str

    def seconds(self, problem: Problem, operands: str) -> float:
        """The least seconds for ``problem`` with ``operands``, "fp8" or "bf16": arithmetic, or each byte moved once."""
        rate = self.fp8 if operands == "fp8" else self.bf16
        return max(2 * problem.macs / rate, traffic(problem, operands) / self.memory)


def traffic(problem: Problem, operands: str) -> int:
    """Bytes that go to and from memory at least: both operands, their scales if they are FP8, and the result."""
    m, n, k = problem.m, problem.n, problem.k
    width, scales = (1, 4 * (m + -(-n // BLOCK)) * -(-k // BLOCK)) if operands == "fp8" else (2, 0)
    return width * (m + n) * k + scales + BYTES[problem.out] * m * n


def _roof(fp8: float, bf16: float, memory: float, source: str) -> Roof:
    return Roof(fp8 * TERA, bf16 * TERA, memory * TERA, source)


ROOFS = {
    "NVIDIA H100 80GB HBM3": _roof(1979, 989.5, 3.35, "NVIDIA H100 data sheet, SXM"),
    "NVIDIA H100 PCIe": _roof(1513, 756, 2.0, "NVIDIA H100 data sheet, PCIe"),
    "NVIDIA H100 NVL": _roof(1671, 835.5, 3.9, "NVIDIA H100 data sheet, NVL"),
    "NVIDIA H200": _roof(1979, 989.5, 4.8, "NVIDIA H200 data sheet, SXM"),
    "NVIDIA H200 NVL": _roof(1671, 835.5, 4.8, "NVIDIA H200 data sheet, NVL"),
    "NVIDIA H20": _roof(296, 148, 4.0, "NVIDIA H20 data sheet"),
    "NVIDIA B200": _roof(4500, 2250, 8.0, "NVIDIA HGX B200 data sheet"),
    "AMD Instinct MI300X": _roof(2614.9, 1307.4, 5.3, "AMD Instinct MI300X data sheet"),
}
"""By the name that torch gives the device. Rates are those without sparsity, at boost clock."""


def roof_of(device_name: str) -> Roof | None:
    """The roof of a device, or None where its data sheet is not known here."""
    return ROOFS.get(device_name)
