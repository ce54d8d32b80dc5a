// Package power measures the energy of this machine during a test.
//
//	source, err := power.Parse("auto") // or rapl, nvml, ptd:HOST:PORT, file:CSV
//	recorder, err := power.Start(ctx, source)
//	… a test …
//	record, err := recorder.Stop()
//	energy, err := record.Between(begin, end) // of the test's traffic
//	fmt.Println(energy.Joules, energy.MeanWatts)
//
// A source (source.go) is one of: the counters of processors (rapl.go), read once a second; NVIDIA's cards (nvidia.go), whose
// power nvidia-smi prints twice a second; SPEC's PTDaemon (ptd.go), which reads an analyser by itself; the file of any meter
// (csv.go), read at the end. A Recorder (recorder.go) makes of each a series of watts and joules
// over time (series.go), one for each part of the machine. Energies of parts that contain each other are
// never added up. A Session (session.go) measures the two runs of a submission.
//
// A source that cannot be read is an error with the reason and the remedy, never zero joules.
package power
