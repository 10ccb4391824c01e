"""What the header of a report says of suite, machine, backends and request."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from conformance import __version__
from conformance.probe import driver_version
from conformance.records import plan_of

if TYPE_CHECKING:
    from conformance.session import Session


def about(session: Session, keyword: str = "") -> dict[str, Any]:
    """What the header says of suite, machine, backends and request, of which ``keyword`` (-k) is a part."""
    # Not before there is a session: in a project's own pytest, `cases` may be the name of a package of its own.
    from conformance.resuming.asked import Asked
    from conformance.statement.declaration import declared_by
    from conformance.statement.exceptions import told_of

    platform, request = session.platform, session.request
    return {
        "suite": __version__,
        "torch": platform.torch_version,
        "python": sys.version.split()[0],
        "path": platform.path,
        "platform": platform.kind,
        "arch": platform.arch,
        "runtime": platform.runtime,
        "driver": driver_version(platform),
        "device": str(session.device),
        "device_name": platform.device_name,
        "backends": {subject.name: subject.describe() for subject in session.subjects},
        "specs": {subject.name: subject.spec for subject in session.subjects},
        "declared": {backend.name: declared_by(backend) for backend in session.backends},
        "profile": request.profile,
        "seed": request.seed,
        "require": list(request.require),
        "plan": plan_of(session.planned),
        "owing": list(session.ledger.owing(subject.name for subject in session.subjects)),
        "deviations": told_of(session.ledger.entries, {subject.name for subject in session.subjects}),
        **({"shard": str(request.shard)} if request.shard else {}),
        "asked": Asked(request, keyword).to_json(),
        "command": ["conformance", *sys.argv[1:]],
    }
