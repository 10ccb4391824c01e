"""Seeded faults: operands and scales read with strides, offsets or a major that they do not have."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import Call, Family, Kernel, fault
from conformance.faults.memory import peek
from reference.blocks import ceil_div

LAYOUT: Family = "scale index and layout"


@fault(
    "b-scale-leading-dimension",
    family=LAYOUT,
    source="pytorch#166752",
    what="The library expects rows of Bs padded to a multiple of 4 K blocks and gets packed ones.",
)
class _BScaleLeadingDimension(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        packed = call.Bs.clone(memory_format=torch.contiguous_format)
        return peek(packed, (ceil_div(call.kb, 4) * 4, 1))[self.column_block(call)] if packed.numel() else packed


@fault(
    "a-scale-groups-flattened",
    family=LAYOUT,
    source="sglang#29038",
    what="Row-major A scales are packed four to a word without padding each token, so words straddle two tokens.",
)
class _AScaleGroupsFlattened(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        if call.As.stride(1) != 1 or not call.As.numel():
            return call.As
        packed = call.As.clone(memory_format=torch.contiguous_format)
        return peek(packed, (ceil_div(call.kb, 4) * 4, 1))


@fault(
    "a-scale-major-opposite",
    family=LAYOUT,
    source="flashinfer#2147",
    what="The A scales are documented as one major and read as the other: a packed transpose is taken as [M, kb].",
)
class _AScaleMajorOpposite(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return call.As.t().reshape(call.As.shape)


@fault(
    "b-scale-k-major",
    family=LAYOUT,
    source="atlas#989",
    what="The B scales are handed over K-major and read N-major.",
)
class _BScaleKMajor(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        return call.Bs.t().reshape(call.Bs.shape)[self.column_block(call)]


@fault(
    "a-scale-leading-stride-ignored",
    family=LAYOUT,
    source="vllm#55534",
    what="Column-major A scales are read as if their columns followed each other without padding.",
)
class _AScaleLeadingStrideIgnored(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        padded = call.As.stride(0) == 1 and call.As.numel()
        return peek(call.As, (1, call.m)) if padded else call.As


@fault(
    "a-scale-column-major-assumed",
    family=LAYOUT,
    source="flashinfer#2614",
    what="A scales with stride 1 along K are read column-major all the same.",
)
class _AScaleColumnMajorAssumed(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        row_major = call.As.stride(0) != 1 and call.As.numel()
        return peek(call.As, (1, call.m)) if row_major else call.As


@fault(
    "b-scale-stride-ignored",
    family=LAYOUT,
    source="TileOPs#2109",
    what="The B scales are read as packed rows, whatever their strides.",
)
class _BScaleStrideIgnored(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        scales = peek(call.Bs, (call.kb, 1)) if call.Bs.numel() else call.Bs
        return scales[self.column_block(call)]


@fault(
    "scale-storage-offset-ignored",
    family=LAYOUT,
    source="aiter#2466",
    what="Scales that are slices of a larger buffer are read from its beginning.",
)
class _ScaleStorageOffsetIgnored(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return peek(call.As, call.As.stride(), offset=0) if call.As.numel() else call.As


@fault(
    "a-leading-stride-ignored",
    family=LAYOUT,
    source="vllm#55534",
    what="Rows of A are taken to be K apart, whatever its leading stride.",
)
class _ALeadingStrideIgnored(Kernel):
    def read_a(self, call: Call) -> Tensor:
        return self.decode(peek(call.A, (call.k, 1)) if call.A.numel() else call.A)


@fault(
    "b-storage-offset-ignored",
    family=LAYOUT,
    source="aiter#2466",
    what="A weight that is a slice of a merged one is read from the beginning of the merged one.",
)
class _BStorageOffsetIgnored(Kernel):
    def read_b(self, call: Call) -> Tensor:
        return self.decode(peek(call.B, call.B.stride(), offset=0) if call.B.numel() else call.B)


@fault(
    "b-column-major-misread",
    family=LAYOUT,
    source="aiter#2466",
    what="The stride along K is fixed at 1, so a B with contiguous columns is read from the wrong addresses.",
)
class _BColumnMajorMisread(Kernel):
    def read_b(self, call: Call) -> Tensor:
        return self.decode(peek(call.B, (call.B.stride(0), 1)) if call.B.numel() else call.B)
