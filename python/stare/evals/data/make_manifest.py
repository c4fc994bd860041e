"""Compute the identity of a manifest from a file: `python -m stare.evals.data.make_manifest`.

Only `rows` and `identity` of the manifest are written, and hashes are all they hold; the rest is
kept as it stands, or must be written by hand first.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stare.errors import DataError, StareError
from stare.evals.data.adapt import adapt
from stare.evals.data.identify import hash_pairs
from stare.evals.data.local import replace
from stare.evals.data.normalise import golds_sha256, rows_sha256, short_hash
from stare.evals.data.readers import read_rows

__all__ = ["identity_of", "main"]


def identity_of(
    rows: Sequence[dict[str, Any]], *, steps: Sequence[str], integer: bool, computed_from: str
) -> dict[str, Any]:
    """The `identity` object of a manifest.

    Raises:
        DataError: a row has no id, an id or a problem or a short hash occurs twice, or a row has
            several golds.
    """
    adapted, _ = adapt(rows, steps)
    pairs = hash_pairs(adapted, integer=integer)
    for what, values in (
        ("id", [row.id for row in adapted]),
        ("problem", [short_hash(problem) for problem, _ in pairs]),
    ):
        value, count = Counter(values).most_common(1)[0]
        if count > 1 or value is None:
            raise DataError(f"{what} {value!r} occurs {count} times: it must name one row")
    if any(len(row.golds) != 1 for row in adapted):
        raise DataError("a pinned row has exactly one gold")
    return {
        "computed_from": computed_from,
        "sha256": rows_sha256(pairs),
        "golds_sha256": golds_sha256([gold for _, gold in pairs]),
        "rows": [
            [row.id, short_hash(problem), short_hash(gold)]
            for row, (problem, gold) in zip(adapted, pairs, strict=True)
        ],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the script and return its exit code."""
    parser = argparse.ArgumentParser(prog="make_manifest", description=__doc__)
    parser.add_argument("file", type=Path, help="the rows, each with an id")
    parser.add_argument("--name", required=True, help="the benchmark")
    parser.add_argument("--computed-from", help="what the file is (default: as recorded)")
    parser.add_argument(
        "--manifests", type=Path, default=Path(__file__).parent / "manifests", help="folder"
    )
    args = parser.parse_args(argv)
    path = args.manifests / f"{args.name}.json"
    try:
        manifest = json.loads(path.read_text("utf-8"))
        origin = args.computed_from or manifest.get("identity", {}).get("computed_from", "")
        identity = identity_of(
            read_rows(args.file),
            steps=manifest["gold"]["steps"],
            integer=manifest["gold"]["kind"] == "integer",
            computed_from=origin,
        )
    except (StareError, OSError) as error:
        print(f"make_manifest: {error}", file=sys.stderr)
        return 1
    manifest |= {"rows": len(identity["rows"]), "identity": identity}
    replace(path, dumps(manifest))
    print(f"{path}: {manifest['rows']} rows, sha256 {identity['sha256'][:16]}", file=sys.stderr)
    return 0


def dumps(manifest: dict[str, Any]) -> str:
    """A manifest as JSON, one pinned row a line."""
    rows = manifest["identity"]["rows"]
    short = {**manifest, "identity": {**manifest["identity"], "rows": "@"}}
    text = json.dumps(short, indent=2, ensure_ascii=False)
    lines = ",\n".join(f"      {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return text.replace('"@"', f"[\n{lines}\n    ]") + "\n"


if __name__ == "__main__":
    sys.exit(main())
