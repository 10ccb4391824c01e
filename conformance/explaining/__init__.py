"""`conformance explain`: one case with what was asked, what came and what that is, from a rerun or from a report."""
