#!/usr/bin/env bash
# What can be said about a GPU, in one command of less than 8 minutes:
#
#   bash bench/cuda_check.sh                # one CUDA device
#   bash bench/cuda_check.sh --cpu          # the same steps at toy size, to see that they run: no GPU is measured
#
# Prints to the terminal and to cuda_check.md. PYTHON=... names the interpreter (default .venv/bin/python
# if it is there); it needs the package with [train], and TRL for the last table.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

DEVICE=cuda
[[ "${1:-}" == "--cpu" ]] && DEVICE=cpu
PYTHON=${PYTHON:-$([[ -x .venv/bin/python ]] && echo .venv/bin/python || echo python3)}
OUT=${OUT:-cuda_check.md}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
export PYTHONPATH="python${PYTHONPATH:+:$PYTHONPATH}"
FAILED=0

say() { echo "$@" | tee -a "$OUT"; }
step() {  # step NAME SECONDS COMMAND...: bounded, and a failure does not end the others
  local name=$1 limit=$2
  shift 2
  say "" && say "## $name" && say ""
  local began=$SECONDS code=0
  timeout "$limit" "$@" 2>"$WORK/errors" | tee -a "$OUT" || code=$?
  if ((code)); then
    FAILED=$((FAILED + 1))
    say "FAILED (exit code $code)"
    tail -n 20 "$WORK/errors" | tee -a "$OUT" >&2
  fi
  say "" && say "$((SECONDS - began)) s"
}

: >"$OUT"
say "# $([[ $DEVICE == cuda ]] && echo 'CUDA check' || echo 'Dry run on a CPU: no GPU was measured')"
say ""
"$PYTHON" - "$DEVICE" <<'PY' | tee -a "$OUT"
import sys, torch
if sys.argv[1] == "cuda":
    if not torch.cuda.is_available():
        sys.exit("torch finds no CUDA device; --cpu is a dry run")
    p = torch.cuda.get_device_properties(0)
    print(f"{p.name}, {p.total_memory / 2**30:.0f} GiB, torch {torch.__version__}")
else:
    print(f"CPU, torch {torch.__version__}")
PY

if [[ $DEVICE == cuda ]]; then
  step "Tests on the device" 150 "$PYTHON" -m pytest -q -m gpu tests
  SELECT=(--rows 512 4096) DEMO=60 LEARNER=(--dtype bfloat16 --hidden 1024 --layers 16 --rows 64
    --micro-rows 8 --prompt 128 --response 1024 --rounds 2)
else
  step "Tests on the device (skipped there: no CUDA)" 60 "$PYTHON" -m pytest -q tests/gpu
  SELECT=(--rows 64 --rounds 3) DEMO=5
  LEARNER=(--hidden 64 --layers 1 --rows 8 --micro-rows 4 --prompt 8 --response 32 --rounds 1 --steps 1)
fi
step "Selection against torch.topk" 60 "$PYTHON" bench/selection_device.py --device "$DEVICE" "${SELECT[@]}"
step "The demo's policy, $DEMO steps" 90 "$PYTHON" -m stare.train.cli run demo-mod5 run.device="$DEVICE" \
  run.steps="$DEMO" eval.every=0 run.deterministic=false run.out="$WORK/demo"
say "" && say '```' && tail -n 1 "$WORK/demo/metrics.jsonl" | tee -a "$OUT" && say '```'
if "$PYTHON" -c 'import trl' 2>/dev/null; then
  step "An update against TRL's" 200 "$PYTHON" bench/learner.py --device "$DEVICE" "${LEARNER[@]}"
else
  say "" && say "An update against TRL's: not run, TRL is not installed for $PYTHON"
fi
say "" && say "$FAILED of the steps failed"
exit "$FAILED"
