"""`stare-eval data`: get the benchmarks once, know that they are the right ones, run offline."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stare.errors import DataError, MissingExtraError, StareError

if TYPE_CHECKING:
    from stare.evals.data.importing import Imported

__all__ = ["add", "run"]

_EXIT_CODES = """\
exit codes:
  0  done
  1  the disk refused
  2  bad usage: an unknown benchmark, a missing package
  3  data that are missing, damaged, or not the benchmark they are given as; nothing was stored
"""

_HELP = """
Benchmarks are not part of this package (mini is): get them once, from the Hub or from files, into a
local store; from then on nothing needs a network. Every set is checked row by row against pinned
hashes, when it comes in and whenever it is read.

The store is $STARE_DATA, or ~/.cache/stare/benchmarks.
"""

_EXAMPLES = """\
examples:
  stare-eval data list
  stare-eval data fetch stare6                      # the paper's six, from the Hub
  stare-eval data import aime24.jsonl math500.jsonl --each
  stare-eval data import I.parquet II.parquet --bench aime25
  stare-eval data import mine.csv --allow-mismatch mine
  stare-eval data verify
  stare-eval data export usb-stick/                 # to import on a machine without a network
"""

_IMPORT_HELP = """
Files: JSONL, JSON, CSV, Parquet (needs pyarrow), or a folder of them. Which benchmark it is is
found from the rows; --bench says it, and then a mismatch is explained against that one.

  exact   the pinned (problem, gold) rows, in any order
  golds   other wording of some problems, golds and pairing as pinned; weaker, always reported
  custom  a benchmark of your own (--allow-mismatch NAME); a list as its gold means "any of these"
"""


def add(commands: Any) -> None:
    """Add the verb to the sub-parsers of `stare-eval`."""
    parser = _parser(commands, "data", "get, check and look at benchmarks", _HELP, _EXAMPLES)
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT", required=True, dest="what")

    listing = _parser(verbs, "list", "what is known and what is imported", "", "")
    fetch = _parser(
        verbs,
        "fetch",
        "get benchmarks from the Hub",
        "\nThrough the package datasets (pip install 'stare-rl[eval]'). Sources are tried in\n"
        "order until one has the pinned rows.\n",
        "example:\n  stare-eval data fetch aime24 math500\n",
    )
    fetch.add_argument("bench", nargs="+", metavar="BENCH", help="benchmarks, or the suite stare6")

    bring = _parser(verbs, "import", "get a benchmark from files", _IMPORT_HELP, _EXAMPLES)
    bring.add_argument("path", nargs="+", type=Path, metavar="PATH", help="files of one benchmark")
    bring.add_argument("--bench", metavar="NAME", help="which benchmark it is (default: found)")
    bring.add_argument("--each", action="store_true", help="every file is a benchmark of its own")
    bring.add_argument(
        "--pick", action="store_true", help="keep the benchmark's rows of a larger set"
    )
    bring.add_argument(
        "--allow-mismatch",
        metavar="NAME",
        help="store it unchecked, as a benchmark of your own named NAME",
    )
    bring.add_argument("--problem-field", metavar="FIELD", help="field of the problem")
    bring.add_argument("--gold-field", metavar="FIELD", help="field of the gold answer")

    check = _parser(verbs, "verify", "hash the local store again", "", "")
    check.add_argument("bench", nargs="*", metavar="BENCH", help="default: all that is imported")

    info = _parser(verbs, "info", "sources, licence, golds, errata, hashes", "", "")
    info.add_argument("bench", metavar="BENCH")

    export = _parser(verbs, "export", "write benchmarks as plain JSONL", "", "")
    export.add_argument("dir", type=Path, metavar="DIR", help="made if missing")
    export.add_argument("bench", nargs="*", metavar="BENCH", help="default: all that is imported")

    for verb in (listing, fetch, bring, check, info, export):
        verb.add_argument("--data-dir", type=Path, metavar="DIR", help="the local store")
        verb.add_argument("--json", action="store_true", help="JSON to stdout")
        verb.set_defaults(run=run)


def _parser(commands: Any, name: str, summary: str, text: str, example: str) -> Any:
    return commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".\n" + text,
        epilog=(example + "\n" if example else "") + _EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def run(args: argparse.Namespace) -> int:
    """Run `stare-eval data ...`; returns the exit code."""
    try:
        return _VERBS[args.what](args)
    except DataError as error:
        _say(f"stare-eval: {error}")
        return 3
    except (StareError, MissingExtraError) as error:
        _say(f"stare-eval: {error}")
        return 2
    except OSError as error:
        _say(f"stare-eval: {error}")
        return 1


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _list(args: argparse.Namespace) -> int:
    from stare.evals.data import data_folder, load_manifest, names
    from stare.evals.data.status import everything, verify

    rows = []
    for name in everything(args.data_dir):
        state = verify(name, args.data_dir)
        known = load_manifest(name) if name in names() else None
        rows.append(
            {
                "bench": name,
                "rows": known.rows if known else state.get("rows"),
                "n": known.n if known else 1,
                "gold": known.gold if known else state.get("gold"),
                "state": state["state"],
                "title": known.title if known else "your own",
            }
        )
    if args.json:
        _print_json({"folder": str(data_folder(args.data_dir)), "benchmarks": rows})
        return 0
    _table(
        ["benchmark", "rows", "n", "golds", "imported", "what it is"],
        [[str(value) for value in row.values()] for row in rows],
        right=(1, 2),
    )
    _say(f"store: {data_folder(args.data_dir)}")
    return 0


def _table(columns: list[str], rows: list[list[str]], right: tuple[int, ...] = ()) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, column in enumerate(columns):
        table.add_column(column, justify="right" if at in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(highlight=False).print(table)


def _fetch(args: argparse.Namespace) -> int:
    from stare.evals.data.fetching import UnreachableError, fetch
    from stare.evals.data.local import data_folder
    from stare.evals.data.registry import load_manifest
    from stare.evals.suite import SUITES

    wanted = list(dict.fromkeys(b for name in args.bench for b in SUITES.get(name, (name,))))
    for name in wanted:
        load_manifest(name)  # unknown names first: nothing is fetched for a typing error
    failed: list[str] = []
    done = []
    for name in wanted:
        try:
            result = fetch(name, data_folder(args.data_dir), say=_say)
        except DataError as error:
            _say(f"stare-eval: {error}")
            failed.append(name)
            if isinstance(error, UnreachableError):  # the others would wait for the same network
                failed += (left := wanted[wanted.index(name) + 1 :])
                if left:
                    _say(f"stare-eval: no network, so not tried: {', '.join(left)}")
                break
            continue
        _report(result)
        done.append(result.header.to_json())
    if args.json:
        _print_json({"imported": done, "failed": failed})
    return 3 if failed else 0


def _import(args: argparse.Namespace) -> int:
    from stare.errors import ArgumentError
    from stare.evals.data.adapt import Fields
    from stare.evals.data.importing import import_files
    from stare.evals.data.local import data_folder
    from stare.evals.data.readers import data_files

    if args.allow_mismatch and (args.bench or args.pick or args.each):
        raise ArgumentError("--allow-mismatch goes without --bench, --pick and --each")
    if args.each and args.bench:
        raise ArgumentError("--each goes without --bench")
    groups = [[file] for path in args.path for file in data_files(path)]
    if not args.each:
        groups = [args.path]
    done = []
    failed: list[str] = []
    for paths in groups:
        try:
            result = import_files(
                paths,
                data_folder(args.data_dir),
                bench=args.bench,
                own_name=args.allow_mismatch,
                pick=args.pick,
                fields=Fields(problem=args.problem_field, gold=args.gold_field),
            )
        except DataError as error:
            if len(groups) == 1:
                raise
            _say(f"stare-eval: {paths[0]}: {error}")
            failed.append(str(paths[0]))
            continue
        _report(result)
        done.append(result.header.to_json())
    if args.json:
        _print_json({"imported": done, "failed": failed})
    return 3 if failed else 0


def _report(result: Imported) -> None:
    header = result.header
    _say(f"{header.bench}: {header.rows} rows, identity {header.identity} -> {result.path}")
    for note in result.notes:
        _say(f"  note: {note}")


def _verify(args: argparse.Namespace) -> int:
    from stare.evals.data.status import stored, verify

    names = args.bench or stored(args.data_dir)
    states = [verify(name, args.data_dir) for name in names]
    bad = [state for state in states if state["state"] in ("damaged", "not imported")]
    if args.json:
        _print_json(states)
    else:
        keys = ("bench", "rows", "state", "sha256")
        rows = [[str(state.get(key, ""))[:32] for key in keys] for state in states]
        _table(["benchmark", "rows", "identity", "sha256 (first 32)"], rows, right=(1,))
    for state in bad:
        _say(f"stare-eval: {state['bench']}: {state.get('problem', state['state'])}")
    return 3 if bad else 0


def _info(args: argparse.Namespace) -> int:
    from stare.evals.data.status import describe

    about = describe(args.bench, args.data_dir)
    if args.json:
        _print_json(about)
        return 0
    for line in _info_lines(about):
        print(line)
    return 0


def _info_lines(about: dict[str, Any]) -> list[str]:
    local = about["local"]
    lines = [f"{about['bench']}: {about.get('title', '')}"]
    for key, label in (
        ("rows", "rows"),
        ("n", "default n"),
        ("gold", "golds"),
        ("license", "licence"),
        ("files", "files"),
        ("sha256", "sha256"),
        ("golds_sha256", "of the golds alone"),
        ("computed_from", "computed from"),
    ):
        if about.get(key):
            lines.append(f"  {label}: {about[key]}")
    state = local["state"] + (f" ({local['problem']})" if "problem" in local else "")
    lines.append(
        f"  imported: {state}" + (f", from {local['source']}" if "source" in local else "")
    )
    if about.get("gold_kinds"):
        kinds = ", ".join(f"{count} {kind}" for kind, count in about["gold_kinds"].items())
        lines.append(f"  gold kinds: {kinds}")
    for part, (first, last) in about.get("parts", {}).items():
        lines.append(f"  part {part}: rows {first + 1} to {last}")
    for source in about.get("sources", ()):
        configs = f" [{', '.join(source['configs'])}]" if source["configs"] else ""
        revision = source["revision"] or "revision not known"
        lines.append(f"  source: {source['hub']}{configs}, split {source['split']}, {revision}")
        if source["note"]:
            lines.append(f"    {source['note']}")
    for rows, note in about.get("mistakes", {}).items():
        lines.append(f"  not this: {rows} rows: {note}")
    for erratum in about.get("errata", ()):
        ids = ", ".join(erratum["rows"][:4]) + (", ..." if len(erratum["rows"]) > 4 else "")
        told = f" ({erratum['source']})" if erratum["source"] else ""
        lines.append(f"  erratum{': ' + ids if ids else ''}: {erratum['note']}{told}")
    for deviation in about.get("deviations", ()):
        lines.append(f"  accepted in mirrors: {deviation}")
    return lines


def _export(args: argparse.Namespace) -> int:
    from stare.evals.data import load
    from stare.evals.data.local import MINI, plain_lines, replace
    from stare.evals.data.status import stored

    chosen = args.bench or [name for name in stored(args.data_dir) if name != MINI]
    if not chosen:
        raise DataError("nothing is imported, so there is nothing to export")
    benchmarks = [load(name, args.data_dir) for name in chosen]
    args.dir.mkdir(parents=True, exist_ok=True)
    written = []
    for benchmark in benchmarks:
        path = args.dir / f"{benchmark.name}.jsonl"
        replace(path, "".join(plain_lines(benchmark)))
        written.append({"bench": benchmark.name, "path": str(path)})
        own = " (import it with --allow-mismatch)" if benchmark.header.identity == "custom" else ""
        _say(f"{benchmark.name}: {len(benchmark.problems)} rows -> {path}{own}")
    if args.json:
        _print_json(written)
    return 0


_VERBS = {
    "list": _list,
    "fetch": _fetch,
    "import": _import,
    "verify": _verify,
    "info": _info,
    "export": _export,
}
