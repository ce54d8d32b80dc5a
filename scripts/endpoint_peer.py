#!/usr/bin/python3
"""A client of endpoints as benchmarks in Python are written: aiohttp, a task for each stream.

Called by `make bench-endpoint` with the address, streams, tokens of an answer, seconds, and the
seconds before them within which the streams begin; needs Debian's python3-aiohttp. Prints what
mlperf selftest --endpoint reads.
"""
import asyncio
import json
import resource
import sys
import time

import aiohttp


def used():
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


async def stream(session, url, body, at, deadline, seen):
    await asyncio.sleep(at - time.perf_counter())
    while time.perf_counter() < deadline:
        sent, first, last, n, buffer = time.perf_counter(), 0.0, 0.0, 0, ""
        async with session.post(url, json=body) as response:
            response.raise_for_status()
            async for chunk in response.content.iter_any():
                buffer += chunk.decode()
                *events, buffer = buffer.split("\n\n")
                for event in events:
                    data = event.removeprefix("data: ")
                    if data == "[DONE]":
                        continue
                    choices = json.loads(data)["choices"]
                    if choices and choices[0]["delta"].get("content"):
                        last = time.perf_counter()
                        if n == 0:
                            first = last
                        n += 1
        seen["tokens"] += n
        seen["answers"] += 1
        seen["first"].append(first - sent)
        if n > 1:
            seen["per"].append((last - first) / (n - 1))


async def main():
    url, streams, tokens, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    begin = float(sys.argv[5])
    body = {"model": "m", "messages": [{"role": "user", "content": "once upon a time"}], "max_tokens": tokens,
            "temperature": 0, "ignore_eos": True, "stream": True, "stream_options": {"include_usage": True}}
    seen = {"tokens": 0, "answers": 0, "first": [], "per": []}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=600)) as session:
        began = time.perf_counter()
        end = began + begin + seconds
        streaming = asyncio.gather(*(stream(session, url + "/v1/chat/completions", body, began + begin * i / streams, end, seen)
                                     for i in range(streams)))
        await asyncio.sleep(begin)
        counted, worked, tokens, answers = time.perf_counter(), used(), seen["tokens"], seen["answers"]
        await asyncio.sleep(end - time.perf_counter())
        took, work = time.perf_counter() - counted, used() - worked
        tokens, answers = seen["tokens"] - tokens, seen["answers"] - answers
        await streaming
    first = sorted(seen["first"])
    print(json.dumps({
        "tokens": tokens, "seconds": took, "answers": answers, "cpu_seconds": work,
        "first_token_p50_ns": int(first[len(first) // 2] * 1e9), "first_token_p99_ns": int(first[len(first) * 99 // 100] * 1e9),
        "per_token_mean_ns": int(sum(seen["per"]) / len(seen["per"]) * 1e9),
    }))


asyncio.run(main())
