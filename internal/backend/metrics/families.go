package metrics

// A kind is how a reading follows from samples.
type kind uint8

const (
	level   kind = iota // the sum of the present values
	mean                // the mean of the present values
	percent             // the mean of the present values, which are fractions, in percent
	growth              // how much the sum grew in a second
	share               // how much the sum grew, as a share of how much another one did, in percent
)

// A figure is what is shown of a server.
type figure struct {
	name, unit string
	kind       kind
	// names are the families that have it, of vLLM, SGLang, TGI, llama.cpp, TensorRT-LLM, NVIDIA Triton and DCGM. A name may have the
	// value of a label behind it: name{value}. The first that a server has is taken.
	names []string
	of    []string // of share: the families of the whole

	running bool // it is how many requests the server answers now
}

var figures = []figure{
	{name: "running", unit: "requests", kind: level, running: true, names: []string{
		"vllm:num_requests_running", "sglang:num_running_reqs", "tgi_batch_current_size", "llamacpp:requests_processing",
		"nv_trt_llm_request_metrics{active}",
	}},
	{name: "waiting", unit: "requests", kind: level, names: []string{
		"vllm:num_requests_waiting", "sglang:num_queue_reqs", "tgi_queue_size", "llamacpp:requests_deferred", "nv_trt_llm_request_metrics{waiting}",
		"nv_inference_pending_request_count",
	}},
	{name: "key-value cache in use", unit: "% of the server's", kind: percent, names: []string{
		"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage", "llamacpp:kv_cache_usage_ratio",
		"nv_trt_llm_kv_cache_block_metrics{fraction}",
	}},
	{name: "hits of the prefix cache", unit: "% of the server's", kind: share,
		names: []string{"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"},
		of:    []string{"vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"}},
	{name: "preemptions", unit: "preemptions/s", kind: growth, names: []string{"vllm:num_preemptions_total", "sglang:num_retracted_reqs"}},
	{name: "GPU busy", unit: "% of the GPU", kind: mean, names: []string{"DCGM_FI_DEV_GPU_UTIL"}},
	{name: "GPU power", unit: "W", kind: level, names: []string{"DCGM_FI_DEV_POWER_USAGE"}},
	{name: "GPU memory", unit: "MiB", kind: level, names: []string{"DCGM_FI_DEV_FB_USED"}},
}
