"""JSON lines with `problem` and `answer` -> the parquet file that verl reads.

python recipes/verl/prepare.py train.jsonl train.parquet --source deepscaler
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INSTRUCTION = "Please reason step by step, and put your final answer within \\boxed{}."
"""The paper's prompt: the question, then this."""


def rows(source: Path, name: str) -> Iterator[dict[str, Any]]:
    """What verl expects of each problem."""
    with source.open(encoding="utf-8") as lines:
        for index, line in enumerate(filter(str.strip, lines)):
            record = json.loads(line)
            content = f"{record['problem']}\n{INSTRUCTION}"
            yield {
                "data_source": name,
                "prompt": [{"role": "user", "content": content}],
                "ability": "math",
                "reward_model": {"style": "rule", "ground_truth": str(record["answer"])},
                "extra_info": {"index": index},
            }


def main() -> None:
    """Convert one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--source", dest="name", default="math", help="data_source of every row")
    arguments = parser.parse_args()
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist(list(rows(arguments.problems, arguments.name)))
    pq.write_table(table, arguments.target)


if __name__ == "__main__":
    main()
