package ort

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// A plan is a request for a session, checked and in ONNX Runtime's terms.
type plan struct {
	options   backend.Options
	requests  []request
	level     level
	severity  int               // OrtLoggingLevel in onnxruntime_c_api.h
	config    map[string]string // of the session
	runConfig map[string]string // that ONNX Runtime reads from the options of each run
	warnings  []string
}

// A level of graph optimisation: the name that users write and ONNX Runtime's number (GraphOptimizationLevel in
// onnxruntime_c_api.h).
type level struct {
	name string
	code int
}

var levels = []level{{"none", 0}, {"basic", 1}, {"extended", 2}, {"all", 99}}

const severityFatal = 4 // verbose is 0

// planOf checks options as far as that is possible without the library and the model.
func planOf(o backend.Options) (plan, error) {
	p := plan{options: o, severity: o.LogSeverity, config: map[string]string{}, runConfig: map[string]string{}}
	if o.ModelPath == "" {
		return plan{}, errors.New("no model file given")
	}
	var err error
	if p.requests, err = requests(o.Device, o.DeviceOptions); err != nil {
		return plan{}, err
	}
	named := slices.IndexFunc(levels, func(l level) bool { return strings.EqualFold(l.name, cmp.Or(o.OptimizeLevel, "all")) })
	low, high := o.ProfileShapes[0], o.ProfileShapes[1]
	switch {
	case named < 0:
		return plan{}, fmt.Errorf("unknown optimisation level %q; levels are none, basic, extended, all", o.OptimizeLevel)
	case o.IntraThreads < 0:
		return plan{}, fmt.Errorf("%d intra-op threads: must be 0 (the engine decides) or more", o.IntraThreads)
	case o.InterThreads < 0:
		return plan{}, fmt.Errorf("%d inter-op threads: must be 0 (one; the engine decides if operators run in parallel) or more", o.InterThreads)
	case o.LogSeverity < -1 || o.LogSeverity > severityFatal:
		return plan{}, fmt.Errorf("log severity %d: must be -1 (verbose) to %d (fatal)", o.LogSeverity, severityFatal)
	case len(o.Cores) > 0 && (len(o.Cores) != o.IntraThreads || o.Affinity != ""):
		return plan{}, fmt.Errorf("%d processors for %d intra-op threads: expected one each, and no affinities beside", len(o.Cores), o.IntraThreads)
	case slices.ContainsFunc(o.Cores, func(core int) bool { return core < 0 }):
		return plan{}, fmt.Errorf("processors %v: must be numbers from 0", o.Cores)
	case (low != 0 || high != 0) && (low < 1 || high < low):
		return plan{}, fmt.Errorf("batches %d to %d to compile for: must be 1 or more, the smaller first", low, high)
	}
	p.level = levels[named]
	switch o.LogSeverity { // the zero value of options is the quietest
	case 0:
		p.severity = severityFatal
	case -1:
		p.severity = 0
	}
	// A device that cannot convert models is refused: the speed would be that of another precision.
	first := &p.requests[0]
	add := first.precision[o.Precision]
	switch {
	case !slices.Contains([]string{"", "fp32", "fp16", "bf16", "int8"}, o.Precision):
		return plan{}, fmt.Errorf("unknown precision %q; precisions are fp32, fp16, bf16, int8", o.Precision)
	case add != nil:
		first.options = with(first.options, add)
	case o.Precision != "" && o.Precision != "fp32":
		return plan{}, fmt.Errorf("device %s does not convert models to %s by itself: give it a converted model", first.name, o.Precision)
	}
	if o.NoSpinning {
		p.config[keyIntraSpinning], p.config[keyInterSpinning] = "0", "0"
	}
	if o.Affinity != "" {
		p.config[keyAffinity] = o.Affinity
	} else if len(o.Cores) > 1 {
		// In ONNX Runtime's notation, which counts from 1. The first processor is for the thread that runs, which takes part.
		var list []string
		for _, core := range o.Cores[1:] {
			list = append(list, strconv.Itoa(core+1))
		}
		p.config[keyAffinity] = strings.Join(list, ";")
	}
	for _, key := range slices.Sorted(maps.Keys(o.Config)) { // entries of the user win
		switch {
		case slices.Contains(keysOfRuns, key):
			p.runConfig[key] = o.Config[key]
			continue
		case !strings.HasPrefix(key, "ep.") && !slices.Contains(knownConfig, key): // providers know their own
			p.warnings = append(p.warnings, fmt.Sprintf("config entry %s is not known to us, and ONNX Runtime ignores keys that it does not know", key))
		}
		p.config[key] = o.Config[key]
	}
	return p, nil
}

// forProcessor chooses kernels that compute products of 8-bit integers right on processors that have no instructions for them: with AVX2
// and AVX-512 alone, ONNX Runtime adds two products of unsigned and signed bytes in 16 bits, which overflow where weights exceed ±63.
// Those kernels are slower for such weights, and change nothing for others, and for floats (docs/backend.md).
func (p *plan) forProcessor(fastInt8 bool) {
	if _, given := p.config[keyExactProducts]; !given && !fastInt8 {
		p.config[keyExactProducts] = "1"
	}
}

// with returns options with defaults added where they are not set.
func with(options, defaults map[string]string) map[string]string {
	all := maps.Clone(defaults)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, options)
	return all
}

// The keys of session settings are those of onnxruntime_session_options_config_keys.h.
const (
	keyIntraSpinning = "session.intra_op.allow_spinning"
	keyInterSpinning = "session.inter_op.allow_spinning"
	keyAffinity      = "session.intra_op_thread_affinities"
	keyEnvAllocators = "session.use_env_allocators"
	keyExactProducts = "session.x64quantprecision"
)

// keysOfRuns are the keys of onnxruntime_run_options_config_keys.h.
var keysOfRuns = []string{
	"memory.enable_memory_arena_shrinkage", "disable_synchronize_execution_providers", "qnn.htp_perf_mode",
	"qnn.htp_perf_mode_post_run", "qnn.rpc_control_latency", "gpu_graph_id",
}

// knownConfig are the keys that a version of ONNX Runtime up to 1.24.3 knows. It ignores others and says nothing.
var knownConfig = strings.Fields(`
	mlas.use_lut_gemm mlas.enable_gemm_fastmath_arm64_bfloat16
	optimization.disable_specified_optimizers optimization.enable_cast_chain_elimination
	optimization.enable_gelu_approximation optimization.memory_optimizer_config
	optimization.minimal_build_optimizations optimization.enable_memory_probe_recompute_config
	session.allow_released_opsets_only session.collect_node_memory_stats_to_file
	session.debug_layout_transformation session.disable_aot_function_inlining
	session.disable_cpu_ep_fallback session.disable_double_qdq_remover session.disable_model_compile
	session.disable_prepacking session.disable_quant_qdq session.dynamic_block_base
	session.enable_dq_matmulnbits_fusion session.enable_quant_qdq_cleanup
	session.fail_on_suboptimal_compiled_model session.force_spinning_stop
	session.graph_optimizations_loop_level session.inter_op.allow_spinning
	session.intra_op.allow_spinning session.intra_op_thread_affinities session.load_model_format
	session.model_external_initializers_file_folder_path session.node_partition_config_file
	session.optimized_model_external_initializers_file_name
	session.optimized_model_external_initializers_min_size_in_bytes
	session.qdq_matmulnbits_accuracy_level session.qdqisint8allowed
	session.record_ep_graph_assignment_info session.resource_cuda_partitioning_settings
	session.save_external_prepacked_constant_initializers session.save_model_format
	session.set_denormal_as_zero session.strict_shape_type_inference
	session.use_device_allocator_for_initializers session.use_env_allocators
	session.use_ort_model_bytes_directly session.use_ort_model_bytes_for_initializers
	session.x64quantprecision`)

// facts lists the settings that are needed to repeat the run.
func (p plan) facts() map[string]string {
	o := p.options
	mode, inter := "sequential", "1"
	if o.Parallel {
		mode, inter = "parallel", "default"
	}
	facts := map[string]string{
		"intra_threads":  threads(o.IntraThreads, "default"),
		"inter_threads":  threads(o.InterThreads, inter),
		"execution_mode": mode,
		"optimize_level": p.level.name,
		"arena":          onOff(!o.NoArena),
		"memory_pattern": onOff(!o.NoMemoryPattern),
		"spinning":       onOff(p.config[keyIntraSpinning] != "0"),
	}
	addFacts(facts, "config ", p.config)
	addFacts(facts, "config ", p.runConfig)
	for axis, extent := range o.FreeDimensions {
		facts["extent "+axis] = strconv.FormatInt(extent, 10)
	}
	if o.DeviceMemory || p.requests[0].records() {
		facts["device_memory"] = p.requests[0].memory
	}
	if len(o.CustomOps) > 0 {
		facts["custom_ops"] = strings.Join(o.CustomOps, ", ")
	}
	for _, r := range p.requests {
		addFacts(facts, "option "+r.name+" ", r.options)
	}
	return facts
}

// addFacts adds entries to facts, under names with a prefix.
func addFacts(facts map[string]string, prefix string, entries map[string]string) {
	for key, value := range entries {
		facts[prefix+key] = value
	}
}

// threads writes a number of threads; otherwise is the text for 0.
func threads(n int, otherwise string) string {
	if n == 0 {
		return otherwise
	}
	return strconv.Itoa(n)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
