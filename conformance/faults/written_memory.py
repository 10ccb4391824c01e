"""Seeded faults: results that are not written, or written over, and padding that is read."""

from __future__ import annotations

from torch import Tensor

from conformance.faults.kernel import Call, Family, Kernel, fault
from conformance.faults.memory import after, memory
from reference.blocks import BLOCK

MEMORY: Family = "unwritten or overwritten memory"


@fault(
    "m-tail-unwritten",
    family=MEMORY,
    source="Primus-Turbo#397",
    what="Past row 64 only whole tiles of 64 rows are stored; the rest of the result is never written.",
)
class _MTailUnwritten(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out, stored = call.unwritten(), call.m // 64 * 64 if call.m > 64 else call.m
        out[:stored] = super().store(call, total)[:stored]
        return out


@fault(
    "n-tail-unwritten",
    family=MEMORY,
    source="vllm#47990",
    what="Columns past the last multiple of 16 are never written, where N is larger than 128.",
)
class _NTailUnwritten(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out, stored = call.unwritten(), call.n // 16 * 16 if call.n > BLOCK else call.n
        out[:, :stored] = super().store(call, total)[:, :stored]
        return out


@fault(
    "vector-store-tail-unwritten",
    family=MEMORY,
    source="aiter#5644",
    what="The result is stored as one run of 8 elements at a time; the last M * N % 8 elements are never written.",
)
class _VectorStoreTailUnwritten(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out, stored = call.unwritten(), call.m * call.n // 8 * 8
        out.view(-1)[:stored] = super().store(call, total).reshape(-1)[:stored]
        return out


@fault(
    "n-overhang-in-next-row",
    family=MEMORY,
    source="kernels-community#1153",
    what="The store is not masked in N: the zeros of a tile of 64 beyond N land in the first row of the next M tile.",
)
class _NOverhangInNextRow(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total).clone()
        out[16::16, : min(-call.n % 64, call.n)] = 0
        return out


@fault(
    "padded-rows-alias-next-column",
    family=MEMORY,
    source="FlyDSL#969",
    what="The result is assembled column-major in tiles of 16 rows, and rows beyond M are zeroed in the next column.",
)
class _PaddedRowsAliasNextColumn(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total).clone()
        if call.m > 16:
            out[: -call.m % 16, 1::16] = 0
        return out


@fault(
    "phantom-k-block",
    family=MEMORY,
    source="sglang#32386",
    what="Scales are read four K blocks at a time: the padding after As meets zeros of A, so only NaN there is seen.",
)
class _PhantomKBlock(Kernel):
    def total(self, call: Call) -> Tensor:
        beyond = memory(call.As)[after(call.As) :][:1] if call.As.numel() and call.kb % 4 else None
        total = super().total(call)
        return total if beyond is None or not beyond.numel() else total + beyond * 0
