"""Write a Llama model of random weights, about 1 MB, that llama.cpp can serve.

Its answers are noise; under a JSON schema they are valid noise.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

WIDTH, LAYERS, HEADS, HIDDEN, CONTEXT = 64, 2, 4, 128, 16384
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def write_tiny_model(path: Path, seed: int = 0) -> None:
    """Write the model.

    Args:
        path: the GGUF file.
        seed: the seed of the weights.
    """
    tokens = _tokens()
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("tiny-random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _, _ in tokens])
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([kind for _, _, kind in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(TEMPLATE)
    _add_tensors(writer, len(tokens), np.random.default_rng(seed))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tokens() -> list[tuple[str, float, int]]:
    kinds = gguf.TokenType
    special = [
        ("<unk>", 0.0, kinds.UNKNOWN),
        ("<s>", 0.0, kinds.CONTROL),
        ("</s>", 0.0, kinds.CONTROL),
    ]
    every_byte = [(f"<0x{byte:02X}>", 0.0, kinds.BYTE) for byte in range(256)]
    letters = [(text, -1.0, kinds.NORMAL) for text in ["\u2581", *map(chr, range(33, 127))]]
    return [*special, *every_byte, *letters]


def _add_tensors(writer: gguf.GGUFWriter, vocabulary: int, rng: np.random.Generator) -> None:
    def weights(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.2).astype(np.float32)

    ones = np.ones(WIDTH, np.float32)
    writer.add_tensor("token_embd.weight", weights(vocabulary, WIDTH))
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", weights(vocabulary, WIDTH))
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"{block}{name}.weight", weights(WIDTH, WIDTH))
        writer.add_tensor(f"{block}attn_norm.weight", ones)
        writer.add_tensor(f"{block}ffn_norm.weight", ones)
        writer.add_tensor(f"{block}ffn_gate.weight", weights(HIDDEN, WIDTH))
        writer.add_tensor(f"{block}ffn_up.weight", weights(HIDDEN, WIDTH))
        writer.add_tensor(f"{block}ffn_down.weight", weights(WIDTH, HIDDEN))
