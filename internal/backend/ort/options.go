package ort

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// A plan is what Options ask for, checked and in ONNX Runtime's terms.
type plan struct {
	options  backend.Options
	requests []request
	level    level
	severity int
	config   map[string]string // of the session
	// runConfig are entries of the configuration that ONNX Runtime reads from the options of each run.
	runConfig map[string]string
	warnings  []string
}

// A level of graph optimisation: the name that users write and ONNX Runtime's number
// (GraphOptimizationLevel in onnxruntime_c_api.h).
type level struct {
	name string
	code int
}

var levels = []level{{"none", 0}, {"basic", 1}, {"extended", 2}, {"all", 99}}

const (
	severityFatal   = 4 // OrtLoggingLevel in onnxruntime_c_api.h
	severityVerbose = 0
)

// planOf checks options as far as that is possible without the library and the model.
func planOf(o backend.Options) (plan, error) {
	p := plan{options: o, severity: severityOf(o.LogSeverity)}
	var err error
	if o.ModelPath == "" {
		return plan{}, fmt.Errorf("no model file given")
	}
	if p.requests, err = requests(o.Device, o.DeviceOptions); err != nil {
		return plan{}, err
	}
	if p.level, err = levelNamed(o.OptimizeLevel); err != nil {
		return plan{}, err
	}
	if err := checkNumbers(o); err != nil {
		return plan{}, err
	}
	if err := p.setPrecision(o.Precision); err != nil {
		return plan{}, err
	}
	p.config, p.runConfig = configOf(o)
	p.warnings = unknownConfig(p.config)
	return p, nil
}

// severityOf is what ONNX Runtime calls the severity of options, whose zero value is the quietest.
func severityOf(given int) int {
	switch {
	case given == 0:
		return severityFatal
	case given < 0:
		return severityVerbose
	}
	return given
}

func levelNamed(name string) (level, error) {
	if name == "" {
		name = "all"
	}
	var names []string
	for _, l := range levels {
		if strings.EqualFold(l.name, name) {
			return l, nil
		}
		names = append(names, l.name)
	}
	return level{}, fmt.Errorf("unknown optimisation level %q; levels are %s", name, strings.Join(names, ", "))
}

func checkNumbers(o backend.Options) error {
	switch {
	case o.IntraThreads < 0:
		return fmt.Errorf("%d intra-op threads: must be 0 (the engine decides) or more", o.IntraThreads)
	case o.InterThreads < 0:
		return fmt.Errorf("%d inter-op threads: must be 0 (one; the engine decides if operators run in parallel) or more", o.InterThreads)
	case o.LogSeverity < -1 || o.LogSeverity > severityFatal:
		return fmt.Errorf("log severity %d: must be -1 (verbose) to %d (fatal)", o.LogSeverity, severityFatal)
	}
	return errors.Join(checkCores(o), checkShapes(o.ProfileShapes[0], o.ProfileShapes[1]))
}

func checkCores(o backend.Options) error {
	switch {
	case len(o.Cores) > 0 && (len(o.Cores) != o.IntraThreads || o.Affinity != ""):
		return fmt.Errorf("%d processors for %d intra-op threads: want one each, and no affinities beside", len(o.Cores), o.IntraThreads)
	case slices.ContainsFunc(o.Cores, func(core int) bool { return core < 0 }):
		return fmt.Errorf("processors %v: must be numbers from 0", o.Cores)
	}
	return nil
}

func checkShapes(low, high int) error {
	if (low != 0 || high != 0) && (low < 1 || high < low) {
		return fmt.Errorf("batches %d to %d to compile for: must be 1 or more, the smaller first", low, high)
	}
	return nil
}

// setPrecision adds the options that make a device compute in a precision. A device that cannot
// convert models is refused, since ignoring the wish would report a speed of something else.
func (p *plan) setPrecision(precision string) error {
	first := &p.requests[0]
	switch precision {
	case "", "fp32":
		if add := first.precision[precision]; add != nil {
			first.options = with(first.options, add)
		}
		return nil
	case "fp16", "int8":
	default:
		return fmt.Errorf("unknown precision %q; precisions are fp32, fp16, int8", precision)
	}
	add := first.precision[precision]
	if add == nil {
		return fmt.Errorf("device %s does not convert models to %s by itself: give it a converted model", first.name, precision)
	}
	first.options = with(first.options, add)
	return nil
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
)

// keysOfRuns are the keys of onnxruntime_run_options_config_keys.h.
var keysOfRuns = []string{
	"memory.enable_memory_arena_shrinkage", "disable_synchronize_execution_providers", "qnn.htp_perf_mode",
	"qnn.htp_perf_mode_post_run", "qnn.rpc_control_latency", "gpu_graph_id",
}

// configOf turns options into config entries of the session, and of its runs; what the user set by
// key wins.
func configOf(o backend.Options) (config, ofRuns map[string]string) {
	config, ofRuns = map[string]string{}, map[string]string{}
	if o.NoSpinning {
		config[keyIntraSpinning], config[keyInterSpinning] = "0", "0"
	}
	if o.Affinity != "" {
		config[keyAffinity] = o.Affinity
	} else if cores := affinities(o.Cores); cores != "" {
		config[keyAffinity] = cores
	}
	for key, value := range o.Config {
		if slices.Contains(keysOfRuns, key) {
			ofRuns[key] = value
		} else {
			config[key] = value
		}
	}
	return config, ofRuns
}

// affinities gives the threads of a session's pool a processor each, in ONNX Runtime's notation, which
// counts from 1. The first processor is for the thread that runs, which takes part.
func affinities(cores []int) string {
	var list []string
	for _, core := range cores[min(1, len(cores)):] {
		list = append(list, strconv.Itoa(core+1))
	}
	return strings.Join(list, ";")
}

// unknownConfig warns of keys that no version of ONNX Runtime up to 1.24.3 knows: it
// ignores them without a word. Keys of providers (ep.…) are theirs to know.
func unknownConfig(config map[string]string) []string {
	var warnings []string
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if strings.HasPrefix(key, "ep.") || slices.Contains(knownConfig, key) {
			continue
		}
		warnings = append(warnings,
			fmt.Sprintf("config entry %s is not known to us, and ONNX Runtime ignores keys that it does not know", key))
	}
	return warnings
}

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

// directMLDevice reads the only option that the binding can pass to DirectML.
func directMLDevice(keys map[string]string) (int, error) {
	id := 0
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		n, err := strconv.Atoi(keys[key])
		if key != "device_id" || err != nil || n < 0 {
			return 0, fmt.Errorf("option %s=%s: only device_id=N is possible", key, keys[key])
		}
		id = n
	}
	return id, nil
}

// facts lists the settings that somebody needs to repeat the run.
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

// threads writes a number of threads; what 0 stands for is said otherwise.
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
