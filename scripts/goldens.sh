#!/usr/bin/env bash
# Makes the golden data again and compares them with those here.
#
#   scripts/goldens.sh            all
#   scripts/goldens.sh squad      only makers whose line in the list below holds "squad"
#
# It needs git, g++, Node.js with npm and Python 3.11 with venv, for the makers of images Debian 12's python3-opencv and
# libjpeg-turbo-progs, and some 2 GB in ${GOLDENS_DIR:-~/.cache/mlperf-goldens}, where packages and checkouts of other projects
# stay. What this machine lacks is listed as NOT RUN; a file that comes out otherwise, or a maker that fails, is the exit status 1.
set -uo pipefail
cd "$(dirname "$0")/.."
only=${1:-}
cache=${GOLDENS_DIR:-$HOME/.cache/mlperf-goldens}
mkdir -p "$cache"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# checkout NAME REPOSITORY COMMIT
checkout() {
	[ -e "$cache/$1" ] && return
	git clone -q "https://github.com/$2" "$work/checkout" && git -C "$work/checkout" -c advice.detachedHead=false checkout -q "$3" && mv "$work/checkout" "$cache/$1"
}
checkout inference mlcommons/inference b66003e1 || exit
checkout whisper openai/whisper v20250625 || exit
checkout prm800k openai/prm800k 7ecc794 || exit
checkout deeplearningexamples NVIDIA/DeepLearningExamples b03375bd6c2c5233130e61a3be49e26d1a20ac7c || exit
checkout livecodebench LiveCodeBench/LiveCodeBench b1e7cab44d610bbc2e10d36d270cd0c89c600492 || exit

# venv NAME PACKAGE…
venv() {
	local name=$1
	shift
	[ -e "$cache/$name/complete" ] && return
	python3.11 -m venv "$cache/$name" && "$cache/$name/bin/pip" install -q "$@" && touch "$cache/$name/complete"
}
venv python numpy==1.24.2 scipy==1.10.1 pandas==1.5.3 nltk==3.8 scikit-learn==1.2.1 pycocotools==2.0.11 rouge_score==0.1.2 \
	sacrebleu==2.6.0 jiwer==4.0.0 nibabel==5.0.0 sympy==1.14.0 pylatexenc==2.10 jinja2==3.1.6 ftfy==6.3.1 regex more-itertools pyyaml || exit
venv python-numpy2 numpy==2.4.1 pandas==2.3.3 || exit
venv python-tensorflow tensorflow-cpu==2.15.1 tensorflow-addons==0.23.0 || exit
# torchvision 0.15.1 wants PyTorch 2, but its functions for Pillow's images run with 1.13.1. Without PyTorch's own index pip takes 2 GB.
pytorch="--extra-index-url https://download.pytorch.org/whl/cpu"
venv python-torch $pytorch numpy==1.24.2 scipy==1.10.1 pillow==9.4.0 requests six torch==1.13.1 || exit
torch=$(echo "$cache"/python-torch/lib/python3.*/site-packages)
[ -d "$torch/torchvision" ] || "$cache/python-torch/bin/pip" install -q --no-deps $pytorch torchvision==0.15.1 || exit
# A few Python files of these are used, not what they depend on.
for package in transformers==2.4.0 librosa==0.7.2; do
	folder=$cache/${package%%=*}
	[ -d "$folder" ] || "$cache/python/bin/pip" install -q --no-deps --target "$folder" $package || exit
done
[ -d "$cache/node/node_modules" ] || npm install --silent --prefix "$cache/node" tokenizers@0.23.2 hyparquet-writer || exit

git clone -q . "$work/mlperf" && cd "$work/mlperf" || exit
status=0

# The last digits of images.json.gz depend on the processor, as NumPy's matrix products do.
cat >"$work/same.py" <<'EOF'
import gzip, io, json, math, re, subprocess, sys, zipfile

def same(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if near and isinstance(a, str) and isinstance(b, str):
        number = r"\d+\.\d+"
        return re.sub(number, "", a) == re.sub(number, "", b) and same(*([float(n) for n in re.findall(number, t)] for t in (a, b)))
    return a == b or a != a and b != b or near and isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6)

name = sys.argv[1]
near = name.endswith("/images.json.gz")
text = [subprocess.check_output(["git", "show", "HEAD:" + name]), open(name, "rb").read()]


def content(t):
    if name.endswith(".npz"):  # the headers of a zip file depend on Python's version
        z = zipfile.ZipFile(io.BytesIO(t))
        return {entry: z.read(entry) for entry in z.namelist()}
    return json.loads(gzip.decompress(t) if name.endswith(".gz") else t)


sys.exit(not same(*map(content, text)))
EOF

# golden FOLDER COMMAND…: runs a maker in its folder. Files that it writes are compared with those that are committed.
golden() {
	local folder=$1
	shift
	[[ "$folder $*" == *"$only"* ]] || return 0
	if ! (cd "internal/$folder/testdata" && eval "$*") >"$work/out" 2>&1; then
		echo "FAILED   $folder: $*"
		tail -5 "$work/out"
		status=1
		git checkout -q . && git clean -qfd
		return
	fi
	local file found=same
	for file in $(git diff --name-only) $(git ls-files --others --exclude-standard); do
		case $file in
		*.json | *.json.gz | *.npz) "$py" "$work/same.py" "$file" && continue ;;
		*.gz) cmp -s <(git show "HEAD:$file" | zcat) <(zcat "$file") && continue ;;
		esac
		echo "DIFFERS  $file"
		found=differs status=1
	done
	[ $found = differs ] || echo "same     $folder: $*"
	git checkout -q . && git clean -qfd
}

py=$cache/python/bin/python inference=$cache/inference whisper=$cache/whisper loadgen=$cache/inference/loadgen
bert="$inference $cache/deeplearningexamples $cache/transformers"
export PYTHONDONTWRITEBYTECODE=1
mkdir "$work/oddities" && echo 'const char* mlperf_conf = "";' >"$work/oddities/mlperf_conf.h"

golden accuracy/englishtext "$py make_golden.py $whisper"
golden accuracy/grading "$py make_grading.py $inference $cache/prm800k"
golden accuracy/livecode "$py make_verdicts.py $cache/livecodebench 3>verdicts.json"
golden accuracy/sentences "$py make_golden.py"
golden accuracy "$py make_coco.py --write"
golden accuracy "$py make_detections.py $inference --write"
golden accuracy "$py make_gptoss_table.py $inference/language/gpt-oss-120b/eval_mlperf_accuracy.py >gptoss_table.txt"
golden accuracy "$py make_images.py | gzip -9n >images.json.gz"
golden accuracy "$py make_logs.py $inference $whisper --write"
golden accuracy "$py make_masks.py $inference --write"
golden accuracy "$py make_random_logs.py $inference"
golden accuracy "$py make_random_speech.py $inference $whisper"
golden accuracy "$py make_scores.py $inference $whisper --write"
golden accuracy "$py make_texts.py $inference $(dirname "$($py -c 'import rouge_score; print(rouge_score.__path__[0])')")"
golden compliance "$py make_rates.py $inference >rates.json"
golden compliance "$py make_verdicts.py $inference >verdicts.json"
golden config/rounds "$py make_patterns.py $inference >patterns.json"
golden config "$py make_rules.py $inference --write"
golden config "$py make_settings.py $loadgen --write"
golden config "g++ -std=c++17 -I$work/oddities -I$loadgen -o $work/oddities/program oddities.cc $loadgen/{test_settings_internal,logging,utils,version}.cc && $py oddities.py $work/oddities/program >oddities.json"
golden dataset/captions "$py make_files.py && $py make_tables.py"
golden tensor/pickle "$py make_random.py numpy1.json.gz && $cache/python-numpy2/bin/python make_random.py numpy2.json.gz"
golden tensor/pickle "$py make_frames.py && $py make_torch.py"
golden dataset/prompts "cd $cache/node && node \$OLDPWD/make_parquet.mjs"
golden preprocess/volume "$py make_prepared.py $inference --write"
# The times in these logs differ from run to run: the tests compare the rest of them with ours.
golden loadgen/mlperflog "$py generate.py $inference && MLPERF_LONG_TESTS=1 go test -C ../../../.. ./internal/loadgen/mlperflog -run 'Reference|AllVersions' && git checkout -q reference old"
golden loadgen/mlperflog "cd random && $py generate.py $loadgen"
golden loadgen "$py make_golden.py $loadgen --write"
golden models/decode "$cache/python-tensorflow/bin/python make_beam_search.py --write"
golden models/diffusion "$py make_scheduler.py >scheduler.json"
golden models/text "$py make_bert.py $bert --write"
golden tokenizer "$py make_tokens.py $bert --write"
golden tokenizer/chat "$py render.py >golden.json"
golden tokenizer/clip "$py make_tokens.py"
golden tokenizer/hf "cd $cache/node && node \$OLDPWD/make_corners.mjs && node \$OLDPWD/make_golden.mjs"
golden preprocess/audio "$cache/python-torch/bin/python make_rnnt.py $inference $cache/librosa --write"
golden preprocess/audio "$py make_whisper.py"
golden models/text "$py squad/make_squad.py $bert --write"
golden report "$py make_result_fields.py $inference"
golden submission/checker "go test -C ../../../.. ./internal/submission/checker -run Official -trees $work/trees && $py make_verdicts.py $inference $work/trees >verdicts.json"
golden submission/output "$py make_final.py $inference >final.json"
golden tensor/npy "$py make_numpy.py --write"
if /usr/bin/python3 -c 'import cv2, PIL, sys; sys.exit((cv2.__version__, PIL.__version__) != ("4.6.0", "9.4.0"))' && command -v cjpeg >/dev/null; then
	golden models/vision "/usr/bin/python3 make_responses.py $inference --write"
	golden preprocess/jpeg "/usr/bin/python3 make_corpus.py && /usr/bin/python3 make_images.py --write && /usr/bin/python3 make_orientations.py"
	golden preprocess "PYTHONPATH=$torch /usr/bin/python3 make_images.py $inference --write"
	golden preprocess "PYTHONPATH=$inference/vision/classification_and_detection/python /usr/bin/python3 make_random.py"
else
	echo "NOT RUN  models/vision, preprocess, preprocess/jpeg: they need Debian 12's python3-opencv, python3-pil and libjpeg-turbo-progs"
fi
exit $status
