#!/usr/bin/env bash
# What only a GPU can show, in one command and under 8 minutes:
#     bench/cuda_check.sh [--cpu]        # PYTHON=... names the interpreter
# --cpu runs the same steps at toy size on a CPU: it shows that the script works, and nothing else.
# Each step has its own time limit; a failed step is reported and the others still run. Exit code 1
# if any failed.
set -uo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python}
export PYTHONPATH=python${PYTHONPATH:+:$PYTHONPATH}
device=cuda
[ "${1:-}" = --cpu ] && device=cpu
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0

step() {  # step SECONDS TITLE COMMAND...
    local limit=$1 title=$2 began=$SECONDS rc
    shift 2
    printf '\n## %s\n\n' "$title"
    timeout "$limit" "$@"
    rc=$?
    if [ $rc -ne 0 ]; then
        failed=1
        echo "FAILED with exit code $rc (124: over its limit of $limit s)"
    fi
    echo "($((SECONDS - began)) s)"
}

if [ $device = cpu ]; then
    echo "# Dry run on a CPU at toy size: NOT a GPU measurement"
    tests=(tests/test_compute.py) size=64x512
    learner=(--hidden 64 --layers 2 --rows 8 --micro-rows 4 --response 32 --steps 1 --rounds 1)
else
    "$python" -c 'import sys, torch
if not torch.cuda.is_available():
    sys.exit("no CUDA device; --cpu makes a dry run")
print("#", torch.cuda.get_device_name(), "torch", torch.__version__, "CUDA", torch.version.cuda)' || exit 2
    tests=(-m gpu tests) size=512x4096
    # About 0.5 billion weights with the vocabulary of 32,768.
    learner=(--hidden 1024 --layers 36 --rows 32 --response 1024 --dtype bfloat16 --rounds 1)
fi

step 120 "GPU tests" "$python" -m pytest -q "${tests[@]}"
step 30 "Selection against torch.topk" "$python" bench/cuda_selection.py --device $device --size $size
step 60 "Demo policy, 3 steps" "$python" -m stare.train.cli run demo-mod5 \
    run.device=$device run.steps=3 "run.out=$out/demo"
step 240 "Update of a random Llama: memory and tokens/s" \
    "$python" bench/learner.py --no-trl --device $device "${learner[@]}"
echo
[ $device = cpu ] && echo "This was a dry run on a CPU: NOT a GPU measurement."
[ $failed = 0 ] && echo "all steps passed"
exit $failed
