// Package limitation has what limits the use of a result under the rules, as data: an easier setting, a model or data that are not
// the official ones, a record that was changed. Package report has the words.
package limitation

// A Limitation limits the use of a result under the rules. Numbers carry their unit. Empty fields say nothing.
type Limitation struct {
	ID     ID     `json:"id"`
	Key    string `json:"key,omitempty"`    // what it is about: a setting, a file, a model, a compliance test
	Value  string `json:"value,omitempty"`  // that the run has
	Of     string `json:"of,omitempty"`     // the number that Value is a part of
	Want   string `json:"want,omitempty"`   // by the rules
	Origin string `json:"origin,omitempty"` // who made it so: user.conf:3, flag --min-duration
	Role   Role   `json:"role,omitempty"`   // of Origin
}

// An ID is a kind of limitation.
type ID string

// Settings, and tests that the rules do not have.
const (
	Setting      ID = "setting"        // Key is easier than the rules', or makes another test
	NotCompared  ID = "not_compared"   // the settings, with the rules: Value is the error
	NoBenchmark  ID = "no_benchmark"   // the rules Origin do not have Key; Want is the variant that they have
	NoScenario   ID = "no_scenario"    // the rules Origin do not have the scenario Value of Key
	OneServerRun ID = "one_server_run" // the rules Origin want Want runs of Server
	AtSameTime   ID = "at_same_time"   // as the benchmarks Value on this machine
	// TimedPreprocessing: latencies have the time in which samples are made of files or texts, which the rules leave out.
	TimedPreprocessing ID = "timed_preprocessing"
)

// Models and data.
const (
	OwnModel        ID = "own_model"         // a model file without a benchmark
	BuiltInModel    ID = "built_in_model"    // with random weights: no submission of the closed division may use it
	SmallerModel    ID = "smaller_model"     // the built-in model lacks Value
	UnknownModel    ID = "unknown_model"     // the file Key with the SHA-256 Value is not official, nor, as it says (Origin), made of an official one
	BuiltInData     ID = "built_in_data"     // synthetic: no submission may use them
	PartOfData      ID = "part_of_data"      // the first Value samples
	DatasetSize     ID = "dataset_size"      // Value samples
	SamplesInMemory ID = "samples_in_memory" // Value samples at once
	ChangedData     ID = "changed_data"      // Value of Of files, Key first, are not as Want: published, installed or first seen
	UncomparedData  ID = "uncompared_data"   // Value of the data set Key have not been compared with checksums since they changed
	Copies          ID = "copies"            // Value of Of samples
	Sampling        ID = "sampling"          // tokens are chosen by Value
	EndTokens       ID = "end_tokens"        // answers also end with Value, as the file Origin says
	MadeInputs      ID = "made_inputs"       // the inputs Value, on whose content the speed may depend
	PartlyConverted ID = "partly_converted"  // Value of Of nodes compute in the precision Key, the others in FP32
	PartlyQuantized ID = "partly_quantized"  // Value of Of layers with weights are in the precision Key
	OtherAnswers    ID = "other_answers"     // in the precision Key than in FP32: Value
	NotNumbers      ID = "not_numbers"       // among the values of the output Key
)

// The system under test.
const (
	SimulatedEngine  ID = "simulated_engine"
	NotRemote        ID = "not_remote"           // a system of the Network division on this machine
	LocalEndpoint    ID = "local_endpoint"       // of the Network division: Value
	ServersModel     ID = "servers_model"        // cannot be checked
	Speculation      ID = "speculative_decoding" // Value, of the benchmark and scenario Key; the rules Origin allow Want there; empty: none
	UserPrompts      ID = "user_prompts"         // without a benchmark
	CutFigures       ID = "cut_figures"          // Value of the test are left out of them
	Retried          ID = "retried"              // Value requests
	UncountedRequest ID = "uncounted_request"    // the servers counted Value inferences, Of requests were answered
	UncountedSample  ID = "uncounted_sample"     // the servers counted Value of Of samples
	UncheckedTokens  ID = "unchecked_tokens"     // counted by Origin
	FewerTokens      ID = "fewer_tokens"         // the servers tell of Value in Of answers, the tokenizer counts Want
	CachedTokens     ID = "cached_tokens"        // Value of Of tokens of prompts
	TokensInPieces   ID = "tokens_in_pieces"     // Value tokens in Of pieces
	UncertainEnds    ID = "uncertain_ends"       // of Value answers: the servers give no reason why they ended
	AlikeAnswers     ID = "alike_answers"        // Value distinct answers to Of prompts; Want: as many as the data set has
	FailedCalls      ID = "failed_calls"         // Value of Of requests: their samples went on without the answers
	UnrecordedCalls  ID = "unrecorded_calls"     // Value of Of requests had no recorded answer
	NotReplayed      ID = "not_replayed"         // no recorded answers, which make the requests of all tests the same
	TimeLost         ID = "time_lost"            // Value of the run was not measured
	ClockSetBack     ID = "clock_set_back"       // by Value
	ExternalPower    ID = "external_power"       // of a device that has a battery
	PowerClient      ID = "power_client"         // another than the rules accept read the energy
)

// Records.
const (
	Unofficial    ID = "unofficial"     // as every result of this program
	RecordChanged ID = "record_changed" // after the run
	Unsealed      ID = "unsealed"       // nothing shows whether the record was changed
	NoRecord      ID = "no_record"      // logs of this program lie without it
	FileChanged   ID = "file_changed"   // Key, after the run
	FileMissing   ID = "file_missing"   // Key
	Older         ID = "older"          // of a record of an older version, in its words: Value
)

// Compliance tests, whose name is Key.
const (
	FewerResponses ID = "fewer_responses" // Value were judged
	FewerLogged    ID = "fewer_logged"    // Value responses were to be kept
	LowerScore     ID = "lower_score"     // Value was enough
	WiderEntropies ID = "wider_entropies" // could differ by Value
	WiderLengths   ID = "wider_lengths"   // than Want
	OtherEndToken  ID = "other_end_token" // Value was looked for, the model's are Want
)

// A Role is what the origin of a setting is to a run, whatever its file is called. Empty: another part of the program.
type Role string

// The roles.
const (
	RuleSet     Role = "rules"
	MLPerfConf  Role = "mlperf.conf"
	UserConf    Role = "user.conf"
	AuditConf   Role = "audit.config"
	Flag        Role = "flag"
	Environment Role = "environment"
	OptionFile  Role = "mlperf.yaml"
	QuickRun    Role = "quick run"
	Prompts     Role = "prompts"     // without a benchmark
	Calibration Role = "calibration" // a measurement before the test
	Log         Role = "log"         // of another LoadGen
)
