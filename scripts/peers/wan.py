"""Videos of the built-in Wan 2.2 by diffusers' WanPipeline: the same weights, noise and prompts. It says how far the videos of a run are from them.

    pip install torch==2.4.1 diffusers==0.35.2 transformers==4.40.2 accelerate ftfy sentencepiece "numpy<2" onnx==1.16.2 av
    mlperf run --model wan-2.2-t2v-a14b --scenario offline --mode accuracy --count 2 --output RUN
    python wan.py ~/.cache/mlperf/models/wan-mini-… ~/.cache/mlperf/datasets/vbench-… RUN/videos

Files of videos are JPEG frames, which alone change these noisy pictures by 2 of 255 in brightness.
"""
import sys

import av
import numpy as np
import onnx
import torch
from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanPipeline, WanTransformer3DModel
from transformers import PreTrainedTokenizerFast, UMT5Config, UMT5EncoderModel

model, data, videos = sys.argv[1:4]
attention = torch.nn.functional.scaled_dot_product_attention
torch.nn.functional.scaled_dot_product_attention = lambda *a, enable_gqa=False, **k: attention(*a, **k)  # torch 2.4 has no enable_gqa

# inference_config.yaml and prompts of the reference, text_to_video/wan-2.2-t2v-a14b
negative = (
    "vivid colors, overexposed, static, blurry details, subtitles, style, work of art, painting, picture, still, overall grayish, "
    "worst quality, low quality, JPEG artifacts, ugly, deformed, extra fingers, poorly drawn hands, poorly drawn face, deformed, disfigured, "
    "deformed limbs, fused fingers, static image, cluttered background, three legs, many people in the background, walking backwards"
)


def filled(net, file):
    """Gives a network the weights of an ONNX file, whose dense layers are turned round."""
    ours = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(f"{model}/{file}.onnx").graph.initializer}
    dense = {name for name, m in net.named_modules() if isinstance(m, torch.nn.Linear)}
    for name, p in net.named_parameters():
        layer, _, kind = name.replace(".", "/").rpartition("/")
        names = [layer + "/" + kind] + {"weight": [layer + "/weights", layer + "/gamma"], "bias": [layer + "/beta"]}.get(kind, [])
        found = [ours[n.lstrip("/")] for n in names if n.lstrip("/") in ours]
        if not found and not (file == "vae_decoder" and name.startswith(("encoder.", "quant_conv."))):  # that of videos is not used
            sys.exit(f"{file}.onnx has no {name}")
        if found:
            v = found[0].T if kind == "weight" and name[: -len(".weight")] in dense else found[0]
            p.data = torch.tensor(v.reshape(tuple(p.shape)).copy())
    return net.eval()


def expert(file):
    return filled(WanTransformer3DModel(num_attention_heads=4, attention_head_dim=24, text_dim=64, freq_dim=64, ffn_dim=256, num_layers=3), file)


def brightness(frames):
    return frames @ np.array([0.299, 0.587, 0.114])


text = UMT5Config(vocab_size=1024, d_model=64, d_kv=16, d_ff=160, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu", dropout_rate=0)
pipe = WanPipeline(
    tokenizer=PreTrainedTokenizerFast(tokenizer_file=data + "/tokenizer.json", pad_token="<pad>", eos_token="</s>", unk_token="<unk>"),
    text_encoder=filled(UMT5EncoderModel(text), "text_encoder"), transformer=expert("transformer"), transformer_2=expert("transformer_2"),
    vae=filled(AutoencoderKLWan(base_dim=8), "vae_decoder"), boundary_ratio=0.875,
    scheduler=UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0),
)
latents, theirs, ours = torch.load(data + "/fixed_latent.pt", weights_only=True).float(), [], []
for i, prompt in enumerate(open(data + "/vbench_prompts.txt").read().splitlines()[:2]):
    video = pipe(prompt=prompt, negative_prompt=negative, height=144, width=256, num_frames=9, num_inference_steps=20, guidance_scale=4.0, guidance_scale_2=3.0,
                 latents=latents, output_type="np").frames[0]
    theirs.append(brightness((video * 255).astype(np.uint8)))
    ours.append(brightness(np.array([f.to_ndarray(format="rgb24") for f in av.open(f"{videos}/{i}.mp4").decode(video=0)])))
for i, video in enumerate(ours):
    print(f"video {i} is " + ", ".join(f"{np.abs(video - other).mean():.2f} from their video {k}" for k, other in enumerate(theirs)))
