"""Write the seed inputs of the answer targets from the committed table of cases.

    python rust/fuzz/seeds/make.py CORPUS_FOLDER

libFuzzer wants one file per input; one table is easier to read and to review.
"""

import json
import sys
from pathlib import Path

TABLE = Path(__file__).parents[3] / "tests/data/verify_cases.jsonl"

for number, line in enumerate(TABLE.read_text(encoding="utf-8").splitlines()):
    case = json.loads(line)
    answer = case["pred"].removeprefix("\\boxed{").removesuffix("}")
    for target, text in (
        ("answer_parse", case["gold"]),
        ("answer_compare", f"{answer}\n{case['gold']}"),
        ("answer_extract", case["pred"]),
        ("answer_grade", f"{case['pred']}\n{case['gold']}"),
    ):
        folder = Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"case-{number:03}").write_text(text, encoding="utf-8")
