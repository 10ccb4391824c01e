"""What the torch backends share: padding as cuBLASLt wants it, and the versions they stand on."""

from __future__ import annotations

import torch
from torch import Tensor


def pad_rows(A: Tensor, *, multiple: int) -> Tensor:
    """A [M,K] with M rounded up; as upstream does it, the new rows stay uninitialised."""
    missing = -A.shape[0] % multiple
    if not missing:
        return A
    padded = A.new_empty(A.shape[0] + missing, A.shape[1])
    padded[: A.shape[0]] = A
    return padded


def pad_scale_rows(As: Tensor, *, multiple: int) -> Tensor:
    """Column-major As [M,kb] with M rounded up, column-major; the new rows stay uninitialised."""
    missing = -As.shape[0] % multiple
    if not missing:
        return As
    padded = As.new_empty(As.shape[1], As.shape[0] + missing).t()
    padded[: As.shape[0]] = As
    return padded


def by_column(x: Tensor) -> Tensor:
    """A column-major copy of the matrix ``x``, or itself where it is column-major already."""
    return x.t().contiguous().t()


def one_column(scale: Tensor) -> Tensor:
    """Scales [R,1] with stride 1 along their one column, which torch asks for though it is never walked; a view."""
    return scale[:, 0].unsqueeze(1)


def pad_columns(Bs: Tensor, *, multiple: int) -> Tensor:
    """Bs [nb, kb] with zero columns appended up to a multiple of ``multiple``, contiguous."""
    return torch.nn.functional.pad(Bs, (0, -Bs.shape[1] % multiple)).contiguous()


def versions() -> dict[str, str]:
    """torch, the runtime it was built for and the cuBLAS that it loads, where it says so."""
    found = {"torch": torch.__version__, "cuda": torch.version.cuda or "", "hip": torch.version.hip or ""}
    return {name: version for name, version in {**found, "cublas": cublas_version()}.items() if version}


def cublas_version() -> str:
    """Version of the installed cuBLAS wheel, empty where torch was built against another one."""
    from importlib.metadata import PackageNotFoundError, version

    for distribution in ("nvidia-cublas", "nvidia-cublas-cu12"):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return ""
