"""Golden data for WAN 2.2's networks at a tiny size: runs the official classes of diffusers 0.35.2 (transformer_wan.py, autoencoder_kl_wan.py; source
from the PyPI wheel, package imports replaced by stubs) with weights from a stated generator, float32, torch 1.13 or later.
Weights: for the k-th parameter in the order of named_parameters() (0-based), value i = scale * sin(0.37 * i + 1.3 * k + 0.5) with scale = 0.4 / sqrt(fan_in)
(fan_in = elements of the tensor / its first size, 1 at least); parameters whose name ends in "gamma" or of norm weights get 1 + 0.1 * that.
Usage: DIFF=/path/diffusers python make_wan.py"""
import os, sys, json, types, importlib.util, inspect, functools, math
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
DIFF = os.environ["DIFF"]; here = os.path.dirname(os.path.abspath(__file__)); torch.set_num_threads(1)
if not hasattr(nn, "RMSNorm"):
    class RMSNorm(nn.Module):
        def __init__(self, d, eps=None, elementwise_affine=True): super().__init__(); self.weight = nn.Parameter(torch.ones(d)); self.eps = eps
        def forward(self, x): return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
    nn.RMSNorm = RMSNorm
def sdpa(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, **kw):
    return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1) @ v
F.scaled_dot_product_attention = sdpa
def dispatch(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, backend=None):  # B, S, H, D as diffusers
    return sdpa(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)
def mod(n, **k):
    m = types.ModuleType(n); m.__dict__.update(k); m.__path__ = []; sys.modules[n] = m; return m
class Cfg(dict): __getattr__ = dict.__getitem__
def register_to_config(f):
    @functools.wraps(f)
    def w(self, *a, **k):
        b = inspect.signature(f).bind(self, *a, **k); b.apply_defaults(); d = dict(b.arguments); d.pop("self"); self._internal = Cfg(d); f(self, *a, **k); 
    return w
class Mixin: pass
class ModelMixin(nn.Module):
    @property
    def config(self): return self.__dict__["_internal"]
class Log:
    def __getattr__(self, k): return lambda *a, **kw: None
# real small pieces of diffusers, by source
def take(path, names, ns):
    import ast
    t = ast.parse(open(DIFF + "/" + path).read()); b = [n for n in t.body if getattr(n, "name", "") in names]
    exec(compile(ast.Module([ast.parse("from __future__ import annotations").body[0]] + b, []), path, "exec"), ns); return [ns[n] for n in names]
base = {"torch": torch, "nn": nn, "F": F, "math": math, "np": np, "Optional": None, "Union": None, "deprecate": lambda *a, **k: None, "is_torch_npu_available": lambda: False, "is_torch_version": lambda *a: True, "get_activation": lambda n: {"silu": nn.SiLU(), "swish": nn.SiLU()}[n]}
FP32LayerNorm, = take("models/normalization.py", ["FP32LayerNorm"], dict(base))
(GELU,) = take("models/activations.py", ["GELU"], dict(base))
nsa = dict(base, GELU=GELU, GEGLU=None, ApproximateGELU=None, SwiGLU=None, LinearActivation=None); (FeedForward,) = take("models/attention.py", ["FeedForward"], nsa)
nse = dict(base); getem, Timesteps, TimestepEmbedding, Pix, rot = take("models/embeddings.py", ["get_timestep_embedding", "Timesteps", "TimestepEmbedding", "PixArtAlphaTextProjection", "get_1d_rotary_pos_embed"], nse)
class AttentionModuleMixin:
    fused_projections = False
    def set_processor(self, p): self.processor = p or self._default_processor_cls()
mod("diffusers"); mod("diffusers.configuration_utils", ConfigMixin=type("ConfigMixin", (), {}), register_to_config=register_to_config)
mod("diffusers.loaders", FromOriginalModelMixin=type("A", (), {}), PeftAdapterMixin=type("B", (), {}))
mod("diffusers.utils", USE_PEFT_BACKEND=False, deprecate=lambda *a, **k: None, logging=types.SimpleNamespace(get_logger=lambda n: Log()), scale_lora_layers=None, unscale_lora_layers=None)
mod("diffusers.utils.torch_utils", maybe_allow_in_graph=lambda c: c); mod("diffusers.utils.accelerate_utils", apply_forward_hook=lambda f: f)
mod("diffusers.models"); mod("diffusers.models.transformers"); mod("diffusers.models.autoencoders")
mod("diffusers.models.attention", AttentionMixin=type("C", (), {}), AttentionModuleMixin=AttentionModuleMixin, FeedForward=FeedForward)
mod("diffusers.models.attention_dispatch", dispatch_attention_fn=dispatch); mod("diffusers.models.cache_utils", CacheMixin=type("D", (), {}))
mod("diffusers.models.embeddings", PixArtAlphaTextProjection=Pix, TimestepEmbedding=TimestepEmbedding, Timesteps=Timesteps, get_1d_rotary_pos_embed=rot)
class O:
    def __init__(self, sample): self.sample = sample
mod("diffusers.models.modeling_outputs", Transformer2DModelOutput=O, AutoencoderKLOutput=O); mod("diffusers.models.modeling_utils", ModelMixin=ModelMixin)
mod("diffusers.models.normalization", FP32LayerNorm=FP32LayerNorm); mod("diffusers.models.activations", get_activation=base["get_activation"])
mod("diffusers.models.autoencoders.vae", DecoderOutput=O, DiagonalGaussianDistribution=None)
def load(name, path):
    s = importlib.util.spec_from_file_location(name, DIFF + path); m = importlib.util.module_from_spec(s); sys.modules[name] = m; s.loader.exec_module(m); return m
def fill(net):
    for k, (n, p) in enumerate(net.named_parameters()):
        c = p.numel(); fan = max(1, c // p.shape[0]); v = (0.4 / math.sqrt(fan)) * np.sin(0.37 * np.arange(c) + 1.3 * k + 0.5)
        if n.endswith("gamma") or ("norm" in n and n.endswith("weight")): v = 1 + 0.1 * v
        p.data = torch.tensor(v.astype(np.float32).reshape(tuple(p.shape)))
    return net.eval()
def arr(t): return [round(float(a), 7) for a in t.flatten()]
def wave(shape, f, ph): return torch.tensor(np.sin(f * np.arange(int(np.prod(shape))) + ph).astype(np.float32).reshape(shape))
T = load("diffusers.models.transformers.transformer_wan", "/models/transformers/transformer_wan.py"); out = {"torch": torch.__version__}
with torch.no_grad():
    net = fill(T.WanTransformer3DModel(num_attention_heads=2, attention_head_dim=12, in_channels=4, out_channels=4, text_dim=8, freq_dim=16, ffn_dim=40, num_layers=2))
    x, te = wave((1, 4, 3, 4, 6), 0.21, 0.1), wave((1, 5, 8), 0.33, 0.2); te[:, 3:] = 0
    y = net(x, torch.tensor([937]), te, return_dict=False)[0]
    cos, sin = net.rope(x)
    out["dit"] = {"config": {"num_attention_heads": 2, "attention_head_dim": 12, "in_channels": 4, "text_dim": 8, "freq_dim": 16, "ffn_dim": 40, "num_layers": 2, "patch_size": [1, 2, 2]}, "latent": "shape 1,4,3,4,6: sin(0.21 i + 0.1)", "text": "shape 1,5,8: sin(0.33 i + 0.2), rows 3 and 4 zero", "timestep": 937,
        "parameters": [[n, list(p.shape)] for n, p in net.named_parameters()], "rope_cos": arr(cos[0, :4]), "rope_shape": list(cos.shape), "time_embedding_937": arr(net.condition_embedder.timesteps_proj(torch.tensor([937]))), "output_shape": list(y.shape), "output": arr(y)}
    V = load("diffusers.models.autoencoders.autoencoder_kl_wan", "/models/autoencoders/autoencoder_kl_wan.py")
    vae = fill(V.AutoencoderKLWan(base_dim=4, z_dim=4, dim_mult=[1, 2, 2, 2], num_res_blocks=1, temperal_downsample=[False, True, True], latents_mean=[0.0] * 4, latents_std=[1.0] * 4))
    z = wave((1, 4, 3, 2, 2), 0.4, 0.3); v = vae.decode(z, return_dict=False)[0]
    dec = [[n, list(p.shape)] for n, p in vae.named_parameters()]
    out["vae"] = {"config": {"base_dim": 4, "z_dim": 4, "dim_mult": [1, 2, 2, 2], "num_res_blocks": 1, "temperal_downsample": [False, True, True]}, "latent": "shape 1,4,3,2,2: sin(0.4 i + 0.3)", "parameters": dec, "output_shape": list(v.shape), "output_sum": float(v.double().sum()), "output_abs_sum": float(v.double().abs().sum()), "output_first_64": arr(v.flatten()[:64]), "frame_sums": [float(v[0, :, i].double().sum()) for i in range(v.shape[2])]}
json.dump(out, open(here + "/wan.json", "w"), indent=1)
print(out["dit"]["output_shape"], out["dit"]["output"][:4], out["vae"]["output_shape"], out["vae"]["output_sum"], len(dec))
