"""The tokenizers of the BERT reference, for the makers of this folder and of models/text.

load(INFERENCE, DLE, TRANSFORMERS) takes checkouts of mlcommons/inference (b66003e1) and of NVIDIA/DeepLearningExamples (b03375bd,
as the former names it), and a folder with the package transformers 2.4.0. It returns the classes BertTokenizer of transformers and
BasicTokenizer of DeepLearningExamples; afterwards the scripts of language/bert can be imported. Their Python files run unmodified;
the downloads of file_utils.py and the Rust package tokenizers, which neither class uses, have stand-ins.
"""
import sys, types


def load(inference, dle, transformers):
    def module(name, **content):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(content)
        return sys.modules[name]

    unused = dict.fromkeys(("cached_path", "hf_bucket_url", "is_remote_url", "is_tf_available", "is_torch_available"), bool)
    package = module("transformers", __path__=[transformers + "/transformers"])
    module("transformers.file_utils", **unused)
    module("file_utils", **unused)
    module("tokenizers")
    sys.path[:0] = [inference + "/language/bert", dle + "/PyTorch/LanguageModeling/BERT"]
    import tokenization
    from transformers.tokenization_bert import BertTokenizer

    package.BertTokenizer = BertTokenizer
    return BertTokenizer, tokenization.BasicTokenizer
