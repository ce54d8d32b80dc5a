// Package config turns configuration files, environment and flags into TestSettings,
// and remembers for every setting where it came from.
//
// # Files of settings
//
// mlperf.conf holds the settings of a round of rules, user.conf those of a submitter,
// audit.config those of a compliance test. All have the grammar of the reference
// LoadGen (loadgen/test_settings_internal.cc, FromConfig):
//
//	# a comment on a line of its own
//	resnet50.Server.target_qps = 250.5
//	*.*.min_duration           = 600000
//
// A setting is looked up for the exact model and scenario, then for any model, then
// for any scenario, then for both. The reference is silent about what it does not
// understand; ParseConf reports it, with the file and the line: unknown keys and
// scenarios, values of the wrong kind, a key given twice with different values.
//
// # Who overrides whom
//
// LoadGen's defaults, the rule set, user.conf, flags, audit.config: the later wins
// (Resolve). Flags themselves stand for the command line, the environment and
// mlperf.yaml, which MergeOptions joins.
//
//	rules, err := config.Rules("v5.1")
//	…
//	user, err := config.ReadConf("user.conf", config.ParseOptions{})
//	…
//	resolved, err := config.Resolve(config.Request{
//		Model: config.Model{Name: "resnet50"}, Scenario: loadgen.Server, Rules: rules, UserConf: user,
//	})
//	fmt.Println(resolved.Settings.ServerTargetQPS, resolved.Origin("target_qps"))
//
// # Rule sets and plans
//
// Rules returns what applies in a round of MLPerf Inference, from v0.5 on: seeds,
// durations, query counts, percentiles, limits. What LoadGen cannot express is in a
// table of this package. The arithmetic of plan.go says before a run how many queries
// it needs, how long it will take, and which network a datacenter system must have.
//
// The package runs nothing, and knows neither models nor data beyond their names.
package config
