"""Seeded faults: each misreads operands that lie in memory in one way, and no others."""

from __future__ import annotations

from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, fault
from conformance.faults.memory import peek

LAYOUT: Family = "scale index and layout"
WIDE = 64
"""Bytes on which a load that takes a whole cache line has to start."""


def _is_packed(x: Tensor) -> bool:
    return x.stride() == (x.shape[1], 1)


def _steps_by_whole_rows(x: Tensor) -> bool:
    return x.stride(1) == 1 and x.stride(0) % x.shape[1] == 0


def _reread(x: Tensor, strides: tuple[int, int], *, where: bool) -> Tensor:
    return peek(x, strides) if where and x.numel() else x


@fault(
    "packed-a-scales-transposed",
    family=LAYOUT,
    source="flashinfer#2147",
    what="A scales that are contiguous are taken for the transpose that the kernel documents, and read as [kb, M].",
)
class _PackedAScalesTransposed(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return _reread(call.As, (1, call.m), where=_is_packed(call.As))


@fault(
    "b-scale-columns-read-as-rows",
    family=LAYOUT,
    source="TileOPs#2109",
    what="Packed B scales with contiguous columns are read as packed rows.",
)
class _BScaleColumnsReadAsRows(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        packed = call.Bs.stride() == (1, call.nb)
        return _reread(call.Bs, (call.kb, 1), where=packed)[self.column_block(call)]


@fault(
    "b-scale-row-padding-ignored",
    family=LAYOUT,
    source="vllm#55534",
    what="Padding behind the rows of the B scales is not skipped.",
)
class _BScaleRowPaddingIgnored(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        padded = call.Bs.stride(1) == 1 and call.Bs.stride(0) > call.kb
        return _reread(call.Bs, (call.kb, 1), where=padded)[self.column_block(call)]


@fault(
    "b-scale-column-padding-ignored",
    family=LAYOUT,
    source="vllm#55534",
    what="Padding behind the columns of K-major B scales is not skipped.",
)
class _BScaleColumnPaddingIgnored(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        padded = call.Bs.stride(0) == 1 and call.Bs.stride(1) > call.nb
        return _reread(call.Bs, (1, call.nb), where=padded)[self.column_block(call)]


@fault(
    "scale-step-ignored",
    family=LAYOUT,
    source="TileOPs#2109",
    what="B scales that are every second column of a table are read as neighbours.",
)
class _ScaleStepIgnored(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        row, step = call.Bs.stride()
        return _reread(call.Bs, (row, 1), where=1 < step < row)[self.column_block(call)]


@fault(
    "a-row-padding-ignored",
    family=LAYOUT,
    source="vllm#55534",
    what="Padding behind the rows of A is not skipped.",
)
class _ARowPaddingIgnored(Kernel):
    def read_a(self, call: Call) -> Tensor:
        padded = call.A.stride(1) == 1 and not _steps_by_whole_rows(call.A)
        return self.decode(_reread(call.A, (call.k, 1), where=padded))


@fault(
    "b-row-padding-ignored",
    family=LAYOUT,
    source="vllm#55534",
    what="Padding behind the rows of B is not skipped.",
)
class _BRowPaddingIgnored(Kernel):
    def read_b(self, call: Call) -> Tensor:
        padded = call.B.stride(1) == 1 and not _steps_by_whole_rows(call.B)
        return self.decode(_reread(call.B, (call.k, 1), where=padded))


@fault(
    "a-rows-of-a-batch-merged",
    family=LAYOUT,
    source=FOLKLORE,
    what="A whose rows are whole rows apart is taken for a batch and flattened, so rows in between are read.",
)
class _ARowsOfABatchMerged(Kernel):
    def read_a(self, call: Call) -> Tensor:
        return self.decode(_reread(call.A, (call.k, 1), where=_steps_by_whole_rows(call.A)))


@fault(
    "b-rows-of-a-batch-merged",
    family=LAYOUT,
    source=FOLKLORE,
    what="B whose rows are whole rows apart is taken for a batch and flattened, so rows in between are read.",
)
class _BRowsOfABatchMerged(Kernel):
    def read_b(self, call: Call) -> Tensor:
        return self.decode(_reread(call.B, (call.k, 1), where=_steps_by_whole_rows(call.B)))


@fault(
    "a-column-major-misread",
    family=LAYOUT,
    source="aiter#2466",
    what="The stride along K is fixed at 1, so an A with contiguous columns is read from the wrong addresses.",
)
class _AColumnMajorMisread(Kernel):
    def read_a(self, call: Call) -> Tensor:
        return self.decode(_reread(call.A, (call.k, 1), where=call.A.stride(0) == 1))


@fault(
    "wide-loads-rounded-down",
    family="overflow and limits",
    source="llm-scaler#663",
    what="An A that starts on 16 bytes is loaded by cache lines from an address rounded down; any other is copied.",
)
class _WideLoadsRoundedDown(Kernel):
    def read_a(self, call: Call) -> Tensor:
        past, start = call.A.data_ptr() % WIDE, int(call.A.storage_offset())
        moved = past and past % 16 == 0 and past <= start
        return self.decode(peek(call.A, call.A.stride(), offset=start - past) if moved and call.A.numel() else call.A)
